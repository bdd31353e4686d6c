"""Renders the tables of samples.

One structure feeds the script in the page (as embedded JSON, in which every repeated string occurs
once) and the first rows in the HTML for readers without scripts, so the two cannot differ.
"""

from __future__ import annotations

from typing import Any

from eval.blocks.samples import (
    MAX_TEXT_LENGTH,
    Answer,
    AnyDetail,
    Compared,
    ComparedLine,
    Detail,
    SampleRow,
    Samples,
)
from eval.blocks.text_format import format_name, truncate_text
from reporting.visible_text import StringTable, make_visible

FIRST_ROWS = 10
"""Number of samples in the HTML, for readers without scripts: the first page."""


def list_first_rows(samples: Samples) -> tuple[SampleRow, ...]:
    """Returns the rows in the HTML, fit to be shown."""
    return tuple(map(_make_row_visible, samples.rows[:FIRST_ROWS]))


def list_system_names(samples: Samples) -> tuple[str, ...]:
    """Returns the systems' names for table heads."""
    return tuple(map(format_name, samples.systems))


def build_sample_data(samples: Samples) -> dict[str, Any]:
    """Builds the structure that ``templates/samples.js`` reads.

    A row is ``[id, [facet values], question, truth, [details], [answers]]``; a detail is ``[title,
    form, [items], [tones]]``, or of two sides ``[title, "compared", [heads], [[look, verdict,
    cells…]]]``; an answer is ``[mark, line, [details]]`` or 0. All texts but ids are
    positions in ``strings``, marks positions in ``marks``.
    """
    strings = StringTable()
    marks = {mark.key: number for number, mark in enumerate(samples.marks)}

    def build_detail(detail: AnyDetail) -> list[Any]:
        if isinstance(detail, Compared):
            lines = [
                [line.look, *map(strings.get_index, (line.verdict, *line.cells))]
                for line in detail.lines
            ]
            heads = [*map(strings.get_index, detail.heads)]
            return [strings.get_index(detail.title), "compared", heads, lines]
        return [
            strings.get_index(detail.title),
            detail.form,
            [*map(strings.get_index, detail.items)],
            detail.tones,
        ]

    def build_answer(answer: Answer | None) -> list[Any] | int:
        if answer is None:
            return 0
        line = strings.get_index(answer.line)
        return [marks[answer.mark], line, [*map(build_detail, answer.details)]]

    rows = [
        [
            row.id,
            [*map(strings.get_index, row.facets)],
            strings.get_index(row.question),
            strings.get_index(row.truth),
            [*map(build_detail, row.details)],
            [*map(build_answer, row.answers)],
        ]
        for row in map(_make_row_visible, samples.rows)
    ]
    return {
        "noun": samples.noun,
        "systems": list_system_names(samples),
        "facets": [[name, _list_values(samples, at)] for at, name in enumerate(samples.facets)],
        "marks": [[mark.symbol, mark.name, mark.words, mark.look] for mark in samples.marks],
        "strings": list(strings.indices),
        "rows": rows,
    }


def _list_values(samples: Samples, facet: int) -> list[str]:
    """Returns the values of a facet, in the order in which they occur."""
    return list(dict.fromkeys(_shorten(row.facets[facet]) for row in samples.rows))


def _shorten(text: str) -> str:
    return truncate_text(make_visible(text), MAX_TEXT_LENGTH)


def _make_detail_visible(detail: AnyDetail) -> AnyDetail:
    if isinstance(detail, Compared):
        lines = tuple(
            ComparedLine(_shorten(line.verdict), line.look, tuple(map(_shorten, line.cells)))
            for line in detail.lines
        )
        return Compared(_shorten(detail.title), tuple(map(_shorten, detail.heads)), lines)
    items = tuple(map(_shorten, detail.items))
    return Detail(_shorten(detail.title), items, detail.form, detail.tones)


def _make_answer_visible(answer: Answer | None) -> Answer | None:
    if answer is None:
        return None
    details = tuple(map(_make_detail_visible, answer.details))
    return Answer(answer.mark, _shorten(answer.line), details)


def _make_row_visible(row: SampleRow) -> SampleRow:
    return SampleRow(
        _shorten(row.id),
        tuple(map(_shorten, row.facets)),
        _shorten(row.question),
        _shorten(row.truth),
        tuple(map(_make_detail_visible, row.details)),
        tuple(map(_make_answer_visible, row.answers)),
    )
