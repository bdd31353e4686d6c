"""Tables of quality: headline, parts of the score, all metrics, categories, modes, breakdowns."""

from __future__ import annotations

from collections.abc import Sequence

from eval.blocks.blocks import Cell, Column, Table, TableRow
from eval.blocks.text_format import UNDEFINED_TEXT, format_number, format_percent, to_chart_estimate
from eval.extraction.blocks.metric_texts import (
    TIERS,
    describe_metric,
    format_grade_range,
    make_value_cell,
)
from eval.extraction.blocks.run_data import RunData
from eval.extraction.record import Average, Dimension, Estimate, Group, Mode, SystemReport
from eval.extraction.verdicts.sample_score import CATEGORIES
from eval.metrics.runs.text import DIRECTIONS

_HEADLINE = (
    *("extraction_quality_score", "schema_validity", "field_f1_partial", "exact_match"),
    *("hallucination_rate", "success_rate", "latency_p95_s"),
)
_GLANCE = (
    *("extraction_quality_score", "schema_validity", "field_f1_partial", "exact_match"),
    *("type_accuracy", "hallucination_rate", "success_rate", "latency_p95_s"),
)
_OF_FIELDS = (
    *("field_precision_partial", "field_recall_partial", "field_f1_partial", "field_f1_strict"),
    *("type_accuracy", "omission_rate", "hallucination_rate"),
)
_OF_SAMPLES = (
    *("extraction_quality_score", "schema_validity", "exact_match", "field_f1_partial"),
    *("type_accuracy", "omission_rate", "hallucination_rate"),
)
_DIMENSIONS: dict[Dimension, str] = {
    "type": "Field type",
    "depth": "Nesting depth",
    "required": "Required or optional",
    "name": "Field name",
    "complexity": "Complexity of the schema",
    "domain": "Domain",
    "language": "Language",
}
_AVERAGES: tuple[Average, ...] = ("micro", "macro", "weighted")
_MAX_NAMES = 15
"""Names of fields in the page, the most frequent ones; all are in the table's file."""


def _build_metric_column(run: RunData, key: str) -> Column:
    """Builds the head of a metric's column."""
    estimates = [system.metrics[key] for _, system in run.systems if key in system.metrics]
    named = describe_metric(key)
    return Column(
        named.short_name,
        DIRECTIONS[estimates[0].higher_is_better if estimates else None],
        f"{named.full_name}. {named.explanation}",
    )


def build_headline_table(run: RunData) -> Table:
    """Builds the table of the main numbers and of unusable replies, a row per system."""
    headline = tuple(dict.fromkeys((run.report.headline, *_HEADLINE)))
    columns = [
        Column("System", numeric=False),
        *(_build_metric_column(run, key) for key in headline),
    ]
    meaning = "Replies that are no JSON, or no valid instance of the schema, and calls that failed."
    columns.append(Column("unusable", "no JSON + invalid + failed", meaning))
    rows = []
    for name, system in run.systems:
        ended = system.outcomes
        bad = (ended.unparsable, ended.invalid, ended.error)
        cells = [make_value_cell(key, system.metrics.get(key)) for key in headline]
        detail = (
            (" + ".join(map(str, bad)), format_percent(sum(bad) / ended.rows)) if sum(bad) else ()
        )
        rows.append(TableRow(name, (*cells, Cell(f"{sum(bad):,}", detail))))
    return Table(
        "Headline",
        "Under each number its interval; bounds span what failed calls could have been. A dash "
        "says why there is no number.",
        tuple(columns),
        tuple(rows),
    )


