"""Writes the report's summary from the metrics.

A difference between systems is stated only if the paired test on the same cards found one after
Holm's correction; if it found none, that is stated too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from eval.abstention.metrics.definitions import HEADLINE_METRICS, SKILL, choose_ranking_metric
from eval.abstention.metrics.record import CardComparison, MetricsReport, PolicyReport, SystemReport
from eval.blocks.glossary import RANKING_NAMES, describe_metric
from eval.blocks.text_format import (
    format_name,
    format_number,
    format_percent,
    format_points,
    spell_count,
)
from kg.base.plain_text import join_list
from reporting.card_report.report_view import choose_main_policy

_LABEL_NAMES = {"E": "entailed", "C": "contradictory", "U": "unknown"}
_MAX_NAMED_SYSTEMS = 6


class Summary(NamedTuple):
    """The summary of a report."""

    verdict: list[str]
    """How skilled each system is, and which differences paired tests found."""
    details: list[str]
    """What was asked, and how the systems answered."""

    @property
    def sentences(self) -> list[str]:
        """All sentences."""
        return [*self.verdict, *self.details]


def summarise_results(report: MetricsReport, systems: Sequence[str]) -> Summary:
    """Summarises a report in sentences.

    Args:
        report: the metrics.
        systems: names of the systems that are not controls, in the order of the tables.
    """
    policy = report.policies[choose_main_policy(report)]
    entries = [(name, policy.systems[name]) for name in systems if name in policy.systems]
    cards = [_describe_cards(report, len(entries)), *_describe_mined_cards(report)]
    if not entries:
        return Summary(cards, [])
    licensed = [c for c in report.comparisons if c.policy == "licensed"]
    ranking = choose_ranking_metric({c.metric for c in licensed})
    differences = compare_neighbours(
        [c for c in licensed if c.metric == ranking], [name for name, _ in entries]
    )
    accuracy = _describe_accuracy(entries)
    false_answers = _describe_false_answers(entries)
    if skills := _describe_skill(entries):
        return Summary([*skills, *differences], [*cards, *accuracy, *false_answers])
    return Summary([*accuracy, *differences], [*cards, *false_answers])


def list_caveats(report: MetricsReport) -> list[str]:
    """Returns warnings about the headline metrics: those on which a control does best."""
    return _describe_control_wins(report.policies[choose_main_policy(report)])


def _describe_cards(report: MetricsReport, count: int) -> str:
    labels = join_list(
        [
            f"{report.label_counts[label]:,} {name}"
            for label, name in _LABEL_NAMES.items()
            if report.label_counts.get(label)
        ]
    )
    return f"{spell_system_count(count)} answered {report.n_cards:,} cards: {labels}."


def _describe_mined_cards(report: MetricsReport) -> list[str]:
    if report.n_mined_left_out is not None:
        noun = (
            "contradictory card is" if report.n_mined_left_out == 1 else "contradictory cards are"
        )
        return [
            f"{report.n_mined_left_out:,} {noun} left out, because only rules found in the data "
            "make them contradictory."
        ]
    if not report.n_mined:
        return []
    return [
        f"Of the contradictory cards, {report.n_mined:,} {'is' if report.n_mined == 1 else 'are'} "
        "so only by rules that were found in the data and that their publisher does not state."
    ]


def spell_system_count(systems: int) -> str:
    """Writes a number of systems for the start of a sentence, as in ``Three systems``."""
    return f"{spell_count(systems)} {'system' if systems == 1 else 'systems'}"


def _describe_skill(systems: Sequence[tuple[str, SystemReport]]) -> list[str]:
    parts = []
    for name, system in systems[:_MAX_NAMED_SYSTEMS]:
        value = system.metrics.get(SKILL)
        if value is None or value.value is None:
            continue
        text = f"{format_name(name)} {format_number(value.value)}"
        if value.low is not None and value.high is not None:
            text += f" ({format_number(value.low)} to {format_number(value.high)})"
        parts.append(text)
    if not parts:
        return []
    return [
        "How well each knows when not to answer (skill@.5; 1 is perfect, always answering UNKNOWN "
        f"scores 0): {join_list(parts)}."
    ]


def _describe_accuracy(systems: Sequence[tuple[str, SystemReport]]) -> list[str]:
    accuracies = [
        (name, value.value, system.oracle)
        for name, system in systems
        if (value := system.metrics.get("accuracy")) and value.value is not None
    ]
    if not accuracies:
        return []
    parts = [
        f"{format_name(name)} on {format_percent(value)}"
        + (" (it is shown the claim itself)" if oracle else "")
        for name, value, oracle in accuracies[:_MAX_NAMED_SYSTEMS]
    ]
    text = f"The gold answer was given by {join_list(parts)}"
    n_others = len(accuracies) - len(parts)
    if n_others:
        text += "; the other system is" if n_others == 1 else f"; the other {n_others} systems are"
        text += " in the table"
    return [f"{text}."]


def _describe_false_answers(systems: Sequence[tuple[str, SystemReport]]) -> list[str]:
    shares, names_without = [], []
    for name, system in systems[:_MAX_NAMED_SYSTEMS]:
        rate = system.metrics.get("FAR-NE")
        if rate is None or rate.value is None:
            continue
        if rate.value == 0:
            names_without.append(format_name(name))
            continue
        text = f"{format_name(name)} to {format_percent(rate.value)}"
        if rate.low is not None and rate.high is not None:
            text += (
                f" ({format_percent(rate.low).removesuffix(' %')} to {format_percent(rate.high)})"
            )
        shares.append(text)
    false_answer = "a false answer (YES to a contradiction, YES or NO to the unknown)"
    if not shares:
        # Only the first six systems were checked, so "None" would be too general.
        subject = "None" if len(systems) <= _MAX_NAMED_SYSTEMS else "None of these"
        return [f"{subject} gave {false_answer}."] if names_without else []
    subject = false_answer[0].upper() + false_answer[1:]
    sentence = f"{subject} was given by {join_list(shares)} of those cards"
    return [
        f"{sentence}; {join_list(names_without)} gave none." if names_without else f"{sentence}."
    ]


def compare_neighbours(comparisons: Sequence[CardComparison], ranked: Sequence[str]) -> list[str]:
    """Compares neighbours in a ranking by the paired tests on the metric of it, in sentences.

    Args:
        comparisons: comparisons on one metric under one policy.
        ranked: names of systems, in descending order of that metric.
    """
    pairs = {frozenset((c.candidate, c.baseline)): c for c in comparisons}
    noun = RANKING_NAMES[comparisons[0].metric] if comparisons else ""
    difference_texts, undecided_texts = [], []
    for first, second in pairwise(ranked[: _MAX_NAMED_SYSTEMS + 1]):
        pair = pairs.get(frozenset((first, second)))
        if pair is not None and pair.better is not None:
            difference_texts.append(describe_difference(pair))
        elif pair is not None and pair.p is not None:
            undecided_texts.append(f"between {format_name(first)} and {format_name(second)}")
    sentences = []
    if difference_texts:
        sentences.append(f"Paired tests on the same cards find {join_list(difference_texts)}.")
    if undecided_texts:
        start = "They" if difference_texts else "Paired tests on the same cards"
        sentences.append(f"{start} find no difference in {noun} {join_list(undecided_texts)}.")
    return sentences


def describe_difference(pair: CardComparison) -> str:
    """Describes a significant difference: which system is better, and by how much."""
    worse = pair.baseline if pair.better == pair.candidate else pair.candidate
    better = pair.candidate if worse == pair.baseline else pair.baseline
    if pair.metric == SKILL:
        size = _describe_size(pair)
        return f"more skill in {format_name(better)} than in {format_name(worse)}{size}"
    size = format_points(pair.difference, pair.low, pair.high)
    return f"{format_name(better)} more accurate than {format_name(worse)}{size}"


def _describe_size(pair: CardComparison) -> str:
    """Describes the size of a difference on a metric that is no share, such as `` (by 0.2)``."""
    if pair.difference is None or pair.low is None or pair.high is None:
        return ""
    low, high = sorted((abs(pair.low), abs(pair.high)))
    return (
        f" (by {format_number(abs(pair.difference))}, interval {format_number(low)} to "
        f"{format_number(high)})"
    )


def _describe_control_wins(policy: PolicyReport) -> list[str]:
    wins = [win for win in policy.won_by_controls if win.won and win.metric in HEADLINE_METRICS]
    if not wins:
        return []
    parts = [
        f"{describe_metric(win.metric).short_name} ({join_list(win.controls)})" for win in wins
    ]
    return [
        f"A trivial baseline matches or beats every system on {join_list(parts)}: "
        f"read {'that metric' if len(wins) == 1 else 'those metrics'} only together with the "
        "others."
    ]
