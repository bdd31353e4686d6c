"""Detects how the text of a CSV file is written: its encoding, delimiter and decimal commas."""

from __future__ import annotations

import io
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from kg.base.errors import RecordError
from kg.base.files import MAX_LINE_BYTES

UTF16_MARKS: Final = (BOM_UTF16_LE, BOM_UTF16_BE)
ENCODING_NAMES: Final = {"utf-8-sig": "UTF-8", "utf-16": "UTF-16"}
_DELIMITER_NAMES: Final = {";": "semicolons", "\t": "tabs", "|": "vertical bars", ",": "commas"}
_QUOTED: Final = re.compile(r'"[^"]*"?')
_DECIMAL_COMMA: Final = re.compile(r"[-+]?\d*,\d+\s*%?")
_SEPARATOR_LINE: Final = re.compile(r"sep=([,;\t])\r?\n?")
"""First line by which Excel may be told the delimiter."""


class TableForm(NamedTuple):
    """How the text of a CSV file is written.

    Attributes:
        encoding: UTF-8 or, with a byte order mark, UTF-16.
        delimiter: separates the columns.
        first_line: number of the line of the header.
    """

    encoding: str
    delimiter: str
    first_line: int


class TableHeader(NamedTuple):
    """The header of a CSV file.

    Attributes:
        names: names of the columns.
        has_decimal_commas: whether numbers may have a decimal comma. They may where commas do not
            separate columns; Excel writes such files in many languages.
    """

    names: tuple[str, ...] = ()
    has_decimal_commas: bool = False

    def write_decimal_point(self, row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        """Returns the row with a decimal point in a number such as ``0,92`` of one column."""
        cell = row.get(name)
        if (
            self.has_decimal_commas
            and isinstance(cell, str)
            and _DECIMAL_COMMA.fullmatch(cell.strip())
        ):
            return {**row, name: cell.replace(",", ".")}
        return row


def open_table(file: IO[bytes], form: TableForm) -> IO[str]:
    """Opens the text of a CSV file at its header; closing it closes the file."""
    handle = io.TextIOWrapper(file, encoding=form.encoding, newline="")
    for _ in range(form.first_line - 1):
        handle.readline(MAX_LINE_BYTES)
    return handle


def detect_form(file: IO[bytes], path: Path, delimiter: str) -> TableForm:
    """Detects how a CSV file is written, and leaves it at its start.

    Args:
        file: the file, at its start.
        path: its path.
        delimiter: the delimiter by its name.

    Raises:
        RecordError: the columns are separated in another way.
    """
    is_utf16 = file.read(2) in UTF16_MARKS
    file.seek(0)
    encoding = "utf-16" if is_utf16 else "utf-8-sig"
    # Errors are replaced, because those of the rows say the line.
    text = io.TextIOWrapper(file, encoding=encoding, newline="", errors="replace")
    header, first_line = text.readline(MAX_LINE_BYTES), 1
    if separator := _SEPARATOR_LINE.fullmatch(header):
        first_line, delimiter = 2, separator[1]
    else:
        delimiter = _choose_delimiter(header, path, delimiter, is_utf16=is_utf16)
    text.detach()
    file.seek(0)
    return TableForm(encoding, delimiter, first_line)


def _choose_delimiter(header: str, path: Path, expected: str, *, is_utf16: bool) -> str:
    """Returns the delimiter of a header; raises a ``RecordError`` as ``detect_form``."""
    bare = _QUOTED.sub("", header)
    found = [delimiter for delimiter in _DELIMITER_NAMES if delimiter in bare]
    if is_utf16 and "\t" in found:
        # "Unicode text" of Excel, whatever its name.
        return "\t"
    problem = ""
    if expected == "," and {",", ";"} <= set(found):
        problem = "the header has both commas and semicolons"
    elif expected in found or not found:
        return expected
    elif expected == "," and ";" in found:
        return ";"
    raise RecordError(
        problem
        or f"the columns are separated by {_DELIMITER_NAMES[found[0]]}, not by "
        f"{_DELIMITER_NAMES[expected]}",
        where=f"{path}:1",
        hint="Columns of .csv are separated by commas or semicolons, those of .tsv by tabs. Put "
        "the name of a column that contains such a character in double quotes.",
    )
