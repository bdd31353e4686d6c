"""Tables of errors: kinds, the most frequent ones, hallucinations, omissions."""

from __future__ import annotations

from eval.extraction.record import Dimension
from reporting.benchmark_sections.blocks import Cell, Grid, Head, Line
from reporting.charts import UNDEFINED_TEXT, format_percent
from reporting.extraction_section.error_figures import OMISSIONS_SHOWN
from reporting.extraction_section.metric_words import value_cell
from reporting.extraction_section.shown import Shown

HALLUCINATIONS = {
    "1": "1 · name and value made up",
    "2": "2 · known name, made-up value",
    "3": "3 · in the text, under a wrong name",
    "4": "4 · array elements beyond those expected",
}
PATTERNS = {
    "wrong_value": "another value than expected, found in the text",
    "missing_value": "expected, and not extracted",
    "hallucinated_value": "a value that stands nowhere in the text",
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


def patterns(shown: Shown) -> Grid:
    """Errors by family and kind, a column a system."""
    heads = (Head("Error", numeric=False), *(Head(name) for name in shown.names))
    lines = []
    families = next(iter(shown.systems))[1].errors.groups
    for family, kinds in families.items():
        for kind in kinds:
            cells = []
            for _, one in shown.systems:
                count = one.errors.groups.get(family, {}).get(kind, 0)
                share = (format_percent(count / one.errors.total),) if count else ()
                cells.append(Cell(f"{count:,}", share))
            lines.append(
                Line(
                    kind.replace("_", " "),
                    tuple(cells),
                    PATTERNS.get(kind, ""),
                    family.replace("_", " "),
                )
            )
    return Grid(
        "Errors by kind",
        "A field that is wrong has one kind, so shares add up to 1; a field moved elsewhere is "
        "two, one missed and one too many.",
        heads,
        tuple(lines),
    )


def top_errors(shown: Shown) -> Grid | None:
    """The ten most frequent pairs of kind and field of each system."""
    lines = [
        Line(
            found.path,
            (
                Cell(found.pattern.replace("_", " ")),
                Cell(f"{found.count:,}"),
                Cell(format_percent(found.share)),
            ),
            group=name,
        )
        for name, one in shown.systems
        for found in one.errors.top
    ]
    if not lines:
        return None
    heads = (
        Head("Field", numeric=False),
        Head("Kind", numeric=False),
        Head("Times"),
        Head("Of all errors"),
    )
    return Grid("The most frequent errors", "", heads, tuple(lines), "plain")


def hallucinations(shown: Shown) -> Grid:
    """Hallucinations by type and by severity."""
    heads = (Head("Hallucinations", numeric=False), *(Head(name) for name in shown.names))
    lines = [
        Line(
            said,
            tuple(Cell(f"{one.hallucinations.by_type.get(key, 0):,}") for _, one in shown.systems),
            group="By type",
        )
        for key, said in HALLUCINATIONS.items()
    ]
    for severity in ("critical", "moderate", "minor"):
        cells = []
        for _, one in shown.systems:
            found = one.hallucinations.severity.get(severity)
            if found is None:
                cells.append(Cell(UNDEFINED_TEXT))
                continue
            share = UNDEFINED_TEXT if found.share is None else f"{100 * found.share:.1f} %"
            cells.append(Cell(f"{found.count:,}", (f"{share} of extracted",)))
        lines.append(Line(severity, tuple(cells), group="By severity"))
    totals = [
        value_cell("hallucination_rate", one.metrics.get("hallucination_rate"))
        for _, one in shown.systems
    ]
    lines.append(Line("hallucination rate", tuple(totals), group="Rate"))
    made_up = [
        value_cell("fabricated_value_rate", one.metrics.get("fabricated_value_rate"))
        for _, one in shown.systems
    ]
    lines.append(Line("made-up values", tuple(made_up), "type 2 alone", group="Rate"))
    return Grid(
        "Hallucinations",
        "The rate counts fields that nobody expected; made-up values of expected fields (type 2) "
        "stand beside it.",
        heads,
        tuple(lines),
    )


def omissions(shown: Shown, dimension: Dimension, title: str) -> Grid | None:
    """Share of the expected fields that were missed, by key; the most missed first."""
    found = {name: one.omissions.get(dimension, {}) for name, one in shown.systems}
    worst: dict[str, float] = {}
    for one in found.values():
        for key, rate in one.items():
            worst[key] = max(worst.get(key, 0.0), rate.value or 0.0)
    keys = list(worst)
    if dimension == "name":
        keys = sorted((key for key in keys if worst[key]), key=lambda key: (-worst[key], key))
        keys = keys[:OMISSIONS_SHOWN]
    if not keys:
        return None
    lines = []
    for key in keys:
        cells = []
        for name in shown.names:
            value = found[name].get(key)
            size = (
                ()
                if value is None or value.denominator is None
                else (f"of {value.denominator:,.0f}",)
            )
            cells.append(value_cell("omission_rate", value, *size))
        lines.append(Line(key, tuple(cells)))
    heads = (Head(title, numeric=False), *(Head(name) for name in shown.names))
    return Grid(f"Omissions by {title.lower()}", "", heads, tuple(lines))
