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

from eval.stats.paired import Discordant
from eval.stats.shown import IntervalMethod
from kg.base.errors import RecordError
from kg.base.files import require_file

SCHEMA = "epoche.metrics/1"

PolicyName = Literal["licensed", "published"]

Number = int | float

Table = dict[str, dict[str, Number]]
"""Label (E, C, U) → prediction (YES, NO, UNKNOWN, INVALID, ERROR) → number of replies: one a card,
or as many as the run has repeats.

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
    """Both 0 where the number is no ratio of counts (calibration, selective prediction)."""
    worst: float | None = None
    """The least favourable value attainable by reading each INVALID and ERROR reply as YES, NO
    or UNKNOWN; equals ``best`` when there are none. For FAR-NE the worst is the highest."""
    best: float | None = None
    higher_is_better: bool | None = None
    """Null for metrics that only describe (coverage)."""
    signature: str = ""
    intervals: dict[str, tuple[float, float]] = {}
    """Every interval computed, by method, for readers who prefer another."""


class ConfidenceCounts(msgspec.Struct, frozen=True, kw_only=True):
    """On how many replies to headline cards a system says how sure it is."""

    given: int
    """Readable replies with a confidence: what calibration and selective prediction are about."""
    missing: int
    """Readable replies without."""
    unreadable: int
    """INVALID and ERROR, which can have none."""
    reason: str = ""
    """Why nothing is computed, or what is left out; empty when every reply has a confidence."""


class ReliabilityBin(msgspec.Struct, frozen=True, kw_only=True):
    """The replies of one bin of confidence: a bar of the reliability diagram. Never empty."""

    low: float
    high: float
    """Equal-width bins are [low, high), the last [low, 1]. For equal-mass bins these are the
    least and greatest confidence inside, and replies of one confidence are never parted."""
    n: int
    n_right: int
    confidence: float
    """Mean confidence."""
    accuracy: float
    """``n_right / n``."""
    accuracy_low: float
    accuracy_high: float
    """Wilson's interval; with repeats, over the cards of the bin."""


class ExpectedError(msgspec.Struct, frozen=True, kw_only=True):
    """The calibration error that a perfectly calibrated system shows by chance alone.

    At the same number of replies (with repeats: of cards) and the same confidences, by simulation.
    An error no greater than ``high`` is no evidence of miscalibration.
    """

    mean: float
    high: float
    """Its 95 % quantile (or the report's confidence level)."""
    p: float
    """Share of calibrated systems that show the observed error or a greater one, with one added
    to both parts; small means miscalibrated."""


class BrierParts(msgspec.Struct, frozen=True, kw_only=True):
    """Brier score = reliability - resolution + uncertainty + within (equal-width bins)."""

    reliability: float
    """Mean squared gap between the confidence and accuracy of bins; 0 is best."""
    resolution: float
    """How far the bins' accuracies lie from the overall one; more is better."""
    uncertainty: float
    """accuracy · (1 - accuracy): the score of always stating the overall accuracy."""
    within: float
    """What the spread of confidences inside the bins adds."""


class CalibrationReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether confidence means what it says, over the replies that carry one.

    A reply is right when it counts in the numerator of ``accuracy``: its prediction equals gold.
    """

    n: int
    accuracy: float
    confidence: float
    """Mean confidence; above ``accuracy`` is overconfidence."""
    ece: MetricValue
    """Expected calibration error over ten equal-width bins."""
    ece_equal_mass: MetricValue
    """The same over (at most) ten bins of equally many replies."""
    brier: MetricValue
    ece_expected: ExpectedError
    ece_equal_mass_expected: ExpectedError
    brier_parts: BrierParts
    bins: tuple[ReliabilityBin, ...]
    """Equal-width, empty ones left out, by rising confidence."""
    bins_equal_mass: tuple[ReliabilityBin, ...]


class RiskCoveragePoint(msgspec.Struct, frozen=True, kw_only=True):
    """What is left when every reply below a confidence is withheld."""

    threshold: float
    """Least confidence accepted."""
    coverage: float
    """Share of the replies accepted."""
    risk: float
    """Share of wrong ones among the accepted (selective risk)."""
    generalised_risk: float
    """Share of all replies that are accepted and wrong: ``coverage · risk``."""


class SelectiveReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether confidence sorts right from wrong, over the replies that carry one."""

    n: int
    aurc: MetricValue
    """Area under the risk–coverage curve: mean selective risk over coverage; lower is better."""
    augrc: MetricValue
    """Area under the generalised risk–coverage curve; lower is better."""
    aurc_best: float
    """AURC of the same replies if every right one were surer than every wrong one."""
    aurc_random: float
    """AURC if confidence said nothing: the error rate."""
    augrc_best: float
    augrc_random: float
    points: tuple[RiskCoveragePoint, ...]
    """The curve by rising coverage, thinned to at most 200 points, the last at full coverage. The
    areas are of the whole curve."""


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
    repeats: int = 1
    """Replies per card. Above 1, table, counts, numerators and denominators count replies, and
    no interval takes them for independent."""
    self_consistency: MetricValue | None = None
    """With repeats, the share of cards that got the same readable answer every time."""
    confidence: ConfidenceCounts | None = None
    """Null for controls that nobody ran."""
    calibration: CalibrationReport | None = None
    """Null when no reply carries a confidence: ``confidence.reason`` says so."""
    selective: SelectiveReport | None = None
    """Null likewise."""
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


TestName = Literal["mcnemar-exact", "wilcoxon", "cluster-bootstrap", "none"]
"""``mcnemar-exact`` for a yes or no per card; ``wilcoxon`` on the cards' means when a system
answered each card several times; ``cluster-bootstrap`` for ratios with random denominators."""


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
    test: TestName = "none"
    p: float | None = None
    p_holm: float | None = None
    """``p`` adjusted by Holm over all pairs compared on this metric under this policy."""
    discordant: Discordant | None = None
    """For metrics that are a yes or no per card; null otherwise, and with repeats."""
    cohens_d: float | None = None
    """Mean difference per card over the differences' standard deviation (d_z), for metrics whose
    denominator the cards alone decide; null where the differences do not vary."""
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
