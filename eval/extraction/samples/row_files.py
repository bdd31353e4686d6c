"""Reads the rows of a data file: JSON lines, a JSON array, Parquet or Excel; JSON may be gzipped.

The format is detected from the first bytes, not from the name. A row that cannot be read is
returned with the reason, so that one bad line costs one sample and not the whole set.
"""

from __future__ import annotations

import gzip
import importlib
import zlib
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from eval.extraction.samples.column_names import SCHEMA_KEYS, find_names, rename_columns
from eval.harness.predictions.rows import iter_workbook_rows
from kg.base.errors import MissingExtraError, RecordError
from kg.base.files import MAX_LINE_BYTES, require_file
from kg.base.strict_json import NotJsonError, parse_json

MAX_ROWS_BYTES = 4 * 2**30
"""Maximum size of JSON lines after decompression, as a protection against gzip bombs."""
MAX_LOADED_BYTES = 256 * 2**20
"""Maximum size of a JSON array after decompression, and of one Parquet row group: both are loaded
into memory as a whole."""
_BATCH_ROWS = 64

ENDINGS = (
    *(".jsonl", ".ndjson", ".json", ".parquet", ".xlsx"),
    *(".jsonl.gz", ".ndjson.gz", ".json.gz"),
)
"""Endings of the files that are read in a folder."""

# The first bytes of gzip, Parquet and zip files (Excel workbooks are zip files).
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_ZIP = b"PK\x03\x04"


class Row(msgspec.Struct, frozen=True):
    """One row of a file, its known columns under the names of ``column_names``."""

    number: int
    """Number of the row, from 1; for JSON lines the line number."""
    values: dict[str, Any] | None
    problem: str = ""
    """The reason if there are no values; otherwise empty."""


def iter_file_rows(path: Path, fields: Collection[str] = ()) -> Iterator[Row]:
    """Yields the rows of a file; JSON lines and Parquet are streamed.

    Args:
        path: the file.
        fields: names that a schema declares, see ``rename_columns``.

    Raises:
        MissingFileError: it does not exist.
        MissingExtraError: it is Parquet, and ``pyarrow`` is not installed.
        RecordError: it is damaged as a whole, or too large.
    """
    for row in _iter_own_rows(path):
        yield _name_columns(row, fields)


def _name_columns(row: Row, fields: Collection[str]) -> Row:
    if row.values is None:
        return row
    return msgspec.structs.replace(row, values=rename_columns(row.values, fields))


def _iter_own_rows(path: Path) -> Iterator[Row]:
    """Yields the rows of a file with the columns as they are."""
    require_file(path, "data file")
    with path.open("rb") as handle:
        start = handle.read(4)
    if start == _ZIP:
        for where, values in iter_workbook_rows(path):
            yield Row(int(where.rpartition(":")[2]) - 1, values)
        return
    if start == _PARQUET:
        yield from _iter_parquet(path)
        return
    is_gzipped = start.startswith(_GZIP)
    with path.open("rb") as raw_file:
        file = cast("IO[bytes]", gzip.GzipFile(fileobj=raw_file)) if is_gzipped else raw_file
        try:
            yield from _iter_json(file, path)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise RecordError(
                f"damaged gzip file: {error}",
                where=str(path),
                hint="Download or compress it again.",
            ) from error


def _iter_json(file: IO[bytes], path: Path) -> Iterator[Row]:
    # Read leading blank lines too: the first other character shows whether this is an array.
    head = b""
    while not head.removeprefix(BOM_UTF8).lstrip() and len(head) < MAX_LINE_BYTES:
        line = file.readline(MAX_LINE_BYTES - len(head) + 1)
        if not line:
            return
        head += line
    if head.removeprefix(BOM_UTF8).lstrip().startswith(b"["):
        yield from _iter_array(head, file, path)
    else:
        yield from _iter_lines(head, file, path)


