"""Files that hold one SKN document, as SKN or as typed JSON, for the commands that work on them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from eval.skn.commands.notation_options import NotationName, ReadingName
from eval.skn.grammar.document import Document
from eval.skn.grammar.lexical import MAX_CHARACTERS
from eval.skn.grammar.typed_json import read_json
from eval.skn.notation import Parsed, Problem, read, serialize
from kg.base.errors import MissingFileError, NotationError
from kg.base.files import require_file, to_json_bytes

STANDARD_INPUT = "-"
_MAX_BYTES = 4 * MAX_CHARACTERS
"""No character takes more in UTF-8."""


class Understood(NamedTuple):
    """One file and what it says.

    Attributes:
        name: its path, or ``<stdin>``.
        text: what it holds.
        notation: how it is written.
        parsed: what was read; the document of a reading that was not allowed is left out.
    """

    name: str
    text: str
    notation: NotationName
    parsed: Parsed

    def document(self) -> Document:
        """The document.

        Raises:
            NotationError: there is none; it names file, line and column of the first loss or
                problem.
        """
        if self.parsed.document is not None:
            return self.parsed.document
        first = self.parsed.loss or self.parsed.problems[0]
        others = len(self.parsed.problems) - 1
        more = f" (and {others} more)" if others else ""
        raise NotationError(
            f"{first.what}{more}",
            where=f"{self.name}:{first.line}:{first.column}",
            hint="The grammar stands in docs/skn.md; `epoche skn validate` lists all problems.",
        )


def understand(file: str, reading: ReadingName) -> Understood:
    """Reads one file, however it is written; the first character tells JSON from SKN.

    Args:
        file: a path, or ``-`` for standard input.
        reading: how far SKN may be from its grammar.

    Raises:
        MissingFileError: no such file, or no standard input.
    """
    name = "<stdin>" if file == STANDARD_INPUT else file
    data = _bytes_of(file)
    if len(data) > _MAX_BYTES:
        return _unread(name, Problem(1, 1, f"larger than {_MAX_BYTES} bytes: not read"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _unread(name, _first_bad_byte(data, error.start))
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return Understood(name, text, NotationName.json, read_json(text))
    parsed = read(text, strict=reading is ReadingName.strict)
    if reading is ReadingName.lossless and not parsed.lossless:
        parsed = parsed._replace(document=None)
    return Understood(name, text, NotationName.skn, parsed)


def written(document: Document, notation: NotationName) -> str:
    """``document`` as a file in this notation holds it, a line break at its end."""
    if notation is NotationName.skn:
        return serialize(document) + "\n"
    return to_json_bytes(document, indent=2).decode() + "\n"


def _bytes_of(file: str) -> bytes:
    """At most one byte more than the largest file has, so that no file fills the memory."""
    if file == STANDARD_INPUT:
        if sys.stdin is None:
            raise MissingFileError("there is none", where="standard input", hint="Name a file.")
        return sys.stdin.buffer.read(_MAX_BYTES + 1)
    with require_file(Path(file), "document").open("rb") as handle:
        return handle.read(_MAX_BYTES + 1)


def _unread(name: str, problem: Problem) -> Understood:
    return Understood(name, "", NotationName.skn, Parsed(None, (problem,), lossless=False))


def _first_bad_byte(data: bytes, start: int) -> Problem:
    before = data[:start]
    column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8")) + 1
    return Problem(before.count(b"\n") + 1, column, "not UTF-8")


def lines_of(understood: Understood) -> list[str]:
    """The problems as compilers write them: ``name:line:column: what``."""
    return [_line(understood.name, problem) for problem in understood.parsed.problems]


def _line(name: str, problem: Problem) -> str:
    return f"{name}:{problem.line}:{problem.column}: {problem.what}"
