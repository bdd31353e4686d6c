"""Reads the rows of a file of predictions: JSON lines, one JSON array of objects, CSV or Excel.

A file comes from anywhere, so its size and depth are limited, and JSON is read strictly.
"""

from __future__ import annotations

import csv
import importlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from kg.base.errors import MissingExtraError, RecordError
from kg.base.files import MAX_LINE_BYTES, require_file
from kg.base.strict_json import NotJsonError, parse_json

MAX_FILE_BYTES: Final = 1024 * 1024 * 1024
MAX_ARRAY_BYTES: Final = 128 * 1024 * 1024
"""Maximum size of a file that is one JSON array, which is read as a whole."""
MAX_WORKBOOK_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of an Excel workbook when unpacked."""
MAX_DEPTH: Final = 100
"""Maximum nesting of a row."""
CSV_DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}
WORKBOOK_ENDING: Final = ".xlsx"
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
    if delimiter is not None:
        yield from _iter_csv(path, delimiter)
        return
    if path.suffix.lower() == WORKBOOK_ENDING:
        yield from iter_workbook_rows(path)
        return
    with path.open("rb") as handle:
        start = handle.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
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
            if line.strip():
                yield where, _require_object(_parse(line, where), where)


def _iter_array(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    _check_size(path, MAX_ARRAY_BYTES)
    rows = _parse(path.read_bytes().removeprefix(b"\xef\xbb\xbf"), str(path))
    for number, row in enumerate(rows, start=1):
        where = f"{path}:row {number}"
        yield where, _require_object(row, where)


def _iter_csv(path: Path, delimiter: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the rows of a CSV file; an empty cell is a field that is not given."""
    _check_delimiter(path, delimiter)
    with path.open(encoding="utf-8-sig", newline="") as handle:
        reader = csv.reader(_limit_lines(handle, path), delimiter=delimiter, strict=True)
        try:
            header = next(reader, [])
            if len(set(header)) < len(header):
                raise RecordError("two columns have the same name", where=f"{path}:1")
            for cells in reader:
                where = f"{path}:{reader.line_num}"
                if not cells:
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
                f"byte {error.start + 1} of a block is not UTF-8",
                where=f"{path}:{reader.line_num + 1}",
            ) from error


def iter_workbook_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the rows of the first sheet of an Excel workbook, under the names in its first row.

    An empty cell is a field that is not given; formulas have the values stored with them.

    Raises:
        MissingExtraError: ``openpyxl`` is not installed.
        RecordError: the file is damaged, or too large when unpacked.
    """
    try:
        # Imported by name, because type checkers run without the extra installed.
        openpyxl = importlib.import_module("openpyxl")
    except ImportError as error:
        raise MissingExtraError(
            "openpyxl is not installed",
            where=str(path),
            hint="Install it with `pip install 'epoche[xlsx]'`, or convert the file to JSONL.",
        ) from error
    try:
        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
        rows = [] if n_bytes > MAX_WORKBOOK_BYTES else list(_iter_sheet(openpyxl, path))
    except Exception as error:  # the library raises whatever its parsers do
        raise RecordError(
            f"not an Excel workbook: {type(error).__name__}",
            where=str(path),
            hint="Save the file again as .xlsx, or convert it to JSONL.",
        ) from error
    if n_bytes > MAX_WORKBOOK_BYTES:
        raise RecordError(
            f"larger than {MAX_WORKBOOK_BYTES:,} bytes when unpacked",
            where=str(path),
            hint="Convert the file to JSONL.",
        )
    yield from rows


def _iter_sheet(openpyxl: Any, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        cells = workbook.worksheets[0].iter_rows(values_only=True)
        header = [str(name) if name is not None else "" for name in next(cells, ())]
        for number, values in enumerate(cells, start=2):
            named = zip(header, values, strict=False)
            row = {name: _read_cell(cell) for name, cell in named if name and cell is not None}
            if row:
                yield f"{path}:{number}", row
    finally:
        workbook.close()


def _read_cell(cell: Any) -> Any:
    """Converts a cell to a JSON value; dates become ISO texts."""
    return cell if isinstance(cell, str | int | float | bool) else str(cell)


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
                hint="Columns of .csv are separated by commas, those of .tsv by tabs.",
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
            hint="A file of predictions is JSON lines, a JSON array, or CSV named *.csv.",
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
