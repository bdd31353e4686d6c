"""Tables of what became of each field: right, wrong, missed, left out or invented."""

from __future__ import annotations

from collections.abc import Mapping

from eval.blocks.blocks import Cell, Column, Table, TableRow
from eval.blocks.text_format import format_number, format_percent
from eval.extraction.blocks.metric_texts import describe_metric, make_value_cell
from eval.extraction.blocks.run_data import RunData
from eval.extraction.record import Estimate
from eval.metrics.runs.text import DIRECTIONS

_RATES = ("right_rate", "wrong_rate", "omission_rate", "left_out_rate", "invented_rate")
_OUTCOMES = ("field_accuracy_macro", *_RATES)
_FIELD_OUTCOMES = ("field_accuracy", *_RATES)
_LITERAL = (
    *("schema_validity", "schema_validity_literal", "exact_match", "exact_match_literal"),
    *("field_f1_strict", "field_f1_literal"),
)
_MAX_FIELDS = 15


def build_outcomes_table(run: RunData) -> Table:
    """Builds the table of the outcomes of all fields, a row per system."""
    rows = tuple(
        TableRow(name, _build_cells(system.metrics, _OUTCOMES)) for name, system in run.systems
    )
    return Table(
        "What became of the fields",
        "Of the fields with an expected value: right, wrong, missed. Of those without: left out, "
        "invented. Fields of invalid replies count as they came.",
        _build_columns("System", _OUTCOMES),
        rows,
    )


def build_field_outcomes_table(run: RunData) -> Table | None:
    """Builds the same table by field; ``None`` without fields."""
    rows = []
    for name, system in run.systems:
        breakdown = system.breakdowns.get("name")
        groups = list(breakdown.groups.items())[:_MAX_FIELDS] if breakdown else []
        rows += [
            TableRow(key, _build_cells(group.metrics, _FIELD_OUTCOMES), group=name)
            for key, group in groups
        ]
    if not rows:
        return None
    return Table(
        "What became of each field",
        "The most frequent fields; all are in the file of breakdowns.",
        _build_columns("Field", _FIELD_OUTCOMES),
        tuple(rows),
    )


def build_readings_table(run: RunData) -> Table:
    """Builds the table of the strict reading beside the one that counts."""
    rows = tuple(
        TableRow(name, _build_cells(system.metrics, _LITERAL)) for name, system in run.systems
    )
    return Table(
        "The strict reading beside it",
        "Without any rule: every violation of the schema makes a reply invalid, and values in "
        "another spelling, type or order are wrong.",
        _build_columns("System", _LITERAL),
        rows,
    )


def build_rules_table(run: RunData) -> Table | None:
    """Builds the table of fields that are right by a rule only; ``None`` if there are none."""
    rules = list(dict.fromkeys(rule for _, system in run.systems for rule in system.rules))
    if not rules:
        return None
    columns = [Column("Rule", numeric=False), *(Column(name) for name in run.names)]
    rows = tuple(
        TableRow(
            rule.replace("_", " "),
            tuple(Cell(f"{system.rules.get(rule, 0):,}") for _, system in run.systems),
        )
        for rule in sorted(rules)
    )
    return Table(
        "Right in another spelling",
        "Fields that the strict reading would call wrong, by the rule that accepts them.",
        tuple(columns),
        rows,
    )


def build_field_risks_table(run: RunData) -> Table | None:
    """Builds the table of risk against coverage by field; ``None`` without confidences."""
    rows = [
        TableRow(
            path,
            (
                Cell(f"{risk.n:,}"),
                Cell(format_percent(risk.wrong / risk.n)),
                make_value_cell("aurc", risk.aurc),
                Cell(format_number(risk.aurc_best)),
                *(Cell(_format_risk(risk.curve, share)) for share in (0.5, 0.8)),
            ),
            group=name,
        )
        for name, system in run.systems
        for path, risk in list(system.field_risks.items())[:_MAX_FIELDS]
    ]
    if not rows:
        return None
    columns = (
        Column("Field", numeric=False),
        Column("decisions", "with a confidence"),
        Column("wrong", "of all"),
        Column("AURC", "lower is better"),
        Column("best AURC", "in the best order"),
        Column("wrong", "of the surest half"),
        Column("wrong", "of the surest 80 %"),
    )
    return Table(
        "Risk against coverage, by field",
        "Decisions are a value or none. If confidence says nothing, AURC is the share of wrong "
        "decisions. Without confidences of fields, that of the reply stands for each.",
        columns,
        tuple(rows),
    )


def _format_risk(curve: tuple[tuple[float, float], ...], share: float) -> str:
    """Formats the risk at the least coverage of at least ``share``."""
    risk = next((risk for coverage, risk in curve if coverage >= share), None)
    return format_percent(risk)


def _build_columns(first: str, keys: tuple[str, ...]) -> tuple[Column, ...]:
    columns = [Column(first, numeric=False)]
    for key in keys:
        named = describe_metric(key)
        is_better_low = key in ("wrong_rate", "omission_rate", "invented_rate")
        explanation = f"{named.full_name}. {named.explanation}"
        columns.append(Column(named.short_name, DIRECTIONS[not is_better_low], explanation))
    return tuple(columns)


def _build_cells(metrics: Mapping[str, Estimate], keys: tuple[str, ...]) -> tuple[Cell, ...]:
    return tuple(make_value_cell(key, metrics.get(key)) for key in keys)
