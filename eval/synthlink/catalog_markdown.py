"""The catalogue's public layout: a Markdown file for each category, its questions in one table.

A file is one first-level heading, one paragraph and one pipe table of five columns. Cells hold what
people write: curly quotes, dashes, ``*italics*``, ``#MeToo``, "U.S."; nothing in them is changed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Final

from eval.synthlink.question import CATEGORIES, ID, Question, Source, Step

HEADINGS: Final = (
    "Question ID",
    "Question Text",
    "Expected Answer Summary",
    "Traceable Sources",
    "Reasoning Steps",
)
_TITLE: Final = "SynthLink60 Catalog: "
_TOPICS: Final = "Topics:"
_RULE = re.compile(r":?-+:?")
_PIPE = re.compile(r"(?<!\\)\|")
# Not ``splitlines``, which also cuts at what word processors leave in a cell (U+2028, U+000B).
_LINE_END = re.compile(r"\r\n?|\n")
_NUMBER = re.compile(r"(?:^|(?<=\s))(\d{1,2})\. ")
# A comma behind which no blank stands is part of a title ("1,001 Nights").
_COMMA = re.compile(r",\s+")
_LINK = re.compile(r"\[(?P<title>(?:[^\[\]\\]|\\.)*)\]\(<(?P<url>[^<>\s]*)>\)")


class LayoutError(ValueError):
    """A file is not laid out as the catalogue is.

    Args:
        message: what is wrong, in one clause.
        line: where, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def read_category(text: str) -> list[tuple[int, Question]]:
    """The questions of one category file, each with the line it stands in, from 1.

    Raises:
        LayoutError: it has not one heading and one table of five columns, or a row is no question.
    """
    lines = _LINE_END.split(text.removeprefix("\ufeff").removesuffix("\n"))
    titles = [number for number, line in enumerate(lines, 1) if re.match(r"# +\S", line)]
    if len(titles) != 1:
        again = titles[1] if titles else 1
        raise LayoutError(f"{len(titles)} first-level headings, not one", again)
    rows = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.startswith("|")]
    if len(rows) < 2:
        raise LayoutError("no table of questions", len(lines) or 1)
    for (before, _), (number, _) in itertools.pairwise(rows):
        if number != before + 1:
            raise LayoutError("a second table", number)
    (first, head), (second, rule) = rows[:2]
    if tuple(_cells(head, first)) != HEADINGS:
        raise LayoutError(f"the table's columns are not {', '.join(HEADINGS)}", first)
    if not all(_RULE.fullmatch(cell) for cell in _cells(rule, second)):
        raise LayoutError("no rule of dashes under the table's head", second)
    return [(number, _question(_cells(row, number), number)) for number, row in rows[2:]]


def _cells(row: str, line: int) -> list[str]:
    if not row.endswith("|") or row.endswith("\\|") or len(row) < 2:
        raise LayoutError("a row of the table does not end in a pipe", line)
    cells = [cell.strip().replace("\\|", "|") for cell in _PIPE.split(row[1:-1])]
    if len(cells) != len(HEADINGS):
        raise LayoutError(f"a row has {len(cells)} columns, not {len(HEADINGS)}", line)
    return cells


def _question(cells: Sequence[str], line: int) -> Question:
    name, question, answer, sources, steps = cells
    if not ID.fullmatch(name):
        raise LayoutError(f"{name[:40]!r} is no id such as HIA-01", line)
    if not question or not answer:
        raise LayoutError(f"{name} has no {'answer' if question else 'question'}", line)
    return Question(
        id=name,
        category=name[:3],
        question=question,
        answer=answer,
        sources=_sources(sources, name, line),
        steps=_steps(steps, name, line),
    )


def _sources(cell: str, name: str, line: int) -> tuple[Source, ...]:
    """The topics of a cell; a topic that is a link has its address too."""
    if not cell.startswith(_TOPICS):
        raise LayoutError(f"the sources of {name} do not begin with {_TOPICS!r}", line)
    links: list[Source] = []

    def set_aside(found: re.Match[str]) -> str:
        links.append(Source(re.sub(r"\\(.)", r"\1", found["title"]), found["url"]))
        return f"\0{len(links) - 1}\0"

    topics = _COMMA.split(_LINK.sub(set_aside, cell.removeprefix(_TOPICS).replace("\0", "")))
    found = tuple(
        links[int(topic.strip("\0"))] if topic.startswith("\0") else Source(topic)
        for topic in (topic.strip() for topic in topics)
        if topic
    )
    if not found:
        raise LayoutError(f"{name} has no sources", line)
    return found


def _steps(cell: str, name: str, line: int) -> tuple[Step, ...]:
    """The steps of a cell, cut where the next number in turn stands and nowhere else.

    "Basel III. 3. Link" is cut once, "in 1972. 10. …" in a list of four not at all: a number that
    is not the next one is part of its step.
    """
    cuts: list[tuple[int, int]] = []
    for found in _NUMBER.finditer(cell):
        if int(found[1]) == len(cuts) + 1:
            cuts.append(found.span())
    if not cuts or cuts[0][0] != 0:
        raise LayoutError(f"the steps of {name} do not begin with '1. '", line)
    ends = [start for start, _ in cuts[1:]] + [len(cell)]
    texts = [cell[begin:end].strip() for (_, begin), end in zip(cuts, ends, strict=True)]
    if not all(texts):
        raise LayoutError(f"a step of {name} is empty", line)
    return tuple(map(Step, texts))


def render_category(category: str, questions: Iterable[Question], paragraph: str) -> str:
    """The Markdown file of one category: what ``read_category`` reads back.

    Facts, keywords, triples and hops have no place in the layout and stay in the JSONL. A source
    with an address becomes a link, which the published files have none of.

    Args:
        category: its letters.
        questions: in order; those of other categories are left out.
        paragraph: what stands under the heading.

    Raises:
        ValueError: a text has a line break, or a topic a comma that would part it.
    """
    lines = [
        f"# {_TITLE}{CATEGORIES[category]}",
        "",
        _flat(paragraph),
        "",
        f"| {' | '.join(HEADINGS)} |",
        f"|{'|'.join('-' * (len(heading) + 2) for heading in HEADINGS)}|",
    ]
    for one in questions:
        if one.category == category:
            steps = steps_cell(one.steps)
            topics = f"{_TOPICS} {', '.join(map(_topic, one.sources))}"
            cells = (one.id, one.question, one.answer, topics, steps)
            lines.append(
                f"| {' | '.join(_flat(cell).replace('|', chr(92) + '|') for cell in cells)} |"
            )
    return "\n".join(lines) + "\n"


def steps_cell(steps: Sequence[Step]) -> str:
    """The steps as the layout has them: numbered, in one line."""
    return " ".join(f"{number}. {step.instruction}" for number, step in enumerate(steps, 1))


def _topic(source: Source) -> str:
    if source.url:
        title = re.sub(r"([\[\]\\])", r"\\\1", source.title)
        if re.search(r"[<>\s|]", source.url):
            raise ValueError(f"an address holds a blank, a bracket or a pipe: {source.url[:80]!r}")
        return f"[{title}](<{source.url}>)"
    if _COMMA.search(source.title):
        raise ValueError(f"a topic without address holds a comma: {source.title[:80]!r}")
    return source.title


def _flat(text: str) -> str:
    if _LINE_END.search(text.strip()) or "\0" in text:
        raise ValueError(f"a text holds a line break: {text[:80]!r}")
    return text.strip()
