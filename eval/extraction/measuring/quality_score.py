"""The extraction quality score: one number of validity, accuracy, types and invention.

EQS = w1 · schema validity + w2 · field F1 (partial) + w3 · type accuracy + w4 · (1 - hallucination
rate), with weights that are divided by their sum. Of a single sample validity is 0 or 1.

Of a sample with no field on either side there is no F1 and so no score: null, never a share of the
other parts. Where some field is expected or came, the score is always a number, or else a system
could raise its mean by leaving hard samples empty: a reply without any typed field has a type
accuracy of 0, one without any field has invented none.

Source: the benchmark's specification, 4.0.1.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from eval.extraction.record import Invalid
from eval.extraction.verdicts.sample_score import SampleScore, Tally

PARTS = ("schema_validity", "field_f1_partial", "type_accuracy", "no_hallucination")


class Weights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each part counts for; only their proportions matter.

    Raises:
        ValueError: one is negative or not finite, or all are 0.
    """

    schema_validity: float = 0.15
    field_f1_partial: float = 0.5
    type_accuracy: float = 0.2
    no_hallucination: float = 0.15

    def __post_init__(self) -> None:
        # Written so that NaN fails too.
        given = msgspec.structs.astuple(self)
        if not all(0 <= weight < float("inf") for weight in given) or not 0 < sum(given) < 1e300:
            raise ValueError("weights of the score must be finite, 0 or more, and not all 0")

    @property
    def shares(self) -> tuple[float, float, float, float]:
        """The weights divided by their sum, in the order of ``PARTS``."""
        given = msgspec.structs.astuple(self)
        whole = sum(given)
        one, two, three, four = (weight / whole for weight in given)
        return one, two, three, four


WEIGHTS = Weights()

_MEANINGS = (
    (0.9, "Excellent", "Production-ready for most use cases"),
    (0.75, "Good", "Suitable with human review"),
    (0.6, "Moderate", "Needs significant oversight"),
    (0.0, "Poor", "Not recommended for production"),
)


def interpretation(score: float | None) -> tuple[str, str]:
    """A word for a score and what it means; two empty texts where there is none."""
    if score is None:
        return "", ""
    return next((word, meaning) for least, word, meaning in _MEANINGS if score >= least)


def score_parts(validity: float, tally: Tally) -> tuple[float, float, float, float] | None:
    """The four parts of the score, in the order of ``PARTS``; null without a field on any side.

    Args:
        validity: share of valid replies, of one sample 0 or 1.
        tally: its fields.
    """
    accuracy = tally.f1("partial")
    if accuracy is None:
        return None
    return validity, accuracy, tally.type_accuracy or 0.0, 1 - (tally.hallucination_rate or 0.0)


def weighted(parts: tuple[float, float, float, float], weights: Weights = WEIGHTS) -> float:
    """The score of some parts."""
    return sum(share * part for share, part in zip(weights.shares, parts, strict=True))


class SampleValues(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of a single sample. Null where a denominator is 0."""

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


HIGHER_IS_BETTER: Mapping[str, bool] = {
    name: name not in ("hallucination_rate", "omission_rate")
    for name in SampleValues.__struct_fields__
}


def per_sample(
    score: SampleScore, *, invalid: Invalid = "zero", weights: Weights = WEIGHTS
) -> SampleValues:
    """The metrics of one sample whose call came back; a failed call has none, so ask for none.

    Args:
        score: its statistics.
        invalid: ``zero``: a reply that is no valid instance has 0 in all that is better higher,
            the precision of a reply without fields too. ``as_is``: what is right in it counts. A
            reply that is no JSON has 0 either way.
        weights: of the score.
    """
    void = not score.parsed or (invalid == "zero" and not score.valid)
    tally = score.tally.voided() if void else score.tally
    parts = score_parts(float(score.valid), tally)
    quality = None if parts is None else weighted(parts, weights)
    found: dict[str, float | None] = {"type_accuracy": tally.type_accuracy}
    for mode in ("strict", "partial", "lenient"):
        found[f"precision_{mode}"] = tally.precision(mode)
        found[f"recall_{mode}"] = tally.recall(mode)
        found[f"f1_{mode}"] = tally.f1(mode)
    if void:
        found = dict.fromkeys(found, 0.0)
        quality = 0.0
    return SampleValues(
        valid=score.valid,
        exact_match=score.exact_match and score.valid,
        eqs=quality,
        hallucination_rate=tally.hallucination_rate,
        omission_rate=tally.omission_rate,
        **found,
    )
