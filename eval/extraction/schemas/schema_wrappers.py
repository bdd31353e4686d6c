"""Takes JSON Schemas out of the wrappers in which APIs and data sets store them.

Known wrappers are ``{"name": …, "schema": {…}}``, OpenAI's ``response_format`` and function tools,
and keys such as ``schema_definition`` and ``data_schema``. JSON Schema itself ignores keywords that
it does not know, so a wrapper or a list of fields such as ``{"a": "string"}`` would accept any
value: these are refused instead.
"""

from __future__ import annotations

from typing import Any, Final

from kg.base.errors import SchemaError
from kg.base.plain_text import clean_text

CHECKING_KEYWORDS: Final = frozenset(
    (
        *("$ref", "$dynamicRef", "$recursiveRef", "type", "enum", "const", "properties"),
        *("patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"),
        *("required", "minProperties", "maxProperties", "dependencies", "dependentRequired"),
        *("dependentSchemas", "items", "prefixItems", "additionalItems", "unevaluatedItems"),
        *("contains", "minContains", "maxContains", "minItems", "maxItems", "uniqueItems"),
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "minLength", "maxLength"),
        *("pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("multipleOf", "contentEncoding", "contentMediaType", "contentSchema"),
    )
)
"""Keywords that say what a value must be."""

ANNOTATIONS: Final = frozenset(
    (
        *("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),
        *("$comment", "$defs", "definitions", "title", "description", "default", "examples"),
        *("example", "deprecated", "readOnly", "writeOnly", "nullable", "discriminator"),
    )
)
"""Keywords that name or describe a schema."""

WRAPPER_KEYS: Final = (
    "schema",
    "json_schema",
    "schema_definition",
    "data_schema",
    "response_format",
    "function",
    "parameters",
    "input_schema",
)
"""Keys under which a wrapper stores its schema."""

JSON_TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")

_MAX_WRAPPERS = 4


def is_schema(value: Any) -> bool:
    """Returns whether a JSON value is a schema that says what another value must be.

    It has a keyword for that whose value has the right kind, so that an extraction with a field
    ``type`` or ``items`` is not taken for a schema.
    """
    if not isinstance(value, dict):
        return False
    types = value.get("type")
    if isinstance(types, str):
        return types in JSON_TYPES
    if isinstance(types, list):
        return bool(types) and all(name in JSON_TYPES for name in types)
    properties = value.get("properties")
    if isinstance(properties, dict) and properties:
        return all(isinstance(child, dict | bool) for child in properties.values())
    if isinstance(value.get("$ref"), str):
        return True
    if isinstance(value.get("$schema"), str) and _has_other_keyword(value):
        return True
    return any(
        isinstance(value.get(name), list) and value[name] and all(map(is_schema, value[name]))
        for name in ("allOf", "anyOf", "oneOf")
    )


def _has_other_keyword(value: dict[str, Any]) -> bool:
    """Returns whether an object with ``$schema`` has a rarer keyword whose value has its kind.

    ``$schema`` alone says nothing, since documents name the schema that they follow in it, too.
    """
    required, choices = value.get("required"), value.get("enum")
    return (
        any(isinstance(value.get(key), dict) for key in ("definitions", "$defs"))
        or isinstance(value.get("patternProperties"), dict)
        or isinstance(value.get("additionalProperties"), dict | bool)
        or any(is_schema(value.get(key)) for key in ("items", "not", "if", "contains"))
        or (isinstance(required, list) and all(isinstance(name, str) for name in required))
        or isinstance(choices, list)
        or "const" in value
    )


def unwrap_schema(value: Any) -> tuple[Any, str]:
    """Takes a schema out of its wrappers.

    Args:
        value: a schema, or a wrapper with exactly one schema.

    Returns:
        The schema, and the keys that led to it, joined by dots; ``value`` itself and an empty text
        if it is a schema or no known wrapper.
    """
    keys: list[str] = []
    current = value
    while isinstance(current, dict) and not is_schema(current) and len(keys) < _MAX_WRAPPERS:
        inner = [key for key in WRAPPER_KEYS if isinstance(current.get(key), dict)]
        if len(inner) != 1:
            break
        keys.append(inner[0])
        current = current[inner[0]]
    return (current, ".".join(keys)) if keys and is_schema(current) else (value, "")


def require_schema(schema: dict[str, Any]) -> None:
    """Checks that an object is no wrapper, list of fields or other object without keywords.

    Raises:
        SchemaError: it has keys, but none of them is a keyword that says what a value must be.
    """
    keys = unwrap_schema(schema)[1]
    if keys:
        raise SchemaError(
            f"this is a wrapper, and the schema is under {clean_text(keys)!r}",
            hint="Give the schema itself.",
        )
    unknown = [
        key
        for key in schema
        if key not in CHECKING_KEYWORDS and key not in ANNOTATIONS and not key.startswith("x-")
    ]
    if not unknown or not CHECKING_KEYWORDS.isdisjoint(schema):
        return
    fields = all(is_schema(schema[key]) for key in unknown)
    raise SchemaError(
        f"no keyword of JSON Schema, only {clean_text(', '.join(map(repr, unknown[:5])), 200)}: "
        "any value would be valid",
        hint='Write {"type": "object", "properties": {…}} around the fields.'
        if fields
        else 'A field is written as {"type": "object", "properties": {"name": {"type": '
        '"string"}}}.',
    )
