"""Writes and parses the extraction of each pipeline, by the same rules in SKN and JSON.

*Strict*: the whole reply is the extraction and follows its grammar exactly. *Tolerant*: the
extraction may be in a code fence, after a ``<think>`` block or amid prose. Indentation, order and
quotes may differ, commas may be missing or superfluous, keys and headings may be in capitals, and
``90%`` may stand for 0.9. No content is dropped or guessed. Any other reply is unreadable. An
extraction with a section that its pipeline does not have is unreadable too, because the agent must
not see a section that the ablation removes.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from eval.skn.formats.flat_json import (
    Entity,
    FlatClaim,
    FlatExtraction,
    Relationship,
    flat_from_json,
)
from eval.skn.formats.json_normaliser import normalise_value
from eval.skn.formats.json_parser import JsonFaultError, LocatedValue, parse_value, skip_space
from eval.skn.formats.pipelines import ALL_SECTIONS, Pipeline
from eval.skn.grammar.document import (
    CausalLink,
    Document,
    Fact,
    Risk,
    Section,
    Source,
    drop_sections,
)
from eval.skn.grammar.typed_json import from_json
from eval.skn.notation import Problem, serialize
from eval.skn.notation import try_parse as read_notation
from kg.base.errors import NotationError
from kg.base.plain_text import clean_text

ExtractionContent = Document | FlatExtraction

MAX_CHARACTERS = 100_000
"""A longer reply is not parsed; extractions have a few thousand characters."""

_THINK_BLOCK = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)```", re.DOTALL)
_HEADINGS: dict[Section, re.Pattern[str]] = {
    section: re.compile(rf"^[ \t]*@{section}\b", re.MULTILINE) for section in sorted(ALL_SECTIONS)
}
# msgspec's messages end in the path of the faulty value: "… - at `$.facts[0].text`".
_ERROR_PATH = re.compile(r" - at `(?:key` in `)?\$([^`]*)`\s*$")
# One step of such a path: ".key" (group 1) or "[index]" (group 2).
_PATH_STEP = re.compile(r"\.([^.\[]+)|\[([0-9]+)\]")


class ReadResult(NamedTuple):
    """The result of parsing a text: its content, or the first problem that prevents parsing."""

    content: ExtractionContent | None
    problem: Problem | None = None


def to_plain_values(content: ExtractionContent) -> dict[str, Any]:
    """Converts ``content`` to plain JSON values, with lists instead of tuples."""
    value: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(content))
    return value


def write_content(content: ExtractionContent, pipeline: Pipeline) -> str:
    """Writes ``content`` for the agent: the canonical and most compact text of the form.

    Args:
        content: a ``Document`` if the pipeline is typed, otherwise a ``FlatExtraction``.
        pipeline: determines the notation, SKN or JSON.
    """
    if isinstance(content, Document) and pipeline.notation == "skn":
        return serialize(content)
    return msgspec.json.encode(content).decode()


def build_example(pipeline: Pipeline) -> str:
    """Writes an example of the form, filled with the same explanatory words in every form."""
    if pipeline.typed:
        excluded_sections: list[Section] = sorted(ALL_SECTIONS - pipeline.sections)
        return write_content(drop_sections(_EXAMPLE_DOCUMENT, *excluded_sections), pipeline)
    confidences = (0.9, 0.7, 0.4) if pipeline.confidence else (None, None, None)
    claims = tuple(
        FlatClaim(text, "fact", confidence)
        for text, confidence in zip(_EXAMPLE_FACTS, confidences, strict=True)
    )
    return write_content(msgspec.structs.replace(_EXAMPLE_FLAT, claims=claims), pipeline)


def parse_content(text: str, pipeline: Pipeline, *, strict: bool) -> ReadResult:
    """Parses an extraction in the form of ``pipeline``.

    Args:
        text: a model's reply; any text.
        pipeline: determines the form.
        strict: whether the whole text must be the extraction and follow the grammar exactly.
    """
    if len(text) > MAX_CHARACTERS:
        return _build_failure(text, 0, f"longer than {MAX_CHARACTERS} characters: not read")
    if not text.strip():
        return _build_failure(text, 0, "the reply is empty")
    if pipeline.notation == "skn":
        return _parse_skn(text, pipeline, strict=strict)
    return _parse_json(text, pipeline, strict=strict)


def _parse_skn(text: str, pipeline: Pipeline, *, strict: bool) -> ReadResult:
    parsed = read_notation(text if strict else _blank_out_think_block(text), strict=strict)
    if parsed.document is None or not parsed.lossless or (strict and parsed.problems):
        # Fences and prose are problems too, but only a loss makes a tolerant reading fail.
        return ReadResult(None, _shorten_problem(parsed.loss or parsed.problems[0]))
    for section in _find_excluded_sections(parsed.document, pipeline):  # reports the first one
        heading = _HEADINGS[section].search(text)
        offset = heading.start() if heading else 0
        return _build_failure(text, offset, f"this form has no section @{section}")
    return ReadResult(parsed.document)


def _parse_json(text: str, pipeline: Pipeline, *, strict: bool) -> ReadResult:
    try:
        located = (
            _parse_strict_json(text)
            if strict
            else _parse_tolerant_json(_blank_out_think_block(text))
        )
    except JsonFaultError as error:
        return _build_failure(text, error.offset, error.what)
    value = located.value if strict else normalise_value(located.value)
    try:
        if not pipeline.typed:
            return ReadResult(flat_from_json(value, confidence=pipeline.confidence))
        document = from_json(value)
    except (msgspec.ValidationError, NotationError) as error:
        message = error.what if isinstance(error, NotationError) else str(error)
        what = message.removeprefix("not an SKN document: ")
        return _build_failure(text, _locate_error(what, located), what)
    for section in _find_excluded_sections(document, pipeline):  # reports the first one
        return _build_failure(
            text, located.offsets.get((section,), 0), f"this form has no key {section!r}"
        )
    return ReadResult(document)


def _parse_strict_json(text: str) -> LocatedValue:
    located = parse_value(text)
    if skip_space(text, located.end) < len(text):
        raise JsonFaultError(skip_space(text, located.end), "text after the JSON object")
    return located


def _parse_tolerant_json(text: str) -> LocatedValue:
    """Parses the only JSON object in ``text``, or in its code fence if it has one.

    Raises:
        JsonFaultError: there are several code fences, no object or several, or the object is in a
            list.
    """
    fences = list(_FENCE.finditer(text))
    if len(fences) > 1:
        raise JsonFaultError(fences[1].start(), "more than one fenced block")
    start, stop = fences[0].span(1) if fences else (0, len(text))
    if text[skip_space(text, start) :].startswith("["):
        raise JsonFaultError(skip_space(text, start), "a list, not one JSON object")
    object_start = text.find("{", start, stop)
    if object_start < 0:
        raise JsonFaultError(start, "no JSON object")
    located = parse_value(text[:stop], object_start, tolerant=True)
    second_start = text.find("{", located.end, stop)
    if second_start >= 0:
        raise JsonFaultError(second_start, "more than one JSON object")
    return located


def _blank_out_think_block(text: str) -> str:
    """Replaces a leading ``<think>`` block by spaces; positions in the rest do not change."""
    think_block = _THINK_BLOCK.match(text)
    if think_block is None:
        return text
    return re.sub(r"[^\n]", " ", think_block[0]) + text[think_block.end() :]


def _find_excluded_sections(document: Document, pipeline: Pipeline) -> list[Section]:
    """Returns the sections of ``document`` that the pipeline does not have."""
    excluded_sections: list[Section] = sorted(ALL_SECTIONS - pipeline.sections)
    return [section for section in excluded_sections if getattr(document, section) is not None]


def _locate_error(what: str, located: LocatedValue) -> int:
    """Returns the offset of the value that a msgspec message names, or of its nearest parent."""
    path: tuple[str | int, ...] = ()
    match = _ERROR_PATH.search(what)
    for step in _PATH_STEP.finditer(match[1]) if match else ():
        key = step[1] if step[1] is not None else int(step[2])
        child_path = (*path, key)
        if child_path not in located.offsets:
            break
        path = child_path
    return located.offsets[path]


def _build_failure(text: str, offset: int, what: str) -> ReadResult:
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return ReadResult(None, _shorten_problem(Problem(line, column, what)))


def _shorten_problem(problem: Problem) -> Problem:
    return Problem(problem.line, problem.column, clean_text(problem.what, 300))


_EXAMPLE_FACTS = (
    "the most important thing the text says",
    "a supporting detail",
    "something the text implies without saying it",
)
_EXAMPLE_DOCUMENT = Document(
    source=Source("field of knowledge", "medium", 0.8),
    facts=(
        Fact("!", _EXAMPLE_FACTS[0], 0.9),
        Fact(".", _EXAMPLE_FACTS[1], 0.7),
        Fact("~", _EXAMPLE_FACTS[2], 0.4),
    ),
    causal=(CausalLink("a cause", "its effect", 0.8),),
    gaps=("something an answer would need and the text does not say",),
    risk=Risk("low", "medium"),
)
_EXAMPLE_FLAT = FlatExtraction(
    entities=(Entity("a thing", "its kind", {"a property": "its value"}),),
    relationships=(Relationship("a thing", "how they stand to each other", "another thing"),),
)
