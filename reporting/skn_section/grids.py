"""The tables of the section, each made from the report's numbers as they stand there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eval.metrics.comparison import Comparison
from eval.skn.scoring.metric_definitions import VALIDITIES
from eval.skn.scoring.record import PipelineReport
from eval.stats.estimates import Estimate
from reporting.benchmark_sections.blocks import Cell, Grid, Head, Line, Tone, estimate_cell
from reporting.charts import (
    UNDEFINED_TEXT,
    ChartEstimate,
    format_number,
    format_percent,
    to_chart_estimate,
)
from reporting.comparison_text import describe_calibration, describe_finding, format_p_value
from reporting.forest_plot import format_signed
from reporting.skn_section.metric_names import (
    ABSTENTION,
    EFFORT,
    HEADLINE,
    KINDS_KEPT,
    PIPELINES,
    TESTS,
    value_text,
    words,
)
from reporting.skn_section.reading import SknRun

DIRECTIONS = {True: "higher is better", False: "lower is better", None: "describes only"}
VALIDITY_WORDS = {
    "strict": "as it stands",
    "tolerant": "once what stood around it is taken off",
    "repaired": "after one further turn",
    "unreadable": "not at all",
}


def head_of(run: SknRun, key: str) -> Head:
    """The head of a metric's column."""
    named = words(key)
    found = [one.metrics[key] for one in run.report.pipelines.values() if key in one.metrics]
    better = found[0].higher_is_better if found else None
    return Head(named.short_name, DIRECTIONS[better], f"{named.full_name}. {named.explanation}")


def line_of(name: str, cells: Iterable[Cell]) -> Line:
    """A pipeline's line."""
    return Line(name, tuple(cells), PIPELINES.get(name, ""))


def value_cell(value: Estimate | None) -> Cell:
    """A share with interval and bounds; a dash says why it is one."""
    if value is None:
        return Cell(UNDEFINED_TEXT)
    if value.value is None:
        return Cell(UNDEFINED_TEXT, (value.why,) if value.why else ())
    return estimate_cell(to_chart_estimate(value))


def amount_cell(key: str, value: Estimate | None) -> Cell:
    """A count or a time; its interval in the same unit."""
    if value is None or value.value is None:
        return Cell(UNDEFINED_TEXT, (value.why,) if value is not None and value.why else ())
    below: tuple[str, ...] = ()
    if value.low is not None and value.high is not None:
        below = (f"{value_text(key, value.low)}–{value_text(key, value.high)}",)
    return Cell(value_text(key, value.value), below)


def headline(run: SknRun) -> Grid:
    """The numbers that matter most, and what failed, one line a pipeline."""
    heads = [Head("Pipeline", numeric=False)]
    heads += [head_of(run, key) for key in HEADLINE]
    heads += [
        Head("failed", "INVALID + ERROR", "Rows without a usable reply"),
        Head("unjudged", "no verdict", "Answers that lack a verdict that is due"),
    ]
    lines = []
    for name, one in run.report.pipelines.items():
        ended = one.outcomes
        failed = ended.invalid + ended.error
        share = (format_percent(failed / ended.rows),) if failed and ended.rows else ()
        detail = (f"{ended.invalid} + {ended.error}",) if failed else ()
        cells = [value_cell(one.metrics.get(key)) for key in HEADLINE]
        cells += [Cell(f"{failed:,}", (*detail, *share)), Cell(f"{ended.unjudged:,}")]
        lines.append(line_of(name, cells))
    return Grid(
        "Every pipeline",
        "Under each number its interval; bounds, where shown, span what failed and unjudged rows "
        "could change. A dash means there was nothing to divide by, and says why.",
        tuple(heads),
        tuple(lines),
    )


def further(run: SknRun) -> Grid | None:
    """Every other share, so that no number of the report is out of sight."""
    keys = dict.fromkeys(
        key
        for one in run.report.pipelines.values()
        for key in one.metrics
        if key not in (*HEADLINE, *EFFORT, *ABSTENTION)
    )
    if not keys:
        return None
    heads = [Head("Pipeline", numeric=False), *(head_of(run, key) for key in keys)]
    lines = [
        line_of(name, [value_cell(one.metrics.get(key)) for key in keys])
        for name, one in run.report.pipelines.items()
    ]
    return Grid("All other metrics", "Read as above.", tuple(heads), tuple(lines))


