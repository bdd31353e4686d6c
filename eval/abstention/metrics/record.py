"""The records of ``metrics.json``, which reports and comparisons read.

Every number that can be quoted is a ``MetricValue``, with its interval, its bounds over unusable
replies, and its signature. Formulas and policies are in ``docs/reference/metrics.md``. Keys are
written in the order of the fields here and every mapping in a fixed order, so equal inputs give
equal bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from eval.metrics.comparison import Comparison
from eval.metrics.measurement import PolicyName
from eval.metrics.metric_value import CalibrationReport, ConfidenceCounts, MetricValue, Number
from eval.metrics.record_digest import check_digest
from kg.base.errors import RecordError
from kg.base.files import require_file

SCHEMA = "epoche.metrics/3"


Table = dict[str, dict[str, Number]]
"""Label (E, C, U) → prediction (YES, NO, UNKNOWN, INVALID, ERROR) → number of replies, one per
card and repeat.

Whole numbers, except for the random control, where they are expectations."""


class RiskCoveragePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Coverage and risk when every reply below a confidence threshold is withheld."""

    threshold: float
    """Lowest confidence accepted."""
    coverage: float
    """Share of the replies accepted."""
    risk: float
    """Share of wrong replies among the accepted ones (selective risk)."""
    generalised_risk: float
    """Share of all replies that are accepted and wrong: ``coverage · risk``."""


class SelectiveReport(msgspec.Struct, frozen=True, kw_only=True):
    """Selective prediction: how well confidence ranks right replies above wrong ones."""

    n: int
    aurc: MetricValue
    """Area under the risk–coverage curve: mean selective risk over coverage; lower is better."""
    augrc: MetricValue
    """Area under the generalised risk–coverage curve; lower is better."""
    aurc_best: float
    """AURC of the same replies if every right one had a higher confidence than every wrong one."""
    aurc_random: float
    """Expected AURC if confidence were independent of being right: the error rate."""
    augrc_best: float
    augrc_random: float
    points: tuple[RiskCoveragePoint, ...]
    """The curve by rising coverage, thinned to at most 200 points, the last at full coverage. The
    areas are computed from the whole curve."""


class GroupReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of one system on a group of cards: one label, one kind, or one difficulty."""

    n_cards: int
    n_clusters: int
    table: Table
    """Only the labels that occur in the group."""
    metrics: dict[str, MetricValue]


MemoryFinding = Literal["memory", "none", "unclear"]
"""Whether a system answers from memory: it does, not by as much as the margin, or no test says. A
system that does not show that it reads is never found to be without memory."""


class MemoryTests(msgspec.Struct, frozen=True, kw_only=True):
    """The two tests of ``memory``, with p-values by inverting Newcombe's two-sided interval.

    Holm's correction covers the two tests of a system.
    """

    p: float
    """Of no difference."""
    p_holm: float
    margin: float
    """A difference that is too large to be called none."""
    p_margin: float
    """Of a difference as large as the margin or larger, with unusable replies to true claims taken
    for YES."""
    p_margin_holm: float
    finding: MemoryFinding


class SystemReport(msgspec.Struct, frozen=True, kw_only=True):
    """One system under one policy, on the headline cards.

    Near-misses and faithfulness cards are excluded, unless the file contains only near-misses.
    """

    n_cards: int
    n_clusters: int
    table: Table
    counts: dict[str, Number]
    """``A_E A_C A_U S_E S_C S_U`` under this policy, ``false_denials`` (licensed only),
    ``INVALID`` and ``ERROR``."""
    metrics: dict[str, MetricValue]
    """Under policy ``licensed`` skill@.5 and all-three come first."""
    per_label: dict[str, GroupReport] = {}
    per_kind: dict[str, GroupReport] = {}
    """Outcomes by kind, including the kinds of near-misses but not those of faithfulness cards."""
    near_misses: dict[str, GroupReport] = {}
    """One group, ``all near-misses``, if there are any."""
    per_difficulty: dict[str, GroupReport] = {}
    faithfulness: dict[str, GroupReport] = {}
    """``withheld`` and ``counterfactual`` cards, which never enter the headline."""
    set_aside: dict[str, GroupReport] = {}
    """U cards whose claim is ``true in the graph``, which facts set aside for them said, and the
    ``others``; only where both are known."""
    memory: MetricValue | None = None
    """Share of YES on the first of them minus that on the others: above 0, a system answers from
    memory, or from related facts that prove nothing."""
    memory_tests: MemoryTests | None = None
    repeats: int = 1
    """Replies per card. Above 1, table, counts, numerators and denominators count replies, and
    intervals account for the dependence of replies to one card."""
    self_consistency: MetricValue | None = None
    """With repeats, the share of cards that got the same usable answer every time."""
    confidence: ConfidenceCounts | None = None
    """Null for controls that were not run."""
    calibration: CalibrationReport | None = None
    """Null when no reply has a confidence; ``confidence.reason`` then says so."""
    selective: SelectiveReport | None = None
    """Null when ``calibration`` is."""
    oracle: bool = False
    """True for a system that its manifest declares as an oracle: it sees more than the card."""


class ControlWin(msgspec.Struct, frozen=True, kw_only=True):
    """A headline metric on which a trivial control does at least as well as some system."""

    metric: str
    value: float
    """The best value among the controls."""
    controls: tuple[str, ...]
    """The controls with that value."""
    won: bool
    """True when no system is better than the best control."""
    beaten: tuple[str, ...]
    """Systems that are worse than the best control."""
    tied: tuple[str, ...]
    """Systems with the same value as the best control."""


class PolicyReport(msgspec.Struct, frozen=True, kw_only=True):
    """All systems and controls under one policy."""

    systems: dict[str, SystemReport]
    controls: dict[str, SystemReport]
    """``always-YES``, ``always-NO``, ``always-UNKNOWN`` computed exactly; ``random`` in
    expectation."""
    won_by_controls: tuple[ControlWin, ...] = ()


class CardComparison(Comparison, frozen=True, kw_only=True):
    """Two systems on the same cards.

    ``p_holm`` is adjusted over all pairs compared on this metric under this policy; there is no
    ``discordant`` in runs with repeats.
    """

    policy: PolicyName
    cohens_d: float | None = None
    """Mean difference per card divided by the standard deviation of the differences (d_z), for
    metrics whose denominator depends on the cards alone; null where the differences do not
    vary."""
    n_clusters: int = 0
    signature: str = ""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One result file that was read."""

    path: str
    rows: int
    systems: tuple[str, ...]
    manifest: dict[str, Any] | None = None
    """The content of the file's run manifest, if it has one."""
    rows_digest: str = ""
    """Digest of the rows in any order, so that a report shows no metrics of other rows."""


