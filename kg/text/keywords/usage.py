"""How a text uses words and phrases: as names of things, or as verbs, by the words around them.

Names are recognised by the words before and after them: "*the* dirty page *is* …", "*of* locking
*and* …". The word lists are English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

from kg.base.plain_text import list_words
from kg.text.chunks import Chunk
from kg.words.normaliser import split_words, stem_word

MIN_NAME_USES = 2
"""Minimum number of times that a single word must be used as a name, which is recognised by the
words before and after it (the lists below). A phrase needs only one."""
MIN_PHRASE_USES = 2
"""Minimum number of occurrences of a phrase."""
MIN_NAME_SHARE = Fraction(1, 10)
"""Minimum share of a word's occurrences in which it is used as a name. A verb such as "runs" is
then not a name because "the run" occurs once."""
MIN_JUDGED_USES = 5
"""Minimum number of occurrences of a word that may be judged to be hardly ever a name."""
MAX_RARE_SHARE = Fraction(1, 20)
"""Share of a word's occurrences as a name, below which it is hardly ever one."""
WORDS_BEFORE_NAMES = frozenset(
    list_words(
        """the a an each every this these its their his her our no any of in by with for from on
        under between without through into after before as about against over than whose"""
    )
)
"""Words before a name. Words that can also replace a name ("another wrote") are left out."""
WORDS_AFTER_NAMES = frozenset(
    list_words(
        """is are was were be been of in on at by with for and or nor that which who can may must
        has have had will as from than if when but while does do did not would should could cannot
        into after before then so because without through where under between until unless"""
    )
)
_WORDS_BEFORE_VERBS = frozenset(
    list_words("to can may must will would could should cannot never not does do did they we you")
)
_CLAUSE_BOUNDARY = re.compile(r"[.,;:!?()\[\]{}\"“”|—–]|\n\s*\n")
"""Punctuation and blank lines, across which no name extends."""
_MAX_WORDS_PER_FORM = 5
"""Maximum number of words in a form that is counted."""


class FormUsage:
    """Counts how some forms (stemmed words or phrases) are used in the clauses of a text.

    Args:
        chunks: the text.
        forms: the forms to count, and each of their words.
    """

    def __init__(self, chunks: Iterable[Chunk], forms: Collection[str]) -> None:
        self._name_counts: Counter[str] = Counter()
        """Form → number of uses as a name."""
        self._total_counts: Counter[str] = Counter()
        """Form → number of occurrences."""
        self._verbs: set[str] = set()
        """Words that are used as verbs: "to split", "must split"."""
        self._uninflected: set[tuple[str, int]] = set()
        """(form, position) of words of a form that occur somewhere without an ending."""
        for chunk in chunks:
            for clause in _CLAUSE_BOUNDARY.split(chunk.prose):
                words = split_words(clause)
                self._count_forms(words, [stem_word(word) for word in words], forms)

    def is_name(self, form: str) -> bool:
        """Whether the text uses a form as the name of something."""
        parts = form.split()
        if len(parts) == 1:
            return self._is_noun(form, MIN_NAME_USES)
        return (
            self._total_counts[form] >= MIN_PHRASE_USES
            and self._is_noun(form, 1)
            and self._is_noun(parts[-1], MIN_NAME_USES)
            # "transaction commits", "compares attributes": a verb in the third person.
            and not any(
                part in self._verbs and (form, position) not in self._uninflected
                for position, part in enumerate(parts)
            )
        )

    def count_uses(self, form: str) -> int:
        """Counts the occurrences of a form."""
        return self._total_counts[form]

    def is_rarely_name(self, form: str) -> bool:
        """Whether a form occurs several times, but hardly ever as the name of something."""
        total = self._total_counts[form]
        return total >= MIN_JUDGED_USES and self._name_counts[form] < MAX_RARE_SHARE * total

    def is_ever_name(self, phrase: str) -> bool:
        """Whether a phrase of several words is used as the name of something at least once."""
        return " " in phrase and self._name_counts[phrase] > 0

    def is_verb(self, word: str) -> bool:
        """Whether a stemmed word is used as a verb somewhere: "to split"."""
        return word in self._verbs

    def _is_noun(self, form: str, min_uses: int) -> bool:
        uses = self._name_counts[form]
        return uses >= min_uses and uses >= MIN_NAME_SHARE * self._total_counts[form]

    def _count_forms(
        self, words: Sequence[str], stems: Sequence[str], forms: Collection[str]
    ) -> None:
        for start in range(len(stems)):
            previous_word = words[start - 1] if start else ""
            if previous_word in _WORDS_BEFORE_VERBS:
                self._verbs.add(stems[start])
            for end in range(start + 1, min(start + _MAX_WORDS_PER_FORM, len(stems)) + 1):
                form = " ".join(stems[start:end])
                if form not in forms:
                    continue
                self._total_counts[form] += 1
                self._name_counts[form] += previous_word in WORDS_BEFORE_NAMES and (
                    end == len(stems) or words[end] in WORDS_AFTER_NAMES
                )
                for index in range(start, end):
                    if words[index] == stems[index]:
                        self._uninflected.add((form, index - start))
