"""Reads the rows of a file of predictions: JSON lines, one JSON array of objects, or CSV.

A file comes from anywhere, so its size and depth are limited, and JSON is read strictly.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from kg.base.errors import RecordError
from kg.base.files import MAX_LINE_BYTES, require_file
from kg.base.plain_text import clean_text
from kg.base.strict_json import NotJsonError, parse_json

MAX_FILE_BYTES: Final = 1024 * 1024 * 1024
MAX_ARRAY_BYTES: Final = 128 * 1024 * 1024
"""Maximum size of a file that is one JSON array, which is read as a whole."""
MAX_DEPTH: Final = 100
"""Maximum nesting of a row."""
CSV_DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}
_SAVE_HINT: Final = "Save it as CSV in UTF-8; Excel calls this 'CSV UTF-8'."
_ROWS_HINT: Final = "A file of predictions is JSON lines, a JSON array, or CSV named *.csv."
_OTHER_FORMATS: Final = {
    b"\x1f\x8b": "compressed by gzip",
    b"PK\x03\x04": "an Excel workbook or another archive",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
    b"PAR1": "a Parquet file",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}
"""First bytes of files that are often given instead of CSV."""
_DELIMITER_NAMES: Final = {";": "semicolons", "\t": "tabs", "|": "vertical bars", ",": "commas"}


def iter_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each row of a file, with file and line (or number of the row in an array).

    Raises:
        MissingFileError: there is no such file.
        RecordError: the file is too large, or a row is not an object.
    """
    path = require_file(path, "predictions file")
    delimiter = CSV_DELIMITERS.get(path.suffix.lower())
    _check_size(path, MAX_FILE_BYTES)
    with path.open("rb") as handle:
        start = handle.read(4096)
    for first_bytes, name in _OTHER_FORMATS.items():
        if start.startswith(first_bytes):
            hint = "Unpack it." if "gzip" in name else _SAVE_HINT
            raise RecordError(f"the file is {name}", where=str(path), hint=hint)
    if delimiter is not None:
        yield from _iter_csv(path, delimiter)
        return
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    yield from _iter_array(path) if start.startswith(b"[") else _iter_lines(path)


def read_header(path: Path) -> list[str]:
    """Returns the names of the columns of a CSV file; empty for any other file."""
    delimiter = CSV_DELIMITERS.get(path.suffix.lower())
    if delimiter is None:
        return []
    with path.open(encoding="utf-8-sig", newline="") as handle:
        return next(csv.reader(_limit_lines(handle, path), delimiter=delimiter), [])


def _iter_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with path.open("rb") as handle:
        number = 0
        while line := handle.readline(MAX_LINE_BYTES + 1):
            number += 1
            where = f"{path}:{number}"
            if len(line) > MAX_LINE_BYTES:
                raise RecordError(f"a line is longer than {MAX_LINE_BYTES:,} bytes", where=where)
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if number == 1:
                _refuse_document(line, path)
            if line.strip():
                yield where, _require_object(_parse(line, where), where)


def _refuse_document(first_line: bytes, path: Path) -> None:
    """Raises a ``RecordError`` if a file is one JSON object over several lines."""
    if first_line.strip() != b"{" or path.stat().st_size > MAX_ARRAY_BYTES:
        return
    try:
        parse_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except NotJsonError:
        return  # The message about the line says more.
    raise RecordError("the file is one JSON object, not rows", where=str(path), hint=_ROWS_HINT)


def _iter_array(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    _check_size(path, MAX_ARRAY_BYTES)
    rows = _parse(path.read_bytes().removeprefix(b"\xef\xbb\xbf"), str(path))
    for number, row in enumerate(rows, start=1):
        where = f"{path}:row {number}"
        yield where, _require_object(row, where)


def _iter_csv(path: Path, delimiter: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the rows of a CSV file; an empty cell is a field that is not given.

    Rows of empty cells only, which spreadsheets leave at the end, are left out.
    """
    _check_delimiter(path, delimiter)
    with path.open(encoding="utf-8-sig", newline="") as handle:
        reader = csv.reader(_limit_lines(handle, path), delimiter=delimiter, strict=True)
        try:
            header = next(reader, [])
            if doubled := [name for name in header if header.count(name) > 1]:
                name = repr(clean_text(doubled[0])) if doubled[0] else "not named"
                raise RecordError(
                    f"two columns are {'called ' if doubled[0] else ''}{name}",
                    where=f"{path}:1",
                    hint="Rename or delete one of them.",
                )
            for cells in reader:
                where = f"{path}:{reader.line_num}"
                if not any(cells):
                    continue
                if len(cells) != len(header):
                    raise RecordError(
                        f"{len(cells)} cells in a row, and {len(header)} columns",
                        where=where,
                        hint="Quote cells that contain a delimiter or a line break.",
                    )
                yield (
                    where,
                    {name: cell for name, cell in zip(header, cells, strict=True) if cell != ""},
                )
        except csv.Error as error:
            raise RecordError(f"not CSV: {error}", where=f"{path}:{reader.line_num}") from error
        except UnicodeDecodeError as error:
            raise RecordError(
                "the text is not UTF-8",
                where=f"{path}, from line {reader.line_num + 1} on",
                hint=_SAVE_HINT,
            ) from error


def _check_delimiter(path: Path, delimiter: str) -> None:
    """Raises a ``RecordError`` if the header has another delimiter, and not the expected one."""
    with path.open("rb") as handle:
        header = handle.readline(MAX_LINE_BYTES)
    if delimiter.encode() in header:
        return
    for other, name in _DELIMITER_NAMES.items():
        if other.encode() in header:
            raise RecordError(
                f"the columns are separated by {name}, not by {_DELIMITER_NAMES[delimiter]}",
                where=f"{path}:1",
                hint="Columns of .csv are separated by commas, those of .tsv by tabs. Where commas "
                "are decimal, Excel writes semicolons: save it as text with tabs, named .tsv, and "
                "with decimal points.",
            )


def _limit_lines(handle: IO[str], path: Path) -> Iterator[str]:
    number = 0
    while line := handle.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise RecordError(
                f"a line is longer than {MAX_LINE_BYTES:,} characters", where=f"{path}:{number}"
            )
        yield line


def _check_size(path: Path, limit: int) -> None:
    if path.stat().st_size > limit:
        raise RecordError(
            f"larger than {limit:,} bytes",
            where=str(path),
            hint="Write one JSON object per line, without what is not needed.",
        )


def _parse(data: bytes, where: str) -> Any:
    try:
        value = parse_json(data)
    except NotJsonError as error:
        raise RecordError(
            f"not JSON: {error}",
            where=where,
            hint=_ROWS_HINT,
        ) from error
    if not is_flat_enough(value):
        raise RecordError(f"nested deeper than {MAX_DEPTH} levels", where=where)
    return value


def is_flat_enough(value: Any) -> bool:
    """Returns whether a value has at most ``MAX_DEPTH`` levels of objects and arrays."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return True
    return False


def _require_object(row: Any, where: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise RecordError(
            "a prediction is not an object", where=where, hint="Each has an id and a value."
        )
    return row
