"""The exports of the section: metrics, paired differences and samples as CSV."""

from __future__ import annotations

from collections.abc import Iterator

from eval.skn.blocks.run_data import SknRun
from eval.skn.blocks.samples import find_mark
from eval.stats.estimates import Estimate
from kg.base.csv_text import to_csv

SAMPLES = "samples"

_METRICS = (
    *("pipeline", "category", "group", "metric", "value", "low", "high", "interval_method"),
    *("n", "numerator", "denominator", "worst", "best", "higher_is_better", "missing", "why"),
)
_PAIRS = (
    *("metric", "candidate", "baseline", "question", "value_candidate", "value_baseline"),
    *("difference", "low", "high", "interval_method", "test", "exact", "p", "p_holm"),
    *("only_candidate", "only_baseline", "both", "neither", "samples"),
    *("minimum_detectable_effect", "better"),
)
_SAMPLES = (
    *("id", "category", "answerable", "question", "ground_truth", "pipeline", "repeat"),
    *("outcome", "amounts_to", "stage", "error", "answer", "confidence", "abstained_by"),
    *("correct", "total_claims", "fabricated", "groundedness", "validity", "extraction"),
    *("latency_s", "prompt_tokens", "completion_tokens"),
)


def export_tables(run: SknRun) -> dict[str, str]:
    """Returns the text of each CSV file by its name."""
    return {
        "metrics": to_csv(_METRICS, _iter_metric_rows(run)),
        "pairs": to_csv(_PAIRS, _iter_pair_rows(run)),
        SAMPLES: to_csv(_SAMPLES, _iter_sample_rows(run)),
    }


def _iter_metric_rows(run: SknRun) -> Iterator[list[object]]:
    for name, pipeline in run.report.pipelines.items():
        groups: list[tuple[str, str, dict[str, Estimate]]] = [
            ("", "metrics", pipeline.metrics),
            ("", "validity", pipeline.validity),
            ("", "retention", pipeline.retention),
            *((category, "metrics", values) for category, values in pipeline.per_category.items()),
        ]
        for category, group, values in groups:
            for key, v in values.items():
                yield [
                    *(name, category, group, key, v.value, v.low, v.high, v.method, v.n),
                    *(v.numerator, v.denominator, v.worst, v.best, v.higher_is_better),
                    *(v.missing, v.why),
                ]


def _iter_pair_rows(run: SknRun) -> Iterator[list[object]]:
    questions = {(pair.candidate, pair.baseline): pair.question for pair in run.report.pairs}
    for pair in run.report.comparisons:
        counts = pair.discordant
        yield [
            *(pair.metric, pair.candidate, pair.baseline),
            questions.get((pair.candidate, pair.baseline), ""),
            *(pair.value_candidate, pair.value_baseline, pair.difference),
            *(pair.low, pair.high, pair.method, pair.test, pair.exact, pair.p, pair.p_holm),
            *((counts.only_candidate, counts.only_baseline) if counts else (None, None)),
            *((counts.both, counts.neither) if counts else (None, None)),
            *(pair.n, pair.minimum_detectable_effect, pair.better),
        ]


def _iter_sample_rows(run: SknRun) -> Iterator[list[object]]:
    for sample in run.samples:
        for name in run.pipelines:
            for row in run.rows[sample.id].get(name, ()):
                response, usage, verdicts = row.response, row.usage, row.verdicts
                yield [
                    *(sample.id, sample.category, sample.answerable, sample.question),
                    *(sample.ground_truth, name, row.repeat, row.outcome, find_mark(row)),
                    *(row.stage, row.error, response and response.answer),
                    response and response.confidence,
                    *(row.abstained_by, verdicts and verdicts.correct),
                    verdicts and verdicts.hallucination.total_claims,
                    verdicts and verdicts.hallucination.fabricated,
                    verdicts and verdicts.groundedness,
                    row.extraction and row.extraction.validity,
                    row.extraction and (row.extraction.context or row.extraction.raw),
                    row.latency_s,
                    *(usage and usage.prompt_tokens, usage and usage.completion_tokens),
                ]