class MetricsReport(msgspec.Struct, frozen=True, kw_only=True):
    """All of ``metrics.json``."""

    schema: str = SCHEMA
    version: str
    """Version of Epoché that computed it."""
    cards: str
    """First 12 hex digits of the card set's hash; or ``ids-`` and 12 digits computed from ids,
    labels and gold answers where the result files name no card set."""
    warnings: tuple[str, ...] = ()
    """What must be said wherever the scores are shown, as sentences: by what labels of the cards
    can be predicted, and which labels no card has."""
    n_cards: int
    """Headline cards; cards reported separately have counts of their own."""
    n_clusters: int
    n_near_misses: int = 0
    """Near-misses reported separately; 0 where they are the headline themselves."""
    n_faithfulness: int = 0
    n_mined: int = 0
    """Headline cards that are contradictory only by rules that were found in the data and that
    their publisher does not state."""
    n_mined_left_out: int | None = None
    """Number of such cards that were left out, of all cards; null if they are counted."""
    label_counts: dict[str, int]
    confidence: float = 0.95
    resamples: int = 2000
    seed: int = 12345
    policies: dict[str, PolicyReport]
    comparisons: tuple[CardComparison, ...] = ()
    closed_book: tuple[CardComparison, ...] = ()
    """Systems with a model, each with the same model that saw only the question, on skill@.5 and LA
    under policy ``licensed``; only where ``raw_closed_book`` was asked."""
    notes: tuple[str, ...] = ()
    """Facts that a reader of the metrics must know, as sentences."""
    sources: tuple[Source, ...] = ()
    content_sha256: str = ""
    """Digest of all other fields, so that edited numbers are noticed."""


class _SchemaName(msgspec.Struct):
    schema: str = SCHEMA


def read_metrics(path: Path | str, *, allow_changed: bool = False) -> MetricsReport:
    """Reads a ``metrics.json``.

    Args:
        path: the file.
        allow_changed: accept one that was edited.

    Returns:
        The metrics; their warnings say so if they were edited, or have no digest.

    Raises:
        MissingFileError: no such file.
        RecordError: not JSON, not this structure, or another version of the schema.
        ChangedRunError: the file was edited after it was computed, and this is not accepted.
    """
    path = require_file(path, "metrics file")
    content = path.read_bytes()
    try:
        schema = msgspec.json.decode(content, type=_SchemaName).schema
        # Files of another version have other keys, so the version is checked first.
        report = msgspec.json.decode(content, type=MetricsReport) if schema == SCHEMA else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"not a metrics file: {error}", where=str(path), hint="Make it with `epoche metrics`."
        ) from error
    if report is None:
        raise RecordError(
            f"metrics schema {schema!r}, expected {SCHEMA!r}",
            where=str(path),
            hint="Compute the metrics again with this version.",
        )
    warnings = check_digest(path, command="epoche metrics", allow_changed=allow_changed)
    return msgspec.structs.replace(report, warnings=(*warnings, *report.warnings))
