"""What a text says, by rules: one analysis, made the same way whatever it is then written in.

Statements with what makes them matter, uncertain or disputed; causes and effects; what the
question names and the text does not; what may mislead. Each is one stated rule over words, and
nothing is known of the world.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from eval.reader import NEGATIONS, Weights, coverage, is_negated
from eval.skn.grammar.document import Level, Priority
from eval.skn.rules.causes import Cause, cause_in
from eval.skn.rules.statements import (
    asking,
    is_hedged,
    names_written,
    statements,
    subject_matter,
    titles,
)
from kg.text.normaliser import content_words

PLAIN, HEDGED, DISPUTED = 0.9, 0.5, 0.3
"""Confidence in a statement: as such; if its own words are uncertain; if another contradicts it."""
MATTERS = 0.5
"""A statement of at least this importance is a critical one."""


class Statement(NamedTuple):
    """One sentence of the text.

    Attributes:
        text: as it stands.
        importance: 0 to 1. With a question: the share of its words that the statement has, each
            weighed by how rare it is in the text. Without: how much of the text is about what it
            is about, as the mean share of the statements that hold a word of it.
        hedged: whether its own words are uncertain.
        disputed: whether another says the same but for a negation.
        cause: the cause and effect it states.
    """

    text: str
    importance: float
    hedged: bool
    disputed: bool
    cause: Cause | None

    @property
    def confidence(self) -> float:
        """How well the text supports it, 0 to 1."""
        return DISPUTED if self.disputed else HEDGED if self.hedged else PLAIN

    @property
    def priority(self) -> Priority:
        """``~`` if its words are uncertain, else ``!`` if it matters, else ``.``."""
        return "~" if self.hedged else "!" if self.importance >= MATTERS else "."


class Analysis(NamedTuple):
    """All that the rules find in a text.

    Attributes:
        statements: the most important first, equally important ones as in the text.
        gaps: names and numbers in the sentences that ask, which neither a statement nor the title
            of a search result has.
        domain: the content word that most statements have; "unknown" where there is none.
        reliability: share of the statements that are neither hedged nor disputed; 0 where there
            are none.
        misdirection: high if what matters to the question is disputed; medium if something else
            is, or if the most important statement negates what the question does not; else low.
            Without a question all statements matter alike: high or low.
        missing_context: by the share of content words in the sentences that ask, which no
            statement has: up to a quarter low, up to a half medium, else high. Without a question
            low.
    """

    statements: tuple[Statement, ...]
    gaps: tuple[str, ...]
    domain: str
    reliability: float
    misdirection: Level
    missing_context: Level


def analyse(text: str, question: str) -> Analysis:
    """Analyses ``text`` for ``question``; an empty question means that none is shown."""
    said = statements(text)
    importance = _by_question(said, question) if question else _by_text(said)
    disputed = _disputed(said)
    found = [
        Statement(sentence, weight, is_hedged(sentence), place in disputed, cause_in(sentence))
        for place, (sentence, weight) in enumerate(zip(said, importance, strict=True))
    ]
    found.sort(key=lambda statement: -statement.importance)
    sure = sum(not (statement.hedged or statement.disputed) for statement in found)
    return Analysis(
        statements=tuple(found),
        gaps=_gaps([*said, *titles(text)], question),
        domain=_domain(said),
        reliability=round(sure / len(found), 2) if found else 0.0,
        misdirection=_misdirection(found, question),
        missing_context=_missing_context(said, question),
    )


def _by_question(said: Sequence[str], question: str) -> list[float]:
    asked = Counter(content_words(question))
    weights = Weights(said).of(asked, ())
    return [round(coverage(asked, weights, Counter(content_words(one))), 6) for one in said]


def _by_text(said: Sequence[str]) -> list[float]:
    matters = [sorted(subject_matter(one)) for one in said]
    holding = Counter(word for matter in matters for word in matter)
    return [
        round(math.fsum(holding[word] for word in matter) / (len(matter) * len(said)), 6)
        if matter
        else 0.0
        for matter in matters
    ]


def _disputed(said: Sequence[str]) -> set[int]:
    """Places of the statements that are the same as another but for a negation."""
    places: defaultdict[frozenset[str], dict[bool, list[int]]] = defaultdict(dict)
    for place, one in enumerate(said):
        places[subject_matter(one)].setdefault(is_negated(one), []).append(place)
    contradicted = (both for both in places.values() if len(both) == 2)
    return {place for both in contradicted for some in both.values() for place in some}


def _gaps(said: Sequence[str], question: str) -> tuple[str, ...]:
    held = {word for one in said for word in content_words(one)}
    return tuple(
        name for name in names_written(asking(question)) if not held.issuperset(content_words(name))
    )


def _domain(said: Sequence[str]) -> str:
    holding = Counter(word for one in said for word in dict.fromkeys(content_words(one)))
    words = ((count, word) for word, count in holding.items() if word not in NEGATIONS)
    return max(words, key=lambda told: told[0], default=(0, "unknown"))[1]


def _misdirection(found: Sequence[Statement], question: str) -> Level:
    if any(one.disputed and (not question or one.importance >= MATTERS) for one in found):
        return "high"
    if any(one.disputed for one in found):
        return "medium"
    if question and found and found[0].importance >= MATTERS:
        return "medium" if is_negated(found[0].text) and not is_negated(question) else "low"
    return "low"


def _missing_context(said: Sequence[str], question: str) -> Level:
    asked = subject_matter(asking(question))
    if not asked:
        return "low"
    missing = len(asked - {word for one in said for word in content_words(one)}) / len(asked)
    return "low" if missing <= 0.25 else "medium" if missing <= 0.5 else "high"