def build_grades_table(run: RunData) -> Table:
    """Builds the table of every graded metric with its grade, a column per system."""
    columns = [Column("Metric", numeric=False)]
    columns += [Column(name) for name in run.display_names]
    columns.append(Column("A from", "limits of the grades"))
    rows = []
    graded = {name: {g.metric: g for g in system.grades} for name, system in run.systems}
    for key in _GLANCE:
        cells = []
        limit = UNDEFINED_TEXT
        for name, system in run.systems:
            grade = graded[name].get(key)
            if grade is None:
                cells.append(make_value_cell(key, system.metrics.get(key)))
                continue
            limit = make_value_cell(key, Estimate(value=grade.limits.get("A"))).text
            grades = format_grade_range(grade)
            ends = {grade.grade_at_worst, grade.grade_at_best}
            good, bad = ends <= {"A+", "A"}, ends <= {"D", "F"}
            value = make_value_cell(key, system.metrics.get(key), bounds=False)
            cells.append(
                Cell(
                    f"{grades or grade.grade} · {value.text}" if grade.grade else value.text,
                    value.below,
                    "up" if good else "down" if bad else "",
                )
            )
        rows.append(TableRow(describe_metric(key).full_name, (*cells, Cell(limit))))
    return Table(
        "At a glance",
        "Grades from A+ to F by fixed limits. Below: the interval; where it spans several grades, "
        "those at its ends are given.",
        tuple(columns),
        tuple(rows),
    )


def build_components_table(run: RunData) -> Table:
    """Builds the table of the parts of the score and what each adds to it."""
    columns = [Column("Part", numeric=False), Column("Weight")]
    columns += [Column(name, "mean of samples", "Below it: over all fields") for name in run.names]
    parts = list(run.report.weights)
    rows = []
    for part in parts:
        cells = []
        for _, system in run.systems:
            part_score = system.quality.components[part]
            adds = None if part_score.macro is None else part_score.weight * part_score.macro
            cells.append(
                Cell(
                    format_number(part_score.macro),
                    (
                        f"adds {format_number(adds)}",
                        f"all fields: {format_number(part_score.value)}",
                    ),
                )
            )
        weight = run.report.weights[part]
        rows.append(
            TableRow(
                part.replace("_", " ").replace("f1", "F1"), (Cell(format_number(weight, 2)), *cells)
            )
        )
    totals = [
        Cell(
            to_chart_estimate(system.quality.score).text,
            (f"micro: {format_number(system.quality.micro.value)}",),
            "best",
        )
        for _, system in run.systems
    ]
    rows.append(TableRow("extraction quality score", (Cell("1"), *totals)))
    return Table(
        "What the score is made of",
        "Each part times its weight, added up. “No hallucination” is 1 less the hallucination "
        "rate.",
        tuple(columns),
        tuple(rows),
    )


def build_all_metrics_table(run: RunData) -> Table:
    """Builds the table of every scalar metric by tier, a column per system."""
    columns = [Column("Metric", numeric=False), *(Column(name) for name in run.names)]
    rows = []
    for tier, keys in TIERS:
        for key in keys:
            values = [system.metrics.get(key) for _, system in run.systems]
            first = next((value for value in values if value is not None), None)
            direction = DIRECTIONS[first.higher_is_better if first else None]
            rows.append(
                TableRow(
                    describe_metric(key).full_name,
                    tuple(make_value_cell(key, value) for value in values),
                    f"{describe_metric(key).explanation} {direction[0].upper()}{direction[1:]}.",
                    f"Tier {tier}" if tier[0].isdigit() else tier,
                )
            )
    return Table("Every metric", "", tuple(columns), tuple(rows))


def build_categories_table(run: RunData, mode: Mode = "partial") -> Table:
    """Builds the table of counts and shares of the match categories."""
    columns = [Column("System", numeric=False), *(Column(key) for key in CATEGORIES)]
    rows = []
    for name, system in run.systems:
        cells = []
        for key in CATEGORIES:
            share = system.categories[mode][key]
            span = ""
            if share.low is not None and share.high is not None:
                span = f"{100 * share.low:.1f}–{100 * share.high:.1f} %"
            value = UNDEFINED_TEXT if share.share is None else f"{100 * share.share:.1f} %"
            cells.append(Cell(f"{share.count:,}", (value, *((span,) if span else ()))))
        rows.append(TableRow(name, tuple(cells)))
    worth = (
        "Of an invalid reply every field that both sides have is incorrect."
        if run.report.invalid == "zero" and _has_invalid(run)
        else ""
    )
    return Table(f"Match categories, {mode} mode", worth, tuple(columns), tuple(rows))


