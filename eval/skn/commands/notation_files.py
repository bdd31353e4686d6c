"""Reads files with one SKN document, as SKN or as typed JSON, for the commands of the notation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from eval.skn.commands.notation_options import NotationName, ReadingName
from eval.skn.grammar.document import Document
from eval.skn.grammar.lexical import MAX_CHARACTERS
from eval.skn.grammar.typed_json import read_json
from eval.skn.notation import ParseResult, Problem, serialize, try_parse
from kg.base.errors import MissingFileError, NotationError
from kg.base.files import require_file, to_json_bytes

STANDARD_INPUT = "-"
_MAX_BYTES = 4 * MAX_CHARACTERS
"""A character takes at most four bytes in UTF-8."""


class ParsedFile(NamedTuple):
    """One file and the result of parsing it.

    Attributes:
        name: path of the file, or ``<stdin>``.
        text: content of the file.
        notation: notation of the content.
        parsed: the result of parsing. It has no document if the text has deviations from the
            grammar that the chosen reading does not allow.
    """

    name: str
    text: str
    notation: NotationName
    parse_result: ParseResult

    def require_document(self) -> Document:
        """Returns the document.

        Raises:
            NotationError: there is none. The message has file, line and column of the first
                problem, or of the first one that loses content.
        """
        if self.parse_result.document is not None:
            return self.parse_result.document
        problem = self.parse_result.loss or self.parse_result.problems[0]
        n_more = len(self.parse_result.problems) - 1
        suffix = f" (and {n_more} more)" if n_more else ""
        raise NotationError(
            f"{problem.what}{suffix}",
            where=f"{self.name}:{problem.line}:{problem.column}",
            hint="The grammar is in docs/reference/skn-notation.md; `epoche skn validate` lists "
            "all problems.",
        )


def read_notation_file(file: str, reading: ReadingName) -> ParsedFile:
    """Reads and parses one file; its first character determines whether it is JSON or SKN.

    Args:
        file: a path, or ``-`` for standard input.
        reading: deviations from the grammar that are allowed in SKN.

    Raises:
        MissingFileError: there is no such file, or no standard input.
    """
    name = "<stdin>" if file == STANDARD_INPUT else file
    data = _read_bytes(file)
    if len(data) > _MAX_BYTES:
        return _build_unread_file(name, Problem(1, 1, f"larger than {_MAX_BYTES} bytes: not read"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _build_unread_file(name, _locate_bad_byte(data, error.start))
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return ParsedFile(name, text, NotationName.json, read_json(text))
    parsed = try_parse(text, strict=reading is ReadingName.strict)
    if reading is ReadingName.lossless and not parsed.lossless:
        parsed = parsed._replace(document=None)
    return ParsedFile(name, text, NotationName.skn, parsed)


def render_document(document: Document, notation: NotationName) -> str:
    """Renders ``document`` as the content of a file, with a line break at its end."""
    if notation is NotationName.skn:
        return serialize(document) + "\n"
    return to_json_bytes(document, indent=2).decode() + "\n"


def _read_bytes(file: str) -> bytes:
    """Reads at most one byte more than is allowed, so that a huge file does not fill memory."""
    if file == STANDARD_INPUT:
        if sys.stdin is None:  # a process can be started without standard input
            raise MissingFileError("not available", where="standard input", hint="Name a file.")
        return sys.stdin.buffer.read(_MAX_BYTES + 1)
    with require_file(Path(file), "document").open("rb") as handle:
        return handle.read(_MAX_BYTES + 1)


def _build_unread_file(name: str, problem: Problem) -> ParsedFile:
    return ParsedFile(name, "", NotationName.skn, ParseResult(None, (problem,), lossless=False))


def _locate_bad_byte(data: bytes, start: int) -> Problem:
    prefix = data[:start]
    column = len(prefix[prefix.rfind(b"\n") + 1 :].decode("utf-8")) + 1
    return Problem(prefix.count(b"\n") + 1, column, "not UTF-8")


def format_problems(file: ParsedFile) -> list[str]:
    """Formats the problems as compilers do: ``name:line:column: what``."""
    return [_format_problem(file.name, problem) for problem in file.parse_result.problems]


def _format_problem(name: str, problem: Problem) -> str:
    return f"{name}:{problem.line}:{problem.column}: {problem.what}"
