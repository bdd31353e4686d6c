"""The rows of a data file, whatever it is: JSON lines, a JSON array, Parquet, gzipped or not.

What a file is shows in its first bytes, not in its name. A row that cannot be read is handed on
with the reason, so that one bad line costs one sample and not the set.
"""

from __future__ import annotations

import gzip
import importlib
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from kg.base.errors import MissingExtraError, RecordError
from kg.base.files import MAX_LINE_BYTES, require_file
from kg.base.strict_json import NotJsonError, parse_json

MAX_ROWS_BYTES = 4 * 2**30
"""Bytes of JSON lines, counted after unpacking, so that a gzip bomb ends."""
MAX_WHOLE_BYTES = 256 * 2**20
"""Bytes of a JSON array, unpacked, and of what one row group of Parquet may unpack to: both are
held in memory."""
_BATCH_ROWS = 64

ENDINGS = (".jsonl", ".ndjson", ".json", ".parquet", ".jsonl.gz", ".ndjson.gz", ".json.gz")
"""Names of the files that are read in a folder."""

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Row(msgspec.Struct, frozen=True):
    """One row of a file."""

    number: int
    """From 1; of JSON lines the line's."""
    values: dict[str, Any] | None
    problem: str = ""
    """Why there are no values."""


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of a file, one at a time where its kind allows it.

    Raises:
        MissingFileError: it is not there.
        MissingExtraError: it is Parquet, and ``pyarrow`` is not installed.
        RecordError: it is damaged as a whole, or larger than can be read.
    """
    require_file(path, "data file")
    with path.open("rb") as handle:
        start = handle.read(4)
    if start == _PARQUET:
        yield from _of_parquet(path)
        return
    packed = start.startswith(_GZIP)
    with path.open("rb") as plain_file:
        file = cast("IO[bytes]", gzip.GzipFile(fileobj=plain_file)) if packed else plain_file
        try:
            yield from _of_json(file, path)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise RecordError(
                f"damaged gzip file: {error}", where=str(path), hint="Fetch or pack it again."
            ) from error


def _of_json(file: IO[bytes], path: Path) -> Iterator[Row]:
    head = b""
    while not head.removeprefix(_BYTE_ORDER_MARK).lstrip() and len(head) < MAX_LINE_BYTES:
        line = file.readline(MAX_LINE_BYTES - len(head) + 1)
        if not line:
            return
        head += line
    if head.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"["):
        yield from _of_array(head, file, path)
    else:
        yield from _of_lines(head, file, path)


def _of_lines(head: bytes, file: IO[bytes], path: Path) -> Iterator[Row]:
    """Rows of JSON lines; ``head`` is what was read of them, blank lines and the first other."""
    number = max(head.rstrip(b"\n").count(b"\n"), 0) + 1
    line = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    passed = len(head)
    while line:
        if len(line) > MAX_LINE_BYTES:
            while line and not line.endswith(b"\n"):  # skips the rest of it
                line = file.readline(MAX_LINE_BYTES)
                passed += len(line)
            yield Row(number, None, f"the line is longer than {MAX_LINE_BYTES:,} bytes")
        elif line.strip():
            yield _row(number, line, torn=not line.endswith(b"\n"))
        line = file.readline(MAX_LINE_BYTES + 1)
        number += 1
        passed += len(line)
        _refuse_if(passed > MAX_ROWS_BYTES, MAX_ROWS_BYTES, path)


def _row(number: int, line: bytes, *, torn: bool) -> Row:
    try:
        values = parse_json(line.rstrip())
    except NotJsonError as error:
        why = "the last line is torn" if torn else f"no JSON: {error}"
        return Row(number, None, why)
    return _row_of(number, values)


def _row_of(number: int, values: Any) -> Row:
    if not isinstance(values, dict):
        return Row(number, None, "no JSON object")
    return Row(number, values)


def _of_array(head: bytes, file: IO[bytes], path: Path) -> Iterator[Row]:
    data = head + file.read(max(MAX_WHOLE_BYTES - len(head), 0) + 1)
    _refuse_if(len(data) > MAX_WHOLE_BYTES, MAX_WHOLE_BYTES, path)
    try:
        rows = parse_json(data.removeprefix(_BYTE_ORDER_MARK))
    except NotJsonError as error:
        raise RecordError(
            f"no JSON array: {error}", where=str(path), hint="Correct it, or write JSON lines."
        ) from error
    for number, values in enumerate(rows, start=1):
        yield _row_of(number, values)


def _of_parquet(path: Path) -> Iterator[Row]:
    try:
        # By name rather than by statement: type checkers run without the extra installed.
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
            _refuse_if(largest > MAX_WHOLE_BYTES, MAX_WHOLE_BYTES, path)
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                for values in batch.to_pylist():
                    number += 1
                    yield arrow_row(number, values)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise RecordError(
            f"damaged Parquet file: {error}", where=str(path), hint="Fetch or write it again."
        ) from error


def arrow_row(number: int, values: Mapping[str, Any]) -> Row:
    """A row of a table with typed columns, as Parquet and ``datasets`` have them.

    Such a column gives each of its objects all keys that any has, null where they were not. In a
    schema, where null means nothing, they are taken away again.
    """
    try:
        kept: dict[str, Any] = msgspec.to_builtins(values)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        return Row(number, None, f"a value that JSON cannot hold: {error}")
    if isinstance(kept.get("schema"), dict):
        kept["schema"] = without_nulls(kept["schema"])
    return Row(number, kept)


def without_nulls(value: Any) -> Any:
    """``value`` with no key whose value is null; elements of arrays stay."""
    if isinstance(value, dict):
        return {key: without_nulls(held) for key, held in value.items() if held is not None}
    if isinstance(value, list):
        return [without_nulls(held) for held in value]
    return value


def _refuse_if(too_large: bool, limit: int, path: Path) -> None:
    if too_large:
        raise RecordError(
            f"it is larger than {limit:,} bytes once unpacked",
            where=str(path),
            hint="Split it, or write it as JSON lines.",
        )
