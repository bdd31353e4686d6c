"""Finds out that predictions are labels of another set, such as SUPPORTS for YES.

A label set that shares a label with ours ("UNKNOWN") would else be read in part, and everything
under its other labels would count as unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

MAX_LABELS: Final = 6
"""A set of labels has at most this many that are not ours."""
_MIN_SHARE: Final = 0.2
"""Share of all predictions that cannot be read, from which on this is no matter of single rows."""
_MIN_REPEATS: Final = 3
"""How often each label occurs at least, on average."""
_LABEL: Final = re.compile(r"[\w'-]+(?:[ /][\w'-]+){0,3}\.?")
_MAX_CHARS: Final = 40


def find_foreign_labels(counts: Mapping[str, int], n_predictions: int) -> list[str]:
    """Returns the labels of another set, the most frequent first; none if it is not one.

    Args:
        counts: how often each text occurs that is none of our labels, nor can be read as one.
        n_predictions: the number of all predictions.
    """
    texts = sorted(counts, key=lambda text: (-counts[text], text))
    n_unreadable = sum(counts.values())
    is_set = (
        0 < len(texts) <= MAX_LABELS
        and n_unreadable >= _MIN_SHARE * n_predictions
        and n_unreadable >= _MIN_REPEATS * len(texts)
        and all(len(text) <= _MAX_CHARS and _LABEL.fullmatch(text) for text in texts)
    )
    return texts if is_set else []
