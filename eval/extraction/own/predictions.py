"""What one of our own extractors made of one text, before it is scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eval.extraction.row import ExtractionRow, Outcome
from eval.extraction.samples.sample import Sample
from eval.extraction.scoring import score
from eval.extraction.settings import DEFAULT, Matching
from eval.result import Usage


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """One extraction, as JSON of its sample's schema.

    Attributes:
        id: of the sample.
        system: who extracted.
        repeat: which time.
        predicted: the JSON; null where there is none.
        parsed: whether what was written could be read.
        failed: whether no extraction was made, because a call failed.
        raw: what was written, kept where it could not be read.
        problem: why there is none.
        notes: what was not as asked.
        latency_s: seconds of its calls; null without any.
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


def scored_rows(
    samples: Sequence[Sample], predictions: Iterable[Prediction], matching: Matching = DEFAULT
) -> Iterator[ExtractionRow]:
    """The rows of a run that these predictions make.

    Args:
        samples: with what is expected.
        predictions: of these samples and no others.
        matching: how fields are compared.
    """
    by_id = {sample.id: sample for sample in samples}
    for one in predictions:
        parsed = one.parsed and not one.failed
        scored = score(by_id[one.id], one.predicted, matching, parsed=parsed).score
        outcome: Outcome = "OK" if scored.valid else "INVALID" if parsed else "UNPARSABLE"
        good = outcome == "OK" and not one.failed
        problem = one.problem or "; ".join(map(str, scored.schema_errors))
        yield ExtractionRow(
            id=one.id,
            system=one.system,
            repeat=one.repeat,
            outcome="ERROR" if one.failed else outcome,
            predicted=one.predicted,
            raw="" if good else one.raw,
            problem="" if good else problem or "not readable",
            notes=one.notes,
            latency_s=one.latency_s,
            usage=one.usage,
            input_chars=len(by_id[one.id].text),
            output_chars=len(one.raw),
            score=scored,
        )
