"""Defines what an extractor sees of a sample, and reads what it returns."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from eval.answers import make_storable
from eval.harness.reply import Reply
from kg.base.files import to_json_bytes


class ExtractionView(msgspec.Struct, frozen=True):
    """What an extractor sees of a sample; the expected output is not in it."""

    text: str
    schema: dict[str, Any]
    """The JSON Schema of the extraction."""


_decode_view = msgspec.json.Decoder(ExtractionView).decode


def copy_view(view: ExtractionView) -> ExtractionView:
    """Returns a copy, so that an extractor can neither change a sample nor find it by identity."""
    return _decode_view(msgspec.json.encode(view))


def read_extraction(returned: object) -> Reply:
    """Converts what an extractor returned to a reply.

    Args:
        returned: the extraction as JSON values, or a text that consists of JSON.
    """
    if isinstance(returned, str):
        return _read_text(returned)
    try:
        value = json.loads(json.dumps(returned, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        return Reply(
            status="invalid",
            raw=make_storable(repr(type(returned))),
            problem=f"the extractor returned something that is not JSON: {error}",
        )
    return Reply(value=value, output_chars=len(to_json_bytes(value).decode()))


def _read_text(text: str) -> Reply:
    try:
        value = json.loads(text)
        to_json_bytes(value)
    except (ValueError, RecursionError) as error:
        return Reply(
            status="invalid",
            raw=make_storable(text),
            problem=f"not JSON: {error}",
            output_chars=len(text),
        )
    return Reply(value=value, output_chars=len(text))
