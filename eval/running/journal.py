"""The result file while a run writes it: one line per answer, safe at every instant.

Each row is one ``write`` of a whole line, so ``kill -9`` can at worst leave a torn last line,
which is dropped and asked again. Rows are kept by what they answer, not by where they stand: they
may be appended in any order (retried errors, later concurrent calls) and are put into plan order,
all or nothing, at the end.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from eval.result import Pred, Result, result_from_json, result_to_json
from kg.base.errors import DuplicateIdError, RecordError, WriteError
from kg.base.files import atomic_writer, check_output, to_json_bytes, write_errors_named

Key = tuple[str, str]
"""(system, card id): what a row answers. Never twice in a file."""


class Journal:
    """An open result file, locked against a second run.

    Args:
        path: the result file; made if absent.
        order: every key of the run with its place in the finished file.
        card_set: first 12 hex digits of the card set's hash, as in the rows.

    Attributes:
        preds: prediction per key for all rows in the file, in file order.

    Raises:
        WriteError: the file cannot be opened or another run is writing it.
    """

    def __init__(self, path: Path, order: Mapping[Key, int], card_set: str) -> None:
        self.path = path
        self.preds: dict[Key, Pred] = {}
        self._order = order
        self._card_set = card_set
        self._end: int | None = None
        """Where the last whole row ends; unknown until the file was read, empty or cleared."""
        with write_errors_named(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            check_output(path)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self._locks: list[int] = [self._descriptor]
        try:
            self._lock()
        except BaseException:
            os.close(self._descriptor)
            raise
        if os.fstat(self._descriptor).st_size == 0:
            self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def clear(self) -> None:
        """Empties the file (``--overwrite``)."""
        with write_errors_named(self.path):
            os.ftruncate(self._descriptor, 0)
        self._end = 0
        self.preds.clear()

    def load(self) -> None:
        """Reads the rows of an earlier run and drops a torn last line.

        Nothing is changed on disk unless every whole line is a row of this run.

        Raises:
            RecordError: a whole line is no result, or answers none of this run's questions.
            DuplicateIdError: two rows answer the same question.
        """
        end = 0
        with self.path.open("rb") as handle:
            for number, line in enumerate(handle, start=1):
                if not line.endswith(b"\n"):
                    break
                result = self._row(line, number)
                key = (result.system, result.id)
                if key in self.preds:
                    raise DuplicateIdError(
                        f"card {result.id!r} is answered twice by {result.system}",
                        where=f"{self.path}:{number}",
                        hint="Remove one of the two lines, or start again with --overwrite.",
                    )
                self.preds[key] = result.pred
                end += len(line)
        with write_errors_named(self.path):
            os.ftruncate(self._descriptor, end)
        self._end = end

    def append(self, result: Result) -> None:
        """Adds one row; it is with the operating system when this returns.

        Raises:
            WriteError: disk full; the rows before it are intact and no half row is left.
            RuntimeError: the key is already answered, or the file was never read (bugs of the
                caller that would damage it).
        """
        key = (result.system, result.id)
        if key in self.preds or self._end is None:
            raise RuntimeError(f"cannot append {key}: answered already, or the file is unread")
        line = memoryview(to_json_bytes(result_to_json(result)) + b"\n")
        with write_errors_named(self.path):
            os.lseek(self._descriptor, self._end, os.SEEK_SET)
            done = 0
            try:
                while done < len(line):
                    done += os.write(self._descriptor, line[done:])
            except BaseException:  # a full disk, or Ctrl-C between two parts of a line
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, self._end)
                raise
        self._end += len(line)
        self.preds[key] = result.pred

    def drop_errors(self) -> int:
        """Removes the ``ERROR`` rows, all or nothing, so that they are asked again.

        Returns:
            How many there were.
        """
        failed = [key for key, pred in self.preds.items() if pred == "ERROR"]
        if failed:
            for key in failed:
                del self.preds[key]
            self._rewrite()
        return len(failed)

    def put_in_order(self) -> None:
        """Puts the rows into plan order, all or nothing, unless they already are."""
        places = [self._order[key] for key in self.preds]
        if places != sorted(places):
            self.preds = dict(sorted(self.preds.items(), key=lambda item: self._order[item[0]]))
            self._rewrite()

    def close(self) -> None:
        """Cuts off a half-written row, hands everything to the disk and unlocks the file."""
        with contextlib.suppress(OSError):  # closing must not hide the error that led here
            if self._end is not None and os.fstat(self._descriptor).st_size > self._end:
                os.ftruncate(self._descriptor, self._end)
            os.fsync(self._descriptor)
        for descriptor in self._locks:
            os.close(descriptor)
        self._locks.clear()

    def _row(self, line: bytes, number: int) -> Result:
        where = f"{self.path}:{number}"
        hint = "Nothing was changed. Repair the line, name another --out, or use --overwrite."
        try:
            result = result_from_json(msgspec.json.decode(line, type=dict))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"not a result: {error}", where=where, hint=hint) from error
        if (result.system, result.id) not in self._order or result.cards != self._card_set:
            raise RecordError(
                f"card {result.id!r}, system {result.system!r} is not of this run",
                where=where,
                hint=hint,
            )
        return result

    def _rewrite(self) -> None:
        """Writes the lines of ``preds`` in its order to a new file that takes the place of this."""
        lines: dict[Key, bytes] = {}
        with self.path.open("rb") as handle:
            for line in handle:
                row = msgspec.json.decode(line)
                lines[row["system"], row["id"]] = line
        with atomic_writer(self.path) as handle:
            for key in self.preds:
                handle.write(lines[key])
        with write_errors_named(self.path):
            self._descriptor = os.open(self.path, os.O_RDWR)
        self._locks.append(self._descriptor)
        self._lock()
        self._end = os.fstat(self._descriptor).st_size

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # Windows: no advisory locks of this kind, so no protection
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise WriteError(
                "another run is writing this file",
                where=str(self.path),
                hint="Wait for it or choose another --out.",
            ) from error
        except OSError:
            # File systems without locks (some network mounts) still can be written.
            return
