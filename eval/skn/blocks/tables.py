"""The tables of the section, with the numbers of the report."""

from __future__ import annotations

from collections.abc import Sequence

from eval.blocks.blocks import Cell, Column, Table, TableRow, make_estimate_cell
from eval.blocks.comparison_text import describe_calibration, describe_finding
from eval.blocks.glossary import TEST_NAMES
from eval.blocks.text_format import (
    UNDEFINED_TEXT,
    ChartEstimate,
    format_number,
    format_p_value,
    format_percent,
    format_signed,
    to_chart_estimate,
)
from eval.metrics.comparison import Comparison
from eval.metrics.runs.text import DIRECTIONS
from eval.skn.blocks.run_data import SknRun
from eval.skn.blocks.texts import (
    ABSTENTION_METRICS,
    CONTEXT_METRICS,
    EFFORT_METRICS,
    HEADLINE_METRICS,
    PIPELINE_DESCRIPTIONS,
    VALIDITY_TEXTS,
    describe_metric,
    format_value,
)
from eval.skn.scoring.metric_definitions import RETAINED_KINDS, VALIDITIES, VERDICT_METRICS
from eval.skn.scoring.record import PipelineReport
from eval.stats.estimates import Estimate
from kg.base.plain_text import format_count

_PIPELINE = Column("Pipeline", numeric=False)


def build_headline_table(run: SknRun) -> Table:
    """Builds the table of the most important metrics and of failures by pipeline."""
    rows = []
    for name, pipeline in run.report.pipelines.items():
        outcomes = pipeline.outcomes
        failed = outcomes.invalid + outcomes.error
        share = (format_percent(failed / outcomes.rows),) if failed and outcomes.rows else ()
        detail = (f"{outcomes.invalid} + {outcomes.error}",) if failed else ()
        cells = [build_value_cell(pipeline.metrics.get(key)) for key in list_headline_metrics(run)]
        cells += [Cell(f"{failed:,}", (*detail, *share)), Cell(f"{outcomes.unjudged:,}")]
        rows.append(_build_row(name, cells))
    return Table(
        "Every pipeline",
        "Below each value is its interval. Bounds, where shown, are the values that failed and "
        "unjudged rows could lead to. A dash means that the value is undefined, with the reason.",
        (
            _PIPELINE,
            *(_build_column(run, key) for key in list_headline_metrics(run)),
            Column("failed", "INVALID + ERROR", "Rows without a usable reply"),
            Column("unjudged", "no verdict", "Answers that lack a required verdict"),
        ),
        tuple(rows),
    )


def list_headline_metrics(run: SknRun) -> tuple[str, ...]:
    """Lists the headline metrics that are given for a run."""
    return tuple(key for key in HEADLINE_METRICS if _is_given(run, key))


def _is_given(run: SknRun, metric: str) -> bool:
    return run.manifest.is_judged or metric not in VERDICT_METRICS


def build_other_metrics_table(run: SknRun) -> Table | None:
    """Builds the table of the metrics that no other table has; ``None`` if there are none."""
    in_other_tables = {*HEADLINE_METRICS, *EFFORT_METRICS, *ABSTENTION_METRICS}
    keys = dict.fromkeys(
        key
        for pipeline in run.report.pipelines.values()
        for key in pipeline.metrics
        if key not in in_other_tables and _is_given(run, key)
    )
    if not keys:
        return None
    return Table(
        "All other metrics",
        "Read as above.",
        (_PIPELINE, *(_build_column(run, key) for key in keys)),
        tuple(
            _build_row(name, [build_value_cell(pipeline.metrics.get(key)) for key in keys])
            for name, pipeline in run.report.pipelines.items()
        ),
    )


