"""The settings of the corrected scores."""

from __future__ import annotations

import msgspec


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the corrected scores; in [0, 1] except ``english``, ``names`` and ``length``."""

    coverage: float = 0.5
    """Minimum share of a fact's words, without those of the question, that an answer must contain,
    so that the reasoning step with this fact counts as taken. Also the minimum share of a claim's
    words that a piece of evidence must contain."""
    focus: float = 0.25
    """Minimum share of fact words among the words of a stretch of text, for the stretch to state
    the fact. Because of it, a list of all keywords states no fact."""
    order: float = 0.2
    """How well the order of the words common to answer and fact must agree, from 0 (random) to 1
    (``wording.order``), for the fact to be stated. It also sets when F1 is reduced: if the
    agreement with the reference is less than twice this value."""
    thrown: float = 0.5
    """Factor on F1 for an answer whose words are in random order, as if thrown together. It is not
    0, because correct answers can have another order than the reference, and with few common words
    the order is weak evidence."""
    glued: float = 0.25
    """Factor on F1 for an answer that is not prose at all: keywords in a row, as if glued together.
    It is not 0, because correct answers can be lists."""
    refuted: float = 0.25
    """Weight of a matching word in a contradicted sentence. It is not 0, because verdicts can be
    wrong."""
    prose: float = 0.1
    """Share of function words (``Signs.small``) at which an answer counts fully as prose. Below it,
    the degree of prose falls, to 0 at half this share. If the reference has a lower share, that
    share is used instead."""
    english: float = -0.12
    """Minimum evidence that an answer is English prose, and not keywords with words put between
    them: the logarithm of how many times likelier the text is as prose than as such keywords, per
    word (``Signs.english``). 98 % of the stretches of text of the shipped pages are above this
    value."""
    names: float = 1.5
    """Maximum number of keywords, most of which are names, per other word of the answer; additional
    keywords do not count. None of 18 paraphrases exceeds it; one in seven answers of the graph
    walker does."""
    length: float = 3.0
    """Maximum length of an answer relative to the longest reference. In a longer answer, steps
    count less, in inverse proportion to its length."""
    sentence: float = 0.05
    """Minimum share of function words (``Signs.small``) of a sentence. A sentence with a lower
    share counts as a list of words, which states nothing."""
    correct: float = 0.35
    """Minimum F1 of a correct answer, used to find the first correct iteration. Three of four
    correct answers in other words reach it, but only 1 of 30 answers that merely quote sentences of
    the source pages."""
    sweep: tuple[float, ...] = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    """Other values of ``correct`` at which efficiency is reported."""
