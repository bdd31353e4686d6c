"""Records the differences between what a run's files contain and what they should contain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

MAX_DIFFERENCES: Final = 1000
"""Maximum number of differences that the report of one run lists; all are counted."""
ABSENT: Final = "(absent)"
"""Stands for a value that is not there."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One value in a file that is not what it should be."""

    file: str
    line: int | None = None
    """Number of the line, from 1; null if the difference is not in a line."""
    row: str = ""
    """The row, in words: item, system and repeat."""
    field: str
    """The field, with dots and indices for a part of it (``scores.f1``, ``steps[2]``)."""
    expected: Any
    """The value computed again; ``(absent)`` if there should be none."""
    found: Any
    """The value in the file; ``(absent)`` if there is none."""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What was verified of one run."""

    run: str
    benchmark: str
    agrees: bool
    checked: dict[str, int]
    """What was checked → how many."""
    skipped: tuple[str, ...] = ()
    """What could not be checked, each with the reason."""
    unproved: str = ""
    """Why labels of the cards could not be proved again; empty if all were, or if this was not
    asked for."""
    n_differences: int
    differences: tuple[Difference, ...] = ()
    """The first differences."""


class DifferenceLog:
    """Collects the differences of one run.

    Attributes:
        checked: what was checked → how many.
        skipped: what could not be checked.
        unproved: why labels could not be proved again; empty if they were.
        n_differences: number of differences.
    """

    def __init__(self) -> None:
        self.checked: dict[str, int] = {}
        self.skipped: list[str] = []
        self.unproved = ""
        self.n_differences = 0
        self._differences: list[Difference] = []

    def add(
        self,
        file: Path,
        field: str,
        *,
        expected: Any,
        found: Any,
        line: int | None = None,
        row: str = "",
    ) -> None:
        """Adds one difference; see ``Difference``."""
        self.add_difference(
            Difference(
                file=str(file), line=line, row=row, field=field, expected=expected, found=found
            )
        )

    def add_difference(self, difference: Difference) -> None:
        """Adds one difference."""
        self.n_differences += 1
        if len(self._differences) < MAX_DIFFERENCES:
            self._differences.append(difference)

    def compare(
        self, file: Path, expected: Any, found: Any, *, line: int | None = None, row: str = ""
    ) -> None:
        """Adds a difference for every part in which two JSON values differ."""
        for field, wanted, actual in iter_differences(expected, found):
            self.add(file, field, expected=wanted, found=actual, line=line, row=row)

    def to_verification(self, run: Path, benchmark: str) -> Verification:
        """Returns the result."""
        return Verification(
            run=str(run),
            benchmark=benchmark,
            agrees=not self.n_differences,
            checked=self.checked,
            skipped=tuple(self.skipped),
            unproved=self.unproved,
            n_differences=self.n_differences,
            differences=tuple(self._differences),
        )


def iter_differences(expected: Any, found: Any, field: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yields the parts in which two JSON values differ, as (field, expected, found).

    ``1`` and ``1.0``, and ``1`` and ``true``, differ.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in {**expected, **found}:
            name = f"{field}.{key}" if field else str(key)
            yield from iter_differences(expected.get(key, ABSENT), found.get(key, ABSENT), name)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, (wanted, actual) in enumerate(zip(expected, found, strict=True)):
            yield from iter_differences(wanted, actual, f"{field}[{index}]")
    elif type(expected) is not type(found) or expected != found:
        yield field, expected, found
