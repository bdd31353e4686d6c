"""Weights of the ensemble chosen on the dev questions, so that the test questions stay unseen.

Every way to share out five fifths is tried. Finer steps would only follow the noise of so few
questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from eval.ranking.ablation import Fuser
from eval.ranking.measures import HEADLINE, MEASURES, per_question
from eval.ranking.rankings import Rankings
from eval.ranking.record import Tuning

STEPS = 5

Shares = tuple[int, ...]


def tune(
    fuser: Fuser,
    components: Mapping[str, Rankings],
    watched: Callable[[Sequence[Shares]], Iterable[Shares]] = iter,
) -> Tuning:
    """The weights of the greatest mean ``nDCG@10``.

    Of equally good ones those nearest to equal weights are taken, then the first.

    Args:
        fuser: over the dev questions; at least one has gold.
        components: what is weighed, at least one.
        watched: passes the weights to try through; shows progress.
    """
    parts = list(components.values())

    def value(weights: Sequence[float]) -> float:
        scores = per_question(fuser.fuse(parts, "tuned", weights), fuser.questions)
        return float(np.nanmean(scores[:, MEASURES.index(HEADLINE)]))

    tried = sorted(shares(STEPS, len(parts)), key=lambda one: (sum(n * n for n in one), one))
    best, chosen = -1.0, tried[0]
    for one in watched(tried):
        found = value([share / STEPS for share in one])
        if found > best + 1e-12:
            best, chosen = found, one
    return Tuning(
        measure=HEADLINE,
        n=sum(question.answerable for question in fuser.questions),
        tried=len(tried),
        components=tuple(components),
        weights=tuple(share / STEPS for share in chosen),
        value=best,
        value_of_equal_weights=value([1.0] * len(parts)),
    )


def shares(total: int, count: int) -> Iterator[Shares]:
    """Every way to share ``total`` equal pieces out among ``count``, in ascending order."""
    if count == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in shares(total - first, count - 1):
            yield (first, *rest)
