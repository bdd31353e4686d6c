"""Finds the JSON in a model's reply, and parses it with limits on length and depth."""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from typing import Any, Final, NamedTuple

from eval.replies.cleaner import THOUGHT_END, THOUGHT_START
from kg.base.strict_json import NotJsonError, parse_json

MAX_DEPTH: Final = 256
"""Maximum number of nested objects and arrays in a reply; real schemas have far fewer."""

_MAX_REGIONS: Final = 10_000
"""Maximum number of bracketed regions in a reply; one with more is not read."""

_TOP_LEVEL = re.compile(
    rf"(?P<end>{THOUGHT_END})|(?P<start>{THOUGHT_START})|```|[{{}}\[\]]", re.IGNORECASE
)
"""What counts in the prose of a reply."""
_IN_BRACKETS = re.compile(
    rf'"[^"\\]*(?:\\.[^"\\]*)*"?|(?P<end>{THOUGHT_END})|```|[{{}}\[\]]',
    re.DOTALL | re.IGNORECASE,
)
"""What counts between brackets: strings, also an unfinished one, and what ends a draft."""
_IN_MEMBERS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|```|[{}\[\],]', re.DOTALL)
"""What counts in an unfinished object: strings, also an unfinished one, brackets and commas."""
_THOUGHT_END = re.compile(THOUGHT_END, re.IGNORECASE)
_FENCE_START = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n\s*")
"""The first line of a Markdown code block, with or without a language name."""
_JSON_START = re.compile(r"""\{\s*(?:["']|$)|\[\s*["'{]""")
"""The start of a region that is meant as JSON, even if it is none; prose is {see page 2}, [1]."""
_PAIRS: Final = {"{": "}", "[": "]"}
_BROKEN: Final = object()
"""Stands for JSON that is unfinished or wrong."""


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


class _Region(NamedTuple):
    """A part of a reply that may be its JSON: the content of a fence, or a bracketed region."""

    start: int
    end: int
    is_fenced: bool = False
    is_broken: bool = False
    """Whether it is unfinished, or has a closing bracket that closes nothing."""


def read_embedded_json(text: str, *, array_root: bool = False) -> Any:
    """Reads the JSON in a reply that is more than JSON: in a code fence, or amid prose.

    JSON is never sought inside an object or array that is unfinished or wrong, nor in a thought.
    Code fences take precedence over prose. An array of scalars amid prose, such as [1], is more
    likely a reference.

    Args:
        text: the reply.
        array_root: whether an array is asked for, so that one of scalars may be the reply.

    Raises:
        ValueError: there is no JSON, it is wrong or unfinished, or there are several values.
    """
    regions = _find_regions(text)
    if len(regions) > _MAX_REGIONS:
        raise ValueError("too many brackets")
    ranked: dict[int, list[Any]] = defaultdict(list)
    for region in regions:
        part = text[region.start : region.end]
        try:
            value = _BROKEN if region.is_broken else parse_reply(part, len(part))
        except ValueError:
            value = _BROKEN
        if value is _BROKEN:
            # A draft that is wrong counts, since it may be the reply itself; prose does not.
            if region.is_broken or _JSON_START.match(part.lstrip()):
                ranked[3 if region.is_fenced else 2].append(value)
        else:
            rank = _rank_value(value, is_fenced=region.is_fenced)
            if rank or array_root:
                ranked[rank].append(value)
    if not ranked:
        raise ValueError("no JSON in the text")
    values = ranked[max(ranked)]
    if len(values) > 1:
        raise ValueError("several JSON values")
    if values[0] is _BROKEN:
        raise ValueError("the JSON in the text is unfinished or wrong")
    return values[0]


def read_complete_members(text: str) -> dict[str, Any]:
    """Reads the complete members of an unfinished object with which a reply begins.

    The object may be in a code fence. A member is complete if its value ends with a quotation mark
    or a bracket, or a comma follows it: ``{"answer": "NO`` may become NOT, and 0.9 may become 0.95.

    Raises:
        ValueError: the reply does not begin with an unfinished object, or its members are wrong.
    """
    fence = _FENCE_START.match(text.lstrip())
    text = text.lstrip()[fence.end() if fence else 0 :].strip()
    if not text.startswith("{"):
        raise ValueError("no object at the beginning")
    expected: list[str] = []
    last_comma = 0
    for token in _IN_MEMBERS.finditer(text):
        mark = token.group()
        if mark in _PAIRS:
            expected.append(_PAIRS[mark])
        elif mark in _PAIRS.values():
            if mark != expected.pop():
                raise ValueError("a bracket closes nothing")
            if not expected:
                raise ValueError("the object is complete")
        elif mark == "," and len(expected) == 1:
            last_comma = token.start()
        elif mark == "```":
            raise ValueError("a code fence ends the object")
    if text.endswith(('"', "}", "]")):
        with suppress(ValueError):  # the last member, or the name of the next one, is unfinished
            return _parse_object(text + "}")
    return _parse_object(text[:last_comma] + "}")


