"""Refuses predictions of others of which none can be read: their labels or their field are wrong.

A model's replies that were all unusable are not refused: its row says ``INVALID``, one of our
labels. Here are predictions that are none of them, such as ``yes`` or ``maybe``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Final

from eval.abstention.metrics.outcomes import ERROR, PRED_CODE
from eval.model.foreign_values import make_storable
from kg.base.errors import RecordError
from kg.base.plain_text import clean_text

MAX_EXAMPLES: Final = 3
"""Maximum number of predictions that a message shows."""
_MAX_SHOWN_CHARS: Final = 60


def describe_unreadable(examples: Iterable[object], n_unreadable: int, n_all: int) -> str:
    """Says how many predictions are no answer, and shows the first different ones."""
    texts = dict.fromkeys(make_storable(str(example)) for example in examples)
    shown = ", ".join(repr(clean_text(t, _MAX_SHOWN_CHARS)) for t in islice(texts, MAX_EXAMPLES))
    return f"{n_unreadable} of {n_all} predictions are no answer (INVALID): {shown}"


class UnreadablePredictions:
    """Counts the predictions of each system of a file that are none of our labels."""

    def __init__(self) -> None:
        self._readable: set[str] = set()
        self._n_errors: Counter[str] = Counter()
        self._n_unreadable: Counter[str] = Counter()
        self._examples: dict[str, dict[str, None]] = {}

    def add(self, system: str, pred: object, code: int) -> None:
        """Adds the prediction of a row, and the code that it was read as."""
        if code == ERROR:
            self._n_errors[system] += 1
        elif isinstance(pred, str) and pred in PRED_CODE:
            self._readable.add(system)
        else:
            self._n_unreadable[system] += 1
            examples = self._examples.setdefault(system, {})
            if len(examples) < MAX_EXAMPLES:
                examples.setdefault(str(pred))

    def add_readable(self, system: str) -> None:
        """Notes that a system has a prediction that is one of our labels."""
        self._readable.add(system)

    def require_readable(self, where: str) -> None:
        """Raises a ``RecordError`` if no prediction of a system can be read, and one was given."""
        for system, n_unreadable in self._n_unreadable.items():
            if system not in self._readable:
                n_all = n_unreadable + self._n_errors[system]
                raise RecordError(
                    describe_unreadable(self._examples[system], n_unreadable, n_all),
                    where=f"{where}, field pred of {clean_text(system)!r}",
                    hint="Write YES, NO or UNKNOWN; `epoche score` also reads replies in words, "
                    "and takes another field with --map pred=….",
                )
