"""How each pipeline's extraction is written and read, by the same rules in both notations.

*Strict*: the whole reply is the extraction, to the letter of its grammar. *Tolerant*: it stands
in a fence, after a thought or amid prose, is indented or ordered otherwise, has other quotes,
commas too many or too few, keys or headings in capitals, ``90%`` for 0.9: nothing that was
written inside it is dropped or guessed. All else cannot be
read; nor can, in every form, what the pipeline does not hold, for the agent must not be given a
section that the ablation takes away.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from eval.skn.formats.eased_json import eased
from eval.skn.formats.flat_json import (
    Entity,
    FlatClaim,
    FlatExtraction,
    Relationship,
    flat_from_json,
)
from eval.skn.formats.placed_json import JsonFaultError, Placed, after_space, read_value
from eval.skn.grammar.document import CausalLink, Document, Fact, Risk, Section, Source, without
from eval.skn.grammar.typed_json import from_json
from eval.skn.notation import Problem, serialize
from eval.skn.notation import read as read_notation
from eval.skn.pipelines import ALL_SECTIONS, Pipeline
from kg.base.errors import NotationError
from kg.words.plain_text import plain as as_plain

Content = Document | FlatExtraction

MAX_CHARACTERS = 100_000
"""A longer reply is not read: an extraction has some thousand characters."""

_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)```", re.DOTALL)
_HEADINGS: dict[Section, re.Pattern[str]] = {
    section: re.compile(rf"^[ \t]*@{section}\b", re.MULTILINE) for section in sorted(ALL_SECTIONS)
}
_PATH = re.compile(r" - at `(?:key` in `)?\$([^`]*)`\s*$")
_STEP = re.compile(r"\.([^.\[]+)|\[([0-9]+)\]")


class Reading(NamedTuple):
    """What reading a text came to: its content, or the first problem that stands against it."""

    content: Content | None
    problem: Problem | None = None


def plain(content: Content) -> dict[str, Any]:
    """``content`` as plain values, as JSON gives them back: lists, no tuples."""
    value: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(content))
    return value


def write(content: Content, pipeline: Pipeline) -> str:
    """``content`` as the agent is given it: the canonical and most compact text of the form.

    Args:
        content: of the kind that the pipeline holds.
        pipeline: says the notation.
    """
    if isinstance(content, Document) and pipeline.notation == "skn":
        return serialize(content)
    return msgspec.json.encode(content).decode()


def example(pipeline: Pipeline) -> str:
    """The form filled in with words that say what belongs where, the same words in every form."""
    if pipeline.typed:
        absent: list[Section] = sorted(ALL_SECTIONS - pipeline.sections)
        return write(without(_EXAMPLE_DOCUMENT, *absent), pipeline)
    confidences = (0.9, 0.7, 0.4) if pipeline.confidence else (None, None, None)
    claims = tuple(
        FlatClaim(text, "fact", confidence)
        for text, confidence in zip(_EXAMPLE_FACTS, confidences, strict=True)
    )
    return write(msgspec.structs.replace(_EXAMPLE_FLAT, claims=claims), pipeline)


def read(text: str, pipeline: Pipeline, *, strict: bool) -> Reading:
    """Reads an extraction in the form of ``pipeline``.

    Args:
        text: what a model wrote; any text.
        pipeline: the form.
        strict: whether the whole text must be the extraction, to the letter.
    """
    if len(text) > MAX_CHARACTERS:
        return _fault(text, 0, f"longer than {MAX_CHARACTERS} characters: not read")
    if not text.strip():
        return _fault(text, 0, "the reply is empty")
    if pipeline.notation == "skn":
        return _read_skn(text, pipeline, strict=strict)
    return _read_json(text, pipeline, strict=strict)


def _read_skn(text: str, pipeline: Pipeline, *, strict: bool) -> Reading:
    parsed = read_notation(text if strict else _without_thought(text), strict=strict)
    if parsed.document is None or not parsed.lossless or (strict and parsed.problems):
        # Fences and prose are problems too, and not what stands against it.
        return Reading(None, _short(parsed.loss or parsed.problems[0]))
    for section in _unheld(parsed.document, pipeline):
        heading = _HEADINGS[section].search(text)
        at = heading.start() if heading else 0
        return _fault(text, at, f"this form has no section @{section}")
    return Reading(parsed.document)


def _read_json(text: str, pipeline: Pipeline, *, strict: bool) -> Reading:
    try:
        placed = _strict_value(text) if strict else _tolerant_value(_without_thought(text))
    except JsonFaultError as error:
        return _fault(text, error.at, error.what)
    value = placed.value if strict else eased(placed.value)
    try:
        if not pipeline.typed:
            return Reading(flat_from_json(value, confidence=pipeline.confidence))
        document = from_json(value)
    except (msgspec.ValidationError, NotationError) as error:
        told = error.what if isinstance(error, NotationError) else str(error)
        what = told.removeprefix("not an SKN document: ")
        return _fault(text, _place_of(what, placed), what)
    for section in _unheld(document, pipeline):
        return _fault(text, placed.places.get((section,), 0), f"this form has no key {section!r}")
    return Reading(document)


def _strict_value(text: str) -> Placed:
    placed = read_value(text)
    if after_space(text, placed.end) < len(text):
        raise JsonFaultError(after_space(text, placed.end), "text after the JSON object")
    return placed


def _tolerant_value(text: str) -> Placed:
    """The one JSON object in ``text``, in its one fence if it has one.

    Raises:
        JsonFaultError: there is none, or more than one, or it stands in a list.
    """
    fences = list(_FENCE.finditer(text))
    if len(fences) > 1:
        raise JsonFaultError(fences[1].start(), "more than one fenced block")
    start, stop = fences[0].span(1) if fences else (0, len(text))
    if text[after_space(text, start) :].startswith("["):
        raise JsonFaultError(after_space(text, start), "a list, not one JSON object")
    begin = text.find("{", start, stop)
    if begin < 0:
        raise JsonFaultError(start, "no JSON object")
    placed = read_value(text[:stop], begin, tolerant=True)
    second = text.find("{", placed.end, stop)
    if second >= 0:
        raise JsonFaultError(second, "more than one JSON object")
    return placed


def _without_thought(text: str) -> str:
    """``text`` with a thought before it blanked out, so that all else keeps its place."""
    thought = _THOUGHT.match(text)
    if thought is None:
        return text
    return re.sub(r"[^\n]", " ", thought[0]) + text[thought.end() :]


def _unheld(document: Document, pipeline: Pipeline) -> list[Section]:
    """Sections of ``document`` that the pipeline does not hold."""
    absent: list[Section] = sorted(ALL_SECTIONS - pipeline.sections)
    return [section for section in absent if getattr(document, section) is not None]


def _place_of(what: str, placed: Placed) -> int:
    """Where the value begins that a message of msgspec names, or the nearest one around it."""
    at: tuple[str | int, ...] = ()
    found = _PATH.search(what)
    for step in _STEP.finditer(found[1]) if found else ():
        further = (*at, step[1] if step[1] is not None else int(step[2]))
        if further not in placed.places:
            break
        at = further
    return placed.places[at]


def _fault(text: str, at: int, what: str) -> Reading:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return Reading(None, _short(Problem(line, column, what)))


def _short(problem: Problem) -> Problem:
    return Problem(problem.line, problem.column, as_plain(problem.what, 300))


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
