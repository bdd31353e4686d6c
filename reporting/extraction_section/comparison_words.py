"""What the paired tests between systems found, in sentences.

A system is only called better where a test on the same samples said so after Holm's correction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eval.extraction.comparison_record import ExtractionComparison, SampleComparison, WinRate
from kg.words.plain_text import join_list
from reporting.extraction_section.metric_words import unit, value_text, words
from reporting.extraction_section.shown import Shown
from reporting.visible_text import format_name

SCORE = "extraction_quality_score"
LOWER = ("hallucination_rate", "omission_rate", "latency_s", "cost_usd")
"""Compared metrics of which less is better."""
NAMED_AT_MOST = 2

BEST = {
    "highest_eqs": "Highest score",
    "highest_f1_partial": "Highest partial F1",
    "highest_exact_match": "Most exact matches",
    "lowest_hallucination": "Least hallucination",
    "fastest_p95": "Fastest, by p95",
    "best_cost_performance": "Most score for a dollar",
}
"""The specification's list of bests → words."""


def metrics_of(compared: ExtractionComparison) -> list[str]:
    """Names of the compared metrics that have a value, in order."""
    known = (one.metric for one in compared.pairs if one.difference is not None)
    return list(dict.fromkeys(known))


def pairs_of(compared: ExtractionComparison, metric: str) -> list[SampleComparison]:
    """All pairs by one metric."""
    return [one for one in compared.pairs if one.metric == metric]


def best_of(compared: ExtractionComparison, metric: str, systems: int) -> str | None:
    """The system that tests show to be better than every other; null where there is none."""
    beats: dict[str, int] = {}
    for one in pairs_of(compared, metric):
        if one.better is not None:
            beats[one.better] = beats.get(one.better, 0) + 1
    return next((name for name, count in beats.items() if count == systems - 1), None)


def wins_of(compared: ExtractionComparison, first: str, second: str) -> WinRate | None:
    """How often the first beats the second."""
    found = (one for one in compared.win_rates if (one.candidate, one.baseline) == (first, second))
    return next(found, None)


def signed_value(metric: str, value: float | None) -> str:
    """A difference in the metric's own unit; points of percent for shares written in percent."""
    if value is None:
        return value_text(metric, None)
    text = value_text(metric, abs(value))
    if unit(metric) == "percent":
        text = f"{text.removesuffix(' %')} points"
    return f"+{text}" if value > 0 else f"−{text}" if value < 0 else text


def differences(shown: Shown) -> Iterator[str]:
    """What the tests of the score found; nothing where there is one system."""
    if shown.comparison is None:
        return
    pairs = [one for one in pairs_of(shown.comparison, SCORE) if one.difference is not None]
    found = [one for one in pairs if one.better is not None]
    open_ = [one for one in pairs if one.better is None]
    if found:
        parts = [_better(one) for one in found[:NAMED_AT_MOST]]
        rest = len(found) - len(parts)
        more = f", and {rest} more such differences" if rest else ""
        yield f"Paired tests on the same samples find {join_list(parts)}{more}."
    if open_:
        yield _cannot_tell(open_, some=bool(found))


def _better(one: SampleComparison) -> str:
    worse = one.baseline if one.better == one.candidate else one.candidate
    size = signed_value(one.metric, abs(one.difference or 0.0)).lstrip("+")
    return f"{format_name(one.better or '')} better than {format_name(worse)} by {size}"


def _cannot_tell(pairs: Sequence[SampleComparison], *, some: bool) -> str:
    """What the tests leave open, and how much they could have missed."""
    subject = "They" if some else "Paired tests on the same samples"
    if len(pairs) <= NAMED_AT_MOST:
        which = join_list(
            [f"{format_name(one.candidate)} from {format_name(one.baseline)}" for one in pairs]
        )
        text = f"{subject} cannot tell {which} by score"
    else:
        text = f"{subject} tell none of {len(pairs)}{' other' if some else ''} pairs apart by score"
    smallest = max(
        (one.minimum_detectable_effect for one in pairs if one.minimum_detectable_effect),
        default=None,
    )
    if smallest is None:
        return f"{text}."
    return (
        f"{text}; that is no proof that they are alike, since a true difference below "
        f"{value_text(SCORE, min(smallest, 1.0))} may well be missed with so few samples."
    )


def guidance(shown: Shown) -> tuple[str, ...]:
    """Which system for what, and what the choice rests on."""
    compared = shown.comparison
    if compared is None:
        return ()
    said = []
    scores = {one.system: one.score for one in compared.ranking}
    first = compared.ranking[0]
    level = [name for name, score in scores.items() if score == first.score]
    if first.score is not None and len(level) > 1:
        names = join_list([format_name(name) for name in level])
        said.append(f"For quality alone: {names} share the highest score.")
    elif first.score is not None:
        best = best_of(compared, SCORE, len(shown.systems))
        sure = (
            "and paired tests show it to be better than every other"
            if best == first.system
            else "but the tests do not show it to be better than every other"
        )
        said.append(
            f"For quality alone: {format_name(first.system)} has the highest score, {sure}."
        )
    for key, cost in (("accuracy_vs_latency", "latency"), ("accuracy_vs_cost", "cost")):
        front = compared.frontiers.get(key, ())
        names = join_list([format_name(name) for name in front])
        # Two on a frontier with the same score have the same cost, or one would not be on it.
        distinct = len({scores.get(name) for name in front})
        if len(front) == 1:
            said.append(f"For score and {cost} together: no other system equals {names} in both.")
        elif distinct == 1:
            said.append(
                f"For score and {cost} together: {names} are alike in both, and no other equals "
                "them."
            )
        elif front:
            which = "each gives" if distinct == len(front) else "those that are not alike give"
            said.append(
                f"For score and {cost} together, the choice is among {names}; {which} up one for "
                "the other."
            )
    least = compared.best_by_metric.get("lowest_hallucination")
    if least is not None:
        shows = best_of(compared, "hallucination_rate", len(shown.systems)) == least
        sure = "tests bear it out" if shows else "tests do not bear it out"
        said.append(f"For trust: {format_name(least)} hallucinates least; {sure}.")
    return tuple(said)


def metric_title(metric: str) -> str:
    """A compared metric's name."""
    return words({"cost_usd": "cost_usd_per_sample"}.get(metric, metric)).full_name
