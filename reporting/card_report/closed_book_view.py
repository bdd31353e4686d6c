"""Builds the table of models with their evidence beside the same models without it."""

from __future__ import annotations

from typing import NamedTuple

from eval.abstention.metrics.definitions import SKILL
from eval.abstention.metrics.groups import TRUE_IN_GRAPH
from eval.abstention.metrics.record import CardComparison
from eval.blocks.text_format import (
    UNDEFINED_TEXT,
    format_name,
    to_chart_estimate,
)
from reporting.card_report.report_view import ReportView
from reporting.card_report.view_records import build_pair_row

CLOSED_BOOK_HEADS = (
    *("skill@.5", "closed book", "difference", "p, adjusted"),
    *("right on E", "closed book", "difference", "p, adjusted"),
    *("YES to withheld truths", "closed book"),
)
"""Heads of the columns after the system's name."""


class ClosedBookRow(NamedTuple):
    """A system with a model, beside the same model that saw only the question."""

    name: str
    cells: tuple[tuple[str, str], ...]
    """Value and interval, in the order of ``CLOSED_BOOK_HEADS``; the interval may be empty."""


def list_closed_book_rows(view: ReportView) -> list[ClosedBookRow]:
    """Lists the systems whose model was also asked without evidence."""
    pairs: dict[tuple[str, str], dict[str, CardComparison]] = {}
    for pair in view.report.closed_book:
        if {pair.candidate, pair.baseline} <= set(view.systems):
            pairs.setdefault((pair.candidate, pair.baseline), {})[pair.metric] = pair
    return [
        ClosedBookRow(
            format_name(system),
            (
                *(cell for pair in by_metric.values() for cell in _build_pair_cells(view, pair)),
                *(_build_withheld_cell(view, name) for name in (system, closed)),
            ),
        )
        for (system, closed), by_metric in pairs.items()
        if SKILL in by_metric
    ]


def _build_pair_cells(view: ReportView, pair: CardComparison) -> list[tuple[str, str]]:
    row = build_pair_row(pair)
    estimates = [
        to_chart_estimate(view.policy.systems[name].metrics.get(pair.metric))
        for name in (pair.candidate, pair.baseline)
    ]
    return [
        *((estimate.text, estimate.interval_text) for estimate in estimates),
        (row.difference, row.interval),
        (row.p or UNDEFINED_TEXT, ""),
    ]


def _build_withheld_cell(view: ReportView, system: str) -> tuple[str, str]:
    group = view.policy.systems[system].set_aside.get(TRUE_IN_GRAPH)
    if group is None:
        return UNDEFINED_TEXT, ""
    estimate = to_chart_estimate(group.metrics.get("yes_rate"))
    return estimate.text, estimate.interval_text
