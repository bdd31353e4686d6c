"""What to do with a system: the decision tree with its reasons, service levels, what to improve.

Every sentence is derived from a number of the report; none is written for a particular system.
"""

from __future__ import annotations

from collections.abc import Iterator

from eval.extraction.record import Check, Level, SystemReport
from kg.words.plain_text import join_list
from reporting.benchmark_sections.blocks import Block, Cell, Fold, Grid, Head, Line, Prose
from reporting.extraction_section.metric_words import value_text, words
from reporting.extraction_section.shown import Shown
from reporting.extraction_section.work_grids import verdict_cell
from reporting.visible_text import format_name

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


def recommendations(shown: Shown) -> tuple[Block, ...]:
    """The verdict of each system, why, what would change it; then levels and improvements."""
    blocks: list[Block] = []
    for name, one in shown.systems:
        found = one.recommendation
        said = f"{format_name(name)}: {found.verdict}."
        blocks.append(Prose((said,), "notice"))
        reasons = tuple(f"{reason[0].upper()}{reason[1:]}." for reason in found.reasons if reason)
        if reasons:
            blocks.append(Prose(reasons, "list"))
        if found.by_complexity:
            parts = [f"{key} schemas: {verdict}" for key, verdict in found.by_complexity.items()]
            blocks.append(Prose((f"By complexity alone: {'; '.join(parts)}.",), "note"))
    blocks.append(tree(shown))
    blocks.append(levels(shown))
    for name, one in shown.systems:
        advice = tuple(improvements(one))
        if advice:
            said = f"What to improve first in {format_name(name)}"
            blocks.append(Fold(said, (Prose(advice, "list"),)))
    return tuple(blocks)


def tree(shown: Shown) -> Grid:
    """The decision tree: every branch, its limits, and what each system has."""
    heads = _heads("Branch", shown)
    lines = []
    branches = next(iter(shown.systems))[1].recommendation.branches
    for at, branch in enumerate(branches):
        for place, check in enumerate(branch.checks):
            cells = []
            for _, one in shown.systems:
                mine = one.recommendation.branches[at]
                taken = ("taken",) if mine.taken and not place else ()
                cells.append(_check_cell(mine.checks[place], *taken))
            lines.append(
                Line(
                    words(check.metric).full_name,
                    (Cell(asked(check, strict=True)), *cells),
                    group=branch.verdict,
                )
            )
    return Grid(
        "Decision tree",
        "The first branch whose limits are all met is taken. “Unsure” means that the interval "
        "lies on both sides of the limit: more samples may change the verdict.",
        heads,
        tuple(lines),
        "plain",
    )


def levels(shown: Shown) -> Grid:
    """The service levels, requirement by requirement."""
    heads = _heads("Requirement", shown)
    lines = []
    for level in LEVELS:
        first = next(iter(shown.systems))[1].sla.get(level)
        if first is None:
            continue
        mine = [one.sla[level] for _, one in shown.systems]
        verdicts = tuple(verdict_cell(one.passed) for one in mine)
        lines.append(Line(f"all of {level}", (Cell(""), *verdicts), group=level))
        for place, check in enumerate(first.checks):
            cells = tuple(_check_cell(one.checks[place]) for one in mine)
            lines.append(
                Line(words(check.metric).full_name, (Cell(asked(check)), *cells), group=level)
            )
    return Grid("Service levels", "", heads, tuple(lines), "plain")


def _heads(first: str, shown: Shown) -> tuple[Head, ...]:
    names = (first, "asks for", *shown.names)
    return tuple(Head(name, numeric=False) for name in names)


def asked(check: Check, *, strict: bool = False) -> str:
    """The limit of a requirement in words."""
    side = "at least" if check.higher_is_better else "below" if strict else "at most"
    return f"{side} {value_text(check.metric, check.limit)}"


def _check_cell(check: Check, *more: str) -> Cell:
    unsure = () if check.sure or check.value is None else ("unsure",)
    return verdict_cell(check.passed, value_text(check.metric, check.value), *unsure, *more)


def improvements(one: SystemReport) -> Iterator[str]:
    """What to do first, from the errors and failures of a system.

    Rules have neither prompts nor a server: of those without a timed call only the errors are said.
    """
    asked = one.metrics["latency_mean_s"].value is not None
    total = one.errors.total
    kinds = {kind: count for found in one.errors.groups.values() for kind, count in found.items()}
    for kind, count in sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0])):
        if total and count / total >= _OFTEN:
            said = kind.replace("_", " ")
            what = f": {_HELP[kind]}" if asked else ""
            yield f"{said.capitalize()}, {100 * count / total:.0f} % of all errors{what}."
    if one.errors.top:
        first = one.errors.top[0]
        said = first.pattern.replace("_", " ")
        alike = sum(found.count == first.count for found in one.errors.top) > 1
        which = "One of the fields that fail most is" if alike else "The field that fails most is"
        yield f"{which} {first.path} ({said}, {first.count:,} times)."
    yield from _settings(one, asked=asked)


def _settings(one: SystemReport, *, asked: bool) -> Iterator[str]:
    """What the settings of the run could change."""
    ended = one.outcomes
    bad = ended.invalid + ended.unparsable
    if asked and ended.scored and bad / ended.scored > _MANY_INVALID:
        yield (
            f"{bad:,} of {ended.scored:,} replies are no valid instance of their schema: turn on "
            "structured output, or raise the limit of output tokens if replies are cut off."
        )
    metrics = one.metrics
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
        f"{key} ({one.breakdowns['complexity'].groups[key].samples:,} samples)"
        for key, verdict in one.recommendation.by_complexity.items()
        if verdict.startswith("Not recommended") and one.recommendation.verdict != verdict
    ]
    if weak:
        yield f"Use it only for other schemas than {join_list(weak)}, where it is not good enough."
