"""Explains why fewer cards were made than requested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from enum import StrEnum

MAX_EXAMPLES = 3
"""Maximum number of words quoted as examples."""


class Obstacle(StrEnum):
    """The step at which a triplet fails, in the order of the steps; the value is the reason."""

    ENTITIES = "no unused entity fits any more"
    NAMES = (
        "no unused entity has a fitting name: the names of a triplet must have the same frequent "
        "words{examples}, or the words would predict the answer"
    )
    UNKNOWN = "no claim could be proved unknown on both graph and card"
    FACTS = "there are too few facts to mention the three entities of a triplet equally often"
    FALSE = "no claim could be proved false on both graph and card"
    KINDS = "no claim could be proved false by one of the requested kinds"
    TRUE = "no claim could be proved true on both graph and card"


def find_unproved(label: str) -> Obstacle:
    """Returns the obstacle of a card whose label, E, C or U, is not what the oracle found."""
    return {"E": Obstacle.TRUE, "C": Obstacle.FALSE}.get(label, Obstacle.UNKNOWN)


def explain_obstacles(
    failures: Counter[Obstacle], frequent_words: Collection[str], *, is_first: bool
) -> str:
    """Explains at which steps triplets failed.

    Args:
        failures: number of failed proposals by obstacle.
        frequent_words: words of the names that had to be the same; a few are quoted.
        is_first: whether no triplet was made at all. Then the last step that a proposal reached
            matters, because earlier steps often fail by chance; later it is the most frequent one.
    """
    if not failures:
        return Obstacle.ENTITIES.value
    last_step = max(failures, key=list(Obstacle).index)
    most_frequent = failures.most_common(1)[0][0]
    obstacles = [last_step] if is_first else [most_frequent]
    if is_first and most_frequent is Obstacle.NAMES and last_step is not Obstacle.NAMES:
        obstacles.append(Obstacle.NAMES)
    examples = f" (here {_quote_examples(frequent_words)})" if frequent_words else ""
    return "; ".join(obstacle.value.replace("{examples}", examples) for obstacle in obstacles)


def _quote_examples(words: Collection[str]) -> str:
    examples = ", ".join(f"“{word}”" for word in sorted(words)[:MAX_EXAMPLES])
    return f"{examples} …" if len(words) > MAX_EXAMPLES else examples
