"""Measures whether the best score of a ranking separates answerable from unanswerable questions.

* ``FPR@TPR.90``: the false-positive rate at a true-positive rate of .90. The threshold is the
  largest score that at least 90 % of the answerable questions reach; the rate is the share of the
  unanswerable questions that reach it too. Lower is better; an uninformative score has .90.
* ``AUROC``: the probability that an answerable question's best score is above an unanswerable
  one's, ties counting half (Hanley & McNeil, Radiology 1982, 143:29). An uninformative score has
  .50.

Both need scores that are comparable between questions. Cosines are comparable, and so are BM25's
sums of weights, although longer questions can have larger sums. Scores that were divided by the
largest one, or computed from ranks alone, are not comparable.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from eval.stats.bootstrap import ClusterResamples, Distribution, Floats

FALSE_POSITIVES = "FPR@TPR.90"
AUROC = "AUROC"
ANSWERABILITY_MEASURES = (FALSE_POSITIVES, AUROC)
"""Measures that compare the scores of answerable and unanswerable questions. Unlike the metrics of
rankings, they have no value for a single question."""
TRUE_POSITIVE_RATE = 0.90
"""Share of answerable questions whose best score must reach the threshold."""

COMPARABLE_RETRIEVERS = frozenset({"bm25", "dense"})
"""Retrievers whose scores are comparable between questions."""

_ROUNDING_TOLERANCE = 1e-9
"""Allows for rounding errors in the product of rate and weight; weights are whole numbers."""


def bootstrap_answerability(
    best_scores: Floats, answerable: NDArray[np.bool_], resamples: ClusterResamples
) -> Distribution:
    """Computes the bootstrap distribution of the ``ANSWERABILITY_MEASURES`` over questions.

    Args:
        best_scores: the best score of each question, -inf if nothing was found; shape (questions,).
        answerable: whether each question is answerable, shape (questions,).
        resamples: how often each question occurs in each resample.

    Returns:
        Columns as ``ANSWERABILITY_MEASURES``. nan if there are no answerable or no unanswerable
        questions. The false-positive rate is also nan if more than a tenth of the answerable
        questions found nothing, because then no threshold is reached by 90 % of them.
    """
    curve = _ScoreCurve(best_scores, answerable)
    count = len(best_scores)
    replicates = np.full((resamples.n_resamples, len(ANSWERABILITY_MEASURES)), np.nan)
    for rows, counts in resamples.iter_weights():
        replicates[rows] = curve.compute_statistics(counts.astype(np.float64))
    jackknife = np.full((count, len(ANSWERABILITY_MEASURES)), np.nan)
    for i, weights in enumerate(_iter_leave_one_out_weights(count)):
        jackknife[i] = curve.compute_statistics(weights[None, :])[0]
    smaller_class = min(int(answerable.sum()), int((~answerable).sum()))
    return Distribution(
        values=curve.compute_statistics(np.ones((1, count)))[0],
        replicates=replicates,
        jackknife=jackknife,
        support=np.full(len(ANSWERABILITY_MEASURES), float(smaller_class)),
    )


def _iter_leave_one_out_weights(count: int) -> Iterator[Floats]:
    """Yields for each question the weights that leave it out."""
    for i in range(count):
        weights = np.ones(count)
        weights[i] = 0.0
        yield weights


class _ScoreCurve:
    """Precomputed comparisons of all scores, to evaluate the statistics for many weightings.

    Attributes:
        answerable: indices of the answerable questions, best score first.
        unanswerable: indices of the unanswerable questions.
        scores: best scores of the answerable questions, in descending order.
        wins: for each pair, 1 if the answerable question's score is above the unanswerable one's,
            .5 for a tie, else 0; shape (answerable, unanswerable).
        reaches: for each pair, whether the unanswerable question's score is at least the answerable
            one's; same shape.
    """

    def __init__(self, best_scores: Floats, answerable: NDArray[np.bool_]) -> None:
        indices = np.flatnonzero(answerable)
        self.answerable = indices[np.argsort(-best_scores[indices], kind="stable")]
        self.unanswerable = np.flatnonzero(~answerable)
        self.scores = best_scores[self.answerable]
        # Dense ranks are subtracted instead of scores, because -inf − -inf would be nan.
        ranks = np.unique(best_scores, return_inverse=True)[1]
        rank_differences = ranks[self.answerable][:, None] - ranks[self.unanswerable]
        self.wins = (rank_differences > 0) + 0.5 * (rank_differences == 0)
        self.reaches = best_scores[self.unanswerable][None, :] >= self.scores[:, None]

    def compute_statistics(self, weights: Floats) -> Floats:
        """Computes the ``ANSWERABILITY_MEASURES`` for each row of weights.

        Args:
            weights: the weight of each question, shape (rows, questions).

        Returns:
            Shape (rows, 2).
        """
        positives, negatives = weights[:, self.answerable], weights[:, self.unanswerable]
        n_positive, n_negative = positives.sum(axis=1), negatives.sum(axis=1)
        statistics = np.full((len(weights), len(ANSWERABILITY_MEASURES)), np.nan)
        is_defined = (n_positive > 0) & (n_negative > 0)
        if not is_defined.any():
            return statistics
        # Number of answerable questions at or above each answerable question's score.
        n_reached = np.cumsum(positives[is_defined], axis=1)
        is_enough = (
            n_reached >= TRUE_POSITIVE_RATE * n_positive[is_defined, None] - _ROUNDING_TOLERANCE
        )
        threshold_index = is_enough.argmax(axis=1)
        false_positive_rate = (negatives[is_defined] * self.reaches[threshold_index]).sum(
            axis=1
        ) / n_negative[is_defined]
        statistics[is_defined, 0] = np.where(
            np.isfinite(self.scores[threshold_index]), false_positive_rate, np.nan
        )
        n_won = ((positives[is_defined] @ self.wins) * negatives[is_defined]).sum(axis=1)
        statistics[is_defined, 1] = n_won / (n_positive[is_defined] * n_negative[is_defined])
        return statistics