def _has_invalid(run: RunData) -> bool:
    return any(system.outcomes.invalid for _, system in run.systems)


def _describe_fields(run: RunData, text: str) -> str:
    """Appends to what a table is about whether it has the fields of invalid replies."""
    more = " Fields of invalid replies are in it as they came." if _has_invalid(run) else ""
    return text + more


def build_modes_table(run: RunData) -> Table:
    """Builds the table of precision, recall and F1 in three modes, by three averages."""
    measures = [
        f"field_{m}_{mode}"
        for mode in ("strict", "partial", "lenient")
        for m in ("precision", "recall", "f1")
    ]
    columns = [Column("Average", numeric=False)]
    columns += [Column(describe_metric(key).short_name, key.rsplit("_", 1)[-1]) for key in measures]
    rows = [
        TableRow(
            average,
            tuple(
                make_value_cell(key, system.averages[key].get(average), bounds=False)
                for key in measures
            ),
            group=name,
        )
        for name, system in run.systems
        for average in _AVERAGES
    ]
    return Table(
        "Precision, recall and F1",
        "Micro: all fields together; macro: the mean over samples; weighted: by a sample's "
        f"expected fields. Rates without a named average are {run.report.average}.",
        tuple(columns),
        tuple(rows),
    )


def build_other_policy_table(run: RunData) -> Table | None:
    """Builds the table under the other policy for invalid replies; ``None`` if none is invalid."""
    if not any(system.outcomes.invalid + system.outcomes.unparsable for _, system in run.systems):
        return None
    keys = [
        key
        for key in (*_HEADLINE, "type_accuracy", "omission_rate")
        if any(key in system.other_policy for _, system in run.systems)
    ]
    if not keys:
        return None
    columns = [Column("System", numeric=False), *(_build_metric_column(run, key) for key in keys)]
    rows = [
        TableRow(name, tuple(make_value_cell(key, system.other_policy.get(key)) for key in keys))
        for name, system in run.systems
    ]
    abouts = {
        "zero": "Here what is right in invalid replies counts; in the score they are worth 0.",
        "as_is": "Here invalid replies are worth 0; in the score what is right in them counts.",
    }
    return Table(
        "Invalid replies, read the other way",
        abouts[run.report.invalid],
        tuple(columns),
        tuple(rows),
    )


def build_breakdown_table(run: RunData, dimension: Dimension) -> Table | None:
    """Builds the table of every key of a dimension, with a group of rows per system."""
    of_samples = dimension in ("complexity", "domain", "language")
    keys = _OF_SAMPLES if of_samples else _OF_FIELDS
    columns = [Column(_DIMENSIONS[dimension], numeric=False)]
    columns += (
        [Column("samples", meaning="Samples of this kind")]
        if of_samples
        else [
            Column("expected", "fields", "Fields that were expected"),
            Column("extracted", "fields", "Fields that came"),
        ]
    )
    columns += [_build_metric_column(run, key) for key in keys]
    rows, left_out = [], 0
    for name, system in run.systems:
        groups_by_key = system.breakdowns.get(dimension)
        groups = list(groups_by_key.groups.items()) if groups_by_key else []
        if dimension == "name":
            groups.sort(key=lambda pair: -pair[1].expected)
            left_out = max(left_out, len(groups) - _MAX_NAMES)
            groups = groups[:_MAX_NAMES]
        rows += [
            TableRow(key, _build_group_cells(group, keys, of_samples), group=name)
            for key, group in groups
        ]
    if not rows:
        return None
    more = f" {left_out} rarer ones are only in the file of breakdowns." if left_out > 0 else ""
    return Table(f"By {_DIMENSIONS[dimension].lower()}", more.strip(), tuple(columns), tuple(rows))


