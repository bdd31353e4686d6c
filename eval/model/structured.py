"""Structured replies: the schema a server is given, and the strict local reading of what it says.

Servers differ: some follow a schema token by token, some only promise JSON, some ignore the wish
without a word. So the reply's form is also written into the prompt, the same way for every
server, and every reply is validated here whatever the server promised.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from eval.model.completion import Message, Mode
from eval.model.strict_reply import candidates, parse_reply

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

MAX_REPLY_CHARS = 100_000
"""A longer reply is not searched for JSON."""


class Asked(Protocol[T_co]):
    """How a structured reply is asked for and read: by a type (``Form``) or by a schema."""

    def body_part(self, mode: Mode) -> bytes:
        """What the request says of it, as members of a JSON object with a comma before each."""
        ...

    def feature(self, mode: Mode) -> str:
        """What a server does not do that refuses it, as a name to remember that by."""
        ...

    def read(self, text: str) -> Read[T_co]:
        """What the reply came to."""
        ...


class Form(Generic[T]):
    """How replies of one type are asked for and read. Make it with ``form_of``."""

    def __init__(self, reply: type[T]) -> None:
        self._reply = reply
        schema = strict_schema(reply)
        self.instruction = (
            "Reply with one JSON object and nothing else. It must match this JSON Schema:\n"
            + json.dumps(schema, ensure_ascii=False)
        )
        wish = {"name": reply.__name__, "strict": True, "schema": schema}
        self._formats: dict[Mode, bytes] = {
            "json_schema": msgspec.json.encode({"type": "json_schema", "json_schema": wish}),
            "json_object": b'{"type":"json_object"}',
            "text": b"",
            "guided_json": b"",
        }
        self._schema = msgspec.json.encode(schema)

    def response_format(self, mode: Mode) -> bytes:
        """The request's ``response_format`` as JSON; empty where there is none."""
        return self._formats[mode]

    def body_part(self, mode: Mode) -> bytes:
        """The part of a request's body that asks for it."""
        if mode == "guided_json":
            return b',"guided_json":' + self._schema
        return part_of_format(self._formats[mode])

    def feature(self, mode: Mode) -> str:
        """The mode: a server takes it for every type or for none."""
        return mode

    def instruct(self, messages: Sequence[Message]) -> list[Message]:
        """``messages`` with the reply's form at the end of the system message."""
        turns = list(messages)
        if turns and turns[0]["role"] == "system":
            content = f"{turns[0]['content']}\n\n{self.instruction}"
            return [{"role": "system", "content": content}, *turns[1:]]
        return [{"role": "system", "content": self.instruction}, *turns]

    def read(self, text: str) -> Read[T]:
        """Reads a reply: JSON alone, in one fence, or as the only object amid prose."""
        try:
            return Read(self._convert(text), exact=True)
        except ValueError as error:
            problem = str(error)
        if len(text) > MAX_REPLY_CHARS:
            return Read(None, f"longer than {MAX_REPLY_CHARS} characters")
        for candidate in candidates(text):
            try:
                return Read(self._convert(candidate))
            except ValueError as error:
                problem = str(error)
        return Read(None, problem)

    def _convert(self, text: str) -> T:
        """``text`` as the type.

        Raises:
            ValueError: with the reason in words.
        """
        value = parse_reply(text, MAX_REPLY_CHARS)
        if not isinstance(value, dict):
            raise ValueError("JSON, but not an object")  # noqa: TRY004 - a fault of the text
        try:
            return msgspec.convert(value, self._reply)
        except msgspec.ValidationError as error:
            raise ValueError(f"not as asked: {error}") from error


class Read(NamedTuple, Generic[T_co]):
    """What reading a reply came to.

    Attributes:
        value: the typed value, or null.
        problem: why there is none.
        exact: whether the whole text was the JSON asked for, as a server that follows schemas
            gives it.
    """

    value: T_co | None
    problem: str | None = None
    exact: bool = False


_forms: dict[type, Form[Any]] = {}


def form_of(reply: type[T]) -> Form[T]:
    """The form of one type, made once."""
    if reply not in _forms:
        _forms[reply] = Form(reply)
    return _forms[reply]


def strict_schema(reply: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a struct as strict servers want it.

    That is (OpenAI's structured outputs): an object at the root, and for every object
    ``additionalProperties: false`` and all properties required; no defaults.
    """
    schema = msgspec.json.schema(reply)
    shared: dict[str, Any] = schema.get("$defs", {})
    root: dict[str, Any] = shared.pop(reply.__name__)
    if shared:
        root["$defs"] = shared
    _tighten(root)
    return root


def _tighten(node: Any) -> None:
    if isinstance(node, dict):
        node.pop("default", None)
        properties = node.get("properties", {})
        if properties:
            node["additionalProperties"] = False
            node["required"] = list(properties)
        # Names of properties are data: one may be called "default".
        for child in (*properties.values(), *(node[key] for key in node if key != "properties")):
            _tighten(child)
    elif isinstance(node, list):
        for child in node:
            _tighten(child)


def part_of_format(wish: bytes) -> bytes:
    """A ``response_format`` as the part of a request's body; empty where there is none."""
    return b',"response_format":' + wish if wish else b""
