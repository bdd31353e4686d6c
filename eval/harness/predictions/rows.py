"""Reads the rows of a file from elsewhere: JSON lines, one JSON array of objects, CSV or Excel.

Columns of CSV are separated by commas, semicolons or tabs. Each file may be gzipped. A file comes
from anywhere, so its size and depth are limited, and JSON is read strictly.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import zipfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final

from eval.harness.predictions.table_form import (
    ENCODING_NAMES,
    UTF16_MARKS,
    TableHeader,
    detect_form,
    open_table,
)
from kg.base.errors import MissingExtraError, RecordError
from kg.base.files import MAX_LINE_BYTES, require_file
from kg.base.plain_text import clean_text
from kg.base.strict_json import NotJsonError, parse_json

MAX_FILE_BYTES: Final = 1024 * 1024 * 1024
MAX_ARRAY_BYTES: Final = 128 * 1024 * 1024
"""Maximum size of a file that is one JSON array, or gzipped; both are read as a whole."""
MAX_WORKBOOK_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of an Excel workbook when unpacked."""
MAX_DEPTH: Final = 100
"""Maximum nesting of a row."""
CSV_DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}
WORKBOOK_ENDING: Final = ".xlsx"
_SAVE_HINT: Final = "Save it as CSV in UTF-8; Excel calls this 'CSV UTF-8'."
_OTHER_FORMATS: Final = {
    b"PK\x03\x04": "an Excel workbook or another archive",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
}
"""First bytes of files that are often given instead of CSV."""
_PARQUET: Final = b"PAR1"
_GZIP: Final = b"\x1f\x8b"
_MAX_SHOWN_NAMES: Final = 10
_MAX_SHOWN_CHARS: Final = 60


