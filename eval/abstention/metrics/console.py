"""Renders metrics for the terminal: one line per system, or full tables on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from eval.abstention.metrics.closed_book import RIGHT_ON_ENTAILED
from eval.abstention.metrics.definitions import (
    CVRR_PARTS,
    EXPLANATORY_METRICS,
    HEADLINE_METRICS,
    SHOWN_METRICS,
)
from eval.abstention.metrics.groups import TRUE_IN_GRAPH, shows_reading
from eval.abstention.metrics.record import (
    CardComparison,
    ControlWin,
    MetricsReport,
    PolicyReport,
    SystemReport,
)
from eval.abstention.result import PREDS
from eval.blocks.glossary import describe_metric
from eval.metrics.number_text import format_value, format_with_interval
from kg.base.plain_text import clean_text

if TYPE_CHECKING:
    from rich.table import Table

CONTROL_MARK = "†"
"""The mark after a value that a control reaches or beats."""


def render_summary(report: MetricsReport) -> Iterator[str]:
    """Renders a few lines: the headline metrics of each system, with marks where a control wins."""
    yield from render_warnings(report.warnings)
    for policy, policy_report in report.policies.items():
        for name, system in policy_report.systems.items():
            marked_metrics = _metrics_reached_by_controls(policy_report, name)
            values = "  ".join(
                f"{metric} {format_value(system.metrics[metric].value)}"
                f"{CONTROL_MARK if metric in marked_metrics else ''}"
                f"{_render_cvrr_parts(system) if metric == 'CVRR' else ''}"
                for metric in SHOWN_METRICS
                if metric in system.metrics
            )
            oracle = " (oracle)" if system.oracle else ""
            yield f"{policy}: {clean_text(name)}{oracle}  {values}"
        yield f"{policy}: best control  {_render_best_controls(policy_report)}"
    for name, system in _first_policy_systems(report).items():
        if confidence := _confidence_line(system):
            yield f"confidence: {clean_text(name)}  {confidence}"
        if system.memory is not None:
            yield f"memory: {clean_text(name)}  {_render_memory(system)}"
        if system.faithfulness:
            yield f"faithfulness: {clean_text(name)}  {_render_faithfulness(system)}"
        if system.self_consistency is not None:
            consistency = format_with_interval(system.self_consistency)
            yield (
                f"repeats: {clean_text(name)}  {system.repeats} per card, "
                f"same answer on {consistency}"
            )
    yield from _render_closed_book(report)
    if any(policy_report.won_by_controls for policy_report in report.policies.values()):
        yield (
            f"{CONTROL_MARK} a trivial control (constant or random answers) matches or beats this "
            "value"
        )
    for note in report.notes:
        yield f"note: {clean_text(note, max_length=1000)}"


def _render_cvrr_parts(system: SystemReport) -> str:
    """Returns how often contradictions were recognised, and how often the answer was withheld."""
    parts = [system.metrics[name].value for name in CVRR_PARTS if name in system.metrics]
    if None in parts or not parts:
        return ""
    recognised, withheld = map(format_value, parts)
    return f" (NO {recognised}, UNKNOWN {withheld})"


def _render_memory(system: SystemReport) -> str:
    """Returns how often a system says YES where the claim was set aside, and elsewhere."""
    parts = (
        f"{format_value(group.metrics['yes_rate'].value)} of {group.n_cards} {words}"
        for group, words in zip(
            system.set_aside.values(), ("claims set aside", "other U claims"), strict=True
        )
    )
    assert system.memory is not None
    difference = format_with_interval(system.memory)
    return f"YES to {' and '.join(parts)}, difference {difference}{_render_finding(system)}"


def _render_finding(system: SystemReport) -> str:
    """Returns what the tests of memory found, with the adjusted p-value of it."""
    tests = system.memory_tests
    if tests is None:
        return ""
    margin = f"{100 * tests.margin:g} points"
    if tests.finding == "unclear" and not shows_reading(system):
        return ": cannot tell, since it does not answer by the facts"
    return {
        "memory": f": from memory, or guessed (adjusted p {tests.p_holm:.3g})",
        "none": f": less than {margin} (adjusted p {tests.p_margin_holm:.3g})",
        "unclear": f": cannot tell (adjusted p {tests.p_holm:.3g} against no difference, "
        f"{tests.p_margin_holm:.3g} against {margin})",
    }[tests.finding]


def _render_faithfulness(system: SystemReport) -> str:
    """Returns how often a system follows the card where card and graph differ."""
    return ", ".join(
        f"{format_with_interval(group.metrics['accuracy'])} right on {group.n_cards} {kind} cards"
        for kind, group in system.faithfulness.items()
    )


def _render_closed_book(report: MetricsReport) -> Iterator[str]:
    """Yields, per system with a model, its values beside those of the model without evidence."""
    systems = _first_policy_systems(report)
    by_system: dict[tuple[str, str], list[CardComparison]] = {}
    for pair in report.closed_book:
        by_system.setdefault((pair.candidate, pair.baseline), []).append(pair)
    for (name, closed), pairs in by_system.items():
        parts = [
            f"{'right on E' if pair.metric == RIGHT_ON_ENTAILED else pair.metric} "
            f"{format_value(pair.value_candidate)}, closed book {format_value(pair.value_baseline)}"
            f", difference {_format_difference(pair)}"
            for pair in pairs
        ]
        rates = [
            format_value(group.metrics["yes_rate"].value)
            for system in (name, closed)
            if (group := systems[system].set_aside.get(TRUE_IN_GRAPH)) is not None
        ]
        if len(rates) == 2:
            parts.append(f"YES to withheld truths {rates[0]}, closed book {rates[1]}")
        yield f"closed book: {clean_text(name)}  {'; '.join(parts)}"


def _format_difference(pair: CardComparison) -> str:
    if pair.difference is None or pair.low is None or pair.high is None:
        return format_value(pair.difference)
    return f"{pair.difference:+.3f} [{pair.low:.3f}, {pair.high:.3f}]"


def _render_best_controls(policy_report: PolicyReport) -> str:
    """Returns the best value of the controls on each explanatory metric, and which control."""
    parts = []
    for metric in EXPLANATORY_METRICS:
        values = {
            name: value.value
            for name, system in policy_report.controls.items()
            if (value := system.metrics[metric]).value is not None
        }
        if values:
            choose = min if metric == "FAR-NE" else max
            best = choose(values.values())
            names = ", ".join(name for name, value in values.items() if value == best)
            parts.append(f"{metric} {format_value(best)} ({names})")
    return "  ".join(parts)


def render_tables(report: MetricsReport) -> Iterator[Table | str]:
    """Renders the whole report as rich tables and lines of text."""
    yield from render_warnings(report.warnings)
    for policy, policy_report in report.policies.items():
        yield _headline_table(policy, policy_report)
        yield from describe_blind_spots(EXPLANATORY_METRICS)
        for name, system in policy_report.systems.items():
            yield _outcome_table(policy, name, system)
            if system.per_kind or system.faithfulness:
                yield _kind_table(policy, name, system)
        for win in policy_report.won_by_controls:
            yield f"{policy}: {_describe_control_win(win)}"
    if (confidences := _confidence_table(report)) is not None:
        yield confidences
    for note in report.notes:
        yield f"note: {clean_text(note, max_length=1000)}"
    for policy_report in report.policies.values():
        for system in list(policy_report.systems.values())[:1]:
            yield from (
                system.metrics[name].signature
                for name in (*HEADLINE_METRICS, *EXPLANATORY_METRICS)
                if name in system.metrics
            )


def describe_blind_spots(metrics: Iterable[str]) -> Iterator[str]:
    """Yields a line on each metric that leaves something out."""
    for metric in metrics:
        if blind_spot := describe_metric(metric).blind_spot:
            yield f"{metric}: {blind_spot}"


def render_warnings(warnings: Iterable[str]) -> Iterator[str]:
    """Renders what must be said wherever scores are shown, as one line each."""
    for warning in warnings:
        yield f"WARNING: {clean_text(warning, max_length=1000)}"


def _first_policy_systems(report: MetricsReport) -> dict[str, SystemReport]:
    """Returns the systems of the first policy, for values that do not depend on the policy."""
    return next(iter(report.policies.values())).systems if report.policies else {}


def _confidence_line(system: SystemReport) -> str:
    """Returns ECE with its value expected by chance, Brier score, AURC and AUGRC on one line."""
    calibration, selective = system.calibration, system.selective
    if calibration is None or selective is None:
        return ""
    chance = calibration.ece_expected
    return (
        f"ECE {format_with_interval(calibration.ece)} (calibrated {chance.mean:.3f}, at most "
        f"{chance.high:.3f})  Brier {format_value(calibration.brier.value)}  AURC "
        f"{format_value(selective.aurc.value)} ({selective.aurc_best:.3f} best, "
        f"{selective.aurc_random:.3f} random)  AUGRC {format_value(selective.augrc.value)}"
    )


def _confidence_table(report: MetricsReport) -> Table | None:
    """Builds the table of calibration and selective prediction, for systems with confidences."""
    columns = ["system", "replies", "ECE", "by chance", "ECE equal mass", "Brier", "AURC", "AUGRC"]
    table = _new_table("confidence (lower is better)", columns)
    for name, system in _first_policy_systems(report).items():
        calibration, selective = system.calibration, system.selective
        if calibration is None or selective is None:
            continue
        _add_row(
            table,
            name,
            str(calibration.n),
            format_with_interval(calibration.ece),
            f"{calibration.ece_expected.mean:.3f}, at most {calibration.ece_expected.high:.3f}",
            format_with_interval(calibration.ece_equal_mass),
            format_with_interval(calibration.brier),
            format_with_interval(selective.aurc),
            format_with_interval(selective.augrc),
        )
    return table if table.row_count else None


def _describe_control_win(win: ControlWin) -> str:
    """Returns a sentence such as ``LA is won by always-YES at 1.000; beaten: rag; tied: kg``."""
    controls = f"{', '.join(win.controls)} at {win.value:.3f}"
    if win.won:
        text = f"{win.metric} is {'won' if win.beaten else 'also reached'} by {controls}"
    else:
        text = f"{win.metric}: some system does no better than {controls}"
    for outcome, names in (("beaten", win.beaten), ("tied", win.tied)):
        if names:
            text += f"; {outcome}: {', '.join(clean_text(name) for name in names)}"
    return text


def _headline_table(policy: str, policy_report: PolicyReport) -> Table:
    reports = [*policy_report.systems.values(), *policy_report.controls.values()]
    cvrr = SHOWN_METRICS.index("CVRR") + 1
    names = (*SHOWN_METRICS[:cvrr], *CVRR_PARTS, *SHOWN_METRICS[cvrr:])
    shown = [name for name in names if any(name in r.metrics for r in reports)]
    table = _new_table(f"policy {policy}", ["system", *shown])
    for name, system in policy_report.systems.items():
        marked_metrics = _metrics_reached_by_controls(policy_report, name)
        _add_row(
            table,
            f"{name} (oracle)" if system.oracle else name,
            *(
                format_with_interval(system.metrics[metric])
                + (CONTROL_MARK if metric in marked_metrics else "")
                for metric in shown
            ),
        )
    for name, system in policy_report.controls.items():
        values = (format_value(system.metrics[metric].value) for metric in shown)
        _add_row(table, f"control {name}", *values)
    return table


def _outcome_table(policy: str, name: str, system: SystemReport) -> Table:
    table = _new_table(f"{name}, policy {policy}: cards", ["label", *PREDS])
    for label, row in system.table.items():
        _add_row(table, label, *(str(row[pred]) for pred in PREDS))
    return table


def _kind_table(policy: str, name: str, system: SystemReport) -> Table:
    table = _new_table(f"{name}, policy {policy}: by kind", ["kind", "cards", "accuracy", *PREDS])
    faithfulness = {f"{kind} (faithfulness)": group for kind, group in system.faithfulness.items()}
    for kind, group in (system.per_kind | faithfulness).items():
        sums = (sum(row[pred] for row in group.table.values()) for pred in PREDS)
        accuracy = format_with_interval(group.metrics["accuracy"])
        _add_row(table, kind, str(group.n_cards), accuracy, *map(str, sums))
    return table


def _metrics_reached_by_controls(policy_report: PolicyReport, system: str) -> set[str]:
    return {
        win.metric for win in policy_report.won_by_controls if system in (*win.beaten, *win.tied)
    }


def _new_table(title: str, columns: list[str]) -> Table:
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(title=Text(clean_text(title)), title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    return table


def _add_row(table: Table, *cells: str) -> None:
    from rich.text import Text

    # ``Text`` rather than ``str``, since rich would interpret a name such as ``[red]`` as markup.
    table.add_row(*(Text(clean_text(cell)) for cell in cells))
