"""Recommendations: the decision tree with its reasons, service levels, what to improve.

Every sentence is derived from a number of the report; none is written for a particular system.
"""

from __future__ import annotations

from collections.abc import Iterator

from eval.blocks.blocks import Block, Cell, Column, Fold, Paragraphs, Table, TableRow
from eval.blocks.text_format import format_name
from eval.extraction.blocks.call_tables import make_verdict_cell
from eval.extraction.blocks.metric_texts import describe_metric, format_value
from eval.extraction.blocks.run_data import RunData
from eval.extraction.record import Check, Level, SystemReport
from kg.base.plain_text import join_list

LEVELS: tuple[Level, ...] = ("minimum", "target", "excellence")
_MANY_RETRIES, _SLOW_TAIL, _MANY_INVALID = 0.05, 3.0, 0.02
_OFTEN = 0.25
"""Share of all errors from which one kind is worth a sentence."""

_HELP = {
    "missing_value": "ask in the prompt for every field that the text states",
    "missing_required_field": "name the required fields in the prompt",
    "wrong_value": "look at the samples below: the texts may hold values that look alike",
    "hallucinated_value": "ask for null where the text is silent",
    "partial_value": "say whether values are to be copied whole",
    "incomplete_extraction": "say whether values are to be copied whole",
    "over_extraction": "say where a value ends",
    "extra_field": "forbid additional properties in the schemas",
    "wrong_type": "let the server constrain the output to the schema",
    "type_coercion_failed": "ask for null instead of words such as “N/A”",
    "wrong_nesting": "give an example of a nested output in the prompt",
    "array_vs_object": "let the server constrain the output to the schema",
}


def build_recommendations(run: RunData) -> tuple[Block, ...]:
    """Builds the verdict of each system with its reasons, then service levels and improvements."""
    blocks: list[Block] = []
    for name, system in run.systems:
        recommendation = system.recommendation
        text = f"{format_name(name)}: {recommendation.verdict}."
        blocks.append(Paragraphs((text,), "notice"))
        reasons = tuple(
            f"{reason[0].upper()}{reason[1:]}." for reason in recommendation.reasons if reason
        )
        if reasons:
            blocks.append(Paragraphs(reasons, "list"))
        if recommendation.by_complexity:
            parts = [
                f"{key} schemas: {verdict}" for key, verdict in recommendation.by_complexity.items()
            ]
            blocks.append(Paragraphs((f"By complexity alone: {'; '.join(parts)}.",), "note"))
    blocks.append(_build_tree_table(run))
    blocks.append(_build_levels_table(run))
    for name, system in run.systems:
        advice = tuple(list_improvements(system))
        if advice:
            text = f"What to improve first in {format_name(name)}"
            blocks.append(Fold(text, (Paragraphs(advice, "list"),)))
    return tuple(blocks)


def _build_tree_table(run: RunData) -> Table:
    """Builds the table of the decision tree: every branch, its limits, and each system's values."""
    columns = _build_columns("Branch", run)
    rows = []
    branches = next(iter(run.systems))[1].recommendation.branches
    for at, branch in enumerate(branches):
        for place, check in enumerate(branch.checks):
            cells = []
            for _, system in run.systems:
                result = system.recommendation.branches[at]
                taken = ("taken",) if result.taken and not place else ()
                cells.append(_build_check_cell(result.checks[place], *taken))
            rows.append(
                TableRow(
                    describe_metric(check.metric).full_name,
                    (Cell(_format_limit(check, strict=True)), *cells),
                    group=branch.verdict,
                )
            )
    return Table(
        "Decision tree",
        "The first branch whose limits are all met is taken. “Unsure” means that the interval "
        "lies on both sides of the limit: more samples may change the verdict.",
        columns,
        tuple(rows),
        "plain",
    )


