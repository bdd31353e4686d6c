"""Finds the nodes that a text mentions, by the words of their names in any inflection."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from eval.questions.cues import stem_word
from kg.base.plain_text import list_words
from kg.words.normaliser import (
    extract_content_words,
    split_cased_words,
    split_words,
)

_NOUN_ENDINGS = tuple(
    list_words("ations ation ition ment ness ence ance ator ion ity ery ive ant ent al er or y")
)
"""Endings that turn verbs into nouns; one is removed, so that "eruption" matches "erupted"."""
_MIN_STEM_LENGTH = 4
"""Minimum number of letters left after an ending is removed."""

Keys = frozenset[str]
"""Words in the form in which they are compared."""


def extract_keys(text: str) -> Keys:
    """Extracts the content words of a text in the form in which they are compared.

    Words are stemmed. Acronyms keep their capitals, so that "LED" does not match "led", and "AIDS"
    does not match "aid".
    """
    return frozenset(
        _make_key(word) for word in split_cased_words(text) if extract_content_words(word)
    )


def _make_key(word: str) -> str:
    acronym = word.removesuffix("s")
    if len(acronym) > 1 and acronym.isupper():
        return acronym
    stem = stem_word(split_words(word)[0])
    for ending in _NOUN_ENDINGS:
        if stem.endswith(ending) and len(stem) - len(ending) >= _MIN_STEM_LENGTH:
            return stem.removesuffix(ending)
    return stem


class NodeNames:
    """Finds nodes by the words of their names.

    Args:
        names: node → its names.
    """

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self._keys = {
            node: tuple(dict.fromkeys(filter(None, map(extract_keys, texts))))
            for node, texts in names.items()
        }
        # A word that several names of a node contain counts once for that node.
        node_counts = Counter(
            key
            for names_of_node in self._keys.values()
            for key in dict.fromkeys(key for name in names_of_node for key in name)
        )
        self._rarity = {key: math.log(1 + len(names) / count) for key, count in node_counts.items()}
        # A word that no name contains is as rare as one in a single name.
        self._unknown_rarity = math.log(1 + len(names))
        self._nodes_by_key: dict[str, list[str]] = {}
        for node, names_of_node in self._keys.items():
            # Sorted, since the order of a frozenset differs between runs.
            for key in dict.fromkeys(key for name in names_of_node for key in sorted(name)):
                self._nodes_by_key.setdefault(key, []).append(node)

    def compute_rarity(self, key: str) -> float:
        """Returns a word's inverse frequency, ln(1 + nodes / nodes whose names contain it)."""
        return self._rarity.get(key, self._unknown_rarity)

    def sum_rarity(self, keys: Iterable[str]) -> float:
        """Sums the rarity of several words."""
        return math.fsum(self.compute_rarity(key) for key in keys)

    def compute_name_share(self, node: str, keys: Keys) -> float:
        """Returns the share of a node's name, weighted by rarity, that occurs in a text.

        For a node with several names, it is the largest share.
        """
        best = 0.0
        for name in self._keys.get(node, ()):
            best = max(best, self.sum_rarity(name & keys) / self.sum_rarity(name))
        return best

    def find_named_nodes(self, keys: Keys, min_share: float) -> dict[str, float]:
        """Finds the nodes whose names occur in a text, each to a share of at least ``min_share``.

        Returns:
            Node → share of its name that occurs in the text, in a fixed order.
        """
        nodes = dict.fromkeys(
            node for key in sorted(keys) for node in self._nodes_by_key.get(key, ())
        )
        shares = {node: self.compute_name_share(node, keys) for node in nodes}
        return {node: share for node, share in shares.items() if share >= min_share}
