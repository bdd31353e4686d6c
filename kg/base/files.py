"""Crash-safe file access: atomic writes, JSON-lines readers, content hashes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from kg.base.errors import MissingFileError, RecordError, WriteError

Record = TypeVar("Record")

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Maximum length of a JSON line in bytes, so that a wrong file cannot exhaust the memory."""
_BLOCK_BYTES = 1024 * 1024
"""Length of a block of lines in bytes, unless one line is longer."""


def require_file(path: Path | str, what: str) -> Path:
    """Returns ``path`` if it is a readable file.

    Args:
        path: the file.
        what: what the file is, for the message ("result file").

    Raises:
        MissingFileError: there is no readable file.
    """
    path = Path(path)
    try:
        exists = path.exists()
    except OSError as error:  # a name too long, a folder that may not be entered
        raise MissingFileError(
            f"{what} cannot be reached: {error.strerror}", where=str(path), hint="Check the path."
        ) from error
    if not path.is_file():
        problem = "does not exist"
        if exists:
            problem = "is a folder, not a file" if path.is_dir() else "is not an ordinary file"
        # A path has lost a slash of "https://".
        is_url = re.match(r"[a-z][a-z0-9+.-]+:/", str(path)) is not None
        hint = "Nothing is downloaded: save it as a file first." if is_url else "Check the path."
        raise MissingFileError(f"{what} {problem}", where=str(path), hint=hint)
    if not os.access(path, os.R_OK):
        raise MissingFileError(f"{what} cannot be read", where=str(path), hint="Check permissions.")
    return path


def check_output(path: Path | str, inputs: Iterable[Path | str] = ()) -> None:
    """Checks, before any work is done, that ``path`` can be an output file.

    Args:
        path: the file to be written.
        inputs: files that must not be overwritten.

    Raises:
        WriteError: it is a folder or a device, or one of ``inputs``.
    """
    path = Path(path)
    with convert_write_errors(path):  # exists() itself fails on a name too long for the file system
        is_special = path.exists() and not path.is_file()
    if is_special:
        file_kind = "a folder" if path.is_dir() else "a device or pipe"
        raise WriteError(
            f"cannot write: it is {file_kind}, not an ordinary file",
            where=str(path),
            hint="Name a file with --out.",
        )
    if any(path.resolve() == Path(source).resolve() for source in inputs):
        raise WriteError(
            "cannot write: the output would overwrite a file it is made from",
            where=str(path),
            hint="Choose another --out.",
        )


