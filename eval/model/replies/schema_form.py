"""Requests and reads replies that must follow a JSON Schema given as data.

Unlike for a typed reply (``TypedForm``), the schema comes from the user: servers may accept one
schema and refuse another, so refusals are remembered by schema. A reply may be any JSON value. The
caller writes the schema into the prompt, and validates the reply.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from eval.model.completion import Mode
from eval.model.replies.reply_form import ReadResult, render_format_part
from eval.model.replies.strict_reply import parse_reply, read_embedded_json
from kg.base.plain_text import list_words

MAX_REPLY_CHARS: Final = 2_000_000
"""Maximum length of a reply that is parsed.

It is close to ``response_limit.MAX_REPLY_BYTES``, since user schemas may require long replies.
"""

SCHEMA_NAME: Final = "extraction_result"

_SUBSCHEMA_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords whose value maps names, which are data, to subschemas."""
_DATA_KEYWORDS = ("enum", "const", "default", "examples")
"""Keywords whose value is data, even if it looks like a schema."""
# The subset of JSON Schema that OpenAI's strict mode accepts (see ``allows_strict``).
_STRICT_KEYWORDS = frozenset(
    list_words(
        """
    type properties required additionalProperties items enum const anyOf $ref $defs definitions
    title description $schema pattern format minimum maximum exclusiveMinimum exclusiveMaximum
    multipleOf minItems maxItems
    """
    )
)
_MAX_REFERENCES = 10
_MAX_STRICT_LEVELS = 10
_MAX_STRICT_PROPERTIES = 5000


class SchemaForm:
    """The form of replies under one schema.

    Args:
        schema: a JSON Schema, never changed.

    Attributes:
        visible_schema: the schema without the members that only the scorer uses (``x-…``).
        strict: whether it is in the subset of JSON Schema that OpenAI's strict mode accepts.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.visible_schema: dict[str, Any] = remove_extensions(schema)
        self.strict = allows_strict(self.visible_schema)
        self._array_root = asks_for_array(self.visible_schema)
        self._schema = msgspec.json.encode(self.visible_schema)
        self._digest = hashlib.sha256(self._schema).hexdigest()[:16]
        json_schema = {
            "name": SCHEMA_NAME,
            "strict": self.strict,
            "schema": msgspec.Raw(self._schema),
        }
        self._response_format = msgspec.json.encode(
            {"type": "json_schema", "json_schema": json_schema}
        )

    def render_body_part(self, mode: Mode) -> bytes:
        """Returns the part of a request's body that requests this form."""
        if mode == "guided_json":
            return b',"guided_json":' + self._schema
        if mode == "json_schema":
            return render_format_part(self._response_format)
        return render_format_part(b'{"type":"json_object"}' if mode == "json_object" else b"")

    def get_feature_name(self, mode: Mode) -> str:
        """Returns the mode, with the hash of the schema if the mode sends the schema."""
        return f"{mode} {self._digest}" if mode in {"json_schema", "guided_json"} else mode

    def read_reply(self, text: str, *, is_cut_off: bool = False) -> ReadResult[Any]:  # noqa: ARG002
        """Reads a reply with ``read_json_reply``; the schema is not checked.

        A reply that was cut off is not read: what it lacks could not be told from what is empty.
        """
        return read_json_reply(text, array_root=self._array_root)


def read_json_reply(text: str, *, array_root: bool = False) -> ReadResult[Any]:
    """Reads a reply: JSON alone, in a code fence, or as the only value amid prose.

    Args:
        text: the reply.
        array_root: whether the schema asks for an array (``asks_for_array``); otherwise one of
            scalars amid prose, such as [1], is no reply.

    Returns:
        The result. A value of None may be a JSON null; ``problem`` says whether parsing failed.
    """
    try:
        return ReadResult(parse_reply(text, MAX_REPLY_CHARS), exact=True)
    except ValueError as error:
        problem = str(error)
    if len(text) <= MAX_REPLY_CHARS:
        with suppress(ValueError):  # the problem to report is that of the whole reply
            return ReadResult(read_embedded_json(text, array_root=array_root))
    return ReadResult(None, problem)


def asks_for_array(schema: Any) -> bool:
    """Returns whether the root of a schema is an array, also by a reference within the schema."""
    node = schema
    for _ in range(_MAX_REFERENCES):
        if not isinstance(node, Mapping):
            return False
        types, reference = node.get("type"), node.get("$ref")
        if types is not None:
            return types == "array" or (isinstance(types, list) and "array" in types)
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return "items" in node or "prefixItems" in node
        node = schema
        for key in reference[2:].split("/"):
            node = node.get(key) if isinstance(node, Mapping) else None
    return False


def remove_extensions(schema: Any) -> Any:
    """Returns a schema without its ``x-…`` members; properties with such names remain."""
    if isinstance(schema, list):
        return [remove_extensions(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    members: dict[str, Any] = {}
    for key, value in schema.items():
        if key.startswith("x-"):
            continue
        if key in _SUBSCHEMA_MAPS and isinstance(value, Mapping):
            members[key] = {name: remove_extensions(item) for name, item in value.items()}
        else:
            members[key] = value if key in _DATA_KEYWORDS else remove_extensions(value)
    return members


def allows_strict(schema: Mapping[str, Any]) -> bool:
    """Returns whether a schema is in the subset that OpenAI's strict mode accepts.

    That is: an object at the root; every object forbids additional properties and requires all of
    its own; no keywords outside the subset; at most ten levels and five thousand properties.
    (OpenAI, guide "Structured model outputs", supported schemas.)
    """
    if schema.get("type") != "object" or "anyOf" in schema:
        return False
    n_properties = 0
    for node, level in _iter_subschemas(schema, 0):
        if not isinstance(node, Mapping) or not _STRICT_KEYWORDS.issuperset(node):
            return False
        if level > _MAX_STRICT_LEVELS or isinstance(node.get("items"), list):
            return False
        node_properties = node.get("properties", {})
        n_properties += len(node_properties)
        types = node.get("type")
        if (
            "properties" in node
            or types == "object"
            or (isinstance(types, list) and "object" in types)
        ):
            if node.get("additionalProperties") is not False:
                return False
            if set(node.get("required", ())) != set(node_properties):
                return False
    return n_properties <= _MAX_STRICT_PROPERTIES


def _iter_subschemas(schema: Mapping[str, Any], level: int) -> Iterator[tuple[Any, int]]:
    """Yields a schema and all schemas in it, each with its nesting level."""
    # A stack instead of recursion, since a user's schema may be nested deeply.
    stack: list[tuple[Any, int]] = [(schema, level)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        if not isinstance(node, Mapping):
            continue
        for key in ("properties", "$defs", "definitions"):
            stack += [(child, depth + 1) for child in node.get(key, {}).values()]
        if "items" in node and not isinstance(node["items"], list):
            stack.append((node["items"], depth + 1))
        stack += [(child, depth + 1) for child in node.get("anyOf", ())]
