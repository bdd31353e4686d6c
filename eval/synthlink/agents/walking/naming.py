"""Which nodes a text speaks of, by the words of their names, however they are inflected."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from eval.questions.cues import stem
from kg.text.normaliser import content_words, written_words
from kg.words.plain_text import words_of

_ENDINGS = tuple(
    words_of("ations ation ition ment ness ence ance ator ion ity ery ive ant ent al er or y")
)
"""What makes nouns of verbs; one is taken off, so that "eruption" meets "erupted"."""
_LEAST_STEM = 4
"""Letters that must be left."""

Keys = frozenset[str]


def keys_of(text: str) -> Keys:
    """The words of a text as they are compared; acronyms keep their capitals.

    "LED" is not what is left of "lead", and "AIDS" helps nobody.
    """
    return frozenset(_key(word) for word in written_words(text) if content_words(word))


def _key(word: str) -> str:
    acronym = word.removesuffix("s")
    if len(acronym) > 1 and acronym.isupper():
        return acronym
    found = stem(content_words(word)[0])
    for ending in _ENDINGS:
        if found.endswith(ending) and len(found) - len(ending) >= _LEAST_STEM:
            return found.removesuffix(ending)
    return found


class Naming:
    """The names of nodes by their words.

    Args:
        names: node → its names.
    """

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self._keys = {
            node: tuple(dict.fromkeys(filter(None, map(keys_of, texts))))
            for node, texts in names.items()
        }
        spread = Counter(
            key
            for keys in self._keys.values()
            for key in dict.fromkeys(k for one in keys for k in one)
        )
        self._rarity = {key: math.log(1 + len(names) / count) for key, count in spread.items()}
        self._unknown = math.log(1 + len(names))
        self._bearers: dict[str, list[str]] = {}
        for node, keys in self._keys.items():
            for key in dict.fromkeys(k for one in keys for k in sorted(one)):
                self._bearers.setdefault(key, []).append(node)

    def rarity(self, key: str) -> float:
        """ln(1 + nodes / nodes whose names have the word), as in inverse document frequency."""
        return self._rarity.get(key, self._unknown)

    def weight(self, keys: Iterable[str]) -> float:
        """The rarity of several words together."""
        return math.fsum(self.rarity(key) for key in keys)

    def covered(self, node: str, keys: Keys) -> float:
        """Share of a node's name that a text has, by weight; of several names the best."""
        best = 0.0
        for name in self._keys.get(node, ()):
            best = max(best, self.weight(name & keys) / self.weight(name))
        return best

    def named(self, keys: Keys, least: float) -> dict[str, float]:
        """Nodes of whose name a text has at least ``least``, in a fixed order, and how much."""
        met = dict.fromkeys(node for key in sorted(keys) for node in self._bearers.get(key, ()))
        found = {node: self.covered(node, keys) for node in met}
        return {node: share for node, share in found.items() if share >= least}
