"""The journal: a result file to which a run appends one line per answer, safe against crashes.

Each row is one ``write`` of a whole line, so ``kill -9`` can at worst leave an incomplete last
line, which is removed, and its question is asked again. Rows are identified by their position
(item, repeat and system), not by their line: they may be appended in any order (retried errors,
concurrent calls), and the file is sorted by position at the end, atomically. A row takes nine bytes
of memory.
"""

from __future__ import annotations

import contextlib
import os
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from kg.base.closable import Closable
from kg.base.errors import DuplicateIdError, WriteError
from kg.base.files import atomic_writer, check_output, convert_write_errors

MISSING = 255
"""Outcome code of a position that has no row."""


class RowReader(Protocol):
    """Parses the rows of a journal; implemented by the plan of a run."""

    def parse_row(self, line: bytes, where: str) -> tuple[int, int]:
        """Returns position and outcome code of a row.

        Args:
            line: the row as JSON.
            where: file and line, for messages.

        Raises:
            RecordError: the line is not a row, or not a row of this run.
        """
        ...

    def describe_position(self, position: int) -> str:
        """Returns item, system and repeat of a position, in words, for messages."""
        ...


class RowIndex:
    """Stores which positions have a row, with its offset in the file and its outcome code.

    Args:
        size: number of positions.

    Attributes:
        outcomes: outcome code by position; ``MISSING`` if it has no row.
        offsets: offset of the row in the file, by position.
        row_count: number of rows.
    """

    def __init__(self, size: int) -> None:
        self.outcomes = bytearray([MISSING]) * size
        self.offsets = array("q", [0]) * size
        self.row_count = 0

    def has_row(self, position: int) -> bool:
        """Returns whether a position has a row."""
        return self.outcomes[position] != MISSING

    def count_outcomes(self, names: Sequence[str]) -> dict[str, int]:
        """Counts the rows by outcome.

        Args:
            names: names of the outcomes, in the order of their codes.
        """
        return {name: self.outcomes.count(code) for code, name in enumerate(names)}

    def iter_positions(self) -> Iterator[int]:
        """Yields the positions that have a row, in ascending order."""
        return (position for position, outcome in enumerate(self.outcomes) if outcome != MISSING)

    def read_rows(self, path: Path, rows: RowReader) -> int:
        """Adds the rows of a file to the index.

        Returns:
            The offset after the last whole row; an incomplete line may follow.

        Raises:
            RecordError: a complete line is not a row, or belongs to no question of this run.
            DuplicateIdError: two rows answer the same question.
        """
        end = 0
        with path.open("rb") as handle:
            for number, line in enumerate(handle, start=1):
                if not line.endswith(b"\n"):
                    break
                where = f"{path}:{number}"
                position, outcome = rows.parse_row(line, where)
                if self.has_row(position):
                    raise DuplicateIdError(
                        f"{rows.describe_position(position)} is answered twice",
                        where=where,
                        hint="Remove one of the two lines, or start over with --overwrite.",
                    )
                self._add_row(position, outcome, end)
                end += len(line)
        return end

    def _add_row(self, position: int, outcome: int, offset: int) -> None:
        self.offsets[position] = offset
        self.outcomes[position] = outcome
        self.row_count += 1


