"""The records of ``metrics.json``: what the metrics stage hands to reports and comparisons.

Every number a reader may quote stands in a ``MetricValue``, which carries its interval, its
bounds over unreadable replies, and its signature. Formulas and policies are in
``docs/metrics.md``. The order of keys is the order of the fields here, and every mapping is
written in a fixed order, so equal inputs give equal bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from kg.base.errors import RecordError
from kg.base.files import require_file

SCHEMA = "epoche.metrics/1"

PolicyName = Literal["licensed", "published"]

Number = int | float

IntervalMethod = Literal[
    "wilson",
    "bootstrap-bca",
    "bootstrap-percentile",
    "wilson-edge",
    "newcombe-paired",
    "newcombe",
    "none",
]
"""How ``low`` and ``high`` came about.

``wilson-edge`` and, for differences, the two ``newcombe`` ones stand in where the resamples
say nothing (all give the same value, so that the bootstrap would claim certainty, or more than one
in twenty gives none); ``none`` means that there is no interval (null value, or a control, which is
not a sample)."""

Table = dict[str, dict[str, Number]]
"""Label (E, C, U) → prediction (YES, NO, UNKNOWN, INVALID, ERROR) → number of cards.

Whole numbers, except for the random control, where they are expectations."""


class MetricValue(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one system under one policy."""

    value: float | None
    """Null when the denominator is zero."""
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    """Method of the interval [``low``, ``high``]; the others are in ``intervals``."""
    numerator: Number = 0
    denominator: Number = 0
    worst: float | None = None
    """The least favourable value attainable by reading each INVALID and ERROR reply as YES, NO
    or UNKNOWN; equals ``best`` when there are none. For FAR-NE the worst is the highest."""
    best: float | None = None
    higher_is_better: bool | None = None
    """Null for metrics that only describe (coverage)."""
    signature: str = ""
    intervals: dict[str, tuple[float, float]] = {}
    """Every interval computed, by method, for readers who prefer another."""


class GroupReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of one system on some of the cards: one label, one kind, one difficulty."""

    n_cards: int
    n_clusters: int
    table: Table
    """Only the labels that occur in the group."""
    metrics: dict[str, MetricValue]


class SystemReport(msgspec.Struct, frozen=True, kw_only=True):
    """One system under one policy, on the headline cards.

    Near-misses and context faithfulness are left out, unless the file holds near-misses alone.
    """

    n_cards: int
    n_clusters: int
    table: Table
    counts: dict[str, Number]
    """``A_E A_C A_U S_E S_C S_U`` under this policy, ``false_denials`` (licensed only),
    ``INVALID`` and ``ERROR``."""
    metrics: dict[str, MetricValue]
    """Headline metrics first: AP, CVRR, FAR-NE, LA; then those that must stand beside them."""
    per_label: dict[str, GroupReport] = {}
    per_kind: dict[str, GroupReport] = {}
    """By kind, near-misses under their own names; faithfulness kinds are not here."""
    near_misses: dict[str, GroupReport] = {}
    """``all near-misses`` together, where there are any."""
    per_difficulty: dict[str, GroupReport] = {}
    faithfulness: dict[str, GroupReport] = {}
    """``withheld`` and ``counterfactual`` cards, which never enter the headline."""
    oracle: bool = False
    """True for a system its manifest declares exempt from the card's visible view."""


class WonByControl(msgspec.Struct, frozen=True, kw_only=True):
    """A metric on which a control that looks at nothing does as well as a system."""

    metric: str
    value: float
    """The best value among the controls."""
    controls: tuple[str, ...]
    """Controls that reach it."""
    won: bool
    """True when no system is better than the best control."""
    beaten: tuple[str, ...]
    """Systems that are worse than the best control."""
    tied: tuple[str, ...]
    """Systems that are exactly as good as the best control."""


class PolicyReport(msgspec.Struct, frozen=True, kw_only=True):
    """All systems and controls under one policy."""

    systems: dict[str, SystemReport]
    controls: dict[str, SystemReport]
    """``always-YES``, ``always-NO``, ``always-UNKNOWN`` exactly; ``random`` in expectation."""
    won_by_controls: tuple[WonByControl, ...] = ()


class Discordant(msgspec.Struct, frozen=True):
    """The 2×2 table behind exact McNemar: on how many cards each system counts in the numerator.

    For accuracy that is being right; for FAR-NE it is a false answer.
    """

    both: int
    only_a: int
    only_b: int
    neither: int


class PairedComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Systems ``a`` and ``b`` on the same cards: ``difference`` is a's value less b's."""

    a: str
    b: str
    policy: PolicyName
    metric: str
    value_a: float | None
    value_b: float | None
    difference: float | None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    test: Literal["mcnemar-exact", "cluster-bootstrap", "none"] = "none"
    p: float | None = None
    p_holm: float | None = None
    """``p`` adjusted by Holm over all pairs compared on this metric under this policy."""
    discordant: Discordant | None = None
    """For metrics that are a yes or no per card; null otherwise."""
    minimum_detectable_effect: float | None = None
    """The true difference found with 80 % power at this number of cards and this spread."""
    better: str | None = None
    """The system the data show to be better; null when they cannot tell."""
    n_cards: int = 0
    n_clusters: int = 0
    signature: str = ""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One result file that was read."""

    path: str
    rows: int
    systems: tuple[str, ...]
    manifest: dict[str, Any] | None = None
    """The run manifest beside the file, as it stands there."""


class MetricsReport(msgspec.Struct, frozen=True, kw_only=True):
    """All of ``metrics.json``."""

    schema: str = SCHEMA
    version: str
    """Version of Epoché that computed it."""
    cards: str
    """First 12 hex digits of the card set's hash; ``ids-`` and 12 digits made from ids and gold
    answers where the result files name no card set."""
    n_cards: int
    """Headline cards; those reported apart have counts of their own."""
    n_clusters: int
    n_near_misses: int = 0
    """Near-misses reported apart; 0 where they are the headline themselves."""
    n_faithfulness: int = 0
    label_counts: dict[str, int]
    confidence: float = 0.95
    resamples: int = 2000
    seed: int = 12345
    policies: dict[str, PolicyReport]
    comparisons: tuple[PairedComparison, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader of the numbers must know, in plain sentences."""
    sources: tuple[Source, ...] = ()


def read_metrics(path: Path | str) -> MetricsReport:
    """Reads a ``metrics.json``.

    Raises:
        MissingFileError: no such file.
        RecordError: not JSON, not this structure, or another version of it.
    """
    path = require_file(path, "metrics file")
    try:
        report = msgspec.json.decode(path.read_bytes(), type=MetricsReport)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"not a metrics file: {error}", where=str(path), hint="Make it with `epoche metrics`."
        ) from error
    if report.schema != SCHEMA:
        raise RecordError(
            f"metrics schema {report.schema!r}, expected {SCHEMA!r}",
            where=str(path),
            hint="Compute the metrics again with this version.",
        )
    return report
