"""Reads and writes the catalogue: six folders of Markdown, or one question a line as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from eval.synthlink.catalog_markdown import LayoutError, read_category, render_category
from eval.synthlink.question import CATEGORIES, ID, Question
from kg.base.errors import DuplicateIdError, MissingFileError, RecordError
from kg.base.files import iter_decoded_lines, require_file
from kg.words.plain_text import plain

SHIPPED: Final = Path(__file__).parent / "data" / "catalog.jsonl"
_HINT: Final = "See docs/synthlink.md for the layout."
_MOST_BYTES: Final = 4 * 1024 * 1024
_MOST_QUESTIONS: Final = 10_000
_MOST_STEPS: Final = 8
_MOST_TEXT: Final = 20_000
_LARGEST: Final = 256 * 1024
"""Bytes of one question as JSON."""


class Catalog(msgspec.Struct, frozen=True):
    """All questions, in the order of the catalogue."""

    questions: tuple[Question, ...]
    notes: tuple[str, ...] = ()
    """What the reader of a score should know of them."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Of all questions, in order."""
        return tuple(question.id for question in self.questions)

    @property
    def categories(self) -> tuple[str, ...]:
        """Those that have questions, in the order of ``CATEGORIES``."""
        held = {question.category for question in self.questions}
        return tuple(category for category in CATEGORIES if category in held)


def read_catalog(path: str | Path | None = None) -> Catalog:
    """Reads a catalogue.

    Args:
        path: a folder that holds folders of the categories, each with Markdown files
            ``SynthLink_*.md``; or a JSONL file; by default the shipped one.

    Returns:
        At least one question. Categories that are not there are noted.

    Raises:
        MissingFileError: there is no such file, or no category folder in the folder.
        RecordError: a file is not laid out as the catalogue is, or a row is no question.
        DuplicateIdError: two rows have one id; the second is named.
    """
    path = Path(path) if path is not None else SHIPPED
    rows = _of_folder(path) if path.is_dir() else _of_lines(path)
    found: dict[str, Question] = {}
    places: dict[str, str] = {}
    for place, question in rows:
        if question.id in found:
            raise DuplicateIdError(
                f"question {question.id} stands twice, first at {places[question.id]}",
                where=place,
                hint="Ids must be unique.",
            )
        if len(found) == _MOST_QUESTIONS:
            raise RecordError(f"more than {_MOST_QUESTIONS:,} questions", where=place, hint=_HINT)
        found[question.id] = question
        places[question.id] = place
    if not found:
        raise RecordError("no questions", where=str(path), hint=_HINT)
    catalog = Catalog(tuple(found.values()))
    return msgspec.structs.replace(catalog, notes=tuple(_notes(catalog)))


def _notes(catalog: Catalog) -> Iterator[str]:
    absent = [name for name in CATEGORIES if name not in catalog.categories]
    if absent:
        yield f"no questions of {', '.join(absent)}: scores are of the other categories alone"
    bare = sum(not any(step.fact for step in one.steps) for one in catalog.questions)
    if bare:
        yield (
            f"{bare} of {len(catalog.questions)} questions state no fact of any step: RQS has no "
            "corrected value for them, and the other measures have its weight"
        )
    nowhere = sum(not any(source.url for source in one.sources) for one in catalog.questions)
    if nowhere:
        yield (
            f"{nowhere} of {len(catalog.questions)} questions name topics without addresses: a "
            "page is one of them where its title, or its Wikipedia address, says so"
        )


def _of_lines(path: Path) -> Iterator[tuple[str, Question]]:
    require_file(path, "question catalogue")
    decoder = msgspec.json.Decoder(Question)
    for number, question in iter_decoded_lines(path, "synthlink-question", decoder.decode):
        place = f"{path}:{number}"
        why = _fault(question)
        if why:
            raise RecordError(f"not a question: {why}", where=place, hint=_HINT)
        yield place, question


def _of_folder(folder: Path) -> Iterator[tuple[str, Question]]:
    files = [
        (category, file)
        for category in CATEGORIES
        for file in sorted((folder / category).glob("SynthLink_*.md"))
    ]
    if not files:
        raise MissingFileError(
            "no SynthLink_*.md in a folder of any category",
            where=str(folder),
            hint=f"The folders are called {', '.join(CATEGORIES)}.",
        )
    for category, file in files:
        require_file(file, "question catalogue")
        if file.stat().st_size > _MOST_BYTES:
            raise RecordError("file is larger than 4 MiB", where=str(file), hint=_HINT)
        try:
            rows = read_category(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise RecordError("not UTF-8", where=str(file), hint=_HINT) from error
        except LayoutError as error:
            raise RecordError(str(error), where=f"{file}:{error.line}", hint=_HINT) from error
        for line, question in rows:
            place = f"{file}:{line}"
            why = _fault(question)
            if not why and question.category != category:
                why = f"{question.id} stands in the folder of {category}"
            if why:
                raise RecordError(f"not a question: {why}", where=place, hint=_HINT)
            yield place, question


def _fault(question: Question) -> str:
    """What keeps a row from being a question, in one clause; empty if nothing does."""
    name = plain(question.id, 40)
    if not ID.fullmatch(question.id):
        return f"{name!r} is no id such as HIA-01"
    if question.category != question.id[:3]:
        return f"{name} says it is of category {plain(question.category, 40)!r}"
    for what in ("question", "answer"):
        text = getattr(question, what)
        if not text.strip():
            return f"{name} has an empty {what}"
        if len(text) > _MOST_TEXT:
            return f"{name} has {what} text of more than {_MOST_TEXT:,} characters"
    if len(msgspec.json.encode(question)) > _LARGEST:
        return f"{name} is larger than {_LARGEST:,} bytes"
    if not question.sources or not all(source.title.strip() for source in question.sources):
        return f"{name} has no sources, or one without a title"
    if not 1 <= len(question.steps) <= _MOST_STEPS:
        return f"{name} has {len(question.steps)} steps, not 1 to {_MOST_STEPS}"
    if not all(step.instruction.strip() for step in question.steps):
        return f"{name} has a step without an instruction"
    return ""


def render_catalog(
    questions: Sequence[Question], paragraphs: dict[str, str] | None = None
) -> dict[str, str]:
    """The public layout of some questions: path below the catalogue's folder → text of the file.

    Args:
        questions: in order.
        paragraphs: category → what its file says under the heading; a plain one otherwise.

    Raises:
        ValueError: a text cannot be written in the layout; see ``render_category``.
    """
    held = Catalog(tuple(questions)).categories
    return {
        f"{category}/{file_name(category)}": render_category(
            category, questions, (paragraphs or {}).get(category) or _paragraph(category, questions)
        )
        for category in held
    }


def file_name(category: str) -> str:
    """Name of a category's file: the seed's, which leaves out "and"."""
    words = [word for word in CATEGORIES[category].split() if word != "and"]
    return f"SynthLink_{'_'.join(words)}.md"


def _paragraph(category: str, questions: Iterable[Question]) -> str:
    count = sum(question.category == category for question in questions)
    return (
        f"This file is part of a SynthLink catalogue: {count} multi-hop questions on "
        f"{CATEGORIES[category]}. Each asks for several facts to be found, linked and checked "
        "against traceable sources."
    )
