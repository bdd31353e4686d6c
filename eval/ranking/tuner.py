"""Tunes the fusion of an ensemble on the dev questions, so that the test questions stay unseen.

Tries every distribution of weights in steps of a fifth, with rank and with score fusion, and with
each set of components. Finer steps would overfit the few questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, get_args

from eval.ranking.ablation import RankingFuser
from eval.ranking.metrics import HEADLINE_METRIC, METRIC_NAMES, score_questions
from eval.ranking.rankings import Rankings
from eval.ranking.record import Tuning
from kg.base.errors import RecordError
from retrieval.ensemble import Method

WEIGHT_STEPS = 5

Shares = tuple[int, ...]


class FusionSetting(NamedTuple):
    """One setting of a fusion."""

    shares: Shares
    """Fifths of the weight, for each component."""
    method: Method
    component_set: int
    """Index of the set of components."""


def tune_fusion(
    fuser: RankingFuser,
    sets: Sequence[Mapping[str, Rankings]],
    progress: Callable[[Sequence[FusionSetting]], Iterable[FusionSetting]] = iter,
) -> Tuning:
    """Finds the setting with the greatest mean ``nDCG@10``.

    Ties are broken in favour of more equal weights, then rank fusion, then the first set of
    components.

    Args:
        fuser: fuses rankings of the dev questions.
        sets: sets of components, each name → rankings; all of the same size, at least one.
        progress: wraps the settings to show progress.

    Raises:
        RecordError: no question has gold.
    """
    # Unanswerable questions have no metric, so they need not be fused.
    answerable = [question for question in fuser.questions if question.answerable]
    fuser = RankingFuser(fuser.passages, answerable, fuser.depth)

    if not fuser.questions:
        raise RecordError(
            "no dev question has gold",
            where="--tune",
            hint="Add dev questions with gold, or drop --tune.",
        )

    def score_setting(setting: FusionSetting) -> float:
        parts = list(sets[setting.component_set].values())
        fused = fuser.fuse_rankings(parts, "tuned", _compute_weights(setting), setting.method)
        scores = score_questions(fused, fuser.questions)
        return float(scores[:, METRIC_NAMES.index(HEADLINE_METRIC)].mean())

    tried = list(iter_settings(len(sets[0]), len(sets)))
    best, chosen = -1.0, tried[0]
    for setting in progress(tried):
        score = score_setting(setting)
        # The tolerance keeps rounding errors from overriding the order of preference.
        if score > best + 1e-12:
            best, chosen = score, setting
    untuned = FusionSetting((1,) * len(sets[0]), "rrf", 0)
    return Tuning(
        measure=HEADLINE_METRIC,
        n=len(fuser.questions),
        tried=len(tried),
        components=tuple(sets[chosen.component_set]),
        weights=_compute_weights(chosen),
        fusion=chosen.method,
        value=best,
        value_untuned=score_setting(untuned),
    )


def iter_settings(components: int, sets: int) -> Iterator[FusionSetting]:
    """Yields every setting to try, the most equal weights first.

    Args:
        components: number of components.
        sets: number of sets of components.
    """
    by_evenness = sorted(
        iter_shares(WEIGHT_STEPS, components),
        key=lambda shares: (sum(share * share for share in shares), shares),
    )
    for shares in by_evenness:
        for method in get_args(Method):
            for set_index in range(sets):
                yield FusionSetting(shares, method, set_index)


def iter_shares(total: int, count: int) -> Iterator[Shares]:
    """Yields every way to split ``total`` into ``count`` non-negative parts, in ascending order."""
    if count == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for remaining in iter_shares(total - first, count - 1):
            yield (first, *remaining)


def _compute_weights(setting: FusionSetting) -> tuple[float, ...]:
    return tuple(share / sum(setting.shares) for share in setting.shares)
