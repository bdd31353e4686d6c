"""Says in words whether systems read what they are shown, or answer from memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cards.generation.kinds import COUNTERFACTUAL, WITHHELD
from eval.abstention.metrics.groups import (
    MEMORY_MARGIN,
    OTHERS,
    TRUE_IN_GRAPH,
    shows_reading,
)
from eval.abstention.metrics.record import GroupReport, MemoryFinding, MemoryTests, SystemReport
from eval.blocks.text_format import (
    ChartEstimate,
    format_p_value,
    format_percent,
    to_chart_estimate,
)
from kg.base.plain_text import format_count, join_first, join_list

MAX_NAMED_SYSTEMS = 3
FINDINGS: dict[MemoryFinding, str] = {
    "memory": "remembers, or guesses",
    "none": f"less than {100 * MEMORY_MARGIN:g} points",
    "unclear": "cannot tell",
}
"""What the tests of a system found, in two or three words."""


class _Tested(NamedTuple):
    """A system with claims that were set aside."""

    name: str
    difference: ChartEstimate
    true: GroupReport
    others: GroupReport
    tests: MemoryTests | None
    reads: bool

    @property
    def finding(self) -> MemoryFinding:
        """What the tests found; without tests, as in records of earlier versions, nothing."""
        return "unclear" if self.tests is None else self.tests.finding


def describe_memory(systems: Mapping[str, SystemReport]) -> str:
    """Says of which systems tests find memory, which they clear of it, and what they cannot tell.

    Args:
        systems: the competing systems in their order, by the names that are shown.
    """
    tested = [
        _Tested(
            name,
            to_chart_estimate(system.memory),
            system.set_aside[TRUE_IN_GRAPH],
            system.set_aside[OTHERS],
            system.memory_tests,
            shows_reading(system),
        )
        for name, system in systems.items()
        if system.memory is not None
    ]
    sentences = [
        *_describe_none([item for item in tested if item.finding == "none"]),
        *_describe_memory([item for item in tested if item.finding == "memory"]),
        *_describe_unclear([item for item in tested if item.finding == "unclear" and item.reads]),
        *_describe_no_reading(
            [item for item in tested if item.finding == "unclear" and not item.reads]
        ),
    ]
    kinds = (COUNTERFACTUAL, WITHHELD) if tested else (COUNTERFACTUAL,)
    if not tested:
        sentences += _describe_withheld(systems)
    sentences += _describe_faithfulness(systems, kinds)
    return " ".join(sentences) or "Not measured: no true claims were kept from the systems."


def _describe_none(tested: Sequence[_Tested]) -> list[str]:
    if not tested:
        return []
    first = tested[0]
    margin = MEMORY_MARGIN if first.tests is None else first.tests.margin
    return [
        f"No sign of memory in {_join_names(tested)}: {first.true.n_cards:,} true claims kept from "
        f"the systems get YES less than {100 * margin:g} percentage points more often than "
        f"{first.others.n_cards:,} other unknown ones."
    ]


def _describe_memory(tested: Sequence[_Tested]) -> list[str]:
    sentences = [
        f"{item.name} remembers, or guesses from related facts: YES to {_format_yes(item.true)} of "
        f"{item.true.n_cards:,} true claims kept from it, and to {_format_yes(item.others)} of "
        f"{item.others.n_cards:,} other unknown ones (difference {item.difference.interval_text})."
        for item in tested[:MAX_NAMED_SYSTEMS]
    ]
    if len(tested) > MAX_NAMED_SYSTEMS:
        sentences.append(f"So do {len(tested) - MAX_NAMED_SYSTEMS} more.")
    return sentences


def _describe_unclear(tested: Sequence[_Tested]) -> list[str]:
    if not tested:
        return []
    first = tested[0]
    text = (
        f"Cannot tell for {_join_names(tested)}, with "
        f"{format_count(first.true.n_cards, 'true claim')} kept from the systems and "
        f"{first.others.n_cards:,} other unknown ones"
    )
    highs = [item.difference.high for item in tested if item.difference.high is not None]
    if highs:
        text += (
            ": the claims kept from them may get YES up to "
            f"{100 * max(0.0, *highs):.0f} percentage points more often"
        )
    rows = [item.true.table.get("U", {}) for item in tested]
    if any(row.get("INVALID") or row.get("ERROR") for row in rows):
        text += ", and failed or unreadable replies may hide more"
    return [f"{text}."]


def _describe_no_reading(tested: Sequence[_Tested]) -> list[str]:
    """Does not clear systems that affirm no kept claims because they ignore the facts."""
    if not tested:
        return []
    says, answers = ("it is", "answers") if len(tested) == 1 else ("they are", "answer")
    return [
        f"Cannot tell for {_join_names(tested)}: {says} not shown to say YES more often where "
        f"facts support it, or {answers} against the facts on the card."
    ]


def _describe_withheld(systems: Mapping[str, SystemReport]) -> list[str]:
    """Without claims set aside, cards whose answer was withheld show it, if there are any."""
    parts = [
        f"{name} says YES on {_format_yes(group)} of {group.n_cards:,} cards"
        for name, system in list(systems.items())[:MAX_NAMED_SYSTEMS]
        if (group := system.faithfulness.get(WITHHELD)) is not None
    ]
    if not parts:
        return []
    return [
        f"{join_list(parts)} from which the fact that answers them was removed: remembered, or "
        "guessed."
    ]


def _describe_faithfulness(systems: Mapping[str, SystemReport], kinds: Sequence[str]) -> list[str]:
    """Says how often systems answer as the card says, where memory would answer otherwise."""
    words = {
        COUNTERFACTUAL: "{} cards whose facts contradict the graph",
        WITHHELD: "{} whose answering fact was removed",
    }
    parts = []
    for kind in kinds:
        groups = {
            name: group
            for name, system in list(systems.items())[:MAX_NAMED_SYSTEMS]
            if (group := system.faithfulness.get(kind)) is not None and "accuracy" in group.metrics
        }
        if groups:
            n_cards = max(group.n_cards for group in groups.values())
            shares = [
                f"{name} {format_percent(to_chart_estimate(group.metrics['accuracy']).value)}"
                for name, group in groups.items()
            ]
            parts.append(f"of {words[kind].format(f'{n_cards:,}')}, {join_list(shares)}")
    if not parts:
        return []
    return [f"Right by the card where memory and graph are wrong: {'; '.join(parts)}."]


def describe_finding(tests: MemoryTests | None) -> tuple[str, str]:
    """Returns what the tests of a system found, and the adjusted p-value of that finding."""
    if tests is None:
        return "–", ""
    p_value = tests.p_margin_holm if tests.finding == "none" else tests.p_holm
    text = format_p_value(p_value)
    return FINDINGS[tests.finding], f"p {text}" if text.startswith("<") else f"p = {text}"


def _join_names(tested: Sequence[_Tested]) -> str:
    return join_first([item.name for item in tested], MAX_NAMED_SYSTEMS)


def _format_yes(group: GroupReport) -> str:
    return format_percent(to_chart_estimate(group.metrics.get("yes_rate")).value)
