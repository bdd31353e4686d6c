"""Anchors within a run: the judges' own examination, in a file beside the rows.

What an anchor is says ``eval.skn.judges.anchors``. They are asked like rows, cut off and taken up
like rows, and cost what they cost; so they share the rows' session, and have their own journal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eval.harness.grid import AsyncQuestion
from eval.harness.journal import Journal
from eval.harness.workers import AnsweredRow
from eval.model.calls import current_calls
from eval.result import Usage, round_cost
from eval.skn.judges.anchors import AnchorRow, assign_wrong_answers, judge_anchors
from eval.skn.judges.record import Judges
from eval.skn.running.samples import Sample
from kg.base.errors import RecordError
from kg.base.files import iter_decoded_lines, to_json_bytes

ANCHORS = "anchors.jsonl"

ANCHORED, UNANCHORED = 100, 101
"""Outcome codes, apart from those of rows: whether every judge could be called."""


class AnchorLine(AnchorRow, frozen=True, kw_only=True):
    """One line of ``anchors.jsonl``: what was said, and what it took."""

    usage: Usage | None = None

    @property
    def outcome(self) -> int:
        """Its code."""
        return UNANCHORED if any(one.kind == "call" for one in self.problems) else ANCHORED


def read_anchors(path: Path | str) -> Iterable[AnchorLine]:
    """Yields the anchors of a finished file.

    Raises:
        MissingFileError, RecordError: as named there, with file and line.
    """
    decode = msgspec.json.Decoder(AnchorLine).decode
    return (line for _, line in iter_decoded_lines(path, "anchor file", decode))


class TwoJournals(Journal):
    """The rows' journal, with that of the anchors behind it.

    Places from ``size`` on are the anchors'.

    Args:
        path: the file of rows.
        size: how many rows there are.
        anchors: the anchors' journal; closed by whoever opened it.
    """

    def __init__(self, path: Path, size: int, anchors: Journal) -> None:
        super().__init__(path, size)
        self.anchors = anchors
        self._size = size

    def append(self, position: int, outcome: int, line: bytes) -> None:
        """Adds a row or an anchor, as its place says."""
        if position < self._size:
            super().append(position, outcome, line)
        else:
            self.anchors.append(position - self._size, outcome, line)

    def sort_rows(self) -> None:
        """Puts both files in order."""
        super().sort_rows()
        self.anchors.sort_rows()


class AnchorPlan:
    """One anchor for every answerable sample that is asked.

    Args:
        samples: all of the file.
        judges: who judges.
        has: whether a sample, by its number, has its anchor.
        asked: the samples that are asked, by their number.
        first_place: the place of the first sample's anchor.
        seed: draws which other answers are shown.
        seen: is given outcome code and usage of every anchor that is read.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        judges: Judges,
        has: Callable[[int], bool],
        *,
        asked: Sequence[int],
        first_place: int,
        seed: int,
        seen: Callable[[int, Usage | None], None],
    ) -> None:
        self._samples = samples
        self._judges = judges
        self._has = has
        self._asked = dict.fromkeys(item for item in asked if samples[item].answerable)
        self._first_place = first_place
        # Of all samples, not of those asked alone: a higher limit must not change what was shown.
        self._others = assign_wrong_answers(
            {sample.id: sample.ground_truth for sample in samples if sample.answerable}, seed
        )
        self._numbers = {sample.id: number for number, sample in enumerate(samples)}
        self._seen = seen
        self._decode = msgspec.json.Decoder(AnchorLine).decode

    @property
    def asked(self) -> list[int]:
        """The places of all."""
        return [self._first_place + item for item in self._asked]

    @property
    def missing(self) -> list[int]:
        """The places of those that are not there yet."""
        return [self._first_place + item for item in self._asked if not self._has(item)]

    def question(self, place: int, ready: Callable[[], Awaitable[None]]) -> AsyncQuestion:
        """What is asked for a place, once ``ready`` returns."""
        sample = self._samples[place - self._first_place]
        return AsyncQuestion(place, 0, self._work(sample, ready))

    def _work(
        self, sample: Sample, ready: Callable[[], Awaitable[None]]
    ) -> Callable[[], Coroutine[Any, Any, AnsweredRow]]:
        async def work() -> AnsweredRow:
            await ready()
            said = await judge_anchors(
                self._judges,
                id=sample.id,
                question=sample.question,
                ground_truth=sample.ground_truth,
                wrong_answer=self._others.get(sample.id),
                seed_key=sample.id,
            )
            usage = round_cost(current_calls().sum_usage())
            line = AnchorLine(**msgspec.structs.asdict(said), usage=usage)
            return AnsweredRow(line.outcome, to_json_bytes(line) + b"\n", usage)

        return work

    def parse_row(self, line: bytes, where: str) -> tuple[int, int]:
        """Number of its sample, and outcome code, of a line of this run.

        Raises:
            RecordError: it is no anchor, or of a sample that has none.
        """
        hint = "Nothing was changed. Repair the line, name another --out, or use --overwrite."
        try:
            anchor = self._decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"not an anchor: {error}", where=where, hint=hint) from error
        item = self._numbers.get(anchor.id)
        if item is None or item not in self._asked:
            raise RecordError(f"sample {anchor.id!r} has no anchor here", where=where, hint=hint)
        self._seen(anchor.outcome, anchor.usage)
        return item, anchor.outcome

    def describe_position(self, position: int) -> str:
        """Whose anchor stands at a place."""
        return f"the anchor of sample {self._samples[position].id!r}"
