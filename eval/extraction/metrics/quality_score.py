"""Computes the extraction quality score (EQS) and the other metrics of a single sample.

EQS = w1 · schema validity + w2 · field F1 (partial) + w3 · type accuracy + w4 · (1 - hallucination
rate), with weights divided by their sum. For a single sample, validity is 0 or 1.

A sample without expected and extracted fields has no F1 and therefore no score: null, not a score
of the remaining parts. Every other sample has a score; otherwise a system could raise its mean by
leaving hard samples empty. To this end, a reply without typed fields has type accuracy 0, and a
reply without fields has hallucination rate 0.

Source: the benchmark's specification, 4.0.1.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from eval.extraction.record import Estimate, Invalid, Mode
from eval.extraction.verdicts.sample_score import SampleScore, Tally

SCORE_PARTS = ("schema_validity", "field_f1_partial", "type_accuracy", "no_hallucination")


class ScoreWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Weights of the parts of the score; only their proportions matter.

    Raises:
        ValueError: a weight is negative or not finite, or all are 0.
    """

    schema_validity: float = 0.15
    field_f1_partial: float = 0.5
    type_accuracy: float = 0.2
    no_hallucination: float = 0.15

    def __post_init__(self) -> None:
        # Written as "not all(...)" so that NaN fails too. The limit of 1e300 on the sum rejects
        # sums that overflow to infinity.
        weights = msgspec.structs.astuple(self)
        if (
            not all(0 <= weight < float("inf") for weight in weights)
            or not 0 < sum(weights) < 1e300
        ):
            raise ValueError("weights of the score must be finite, 0 or more, and not all 0")

    @property
    def shares(self) -> tuple[float, float, float, float]:
        """The weights divided by their sum, in the order of ``SCORE_PARTS``."""
        weights = msgspec.structs.astuple(self)
        total = sum(weights)
        validity, field_f1, type_accuracy, no_hallucination = (weight / total for weight in weights)
        return validity, field_f1, type_accuracy, no_hallucination


DEFAULT_WEIGHTS = ScoreWeights()

_MEANINGS = (
    (0.9, "Excellent", "Production-ready for most use cases"),
    (0.75, "Good", "Suitable with human review"),
    (0.6, "Moderate", "Needs significant oversight"),
    (0.0, "Poor", "Not recommended for production"),
)


def interpret_score(score: float | None) -> tuple[str, str]:
    """Returns a word for a score and its meaning; two empty strings if the score is ``None``."""
    if score is None:
        return "", ""
    return next((rating, meaning) for min_score, rating, meaning in _MEANINGS if score >= min_score)


def interpret_interval(score: Estimate) -> tuple[str, str]:
    """Returns the word for a score and its meaning, if it is the same at both ends of the interval.

    If it is not, the words at both ends and what that means are returned: no verdict.
    """
    ends = [
        interpret_score(end)[0] for end in (score.low, score.value, score.high) if end is not None
    ]
    if len(set(ends)) < 2:
        return interpret_score(score.value)
    return f"{ends[0]} to {ends[-1]}", "No verdict, the interval spans these grades"


def compute_score_parts(validity: float, tally: Tally) -> tuple[float, float, float, float] | None:
    """Computes the parts of the score, in the order of ``SCORE_PARTS``.

    Args:
        validity: share of valid replies; 0 or 1 for a single sample.
        tally: counts of fields.

    Returns:
        The four parts; ``None`` if no field is expected and none is extracted.
    """
    field_f1 = tally.f1("partial")
    if field_f1 is None:
        return None
    return validity, field_f1, tally.type_accuracy or 0.0, 1 - (tally.hallucination_rate or 0.0)


def compute_weighted_score(
    parts: tuple[float, float, float, float], weights: ScoreWeights = DEFAULT_WEIGHTS
) -> float:
    """Computes the score as the weighted sum of its parts."""
    return sum(share * part for share, part in zip(weights.shares, parts, strict=True))


class SampleMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of a single sample; null if a denominator is 0."""

    valid: bool
    exact_match: bool
    eqs: float | None
    precision_strict: float | None
    recall_strict: float | None
    f1_strict: float | None
    precision_partial: float | None
    recall_partial: float | None
    f1_partial: float | None
    precision_lenient: float | None
    recall_lenient: float | None
    f1_lenient: float | None
    type_accuracy: float | None
    hallucination_rate: float | None
    omission_rate: float | None
    field_f1_literal: float | None
    field_accuracy: float | None
    right_rate: float | None
    wrong_rate: float | None
    left_out_rate: float | None
    invented_rate: float | None


CREDIT_WEIGHTS: Mapping[Mode, Mapping[str, float]] = {
    "strict": {"strict": 1.0},
    "partial": {"exact": 1.0, "partial": 0.5},
    "lenient": {"lenient": 1.0},
}
"""Mode → columns of a tally and their weights, whose sum is the credit of the matched fields."""

FIELD_RATIOS: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]] = {
    **{
        f"field_{kind}_{mode}": (
            {column: (2.0 if kind == "f1" else 1.0) * weight for column, weight in credit.items()},
            dict.fromkeys(sides, 1.0),
        )
        for mode, credit in CREDIT_WEIGHTS.items()
        for kind, sides in (
            ("precision", ("predicted",)),
            ("recall", ("expected",)),
            ("f1", ("expected", "predicted")),
        )
    },
    "field_f1_literal": ({"literal": 2.0}, {"expected": 1.0, "predicted": 1.0}),
    "field_accuracy": ({"right": 1.0}, {"expected": 1.0, "spurious": 1.0}),
    "right_rate": ({"right": 1.0}, {"expected": 1.0}),
    "wrong_rate": ({"expected": 1.0, "missed": -1.0, "right": -1.0}, {"expected": 1.0}),
    "left_out_rate": ({"left_out": 1.0}, {"absent": 1.0}),
    "invented_rate": ({"spurious": 1.0}, {"absent": 1.0}),
    "type_accuracy": ({"type_right": 1.0}, {"type_total": 1.0}),
    "hallucination_rate": ({"spurious": 1.0}, {"predicted": 1.0}),
    "omission_rate": ({"missed": 1.0}, {"expected": 1.0}),
}
"""Field metric → weights of its numerator and of its denominator over the columns of a tally."""

OUTCOME_METRICS = ("field_accuracy", "right_rate", "wrong_rate", "left_out_rate", "invented_rate")
"""Metrics of the outcomes of fields; they count the fields of invalid replies as they came."""

LOWER_IS_BETTER = ("hallucination_rate", "omission_rate", "wrong_rate", "invented_rate")


def compute_sample_metrics(
    score: SampleScore, *, invalid: Invalid = "zero", weights: ScoreWeights = DEFAULT_WEIGHTS
) -> SampleMetrics:
    """Computes the metrics of one sample. Do not call it for a failed call, which has no metrics.

    Args:
        score: statistics of the sample.
        invalid: ``zero``: an invalid reply has 0 in every metric where higher is better, also in
            the precision of a reply without fields. ``as_is``: its fields count as usual. A reply
            that is not JSON has 0 under either policy.
        weights: weights of the quality score.
    """
    gets_no_credit = not score.parsed or (invalid == "zero" and not score.valid)
    tally = score.tally.remove_credit() if gets_no_credit else score.tally
    parts = compute_score_parts(float(score.valid), tally)
    quality_score = None if parts is None else compute_weighted_score(parts, weights)
    if gets_no_credit:
        quality_score = 0.0
    values: dict[str, float | None] = {}
    for name, (numerator, denominator) in FIELD_RATIOS.items():
        # Here, precision, recall and F1 are named without "field_".
        short_name = name.removeprefix("field_")
        is_voided = gets_no_credit and name not in LOWER_IS_BETTER and name not in OUTCOME_METRICS
        values[short_name if short_name in _NAMES else name] = (
            0.0 if is_voided else _compute_ratio(tally, numerator, denominator)
        )
    return SampleMetrics(
        valid=score.valid,
        exact_match=score.exact_match and score.valid,
        eqs=quality_score,
        **values,
    )


_NAMES = frozenset(SampleMetrics.__struct_fields__)


def _compute_ratio(
    tally: Tally, numerator: Mapping[str, float], denominator: Mapping[str, float]
) -> float | None:
    above, below = (
        sum(weight * getattr(tally, column) for column, weight in side.items())
        for side in (numerator, denominator)
    )
    return above / below if below else None
