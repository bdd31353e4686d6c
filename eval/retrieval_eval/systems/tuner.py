"""Tunes the fusion of an ensemble on the dev questions, so that the test questions stay unseen.

Tries every distribution of weights in steps of a fifth, with rank and with score fusion, and with
each set of components. Finer steps would overfit the few questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, get_args

from eval.retrieval_eval.metrics import HEADLINE_METRIC, METRIC_NAMES, score_questions
from eval.retrieval_eval.questions import Question
from eval.retrieval_eval.record import Tuning
from eval.retrieval_eval.systems.view import RANKING_DEPTH
from kg.base.errors import RecordError
from retrieval.ensemble import EnsembleRanker, Method
from retrieval.protocol import Passage, Retriever

WEIGHT_STEPS = 5
"""Number of equal steps into which the total weight is split."""

Shares = tuple[int, ...]
"""Number of steps that each component gets; the weights are proportional to these."""


class FusionSetting(NamedTuple):
    """One setting of a fusion."""

    shares: Shares
    """Weights of the components, in steps."""
    method: Method
    """How the rankings are fused."""
    component_set: int
    """Index of the set of components."""


def tune_fusion(
    passages: Sequence[Passage],
    questions: Sequence[Question],
    component_sets: Sequence[Mapping[str, Retriever]],
    progress: Callable[[Sequence[FusionSetting]], Iterable[FusionSetting]] = iter,
) -> Tuning:
    """Finds the setting with the greatest mean ``nDCG@10``.

    Ties are broken in favour of more equal weights, then rank fusion, then the first set of
    components.

    Args:
        passages: the corpus; its order breaks ties.
        questions: the dev questions.
        component_sets: at least one set of components: name of the component → the component. All
            sets have the same number of components. Each component is asked every question once for
            each setting, so it should keep its results.
        progress: wraps the settings to show progress.

    Raises:
        RecordError: no question has gold.
    """
    # Unanswerable questions have no metric, so they need not be asked.
    answerable = [question for question in questions if question.answerable]
    if not answerable:
        raise RecordError(
            "no dev question has gold",
            where="--tune",
            hint="Add dev questions with gold, or drop --tune.",
        )

    def score_setting(setting: FusionSetting) -> float:
        ranker = EnsembleRanker(
            passages,
            list(component_sets[setting.component_set].values()),
            _compute_weights(setting),
            method=setting.method,
        )
        rankings = {
            question.id: list(ranker.get_scores(question.question, RANKING_DEPTH))
            for question in answerable
        }
        scores = score_questions(rankings, answerable)
        return float(scores[:, METRIC_NAMES.index(HEADLINE_METRIC)].mean())

    settings = list(iter_settings(len(component_sets[0]), len(component_sets)))
    best_score, best_setting = -1.0, settings[0]
    for setting in progress(settings):
        score = score_setting(setting)
        # The tolerance keeps rounding errors from overriding the order of preference.
        if score > best_score + 1e-12:
            best_score, best_setting = score, setting
    untuned = FusionSetting((1,) * len(component_sets[0]), "rrf", 0)
    return Tuning(
        measure=HEADLINE_METRIC,
        n=len(answerable),
        tried=len(settings),
        components=tuple(component_sets[best_setting.component_set]),
        weights=_compute_weights(best_setting),
        fusion=best_setting.method,
        value=best_score,
        value_untuned=score_setting(untuned),
    )


def iter_settings(n_components: int, n_sets: int) -> Iterator[FusionSetting]:
    """Yields every setting to try, the most equal weights first.

    Args:
        n_components: number of components.
        n_sets: number of sets of components.
    """
    sorted_shares = sorted(
        iter_shares(WEIGHT_STEPS, n_components),
        key=lambda shares: (sum(share * share for share in shares), shares),
    )
    for shares in sorted_shares:
        for method in get_args(Method):
            for set_index in range(n_sets):
                yield FusionSetting(shares, method, set_index)


def iter_shares(total: int, count: int) -> Iterator[Shares]:
    """Yields every way to split ``total`` into ``count`` non-negative parts, in ascending order."""
    if count == 1:
        yield (total,)
        return
    for first_share in range(total + 1):
        for remaining in iter_shares(total - first_share, count - 1):
            yield (first_share, *remaining)


def _compute_weights(setting: FusionSetting) -> tuple[float, ...]:
    return tuple(share / sum(setting.shares) for share in setting.shares)
