"""JSON in a model's reply: found amid whatever stands around it, and read to the letter."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

MAX_DEPTH: Final = 256
"""Levels of objects and arrays a reply may have; the schemas of this world have fewer."""

_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)```", re.DOTALL)
_LARGEST_WHOLE = 2**63


def parse_reply(text: str, most: int) -> Any:
    """The value of a text that is JSON and nothing else.

    Whole numbers beyond 64 bits become floats, as in most readers of JSON.

    Args:
        text: the text.
        most: characters it may have.

    Raises:
        ValueError: with the reason in words: it is empty, longer, or no JSON; an object has a key
            twice; a number is not finite; a text holds half a character; it is nested too deeply.
    """
    if not text.strip():
        raise ValueError("empty")
    if len(text) > most:
        raise ValueError(f"longer than {most} characters")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg}") from error
    except RecursionError as error:
        raise ValueError("JSON nested too deeply") from error
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
        raise ValueError("JSON nested too deeply")
    if "\\ud" in text.lower():
        # Half of a surrogate pair is valid JSON, and no text that could be written anywhere.
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError("text that is not Unicode") from error
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


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _whole(digits: str) -> int | float:
    if len(digits) < 19:
        return int(digits)
    number = _finite(digits)
    return int(digits) if abs(number) < _LARGEST_WHOLE else number