def pairs(run: SknRun, metric: str, found: Sequence[Comparison]) -> Grid:
    """Every pair by one metric."""
    asked = {(pair.candidate, pair.baseline): pair.question for pair in run.report.pairs}
    heads = (
        Head("Pair", numeric=False),
        Head("Values", "candidate, then baseline"),
        Head("Difference"),
        Head("p, adjusted"),
        Head("Only one counts", "candidate : baseline"),
        Head("Smallest detectable"),
        Head("The data say", numeric=False),
    )
    lines = []
    for one in found:
        interval: tuple[str, ...] = ()
        if one.low is not None and one.high is not None:
            interval = (f"{_signed(metric, one.low)} to {_signed(metric, one.high)}",)
        p = one.p if one.p_holm is None else one.p_holm
        test = TESTS.get(one.test, one.test)
        if one.exact and "exact" not in test:
            test = f"exact {test}"
        only = one.discordant
        tone: Tone = "best" if one.better else "muted"
        lines.append(
            Line(
                f"{one.candidate} − {one.baseline}",
                (
                    Cell(
                        value_text(metric, one.value_candidate),
                        (value_text(metric, one.value_baseline),),
                    ),
                    Cell(_signed(metric, one.difference), interval),
                    Cell(format_p_value(p), (test, f"{one.n:,} samples")),
                    Cell(
                        f"{only.only_candidate} : {only.only_baseline}" if only else UNDEFINED_TEXT
                    ),
                    Cell(value_text(metric, one.minimum_detectable_effect)),
                    Cell(describe_finding(one), (), tone),
                ),
                asked.get((one.candidate, one.baseline), ""),
            )
        )
    named = words(metric)
    return Grid(f"{named.full_name}: every pair", named.explanation, heads, tuple(lines), "pairs")


def _signed(metric: str, value: float | None) -> str:
    """A difference in the metric's own unit."""
    if metric not in EFFORT or value is None:
        return format_signed(value)
    text = value_text(metric, value).replace("-", "−")
    return f"+{text}" if value > 0 else text


def validity(run: SknRun) -> Grid:
    """How often each format could be read, and how."""
    heads = [Head("Pipeline", numeric=False), Head("extractions")]
    heads += [Head(name, VALIDITY_WORDS[name]) for name in VALIDITIES]
    lines = []
    for name, one in run.report.pipelines.items():
        sizes = [value.n for value in one.validity.values()]
        cells = [value_cell(one.validity.get(key)) for key in VALIDITIES]
        lines.append(line_of(name, [Cell(f"{max(sizes, default=0):,}"), *cells]))
    return Grid(
        "How the extractions could be read",
        "The same rules for every format: strictly, then without what stands around it, then "
        "after one further turn that quotes what is wrong.",
        tuple(heads),
        tuple(lines),
    )


def retention(run: SknRun) -> Grid:
    """What each format kept of the texts."""
    found = {kind for one in _reports(run) for kind in one.retention}
    kinds = [kind for kind in KINDS_KEPT if kind in found]
    kinds += sorted(found.difference(KINDS_KEPT))
    heads = [Head("Pipeline", numeric=False)]
    heads += [Head(KINDS_KEPT.get(kind, kind), "share kept") for kind in kinds]
    heads.append(Head("Characters", "handed on"))
    lines = [
        line_of(
            name,
            [
                *(_shaded(one.retention.get(kind)) for kind in kinds),
                amount_cell("context_chars", one.metrics.get("context_chars")),
            ],
        )
        for name, one in run.report.pipelines.items()
    ]
    return Grid(
        "Kept of the text",
        "The fuller the colour, the more is kept; below each share, how many of how many.",
        tuple(heads),
        tuple(lines),
        "shares",
    )


def _shaded(value: Estimate | None) -> Cell:
    if value is None or value.value is None:
        return Cell(UNDEFINED_TEXT, (value.why,) if value is not None and value.why else ())
    below = []
    if value.numerator is not None and value.denominator is not None:
        below.append(f"{value.numerator:,.0f} of {value.denominator:,.0f}")
    return Cell(format_number(value.value, 2), tuple(below), shade=min(max(value.value, 0.0), 1.0))


def categories(run: SknRun, metric: str) -> Grid | None:
    """One metric by category and pipeline, as a heat table; none where no category has it."""
    named = words(metric)
    lines = []
    for category, size in run.report.categories.items():
        found = [one.per_category.get(category, {}).get(metric) for one in _reports(run)]
        if any(value is not None and value.value is not None for value in found):
            cells = [_heat(value) for value in found]
            lines.append(Line(category, tuple(cells), f"{size:,} {_samples(size)}"))
    if not lines:
        return None
    heads = [Head("Category", numeric=False), *(Head(name) for name in run.pipelines)]
    better = DIRECTIONS[head_direction(run, metric)]
    return Grid(
        f"{named.full_name} by category",
        f"{named.explanation} {better[0].upper()}{better[1:]}; the fuller the colour, the higher. "
        "Few samples stand behind each cell, and none is tested.",
        tuple(heads),
        tuple(lines),
        "shares",
    )


