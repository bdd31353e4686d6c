"""Numbers the repeats of predictions from 0, however their files number them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from eval.harness.predictions.reader import MAX_REPEATS, Predictions
from kg.base.errors import RecordError


def renumber_repeats(predictions: Mapping[str, Predictions]) -> dict[str, Predictions]:
    """Numbers the repeats of all files together 0 … k-1, in the order of the files' numbers.

    Tools number repeats from 0, from 1 or by their seeds. There are as many repeats as different
    numbers; a file that lacks one of them lacks that repeat.

    Args:
        predictions: the predictions of each system.

    Raises:
        RecordError: there are more than ``MAX_REPEATS`` different numbers.
    """
    given = sorted({reply.repeat for read in predictions.values() for reply in read.replies})
    if len(given) > MAX_REPEATS:
        raise RecordError(
            f"the predictions have {len(given):,} repeats, more than {MAX_REPEATS:,}",
            where=f"repeats {given[0]}, {given[1]}, …",
            hint="Map `repeat` to the field that numbers the repeats.",
        )
    numbers = {repeat: number for number, repeat in enumerate(given)}
    if all(repeat == number for repeat, number in numbers.items()):
        return dict(predictions)
    return {
        name: replace(
            read,
            replies=tuple(
                msgspec.structs.replace(reply, repeat=numbers[reply.repeat])
                for reply in read.replies
            ),
            renumbered={
                repeat: numbers[repeat]
                for repeat in sorted({reply.repeat for reply in read.replies})
                if repeat != numbers[repeat]
            },
        )
        for name, read in predictions.items()
    }


def count_repeats(predictions: Mapping[str, Predictions]) -> int:
    """Returns the number of repeats of predictions whose repeats are numbered from 0."""
    return 1 + max(reply.repeat for read in predictions.values() for reply in read.replies)
