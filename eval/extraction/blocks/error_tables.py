"""Tables of errors: kinds, the most frequent ones, hallucinations, omissions."""

from __future__ import annotations

from eval.blocks.blocks import Cell, Column, Table, TableRow
from eval.blocks.text_format import UNDEFINED_TEXT, format_name, format_percent
from eval.extraction.blocks.error_charts import MAX_OMISSIONS
from eval.extraction.blocks.metric_texts import describe_metric, make_value_cell
from eval.extraction.blocks.run_data import RunData
from eval.extraction.record import Dimension
from eval.extraction.summary import format_gain

MAX_KEYWORDS = 4
"""Maximum number of keywords for which the table of invalid replies has a row over all fields."""
MAX_FIELDS = 6
"""Maximum number of its rows on single fields, per system."""
_HALLUCINATIONS = {
    "1": "1 · nothing expected, value not in the text",
    "2": "2 · wrong value, not in the text (no hallucination)",
    "3": "3 · nothing expected, value in the text",
    "4": "4 · array elements beyond those expected",
}
_PATTERNS = {
    "wrong_value": "another value than expected",
    "missing_value": "expected, and not extracted",
    "hallucinated_value": "nothing expected, and a value that is nowhere in the text",
    "partial_value": "near what was expected",
    "wrong_type": "of another JSON type",
    "type_coercion_failed": "words where a typed value or nothing was due",
    "wrong_nesting": "at another place than expected",
    "array_vs_object": "an array for an object, or an object for an array",
    "missing_required_field": "missed, though the schema requires it",
    "extra_field": "a field that nobody expected",
    "incomplete_extraction": "less of a text than expected",
    "over_extraction": "more of a text than expected",
}


def build_patterns_table(run: RunData) -> Table:
    """Builds the table of errors by family and kind, a column per system."""
    columns = (Column("Error", numeric=False), *(Column(name) for name in run.names))
    rows = []
    families = next(iter(run.systems))[1].errors.groups
    for family, kinds in families.items():
        for kind in kinds:
            cells = []
            for _, system in run.systems:
                count = system.errors.groups.get(family, {}).get(kind, 0)
                share = (format_percent(count / system.errors.total),) if count else ()
                cells.append(Cell(f"{count:,}", share))
            rows.append(
                TableRow(
                    kind.replace("_", " "),
                    tuple(cells),
                    _PATTERNS.get(kind, ""),
                    family.replace("_", " "),
                )
            )
    return Table(
        "Errors by kind",
        "A field that is wrong has one kind, so shares add up to 1; a field moved elsewhere is "
        "two, one missed and one too many.",
        columns,
        tuple(rows),
    )


def build_invalid_reasons_table(run: RunData) -> Table | None:
    """Builds the table of why replies are invalid, and what mending each reason would gain."""
    rows = []
    for name, system in run.systems:
        by_keyword = [reason for reason in system.invalid_reasons if reason.field is None]
        by_field = [reason for reason in system.invalid_reasons if reason.field is not None]
        for reason in (*by_keyword[:MAX_KEYWORDS], *by_field[:MAX_FIELDS]):
            where = "any field" if reason.field is None else reason.field or "the whole reply"
            rows.append(
                TableRow(
                    f"{reason.keyword} · {where}",
                    (
                        Cell(f"{reason.replies:,}", (f"{reason.violations:,} times",)),
                        Cell(f"{reason.mended:,}"),
                        Cell(format_gain(reason.validity_gain)),
                        Cell(format_gain(reason.score_gain)),
                    ),
                    reason.example,
                    format_name(name),
                )
            )
    if not rows:
        return None
    columns = (
        Column("Keyword and field", numeric=False),
        Column("replies", "invalid for it"),
        Column("only for it", "valid if mended"),
        Column("validity", "gained", "By how much schema validity would rise if it were mended"),
        Column("score", "gained", "By how much the quality score would rise, values as they are"),
    )
    return Table(
        "Why replies are invalid",
        "By the violated keyword of the schema, for all fields and for the fields that cost most. "
        "A reply becomes valid only if all that is wrong with it is mended. Below: an example.",
        columns,
        tuple(rows),
    )