def head_direction(run: SknRun, metric: str) -> bool | None:
    """Which way is better, as the report says."""
    found = [one.metrics[metric] for one in _reports(run) if metric in one.metrics]
    return found[0].higher_is_better if found else None


def _reports(run: SknRun) -> list[PipelineReport]:
    return list(run.report.pipelines.values())


def _samples(count: int) -> str:
    return "sample" if count == 1 else "samples"


def _heat(value: Estimate | None) -> Cell:
    if value is None or value.value is None:
        return Cell(UNDEFINED_TEXT)
    shown = ChartEstimate(value.value, value.low, value.high)
    below = (shown.interval_text,) if shown.interval_text else ()
    return Cell(format_number(value.value, 2), below, shade=min(max(value.value, 0.0), 1.0))


def calibration(run: SknRun) -> Grid:
    """Calibration errors beside what chance alone would show."""
    heads = (
        Head("Pipeline", numeric=False),
        Head("Sure", "mean confidence"),
        Head("Right", "of these answers"),
        Head("ECE", "equal-width bins", words("ece").explanation),
        Head("ECE by chance", "if it were calibrated"),
        Head("p", "of a calibrated system"),
        Head("ECE", "equal-mass bins", words("ece_equal_mass").explanation),
        Head("Brier", "lower is better", words("brier").explanation),
        Head("The data say", numeric=False),
    )
    lines = []
    for name, one in run.report.pipelines.items():
        found = one.calibration
        if found is None:
            lines.append(Line(name, (*[Cell(UNDEFINED_TEXT)] * 7, Cell("no confidence to judge"))))
            continue
        chance = found.ece_expected
        said = describe_calibration(found.confidence, found.accuracy, chance.p)
        off = said.startswith(("over", "under", "off"))
        lines.append(
            Line(
                name,
                (
                    Cell(format_number(found.confidence)),
                    Cell(format_number(found.accuracy)),
                    value_cell(one.metrics.get("ece")),
                    Cell(format_number(chance.mean), (f"up to {format_number(chance.high)}",)),
                    Cell(format_p_value(chance.p)),
                    value_cell(one.metrics.get("ece_equal_mass")),
                    value_cell(one.metrics.get("brier")),
                    Cell(said, (), "down" if off else "muted"),
                ),
                f"{found.n:,} judged answers with a confidence",
            )
        )
    return Grid(
        "Calibration",
        "Over judged answers to questions that have one. An error no greater than chance gives is "
        "no evidence of anything.",
        heads,
        tuple(lines),
    )


def abstention(run: SknRun) -> Grid:
    """Whether each pipeline abstains where it should, and where it should not."""
    heads = [
        Head("Pipeline", numeric=False),
        *(head_of(run, key) for key in ABSTENTION),
        Head("abstained rightly", "there is no answer"),
        Head("held back", "though there is one"),
        Head("answered", "though there is none"),
        Head("said by", "field, words"),
    ]
    lines = []
    for name, one in run.report.pipelines.items():
        ended = one.outcomes
        read = ended.abstention_read
        lines.append(
            line_of(
                name,
                [
                    *(value_cell(one.metrics.get(key)) for key in ABSTENTION),
                    Cell(f"{ended.true_positives:,}"),
                    Cell(f"{ended.false_positives:,}"),
                    Cell(f"{ended.false_negatives:,}"),
                    Cell(f"{read.get('field', 0):,}, {read.get('text', 0):,}"),
                ],
            )
        )
    return Grid(
        "Abstention",
        "Read from the reply's own field; only a reply without one is read by its words.",
        tuple(heads),
        tuple(lines),
    )


def effort(run: SknRun) -> Grid:
    """Tokens, characters and seconds a row."""
    keys = [
        key
        for key in EFFORT
        if any(one.metrics.get(key) and one.metrics[key].value is not None for one in _reports(run))
    ]
    heads = [Head("Pipeline", numeric=False)]
    heads += [
        Head(words(key).short_name, words(key).full_name, words(key).explanation) for key in keys
    ]
    lines = [
        line_of(name, [amount_cell(key, one.metrics.get(key)) for key in keys])
        for name, one in run.report.pipelines.items()
    ]
    return Grid(
        "Tokens and time",
        "Per row. Tokens are the servers' own counts; a row whose server gives none is left out. "
        "Seconds in all are of rows whose agent replied: one that broke off waited for less.",
        tuple(heads),
        tuple(lines),
    )
