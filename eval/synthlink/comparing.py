"""Files of predictions on the same questions: differences, their intervals, their tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from eval.stats.intervals import Draws, Resampled, resample_blocks, tidy
from eval.stats.paired import holm
from eval.stats.paired_values import better_of, difference_block, paired_values
from eval.synthlink.measures import MEASURES, Mode
from eval.synthlink.record import Difference, SynthLinkReport
from eval.synthlink.scores import values_of
from kg.base.errors import CardSetMismatchError

ALL: Final = "all"


def compare(reports: Mapping[str, SynthLinkReport]) -> tuple[Difference, ...]:
    """Holds the first of some reports against each other one, question by question.

    Questions that one file does not answer count as 0 there, as everywhere; where a measure is null
    on either side the question is left out of that measure.

    Args:
        reports: by name; all of one catalogue, one set of thresholds and one graph.

    Returns:
        By mode that all have, then other report, then group (all, then the categories), then
        measure. The adjustment for many tests is Holm's. Within a mode, all tests over the whole
        catalogue are one family; those over categories are one family a measure, since the ten
        questions of a category could never stand up to more.

    Raises:
        CardSetMismatchError: the reports are of other questions, or were scored otherwise.
    """
    names = list(reports)
    for name in names[1:]:
        _check(reports[names[0]], reports[name])
    modes: list[Mode] = [
        mode
        for mode in reports[names[0]].modes
        if all(mode in report.modes for report in reports.values())
    ]
    if not modes:
        raise CardSetMismatchError("the reports have no mode in common")
    return tuple(one for mode in modes for one in _of_mode(mode, reports, names))


def _check(first: SynthLinkReport, second: SynthLinkReport) -> None:
    asked = [
        [row.question_id for row in next(iter(report.modes.values())).questions]
        for report in (first, second)
    ]
    if asked[0] != asked[1]:
        raise CardSetMismatchError(
            "the two reports are of other questions",
            hint="Score both files against one catalogue.",
        )
    how = [(report.thresholds, report.graph, report.pages) for report in (first, second)]
    if how[0] != how[1]:
        raise CardSetMismatchError(
            "the two reports were scored with other thresholds, or another graph or corpus",
            hint="Score both files in the same way.",
        )


def _of_mode(
    mode: Mode, reports: Mapping[str, SynthLinkReport], names: Sequence[str]
) -> list[Difference]:
    first = reports[names[0]]
    scores = first.modes[mode]
    draws = Draws(len(scores.questions), first.resamples, first.seed)
    found = [
        one
        for other in names[1:]
        for group in (ALL, *scores.categories)
        for one in _of_group(mode, group, (names[0], other), reports, draws)
    ]
    families: dict[str, list[Difference]] = {}
    for one in found:
        families.setdefault(_family(one), []).append(one)
    judged = {name: iter(_judged(family)) for name, family in families.items()}
    return [next(judged[_family(one)]) for one in found]


def _family(one: Difference) -> str:
    """Tests that are adjusted together have the same."""
    return ALL if one.group == ALL else f"categories by {one.measure}"


def _of_group(
    mode: Mode,
    group: str,
    pair: tuple[str, str],
    reports: Mapping[str, SynthLinkReport],
    draws: Draws,
) -> list[Difference]:
    plan = reports[pair[0]]
    both = [reports[name].modes[mode].questions for name in pair]
    takes_part = np.array([group in (ALL, row.category) for row in both[0]])
    columns = [
        tuple(np.where(takes_part, values_of(rows, measure), np.nan) for rows in both)
        for measure in MEASURES
    ]
    resampled: list[Resampled] = resample_blocks(
        [difference_block(one, other) for one, other in columns], draws
    )
    found = []
    for measure, (one, other), data in zip(MEASURES, columns, resampled, strict=True):
        values = paired_values(
            one,
            other,
            data,
            confidence=plan.confidence,
            seed=plan.seed,
            yes_or_no=False,
            share=True,
        )
        fields = values.fields()
        del fields["discordant"]
        found.append(
            Difference(
                first=pair[0], second=pair[1], mode=mode, group=group, measure=measure, **fields
            )
        )
    return found


def _judged(found: Sequence[Difference]) -> list[Difference]:
    """With the adjusted p of one family of tests, and which file is better if either is."""
    adjusted = holm([one.p for one in found])
    return [
        msgspec.structs.replace(
            one,
            p_holm=None if p is None else tidy(p),
            better=better_of(
                (one.first, one.second), (one.low, one.high), p, higher_is_better=True
            ),
        )
        for one, p in zip(found, adjusted, strict=True)
    ]
