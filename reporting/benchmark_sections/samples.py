"""Every sample of a benchmark with what each system made of it, as a table that can be browsed.

One structure feeds the script in the page (as embedded JSON, every repeated string held once) and
the first rows that stand in the HTML for readers without scripts, so the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from reporting.visible_text import StringTable, format_name, make_visible, truncate_text

FIRST_ROWS = 10
"""Samples that stand in the page as HTML, for readers without scripts: the first page."""
TEXT_LIMIT = 6_000
"""Characters shown of one text; the run's own files keep it whole."""

Look = Literal["right", "held", "wrong", "none"]
"""The four marks of the house: their colours, whatever a benchmark calls them."""

ItemTone: TypeAlias = Look | Literal[""]


@dataclass(frozen=True)
class Mark:
    """What one system's answer to one sample amounts to."""

    key: str
    symbol: str
    name: str
    words: str
    look: Look


@dataclass(frozen=True)
class Detail:
    """A titled text or list of texts that is opened when asked for.

    Attributes:
        title: what it is.
        items: a text, or the lines of a list.
        form: ``code`` keeps its spacing.
        tones: per item ``right``, ``wrong`` or nothing; empty where no item has any.
    """

    title: str
    items: tuple[str, ...]
    form: Literal["text", "list", "code"] = "text"
    tones: tuple[ItemTone, ...] = ()


@dataclass(frozen=True)
class ComparedLine:
    """One line of a comparison.

    Attributes:
        verdict: what the comparison came to, a sign before its words.
        look: its colour.
        cells: one for each head.
    """

    verdict: str
    look: Look
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """Two sides next to each other, line by line, each line with a verdict.

    Attributes:
        title: what it is.
        heads: of the verdict, of the lines' names, and of each side.
        lines: in order.
    """

    title: str
    heads: tuple[str, ...]
    lines: tuple[ComparedLine, ...]


AnyDetail: TypeAlias = Detail | Compared


@dataclass(frozen=True)
class Answer:
    """One system's answer to one sample.

    Attributes:
        mark: key of a ``Mark``.
        line: the answer itself or why there is none.
        details: how it came about.
    """

    mark: str
    line: str
    details: tuple[AnyDetail, ...] = ()


@dataclass(frozen=True)
class SampleRow:
    """One sample.

    Attributes:
        id: unique.
        facets: one value for each of the table's facets.
        question: the heading.
        truth: the answer that is right.
        details: what all systems were given.
        answers: one for each system, ``None`` where it was not asked.
    """

    id: str
    facets: tuple[str, ...]
    question: str
    truth: str
    details: tuple[AnyDetail, ...]
    answers: tuple[Answer | None, ...]

    @property
    def characters(self) -> int:
        """About how many a page needs for it, so that one can tell how many rows it can bear."""
        texts = _length(self.details)
        texts += sum(_length(one.details) + len(one.line) for one in self.answers if one)
        return len(self.question) + texts


@dataclass(frozen=True)
class Samples:
    """The whole table.

    Attributes:
        noun: one of them, and several.
        facets: names of what samples can be filtered by; their values stand over the question.
        systems: names in the order of the columns.
        marks: from the best to the worst.
        rows: in the benchmark's order.
        elsewhere: where all rows stand for readers without scripts.
    """

    noun: tuple[str, str]
    facets: tuple[str, ...]
    systems: tuple[str, ...]
    marks: tuple[Mark, ...]
    rows: tuple[SampleRow, ...]
    elsewhere: str

    @property
    def first_rows(self) -> tuple[SampleRow, ...]:
        """Those that stand in the HTML."""
        return tuple(map(_shown_row, self.rows[:FIRST_ROWS]))

    @property
    def shown_systems(self) -> tuple[str, ...]:
        """The systems' names fit for table heads."""
        return tuple(map(format_name, self.systems))

    @property
    def count(self) -> str:
        """How many samples there are, in words."""
        return f"{len(self.rows):,} {self.noun[len(self.rows) != 1]}"

    def mark(self, key: str) -> Mark:
        """The mark with this key."""
        return next(mark for mark in self.marks if mark.key == key)

    def values(self, facet: int) -> list[str]:
        """The values of a facet, in the order in which they occur."""
        return list(dict.fromkeys(_shown(row.facets[facet]) for row in self.rows))


def _length(details: Iterable[AnyDetail]) -> int:
    """Characters of what is opened when asked for."""
    total = 0
    for one in details:
        if isinstance(one, Compared):
            total += sum(len(cell) + 4 for line in one.lines for cell in line.cells)
        else:
            total += sum(min(len(item), TEXT_LIMIT) for item in one.items)
    return total


def _shown(text: str) -> str:
    return truncate_text(make_visible(text), TEXT_LIMIT)


def _shown_detail(detail: AnyDetail) -> AnyDetail:
    if isinstance(detail, Compared):
        return Compared(
            _shown(detail.title),
            tuple(map(_shown, detail.heads)),
            tuple(
                ComparedLine(_shown(one.verdict), one.look, tuple(map(_shown, one.cells)))
                for one in detail.lines
            ),
        )
    return Detail(_shown(detail.title), tuple(map(_shown, detail.items)), detail.form, detail.tones)


def _shown_row(row: SampleRow) -> SampleRow:
    return SampleRow(
        _shown(row.id),
        tuple(map(_shown, row.facets)),
        _shown(row.question),
        _shown(row.truth),
        tuple(map(_shown_detail, row.details)),
        tuple(
            answer
            and Answer(answer.mark, _shown(answer.line), tuple(map(_shown_detail, answer.details)))
            for answer in row.answers
        ),
    )


def sample_data(samples: Samples) -> dict[str, Any]:
    """The structure that ``templates/samples.js`` reads.

    A row is ``[id, [facet values], question, truth, [details], [answers]]``; a detail is ``[title,
    form, [items], [tones]]``, or of two sides ``[title, "compared", [heads], [[look, verdict,
    cells…]]]``; an answer is ``[mark, line, [details]]`` or 0. All texts but ids are
    positions in ``strings``, marks positions in ``marks``.
    """
    strings = StringTable()
    marks = {mark.key: number for number, mark in enumerate(samples.marks)}

    def detail(one: AnyDetail) -> list[Any]:
        if isinstance(one, Compared):
            lines = [
                [line.look, *map(strings.get_index, (line.verdict, *line.cells))]
                for line in one.lines
            ]
            heads = [*map(strings.get_index, one.heads)]
            return [strings.get_index(one.title), "compared", heads, lines]
        return [
            strings.get_index(one.title),
            one.form,
            [*map(strings.get_index, one.items)],
            one.tones,
        ]

    def answer(one: Answer | None) -> list[Any] | int:
        if one is None:
            return 0
        return [marks[one.mark], strings.get_index(one.line), [*map(detail, one.details)]]

    rows = [
        [
            row.id,
            [*map(strings.get_index, row.facets)],
            strings.get_index(row.question),
            strings.get_index(row.truth),
            [*map(detail, row.details)],
            [*map(answer, row.answers)],
        ]
        for row in map(_shown_row, samples.rows)
    ]
    return {
        "noun": samples.noun,
        "systems": samples.shown_systems,
        "facets": [[name, samples.values(at)] for at, name in enumerate(samples.facets)],
        "marks": [[m.symbol, m.name, m.words, m.look] for m in samples.marks],
        "strings": list(strings.indices),
        "rows": rows,
    }
