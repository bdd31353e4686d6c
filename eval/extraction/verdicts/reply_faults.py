"""Says in words why a reply is not JSON: what kind of fault it is, and where."""

from __future__ import annotations

import re
from typing import Final

from eval.model.replies.schema_form import MAX_REPLY_CHARS
from eval.model.replies.strict_reply import read_embedded_json
from eval.replies.cleaner import THOUGHT_END
from kg.base.plain_text import clean_text
from kg.base.strict_json import NotJsonError, parse_json

_START: Final = re.compile(r"[{\[]")
_THOUGHT_END: Final = re.compile(THOUGHT_END, re.IGNORECASE)
_TOKENS: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]', re.DOTALL)
"""Strings, also an unfinished one, and brackets."""
_COMMA: Final = re.compile(r",\s*[}\]]")
_COMMA_BEFORE: Final = re.compile(r",\s*$")
_MAX_SHOWN: Final = 60
_NOT_JSON: Final = "not JSON"


def describe_fault(text: str, problem: str) -> str:
    """Returns why a reply is not JSON, in more words than the parser's.

    Args:
        text: the reply.
        problem: why it could not be read; words before and instead of "not JSON" are kept, and so
            are all if the text can be parsed.
    """
    before, found, _ = problem.rpartition(_NOT_JSON)
    if not found or not text.strip() or len(text) > MAX_REPLY_CHARS:
        return problem
    fault = _find_fault(text)
    return f"{before}{_NOT_JSON}: {fault}" if fault else problem


def _find_fault(text: str) -> str:
    ends = [match.end() for match in _THOUGHT_END.finditer(text)]
    start = _START.search(text, ends[-1] if ends else 0)
    reason = ""
    try:
        read_embedded_json(text)
    except ValueError as error:
        reason = str(error)
    is_bracketed = start is not None and not text[: start.start()].strip()
    if start is None or (reason == "no JSON in the text" and not is_bracketed):
        return f"only words, “{clean_text(text, _MAX_SHOWN)}”"
    if reason == "several JSON values":
        return "it has several JSON values, and nothing says which one is meant"
    part = text[start.start() :]
    try:
        parse_json(part)
    except NotJsonError as error:
        return _describe_error(text, start.start(), error)
    return reason


def _describe_error(text: str, start: int, error: NotJsonError) -> str:
    """Describes a syntax error in the part of a reply from ``start`` on."""
    if not error.line:
        return error.what
    part = text[start:]
    lines = part.split("\n")
    at = sum(len(line) + 1 for line in lines[: error.line - 1]) + error.column - 1
    after_comma = _COMMA.match(part, at)
    if after_comma:  # newer parsers name the place of the comma
        at = after_comma.end() - 1
    place = f"line {text.count(chr(10), 0, start + at) + 1}"
    place += f", column {start + at - text.rfind(chr(10), 0, start + at)}"
    is_at_end = not part[at:].strip().strip("`")
    if _count_open(part) and (is_at_end or error.what.startswith("Unterminated string")):
        return "it is cut off: the text ends before the JSON does"
    if part[at : at + 1] in ("}", "]") and _COMMA_BEFORE.search(part[:at]):
        return f"a comma before the closing bracket at {place}"
    return f"{error.what.removesuffix(' at')} at {place}"


def _count_open(part: str) -> int:
    """Counts the brackets that are not closed; strings are skipped."""
    depth = 0
    for token in _TOKENS.finditer(part):
        mark = token.group()
        if mark.startswith('"'):
            continue
        depth += 1 if mark in "{[" else -1
        if not depth:
            return 0
    return depth