class Journal(RowIndex, Closable):
    """An open result file, locked against other runs.

    Args:
        path: the result file; created if it does not exist.
        size: number of positions.

    Raises:
        WriteError: the file cannot be opened or another run is writing it.
    """

    def __init__(self, path: Path, size: int) -> None:
        super().__init__(size)
        self.path = path
        self._end: int | None = None
        """Offset after the last whole row; None until a file with rows was read or cleared."""
        with convert_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            check_output(path)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self._locks: list[int] = [self._descriptor]
        try:
            self._lock_file()
        except BaseException:
            os.close(self._descriptor)
            raise
        if os.fstat(self._descriptor).st_size == 0:
            self._end = 0

    def clear(self) -> None:
        """Empties the file (``--overwrite``)."""
        with convert_write_errors(self.path):
            os.ftruncate(self._descriptor, 0)
        self._end = 0
        self.outcomes = bytearray([MISSING]) * len(self.outcomes)
        self.row_count = 0

    def load_rows(self, rows: RowReader) -> None:
        """Reads the rows of an interrupted run and removes an incomplete last line.

        Nothing is changed on disk unless every whole line is a row of this run.

        Raises:
            RecordError, DuplicateIdError: as ``read_rows``.
        """
        end = self.read_rows(self.path, rows)
        with convert_write_errors(self.path):
            os.ftruncate(self._descriptor, end)
        self._end = end

    def append(self, position: int, outcome: int, line: bytes) -> None:
        """Appends one row; it has been handed to the operating system when this returns.

        Args:
            position: position of the row.
            outcome: outcome code of the row, 0 to 254.
            line: the row, with its line end.

        Raises:
            WriteError: the disk is full; earlier rows are intact and no partial row is left.
            RuntimeError: the position has a row already, or the file's rows were never read. Both
                are bugs of the caller that would damage the file.
        """
        if self.has_row(position) or self._end is None:
            raise RuntimeError(f"cannot append {position}: it has a row, or the file was not read")
        unwritten = memoryview(line)
        with convert_write_errors(self.path):
            os.lseek(self._descriptor, self._end, os.SEEK_SET)
            try:
                while unwritten:
                    unwritten = unwritten[os.write(self._descriptor, unwritten) :]
            except BaseException:  # full disk, or Ctrl-C between two parts of a line
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, self._end)
                raise
        self._add_row(position, outcome, self._end)
        self._end += len(line)

    def remove_outcome(self, outcome: int) -> int:
        """Removes the rows of one outcome atomically, so that they are asked again.

        Returns:
            The number of rows removed.
        """
        before, dropped = self.outcomes, self.outcomes.count(outcome)
        if dropped:
            self.outcomes = before.replace(bytes([outcome]), bytes([MISSING]))
            try:
                self._rewrite_file()
            except BaseException:
                self.outcomes = before
                raise
            self.row_count -= dropped
        return dropped

    def sort_rows(self) -> None:
        """Sorts the file by position, atomically; does nothing if it is sorted already."""
        before = -1
        for position in self.iter_positions():
            if self.offsets[position] < before:
                self._rewrite_file()
                return
            before = self.offsets[position]

    def iter_lines(self) -> Iterator[bytes]:
        """Yields the rows in the order of their positions, with their line ends."""
        with self.path.open("rb") as handle:
            for position in self.iter_positions():
                # In a sorted file every seek stays within the read buffer, so it costs nothing.
                handle.seek(self.offsets[position])
                yield handle.readline()

    def read_line(self, position: int) -> bytes:
        """Returns the row at a position, with its line end."""
        with self.path.open("rb") as handle:
            handle.seek(self.offsets[position])
            return handle.readline()

    def close(self) -> None:
        """Removes a partial row, flushes the file to disk and unlocks it."""
        with contextlib.suppress(OSError):  # an error here must not hide the one that ended the run
            if self._end is not None and os.fstat(self._descriptor).st_size > self._end:
                os.ftruncate(self._descriptor, self._end)
            os.fsync(self._descriptor)
        for descriptor in self._locks:
            os.close(descriptor)
        self._locks.clear()

    def _rewrite_file(self) -> None:
        """Writes the rows in order to a new file and replaces this file by it."""
        with atomic_writer(self.path) as handle:
            handle.writelines(self.iter_lines())
        with convert_write_errors(self.path):
            self._descriptor = os.open(self.path, os.O_RDWR)
        self._locks.append(self._descriptor)
        self._lock_file()
        end = 0
        with self.path.open("rb") as handle:
            for position, line in zip(self.iter_positions(), handle, strict=True):
                self.offsets[position] = end
                end += len(line)
        self._end = end

    def _lock_file(self) -> None:
        try:
            import fcntl
        except ImportError:  # Windows has no fcntl, so the file is not locked there
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
            # File systems without locks (some network mounts) can still be written.
            return
