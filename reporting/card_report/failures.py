"""Chooses the cards on which a system failed, for the table that shows the answers side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from reporting.card_report.card_data import CardAnswer, CardRow
from reporting.outcomes import Outcome, get_outcome_text

_FAILURES: tuple[Outcome, ...] = ("wrong", "held", "none")


class SystemFailures(NamedTuple):
    """How often a system failed, by outcome; outcomes that did not occur are left out."""

    system: str
    counts: tuple[tuple[Outcome, str, int], ...]
    """Outcome, its name and the number of cards."""


def list_failures(rows: Sequence[CardRow]) -> list[int]:
    """Lists the positions of the cards on which a system that is no control is not right.

    False answers on which systems differ come first, then those that all systems share; then the
    other failures in the same order. Within each of the four, cards are in their own order.
    """
    ranks: list[tuple[bool, bool, int]] = []
    for position, row in enumerate(rows):
        answers = list_shown_answers(row)
        if any(answer.outcome != "right" for answer in answers):
            is_false = any(answer.outcome == "wrong" for answer in answers)
            differs = len({answer.pred for answer in answers}) > 1
            ranks.append((not is_false, not differs, position))
    return [position for *_, position in sorted(ranks)]


def list_shown_answers(row: CardRow) -> list[CardAnswer]:
    """Lists the answers of the systems that were asked a card and are no controls."""
    return [answer for answer in row.answers if not answer.control and answer.outcome is not None]


def count_failures(rows: Sequence[CardRow]) -> list[SystemFailures]:
    """Counts the failures of each system that is no control, over all cards, separate sets too."""
    counts: dict[str, Counter[Outcome]] = {}
    for row in rows:
        for answer in list_shown_answers(row):
            if answer.outcome is not None:
                counts.setdefault(answer.system, Counter())[answer.outcome] += 1
    return [
        SystemFailures(
            system,
            tuple(
                (key, get_outcome_text(key).partition(":")[0], found[key])
                for key in _FAILURES
                if found[key]
            ),
        )
        for system, found in counts.items()
    ]