def _parse_object(text: str) -> dict[str, Any]:
    value = parse_reply(text, len(text))
    if not isinstance(value, dict):
        raise ValueError("no object")  # noqa: TRY004 - an error of the text
    return value


def _rank_value(value: Any, *, is_fenced: bool) -> int:
    """Returns how surely a value in a reply is meant as the reply, from 0 to 3."""
    if is_fenced:
        return 3 if isinstance(value, dict | list) else 1
    if isinstance(value, list):
        return 2 if any(isinstance(item, dict) for item in value) else 0
    return 2 if value else 1


def _find_regions(text: str) -> list[_Region]:
    """Finds the outermost bracketed regions and the code blocks after the last thought."""
    regions: list[_Region] = []
    position = 0
    while (token := _TOP_LEVEL.search(text, position)) and len(regions) <= _MAX_REGIONS:
        position = token.end()
        mark = token.group()
        if token["end"]:
            regions.clear()  # what came before was the thought
        elif token["start"]:
            thought_end = _THOUGHT_END.search(text, position)
            if thought_end is None:
                return [_Region(token.start(), len(text), is_broken=True)]
            position = thought_end.start()
        elif mark == "```":
            block = _find_block(text, token.start())
            if block is not None:
                regions.append(block)
                position = block.end + len(mark)
        elif mark in _PAIRS:
            region = _find_region(text, token.start())
            regions.append(region)
            position = region.end
        else:
            regions.append(_Region(token.start(), position, is_broken=True))
    return regions


def _find_block(text: str, start: int) -> _Region | None:
    """Returns the content of the code block that starts here; None if it has no end."""
    first_line = _FENCE_START.match(text, start)
    if first_line is None:
        return None
    content = position = first_line.end()
    if text[content : content + 1] in _PAIRS:
        position = _find_region(text, content).end  # a text in JSON may have a fence of its own
    end = text.find("```", position)
    return None if end < 0 else _Region(content, end, is_fenced=True)


def _find_region(text: str, start: int) -> _Region:
    """Returns the region from an opening bracket to the closing one.

    If that is missing, or another bracket is closed before it, the region is broken and lasts to
    the next code block, the end of a thought, or the end of the text.
    """
    expected: list[str] = []
    is_broken = False
    for token in _IN_BRACKETS.finditer(text, start):
        mark = token.group()
        if mark == "```" or token["end"]:
            return _Region(start, token.start(), is_broken=True)
        if is_broken or mark.startswith('"'):
            continue
        if mark in _PAIRS:
            expected.append(_PAIRS[mark])
        elif mark != expected.pop():
            is_broken = True
        elif not expected:
            return _Region(start, token.end())
    return _Region(start, len(text), is_broken=True)


def _is_deeper(value: Any, max_depth: int) -> bool:
    """Returns whether ``value`` has more than ``max_depth`` levels of objects and arrays."""
    nodes = [value]
    for _ in range(max_depth + 1):
        nodes = [node for node in nodes if isinstance(node, dict | list)]
        nodes = [
            child for node in nodes for child in (node.values() if isinstance(node, dict) else node)
        ]
    return bool(nodes)
