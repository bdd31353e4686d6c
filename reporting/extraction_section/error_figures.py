"""Figures of errors: their kinds, omissions by field, severity of hallucinations."""

from __future__ import annotations

from eval.extraction.record import Estimate, SystemReport
from reporting.benchmark_sections.blocks import Figure
from reporting.benchmark_sections.drawings import stack_drawing
from reporting.charts import build_stack, format_percent
from reporting.extraction_section.shown import Shown
from reporting.plots.heat import HeatCell, heat_map
from reporting.plots.picture import drawing
from reporting.plots.tree_map import Family, tree_map
from reporting.visible_text import format_name

OMISSIONS_SHOWN = 20
"""Fields in the heat map of omissions; all are in its table's file."""

GROUPS = {
    "extraction_errors": ("values", "values"),
    "type_errors": ("types", "types"),
    "structure_errors": ("structure", "structure"),
    "boundary_errors": ("boundaries", "bounds"),
}
"""Family of errors → its name, and its colour."""

SEVERITIES = {
    "critical": ("wrong", "✗", "critical: made up"),
    "moderate": ("held", "○", "moderate: in the text, under a wrong name"),
    "minor": ("none", "+", "minor: array elements too many"),
}


def tree_figure(name: str, one: SystemReport, id_: str) -> Figure | None:
    """Errors by kind; none where there are none."""
    if not one.errors.total:
        return None
    families = [
        Family(
            GROUPS.get(key, (key, "values"))[0],
            GROUPS.get(key, (key, "values"))[1],
            tuple((pattern.replace("_", " "), count) for pattern, count in patterns.items()),
        )
        for key, patterns in one.errors.groups.items()
    ]
    told = ", ".join(f"{f.name} {f.count:,}" for f in families)
    return Figure(
        format_name(name),
        f"{one.errors.total:,} fields with an error; areas are in proportion.",
        drawing(
            tree_map(families),
            id_,
            f"{format_name(name)}: errors by kind",
            f"A tree map: {told}. The counts stand in a table below.",
        ),
    )


def omission_figure(shown: Shown, id_: str) -> Figure | None:
    """How often each field is missed, by system; the most missed first."""
    names = shown.names
    found = {name: one.omissions.get("name", {}) for name, one in shown.systems}
    keys = dict.fromkeys(key for one in found.values() for key in one)
    worst = {
        key: max((_share(found[name].get(key)) for name in names), default=0.0) for key in keys
    }
    ranked = sorted((key for key in keys if worst[key] > 0), key=lambda key: (-worst[key], key))
    if not ranked:
        return None
    rows = []
    for key in ranked[:OMISSIONS_SHOWN]:
        cells = []
        for name in names:
            value = found[name].get(key)
            if value is None or value.value is None:
                cells.append(HeatCell("–", told=f"{key}, {format_name(name)}: never expected"))
                continue
            n = int(value.denominator or value.n)
            told = f"{key}, {format_name(name)}: {format_percent(value.value)} of {n:,} missed"
            cells.append(HeatCell(format_percent(value.value), value.value, "down", told))
        rows.append((key, cells))
    more = f" The {OMISSIONS_SHOWN} most missed are drawn." if len(ranked) > OMISSIONS_SHOWN else ""
    return Figure(
        "Omissions by field",
        f"Share of a field's expected occurrences that were missed.{more}",
        drawing(
            heat_map(
                [format_name(name) for name in names],
                rows,
                name_width=200,
                cell_width=96,
                head_lines=2,
            ),
            id_,
            "Omissions by field",
            "One row a field, one column a system; the fuller the colour, the more is missed. "
            "The shares are written in the cells.",
        ),
    )


def _share(value: Estimate | None) -> float:
    return 0.0 if value is None or value.value is None else value.value


def severity_figure(shown: Shown, id_: str) -> Figure | None:
    """Hallucinations by severity."""
    entries = []
    for name, one in shown.systems:
        parts = [
            (*SEVERITIES[key], float(share.count))
            for key, share in one.hallucinations.severity.items()
            if share.count
        ]
        entries.append((format_name(name), False, parts))
    if not any(parts for _, _, parts in entries):
        return None
    return Figure(
        "Hallucinations by severity",
        "✗ critical: made up; ○ moderate: stands in the text, under a wrong name; + minor: array "
        "elements too many. Shares of a system's hallucinations; how many there are stands below.",
        stack_drawing(
            build_stack(entries),
            id_,
            "Hallucinations by severity",
            "One bar a system. The counts stand in a table below.",
        ),
    )