def _build_group_cells(group: Group, keys: Sequence[str], of_samples: bool) -> tuple[Cell, ...]:
    sizes = (group.samples,) if of_samples else (group.expected, group.predicted)
    return (
        *(Cell(f"{size:,}") for size in sizes),
        *(make_value_cell(key, group.metrics.get(key), bounds=False) for key in keys),
    )


def build_confusion_table(run: RunData, name: str, system: SystemReport) -> Table | None:
    """Builds the confusion table of expected and extracted types; ``None`` without fields."""
    counts = system.type_confusion
    types = list(dict.fromkeys(key for row in counts.values() for key in row))
    types.sort(key=lambda key: (list(counts).index(key) if key in counts else len(counts), key))
    if not types:
        return None
    rows = []
    for expected, row in counts.items():
        total = sum(row.values())
        cells = tuple(
            Cell(
                f"{row[key]:,}" if key in row else "0",
                (format_percent(row[key] / total),) if key in row else (),
                shade=row.get(key, 0) / total if total else 0.0,
            )
            for key in types
        )
        rows.append(TableRow(expected, cells, f"{total:,} fields"))
    columns = (Column("Expected", numeric=False), *(Column(key) for key in types))
    return Table(
        f"{name}: types that came",
        _describe_fields(run, "Shares of a row; the fuller the colour, the more."),
        columns,
        tuple(rows),
        "shares",
    )


def build_distribution_table(run: RunData) -> Table:
    """Builds the table of the scores of paired fields in the specification's bins."""
    bins = next(iter(run.systems))[1].composite.bins
    columns = [
        Column("System", numeric=False),
        Column("pairs", meaning="Fields that both sides have"),
        Column("mean"),
        Column("median"),
    ]
    columns += [
        Column(
            system.name.replace("_", " "),
            f"{format_number(system.low, 2)} to {format_number(system.high, 2)}",
        )
        for system in bins
    ]
    rows = []
    for name, system in run.systems:
        composite = system.composite
        rows.append(
            TableRow(
                name,
                (
                    Cell(f"{composite.n:,}"),
                    Cell(format_number(composite.mean)),
                    Cell(format_number(composite.median, 2)),
                    *(Cell(f"{b.count:,}", (format_percent(b.share),)) for b in composite.bins),
                ),
            )
        )
    return Table(
        "Composite scores of paired fields",
        _describe_fields(run, "Fields that both sides have, by how near their values are."),
        tuple(columns),
        tuple(rows),
    )


def build_similarities_table(run: RunData) -> Table | None:
    """Builds the table of three similarities of texts; ``None`` if no texts were compared."""
    rows = []
    for name, system in run.systems:
        for key, similarity in system.similarities.items():
            if similarity.n:
                low = sum(similarity.histogram[:10]) / similarity.n
                high = sum(similarity.histogram[19:]) / similarity.n
                rows.append(
                    TableRow(
                        key.replace("_", " "),
                        (
                            Cell(f"{similarity.n:,}"),
                            Cell(format_number(similarity.mean)),
                            Cell(format_number(similarity.median, 2)),
                            Cell(format_percent(low)),
                            Cell(format_percent(high)),
                        ),
                        group=name,
                    )
                )
    if not rows:
        return None
    columns = ("Similarity", "pairs of texts", "mean", "median", "below 0.5", "0.95 and more")
    return Table(
        "Similarity of texts",
        _describe_fields(
            run,
            "Over pairs of texts that are compared by likeness. The histograms are in the JSON.",
        ),
        tuple(Column(head, numeric=at > 0) for at, head in enumerate(columns)),
        tuple(rows),
    )
