"""Compares runs and records the outcome: cards, pairs of systems, tests and notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from eval.abstention.comparison.difficulty import DifficultyReport
from eval.abstention.metrics.cluster_samples import Plan, Samples
from eval.abstention.metrics.mined_cards import describe_mined_cards
from eval.abstention.metrics.observations import SHARED_CARDS_NOTE, Observations
from eval.abstention.metrics.outcomes import PRED_CODE, UNUSABLE
from eval.abstention.metrics.pairs import compare_pairs, describe_pair_resamples, list_pairs
from eval.abstention.metrics.record import CardComparison, Source
from eval.abstention.metrics.triplets import describe_incomplete_triplets
from eval.stats.paired_tests import ALPHA
from kg.base.plain_text import clean_text

SCHEMA = "epoche.comparison/1"


class MissingAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The number of cards that a system did not answer although another system did."""

    system: str
    cards: int
    why: str


class SharedCards(msgspec.Struct, frozen=True, kw_only=True):
    """The cards that every system answered, and the cards that were left out."""

    n: int
    left_out: int = 0
    """Number of cards that some systems answered and others did not."""
    lacking: tuple[MissingAnswers, ...] = ()
    """The systems without answers to these cards."""
    apart: dict[str, int] = {}
    """Number of near-misses and faithfulness cards among the ``n`` cards. They are separate sets,
    which are used neither for the headline metrics nor for comparisons."""


class ComparisonReport(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``comparison.json``."""

    schema: str = SCHEMA
    version: str
    cards: str
    warnings: tuple[str, ...] = ()
    """As in ``MetricsReport``."""
    shared: SharedCards
    n_cards: int
    """Number of cards compared: the shared cards except those of separate sets."""
    n_clusters: int
    systems: tuple[str, ...]
    baseline: str | None = None
    confidence: float
    resamples: int
    seed: int
    alpha: float = ALPHA
    comparisons: tuple[CardComparison, ...]
    difficulty: DifficultyReport | None = None
    """The measured difficulty of the cards; null with fewer than two systems to measure it by, and
    where cards are compared with their paraphrases."""
    notes: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()


def compare_runs(
    observations: Observations,
    plan: Plan,
    *,
    baseline: str | None = None,
    pairs: Sequence[tuple[str, str]] = (),
) -> ComparisonReport:
    """Compares all pairs of systems, each system with a baseline, or the given pairs.

    Args:
        observations: the answers of two or more systems.
        plan: policies, resamples, seed and confidence.
        baseline: the system to compare all others with.
        pairs: candidate and baseline of each pair; empty for all pairs.

    Raises:
        ValueError: no such baseline.
    """
    samples = Samples(observations, plan)
    signature = samples.signature
    pairs = pairs or list_pairs(observations, baseline)
    plan = replace(plan, resamples=plan.count_resamples(len(pairs)))
    comparisons = compare_pairs(samples, pairs, signature=signature)
    return ComparisonReport(
        version=signature.version,
        cards=observations.card_set,
        warnings=observations.warnings,
        shared=_describe_shared_cards(observations),
        n_cards=samples.n_cards,
        n_clusters=samples.n_clusters,
        systems=tuple(observations.preds),
        baseline=baseline,
        confidence=plan.confidence,
        resamples=plan.n_resamples,
        seed=plan.seed,
        comparisons=comparisons,
        notes=(
            # The field ``shared`` has the details of cards that were left out.
            *(note for note in observations.notes if not note.startswith(SHARED_CARDS_NOTE)),
            *describe_mined_cards(observations),
            *describe_incomplete_triplets(observations),
            *_note_failures(samples),
            *describe_pair_resamples(comparisons, plan),
        ),
        sources=observations.sources,
    )


def _describe_shared_cards(observations: Observations) -> SharedCards:
    excluded = ~observations.headline_mask
    n_near_misses = int((excluded & observations.near_miss_mask).sum())
    excluded_counts = {
        "near-miss": n_near_misses,
        "context-faithfulness": int(excluded.sum()) - n_near_misses,
    }
    return SharedCards(
        n=observations.labels.size,
        left_out=observations.n_left_out,
        lacking=tuple(
            MissingAnswers(
                system=name,
                cards=int(is_missing.sum()),
                why=_explain_missing_answers(observations, name),
            )
            for name, is_missing in observations.unanswered.items()
        ),
        apart={kind: count for kind, count in excluded_counts.items() if count},
    )


def _note_failures(samples: Samples) -> Iterator[str]:
    """Yields a note on each system with unusable replies, which change metrics such as FAR-NE."""
    has_licensed_policy = "licensed" in samples.plan.policies
    for name in samples.observations.systems_under_test:
        preds = samples.get_preds(name)
        counts = {pred: int((preds == PRED_CODE[pred]).sum()) for pred in UNUSABLE}
        counts_text = " and ".join(f"{count:,} {pred}" for pred, count in counts.items() if count)
        if counts_text and has_licensed_policy:
            yield (
                f"{clean_text(name)} has {counts_text} replies, which count as neither answer nor "
                "abstention: this favours it on metrics where fewer answers are better, such as "
                "FAR-NE."
            )
        elif counts_text:
            yield (
                f"{clean_text(name)} has {counts_text} replies, which this policy counts as "
                "answers."
            )


def _explain_missing_answers(observations: Observations, system: str) -> str:
    """Explains why a system has not answered all cards, by the manifest of its run."""
    source = next((source for source in observations.sources if system in source.systems), None)
    manifest = (source and source.manifest) or {}
    if manifest.get("status", "complete") != "complete":
        return "its run is not complete"
    if manifest.get("shard"):
        return f"it is shard {manifest['shard']} of its run: merge the shards first"
    if manifest.get("limit") is not None:
        return f"its run was limited to the first {manifest['limit']} cards"
    return "its file has no rows for them"
