"""Reads and writes the catalogue's public layout: a Markdown file per category with one table.

A file has one first-level heading, one paragraph and one pipe table of five columns. The text of
cells (curly quotes, dashes, ``*italics*``, ``#MeToo``, "U.S.") is kept unchanged.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Final

from eval.synthlink.items import CATEGORIES, ID, Question, Source, Step

HEADINGS: Final = (
    "Question ID",
    "Question Text",
    "Expected Answer Summary",
    "Traceable Sources",
    "Reasoning Steps",
)
_TITLE_PREFIX: Final = "SynthLink60 Catalog: "
_TOPICS_PREFIX: Final = "Topics:"
# A cell of the row of dashes under the table's header, with or without alignment colons.
_RULE_CELL = re.compile(r":?-+:?")
# A pipe that separates cells; an escaped one is part of a cell.
_PIPE = re.compile(r"(?<!\\)\|")
# Used instead of ``splitlines``, which also splits at characters that word processors leave in a
# cell (U+2028, U+000B).
_LINE_END = re.compile(r"\r\n?|\n")
# The number of a step: "1. " at the start of the cell or after a space.
_STEP_NUMBER = re.compile(r"(?:^|(?<=\s))(\d{1,2})\. ")
# A comma without a space after it is part of a title ("1,001 Nights").
_TOPIC_SEPARATOR = re.compile(r",\s+")
# A link to a page, [title](<address>), with brackets and backslashes of the title escaped.
_LINK = re.compile(r"\[(?P<title>(?:[^\[\]\\]|\\.)*)\]\(<(?P<url>[^<>\s]*)>\)")


class LayoutError(ValueError):
    """A file does not have the catalogue's layout.

    Args:
        message: what is wrong, in one clause.
        line: line number, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def read_category(text: str) -> list[tuple[int, Question]]:
    """Reads the questions of one category file, each with its line number, from 1.

    Raises:
        LayoutError: the file does not have exactly one heading and one table of five columns, or a
            row is not a question.
    """
    lines = _LINE_END.split(text.removeprefix("\ufeff").removesuffix("\n"))
    titles = [number for number, line in enumerate(lines, 1) if re.match(r"# +\S", line)]
    if len(titles) != 1:
        faulty_line = titles[1] if titles else 1
        raise LayoutError(f"{len(titles)} first-level headings, not one", faulty_line)
    rows = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.startswith("|")]
    if len(rows) < 2:
        raise LayoutError("no table of questions", len(lines) or 1)
    for (previous, _), (number, _) in itertools.pairwise(rows):
        if number != previous + 1:
            raise LayoutError("a second table", number)
    (header_line, header), (dashes_line, dashes) = rows[:2]
    if tuple(_split_cells(header, header_line)) != HEADINGS:
        raise LayoutError(f"the table's columns are not {', '.join(HEADINGS)}", header_line)
    if not all(_RULE_CELL.fullmatch(cell) for cell in _split_cells(dashes, dashes_line)):
        raise LayoutError("no row of dashes under the table's header", dashes_line)
    return [
        (number, _parse_question(_split_cells(row, number), number)) for number, row in rows[2:]
    ]


def _split_cells(row: str, line: int) -> list[str]:
    if not row.endswith("|") or row.endswith("\\|") or len(row) < 2:
        raise LayoutError("a row of the table does not end in a pipe", line)
    cells = [cell.strip().replace("\\|", "|") for cell in _PIPE.split(row[1:-1])]
    if len(cells) != len(HEADINGS):
        raise LayoutError(f"a row has {len(cells)} columns, not {len(HEADINGS)}", line)
    return cells


def _parse_question(cells: Sequence[str], line: int) -> Question:
    name, question, answer, sources, steps = cells
    if not ID.fullmatch(name):
        raise LayoutError(f"{name[:40]!r} is not an id such as HIA-01", line)
    if not question or not answer:
        raise LayoutError(f"{name} has no {'answer' if question else 'question'}", line)
    return Question(
        id=name,
        category=name[:3],
        question=question,
        answer=answer,
        sources=_parse_sources(sources, name, line),
        steps=_parse_steps(steps, name, line),
    )


