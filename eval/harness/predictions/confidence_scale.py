"""Finds out whether the confidences of a system are probabilities, per cent or something else.

A single number does not tell: 1 is certainty as a probability, and next to none as per cent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

PER_CENT: Final = 100.0
_MAX_RATING: Final = 10
"""Numbers up to this may be ratings from 1 to 5 or 10, which are no probabilities."""
_MAX_SHARE_OF_FRACTIONS: Final = 0.1
"""Per cent are mostly whole; if more numbers than this share are above 0 and at most 1, some rows
have probabilities."""
_MAX_SHARE_OUTSIDE: Final = 0.1
"""Up to this share, numbers that are no probabilities are typing errors."""
_ROUNDING: Final = 1e-6
"""By how much a sum of probabilities may be above 1."""


class PerCent(float):
    """The value of a cell such as ``85%``, which says its scale itself."""


class ConfidenceScale(NamedTuple):
    """How the confidences of a system are read.

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
        if self.divisor is None and isinstance(value, PerCent):
            return None
        number = _parse_finite(value)
        if number is None:
            return value
        if self.divisor is None:
            return None if 0 <= number <= 1 else value
        return number / self.divisor


def find_confidence_scale(values: Iterable[object]) -> ConfidenceScale:
    """Finds the scale of all confidences of a system, of which some may be no numbers."""
    numbers = [number for value in values if (number := _parse_finite(value)) is not None]
    outside = [number for number in numbers if not 0 <= number <= 1]
    if not outside:
        return ConfidenceScale()
    n_fractions = sum(0 < number <= 1 for number in numbers)
    is_share = n_fractions <= _MAX_SHARE_OF_FRACTIONS * len(numbers)
    if is_share and min(numbers) >= 0 and _MAX_RATING < max(numbers) <= PER_CENT:
        return ConfidenceScale(
            PER_CENT,
            f"confidences are read as per cent, because some are above 1, for example "
            f"{outside[0]:g}",
        )
    if len(outside) <= _MAX_SHARE_OUTSIDE * len(numbers):
        # These alone are left out, and whoever reads the file says so.
        return ConfidenceScale()
    return ConfidenceScale(
        None,
        f"no confidence is used: {len(outside):,} of {len(numbers):,} are no numbers in [0, 1], "
        f"for example {outside[0]:g}, and they are not all per cent; write probabilities, or all "
        "of them in per cent",
    )


def find_system_scales(
    values: Sequence[object], systems: Sequence[str]
) -> dict[str, ConfidenceScale]:
    """Finds the scale of each system of a file.

    Args:
        values: the confidences of the rows.
        systems: the systems of the rows.
    """
    by_system: dict[str, list[object]] = {}
    for value, system in zip(values, systems, strict=True):
        by_system.setdefault(system, []).append(value)
    return {system: find_confidence_scale(given) for system, given in by_system.items()}


def _parse_finite(value: object) -> float | None:
    """Returns a finite number, without a rounding error above 1; ``None`` for anything else."""
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        return None
    number = float(value)  # type: ignore[arg-type]
    return 1.0 if 1 < number <= 1 + _ROUNDING else number
