"""Predictions of the toolkit's own extractors, and their conversion to scored rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eval.extraction.row import ExtractionRow, Outcome
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.extraction.settings import DEFAULT_MATCHING, Matching
from eval.result import Usage


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """One extraction, as JSON of its sample's schema.

    Attributes:
        id: id of the sample.
        system: name of the extractor.
        repeat: number of the repeat, from 0.
        predicted: the extracted JSON; ``None`` if there is none.
        parsed: whether the extractor's output could be parsed.
        failed: whether there is no extraction because a call failed.
        raw: the extractor's output as text.
        problem: the reason if there is no valid extraction; otherwise empty.
        notes: deviations from the request.
        latency_s: seconds of its calls; ``None`` without calls.
        usage: tokens of its calls.
    """

    id: str
    system: str
    repeat: int = 0
    predicted: Any = None
    parsed: bool = True
    failed: bool = False
    raw: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()
    latency_s: float | None = None
    usage: Usage | None = None


def score_predictions(
    samples: Sequence[Sample],
    predictions: Iterable[Prediction],
    matching: Matching = DEFAULT_MATCHING,
) -> Iterator[ExtractionRow]:
    """Scores predictions and yields them as rows of a run.

    Args:
        samples: the gold samples.
        predictions: predictions for these samples only.
        matching: when two values count as the same.
    """
    samples_by_id = {sample.id: sample for sample in samples}
    for prediction in predictions:
        parsed = prediction.parsed and not prediction.failed
        score = score_sample(
            samples_by_id[prediction.id], prediction.predicted, matching, parsed=parsed
        ).score
        outcome: Outcome = "OK" if score.valid else "INVALID" if parsed else "UNPARSABLE"
        is_valid = outcome == "OK" and not prediction.failed
        problem = prediction.problem or "; ".join(map(str, score.schema_errors))
        yield ExtractionRow(
            id=prediction.id,
            system=prediction.system,
            repeat=prediction.repeat,
            outcome="ERROR" if prediction.failed else outcome,
            predicted=prediction.predicted,
            raw="" if is_valid else prediction.raw,
            problem="" if is_valid else problem or "not readable",
            notes=prediction.notes,
            latency_s=prediction.latency_s,
            usage=prediction.usage,
            input_chars=len(samples_by_id[prediction.id].text),
            output_chars=len(prediction.raw),
            score=score,
        )
