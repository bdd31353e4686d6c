"""Makes random generators that depend on a seed and a name, and not on the process."""

from __future__ import annotations

from random import Random


def rng_for(*parts: object) -> Random:
    """Returns a generator seeded by the text of ``parts``, independent of ``PYTHONHASHSEED``."""
    return Random("|".join(map(str, parts)))  # noqa: S311 - sampling, not secrets
