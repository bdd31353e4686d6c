"""What counts as said, as correct and as in order: the settings of the corrected scores."""

from __future__ import annotations

import msgspec


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """Shares within 0 and 1, but for ``english``, ``names`` and ``length``."""

    coverage: float = 0.5
    """Of a fact's words beyond the question, so many must be said for its step to be taken; of a
    claim's words, so many must stand in one piece of evidence."""
    focus: float = 0.25
    """Of the words of the stretch that says a fact, so many must be the fact's: a heap of keywords
    says nothing."""
    order: float = 0.2
    """Words in common must be so far in order for a fact to be told; see ``wording.order``. An
    answer whose words are twice as far in order loses nothing."""
    thrown: float = 0.5
    """What is left of an answer whose words are wholly thrown together: right answers are told in
    any order, and few words in common prove little."""
    glued: float = 0.25
    """What is left of F1 where an answer is no prose at all: right answers come as lists too."""
    refuted: float = 0.25
    """What a hit counts in a sentence that is refuted: verdicts err."""
    prose: float = 0.1
    """Share of function words (``Signs.small``) from which an answer is prose in full. Below, its
    F1 falls with it, to 0 at half of this. A reference that has fewer asks for no more."""
    english: float = -0.12
    """How much likelier an answer must be as prose than as glued keywords, as ln for each word
    (``Signs.english``). 98 of 100 stretches of the shipped pages are more."""
    names: float = 1.5
    """Keywords of the steps count at most so many times as often as other words are said, right or
    not. Of 18 paraphrases none has more, of the graph walker's answers one in seven."""
    length: float = 3.0
    """An answer may have so many times the words of the longest reference; the steps that a longer
    one takes count less in proportion."""
    sentence: float = 0.05
    """The same share of one sentence, below which it states nothing."""
    correct: float = 0.35
    """F1 from which an answer is correct, for the first iteration that is. Three of four honest
    answers in other words reach it, and 1 of 30 that quote sentences of the sources' pages."""
    sweep: tuple[float, ...] = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    """Other values of ``correct`` that efficiency is shown at."""
