"""Requests structured replies of a Python type, and validates them strictly.

Servers differ: some enforce a schema token by token, some only guarantee JSON, some silently ignore
the request. So the form of the reply is also written into the prompt, in the same way for every
server, and every reply is validated here, for every server.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from eval.model.completion import Message, Mode
from eval.model.replies.strict_reply import (
    parse_reply,
    read_complete_members,
    read_embedded_json,
)

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

MAX_REPLY_CHARS = 100_000
"""A longer reply is not searched for JSON."""


class ReplyForm(Protocol[T_co]):
    """The form of a structured reply, by a type (``TypedForm``) or by a schema (``SchemaForm``)."""

    def render_body_part(self, mode: Mode) -> bytes:
        """Returns the part of a request's body that requests this form.

        These are members of a JSON object with a comma before each.
        """
        ...

    def get_feature_name(self, mode: Mode) -> str:
        """Returns the name under which a server's refusal of this form is remembered."""
        ...

    def read_reply(self, text: str, *, is_cut_off: bool = False) -> ReadResult[T_co]:
        """Reads and validates a reply, which may have been cut off at ``max_tokens``."""
        ...


class TypedForm(Generic[T]):
    """The form of replies of one type. Create it with ``get_form``.

    Fields that may be ``UNSET`` are required of every reply that is complete. A reply that was cut
    off may lack them, so that a model that never stops writing does not lose its answer.
    """

    def __init__(self, reply: type[T]) -> None:
        self._reply = reply
        struct: Any = reply
        self._required = [
            field.name for field in msgspec.structs.fields(struct) if field.default is msgspec.UNSET
        ]
        schema = build_strict_schema(reply)
        self.instruction = (
            "Reply with one JSON object and nothing else. It must match this JSON Schema:\n"
            + json.dumps(schema, ensure_ascii=False)
        )
        json_schema = {"name": reply.__name__, "strict": True, "schema": schema}
        self._formats: dict[Mode, bytes] = {
            "json_schema": msgspec.json.encode({"type": "json_schema", "json_schema": json_schema}),
            "json_object": b'{"type":"json_object"}',
            "text": b"",
            "guided_json": b"",
        }
        self._schema = msgspec.json.encode(schema)

    def render_body_part(self, mode: Mode) -> bytes:
        """Returns the part of a request's body that requests this form."""
        if mode == "guided_json":
            return b',"guided_json":' + self._schema
        return render_format_part(self._formats[mode])

    def get_feature_name(self, mode: Mode) -> str:
        """Returns the mode, since a server accepts a mode either for every type or for none."""
        return mode

    def add_instruction(self, messages: Sequence[Message]) -> list[Message]:
        """Returns ``messages`` with the reply's form at the end of the system message."""
        turns = list(messages)
        if turns and turns[0]["role"] == "system":
            content = f"{turns[0]['content']}\n\n{self.instruction}"
            return [{"role": "system", "content": content}, *turns[1:]]
        return [{"role": "system", "content": self.instruction}, *turns]

    def read_reply(self, text: str, *, is_cut_off: bool = False) -> ReadResult[T]:
        """Reads a reply: JSON alone, in a code fence, or as the only object amid prose.

        Args:
            text: the reply.
            is_cut_off: whether it ends at ``max_tokens``. Fields that may be unset may then be
                missing, and an unfinished object at its beginning is read without its last member.
        """
        try:
            return ReadResult(self._convert_value(parse_reply(text, MAX_REPLY_CHARS)), exact=True)
        except ValueError as error:
            problem = str(error)
        if len(text) > MAX_REPLY_CHARS:
            return ReadResult(None, f"longer than {MAX_REPLY_CHARS} characters")
        try:
            value = read_embedded_json(text)
        except ValueError:
            if is_cut_off:
                with suppress(ValueError):
                    members = read_complete_members(text)
                    return ReadResult(self._convert_value(members, is_complete=False))
            return ReadResult(None, problem)  # the problem to report is that of the whole reply
        try:
            return ReadResult(self._convert_value(value, is_complete=not is_cut_off))
        except ValueError as error:
            return ReadResult(None, str(error))

    def _convert_value(self, value: Any, *, is_complete: bool = True) -> T:
        """Converts JSON to the type.

        Raises:
            ValueError: with the reason in words.
        """
        if not isinstance(value, dict):
            raise ValueError("JSON, but not an object")  # noqa: TRY004 - an error of the text
        if is_complete:
            for name in self._required:
                if name not in value:
                    raise ValueError(
                        f"not as asked: Object missing required field `{name}`"  # as msgspec says
                    )
        try:
            return msgspec.convert(value, self._reply)
        except msgspec.ValidationError as error:
            raise ValueError(f"not as asked: {error}") from error


class ReadResult(NamedTuple, Generic[T_co]):
    """The result of reading a reply.

    Attributes:
        value: the typed value, or None.
        problem: why it could not be read; None if it was read.
        exact: whether the whole text was the requested JSON, as from a server that enforces
            schemas.
    """

    value: T_co | None
    problem: str | None = None
    exact: bool = False


_forms: dict[type, TypedForm[Any]] = {}


def get_form(reply: type[T]) -> TypedForm[T]:
    """Returns the form of a type; it is built only once."""
    if reply not in _forms:
        _forms[reply] = TypedForm(reply)
    return _forms[reply]


def build_strict_schema(reply: type[Any]) -> dict[str, Any]:
    """Builds the JSON Schema of a struct in the form that OpenAI's strict mode requires.

    That is: an object at the root, and for every object ``additionalProperties: false`` and all
    properties required; no defaults.
    """
    schema = msgspec.json.schema(reply)
    definitions: dict[str, Any] = schema.get("$defs", {})
    root: dict[str, Any] = definitions.pop(reply.__name__)
    if definitions:
        root["$defs"] = definitions
    _make_strict(root)
    return root


def _make_strict(node: Any) -> None:
    if isinstance(node, dict):
        node.pop("default", None)
        properties = node.get("properties", {})
        if properties:
            node["additionalProperties"] = False
            node["required"] = list(properties)
        # Names of properties are data, not keywords: one may be called "default".
        for child in (*properties.values(), *(node[key] for key in node if key != "properties")):
            _make_strict(child)
    elif isinstance(node, list):
        for child in node:
            _make_strict(child)


def render_format_part(response_format: bytes) -> bytes:
    """Returns a ``response_format`` as part of a request's body; empty if there is none."""
    return b',"response_format":' + response_format if response_format else b""
