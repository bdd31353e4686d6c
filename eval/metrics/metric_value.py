"""The records of a metric's value and of a calibration, shared by all benchmarks."""

from __future__ import annotations

import msgspec

from eval.stats.estimates import Estimate

Number = int | float


class MetricValue(Estimate, frozen=True, kw_only=True):
    """The estimate of one metric of one system under one policy.

    ``method`` is the method of the interval [``low``, ``high``]; the others are in ``intervals``.
    ``worst`` and ``best`` are attained by reading each INVALID and ERROR reply as YES, NO or
    UNKNOWN; for FAR-NE the worst is the highest.
    """

    numerator: Number | None = None
    denominator: Number | None = None
    signature: str = ""
    intervals: dict[str, tuple[float, float]] = msgspec.field(default_factory=dict)
    """Every interval computed, by method."""


class ConfidenceCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of replies to headline cards with and without a confidence."""

    given: int
    """Usable replies with a confidence; calibration and selective prediction are about these."""
    missing: int
    """Usable replies without a confidence."""
    unreadable: int
    """INVALID and ERROR replies, which cannot have a confidence."""
    reason: str = ""
    """Why nothing is computed, or which replies are excluded; empty if all have a confidence."""


class ReliabilityBin(msgspec.Struct, frozen=True, kw_only=True):
    """The replies of one confidence bin, a bar of the reliability diagram. Never empty."""

    low: float
    high: float
    """Equal-width bins are [low, high), the last [low, 1]. For equal-mass bins these are the
    lowest and highest confidence inside; replies of equal confidence share a bin."""
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
    """The calibration error that a perfectly calibrated system has by chance.

    Simulated with the same number of replies (with repeats: of cards) and the same confidences.
    An error no greater than ``high`` is no evidence of miscalibration.
    """

    mean: float
    high: float
    """The 95 % quantile of the simulated errors (or the quantile of the report's confidence)."""
    p: float
    """p-value: share of calibrated systems with at least the observed error, with one added to
    numerator and denominator. A small value means that the system is miscalibrated."""


class BrierParts(msgspec.Struct, frozen=True, kw_only=True):
    """Brier score = reliability - resolution + uncertainty + within (equal-width bins)."""

    reliability: float
    """Mean squared difference between the confidence and accuracy of bins; 0 is best."""
    resolution: float
    """Mean squared difference between the accuracy of bins and overall; higher is better."""
    uncertainty: float
    """accuracy · (1 - accuracy): the score of always stating the overall accuracy."""
    within: float
    """Contribution of the dispersion of confidences within bins."""


class FieldRisk(msgspec.Struct, frozen=True, kw_only=True):
    """How well confidences tell right decisions on a field from wrong ones."""

    n: int
    """Number of decisions with a confidence: a value, or none."""
    wrong: int
    aurc: MetricValue
    """Area under the risk–coverage curve."""
    aurc_best: float
    """The area if every right decision had a higher confidence than every wrong one."""
    aurc_random: float
    """The expected area if confidence said nothing: the share of wrong decisions."""
    curve: tuple[tuple[float, float], ...]
    """At most twenty pairs of coverage and risk: the share of decisions of at least some
    confidence, and the share of wrong ones among them."""


class CalibrationReport(msgspec.Struct, frozen=True, kw_only=True):
    """Calibration: agreement of confidence and accuracy, over the replies with a confidence.

    A reply is right when it counts in the numerator of ``accuracy``: its prediction equals gold.
    """

    n: int
    accuracy: float
    confidence: float
    """Mean confidence; a value above ``accuracy`` means overconfidence."""
    ece: MetricValue
    """Expected calibration error over ten equal-width bins."""
    ece_equal_mass: MetricValue
    """Expected calibration error over at most ten bins of equally many replies."""
    brier: MetricValue
    ece_expected: ExpectedError
    ece_equal_mass_expected: ExpectedError
    brier_parts: BrierParts
    bins: tuple[ReliabilityBin, ...]
    """The equal-width bins by rising confidence, without empty bins."""
    bins_equal_mass: tuple[ReliabilityBin, ...]
