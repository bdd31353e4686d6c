"""Summarises every row of a run: enough for scatters, tables and the choice of samples.

A row with its counts by type, depth and name is large; a run of ten thousand samples is read as a
stream, and only this stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eval.extraction.metrics.quality_score import (
    SampleMetrics,
    ScoreWeights,
    compute_sample_metrics,
)
from eval.extraction.record import Invalid
from eval.extraction.row import ExtractionRow, Outcome

_SHARES = ("schema_validity", "field_f1_partial", "type_accuracy", "no_hallucination")


@dataclass(frozen=True, slots=True)
class RowSummary:
    """One row.

    Attributes:
        id, system, repeat, outcome: as in the row.
        domain, language: of the sample.
        bin: of the schema's complexity: ``simple``, ``medium`` or ``complex``.
        fields, depth, complexity: of the schema.
        metrics: the metrics of this row alone; ``None`` if the call failed.
        expected, predicted, missed, spurious: numbers of fields.
        errors: fields with an error, by pattern.
        hallucinations: by type, 1 to 4.
        latency_s: of the call.
        output_tokens, cost_usd: as counted; ``None`` if unknown.
        confidence: as stated.
        problem: why there is no valid extraction.
    """

    id: str
    system: str
    repeat: int
    outcome: Outcome
    domain: str
    language: str
    bin: str
    fields: int
    depth: int
    complexity: float
    metrics: SampleMetrics | None
    expected: int
    predicted: int
    missed: int
    spurious: int
    errors: dict[str, int]
    hallucinations: tuple[int, int, int, int]
    latency_s: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    confidence: float | None
    problem: str


def summarise_rows(
    rows: Iterable[ExtractionRow], invalid: Invalid, weights: dict[str, float]
) -> dict[str, list[RowSummary]]:
    """Summarises all rows, by system, in the order of the rows.

    Args:
        rows: read once.
        invalid: what a reply that is no valid instance is worth.
        weights: of the quality score.
    """
    shares = ScoreWeights(**{name: weights[name] for name in _SHARES})
    summaries: dict[str, list[RowSummary]] = {}
    for row in rows:
        summaries.setdefault(row.system, []).append(_summarise_row(row, invalid, shares))
    return summaries


def _summarise_row(row: ExtractionRow, invalid: Invalid, weights: ScoreWeights) -> RowSummary:
    score, usage = row.score, row.usage
    failed = row.outcome == "ERROR"
    return RowSummary(
        id=row.id,
        system=row.system,
        repeat=row.repeat,
        outcome=row.outcome,
        domain=score.domain,
        language=score.language,
        bin=score.complexity.bin,
        fields=score.complexity.total_fields,
        depth=score.complexity.max_nesting_depth,
        complexity=score.complexity.score,
        metrics=None if failed else compute_sample_metrics(score, invalid=invalid, weights=weights),
        expected=score.tally.expected,
        predicted=score.tally.predicted,
        missed=score.tally.missed,
        spurious=score.tally.spurious,
        errors={} if failed else score.errors,
        hallucinations=score.hallucinations,
        latency_s=row.latency_s,
        input_tokens=usage.prompt_tokens if usage else None,
        output_tokens=usage.completion_tokens if usage else None,
        cost_usd=usage.cost_usd if usage else None,
        confidence=row.confidence,
        problem=row.problem,
    )
