"""Compares runs and records the outcome: cards, pairs of systems, tests and notes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from eval.comparison.pairs import compare_systems
from eval.metrics.observations import Observations
from eval.metrics.outcomes import PRED_CODE, UNUSABLE
from eval.metrics.record import PairedComparison, Source
from eval.metrics.samples import Plan, Samples
from eval.stats.paired_tests import ALPHA
from kg.words.plain_text import clean_text

SCHEMA = "epoche.comparison/1"

_SHARED_CARDS_NOTE = "Only the "
"""Beginning of the note on cards left out; it is dropped because ``shared`` is more detailed."""


class MissingAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The number of cards that a system did not answer although another one did."""

    system: str
    cards: int
    why: str


class SharedCards(msgspec.Struct, frozen=True, kw_only=True):
    """The cards that every system answered, and the cards that were left out."""

    n: int
    left_out: int = 0
    """Cards that some system answered and another did not."""
    lacking: tuple[MissingAnswers, ...] = ()
    apart: dict[str, int] = {}
    """Number of near-misses and faithfulness cards among the ``n``. They are separate sets, which
    enter neither the headline metrics nor comparisons."""


class ComparisonReport(msgspec.Struct, frozen=True, kw_only=True):
    """All of ``comparison.json``."""

    schema: str = SCHEMA
    version: str
    cards: str
    shared: SharedCards
    n_cards: int
    """Cards compared: the shared cards without those of separate sets."""
    n_clusters: int
    systems: tuple[str, ...]
    baseline: str | None = None
    confidence: float
    resamples: int
    seed: int
    alpha: float = ALPHA
    comparisons: tuple[PairedComparison, ...]
    notes: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()


def compare_runs(
    observations: Observations, plan: Plan, *, baseline: str | None = None
) -> ComparisonReport:
    """Compares all pairs of systems, or each system with a baseline.

    Args:
        observations: the answers of two or more systems.
        plan: policies, resamples, seed and confidence.
        baseline: the system to compare all others with.

    Raises:
        ValueError: no such baseline.
    """
    samples = Samples(observations, plan)
    signature = samples.signature
    compared = compare_systems(samples, signature=signature, baseline=baseline)
    return ComparisonReport(
        version=signature.version,
        cards=observations.card_set,
        shared=_describe_shared_cards(observations),
        n_cards=samples.n_cards,
        n_clusters=samples.n_clusters,
        systems=tuple(observations.preds),
        baseline=baseline,
        confidence=plan.confidence,
        resamples=plan.resamples,
        seed=plan.seed,
        comparisons=compared,
        notes=(
            *(note for note in observations.notes if not note.startswith(_SHARED_CARDS_NOTE)),
            *_note_failures(samples),
            *_note_coarse_resampling(compared, plan),
        ),
        sources=observations.sources,
    )


def _describe_shared_cards(observations: Observations) -> SharedCards:
    excluded = ~observations.headline_mask
    near = int((excluded & observations.near_miss_mask).sum())
    separate = {"near-miss": near, "context-faithfulness": int(excluded.sum()) - near}
    return SharedCards(
        n=len(observations.ids),
        left_out=observations.n_left_out,
        lacking=tuple(
            MissingAnswers(
                system=name, cards=cards, why=_explain_missing_answers(observations, name)
            )
            for name, cards in observations.unanswered.items()
        ),
        apart={kind: count for kind, count in separate.items() if count},
    )


def _note_failures(samples: Samples) -> Iterator[str]:
    """Yields a note on each system with unusable replies; under ``licensed`` they lower FAR-NE."""
    licensed = "licensed" in samples.plan.policies
    for name in samples.observations.systems_under_test:
        preds = samples.get_preds(name)
        counts = {pred: int((preds == PRED_CODE[pred]).sum()) for pred in UNUSABLE}
        parts = " and ".join(f"{count:,} {pred}" for pred, count in counts.items() if count)
        if parts and licensed:
            yield (
                f"{clean_text(name)} has {parts} replies, which count as neither answer nor "
                "abstention: this favours it on metrics where fewer answers are better, such as "
                "FAR-NE."
            )
        elif parts:
            yield f"{clean_text(name)} has {parts} replies, which this policy counts as answers."


def _note_coarse_resampling(comparisons: Sequence[PairedComparison], plan: Plan) -> Iterator[str]:
    """Yields a note if there are too few resamples for any p to be significant after Holm."""
    by_resampling = Counter(
        (pair.policy, pair.metric) for pair in comparisons if pair.test == "cluster-bootstrap"
    )
    pairs = max(by_resampling.values(), default=0)
    smallest_p = 2 / (plan.resamples + 1)
    if pairs * smallest_p >= ALPHA:
        # Holm multiplies the smallest p by the number of pairs; the number suggested is ten times
        # the minimum, so that p-values above the smallest possible one can be significant too.
        suggested = round_up_to_thousand(20 * pairs / ALPHA)
        yield (
            f"No bootstrap test of {pairs} pairs by {plan.resamples} resamples can reach "
            f"p < {ALPHA:g} after Holm's correction: use --resamples {suggested} or --baseline."
        )


def round_up_to_thousand(number: float) -> int:
    """Rounds up to a multiple of 1,000."""
    return math.ceil(number / 1000) * 1000


def _explain_missing_answers(observations: Observations, system: str) -> str:
    """Explains from its manifest why a system has not answered all cards."""
    source = next((source for source in observations.sources if system in source.systems), None)
    manifest = (source and source.manifest) or {}
    if manifest.get("status", "complete") != "complete":
        return "its run is not complete"
    if manifest.get("shard"):
        return f"it is shard {manifest['shard']} of its run: merge the shards first"
    if manifest.get("limit") is not None:
        return f"its run was limited to the first {manifest['limit']} cards"
    return "its file has no rows for them"
