"""The result file while a run writes it: one line per answer, safe at every instant.

Each row is one ``write`` of a whole line, so ``kill -9`` can at worst leave a torn last line,
which is dropped and asked again. Rows are kept by what they answer, not by where they stand: they
may be appended in any order (retried errors, concurrent calls) and are put into the order of their
places, all or nothing, at the end. A row takes nine bytes of memory, whatever it says.
"""

from __future__ import annotations

import contextlib
import os
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from kg.base.closing import Closing
from kg.base.errors import DuplicateIdError, WriteError
from kg.base.files import atomic_writer, check_output, write_errors_named

MISSING = 255
"""Outcome code of a place that has no row."""


class RowReader(Protocol):
    """What a journal must know of the rows it holds."""

    def read(self, line: bytes, where: str) -> tuple[int, int]:
        """Place and outcome code of a row.

        Raises:
            RecordError: it is no row, or none of this run; ``where`` says which.
        """
        ...

    def describe(self, place: int) -> str:
        """What a place answers, for messages."""
        ...


class RowIndex:
    """Which places have a row, where it begins, and what came of it.

    Args:
        size: how many places there are.

    Attributes:
        outcomes: outcome code by place; ``MISSING`` where there is no row.
        held: how many rows there are.
    """

    def __init__(self, size: int) -> None:
        self.outcomes = bytearray([MISSING]) * size
        self.offsets = array("q", [0]) * size
        self.held = 0

    def has(self, place: int) -> bool:
        """Whether a place has its row."""
        return self.outcomes[place] != MISSING

    def counts(self, names: Sequence[str]) -> dict[str, int]:
        """Rows by outcome.

        Args:
            names: of the outcomes, each at the place of its code.
        """
        return {name: self.outcomes.count(code) for code, name in enumerate(names)}

    def places(self) -> Iterator[int]:
        """The places that have a row, rising."""
        return (place for place, outcome in enumerate(self.outcomes) if outcome != MISSING)

    def read(self, path: Path, rows: RowReader) -> int:
        """Enters the rows of a file.

        Returns:
            Where the last whole row ends; what follows is torn.

        Raises:
            RecordError: a whole line is no row, or answers none of this run's questions.
            DuplicateIdError: two rows answer the same question.
        """
        end = 0
        with path.open("rb") as handle:
            for number, line in enumerate(handle, start=1):
                if not line.endswith(b"\n"):
                    break
                where = f"{path}:{number}"
                place, outcome = rows.read(line, where)
                if self.has(place):
                    raise DuplicateIdError(
                        f"{rows.describe(place)} is answered twice",
                        where=where,
                        hint="Remove one of the two lines, or start again with --overwrite.",
                    )
                self._enter(place, outcome, end)
                end += len(line)
        return end

    def _enter(self, place: int, outcome: int, offset: int) -> None:
        self.offsets[place] = offset
        self.outcomes[place] = outcome
        self.held += 1


class Journal(RowIndex, Closing):
    """An open result file, locked against a second run.

    Args:
        path: the result file; made if absent.
        size: how many places there are.

    Raises:
        WriteError: the file cannot be opened or another run is writing it.
    """

    def __init__(self, path: Path, size: int) -> None:
        super().__init__(size)
        self.path = path
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

    def clear(self) -> None:
        """Empties the file (``--overwrite``)."""
        with write_errors_named(self.path):
            os.ftruncate(self._descriptor, 0)
        self._end = 0
        self.outcomes = bytearray([MISSING]) * len(self.outcomes)
        self.held = 0

    def load(self, rows: RowReader) -> None:
        """Reads the rows of an earlier run and drops a torn last line.

        Nothing is changed on disk unless every whole line is a row of this run.

        Raises:
            RecordError, DuplicateIdError: as ``read``.
        """
        end = self.read(self.path, rows)
        with write_errors_named(self.path):
            os.ftruncate(self._descriptor, end)
        self._end = end

    def append(self, place: int, outcome: int, line: bytes) -> None:
        """Adds one row; it is with the operating system when this returns.

        Args:
            place: what it answers.
            outcome: its code, 0 to 254.
            line: the row, with its line end.

        Raises:
            WriteError: disk full; the rows before it are intact and no half row is left.
            RuntimeError: the place has a row, or the file was never read (bugs of the caller that
                would damage it).
        """
        if self.has(place) or self._end is None:
            raise RuntimeError(f"cannot append {place}: answered already, or the file is unread")
        rest = memoryview(line)
        with write_errors_named(self.path):
            os.lseek(self._descriptor, self._end, os.SEEK_SET)
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except BaseException:  # a full disk, or Ctrl-C between two parts of a line
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, self._end)
                raise
        self._enter(place, outcome, self._end)
        self._end += len(line)

    def drop(self, outcome: int) -> int:
        """Removes the rows of one outcome, all or nothing, so that they are asked again.

        Returns:
            How many there were.
        """
        before, dropped = self.outcomes, self.outcomes.count(outcome)
        if dropped:
            self.outcomes = before.replace(bytes([outcome]), bytes([MISSING]))
            try:
                self._rewrite()
            except BaseException:
                self.outcomes = before
                raise
            self.held -= dropped
        return dropped

    def put_in_order(self) -> None:
        """Puts the rows in the order of their places, all or nothing, unless they already are."""
        before = -1
        for place in self.places():
            if self.offsets[place] < before:
                self._rewrite()
                return
            before = self.offsets[place]

    def lines(self) -> Iterator[bytes]:
        """The rows in the order of their places, with their line ends."""
        with self.path.open("rb") as handle:
            for place in self.places():
                # Reads no more than it must: a seek within what is buffered costs nothing.
                handle.seek(self.offsets[place])
                yield handle.readline()

    def close(self) -> None:
        """Cuts off a half-written row, hands everything to the disk and unlocks the file."""
        with contextlib.suppress(OSError):  # closing must not hide the error that led here
            if self._end is not None and os.fstat(self._descriptor).st_size > self._end:
                os.ftruncate(self._descriptor, self._end)
            os.fsync(self._descriptor)
        for descriptor in self._locks:
            os.close(descriptor)
        self._locks.clear()

    def _rewrite(self) -> None:
        """Writes the rows in order to a new file that takes the place of this."""
        with atomic_writer(self.path) as handle:
            handle.writelines(self.lines())
        with write_errors_named(self.path):
            self._descriptor = os.open(self.path, os.O_RDWR)
        self._locks.append(self._descriptor)
        self._lock()
        end = 0
        with self.path.open("rb") as handle:
            for place, line in zip(self.places(), handle, strict=True):
                self.offsets[place] = end
                end += len(line)
        self._end = end

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
