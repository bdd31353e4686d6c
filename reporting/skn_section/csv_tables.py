"""The run's numbers and samples as CSV: names of tables → text."""

from __future__ import annotations

from collections.abc import Iterator

from eval.stats.estimates import Estimate
from kg.base.csv_text import to_csv
from reporting.skn_section.reading import SknRun
from reporting.skn_section.samples_of_run import mark_of

SAMPLES = "samples"

_METRICS = (
    *("pipeline", "category", "group", "metric", "value", "low", "high", "interval_method"),
    *("n", "numerator", "denominator", "worst", "best", "higher_is_better", "missing", "why"),
)
_PAIRS = (
    *(
        "metric",
        "candidate",
        "baseline",
        "question",
        "value_candidate",
        "value_baseline",
        "difference",
    ),
    *("low", "high", "interval_method", "test", "exact", "p", "p_holm", "only_candidate"),
    *("only_baseline", "both", "neither", "samples", "minimum_detectable_effect", "better"),
)
_SAMPLES = (
    *("id", "category", "answerable", "question", "ground_truth", "pipeline", "repeat"),
    *("outcome", "amounts_to", "stage", "error", "answer", "confidence", "abstained_by"),
    *("correct", "total_claims", "fabricated", "groundedness", "validity", "extraction"),
    *("latency_s", "prompt_tokens", "completion_tokens"),
)


def csv_tables(run: SknRun) -> dict[str, str]:
    """Metrics, paired differences and samples."""
    return {
        "metrics": to_csv(_METRICS, _metric_rows(run)),
        "pairs": to_csv(_PAIRS, _pair_rows(run)),
        SAMPLES: to_csv(_SAMPLES, _sample_rows(run)),
    }


def _metric_rows(run: SknRun) -> Iterator[list[object]]:
    for name, one in run.report.pipelines.items():
        groups: list[tuple[str, str, dict[str, Estimate]]] = [
            ("", "metrics", one.metrics),
            ("", "validity", one.validity),
            ("", "retention", one.retention),
            *((category, "metrics", found) for category, found in one.per_category.items()),
        ]
        for category, group, values in groups:
            for key, v in values.items():
                yield [
                    *(name, category, group, key, v.value, v.low, v.high, v.method, v.n),
                    *(v.numerator, v.denominator, v.worst, v.best, v.higher_is_better),
                    *(v.missing, v.why),
                ]


def _pair_rows(run: SknRun) -> Iterator[list[object]]:
    asked = {(pair.candidate, pair.baseline): pair.question for pair in run.report.pairs}
    for one in run.report.comparisons:
        only = one.discordant
        yield [
            *(
                one.metric,
                one.candidate,
                one.baseline,
                asked.get((one.candidate, one.baseline), ""),
            ),
            *(
                one.value_candidate,
                one.value_baseline,
                one.difference,
                one.low,
                one.high,
                one.method,
            ),
            *(one.test, one.exact, one.p, one.p_holm),
            *((only.only_candidate, only.only_baseline) if only else (None, None)),
            *((only.both, only.neither) if only else (None, None)),
            *(one.n, one.minimum_detectable_effect, one.better),
        ]


def _sample_rows(run: SknRun) -> Iterator[list[object]]:
    for sample in run.samples:
        for name in run.pipelines:
            for row in run.rows[sample.id].get(name, ()):
                said, judged, usage = row.response, row.verdicts, row.usage
                yield [
                    *(sample.id, sample.category, sample.answerable, sample.question),
                    *(sample.ground_truth, name, row.repeat, row.outcome, mark_of(row)),
                    *(row.stage, row.error, said and said.answer, said and said.confidence),
                    *(row.abstained_by, judged and judged.correct),
                    judged and judged.hallucination.total_claims,
                    judged and judged.hallucination.fabricated,
                    judged and judged.groundedness,
                    row.extraction and row.extraction.validity,
                    row.extraction and (row.extraction.context or row.extraction.raw),
                    row.latency_s,
                    *(usage and usage.prompt_tokens, usage and usage.completion_tokens),
                ]
