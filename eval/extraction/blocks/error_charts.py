"""Charts of errors: their kinds, omissions by field, severity of hallucinations."""

from __future__ import annotations

from eval.blocks.blocks import Figure
from eval.blocks.charts import (
    CountFamily,
    HeatCell,
    HeatMap,
    OutcomeBars,
    OutcomeCount,
    OutcomeRow,
    TreeMap,
)
from eval.blocks.text_format import format_name, format_percent
from eval.extraction.blocks.run_data import RunData
from eval.extraction.record import Estimate, SystemReport

MAX_OMISSIONS = 20
"""Fields in the heat map of omissions; all are in its table's file."""

_FAMILIES = {
    "extraction_errors": ("values", "values"),
    "type_errors": ("types", "types"),
    "structure_errors": ("structure", "structure"),
    "boundary_errors": ("boundaries", "bounds"),
}
"""Family of errors → its name, and its colour."""

_SEVERITIES = {
    "critical": ("wrong", "✗", "critical: invented"),
    "moderate": ("held", "○", "moderate: nothing expected, value in the text"),
    "minor": ("none", "+", "minor: array elements too many"),
}


def build_error_map(name: str, system: SystemReport) -> Figure | None:
    """Builds the tree map of a system's errors by kind; ``None`` if it made none."""
    if not system.errors.total:
        return None
    families = tuple(
        CountFamily(
            *_FAMILIES.get(key, (key, "values")),
            tuple((pattern.replace("_", " "), count) for pattern, count in patterns.items()),
        )
        for key, patterns in system.errors.groups.items()
    )
    counts = ", ".join(f"{family.name} {family.count:,}" for family in families)
    return Figure(
        format_name(name),
        f"{system.errors.total:,} fields with an error; areas are in proportion.",
        TreeMap(families),
        f"A tree map: {counts}. The counts are in a table below.",
    )


def build_omission_map(run: RunData) -> Figure | None:
    """Builds the heat map of the fields that are missed most; ``None`` if none is missed."""
    rates = [(name, system.omissions.get("name", {})) for name, system in run.systems]
    keys = dict.fromkeys(key for _, by_key in rates for key in by_key)
    worst = {
        key: max(by_key[key].value or 0.0 for _, by_key in rates if key in by_key) for key in keys
    }
    ranked = sorted((key for key in keys if worst[key] > 0), key=lambda key: (-worst[key], key))
    if not ranked:
        return None
    rows = tuple(
        (key, tuple(_build_omission_cell(key, name, by_key.get(key)) for name, by_key in rates))
        for key in ranked[:MAX_OMISSIONS]
    )
    more = f" The {MAX_OMISSIONS} most missed are drawn." if len(ranked) > MAX_OMISSIONS else ""
    return Figure(
        "Omissions by field",
        f"Share of a field's expected occurrences that were missed.{more}",
        HeatMap(run.display_names, rows, name_width=200, cell_width=96, head_lines=2),
        "One row per field, one column per system; the fuller the colour, the more is missed. The "
        "shares are written in the cells.",
    )


def _build_omission_cell(key: str, name: str, rate: Estimate | None) -> HeatCell:
    if rate is None or rate.value is None:
        return HeatCell("–", tooltip=f"{key}, {format_name(name)}: never expected")
    share, n = format_percent(rate.value), int(rate.denominator or rate.n)
    tooltip = f"{key}, {format_name(name)}: {share} of {n:,} missed"
    return HeatCell(share, rate.value, "down", tooltip)


def build_severity_bars(run: RunData) -> Figure | None:
    """Builds the bars of hallucinations by severity; ``None`` if there are none."""
    rows = tuple(
        OutcomeRow(
            format_name(name),
            False,
            tuple(
                OutcomeCount(*_SEVERITIES[key], float(share.count))
                for key, share in system.hallucinations.severity.items()
                if share.count
            ),
        )
        for name, system in run.systems
    )
    if not any(row.counts for row in rows):
        return None
    return Figure(
        "Hallucinations by severity",
        "✗ critical: invented; ○ moderate: nothing expected, but the value is in the text; "
        "+ minor: array elements too many. Shares of a system's hallucinations; the table below "
        "has counts.",
        OutcomeBars(rows),
        "One bar per system. The counts are in a table below.",
    )
