"""Measures systems at every level of degradation, and compares them with each other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from eval.abstention.degradation.degraded_graph import Level
from eval.abstention.measurement import measure_cards
from eval.abstention.metrics.definitions import SKILL
from eval.metrics.comparison import Comparison, adjust_family
from eval.metrics.measurement import ResamplingPlan
from eval.metrics.record_digest import check_digest
from eval.stats.estimates import Estimate
from kg.base.errors import RecordError
from kg.base.files import require_file

SCHEMA = "epoche.degradation/1"
DATA_NAME = "degradation.json"
"""Name of the file with the curves, in the folder of the runs."""
CURVE_METRICS = (SKILL, "FAR-NE", "false_denial_rate", "LA")
"""The skill score, false answers where the graph does not entail the claim and where it does, and
licensed answers."""


class DegradationPoint(msgspec.Struct, frozen=True, kw_only=True):
    """All systems on one degraded graph."""

    dropped: float
    """Share of the facts that the graph lacks."""
    replaced: float
    """Share of the facts that the graph has another fact for."""
    n_dropped: int
    n_replaced: int
    graph: str
    """The degraded graph, relative to the file of the curves."""
    graph_sha256: str
    estimates: dict[str, dict[str, Estimate]]
    """System → metric → estimate."""
    comparisons: tuple[Comparison, ...] = ()
    """The pairs of systems on the skill score, adjusted over all pairs and levels."""

    @property
    def level(self) -> Level:
        """How much is damaged."""
        return Level(self.dropped, self.replaced)


class Degradation(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``degradation.json``."""

    schema: str = SCHEMA
    version: str
    cards: str
    """Hash of the card set, its first 12 digits."""
    n_cards: int
    n_facts: int
    """Number of facts of the graph that could be damaged."""
    systems: tuple[str, ...]
    metrics: tuple[str, ...] = CURVE_METRICS
    seed: int
    resamples: int
    confidence: float
    warnings: tuple[str, ...] = ()
    points: tuple[DegradationPoint, ...]
    """The graph as it is first, then by share dropped, then by share replaced."""
    content_sha256: str = ""
    """Digest of all other fields, so that edited numbers are noticed."""

    def select_curve(self, kind: str) -> list[DegradationPoint]:
        """Returns the points of a curve, by share.

        Args:
            kind: ``dropped`` or ``replaced``.
        """
        other = {"dropped": "replaced", "replaced": "dropped"}[kind]
        return sorted(
            (point for point in self.points if not getattr(point, other)),
            key=lambda point: float(getattr(point, kind)),
        )


class LevelResults(NamedTuple):
    """What systems did at one level.

    Attributes:
        estimates: system → metric → estimate.
        comparisons: the differences of skill between all pairs of systems.
        items: hash of the cards.
        n_items: number of cards that are measured.
        warnings: what must be said wherever the numbers are shown.
    """

    estimates: dict[str, dict[str, Estimate]]
    comparisons: tuple[Comparison, ...]
    items: str
    n_items: int
    warnings: tuple[str, ...]


def measure_level(
    results: Sequence[Path], cards: Path, plan: ResamplingPlan, *, allow_changed: bool = False
) -> LevelResults:
    """Measures the systems on one graph.

    Args:
        results: a result file of each system.
        cards: the cards.
        plan: how cards are resampled; the same plan at every level.
        allow_changed: accept cards and rows that changed after they were made.
    """
    measurement = measure_cards(results, plan, cards=[cards], allow_changed=allow_changed)
    runs = measurement.runs
    estimates = {}
    for name in runs.names:
        all_estimates = measurement.estimates(name)
        estimates[name] = {metric: all_estimates[metric] for metric in CURVE_METRICS}
    pairs = list(itertools.combinations(runs.names, 2))
    compared = measurement.compare(pairs, [SKILL]) if pairs else ()
    fields = Comparison.__struct_fields__
    comparisons = tuple(
        Comparison(**{field: getattr(pair, field) for field in fields}) for pair in compared
    )
    return LevelResults(estimates, comparisons, runs.items, runs.n_items, runs.warnings)


def adjust_over_levels(points: Sequence[DegradationPoint]) -> tuple[DegradationPoint, ...]:
    """Adjusts the p-values of all pairs at all levels as one family, by Holm's method."""
    family = [comparison for point in points for comparison in point.comparisons]
    adjusted = iter(adjust_family(family, higher_is_better=True))
    return tuple(
        msgspec.structs.replace(
            point, comparisons=tuple(itertools.islice(adjusted, len(point.comparisons)))
        )
        for point in points
    )


class Crossing(msgspec.Struct, frozen=True):
    """Where two systems change places on a curve."""

    candidate: str
    baseline: str
    low: float
    """The share up to which one system has the higher skill."""
    high: float
    """The share from which the other one has it."""


def find_crossings(points: Sequence[DegradationPoint]) -> Iterator[Crossing]:
    """Finds where the skill of two systems changes places along a curve.

    Args:
        points: the points of one curve, by share.
    """
    last: dict[tuple[str, str], tuple[float, float]] = {}
    for point in points:
        share = point.dropped or point.replaced
        for pair in point.comparisons:
            names = (pair.candidate, pair.baseline)
            if not pair.difference:
                continue
            previous = last.get(names)
            if previous is not None and (previous[1] > 0) != (pair.difference > 0):
                yield Crossing(*names, previous[0], share)
            last[names] = share, pair.difference


def read_degradation(path: Path, *, allow_changed: bool = False) -> Degradation:
    """Reads the curves.

    Args:
        path: the file.
        allow_changed: accept one that was edited.

    Returns:
        The curves; their warnings say so if they were edited, or have no digest.

    Raises:
        MissingFileError: the file does not exist.
        RecordError: it is not a file of curves.
        ChangedRunError: it was edited after it was computed, and this is not accepted.
    """
    require_file(path, "degradation curves")
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Degradation)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"not curves of `epoche degrade`: {error}", where=str(path)) from error
    if found.schema != SCHEMA:
        raise RecordError(f"schema {found.schema!r} is not {SCHEMA!r}", where=str(path))
    warnings = check_digest(path, command="epoche degrade", allow_changed=allow_changed)
    return msgspec.structs.replace(found, warnings=(*warnings, *found.warnings))


def iter_point_values(
    points: Sequence[DegradationPoint], system: str, metric: str, kind: str
) -> Iterator[tuple[float, Estimate]]:
    """Yields share and estimate of one system along a curve, where it has a value."""
    for point in points:
        estimate = point.estimates[system][metric]
        if estimate.value is not None:
            yield float(getattr(point, kind)), estimate
