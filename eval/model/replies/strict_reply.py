"""Finds the JSON in a model's reply, and parses it with limits on length and depth."""

from __future__ import annotations

import re
from typing import Any, Final

from kg.base.strict_json import NotJsonError, parse_json

MAX_DEPTH: Final = 256
"""Maximum number of nested objects and arrays in a reply; real schemas have far fewer."""

_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
"""The reasoning that some models write before their reply."""

_FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)```", re.DOTALL)
"""A Markdown code block, with or without a language name; the group is its content."""


def parse_reply(text: str, max_chars: int) -> Any:
    """Parses a text that must be only JSON, with ``parse_json``.

    Args:
        text: the text.
        max_chars: maximum number of characters.

    Raises:
        ValueError: with the reason in words: the text is empty, too long, not strict JSON, or
            nested more than ``MAX_DEPTH`` deep.
    """
    if not text.strip():
        raise ValueError("empty")
    if len(text) > max_chars:
        raise ValueError(f"longer than {max_chars} characters")
    try:
        value = parse_json(text)
    except NotJsonError as error:
        raise ValueError(f"not JSON: {error.what}" if error.line else error.what) from error
    # Counting brackets is quick, and few brackets rule out deep nesting.
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
        raise ValueError("nested too deeply")
    return value


def find_json_candidates(text: str, *, arrays: bool = False) -> list[str]:
    """Returns the parts of a reply that may be the requested JSON.

    These are the text after a thought, the content of the only code fence, or without fences the
    text from the first opening to the last closing bracket.

    Args:
        text: the reply.
        arrays: whether the JSON may be an array as well as an object.
    """
    reply = _THOUGHT.sub("", text, count=1) if text.lstrip().startswith("<think>") else text
    candidates = [reply] if reply != text else []
    fences = _FENCE.findall(reply)
    if len(fences) == 1:
        candidates.append(fences[0])
    if not fences:
        # With two values the span includes the text between them, so it is refused as not JSON.
        spans = [
            (reply.find(opening), reply.rfind(closing) + 1) for opening, closing in ("{}", "[]")
        ]
        spans = [(start, end) for start, end in spans[: 1 + arrays] if 0 <= start < end]
        # The earliest span comes first. Otherwise an array with one object would be read as that
        # object.
        candidates += [reply[start:end] for start, end in sorted(spans)]
    return candidates


def _is_deeper(value: Any, max_depth: int) -> bool:
    """Returns whether ``value`` has more than ``max_depth`` levels of objects and arrays."""
    nodes = [value]
    for _ in range(max_depth + 1):
        nodes = [node for node in nodes if isinstance(node, dict | list)]
        nodes = [
            child for node in nodes for child in (node.values() if isinstance(node, dict) else node)
        ]
    return bool(nodes)
