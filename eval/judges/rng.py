"""Creates the random generators that decide the order in which judges see items."""

from __future__ import annotations

import random


def rng_for(key: str) -> random.Random:
    """Returns a random generator seeded by ``key`` alone, equal in every process."""
    # Encoded here, because `random` raises an error for a str with lone surrogates.
    return random.Random(key.encode("utf-8", "surrogatepass"))  # noqa: S311 - orders, no secrets
