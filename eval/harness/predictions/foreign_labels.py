"""Finds out that predictions are labels of another set, such as SUPPORTS for YES.

A label set that shares a label with ours ("UNKNOWN") would else be read in part, and everything
under its other labels would count as unreadable.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Final

from eval.replies.lexicon import load_lexicon
from eval.replies.prose import find_signs
from eval.replies.sentences import split_words

_MAX_LABELS: Final = 6
"""A set of labels has at most this many that are not ours."""
_MAX_TEXTS: Final = 1_000
"""Number of different texts that are counted."""
_MIN_SHARE: Final = 0.2
"""Share of all predictions that cannot be read, from which on this is no matter of single rows."""
_MIN_SHARE_OF_LABELS: Final = 0.9
"""Share of these that are the labels; the others are single odd rows."""
_MIN_REPEATS: Final = 3
"""How often each label occurs at least, on average."""
_LABEL: Final = re.compile(r"[\w'-]+(?:[ /][\w'-]+){0,3}\.?")
_MAX_CHARS: Final = 40
_NO_REPLIES: Final = frozenset(
    ("none", "null", "nan", "n/a", "na", "timeout", "timed out", "no answer", "no response")
)
"""What stands where a call failed, beside all that ends with "error"."""
_FROM_PERSONS: Final = frozenset(("i", "we", "sorry", "ich", "wir"))
"""Words of replies in words."""


class UnreadableTexts:
    """Counts the predictions that are none of our labels, nor can be read as one."""

    def __init__(self) -> None:
        self.n_texts = 0
        self._counts: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Counts a prediction."""
        self.n_texts += 1
        is_known = text in self._counts
        if is_known or (
            len(self._counts) < _MAX_TEXTS and len(text) <= _MAX_CHARS and _is_label(text)
        ):
            self._counts[text] += 1

    def find_labels(self, n_predictions: int) -> dict[str, int]:
        """Returns the labels of another set, and how often each occurs; none if it is not one.

        Args:
            n_predictions: the number of all predictions.
        """
        by_count = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        labels = dict(by_count[:_MAX_LABELS])
        n_rows = sum(labels.values())
        is_set = (
            n_rows >= _MIN_SHARE_OF_LABELS * self.n_texts
            and self.n_texts >= _MIN_SHARE * n_predictions
            and n_rows >= _MIN_REPEATS * len(labels)
        )
        return labels if is_set else {}


@lru_cache(maxsize=_MAX_TEXTS)
def _is_label(text: str) -> bool:
    """Returns whether a short text looks like a label, and not like a reply or a failed call."""
    folded = text.casefold().rstrip(".")
    if not _LABEL.fullmatch(text) or folded in _NO_REPLIES:
        return False
    words = split_words(text)
    verdicts = {load_lexicon().clauses.get((word,)) for word in words}
    signs = find_signs(text)
    return not (
        folded.endswith("error")
        or (len(words) > 1 and _FROM_PERSONS.intersection(words))
        or verdicts >= {"YES", "NO"}
        or signs.doubts
        or signs.limited
        or signs.refuses
    )
