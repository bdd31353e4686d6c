"""How much more a text is English than keywords with small words between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from math import log
from typing import Final

from eval.synthlink.corrected.english.classes import lexicon, sentence_classes
from eval.synthlink.corrected.english.counts import Trigrams, shipped, trigrams

_CONTENT: Final = "#"
"""Stands for every class of content, where they are not told apart."""
_UNSEEN: Final = 0.5
"""What each class is counted more than it was seen."""
_NEW: Final = 2.0
"""Weight of what is known from fewer classes, for each class that was seen to follow; 1 is Witten
and Bell's."""
DOUBT: Final = 20
"""So many words that tell nothing are added to a text: few words prove little."""


class English:
    """Two models of the same counts: prose, and glued keywords."""

    def __init__(self, counts: Trigrams) -> None:
        self._single: Counter[str] = Counter()
        self._content: Counter[str] = Counter()
        self._after_one: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._after_two: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._glue: Counter[str] = Counter()
        self._glue_after: defaultdict[str, Counter[str]] = defaultdict(Counter)
        content = lexicon().content
        self._merged = dict.fromkeys(content, _CONTENT)
        self._known: dict[tuple[str, str, str], float] = {}
        """What a class behind two others adds."""
        for (before, last, one), number in counts.items():
            self._single[one] += number
            self._after_one[last][one] += number
            self._after_two[before, last][one] += number
            self._glue[self._merge(one)] += number
            self._glue_after[self._merge(last)][self._merge(one)] += number
            if one in content:
                self._content[one] += number

    def _merge(self, one: str) -> str:
        return self._merged.get(one, one)

    def prose(self, before: str, last: str, one: str) -> float:
        """Probability of a class behind two others in prose, from both, one and none of them.

        Interpolated as Witten and Bell do (The zero-frequency problem, IEEE Transactions on
        Information Theory 37(4), 1991, method C).
        """
        found = _share(self._single, one)
        found = _mixed(self._after_one.get(last), one, found)
        return _mixed(self._after_two.get((before, last)), one, found)

    def glued(self, last: str, one: str) -> float:
        """Probability of a class where keywords are glued together.

        Whoever glues them knows which small word may follow another and how many stand between two
        keywords, but not which keyword comes: neither the small words before it nor the keyword
        before these have a say in that.
        """
        merged = self._merge(one)
        found = _mixed(self._glue_after.get(self._merge(last)), merged, _share(self._glue, merged))
        return found * _share(self._content, one) if merged == _CONTENT else found

    def advantage(self, text: str) -> float:
        """How much likelier a text is as prose than as glued keywords, as ln, for each word.

        Returns:
            About .15 for prose, and below 0 for what no grammar holds together; 0 for no words.
        """
        total, words = 0.0, 0
        for classes in sentence_classes(text):
            for found in trigrams(classes):
                if found not in self._known:
                    _, last, one = found
                    self._known[found] = log(self.prose(*found) / self.glued(last, one))
                total += self._known[found]
                words += 1
        return total / (words + DOUBT)


@lru_cache(maxsize=1)
def english() -> English:
    """The model of the shipped counts."""
    return English(shipped())


def _share(counts: Counter[str], one: str) -> float:
    return (counts[one] + _UNSEEN) / (counts.total() + _UNSEEN * (len(counts) + 1))


def _mixed(counts: Counter[str] | None, one: str, otherwise: float) -> float:
    if counts is None:
        return otherwise
    new = _NEW * len(counts)
    return (counts[one] + new * otherwise) / (counts.total() + new)
