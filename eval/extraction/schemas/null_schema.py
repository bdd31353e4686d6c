"""Derives from a schema one under which every part of a value may also be null."""

from __future__ import annotations

from typing import Any, Final

_NULL: Final = {"type": "null"}
_MAPS_OF_PARTS: Final = ("properties", "patternProperties")
"""Keywords that map names to schemas of parts of the value."""
_PARTS: Final = (
    *("items", "prefixItems", "additionalItems", "additionalProperties"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
"""Keywords whose schema, or list of schemas, applies to parts of the value."""
_MAPS: Final = ("$defs", "definitions", "dependentSchemas")
_SAME_VALUE: Final = ("allOf", "anyOf", "oneOf", "then", "else")
"""Keywords whose schema, or list of schemas, applies to the same value. Not those under which a
part that may be null would make the value invalid, or choose another branch: ``not``, ``if``."""

_COMPOUND: Final = frozenset(
    ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "const")
)
"""Keywords that may apply to null too, so that null has to be allowed beside the whole schema."""


def allow_nulls(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns a copy of a schema in which properties and elements may be null.

    The value as a whole may not, unless the schema itself allows it.
    """
    copied: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _MAPS_OF_PARTS and isinstance(value, dict):
            copied[keyword] = {name: _allow_null(part) for name, part in value.items()}
        elif keyword in _PARTS:
            is_list = isinstance(value, list)
            copied[keyword] = list(map(_allow_null, value)) if is_list else _allow_null(value)
        elif keyword in _MAPS and isinstance(value, dict):
            copied[keyword] = {name: _copy(part) for name, part in value.items()}
        elif keyword in _SAME_VALUE:
            copied[keyword] = list(map(_copy, value)) if isinstance(value, list) else _copy(value)
        else:
            copied[keyword] = value
    return copied


def _copy(schema: Any) -> Any:
    return allow_nulls(schema) if isinstance(schema, dict) else schema


def _allow_null(schema: Any) -> Any:
    if schema is False:
        return _NULL
    if not isinstance(schema, dict):
        return schema
    copied = allow_nulls(schema)
    if not _COMPOUND.isdisjoint(schema):
        return {"anyOf": [_NULL, copied]}
    # Keywords such as "format" or "required" do not apply to null. So errors inside the part keep
    # their own path and keyword, which they would not have under "anyOf".
    if isinstance(schema.get("type"), str):
        copied["type"] = [*dict.fromkeys((schema["type"], "null"))]
    elif isinstance(schema.get("type"), list):
        copied["type"] = [*dict.fromkeys((*schema["type"], "null"))]
    if isinstance(schema.get("enum"), list):
        copied["enum"] = [*schema["enum"], *([] if None in schema["enum"] else [None])]
    return copied
