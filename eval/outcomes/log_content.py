"""What the readers of logs of evaluation tools return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

LocatedRow = tuple[str, dict[str, Any]]
"""A row with its file and line, or sample."""

NOT_SCORED: Final = "error"
"""Outcome of a sample that failed or has no score."""
MAX_SAMPLES: Final = 1_000_000


class LogContent(NamedTuple):
    """The content of a log, or of any other file of rows.

    Attributes:
        rows: one for each answer.
        scores: the names of the scores; empty if it is no log.
        n_questions: number of questions that were to be asked; 0 if the log does not say it.
        n_repeats: number of times that each was to be asked.
        notes: what is said beside the measures.
    """

    rows: list[LocatedRow]
    scores: list[str]
    n_questions: int = 0
    n_repeats: int = 1
    notes: tuple[str, ...] = ()


def flatten(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the texts and numbers of an object, as ``prefix.name``."""
    return {
        f"{prefix}.{name}": value
        for name, value in values.items()
        if isinstance(value, str | int | float)
    }


def find_nested(row: Mapping[str, Any], path: str) -> str | int | float | None:
    """Returns the text or number at a path such as ``feedback.score`` or ``scores.0.value``.

    ``None`` if there is none.
    """
    value: Any = row
    for key in path.split("."):
        if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str | int | float) else None


def read_count(value: Any) -> int:
    """Returns a number of questions or repeats that a log states; 0 if it is none."""
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return value if is_count and 0 < value <= MAX_SAMPLES else 0


def get_object(document: Any, name: str) -> dict[str, Any]:
    """Returns the object of a name in another; an empty one if there is none."""
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, dict) else {}