def build_pair_table(run: SknRun, metric: str) -> Table:
    """Builds the table of all compared pairs of one metric."""
    questions = {(pair.candidate, pair.baseline): pair.question for pair in run.report.pairs}
    description = describe_metric(metric)
    return Table(
        f"{description.full_name}: every pair",
        description.explanation,
        (
            Column("Pair", numeric=False),
            Column("Values", "candidate, then baseline"),
            Column("Difference"),
            Column("p, adjusted"),
            Column("Only one counts", "candidate : baseline"),
            Column("Minimum detectable effect"),
            Column("Finding", numeric=False),
        ),
        tuple(
            _build_pair_row(metric, pair, questions.get((pair.candidate, pair.baseline), ""))
            for pair in list_comparisons(run, metric)
        ),
        "pairs",
    )


def list_comparisons(run: SknRun, metric: str) -> list[Comparison]:
    """Lists the comparisons of one metric."""
    return [pair for pair in run.report.comparisons if pair.metric == metric]


def _build_pair_row(metric: str, pair: Comparison, question: str) -> TableRow:
    interval: tuple[str, ...] = ()
    if pair.low is not None and pair.high is not None:
        low, high = (_format_difference(metric, end) for end in (pair.low, pair.high))
        interval = (f"{low} to {high}",)
    test = TEST_NAMES.get(pair.test, pair.test)
    if pair.exact and "exact" not in test:
        test = f"exact {test}"
    counts = pair.discordant
    return TableRow(
        f"{pair.candidate} − {pair.baseline}",
        (
            Cell(
                format_value(metric, pair.value_candidate),
                (format_value(metric, pair.value_baseline),),
            ),
            Cell(_format_difference(metric, pair.difference), interval),
            Cell(
                format_p_value(pair.p if pair.p_holm is None else pair.p_holm),
                (test, format_count(pair.n, "sample")),
            ),
            Cell(f"{counts.only_candidate} : {counts.only_baseline}" if counts else UNDEFINED_TEXT),
            Cell(format_value(metric, pair.minimum_detectable_effect)),
            Cell(describe_finding(pair), (), "best" if pair.better else "muted"),
        ),
        question,
    )


def _format_difference(metric: str, value: float | None) -> str:
    """Formats a difference in the unit of the metric."""
    if metric not in EFFORT_METRICS or value is None:
        return format_signed(value)
    text = format_value(metric, value).replace("-", "−")
    return f"+{text}" if value > 0 else text


def build_validity_table(run: SknRun) -> Table:
    """Builds the table of how the extractions of each pipeline could be parsed."""
    rows = []
    for name, pipeline in run.report.pipelines.items():
        n = max((value.n for value in pipeline.validity.values()), default=0)
        cells = [build_value_cell(pipeline.validity.get(key)) for key in VALIDITIES]
        rows.append(_build_row(name, [Cell(f"{n:,}"), *cells]))
    return Table(
        "How the extractions were parsed",
        "The same steps for every format: strictly, then without the text around it, then after "
        "one further turn that quotes the errors.",
        (
            _PIPELINE,
            Column("extractions"),
            *(Column(key, VALIDITY_TEXTS[key]) for key in VALIDITIES),
        ),
        tuple(rows),
    )


def build_retention_table(run: SknRun) -> Table:
    """Builds the table of what each format retains of the texts."""
    present = {kind for report in _list_reports(run) for kind in report.retention}
    kinds = [kind for kind in RETAINED_KINDS if kind in present]
    kinds += sorted(present.difference(RETAINED_KINDS))
    return Table(
        "Retained of the text",
        "The fuller the colour, the more is retained. Below each share are its counts.",
        (
            _PIPELINE,
            *(Column(kind.capitalize(), "share retained") for kind in kinds),
            Column("Characters", "given to the agent"),
            Column("Tokens", "characters / 4"),
        ),
        tuple(
            _build_row(
                name,
                [
                    *(_build_retention_cell(pipeline.retention.get(kind)) for kind in kinds),
                    *(
                        _build_amount_cell(key, pipeline.metrics.get(key))
                        for key in CONTEXT_METRICS
                    ),
                ],
            )
            for name, pipeline in run.report.pipelines.items()
        ),
        "shares",
    )


