"""Reads and writes the catalogue: six folders of Markdown, or a JSONL file of questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from eval.synthlink.catalog_markdown import LayoutError, read_category, render_category
from eval.synthlink.items import CATEGORIES, ID, Question
from kg.base.errors import DuplicateIdError, MissingFileError, RecordError
from kg.base.files import iter_decoded_lines, require_file
from kg.base.plain_text import clean_text

SHIPPED_CATALOG: Final = Path(__file__).parent / "data" / "catalog.jsonl"
_HINT: Final = "See docs/reference/synthlink.md for the layout."
# A catalogue can come from anywhere: these limits bound the memory and time that it takes.
_MAX_FILE_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of one Markdown file."""
_MAX_QUESTIONS: Final = 10_000
_MAX_STEPS: Final = 8
"""Maximum number of steps of one question."""
_MAX_TEXT_LENGTH: Final = 20_000
"""Maximum number of characters of a question or an answer."""
_MAX_QUESTION_BYTES: Final = 256 * 1024
"""Maximum size of one question as JSON, in bytes."""


class Catalog(msgspec.Struct, frozen=True):
    """All questions, in the order of the catalogue."""

    questions: tuple[Question, ...]
    notes: tuple[str, ...] = ()
    """Limitations of the catalogue that affect scores."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all questions, in order."""
        return tuple(question.id for question in self.questions)

    def limit_questions(self, limit: int | None) -> Catalog:
        """Returns the catalogue of the first ``limit`` questions, with a note; all if None."""
        if limit is None or limit >= len(self.questions):
            return self
        note = f"the first {limit} of {len(self.questions)} questions are scored (--limit)"
        return Catalog(self.questions[:limit], (*self.notes, note))

    @property
    def categories(self) -> tuple[str, ...]:
        """Categories that have questions, in the order of ``CATEGORIES``."""
        present = {question.category for question in self.questions}
        return tuple(category for category in CATEGORIES if category in present)


def read_catalog(path: str | Path | None = None) -> Catalog:
    """Reads a catalogue.

    Args:
        path: a folder with a subfolder per category, each with Markdown files ``SynthLink_*.md``;
            or a JSONL file. By default the shipped catalogue.

    Returns:
        A catalogue of at least one question, with notes on what it lacks.

    Raises:
        MissingFileError: there is no such file, or no category folder in the folder.
        RecordError: a file does not have the catalogue's layout, or a row is not a question.
        DuplicateIdError: two rows have the same id; the error gives the locations of both.
    """
    path = Path(path) if path is not None else SHIPPED_CATALOG
    rows = _read_folder(path) if path.is_dir() else _read_jsonl(path)
    questions: dict[str, Question] = {}
    locations: dict[str, str] = {}
    for location, question in rows:
        if question.id in questions:
            raise DuplicateIdError(
                f"question {question.id} occurs twice, first at {locations[question.id]}",
                where=location,
                hint="Ids must be unique.",
            )
        if len(questions) == _MAX_QUESTIONS:
            raise RecordError(f"more than {_MAX_QUESTIONS:,} questions", where=location, hint=_HINT)
        questions[question.id] = question
        locations[question.id] = location
    if not questions:
        raise RecordError("no questions", where=str(path), hint=_HINT)
    catalog = Catalog(tuple(questions.values()))
    return msgspec.structs.replace(catalog, notes=tuple(_list_notes(catalog)))


def _list_notes(catalog: Catalog) -> Iterator[str]:
    missing_categories = [name for name in CATEGORIES if name not in catalog.categories]
    if missing_categories:
        names = ", ".join(missing_categories)
        yield f"no questions of {names}: scores cover the other categories only"
    without_facts = sum(
        not any(step.fact for step in question.steps) for question in catalog.questions
    )
    if without_facts:
        yield (
            f"{without_facts} of {len(catalog.questions)} questions state no fact of any step: RQS "
            "is undefined for them in corrected mode, and its weight goes to the other metrics"
        )
    without_urls = sum(
        not any(source.url for source in question.sources) for question in catalog.questions
    )
    if without_urls:
        yield (
            f"{without_urls} of {len(catalog.questions)} questions name topics without addresses: "
            "a page is matched with a topic by its title or its Wikipedia address"
        )


