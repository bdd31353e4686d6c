"""Draws that decide in which order judges are shown things."""

from __future__ import annotations

import random


def drawn_by(key: str) -> random.Random:
    """Draws that depend on ``key`` alone, in every process; any text will do."""
    # Of a text that is no Unicode, `random` would not take the text itself.
    return random.Random(key.encode("utf-8", "surrogatepass"))  # noqa: S311 - orders, no secrets
