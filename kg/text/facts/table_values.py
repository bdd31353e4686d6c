"""Finds facts in the rows of tables whose header names what each column says.

Two sorts of tables are read:

* A table of one row says something of the section it stands in ("type | default" above "integer |
  601"), if five or more sections have its header, hardly any of them above more rows.
* Other tables say something of the names in their first column, if most of these are identifiers
  and their header is none.

A table at the beginning of a chunk goes on from the chunk before, so its first line is no header.
One at the end of a chunk may go on in the next chunk of its section, so it may have more rows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple

from kg.base.plain_text import list_words
from kg.text.chunks import HEADING_SEPARATOR, Chunk
from kg.text.facts.evidence import SourcePassage, normalise_mention
from kg.text.facts.fact import Fact
from kg.text.facts.topics import IS_A
from kg.text.sections.headings import remove_number
from kg.words.label_grammar import parse_label
from kg.words.normaliser import repair_text

MIN_HEADERS: Final = 5
"""Number of sections that must have a header whose tables have one row."""
MIN_SINGLE_SHARE: Final = Fraction(19, 20)
"""Share of the tables with such a header that have one row."""
MIN_NAMED_SHARE: Final = Fraction(2, 3)
"""Share of the rows of other tables whose first cell is an identifier."""
MAX_LABEL_WORDS: Final = 3
_CELL_BORDER: Final = re.compile(r"[ \t]*\|[ \t]*")
_LABEL: Final = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+)*")
_NO_LABELS: Final = frozenset(
    list_words(
        """comment comments contents description details effect example examples explanation field
        hint home meaning next note notes prev previous purpose reference remark remarks result
        section see summary up usage"""
    )
)
"""Columns of explanations and examples, and links to other sections."""


class Table(NamedTuple):
    """A table with a header; ``lines`` are those of its rows, without the header."""

    header: str
    lines: list[str]
    may_go_on: bool
    """Whether it ends a chunk that others of its section follow, which may have more of it."""

    @property
    def has_one_row(self) -> bool:
        """Whether it says something of its section."""
        return len(self.lines) == 1 and not self.may_go_on

    @property
    def relations(self) -> list[str]:
        """What each column says, see ``word_column``."""
        return [word_column(column) for column in split_cells(self.header)]

    @property
    def kind(self) -> str:
        """What its first column lists."""
        return parse_label(split_cells(self.header)[0]).words

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """The quote and the cells of each row that has as many as the header.

        The quote is the row; below the header, it is both.
        """
        count = len(split_cells(self.header))
        first = f"{self.header}\n{self.lines[0]}"
        quotes = [first, *self.lines[1:]]
        rows = [(quote, split_cells(line)) for quote, line in zip(quotes, self.lines, strict=True)]
        return [(quote, cells) for quote, cells in rows if len(cells) == count]


def split_cells(line: str) -> list[str]:
    """Returns the cells of a row."""
    return _CELL_BORDER.split(line)


def word_column(column: str) -> str:
    """Words a column as a relation: "has the default"; empty if it is no noun or explains."""
    words = column.split()
    if not _LABEL.fullmatch(column) or len(words) > MAX_LABEL_WORDS:
        return ""
    parsed = parse_label(column)
    if parsed.kind != "noun" or not _NO_LABELS.isdisjoint(parsed.words.casefold().split()):
        return ""
    return f"has the {parsed.words}"


def find_tables(chunks: Sequence[Chunk]) -> list[tuple[Chunk, Table]]:
    """Finds the tables of chunks that have a header.

    Chunks of one section overlap: of the copies of a table, the longest is returned.

    Args:
        chunks: the chunks, those of a section in the order of the text.
    """
    found: dict[tuple[str, str, str], tuple[Chunk, Table]] = {}
    section_ids = [str(chunk.metadata.get("section_id")) for chunk in chunks]
    last_chunks = {section_id: number for number, section_id in enumerate(section_ids)}
    for number, (chunk, section_id) in enumerate(zip(chunks, section_ids, strict=True)):
        for table in _iter_tables(chunk.prose, goes_on=number < last_chunks[section_id]):
            key = (section_id, table.header, table.lines[0])
            if key not in found or _measure(table) > _measure(found[key][1]):
                found[key] = (chunk, table)
    return list(found.values())


def _measure(table: Table) -> tuple[int, bool]:
    return len(table.lines), not table.may_go_on


def find_continued_passages(passages: Iterable[SourcePassage]) -> set[str]:
    """Returns the ids of passages that the next goes on from, as far as their titles tell."""
    return {one.id for one, following in pairwise(passages) if one.title == following.title}


def _iter_tables(text: str, *, goes_on: bool) -> Iterator[Table]:
    group: list[str] = []
    lines = text.split("\n")
    for number, line in enumerate([*lines, ""]):
        if "|" in line:
            group.append(line.strip())
            continue
        starts_text = number == len(group)
        if len(group) > 1 and not starts_text and all(map(_is_label, split_cells(group[0]))):
            yield Table(group[0], group[1:], goes_on and number == len(lines))
        group = []


def _is_label(cell: str) -> bool:
    return _LABEL.fullmatch(cell) is not None


def iter_section_rows(
    tables: Sequence[tuple[Chunk, Table]],
) -> Iterator[tuple[Chunk, str, str, str]]:
    """Yields chunk, relation, value and quote of what tables of one row say of their sections."""
    by_header: dict[str, list[tuple[Chunk, Table]]] = defaultdict(list)
    for chunk, table in tables:
        by_header[table.header].append((chunk, table))
    for group in by_header.values():
        single = [(chunk, table) for chunk, table in group if table.has_one_row]
        sections = {str(chunk.metadata.get("section_id")) for chunk, _ in single}
        if len(sections) < MIN_HEADERS or len(single) < MIN_SINGLE_SHARE * len(group):
            continue
        for chunk, table in single:
            for quote, cells in table.rows:
                for relation, value in zip(table.relations, cells, strict=True):
                    if relation:
                        yield chunk, relation, value, quote


def iter_named_rows(
    tables: Sequence[tuple[Chunk, Table]], is_identifier: Callable[[str], bool]
) -> Iterator[tuple[Chunk, str, str, str, str]]:
    """Yields chunk, subject, relation, value and quote of what tables say of identifiers."""
    for chunk, table in tables:
        n_named = sum(is_identifier(cells[0]) for _, cells in table.rows)
        if len(table.lines) < 2 or n_named < MIN_NAMED_SHARE * len(table.lines):
            continue
        for quote, (name, *cells) in table.rows:
            if not is_identifier(name):
                continue
            yield chunk, name, IS_A, table.kind, quote
            # The last cell before a cut may go on, too.
            n_whole = len(cells) - (table.may_go_on and quote == table.lines[-1])
            for relation, value in zip(table.relations[1:], cells[:n_whole], strict=False):
                if relation:
                    yield chunk, name, relation, value, quote


def quote_row(fact: Fact, passage: SourcePassage, *, goes_on: bool) -> str:
    """Returns the row of a table that states a fact, as the fact quotes it; else an empty text.

    A row says something of its first cell, the only row of a table also of its section.

    Args:
        fact: the fact.
        passage: the passage it is from, whose title ends in the heading of its section.
        goes_on: whether the section goes on in the next passage.
    """
    if "|" not in fact.quote:
        return ""
    quoted = repair_text(fact.quote)
    heading = remove_number(passage.title.rsplit(HEADING_SEPARATOR, 1)[-1])
    pair = (fact.relation, normalise_mention(fact.object))
    for table in _iter_tables(passage.text, goes_on=goes_on):
        for quote, cells in table.rows:
            if repair_text(quote) != quoted:
                continue
            stated = list(zip(table.relations, map(normalise_mention, cells), strict=True))
            if table.has_one_row and fact.subject == heading and pair in stated:
                return quoted
            stated.append((IS_A, normalise_mention(table.kind)))
            if fact.subject == cells[0] and pair in stated:
                return quoted
    return ""
