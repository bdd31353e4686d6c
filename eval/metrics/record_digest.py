"""Marks records of computed numbers with a digest, so that their readers see if one was edited.

The digest shows accidents, and edits by people who do not know of it. Who enters a new digest, too,
is found by computing the numbers again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import msgspec

from kg.base.errors import ChangedRunError
from kg.base.provenance import CONTENT_DIGEST, compute_content_digest

CHANGED_METRICS: Final = "metrics:changed"
"""What is said of numbers that were edited after they were computed, and accepted all the same."""
UNVERIFIED_METRICS: Final = "metrics:unverified"
"""What is said of numbers without a digest: those of other programs or versions."""


class DigestedRecord(Protocol):
    """A record with a field for its digest."""

    @property
    def content_sha256(self) -> str:
        """Digest of all other fields."""
        ...


Record = TypeVar("Record", bound=DigestedRecord)


def add_digest(record: Record) -> Record:
    """Returns a struct with the digest of all its other fields, to be written as it is."""
    digest = compute_content_digest(record)
    changed: Any = record
    return msgspec.structs.replace(changed, content_sha256=digest)  # type: ignore[no-any-return]


def check_digest(
    path: Path, *, key: str = "", command: str, allow_changed: bool = False
) -> tuple[str, ...]:
    """Refuses a JSON file of numbers that were edited after they were computed.

    Args:
        path: the file, which was decoded as such a record before.
        key: the key under which the file has the record; empty if it is the whole file.
        command: the command that computes it, for the hint.
        allow_changed: accept it with a warning, instead of raising.

    Returns:
        What must be said beside its numbers: that it was accepted, or has no digest.

    Raises:
        ChangedRunError: its digest is not that of its content.
    """
    fields = msgspec.json.decode(path.read_bytes())
    fields = fields[key] if key else fields
    recorded = fields.get(CONTENT_DIGEST)
    if not recorded:
        return (
            f"Nothing shows whether numbers in {path.name} were changed ({UNVERIFIED_METRICS}).",
        )
    if recorded == compute_content_digest(fields):
        return ()
    problem = ChangedRunError(
        f"numbers or texts in {path.name} were changed after it was computed",
        where=str(path),
        hint=f"Compute it again with `{command}`; --allow-changed accepts it, and the report then "
        "says so.",
    )
    if not allow_changed:
        raise problem
    return (f"Accepted with --allow-changed: {problem.what} ({CHANGED_METRICS}).",)


def is_about_metrics(warning: str) -> bool:
    """Returns whether a warning is one that ``check_digest`` returned."""
    return warning.endswith((f"({CHANGED_METRICS}).", f"({UNVERIFIED_METRICS})."))