def _parse_sources(cell: str, question_id: str, line: int) -> tuple[Source, ...]:
    """Parses the sources in a cell: topics, each of which is a title or a link to a page."""
    if not cell.startswith(_TOPICS_PREFIX):
        raise LayoutError(
            f"the sources of {question_id} do not begin with {_TOPICS_PREFIX!r}", line
        )
    links: list[Source] = []

    # Links may contain commas, so they are replaced by placeholders before the split at commas. A
    # placeholder is the link's index between null characters, which are removed from the cell.
    def replace_link(match: re.Match[str]) -> str:
        links.append(Source(re.sub(r"\\(.)", r"\1", match["title"]), match["url"]))
        return f"\0{len(links) - 1}\0"

    topics = _TOPIC_SEPARATOR.split(
        _LINK.sub(replace_link, cell.removeprefix(_TOPICS_PREFIX).replace("\0", ""))
    )
    sources = tuple(
        links[int(topic.strip("\0"))] if topic.startswith("\0") else Source(topic)
        for topic in (topic.strip() for topic in topics)
        if topic
    )
    if not sources:
        raise LayoutError(f"{question_id} has no sources", line)
    return sources


def _parse_steps(cell: str, question_id: str, line: int) -> tuple[Step, ...]:
    """Parses the steps in a cell, such as "1. Find the inventor. 2. Find the year.".

    A new step starts only at the next number in sequence; any other number is part of a step's
    text. After step 2, "Basel III. 3. Link" therefore starts step 3, but "in 1972. 10. …" does not
    start a step.
    """
    markers: list[tuple[int, int]] = []
    for match in _STEP_NUMBER.finditer(cell):
        if int(match[1]) == len(markers) + 1:
            markers.append(match.span())
    if not markers or markers[0][0] != 0:
        raise LayoutError(f"the steps of {question_id} do not begin with '1. '", line)
    ends = [start for start, _ in markers[1:]] + [len(cell)]
    texts = [cell[begin:end].strip() for (_, begin), end in zip(markers, ends, strict=True)]
    if not all(texts):
        raise LayoutError(f"a step of {question_id} is empty", line)
    return tuple(map(Step, texts))


def render_category(category: str, questions: Iterable[Question], paragraph: str) -> str:
    """Renders the Markdown file of one category, which ``read_category`` can read.

    Facts, keywords, triples and hops are not part of this layout; only the JSONL file has them. A
    source with an address becomes a link, although the published files have no links.

    Args:
        category: the category, such as ``HIA``.
        questions: questions in order; those of other categories are left out.
        paragraph: the paragraph under the heading.

    Raises:
        ValueError: a text has a line break, or a topic has a comma at which it would be split.
    """
    lines = [
        f"# {_TITLE_PREFIX}{CATEGORIES[category]}",
        "",
        _check_single_line(paragraph),
        "",
        f"| {' | '.join(HEADINGS)} |",
        f"|{'|'.join('-' * (len(heading) + 2) for heading in HEADINGS)}|",
    ]
    for question in questions:
        if question.category == category:
            steps = render_steps(question.steps)
            topics = f"{_TOPICS_PREFIX} {', '.join(map(_render_topic, question.sources))}"
            cells = (question.id, question.question, question.answer, topics, steps)
            escaped = [_check_single_line(cell).replace("|", chr(92) + "|") for cell in cells]
            lines.append(f"| {' | '.join(escaped)} |")
    return "\n".join(lines) + "\n"


def render_steps(steps: Sequence[Step]) -> str:
    """Renders steps as in a table cell: numbered, in one line."""
    return " ".join(f"{number}. {step.instruction}" for number, step in enumerate(steps, 1))


def _render_topic(source: Source) -> str:
    if source.url:
        title = re.sub(r"([\[\]\\])", r"\\\1", source.title)
        if re.search(r"[<>\s|]", source.url):
            raise ValueError(f"an address has a space, a bracket or a pipe: {source.url[:80]!r}")
        return f"[{title}](<{source.url}>)"
    if _TOPIC_SEPARATOR.search(source.title):
        raise ValueError(f"a topic without address has a comma: {source.title[:80]!r}")
    return source.title


def _check_single_line(text: str) -> str:
    if _LINE_END.search(text.strip()) or "\0" in text:
        raise ValueError(f"a text has a line break or a null character: {text[:80]!r}")
    return text.strip()
