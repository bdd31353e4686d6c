"""Measures how much more often two things occur together than by chance."""

from __future__ import annotations

import math


def compute_npmi(joint: int, first: int, second: int, total: int) -> float:
    """Computes the normalised pointwise mutual information of two events from their counts.

    G. Bouma, Normalized (pointwise) mutual information in collocation extraction, GSCL 2009:
    ``ln(p(x, y) / (p(x) p(y))) / -ln p(x, y)``. 1 if neither ever occurs without the other, 0
    if they are independent, towards -1 if they rarely occur together.

    Args:
        joint: number of times that both occur, at least 1.
        first: number of times that the first occurs, at least ``joint``.
        second: number of times that the second occurs, at least ``joint``.
        total: number of observations, at least ``first`` and ``second``.

    Returns:
        Within [-1, 1]; 1 if both always occur, which is the limit of the formula's 0 / 0.

    Raises:
        ValueError: the counts contradict each other.
    """
    if not 1 <= joint <= min(first, second) or max(first, second) > total:
        raise ValueError(
            f"impossible counts: {joint} joint, {first} and {second} single, {total} in total"
        )
    if joint == total:
        return 1.0
    information = math.log(joint * total / (first * second))
    return max(-1.0, min(1.0, information / -math.log(joint / total)))
