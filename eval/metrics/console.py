"""The metrics on a terminal: one line a system, or whole tables when asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eval.metrics.abstention import BESIDE, HEADLINE
from eval.metrics.record import MetricsReport, MetricValue, PolicyReport, SystemReport, WonByControl
from eval.result import PREDS
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from rich.table import Table

MARK = "†"
"""Stands behind a number that a control reaches or beats."""


def show(value: float | None) -> str:
    """A value for a table: three decimals, or a dash for null."""
    return "–" if value is None else f"{value:.3f}"


def show_with_interval(value: MetricValue) -> str:
    """``0.912 [0.880, 0.941]``, with the bounds over unreadable replies where they differ."""
    text = show(value.value)
    if value.low is not None and value.high is not None:
        text += f" [{value.low:.3f}, {value.high:.3f}]"
    if value.worst != value.best:
        text += f" ({show(value.worst)} … {show(value.best)})"
    return text


def summary(report: MetricsReport) -> Iterator[str]:
    """A few lines: the headline of each system, and what a control wins."""
    for policy, part in report.policies.items():
        for name, system in part.systems.items():
            lost = _reached_by_controls(part, name)
            shown = "  ".join(
                f"{metric} {show(system.metrics[metric].value)}{MARK if metric in lost else ''}"
                for metric in (*HEADLINE, *BESIDE)
            )
            oracle = " (oracle)" if system.oracle else ""
            yield f"{policy}: {plain(name)}{oracle}  {shown}"
    for name, system in _first_policy(report).items():
        if confidence := _confidence_line(system):
            yield f"confidence: {plain(name)}  {confidence}"
        if system.self_consistency is not None:
            same = show_with_interval(system.self_consistency)
            yield f"repeats: {plain(name)}  {system.repeats} a card, same answer on {same}"
    if any(part.won_by_controls for part in report.policies.values()):
        yield f"{MARK} a control that looks at nothing does as well or better"
    for note in report.notes:
        yield f"note: {plain(note, limit=1000)}"


def tables(report: MetricsReport) -> Iterator[Table | str]:
    """Everything, as rich tables and lines of text."""
    for policy, part in report.policies.items():
        yield _headline_table(policy, part)
        for name, system in part.systems.items():
            yield _outcome_table(policy, name, system)
            if system.per_kind or system.faithfulness:
                yield _kind_table(policy, name, system)
        for won in part.won_by_controls:
            yield f"{policy}: {_how_won(won)}"
    if (confidences := _confidence_table(report)) is not None:
        yield confidences
    for note in report.notes:
        yield f"note: {plain(note, limit=1000)}"
    for part in report.policies.values():
        for system in list(part.systems.values())[:1]:
            yield from (system.metrics[name].signature for name in HEADLINE)


def _first_policy(report: MetricsReport) -> dict[str, SystemReport]:
    """The systems where what does not hang on the policy is said: once."""
    return next(iter(report.policies.values())).systems if report.policies else {}


def _confidence_line(system: SystemReport) -> str:
    """ECE beside what chance alone gives, Brier, and how well confidence sorts."""
    calibration, selective = system.calibration, system.selective
    if calibration is None or selective is None:
        return ""
    chance = calibration.ece_expected
    return (
        f"ECE {show_with_interval(calibration.ece)} (calibrated {chance.mean:.3f}, at most "
        f"{chance.high:.3f})  Brier {show(calibration.brier.value)}  AURC "
        f"{show(selective.aurc.value)} ({selective.aurc_best:.3f} best, "
        f"{selective.aurc_random:.3f} random)  AUGRC {show(selective.augrc.value)}"
    )


def _confidence_table(report: MetricsReport) -> Table | None:
    """Calibration and selective prediction of the systems that state confidences."""
    columns = ["system", "replies", "ECE", "by chance", "ECE equal mass", "Brier", "AURC", "AUGRC"]
    table = _table("confidence (lower is better)", columns)
    for name, system in _first_policy(report).items():
        calibration, selective = system.calibration, system.selective
        if calibration is None or selective is None:
            continue
        _row(
            table,
            name,
            str(calibration.n),
            show_with_interval(calibration.ece),
            f"{calibration.ece_expected.mean:.3f}, at most {calibration.ece_expected.high:.3f}",
            show_with_interval(calibration.ece_equal_mass),
            show_with_interval(calibration.brier),
            show_with_interval(selective.aurc),
            show_with_interval(selective.augrc),
        )
    return table if table.row_count else None


def _how_won(won: WonByControl) -> str:
    """``LA is won by always-YES at 1.000; beaten: rag; tied: kg``."""
    controls = f"{', '.join(won.controls)} at {won.value:.3f}"
    if won.won:
        text = f"{won.metric} is {'won' if won.beaten else 'also reached'} by {controls}"
    else:
        text = f"{won.metric}: some system does no better than {controls}"
    for what, names in (("beaten", won.beaten), ("tied", won.tied)):
        if names:
            text += f"; {what}: {', '.join(plain(name) for name in names)}"
    return text


def _headline_table(policy: str, part: PolicyReport) -> Table:
    table = _table(f"policy {policy}", ["system", *HEADLINE, *BESIDE])
    for name, system in part.systems.items():
        lost = _reached_by_controls(part, name)
        _row(
            table,
            f"{name} (oracle)" if system.oracle else name,
            *(
                show_with_interval(system.metrics[metric]) + (MARK if metric in lost else "")
                for metric in (*HEADLINE, *BESIDE)
            ),
        )
    for name, system in part.controls.items():
        values = (show(system.metrics[metric].value) for metric in (*HEADLINE, *BESIDE))
        _row(table, f"control {name}", *values)
    return table


def _outcome_table(policy: str, name: str, system: SystemReport) -> Table:
    table = _table(f"{name}, policy {policy}: cards", ["label", *PREDS])
    for label, row in system.table.items():
        _row(table, label, *(str(row[pred]) for pred in PREDS))
    return table


def _kind_table(policy: str, name: str, system: SystemReport) -> Table:
    table = _table(f"{name}, policy {policy}: by kind", ["kind", "cards", "accuracy", *PREDS])
    apart = {f"{kind} (faithfulness)": group for kind, group in system.faithfulness.items()}
    for kind, group in (system.per_kind | apart).items():
        sums = (sum(row[pred] for row in group.table.values()) for pred in PREDS)
        accuracy = show_with_interval(group.metrics["accuracy"])
        _row(table, kind, str(group.n_cards), accuracy, *map(str, sums))
    return table


def _reached_by_controls(part: PolicyReport, system: str) -> set[str]:
    return {won.metric for won in part.won_by_controls if system in (*won.beaten, *won.tied)}


def _table(title: str, columns: list[str]) -> Table:
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(title=Text(plain(title)), title_justify="left")
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    return table


def _row(table: Table, *cells: str) -> None:
    from rich.text import Text

    # ``Text`` rather than ``str``: a name such as ``[red]`` is no markup.
    table.add_row(*(Text(plain(cell)) for cell in cells))
