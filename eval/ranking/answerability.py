"""Does the best score of a ranking tell questions that the text answers from those it does not?

* ``FPR@TPR.90``: of the unanswerable questions, the share whose best score reaches the greatest
  value that at least 90 % of the answerable ones reach (the false-positive rate at a
  true-positive rate of .90). Lower is better; a score that knows nothing has .90.
* ``AUROC``: the probability that an answerable question's best score is above an unanswerable
  one's, ties counting half (Hanley & McNeil, Radiology 1982, 143:29). A score that knows nothing
  has .50.

Both need scores that mean the same from one question to the next. A cosine does, and so does
BM25's sum of weights, though longer questions can reach more; what was divided by its greatest
score, or made from ranks alone, does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from eval.stats.intervals import Distribution, Draws, Floats

FALSE_POSITIVES = "FPR@TPR.90"
AUROC = "AUROC"
STATISTICS = (FALSE_POSITIVES, AUROC)
KEPT = 0.90
"""Share of answerable questions that a threshold must let through."""

COMPARABLE = frozenset({"bm25", "dense"})
"""Retrievers whose scores mean the same from one question to the next."""

_ROUNDING = 1e-9


def answerability(best: Floats, answerable: NDArray[np.bool_], draws: Draws) -> Distribution:
    """The bootstrap distribution of the ``STATISTICS`` over questions.

    Args:
        best: the best score of each question, -inf where nothing was found; shape (questions,).
        answerable: which questions are, shape (questions,).
        draws: which questions come up how often.

    Returns:
        Columns as ``STATISTICS``; nan where there are no questions of a kind, and for the
        false-positive rate also where more than a tenth of the answerable questions found nothing:
        no score lets nine in ten through.
    """
    curve = _Curve(best, answerable)
    count = len(best)
    replicates = np.full((draws.resamples, len(STATISTICS)), np.nan)
    for rows, times in draws.pieces():
        replicates[rows] = curve.statistics(times.astype(np.float64))
    jackknife = np.full((count, len(STATISTICS)), np.nan)
    for place, left in enumerate(_left_out(count)):
        jackknife[place] = curve.statistics(left[None, :])[0]
    fewer = min(int(answerable.sum()), int((~answerable).sum()))
    return Distribution(
        values=curve.statistics(np.ones((1, count)))[0],
        replicates=replicates,
        jackknife=jackknife,
        support=np.full(len(STATISTICS), float(fewer)),
    )


def _left_out(count: int) -> Iterator[Floats]:
    """Weights that leave out one question after the other."""
    for place in range(count):
        weights = np.ones(count)
        weights[place] = 0.0
        yield weights


class _Curve:
    """The scores of both sorts of question, ready to be weighed again and again."""

    def __init__(self, best: Floats, answerable: NDArray[np.bool_]) -> None:
        places = np.flatnonzero(answerable)
        self.right = places[np.argsort(-best[places], kind="stable")]
        self.wrong = np.flatnonzero(~answerable)
        self.scores = best[self.right]
        order = np.unique(best, return_inverse=True)[1]  # -inf less -inf is no number
        above = order[self.right][:, None] - order[self.wrong]
        self.wins = (above > 0) + 0.5 * (above == 0)
        self.reaches = best[self.wrong][None, :] >= self.scores[:, None]

    def statistics(self, weights: Floats) -> Floats:
        """The ``STATISTICS`` at some weights.

        Args:
            weights: of each question, shape (rows, questions).

        Returns:
            Shape (rows, 2).
        """
        of_right, of_wrong = weights[:, self.right], weights[:, self.wrong]
        rights, wrongs = of_right.sum(axis=1), of_wrong.sum(axis=1)
        out = np.full((len(weights), len(STATISTICS)), np.nan)
        known = (rights > 0) & (wrongs > 0)
        if not known.any():
            return out
        reached = np.cumsum(of_right[known], axis=1)
        enough = reached >= KEPT * rights[known, None] - _ROUNDING
        threshold = enough.argmax(axis=1)
        share = (of_wrong[known] * self.reaches[threshold]).sum(axis=1) / wrongs[known]
        out[known, 0] = np.where(np.isfinite(self.scores[threshold]), share, np.nan)
        won = ((of_right[known] @ self.wins) * of_wrong[known]).sum(axis=1)
        out[known, 1] = won / (rights[known] * wrongs[known])
        return out
