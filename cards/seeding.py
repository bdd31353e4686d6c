"""Random numbers that depend on a seed and a name, never on the process."""

from __future__ import annotations

from random import Random


def seeded(*parts: object) -> Random:
    """A generator seeded by the text of ``parts``; the same whatever ``PYTHONHASHSEED``."""
    return Random("|".join(map(str, parts)))  # noqa: S311 - sampling, not secrets
