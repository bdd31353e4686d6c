"""Two files of predictions on the same questions: differences, their intervals, their tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec
import numpy as np

from eval.stats.intervals import Draws, Resampled, resample_blocks
from eval.stats.paired import holm
from eval.stats.paired_values import better_of, difference_block, paired_values
from eval.synthlink.record import MEASURES, Difference, Mode, ModeScores, SynthLinkReport
from eval.synthlink.scores import values_of
from kg.base.errors import CardSetMismatchError

ALL: Final = "all"


def compare(first: SynthLinkReport, second: SynthLinkReport) -> tuple[Difference, ...]:
    """Holds two reports against each other, question by question.

    Questions that one file does not answer count as 0 there, as everywhere; where a measure is null
    on either side the question is left out of that measure.

    Args:
        first: of one file.
        second: of the other, of the same catalogue, thresholds and graph.

    Returns:
        By mode that both have, then group (all, then the categories), then measure. The adjustment
        for many tests is Holm's: over the measures of all questions, and over measures and
        categories together.

    Raises:
        CardSetMismatchError: the reports are of other questions, or were scored otherwise.
    """
    modes: list[Mode] = [mode for mode in first.modes if mode in second.modes]
    if not modes:
        raise CardSetMismatchError("the two reports have no mode in common")
    if (first.thresholds, first.graph) != (second.thresholds, second.graph):
        raise CardSetMismatchError(
            "the two reports were scored with other thresholds or another graph",
            hint="Score both files in the same way.",
        )
    found: list[Difference] = []
    for mode in modes:
        one, other = first.modes[mode], second.modes[mode]
        if [row.question_id for row in one.questions] != [
            row.question_id for row in other.questions
        ]:
            raise CardSetMismatchError(
                "the two reports are of other questions",
                hint="Score both files against one catalogue.",
            )
        found += _of_mode(mode, one, other, first)
    return tuple(found)


def _of_mode(
    mode: Mode, first: ModeScores, second: ModeScores, plan: SynthLinkReport
) -> list[Difference]:
    draws = Draws(len(first.questions), plan.resamples, plan.seed)
    whole = _of_group(mode, ALL, first, second, plan, draws)
    parts = [
        one
        for category in first.categories
        for one in _of_group(mode, category, first, second, plan, draws)
    ]
    return _judged(whole) + _judged(parts)


def _of_group(
    mode: Mode,
    group: str,
    first: ModeScores,
    second: ModeScores,
    plan: SynthLinkReport,
    draws: Draws,
) -> list[Difference]:
    takes_part = np.array([group in (ALL, row.category) for row in first.questions])
    columns = [
        tuple(
            np.where(takes_part, values_of(scores.questions, measure), np.nan)
            for scores in (first, second)
        )
        for measure in MEASURES
    ]
    resampled: list[Resampled] = resample_blocks(
        [difference_block(one, other) for one, other in columns], draws
    )
    found = []
    for measure, (one, other), data in zip(MEASURES, columns, resampled, strict=True):
        pair = paired_values(
            one,
            other,
            data,
            confidence=plan.confidence,
            seed=plan.seed,
            yes_or_no=False,
            share=True,
        )
        fields = pair.fields()
        del fields["discordant"]
        found.append(Difference(mode=mode, group=group, measure=measure, **fields))
    return found


def _judged(found: Sequence[Difference]) -> list[Difference]:
    """With the adjusted p of one family of tests, and which file is better if either is."""
    adjusted = holm([one.p for one in found])
    return [
        msgspec.structs.replace(one, p_holm=p, better=_better(one, p))
        for one, p in zip(found, adjusted, strict=True)
    ]


def _better(one: Difference, p: float | None) -> Literal["first", "second"] | None:
    name = better_of(("first", "second"), (one.low, one.high), p, higher_is_better=True)
    return "first" if name == "first" else "second" if name == "second" else None