def _build_levels_table(run: RunData) -> Table:
    """Builds the table of service levels, requirement by requirement."""
    columns = _build_columns("Requirement", run)
    rows = []
    for level in LEVELS:
        first = next(iter(run.systems))[1].sla.get(level)
        if first is None:
            continue
        results = [system.sla[level] for _, system in run.systems]
        verdicts = tuple(make_verdict_cell(result.passed) for result in results)
        rows.append(TableRow(f"all of {level}", (Cell(""), *verdicts), group=level))
        for place, check in enumerate(first.checks):
            cells = tuple(_build_check_cell(result.checks[place]) for result in results)
            rows.append(
                TableRow(
                    describe_metric(check.metric).full_name,
                    (Cell(_format_limit(check)), *cells),
                    group=level,
                )
            )
    return Table("Service levels", "", columns, tuple(rows), "plain")


def _build_columns(first: str, run: RunData) -> tuple[Column, ...]:
    names = (first, "asks for", *run.names)
    return tuple(Column(name, numeric=False) for name in names)


def _format_limit(check: Check, *, strict: bool = False) -> str:
    """Formats the limit of a requirement."""
    side = "at least" if check.higher_is_better else "below" if strict else "at most"
    return f"{side} {format_value(check.metric, check.limit)}"


def _build_check_cell(check: Check, *more: str) -> Cell:
    unsure = () if check.sure or check.value is None else ("unsure",)
    return make_verdict_cell(check.passed, format_value(check.metric, check.value), *unsure, *more)


def list_improvements(system: SystemReport) -> Iterator[str]:
    """Yields what to improve first, from the errors and failures of a system.

    Rules have neither prompts nor a server, so without a timed call only errors are described.
    """
    has_calls = system.metrics["latency_mean_s"].value is not None
    total = system.errors.total
    kinds = {
        kind: count
        for by_pattern in system.errors.groups.values()
        for kind, count in by_pattern.items()
    }
    for kind, count in sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0])):
        if total and count / total >= _OFTEN:
            kind_name = kind.replace("_", " ")
            help_text = f": {_HELP[kind]}" if has_calls else ""
            yield f"{kind_name.capitalize()}, {100 * count / total:.0f} % of all errors{help_text}."
    if system.errors.top:
        first = system.errors.top[0]
        kind_name = first.pattern.replace("_", " ")
        has_ties = sum(error.count == first.count for error in system.errors.top) > 1
        which = (
            "One of the fields that fail most is" if has_ties else "The field that fails most is"
        )
        yield f"{which} {first.path} ({kind_name}, {first.count:,} times)."
    yield from _list_setting_changes(system, has_calls=has_calls)


def _list_setting_changes(system: SystemReport, *, has_calls: bool) -> Iterator[str]:
    """Yields what other settings of the run could change."""
    outcomes = system.outcomes
    unusable = outcomes.invalid + outcomes.unparsable
    if has_calls and outcomes.scored and unusable / outcomes.scored > _MANY_INVALID:
        yield (
            f"{unusable:,} of {outcomes.scored:,} replies are no valid instance of their schema: "
            "turn on structured output, or raise the limit of output tokens if replies are cut off."
        )
    metrics = system.metrics
    retries, timeouts = metrics["retry_rate"].value, metrics["timeout_rate"].value
    if retries and retries > _MANY_RETRIES:
        yield f"{100 * retries:.1f} % of calls were retried: lower the concurrency."
    if timeouts:
        yield f"{100 * timeouts:.1f} % of calls timed out: raise the timeout or shorten prompts."
    middle, tail = metrics["latency_p50_s"].value, metrics["latency_p99_s"].value
    if middle and tail and tail > _SLOW_TAIL * middle:
        yield (
            f"The slowest calls take {tail / middle:.1f} times the median: look at long texts and "
            "large schemas first."
        )
    weak = [
        f"{key} ({system.breakdowns['complexity'].groups[key].samples:,} samples)"
        for key, verdict in system.recommendation.by_complexity.items()
        if verdict.startswith("Not recommended") and system.recommendation.verdict != verdict
    ]
    if weak:
        yield f"Use it only for other schemas than {join_list(weak)}, where it is not good enough."
