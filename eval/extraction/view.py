"""Defines what an extractor sees of a sample, and reads what it returns."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from eval.harness.predictions.rows import MAX_DEPTH, is_flat_enough
from eval.harness.reply import Reply
from eval.model.foreign_values import make_storable
from eval.model.replies.schema_form import read_json_reply
from kg.base.files import to_json_bytes
from kg.base.strict_json import parse_json

_TOO_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"
ENCODED_TWICE: Final = "its JSON is a text with JSON, which was read"


class ExtractionView(msgspec.Struct, frozen=True):
    """What an extractor sees of a sample; the expected output is not in it."""

    text: str
    schema: dict[str, Any]
    """The JSON Schema of the extraction."""


_decode_view = msgspec.json.Decoder(ExtractionView).decode


def copy_view(view: ExtractionView) -> ExtractionView:
    """Returns a copy, so that an extractor can neither change a sample nor find it by identity."""
    return _decode_view(msgspec.json.encode(view))


def read_extraction(returned: object, *, array_root: bool = False) -> Reply:
    """Converts what an extractor returned to a reply.

    Args:
        returned: the extraction as JSON values; or a text, which is read as the reply of a model
            is: JSON alone, in a code fence, or as the only value amid prose.
        array_root: whether the schema asks for an array, see ``read_json_reply``.
    """
    if isinstance(returned, str):
        return _read_text(returned, array_root=array_root)
    try:
        value = parse_json(json.dumps(returned, allow_nan=False))
        output_chars = len(to_json_bytes(value).decode())
    except (TypeError, ValueError, RecursionError) as error:
        return Reply(
            status="invalid",
            raw=make_storable(repr(type(returned))),
            problem=f"the extractor returned something that is not JSON: {error}",
        )
    if not is_flat_enough(value):
        return Reply(status="invalid", problem=_TOO_DEEP, output_chars=output_chars)
    return Reply(value=value, output_chars=output_chars)


def _read_text(text: str, *, array_root: bool) -> Reply:
    read = read_json_reply(text, array_root=array_root)
    problem = read.problem
    if problem is None and not is_flat_enough(read.value):
        problem = _TOO_DEEP
    if problem is not None:
        return Reply(
            status="invalid", raw=make_storable(text), problem=problem, output_chars=len(text)
        )
    value = read.value
    notes: tuple[str, ...] = ()
    if isinstance(value, str):
        inner = read_json_reply(value, array_root=array_root)
        if isinstance(inner.value, dict | list) and is_flat_enough(inner.value):
            value, notes = inner.value, (ENCODED_TWICE,)
    raw = "" if read.exact and not notes else make_storable(text)
    return Reply(value=value, raw=raw, output_chars=len(text), notes=notes)
