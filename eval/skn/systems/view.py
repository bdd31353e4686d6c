"""Defines what a pipeline sees of a sample, and reads what a system of somebody else returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from eval.harness.reply import Reply
from eval.model.foreign_values import make_storable
from eval.skn.agent import Response
from eval.skn.search_source import Source


class SknView(msgspec.Struct, frozen=True):
    """What a pipeline sees of a sample; the right answer is not in it."""

    question: str
    text: str
    """The search results as one text; may be empty."""
    search_error: str | None = None
    """Why the search failed; then there is no text."""
    search_s: float | None = None
    """Duration of the live search; null if it was replayed."""


_decode_view = msgspec.json.Decoder(SknView).decode


def make_view(source: Source) -> SknView:
    """Returns what a pipeline sees of a sample with these search results.

    It is a copy, so that no system can find the sample by the identity of a text.
    """
    view = SknView(source.question, source.text, source.error, source.seconds)
    return _decode_view(msgspec.json.encode(view))


class _AnswerFields(msgspec.Struct):
    answer: str
    confidence: float | None = None
    reasoning: str = ""
    abstained: bool | None = None


def read_answer(returned: object) -> Reply:
    """Converts what a system returned to a reply.

    Args:
        returned: the answer as a text, or a mapping with ``answer`` and possibly ``confidence``,
            ``reasoning`` and ``abstained``. Without ``abstained``, the words of the answer tell
            whether it is an abstention.
    """
    value: Any = {"answer": returned} if isinstance(returned, str) else returned
    if isinstance(value, Mapping):
        value = {key: value[key] for key in value if key in _AnswerFields.__struct_fields__}
    try:
        fields = msgspec.convert(value, _AnswerFields)
        fields.answer.encode()  # raises a ValueError for a lone surrogate, which cannot be stored
        fields.reasoning.encode()
    except (msgspec.ValidationError, ValueError) as error:
        return _make_unreadable_reply(returned, f"not an answer: {error}")
    if not fields.answer.strip() and not fields.abstained:
        return _make_unreadable_reply(returned, "neither an answer nor an abstention")
    stated = fields.confidence
    is_probability = stated is None or 0.0 <= stated <= 1.0
    response = Response(
        answer=fields.answer,
        confidence=stated if is_probability else None,
        reasoning=fields.reasoning,
        abstained=fields.abstained,
        readable=True,
        problem="" if is_probability else "the stated confidence is not a number from 0 to 1",
    )
    return Reply(value=response, confidence=response.confidence, output_chars=len(response.answer))


def _make_unreadable_reply(returned: object, problem: str) -> Reply:
    response = Response(
        answer="",
        confidence=None,
        reasoning="",
        abstained=None,
        readable=False,
        raw=make_storable(returned if isinstance(returned, str) else repr(type(returned))),
        problem=problem,
    )
    return Reply(status="invalid", stage="agent", value=response, problem=problem)