def build_category_table(run: SknRun, metric: str) -> Table | None:
    """Builds the heat table of one metric by category; ``None`` if no category has a value."""
    rows = []
    for category, n in run.report.categories.items():
        values = [
            report.per_category.get(category, {}).get(metric) for report in _list_reports(run)
        ]
        if any(value is not None and value.value is not None for value in values):
            cells = tuple(_build_heat_cell(value) for value in values)
            rows.append(TableRow(category, cells, format_count(n, "sample")))
    if not rows:
        return None
    description = describe_metric(metric)
    return Table(
        f"{description.full_name} by category",
        f"{description.explanation} {describe_direction(run, metric).capitalize()}; the fuller the "
        "colour, the higher. Each cell has few samples, and no difference is tested.",
        (Column("Category", numeric=False), *(Column(name) for name in run.pipelines)),
        tuple(rows),
        "shares",
    )


def build_calibration_table(run: SknRun) -> Table:
    """Builds the table of calibration errors and of those expected by chance."""
    return Table(
        "Calibration",
        "Over judged answers to questions that have an answer. An error no greater than the one "
        "expected by chance is no evidence of miscalibration.",
        (
            _PIPELINE,
            Column("Confidence", "mean"),
            Column("Right", "share of these answers"),
            Column("ECE", "equal-width bins", describe_metric("ece").explanation),
            Column("ECE by chance", "of a calibrated system"),
            Column("p", "of a calibrated system"),
            Column("ECE", "equal-mass bins", describe_metric("ece_equal_mass").explanation),
            Column("Brier", "lower is better", describe_metric("brier").explanation),
            Column("Finding", numeric=False),
        ),
        tuple(
            _build_calibration_row(name, report) for name, report in run.report.pipelines.items()
        ),
    )


def _build_calibration_row(name: str, report: PipelineReport) -> TableRow:
    calibration = report.calibration
    if calibration is None:
        return TableRow(name, (*[Cell(UNDEFINED_TEXT)] * 7, Cell("no confidence to judge")))
    chance = calibration.ece_expected
    finding = describe_calibration(calibration.confidence, calibration.accuracy, chance.p)
    return TableRow(
        name,
        (
            Cell(format_number(calibration.confidence)),
            Cell(format_number(calibration.accuracy)),
            build_value_cell(report.metrics.get("ece")),
            Cell(format_number(chance.mean), (f"up to {format_number(chance.high)}",)),
            Cell(format_p_value(chance.p)),
            build_value_cell(report.metrics.get("ece_equal_mass")),
            build_value_cell(report.metrics.get("brier")),
            Cell(finding, (), "down" if is_miscalibrated(finding) else "muted"),
        ),
        f"{calibration.n:,} judged answers with a confidence",
    )


def is_miscalibrated(finding: str) -> bool:
    """Returns whether a text of ``describe_calibration`` reports a significant error."""
    return finding.startswith(("over", "under"))


def build_abstention_table(run: SknRun) -> Table:
    """Builds the table of right and wrong abstentions by pipeline."""
    rows = []
    for name, pipeline in run.report.pipelines.items():
        outcomes = pipeline.outcomes
        read_from = outcomes.abstention_read
        cells = [build_value_cell(pipeline.metrics.get(key)) for key in ABSTENTION_METRICS]
        cells += [
            Cell(f"{outcomes.true_positives:,}"),
            Cell(f"{outcomes.false_positives:,}"),
            Cell(f"{outcomes.false_negatives:,}"),
            Cell(f"{read_from.get('field', 0):,}, {read_from.get('text', 0):,}"),
        ]
        rows.append(_build_row(name, cells))
    return Table(
        "Abstention",
        "Read from the field of the reply; only without this field, from the words of the answer.",
        (
            _PIPELINE,
            *(_build_column(run, key) for key in ABSTENTION_METRICS),
            Column("abstained rightly", "there is no answer"),
            Column("held back", "though there is an answer"),
            Column("answered", "though there is no answer"),
            Column("read from", "field, words"),
        ),
        tuple(rows),
    )