def _iter_lines(head: bytes, file: IO[bytes], path: Path) -> Iterator[Row]:
    """Yields the rows of JSON lines.

    Args:
        head: the bytes already read: leading blank lines and the first non-blank line.
        file: the file, positioned after these bytes.
        path: path of the file, for messages.
    """
    number = max(head.rstrip(b"\n").count(b"\n"), 0) + 1
    line = head.removeprefix(BOM_UTF8).lstrip()
    bytes_read = len(head)
    while line:
        if len(line) > MAX_LINE_BYTES:
            while line and not line.endswith(b"\n"):  # skip the rest of the line
                line = file.readline(MAX_LINE_BYTES)
                bytes_read += len(line)
            yield Row(number, None, f"the line is longer than {MAX_LINE_BYTES:,} bytes")
        elif line.strip():
            yield _parse_line(number, line, is_incomplete=not line.endswith(b"\n"))
        line = file.readline(MAX_LINE_BYTES + 1)
        number += 1
        bytes_read += len(line)
        _require_size(bytes_read > MAX_ROWS_BYTES, MAX_ROWS_BYTES, path)


def _parse_line(number: int, line: bytes, *, is_incomplete: bool) -> Row:
    try:
        values = parse_json(line.rstrip())
    except NotJsonError as error:
        problem = "the last line is incomplete" if is_incomplete else f"not JSON: {error}"
        return Row(number, None, problem)
    return _row_from_value(number, values)


def _row_from_value(number: int, values: Any) -> Row:
    if not isinstance(values, dict):
        return Row(number, None, "not a JSON object")
    return Row(number, values)


def _iter_array(head: bytes, file: IO[bytes], path: Path) -> Iterator[Row]:
    data = head + file.read(max(MAX_LOADED_BYTES - len(head), 0) + 1)
    _require_size(len(data) > MAX_LOADED_BYTES, MAX_LOADED_BYTES, path)
    try:
        rows = parse_json(data.removeprefix(BOM_UTF8))
    except NotJsonError as error:
        raise RecordError(
            f"not a JSON array: {error}",
            where=str(path),
            hint="Correct the file, or write JSON lines.",
        ) from error
    for number, values in enumerate(rows, start=1):
        yield _row_from_value(number, values)


def _iter_parquet(path: Path) -> Iterator[Row]:
    try:
        # Imported by name, because type checkers run without the extra installed.
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError(
            "pyarrow is not installed",
            where=str(path),
            hint="Install it with `pip install 'epoche[parquet]'`, or convert the file to JSONL.",
        ) from error
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            groups = range(file.metadata.num_row_groups)
            largest = max(
                (file.metadata.row_group(group).total_byte_size for group in groups), default=0
            )
            _require_size(largest > MAX_LOADED_BYTES, MAX_LOADED_BYTES, path)
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                for values in batch.to_pylist():
                    number += 1
                    yield _row_from_types(number, values)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise RecordError(
            f"damaged Parquet file: {error}",
            where=str(path),
            hint="Download or write it again.",
        ) from error


def row_from_arrow(number: int, values: Mapping[str, Any]) -> Row:
    """Converts a row of a typed table (Parquet, ``datasets``) to a ``Row``, with known names."""
    return _name_columns(_row_from_types(number, values), ())


def _row_from_types(number: int, values: Mapping[str, Any]) -> Row:
    """Converts a row of a typed table to a ``Row``.

    A typed column gives each of its objects the keys of all objects, with null where a key was
    missing. In a schema, where null has no meaning, these keys are removed again.
    """
    try:
        fields: dict[str, Any] = msgspec.to_builtins(values)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        return Row(number, None, f"a value that JSON cannot represent: {error}")
    for key in find_names(fields, SCHEMA_KEYS):
        if isinstance(fields.get(key), dict):
            fields[key] = drop_nulls(fields[key])
    return Row(number, fields)


def drop_nulls(value: Any) -> Any:
    """Removes keys whose value is null, recursively; elements of arrays stay."""
    if isinstance(value, dict):
        return {key: drop_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [drop_nulls(item) for item in value]
    return value


def _require_size(too_large: bool, limit: int, path: Path) -> None:
    if too_large:
        raise RecordError(
            f"larger than {limit:,} bytes when decompressed",
            where=str(path),
            hint="Split the file, or write it as JSON lines.",
        )
