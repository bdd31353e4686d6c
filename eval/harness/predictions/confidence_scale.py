"""Finds out whether the confidences of a file are probabilities, per cent or something else.

A single number does not tell: 1 is certainty as a probability, and next to none as per cent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

PER_CENT: Final = 100.0
_MAX_RATING: Final = 10
"""Numbers up to this may be ratings from 1 to 5 or 10, which are no probabilities."""
_MAX_SHARE_OF_FRACTIONS: Final = 0.1
"""Per cent are mostly whole; if more numbers than this share lie between 0 and 1, some rows have
probabilities."""


class ConfidenceScale(NamedTuple):
    """How the confidences of a file are read.

    Attributes:
        divisor: what every number is divided by; ``None`` if no number is used.
        note: what is done and why; empty if the numbers are probabilities.
    """

    divisor: float | None = 1.0
    note: str = ""

    def convert(self, value: object) -> object:
        """Converts a confidence.

        What is no number stays as it is, and so do numbers outside [0, 1] if none is used.
        """
        if not _is_finite(value):
            return value
        number = float(value)  # type: ignore[arg-type]
        if self.divisor is None:
            return None if 0 <= number <= 1 else value
        return value if self.divisor == 1 else number / self.divisor


def find_confidence_scale(values: Iterable[object]) -> ConfidenceScale:
    """Finds the scale of all confidences of a file, of which some may be no numbers."""
    numbers = [float(value) for value in values if _is_finite(value)]  # type: ignore[arg-type]
    outside = [number for number in numbers if not 0 <= number <= 1]
    if not outside:
        return ConfidenceScale()
    n_fractions = sum(0 < number < 1 for number in numbers)
    is_share = n_fractions <= _MAX_SHARE_OF_FRACTIONS * len(numbers)
    if is_share and min(numbers) >= 0 and _MAX_RATING < max(numbers) <= PER_CENT:
        return ConfidenceScale(
            PER_CENT,
            f"confidences are read as per cent, because some are above 1, for example "
            f"{outside[0]:g}",
        )
    return ConfidenceScale(
        None,
        f"no confidence is used: {len(outside):,} of {len(numbers):,} are no numbers in [0, 1], "
        f"for example {outside[0]:g}, and they are not all per cent; write probabilities, or all "
        "of them in per cent",
    )


def _is_finite(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
