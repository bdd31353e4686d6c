"""Files that survive a crash: atomic writes, append-only JSON lines, content hashes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from kg.base.errors import MissingFileError, RecordError, WriteError

Record = TypeVar("Record")

MAX_LINE_BYTES = 16 * 1024 * 1024
"""A longer JSON line is refused: no card or result is that large."""


def require_file(path: Path | str, what: str) -> Path:
    """Returns ``path`` if it is a readable file.

    Raises:
        MissingFileError: naming ``what`` the file was wanted for.
    """
    path = Path(path)
    try:
        there = path.exists()
    except OSError as error:  # a name too long, a folder that may not be entered
        raise MissingFileError(
            f"{what} cannot be reached: {error.strerror}", where=str(path), hint="Check the path."
        ) from error
    if not path.is_file():
        kind = "does not exist"
        if there:
            kind = "is a folder, not a file" if path.is_dir() else "is no ordinary file"
        raise MissingFileError(f"{what} {kind}", where=str(path), hint="Check the path.")
    if not os.access(path, os.R_OK):
        raise MissingFileError(f"{what} cannot be read", where=str(path), hint="Check permissions.")
    return path


def check_output(path: Path | str, inputs: Iterable[Path | str] = ()) -> None:
    """Finds out before the work whether ``path`` can be an output file at all.

    Args:
        path: the file to be written.
        inputs: files it must not take the place of.

    Raises:
        WriteError: it is a folder or a device, or one of ``inputs``.
    """
    path = Path(path)
    with write_errors_named(path):  # a name too long for the file system, to begin with
        odd = path.exists() and not path.is_file()
    if odd:
        kind = "a folder" if path.is_dir() else "a device or pipe"
        raise WriteError(
            f"cannot write: it is {kind}, not an ordinary file",
            where=str(path),
            hint="Name a file with --out.",
        )
    if any(path.resolve() == Path(taken).resolve() for taken in inputs):
        raise WriteError(
            "cannot write: it would take the place of a file it is made from",
            where=str(path),
            hint="Choose another --out.",
        )


def sha256_bytes(data: bytes) -> str:
    """Hex SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path | str) -> str:
    """Hex SHA-256 of a file's bytes, read in blocks."""
    with Path(path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@contextlib.contextmanager
def write_errors_named(path: Path) -> Iterator[None]:
    """Turns an ``OSError`` raised while writing ``path`` into a ``WriteError`` that names it."""
    try:
        yield
    except (FileExistsError, NotADirectoryError) as error:
        raise WriteError(
            "cannot write: a part of its path is a file, not a folder",
            where=str(path),
            hint="Choose another --out.",
        ) from error
    except OSError as error:
        raise WriteError(
            f"cannot write: {error.strerror or error}",
            where=str(path),
            hint="What was written before is intact; free space or choose another --out.",
        ) from error


@contextlib.contextmanager
def atomic_writer(path: Path | str) -> Iterator[IO[bytes]]:
    """Opens a temporary sibling of ``path`` that replaces it only if the block succeeds.

    An exception (Ctrl-C included) leaves whatever stood at ``path`` untouched and removes the
    temporary file. A symbolic link stays one: what it points at is replaced.

    Raises:
        WriteError: when the folder or file cannot be written or the disk is full, or when ``path``
            is no ordinary file (renaming over ``/dev/null`` would destroy it).
    """
    path = Path(path)
    with write_errors_named(path):
        path = path.resolve() if path.is_symlink() else path
        check_output(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            # mkstemp makes private files; results are ordinary ones, so give back the umask's mode.
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_files_atomic(contents: Mapping[Path, bytes]) -> None:
    """Writes files that belong together: all are on disk before the first takes its place.

    So a full disk cannot leave new cards beside the manifest of the old ones.

    Raises:
        WriteError: one cannot be written; every file is then as it was.
    """
    with contextlib.ExitStack() as stack:
        for path, content in contents.items():
            handle = stack.enter_context(atomic_writer(path))
            with write_errors_named(path):
                handle.write(content)
                handle.flush()


def write_bytes_atomic(path: Path | str, data: bytes) -> None:
    """Writes ``data`` to ``path``, all or nothing."""
    with atomic_writer(path) as handle:
        handle.write(data)


def write_text_atomic(path: Path | str, text: str) -> None:
    """Writes ``text`` to ``path`` as UTF-8, all or nothing."""
    write_bytes_atomic(path, text.encode("utf-8"))


def to_json_bytes(value: Any, *, indent: int | None = None) -> bytes:
    """``value`` as deterministic JSON: keys in their record's order, UTF-8, no NaN."""
    raw = msgspec.json.encode(value)
    return msgspec.json.format(raw, indent=indent) if indent else raw


def write_json_atomic(path: Path | str, value: Any) -> None:
    """Writes ``value`` as indented JSON with a final newline, all or nothing."""
    write_bytes_atomic(path, to_json_bytes(value, indent=2) + b"\n")


def write_jsonl_atomic(path: Path | str, rows: Iterable[Any]) -> int:
    """Writes one JSON document a line, all or nothing; returns how many."""
    count = 0
    with atomic_writer(path) as handle:
        for row in rows:
            handle.write(to_json_bytes(row) + b"\n")
            count += 1
    return count


def iter_decoded_lines(
    path: Path | str, what: str, decode: Callable[[bytes], Record]
) -> Iterator[tuple[int, Record]]:
    """Yields ``(line number, decode(line))`` for each non-blank line of a JSON-lines file.

    Args:
        path: the file.
        what: what the file holds, for messages ("result file", "card").
        decode: turns one line's bytes into a record; may raise ``msgspec.DecodeError``.

    Raises:
        MissingFileError: no such file.
        RecordError: a line is torn, too long, not JSON, or not such a record.
    """
    path = require_file(path, what if what.endswith("file") else f"{what} file")
    with path.open("rb") as handle:
        number = 0
        while line := handle.readline(MAX_LINE_BYTES + 1):
            number += 1
            where = f"{path}:{number}"
            if len(line) > MAX_LINE_BYTES:
                raise RecordError(
                    f"a line is longer than {MAX_LINE_BYTES} bytes",
                    where=where,
                    hint=f"No {what} is; check that it is the file you meant.",
                )
            if not line.strip():
                continue
            try:
                row = decode(line)
            except msgspec.ValidationError as error:
                raise RecordError(
                    f"not a valid {what}: {error}", where=where, hint=_format_hint(what)
                ) from error
            except RecursionError as error:
                raise RecordError(
                    "JSON nested too deeply", where=where, hint=_format_hint(what)
                ) from error
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                torn = not line.endswith(b"\n")
                raise RecordError(
                    "the last line is torn" if torn else f"not JSON: {error}",
                    where=where,
                    hint="The file was cut off while being written; make it again."
                    if torn
                    else "Each line must be one JSON object.",
                ) from error
            yield number, row


def iter_json_lines(path: Path | str, what: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields ``(line number, object)`` for each non-blank line of a JSON-lines file.

    Raises:
        MissingFileError: no such file.
        RecordError: a line is torn, too long, not JSON, or not an object.
    """
    for number, row in iter_decoded_lines(path, what, msgspec.json.decode):
        if not isinstance(row, dict):
            raise RecordError(
                "not a JSON object", where=f"{path}:{number}", hint=_format_hint(what)
            )
        yield number, row


def iter_records(
    path: Path | str, what: str, parse: Callable[[dict[str, Any]], Record]
) -> Iterator[Record]:
    """Yields ``parse(object)`` for each line, naming file and line when ``parse`` refuses it."""
    for number, row in iter_json_lines(path, what):
        try:
            yield parse(row)
        except (msgspec.ValidationError, ValueError) as error:
            raise RecordError(
                f"not a valid {what}: {error}",
                where=f"{path}:{number}",
                hint=_format_hint(what),
            ) from error


def _format_hint(what: str) -> str:
    return f"See `epoche schema {what.split()[0]}` for the format."
