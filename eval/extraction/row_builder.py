"""Builds the row of an extraction: its outcome and score."""

from __future__ import annotations

from eval.extraction.model_extractor import Extraction, RuleExtractor
from eval.extraction.row import OUTCOMES, ExtractionRow, Outcome
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.extraction.settings import Matching
from eval.harness.grid import RowKey
from kg.base.files import to_json_bytes

_MAX_SHOWN_ERRORS = 3


def extract_with_rules(extractor: RuleExtractor, sample: Sample) -> Extraction:
    """Extracts with an extractor that calls no model."""
    predicted = extractor.extract(sample.text, sample.schema)
    return Extraction(
        parsed=True,
        predicted=predicted,
        input_chars=len(sample.text),
        output_chars=len(to_json_bytes(predicted).decode()),
    )


def build_row(
    sample: Sample, system: str, repeat: int, extraction: Extraction, matching: Matching
) -> ExtractionRow:
    """Scores an extraction and builds its row.

    Args:
        sample: the sample, with its expected output.
        system: name of the system.
        repeat: number of the repeat, from 0.
        extraction: the result of the system.
        matching: how fields are compared.
    """
    score = score_sample(sample, extraction.predicted, matching, parsed=extraction.parsed).score
    outcome: Outcome = "OK" if score.valid else "INVALID"
    if not extraction.parsed:
        outcome = "ERROR" if extraction.failed else "UNPARSABLE"
    problem = extraction.problem
    if outcome == "INVALID":
        problem = "not valid under the schema: " + "; ".join(
            score.schema_errors[:_MAX_SHOWN_ERRORS]
        )
    return ExtractionRow(
        id=sample.id,
        system=system,
        repeat=repeat,
        outcome=outcome,
        predicted=extraction.predicted if extraction.parsed else None,
        raw=extraction.raw,
        problem=problem,
        notes=extraction.notes,
        confidence=extraction.confidence,
        latency_s=extraction.latency_s,
        ttft_s=extraction.ttft_s,
        at_s=extraction.at_s,
        usage=extraction.usage,
        retries=extraction.retries,
        timed_out=extraction.timed_out,
        input_chars=extraction.input_chars,
        output_chars=extraction.output_chars,
        score=score,
    )


def get_row_key(row: ExtractionRow) -> RowKey:
    """Returns the row key, with the outcome code and usage that the journal needs."""
    return RowKey(row.id, row.system, row.repeat, OUTCOMES.index(row.outcome), row.usage)