def sha256_bytes(data: bytes) -> str:
    """Returns the hex SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path | str) -> str:
    """Returns the hex SHA-256 of a file's bytes, read in blocks."""
    with Path(path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@contextlib.contextmanager
def convert_write_errors(path: Path) -> Iterator[None]:
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
    """Opens a temporary file next to ``path`` that replaces it only if the block succeeds.

    An exception (Ctrl-C included) leaves an existing file at ``path`` untouched and removes the
    temporary file. If ``path`` is a symbolic link, the file it points to is replaced.

    Raises:
        WriteError: the folder or file cannot be written, the disk is full, or ``path`` is not an
            ordinary file (renaming over ``/dev/null`` would destroy it).
    """
    path = Path(path)
    with convert_write_errors(path):
        path = path.resolve() if path.is_symlink() else path
        check_output(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary_name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(temporary_name)
        try:
            with os.fdopen(descriptor, "wb") as handle:
                yield handle
                handle.flush()
                # Without fsync, a power failure after the rename could leave an empty file.
                os.fsync(handle.fileno())
            # mkstemp creates files with mode 0600; outputs get the mode that the umask allows.
            # The umask can only be read by setting it.
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_files_atomic(contents: Mapping[Path, bytes]) -> None:
    """Writes files that belong together: all contents are written before any file is replaced.

    A full disk therefore cannot leave new cards next to the manifest of the old ones.

    Raises:
        WriteError: a file cannot be written; no file has changed then.
    """
    with contextlib.ExitStack() as stack:
        for path, content in contents.items():
            handle = stack.enter_context(atomic_writer(path))
            with convert_write_errors(path):
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
    """Encodes ``value`` as deterministic JSON: keys in record order, UTF-8, no NaN."""
    encoded = msgspec.json.encode(value)
    return msgspec.json.format(encoded, indent=indent) if indent else encoded


def write_json_atomic(path: Path | str, value: Any) -> None:
    """Writes ``value`` as indented JSON with a final newline, all or nothing."""
    write_bytes_atomic(path, to_json_bytes(value, indent=2) + b"\n")


def write_jsonl_atomic(path: Path | str, rows: Iterable[Any]) -> int:
    """Writes one JSON document per line, all or nothing; returns the number of lines."""
    count = 0
    with atomic_writer(path) as handle:
        for row in rows:
            handle.write(to_json_bytes(row) + b"\n")
            count += 1
    return count


_OTHER_COMMANDS = {
    "result": " Graded answers, and logs of other tools, are read by `epoche outcomes`.",
}
"""What is said of files that are often given instead of such a file, after a space."""


def iter_decoded_lines(
    path: Path | str, what: str, decode: Callable[[bytes], Record]
) -> Iterator[tuple[int, Record]]:
    """Yields ``(line number, decode(line))`` for each non-blank line of a JSON-lines file.

    Args:
        path: the file.
        what: name of the file or its records, for messages ("result file", "card").
        decode: turns one line's bytes into a record; may raise ``msgspec.DecodeError``.

    Raises:
        MissingFileError: no such file.
        RecordError: a line is cut off, too long, not JSON, or not such a record.
    """
    path = require_file(path, what if what.endswith("file") else f"{what} file")
    with path.open("rb") as handle:
        line_number = 0
        while line := handle.readline(MAX_LINE_BYTES + 1):
            line_number += 1
            where = f"{path}:{line_number}"
            if len(line) > MAX_LINE_BYTES:
                raise RecordError(
                    f"a line is longer than {MAX_LINE_BYTES} bytes",
                    where=where,
                    hint=f"No {what} is that long; check that this is the right file.",
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
                is_cut_off = line.lstrip().startswith(b"{") and not line.endswith(b"\n")
                reason = str(error).removeprefix("JSON is malformed: ")
                raise RecordError(
                    "the last line is cut off" if is_cut_off else f"not JSON: {reason}",
                    where=where,
                    hint="Writing the file was interrupted; create it again."
                    if is_cut_off
                    else f"Each {what} is one JSON object on one line; check that this is the "
                    f"right file.{_OTHER_COMMANDS.get(what, '')}",
                ) from error
            yield line_number, row


def iter_line_blocks(path: Path | str, what: str) -> Iterator[tuple[int, int, memoryview]]:
    """Yields blocks of whole lines, for readers that take many lines at once.

    Args:
        path: the file.
        what: what the file is, for the message ("result file").

    Yields:
        The number of the block's first line, its number of lines, and its bytes, which are valid
        until the next block is asked for: all blocks share one buffer.

    Raises:
        MissingFileError: no such file.
    """
    line_number = 1
    buffer = bytearray(_BLOCK_BYTES)
    n_bytes = 0  # number of bytes in the buffer
    with require_file(path, what).open("rb", buffering=0) as handle:
        while n_read := handle.readinto(memoryview(buffer)[n_bytes:]):
            n_bytes += n_read
            end = buffer.rfind(b"\n", 0, n_bytes) + 1
            if end:
                n_lines = buffer.count(b"\n", 0, end)
                with memoryview(buffer)[:end] as block:
                    yield line_number, n_lines, block
                line_number += n_lines
                buffer[: n_bytes - end] = buffer[end:n_bytes]
                n_bytes -= end
            elif n_bytes > MAX_LINE_BYTES:
                break  # the consumer refuses such a block
            elif n_bytes == len(buffer):
                buffer += bytes(len(buffer))
        if n_bytes:
            with memoryview(buffer)[:n_bytes] as block:
                yield line_number, 1, block


def decode_block(
    block: memoryview, n_lines: int, decoder: msgspec.json.Decoder[Record]
) -> list[Record] | None:
    """Decodes a block of lines, which is several times as fast as line by line.

    Returns:
        One record per line. None if there is anything else: blank or invalid lines, or one that may
        be too long. ``iter_decoded_lines`` reads or reports these.
    """
    if len(block) > MAX_LINE_BYTES:
        return None
    try:
        records = decoder.decode_lines(block)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return records if len(records) == n_lines else None


def iter_json_lines(path: Path | str, what: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields ``(line number, object)`` for each non-blank line of a JSON-lines file.

    Raises:
        MissingFileError: no such file.
        RecordError: a line is cut off, too long, not JSON, or not an object.
    """
    for line_number, row in iter_decoded_lines(path, what, msgspec.json.decode):
        if not isinstance(row, dict):
            raise RecordError(
                "not a JSON object", where=f"{path}:{line_number}", hint=_format_hint(what)
            )
        yield line_number, row


def iter_records(
    path: Path | str, what: str, parse: Callable[[dict[str, Any]], Record]
) -> Iterator[Record]:
    """Yields ``parse(object)`` for each line.

    Raises:
        MissingFileError: no such file.
        RecordError: as ``iter_json_lines``, or ``parse`` failed; names the file and the line.
    """
    for line_number, row in iter_json_lines(path, what):
        try:
            yield parse(row)
        except (msgspec.ValidationError, ValueError) as error:
            raise RecordError(
                f"not a valid {what}: {error}",
                where=f"{path}:{line_number}",
                hint=_format_hint(what),
            ) from error


def _format_hint(what: str) -> str:
    return f"See `epoche schema {what.split()[0]}` for the format.{_OTHER_COMMANDS.get(what, '')}"