def _read_jsonl(path: Path) -> Iterator[tuple[str, Question]]:
    require_file(path, "question catalogue")
    decoder = msgspec.json.Decoder(Question)
    for number, question in iter_decoded_lines(path, "synthlink-question", decoder.decode):
        location = f"{path}:{number}"
        fault = _find_fault(question)
        if fault:
            raise RecordError(f"not a question: {fault}", where=location, hint=_HINT)
        yield location, question


def _read_folder(folder: Path) -> Iterator[tuple[str, Question]]:
    files = [
        (category, file)
        for category in CATEGORIES
        for file in sorted((folder / category).glob("SynthLink_*.md"))
    ]
    if not files:
        raise MissingFileError(
            "no SynthLink_*.md in the folder of any category",
            where=str(folder),
            hint=f"The folders of the categories are {', '.join(CATEGORIES)}.",
        )
    for category, file in files:
        require_file(file, "question catalogue")
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise RecordError("file is larger than 4 MiB", where=str(file), hint=_HINT)
        try:
            rows = read_category(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise RecordError("not UTF-8", where=str(file), hint=_HINT) from error
        except LayoutError as error:
            raise RecordError(str(error), where=f"{file}:{error.line}", hint=_HINT) from error
        for line, question in rows:
            location = f"{file}:{line}"
            fault = _find_fault(question)
            if not fault and question.category != category:
                fault = f"{question.id} is in the folder of {category}"
            if fault:
                raise RecordError(f"not a question: {fault}", where=location, hint=_HINT)
            yield location, question


def _find_fault(question: Question) -> str:
    """Returns why a row is not a valid question, in one clause; empty for a valid one."""
    name = clean_text(question.id, 40)
    if not ID.fullmatch(question.id):
        return f"{name!r} is not an id such as HIA-01"
    if question.category != question.id[:3]:
        return f"{name} has category {clean_text(question.category, 40)!r}, unlike its id"
    for field in ("question", "answer"):
        text = getattr(question, field)
        if not text.strip():
            return f"{name} has an empty {field}"
        if len(text) > _MAX_TEXT_LENGTH:
            return f"{name} has {field} text of more than {_MAX_TEXT_LENGTH:,} characters"
    if len(msgspec.json.encode(question)) > _MAX_QUESTION_BYTES:
        return f"{name} is larger than {_MAX_QUESTION_BYTES:,} bytes"
    if not question.sources or not all(source.title.strip() for source in question.sources):
        return f"{name} has no sources, or one without a title"
    if not 1 <= len(question.steps) <= _MAX_STEPS:
        return f"{name} has {len(question.steps)} steps, not 1 to {_MAX_STEPS}"
    if not all(step.instruction.strip() for step in question.steps):
        return f"{name} has a step without an instruction"
    return ""


def render_catalog(
    questions: Sequence[Question], paragraphs: dict[str, str] | None = None
) -> dict[str, str]:
    """Renders questions in the public layout.

    Args:
        questions: questions in order.
        paragraphs: category → the paragraph under the heading of its file; by default, the
            paragraphs are generated.

    Returns:
        Path relative to the catalogue's folder → text of the file.

    Raises:
        ValueError: a text cannot be written in the layout; see ``render_category``.
    """
    categories = Catalog(tuple(questions)).categories
    return {
        f"{category}/{category_file_name(category)}": render_category(
            category,
            questions,
            (paragraphs or {}).get(category) or _make_paragraph(category, questions),
        )
        for category in categories
    }


def category_file_name(category: str) -> str:
    """Returns the name of a category's file: its words except "and", as in the published files."""
    words = [word for word in CATEGORIES[category].split() if word != "and"]
    return f"SynthLink_{'_'.join(words)}.md"


def _make_paragraph(category: str, questions: Iterable[Question]) -> str:
    count = sum(question.category == category for question in questions)
    return (
        f"This file is part of a SynthLink catalogue: {count} multi-hop questions on "
        f"{CATEGORIES[category]}. Each asks for several facts to be found, linked and checked "
        "against traceable sources."
    )