def build_top_errors_table(run: RunData) -> Table | None:
    """Builds the table of each system's ten most frequent pairs of kind and field."""
    rows = [
        TableRow(
            error.path,
            (
                Cell(error.pattern.replace("_", " ")),
                Cell(f"{error.count:,}"),
                Cell(format_percent(error.share)),
            ),
            group=name,
        )
        for name, system in run.systems
        for error in system.errors.top
    ]
    if not rows:
        return None
    columns = (
        Column("Field", numeric=False),
        Column("Kind", numeric=False),
        Column("Times"),
        Column("Of all errors"),
    )
    return Table("The most frequent errors", "", columns, tuple(rows), "plain")


def build_hallucinations_table(run: RunData) -> Table:
    """Builds the table of hallucinations by type and by severity."""
    columns = (Column("Hallucinations", numeric=False), *(Column(name) for name in run.names))
    rows = [
        TableRow(
            label,
            tuple(
                Cell(f"{system.hallucinations.by_type.get(key, 0):,}") for _, system in run.systems
            ),
            group="By type",
        )
        for key, label in _HALLUCINATIONS.items()
    ]
    for severity in ("critical", "moderate", "minor"):
        cells = []
        for _, system in run.systems:
            share_of_severity = system.hallucinations.severity.get(severity)
            if share_of_severity is None:
                cells.append(Cell(UNDEFINED_TEXT))
                continue
            share = (
                UNDEFINED_TEXT
                if share_of_severity.share is None
                else f"{100 * share_of_severity.share:.1f} %"
            )
            cells.append(Cell(f"{share_of_severity.count:,}", (f"{share} of extracted",)))
        rows.append(TableRow(severity, tuple(cells), group="By severity"))
    totals = [
        make_value_cell("hallucination_rate", system.metrics.get("hallucination_rate"))
        for _, system in run.systems
    ]
    rows.append(TableRow("hallucination rate", tuple(totals), group="Rate"))
    for key in ("fabricated_value_rate", "not_found_literally_rate"):
        cells = [make_value_cell(key, system.metrics.get(key)) for _, system in run.systems]
        rows.append(TableRow(describe_metric(key).full_name, tuple(cells), group="Rate"))
    return Table(
        "Hallucinations",
        "The rate counts values of fields for which nothing was expected. A value that is not in "
        "the text literally is not thereby invented: that share is given apart. Without texts, "
        "only the rate and type 4 are known.",
        columns,
        tuple(rows),
    )


def build_omissions_table(run: RunData, dimension: Dimension, title: str) -> Table | None:
    """Builds the table of the shares of missed fields by key; of names, the most missed first."""
    rates = {name: system.omissions.get(dimension, {}) for name, system in run.systems}
    worst: dict[str, float] = {}
    for system in rates.values():
        for key, rate in system.items():
            worst[key] = max(worst.get(key, 0.0), rate.value or 0.0)
    keys = list(worst)
    if dimension == "name":
        keys = sorted((key for key in keys if worst[key]), key=lambda key: (-worst[key], key))
        keys = keys[:MAX_OMISSIONS]
    if not keys:
        return None
    rows = []
    for key in keys:
        cells = []
        for name in run.names:
            value = rates[name].get(key)
            size = (
                ()
                if value is None or value.denominator is None
                else (f"of {value.denominator:,.0f}",)
            )
            cells.append(make_value_cell("omission_rate", value, *size))
        rows.append(TableRow(key, tuple(cells)))
    columns = (Column(title, numeric=False), *(Column(name) for name in run.names))
    return Table(f"Omissions by {title.lower()}", "", columns, tuple(rows))
