"""The comparison of some runs as one record: which cards, which pairs, what the data can tell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from eval.comparing.pairs import compare_systems
from eval.metrics.observations import Observations
from eval.metrics.outcomes import PRED_CODE, UNREADABLE
from eval.metrics.record import PairedComparison, Source
from eval.metrics.samples import Plan, Samples
from eval.stats.paired import ALPHA
from kg.words.plain_text import plain

SCHEMA = "epoche.comparison/1"

_SAID_BY_SHARED = "Only the "
"""How the note on cards left out begins; ``shared`` says more."""


class Lacking(msgspec.Struct, frozen=True, kw_only=True):
    """A system that has no answer to some cards that another one answered."""

    system: str
    cards: int
    why: str


class SharedCards(msgspec.Struct, frozen=True, kw_only=True):
    """The cards that every system answered, and what was left out."""

    n: int
    left_out: int = 0
    """Cards that some system answered and another did not."""
    lacking: tuple[Lacking, ...] = ()
    apart: dict[str, int] = {}
    """Of the ``n``, near-misses and context-faithfulness cards: sets of their own, which enter no
    headline metric and so no comparison."""


class ComparisonReport(msgspec.Struct, frozen=True, kw_only=True):
    """All of ``comparison.json``."""

    schema: str = SCHEMA
    version: str
    cards: str
    shared: SharedCards
    n_cards: int
    """Cards compared: those shared, less those of sets of their own."""
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
    """Compares all systems that were read, each with each or each with a baseline.

    Args:
        observations: two systems or more.
        plan: policies, resamples, seed and confidence.
        baseline: the system to hold all others against.

    Raises:
        ValueError: no such baseline.
    """
    samples = Samples(observations, plan)
    signature = samples.signature
    compared = compare_systems(samples, signature=signature, baseline=baseline)
    return ComparisonReport(
        version=signature.version,
        cards=observations.cards,
        shared=_shared(observations),
        n_cards=samples.n_cards,
        n_clusters=samples.n_clusters,
        systems=tuple(observations.preds),
        baseline=baseline,
        confidence=plan.confidence,
        resamples=plan.resamples,
        seed=plan.seed,
        comparisons=compared,
        notes=(
            *(note for note in observations.notes if not note.startswith(_SAID_BY_SHARED)),
            *_failures(samples),
            *_coarse(compared, plan),
        ),
        sources=observations.sources,
    )


def _shared(seen: Observations) -> SharedCards:
    out = ~seen.headline
    near = int((out & seen.near_misses).sum())
    apart = {"near-miss": near, "context-faithfulness": int(out.sum()) - near}
    return SharedCards(
        n=len(seen.ids),
        left_out=seen.n_left_out,
        lacking=tuple(
            Lacking(system=name, cards=cards, why=_why(seen, name))
            for name, cards in seen.unanswered.items()
        ),
        apart={kind: count for kind, count in apart.items() if count},
    )


def _failures(samples: Samples) -> Iterator[str]:
    """Names systems with unusable replies: under ``licensed`` these lower FAR-NE."""
    licensed = "licensed" in samples.plan.policies
    for name in samples.observations.contenders:
        preds = samples.preds(name)
        counts = {pred: int((preds == PRED_CODE[pred]).sum()) for pred in UNREADABLE}
        parts = " and ".join(f"{count:,} {pred}" for pred, count in counts.items() if count)
        if parts and licensed:
            yield (
                f"{plain(name)} has {parts} replies, which count as neither answer nor abstention: "
                "where fewer answers look better, as in FAR-NE, failing does too."
            )
        elif parts:
            yield f"{plain(name)} has {parts} replies, which this policy counts as answers."


def _coarse(compared: Sequence[PairedComparison], plan: Plan) -> Iterator[str]:
    """Says so where the resamples are too few for Holm over so many pairs to find anything."""
    by_resampling = Counter(
        (one.policy, one.metric) for one in compared if one.test == "cluster-bootstrap"
    )
    pairs = max(by_resampling.values(), default=0)
    least = 2 / (plan.resamples + 1)
    if pairs * least >= ALPHA:
        # Holm multiplies the smallest p by the number of pairs; ten times that leaves room.
        enough = round_up(20 * pairs / ALPHA)
        yield (
            f"No bootstrap test of {pairs} pairs by {plan.resamples} resamples can reach "
            f"p < {ALPHA:g} after Holm's correction: use --resamples {enough} or --baseline."
        )


def round_up(number: float) -> int:
    """The next number of thousands."""
    return math.ceil(number / 1000) * 1000


def _why(seen: Observations, system: str) -> str:
    """Why a system's answers are fewer, as far as its manifest tells."""
    source = next((source for source in seen.sources if system in source.systems), None)
    manifest = (source and source.manifest) or {}
    if manifest.get("status", "complete") != "complete":
        return "its run is not complete"
    if manifest.get("shard"):
        return f"it is shard {manifest['shard']} of its run: merge the shards first"
    if manifest.get("limit") is not None:
        return f"its run was limited to the first {manifest['limit']} cards"
    return "its file has no rows of them"
