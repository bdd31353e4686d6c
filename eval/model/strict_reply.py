"""JSON in a model's reply: found amid whatever stands around it, and read within bounds."""

from __future__ import annotations

import re
from typing import Any, Final

from kg.base.strict_json import NotJsonError, parse_json

MAX_DEPTH: Final = 256
"""Levels of objects and arrays a reply may have; the schemas of this world have fewer."""

_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)```", re.DOTALL)


def parse_reply(text: str, most: int) -> Any:
    """The value of a text that is JSON and nothing else, as ``parse_json`` reads it.

    Args:
        text: the text.
        most: characters it may have.

    Raises:
        ValueError: with the reason in words: it is empty, longer, no JSON as ``parse_json`` wants
            it, or nested more than ``MAX_DEPTH`` deep.
    """
    if not text.strip():
        raise ValueError("empty")
    if len(text) > most:
        raise ValueError(f"longer than {most} characters")
    try:
        value = parse_json(text)
    except NotJsonError as error:
        raise ValueError(f"not JSON: {error.what}" if error.line else error.what) from error
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
        raise ValueError("nested too deeply")
    return value


def candidates(text: str, *, arrays: bool = False) -> list[str]:
    """Parts of a reply that may be the JSON asked for: after a thought, in a fence, amid prose.

    Args:
        text: the reply.
        arrays: whether it may be an array as well as an object.
    """
    said = _THOUGHT.sub("", text, count=1) if text.lstrip().startswith("<think>") else text
    found = [said] if said != text else []
    fences = _FENCE.findall(said)
    if len(fences) == 1:
        found.append(fences[0])
    if not fences:
        # If there are two values, what lies between them is no JSON, and neither is taken.
        spans = [(said.find(one), said.rfind(other) + 1) for one, other in ("{}", "[]")]
        spans = [(start, end) for start, end in spans[: 1 + arrays] if 0 <= start < end]
        # Whichever begins first: an array of objects is not taken for the objects in it.
        found += [said[start:end] for start, end in sorted(spans)]
    return found


def _is_deeper(value: Any, most: int) -> bool:
    """Whether ``value`` has more levels of objects and arrays than ``most``."""
    level = [value]
    for _ in range(most + 1):
        level = [one for one in level if isinstance(one, dict | list)]
        level = [held for one in level for held in (one.values() if isinstance(one, dict) else one)]
    return bool(level)
