"""How much more often two things occur together than chance would have it."""

from __future__ import annotations

import math


def npmi(together: int, first: int, second: int, total: int) -> float:
    """Normalised pointwise mutual information of two events, from their counts.

    G. Bouma, Normalized (pointwise) mutual information in collocation extraction, GSCL 2009:
    ``ln(p(x, y) / (p(x) p(y))) / -ln p(x, y)``. 1 when neither ever occurs without the other, 0
    when they are independent, towards -1 when they avoid each other.

    Args:
        together: how often both occur, at least 1.
        first: how often the first occurs, at least ``together``.
        second: how often the second occurs, at least ``together``.
        total: how often anything could have occurred, at least ``first`` and ``second``.

    Returns:
        Within [-1, 1]; 1 where both occur every time, the limit of the formula's 0 / 0.

    Raises:
        ValueError: the counts cannot be counts of one thing.
    """
    if not 1 <= together <= min(first, second) or max(first, second) > total:
        raise ValueError(f"{together} of {first} and {second} in {total}")
    if together == total:
        return 1.0
    information = math.log(together * total / (first * second))
    return max(-1.0, min(1.0, information / -math.log(together / total)))
