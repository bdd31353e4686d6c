"""The settings of the corrected scores."""

from __future__ import annotations

import msgspec


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the corrected scores; in [0, 1]."""

    correct: float = 0.5
    """Minimum F1 of a correct answer, used to find the first correct iteration."""
    sweep: tuple[float, ...] = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    """Other values of ``correct`` at which efficiency is reported."""
