"""A reply that must follow a JSON Schema given as data: how it is asked for, and read.

Unlike a typed reply (``Form``) the schema is not ours: servers may enforce one and refuse another,
so what one refuses is remembered by schema; a reply may be any JSON value; and whether it is valid
is for whoever asked to find out, as is how the schema is shown in the prompt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from eval.model.completion import Mode
from eval.model.strict_reply import candidates, parse_reply
from eval.model.structured import Read, part_of_format
from kg.words.plain_text import words_of

MAX_REPLY_CHARS: Final = 2_000_000
"""As many as a server's reply may have bytes."""

NAME: Final = "extraction_result"

_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords whose value has subschemas under names that are data."""
_DATA = ("enum", "const", "default", "examples")
"""Keywords whose value is data, whatever it looks like."""
_IN_STRICT = frozenset(
    words_of(
        """
    type properties required additionalProperties items enum const anyOf $ref $defs definitions
    title description $schema pattern format minimum maximum exclusiveMinimum exclusiveMaximum
    multipleOf minItems maxItems
    """
    )
)
_LEVELS_IN_STRICT = 10
_PROPERTIES_IN_STRICT = 5000


class SchemaForm:
    """The form of replies under one schema.

    Args:
        schema: a JSON Schema, never changed.

    Attributes:
        shown: the schema without the members that only a scorer understands (``x-…``).
        strict: whether it lies within the part of JSON Schema that strict servers enforce.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.shown: dict[str, Any] = without_extensions(schema)
        self.strict = allows_strict(self.shown)
        self._schema = msgspec.json.encode(self.shown)
        self._digest = hashlib.sha256(self._schema).hexdigest()[:16]
        wish = {"name": NAME, "strict": self.strict, "schema": msgspec.Raw(self._schema)}
        self._wish = msgspec.json.encode({"type": "json_schema", "json_schema": wish})

    def body_part(self, mode: Mode) -> bytes:
        """The part of a request's body that asks for it."""
        if mode == "guided_json":
            return b',"guided_json":' + self._schema
        if mode == "json_schema":
            return part_of_format(self._wish)
        return part_of_format(b'{"type":"json_object"}' if mode == "json_object" else b"")

    def feature(self, mode: Mode) -> str:
        """The mode; where the schema is sent along, of this schema."""
        return f"{mode} {self._digest}" if mode in {"json_schema", "guided_json"} else mode

    def read(self, text: str) -> Read[Any]:
        """Reads a reply: JSON alone, in one fence, or as the only value amid prose.

        Returns:
            The value, which may be null: what tells is the problem.
        """
        try:
            return Read(parse_reply(text, MAX_REPLY_CHARS), exact=True)
        except ValueError as error:
            problem = str(error)
        if len(text) <= MAX_REPLY_CHARS:
            for candidate in candidates(text, arrays=True):
                try:
                    return Read(parse_reply(candidate, MAX_REPLY_CHARS))
                except ValueError:
                    # The first reason is of the whole reply, and that is what is to be told.
                    continue
        return Read(None, problem)


def without_extensions(schema: Any) -> Any:
    """A schema without its ``x-…`` members; a property of such a name stays."""
    if isinstance(schema, list):
        return [without_extensions(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key.startswith("x-"):
            continue
        if key in _MAPS and isinstance(value, Mapping):
            kept[key] = {name: without_extensions(one) for name, one in value.items()}
        else:
            kept[key] = value if key in _DATA else without_extensions(value)
    return kept


def allows_strict(schema: Mapping[str, Any]) -> bool:
    """Whether a schema lies within the subset that OpenAI's strict mode takes.

    That is: an object at the root; in every object no other properties and all required; none of
    the keywords outside the subset; at most ten levels and five thousand properties. (OpenAI,
    guide "Structured model outputs", supported schemas.)
    """
    if schema.get("type") != "object" or "anyOf" in schema:
        return False
    properties = 0
    for node, level in _subschemas(schema, 0):
        if not isinstance(node, Mapping) or not _IN_STRICT.issuperset(node):
            return False
        if level > _LEVELS_IN_STRICT or isinstance(node.get("items"), list):
            return False
        held = node.get("properties", {})
        properties += len(held)
        named = node.get("type")
        if (
            "properties" in node
            or named == "object"
            or (isinstance(named, list) and "object" in named)
        ):
            if node.get("additionalProperties") is not False:
                return False
            if set(node.get("required", ())) != set(held):
                return False
    return properties <= _PROPERTIES_IN_STRICT


def _subschemas(schema: Mapping[str, Any], level: int) -> Iterator[tuple[Any, int]]:
    """A schema and all schemas in it, each with the number of schemas around it."""
    waiting: list[tuple[Any, int]] = [(schema, level)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        if not isinstance(node, Mapping):
            continue
        for key in ("properties", "$defs", "definitions"):
            waiting += [(one, depth + 1) for one in node.get(key, {}).values()]
        if "items" in node and not isinstance(node["items"], list):
            waiting.append((node["items"], depth + 1))
        waiting += [(one, depth + 1) for one in node.get("anyOf", ())]