def iter_rows(
    path: Path,
    noun: str = "prediction",
    place: str = "row",
    constants: set[str] | None = None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each row of a file, with file and line (or number of the row in an array).

    Args:
        path: the file, gzipped or not.
        noun: what messages call a row.
        place: what the place of a row in an array is called.
        constants: as in ``parse_json``.

    Raises:
        MissingFileError: there is no such file.
        RecordError: the file is too large, or a row is not an object.
    """
    path = require_file(path, f"{noun}s file" if noun == "prediction" else f"{noun} file")
    delimiter = find_delimiter(path)
    _check_size(path, MAX_FILE_BYTES)
    if path.suffix.lower() == WORKBOOK_ENDING:
        yield from iter_workbook_rows(path)
        return
    with _open_data(path) as handle:
        start = handle.read(4096)
        handle.seek(0)
        for first_bytes, name in _OTHER_FORMATS.items():
            if start.startswith(first_bytes):
                raise RecordError(f"the file is {name}", where=str(path), hint=_SAVE_HINT)
        if start.startswith(_PARQUET):
            raise RecordError(
                "the file is a Parquet file",
                where=str(path),
                hint="Convert it to JSON lines or CSV, with pandas: "
                "pandas.read_parquet(FILE).to_json(OUT, orient='records', lines=True).",
            )
        if delimiter is not None:
            yield from _iter_csv(handle, path, delimiter)
            return
        if start.startswith(UTF16_MARKS):
            raise RecordError(
                "the file is text in UTF-16", where=str(path), hint="Save it in UTF-8."
            )
        if start.removeprefix(BOM_UTF8).lstrip().startswith(b"["):
            rows = _iter_array(handle, path, noun, place, constants)
        else:
            rows = _iter_lines(handle, path, noun, constants)
        yield from rows


def read_header(path: Path) -> TableHeader:
    """Reads the header of a CSV file; any other file has an empty one."""
    delimiter = find_delimiter(path)
    if delimiter is None:
        return TableHeader()
    with _open_data(path) as file:
        form = detect_form(file, path, delimiter)
        with open_table(file, form) as handle:
            names = next(csv.reader(_limit_lines(handle, path), delimiter=form.delimiter), [])
    return TableHeader(tuple(names), has_decimal_commas=form.delimiter != ",")


def list_names(names: Iterable[object]) -> str:
    """Lists names of fields for a message, the first of them if there are many."""
    shown = [clean_text(str(name), _MAX_SHOWN_CHARS) for name in names]
    more = ", …" if len(shown) > _MAX_SHOWN_NAMES else ""
    return (", ".join(shown[:_MAX_SHOWN_NAMES]) or "none") + more


def find_delimiter(path: Path) -> str | None:
    """Returns the delimiter that a CSV file has by its name; None for another file.

    A text file in UTF-16 is what Excel calls "Unicode text", with tabs.
    """
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    if name.suffix.lower() == ".txt" and path.is_file():
        with _open_data(path) as handle:
            return "\t" if handle.read(2) in UTF16_MARKS else None
    return CSV_DELIMITERS.get(name.suffix.lower())


def _open_data(path: Path) -> IO[bytes]:
    """Opens a file for reading; a gzipped one is unpacked first, up to ``MAX_ARRAY_BYTES``."""
    handle = path.open("rb")
    if not handle.read(2).startswith(_GZIP):
        handle.seek(0)
        return handle
    handle.seek(0)
    with handle:
        try:
            data = gzip.GzipFile(fileobj=handle).read(MAX_ARRAY_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise RecordError(
                f"damaged gzip file: {error}",
                where=str(path),
                hint="Download or compress it again.",
            ) from error
    if len(data) > MAX_ARRAY_BYTES:
        raise RecordError(
            f"it unpacks to more than {MAX_ARRAY_BYTES:,} bytes",
            where=str(path),
            hint="Unpack it; JSON lines may be longer.",
        )
    return io.BytesIO(data)


def _iter_lines(
    handle: IO[bytes], path: Path, noun: str, constants: set[str] | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    number = 0
    while line := handle.readline(MAX_LINE_BYTES + 1):
        number += 1
        where = f"{path}:{number}"
        if len(line) > MAX_LINE_BYTES:
            raise RecordError(f"a line is longer than {MAX_LINE_BYTES:,} bytes", where=where)
        line = line.removeprefix(BOM_UTF8) if number == 1 else line
        if not line.strip():
            continue
        try:
            row = _parse(line.rstrip(), where, noun, constants)
        except RecordError:
            if line.strip().startswith(b"{"):
                _refuse_single_object(line + handle.read(MAX_ARRAY_BYTES), path, noun)
            raise
        yield where, _require_object(row, where, noun)


def _refuse_single_object(data: bytes, path: Path, noun: str) -> None:
    """Raises an error that says so if a file is one JSON object over several lines."""
    try:
        value = parse_json(data)
    except NotJsonError:
        return
    lists = [key for key, part in value.items() if isinstance(part, list)]
    hint = f"A file of {noun}s is a JSON array, or has one JSON object per line."
    if lists:
        key = clean_text(lists[0], _MAX_SHOWN_CHARS)
        hint = f"Write the list under {key!r} to a file of its own. {hint}"
    raise RecordError(
        f"it is one JSON object, with the keys {list_names(value)}", where=str(path), hint=hint
    )


def _iter_array(
    handle: IO[bytes], path: Path, noun: str, place: str, constants: set[str] | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    _check_size(path, MAX_ARRAY_BYTES)
    rows = _parse(handle.read().removeprefix(BOM_UTF8), str(path), noun, constants)
    for number, row in enumerate(rows, start=1):
        where = f"{path}:{place} {number}"
        yield where, _require_object(row, where, noun)


def _iter_csv(file: IO[bytes], path: Path, delimiter: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the rows of a CSV file; an empty cell is a field that is not given.

    Rows of empty cells only, which spreadsheets leave at the end, are left out.
    """
    form = detect_form(file, path, delimiter)
    n_skipped = form.first_line - 1
    with open_table(file, form) as handle:
        lines = _limit_lines(handle, path)
        reader = csv.reader(lines, delimiter=form.delimiter, strict=True)
        try:
            header = next(reader, [])
            if doubled := [name for name in header if header.count(name) > 1]:
                name = repr(clean_text(doubled[0])) if doubled[0] else "not named"
                raise RecordError(
                    f"two columns are {'called ' if doubled[0] else ''}{name}",
                    where=f"{path}:{form.first_line}",
                    hint="Rename or delete one of them.",
                )
            for cells in reader:
                where = f"{path}:{reader.line_num + n_skipped}"
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
            raise RecordError(
                f"not CSV: {error}", where=f"{path}:{reader.line_num + n_skipped}"
            ) from error
        except UnicodeDecodeError as error:
            raise RecordError(
                f"the text is not {ENCODING_NAMES[form.encoding]}",
                where=f"{path}, from line {reader.line_num + n_skipped + 1} on",
                hint=_SAVE_HINT,
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


def _parse(data: bytes, where: str, noun: str, constants: set[str] | None) -> Any:
    try:
        value = parse_json(data, constants)
    except NotJsonError as error:
        raise RecordError(
            f"not JSON: {error}",
            where=where,
            hint=f"A file of {noun}s is JSON lines, a JSON array, or CSV named *.csv.",
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


def _require_object(row: Any, where: str, noun: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise RecordError(
            f"a {noun} is not an object", where=where, hint="Each is a JSON object with an id."
        )
    return row
