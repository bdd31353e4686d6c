"""Shows measures of graded answers in reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from eval.blocks.axis_charts import Curve, CurveChart, CurvePoint, make_share_axis
from eval.blocks.blocks import (
    Cell,
    Column,
    Figure,
    Figures,
    Part,
    Table,
    TableRow,
    make_estimate_cell,
)
from eval.blocks.comparison_text import describe_finding
from eval.blocks.section import Section
from eval.blocks.text_format import (
    format_name,
    format_number,
    format_p_value,
    format_percent,
    format_signed,
    to_chart_estimate,
)
from eval.outcomes.grades import OUTCOMES
from eval.outcomes.record import (
    OutcomeComparison,
    OutcomesReport,
    SystemOutcomes,
    read_outcomes,
)
from eval.stats.estimates import Estimate
from kg.base.csv_text import to_csv
from kg.base.plain_text import join_first, join_list

_SHOWN_POINTS = 20
_MAX_NAMED_PAIRS = 3
_COLUMNS = ("system", "group", "measure", "value", "low", "high", "method", "n")
_EXPLANATIONS = {
    "attempted": "Share of all questions that got an answer, right or wrong.",
    "right-if-attempted": "Share of right ones among the answers given.",
    "accuracy": "Share of right answers among all questions.",
    "F-score": "Harmonic mean of accuracy and right-if-attempted.",
    "abstention-precision": "Share of unanswerable questions among the abstentions.",
    "abstention-recall": "Share of abstentions among the unanswerable questions.",
}


def build_outcome_sections(paths: Sequence[Path], *, allow_changed: bool = False) -> list[Section]:
    """Builds the sections of records of ``epoche outcomes``, each with ids of its own.

    Raises:
        MissingFileError, RecordError, ChangedRunError: as ``read_outcomes``.
    """
    ids = ("outcomes", *(f"outcomes-{n}" for n in range(2, len(paths) + 1)))
    return [
        _build_section(path, id_, allow_changed=allow_changed)
        for path, id_ in zip(paths, ids, strict=False)
    ]


def _build_section(path: Path, id_: str, *, allow_changed: bool) -> Section:
    report = read_outcomes(path, allow_changed=allow_changed)
    n_answerable = report.n_answerable
    return Section(
        id=id_,
        name="Graded answers",
        title="Graded answers",
        about=", ".join(map(format_name, report.systems)),
        verdict=tuple(_describe_results(report)),
        notices=report.notes,
        stats=(
            (f"{report.n_questions:,}", "questions"),
            *([] if n_answerable is None else [(f"{n_answerable:,}", "answerable")]),
            (f"{len(report.systems)}", "system" if len(report.systems) == 1 else "systems"),
        ),
        parts=(
            _build_outcomes_part(report),
            _build_measures_part(report),
            *_build_risk_parts(report),
            *_build_pairs_parts(report),
        ),
        tables={"measures": to_csv(_COLUMNS, _iter_rows(report))},
        sources=(path,),
        # Gates need the single questions, from the record itself.
        data={"outcomes": msgspec.structs.replace(report, questions=None)},
        version=report.version,
    )


def _describe_results(report: OutcomesReport) -> Iterator[str]:
    headline = report.headline
    values = []
    for name, system in report.systems.items():
        shown = to_chart_estimate(system.measures[headline])
        interval = f" ({shown.interval_text})" if shown.interval_text else ""
        values.append(f"{format_name(name)} {shown.text}{interval}")
    controls = [
        f"{format_number(control[headline])} for a system that {name}"
        for name, control in report.controls.items()
    ]
    yield f"{headline} is {join_list(values)}; it would be {join_list(controls)}."
    tested = [
        pair for pair in report.comparisons if pair.metric == headline and pair.p_holm is not None
    ]
    better = [
        f"{format_name(pair.better)} better than "
        f"{format_name(pair.baseline if pair.better == pair.candidate else pair.candidate)}, "
        f"{_describe_size(pair)}"
        for pair in tested
        if pair.better
    ]
    if better:
        found = join_first(better, _MAX_NAMED_PAIRS)
        yield f"Paired tests on the same questions find {found}."
    elif tested:
        text = f"Paired tests on the same questions find no significant difference in {headline}"
        yield f"{text}: {join_first(list(map(_describe_size, tested)), _MAX_NAMED_PAIRS)}."


def _describe_size(pair: OutcomeComparison) -> str:
    """Describes a difference, candidate − baseline, with its interval and p."""
    p_text = format_p_value(pair.p_holm)
    p_text = f"p < {p_text[1:]}" if p_text.startswith("<") else f"p = {p_text}"
    interval = ""
    if pair.low is not None and pair.high is not None:
        interval = f"interval {format_signed(pair.low)} to {format_signed(pair.high)}; "
    names = f"{format_name(pair.candidate)} − {format_name(pair.baseline)}"
    return f"{names} = {format_signed(pair.difference)} ({interval}{p_text})"


def _build_outcomes_part(report: OutcomesReport) -> Part:
    rows = []
    for name, system in report.systems.items():
        total = sum(system.counts.values())
        cells = tuple(
            Cell(f"{system.counts[outcome]:,}", (format_percent(system.counts[outcome] / total),))
            for outcome in OUTCOMES
        )
        rows.append(TableRow(format_name(name), cells))
    columns = (Column("System", numeric=False), *map(Column, OUTCOMES))
    table = Table("Outcomes", "Answers by outcome.", columns, tuple(rows), look="plain")
    return Part("outcomes", "Outcomes", "What did the systems do?", (table,))


def _build_measures_part(report: OutcomesReport) -> Part:
    tables = [
        _build_measure_table(report, "Measures", lambda system: system.measures),
        _build_measure_table(report, "By majority of repeats", lambda system: system.majority),
        _build_measure_table(report, "Confidence", lambda system: system.confidences),
        _build_measure_table(report, "SQuAD 2.0", lambda system: system.official),
    ]
    blocks = tuple(table for table in tables if table.rows)
    return Part("measures", "Measures", "What are the abstentions worth?", blocks)


def _build_measure_table(
    report: OutcomesReport, title: str, select: Callable[[SystemOutcomes], dict[str, Estimate]]
) -> Table:
    """Builds a table of measures by systems; without rows if no system has such measures."""
    estimates = [select(system) for system in report.systems.values()]
    names = list(dict.fromkeys(name for found in estimates for name in found))
    rows = tuple(
        TableRow(
            name,
            tuple(make_estimate_cell(to_chart_estimate(found.get(name))) for found in estimates),
            below=_EXPLANATIONS.get(name, ""),
        )
        for name in names
    )
    columns = (
        Column("Measure", numeric=False),
        *(Column(format_name(system)) for system in report.systems),
    )
    about = f"With {format_percent(report.confidence)} intervals."
    return Table(title, about, columns, rows)


def _build_risk_parts(report: OutcomesReport) -> Iterator[Part]:
    """Yields the part of the risk-coverage curves, if a system has confidences."""
    curves = tuple(
        Curve(format_name(name), tuple(_iter_risk_points(system)))
        for name, system in report.systems.items()
        if system.risk_coverage
    )
    if not curves:
        return
    figure = Figure(
        "Risk by coverage",
        "If only answers from some confidence on are given: how many are given, and how many of "
        "them are wrong. A confidence that means something lets the curve rise to the right.",
        CurveChart(
            curves, make_share_axis("share of the answers given"), make_share_axis("share wrong")
        ),
        "Share of wrong answers by share of answers given, of each system with confidences; the "
        "data have the points.",
    )
    yield Part(
        "risk", "Confidence", "Does confidence tell right from wrong?", (Figures((figure,)),)
    )


def _iter_risk_points(system: SystemOutcomes) -> Iterator[CurvePoint]:
    step = max(1, -(-len(system.risk_coverage) // _SHOWN_POINTS))
    # From the last, so that full coverage is among them.
    for threshold, coverage, risk in reversed(system.risk_coverage[::-1][::step]):
        text = (
            f"Confidence from {format_number(threshold)} on: {format_percent(coverage)} given, "
            f"{format_percent(risk)} of them wrong"
        )
        yield CurvePoint(coverage, risk, None, text)


def _build_pairs_parts(report: OutcomesReport) -> Iterator[Part]:
    """Yields the part of the paired tests, if there are several systems."""
    if not report.comparisons:
        return
    table = Table(
        "Paired differences",
        "On the same questions: candidate − baseline. p-values are adjusted by Holm's method over "
        "the pairs of a measure.",
        (
            Column("Candidate and baseline", numeric=False),
            Column("Difference"),
            Column("p, adjusted"),
            Column("Finding", numeric=False),
        ),
        tuple(_build_pair_row(pair, report.n_questions) for pair in report.comparisons),
        look="pairs",
    )
    yield Part("pairs", "Differences", "Which system is better?", (table,))


def _build_pair_row(pair: OutcomeComparison, n_questions: int) -> TableRow:
    has_interval = pair.low is not None and pair.high is not None
    interval = f"{format_signed(pair.low)} to {format_signed(pair.high)}" if has_interval else ""
    shared: tuple[str, ...] = ()
    if pair.n_shared is not None and pair.n_shared < n_questions:
        shared = (f"both answered {pair.n_shared:,} of {n_questions:,} questions",)
    return TableRow(
        f"{format_name(pair.candidate)} − {format_name(pair.baseline)}",
        (
            Cell(format_signed(pair.difference), (interval,) if interval else ()),
            Cell(format_p_value(pair.p_holm)),
            Cell(describe_finding(pair), shared, "best" if pair.better else "muted"),
        ),
        group=pair.metric,
    )


def _iter_rows(report: OutcomesReport) -> Iterator[tuple[object, ...]]:
    """Yields a row of the CSV per measure."""
    for name, system in report.systems.items():
        for group, estimates in (
            ("measures", system.measures),
            ("majority", system.majority),
            ("confidence", system.confidences),
            ("official", system.official),
        ):
            for measure, found in estimates.items():
                yield (
                    *(name, group, measure, found.value),
                    *(found.low, found.high, found.method, found.n),
                )