def build_effort_table(run: SknRun) -> Table | None:
    """Builds the table of tokens, characters and seconds; ``None`` if none were counted."""
    metrics = [item for report in _list_reports(run) for item in report.metrics.items()]
    counted = {key for key, value in metrics if value.value is not None}
    keys = [key for key in EFFORT_METRICS if key in counted]
    if not keys:
        return None
    descriptions = [describe_metric(key) for key in keys]
    return Table(
        "Tokens and time",
        "Per row. Tokens are counted by the servers; rows without these counts are left out. "
        "Total seconds are of rows with a reply of the agent, since a failed row ends earlier.",
        (_PIPELINE, *(Column(d.short_name, d.full_name, d.explanation) for d in descriptions)),
        tuple(
            _build_row(name, [_build_amount_cell(key, report.metrics.get(key)) for key in keys])
            for name, report in run.report.pipelines.items()
        ),
    )


def describe_direction(run: SknRun, metric: str) -> str:
    """Describes which values of a metric are better, such as ``higher is better``."""
    return DIRECTIONS[find_direction(run, metric)]


def find_direction(run: SknRun, metric: str) -> bool | None:
    """Returns whether higher values of a metric are better; ``None`` if neither are."""
    estimates = (report.metrics.get(metric) for report in _list_reports(run))
    return next((value.higher_is_better for value in estimates if value is not None), None)


def build_value_cell(value: Estimate | None) -> Cell:
    """Builds the cell of a share with interval and bounds, or with why there is no value."""
    if value is None or value.value is None:
        return _build_empty_cell(value)
    return make_estimate_cell(to_chart_estimate(value))


def _build_amount_cell(key: str, value: Estimate | None) -> Cell:
    """Builds the cell of a count or a time, with its interval in the same unit."""
    if value is None or value.value is None:
        return _build_empty_cell(value)
    below: tuple[str, ...] = ()
    if value.low is not None and value.high is not None:
        below = (f"{format_value(key, value.low)}–{format_value(key, value.high)}",)
    return Cell(format_value(key, value.value), below)


def _build_retention_cell(value: Estimate | None) -> Cell:
    if value is None or value.value is None:
        return _build_empty_cell(value)
    below: tuple[str, ...] = ()
    if value.numerator is not None and value.denominator is not None:
        below = (f"{value.numerator:,.0f} of {value.denominator:,.0f}",)
    return _build_shaded_cell(value.value, below)


def _build_heat_cell(value: Estimate | None) -> Cell:
    if value is None or value.value is None:
        return Cell(UNDEFINED_TEXT)
    interval = ChartEstimate(value.value, value.low, value.high).interval_text
    return _build_shaded_cell(value.value, (interval,) if interval else ())


def _build_shaded_cell(value: float, below: tuple[str, ...]) -> Cell:
    return Cell(format_number(value, 2), below, shade=min(max(value, 0.0), 1.0))


def _build_empty_cell(value: Estimate | None) -> Cell:
    return Cell(UNDEFINED_TEXT, (value.why,) if value is not None and value.why else ())


def _build_column(run: SknRun, key: str) -> Column:
    description = describe_metric(key)
    meaning = f"{description.full_name}. {description.explanation}"
    return Column(description.short_name, describe_direction(run, key), meaning)


def _build_row(name: str, cells: Sequence[Cell]) -> TableRow:
    return TableRow(name, tuple(cells), PIPELINE_DESCRIPTIONS.get(name, ""))


def _list_reports(run: SknRun) -> list[PipelineReport]:
    return list(run.report.pipelines.values())
