"""What the paired tests between systems found, in sentences.

A system is only called better where a test on the same samples shows it after Holm's correction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eval.blocks.text_format import format_name
from eval.extraction.blocks.metric_texts import describe_metric, format_value, get_unit
from eval.extraction.blocks.run_data import RunData
from eval.extraction.comparison_record import ExtractionComparison, SampleComparison, WinRate
from kg.base.plain_text import join_list

LOWER_IS_BETTER = ("hallucination_rate", "omission_rate", "latency_s", "cost_usd")
"""Compared metrics of which less is better."""
_MAX_PAIRS = 2

BEST = {
    "highest_eqs": "Highest score",
    "highest_f1_partial": "Highest partial F1",
    "highest_exact_match": "Most exact matches",
    "lowest_hallucination": "Least hallucination",
    "fastest_p95": "Fastest, by p95",
    "best_cost_performance": "Highest score per dollar",
}
"""The specification's list of bests → words."""


def list_metrics(comparison: ExtractionComparison) -> list[str]:
    """Lists the names of the compared metrics that have a value, in order."""
    known = (pair.metric for pair in comparison.pairs if pair.difference is not None)
    return list(dict.fromkeys(known))


def list_pairs(comparison: ExtractionComparison, metric: str) -> list[SampleComparison]:
    """Lists all pairs by one metric."""
    return [pair for pair in comparison.pairs if pair.metric == metric]


def find_best(comparison: ExtractionComparison, metric: str, systems: int) -> str | None:
    """Finds the system that tests show to be better than every other; ``None`` if there is none."""
    beats: dict[str, int] = {}
    for pair in list_pairs(comparison, metric):
        if pair.better is not None:
            beats[pair.better] = beats.get(pair.better, 0) + 1
    return next((name for name, count in beats.items() if count == systems - 1), None)


def find_win_rate(comparison: ExtractionComparison, first: str, second: str) -> WinRate | None:
    """Finds how often the first system beats the second."""
    rates = (
        rate for rate in comparison.win_rates if (rate.candidate, rate.baseline) == (first, second)
    )
    return next(rates, None)


def format_signed_value(metric: str, value: float | None) -> str:
    """Formats a difference in the metric's unit; of percentages, in percentage points."""
    if value is None:
        return format_value(metric, None)
    text = format_value(metric, abs(value))
    if get_unit(metric) == "percent":
        text = f"{text.removesuffix(' %')} points"
    return f"+{text}" if value > 0 else f"−{text}" if value < 0 else text


def describe_differences(run: RunData) -> Iterator[str]:
    """Yields what the tests of the headline found; nothing for one system."""
    if run.comparison is None:
        return
    pairs = [
        pair
        for pair in list_pairs(run.comparison, run.report.headline)
        if pair.difference is not None
    ]
    significant = [pair for pair in pairs if pair.better is not None]
    undecided = [pair for pair in pairs if pair.better is None]
    if significant:
        parts = [_describe_better(pair) for pair in significant[:_MAX_PAIRS]]
        rest = len(significant) - len(parts)
        more = f", and {rest} more such differences" if rest else ""
        yield f"Paired tests on the same samples find {join_list(parts)}{more}."
    if undecided:
        yield _describe_undecided_pairs(undecided, has_findings=bool(significant))


def _describe_better(pair: SampleComparison) -> str:
    worse = pair.baseline if pair.better == pair.candidate else pair.candidate
    size = format_signed_value(pair.metric, abs(pair.difference or 0.0)).lstrip("+")
    return f"{format_name(pair.better or '')} better than {format_name(worse)} by {size}"


def _describe_undecided_pairs(pairs: Sequence[SampleComparison], *, has_findings: bool) -> str:
    """Describes what the tests leave open, and how much they could have missed."""
    metric = _name_metric(pairs[0].metric)
    subject = "They" if has_findings else "Paired tests on the same samples"
    if len(pairs) <= _MAX_PAIRS:
        which = join_list(
            [f"{format_name(pair.candidate)} from {format_name(pair.baseline)}" for pair in pairs]
        )
        text = f"{subject} cannot tell {which} by {metric}"
    else:
        other = " other" if has_findings else ""
        text = f"{subject} tell none of {len(pairs)}{other} pairs apart by {metric}"
    smallest = max(
        (pair.minimum_detectable_effect for pair in pairs if pair.minimum_detectable_effect),
        default=None,
    )
    if smallest is None:
        return f"{text}."
    effect = format_signed_value(pairs[0].metric, min(smallest, 1.0)).lstrip("+")
    return (
        f"{text}; that is no proof that they are alike, since a true difference below "
        f"{effect} may well be missed with so few samples."
    )


def _name_metric(metric: str) -> str:
    """Returns the full name of a metric within a sentence."""
    name = describe_metric(metric).full_name
    return f"{name[0].lower()}{name[1:]}"


def list_guidance(run: RunData) -> tuple[str, ...]:
    """Lists which system is best for what, and the evidence for it."""
    comparison = run.comparison
    if comparison is None:
        return ()
    sentences = []
    scores = {entry.system: entry.worst for entry in comparison.ranking}
    first = comparison.ranking[0]
    leaders = [name for name, score in scores.items() if score == first.worst]
    failed = any(entry.missing for entry in comparison.ranking)
    with_failed = ", if all failed calls count as wrong" if failed else ""
    if first.score is not None and len(leaders) > 1:
        names = join_list([format_name(name) for name in leaders])
        sentences.append(f"For quality alone: {names} share the highest score{with_failed}.")
    elif first.score is not None:
        best = find_best(comparison, run.report.headline, len(run.systems))
        evidence = (
            "and paired tests show it to be better than every other"
            if best == first.system
            else "but the tests do not show it to be better than every other"
        )
        sentences.append(
            f"For quality alone: {format_name(first.system)} has the highest score{with_failed}, "
            f"{evidence}."
        )
    for key, cost in (("accuracy_vs_latency", "latency"), ("accuracy_vs_cost", "cost")):
        front = comparison.frontiers.get(key, ())
        names = join_list([format_name(name) for name in front])
        # Two on a frontier with the same score have the same cost, or one would not be on it.
        distinct = len({scores.get(name) for name in front})
        if len(front) == 1:
            sentences.append(
                f"For score and {cost} together: no other system equals {names} in both."
            )
        elif distinct == 1:
            sentences.append(
                f"For score and {cost} together: {names} are alike in both, and no other equals "
                "them."
            )
        elif front:
            which = "each gives" if distinct == len(front) else "those that are not alike give"
            sentences.append(
                f"For score and {cost} together, the choice is among {names}; {which} up one for "
                "the other."
            )
    least = comparison.best_by_metric.get("lowest_hallucination")
    if least is not None:
        shows = find_best(comparison, "hallucination_rate", len(run.systems)) == least
        evidence = "tests bear it out" if shows else "tests do not bear it out"
        sentences.append(f"For trust: {format_name(least)} hallucinates least; {evidence}.")
    return tuple(sentences)


def get_metric_title(metric: str) -> str:
    """Returns the full name of a compared metric."""
    return describe_metric({"cost_usd": "cost_usd_per_sample"}.get(metric, metric)).full_name
