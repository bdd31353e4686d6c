"""Extracts surface features of a card, which can be counted without understanding the text.

This works on any card file: the names in a question are the words that also occur in the claim's
IRIs or literal values. If IRIs are opaque (``Q584``), the caller passes the graph's labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from cards.card import Card
from kg.terms import iri_tail

_WORD = re.compile(r"\w+")
_NEGATION = re.compile(
    r"\b(?:not|never|no|cannot|neither|nor|none|nobody|nothing|nowhere)\b|n['’]t\b", re.IGNORECASE
)
# "X is a river.", "X is a body of water."; not "X is a city in Poland.", which says where it is.
_NOUN = r"(?!(?:in|of|on|at|by|from|to|for|with|as)\b)[\w'’-]++"
_CLASS = re.compile(rf"\bis an? (?:[^A-Z]*|{_NOUN}(?: {_NOUN})*)\.?$")
# Words that are part of neither a name nor a relation.
_STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "at",
        "by",
        "does",
        "do",
        "did",
        "for",
        "from",
        "has",
        "have",
        "in",
        "into",
        "is",
        "it",
        "its",
        "of",
        "on",
        "or",
        "that",
        "the",
        "this",
        "to",
        "was",
        "were",
        "which",
        "with",
        "not",
        "no",
    ]
)


def split_words(text: str) -> tuple[str, ...]:
    """Returns the case-folded words of ``text``, in order."""
    return tuple(_WORD.findall(text.casefold()))


def has_negation(fact: str) -> bool:
    """Returns whether a fact sentence contains a negation word."""
    return _NEGATION.search(fact) is not None


def get_readable_name(term: str) -> str:
    """Returns the readable part of a term: an IRI's last segment, decoded, or a literal's value.

    >>> get_readable_name("http://dbpedia.org/resource/http_//dbpedia.org/resource/Ohio_River")
    'Ohio River'
    """
    if term.startswith('"'):
        return term[1:].rpartition('"')[0]
    return iri_tail(term)


class CardSurface(msgspec.Struct, frozen=True):
    """The sets of words that pattern matching can use on one card."""

    subj: frozenset[str]
    """Words of the claim's subject that occur in the question."""
    obj: frozenset[str]
    """Words of the claim's object that occur in the question."""
    relation: frozenset[str]
    """Words of the relation: content words of the question that are not part of either name."""
    facts: tuple[frozenset[str], ...]
    """The words of each fact."""
    negations: tuple[bool, ...]
    """Whether each fact contains a negation word."""

    def find_mentions(self, name: frozenset[str]) -> list[bool]:
        """Returns for each fact whether it has every word of ``name``; False if that is empty."""
        return [bool(name) and name <= fact for fact in self.facts]

    @property
    def has_pair(self) -> bool:
        """Whether a fact without negation mentions the question's subject and object."""
        mentions = zip(
            self.find_mentions(self.subj), self.find_mentions(self.obj), self.negations, strict=True
        )
        return any(s and o and not n for s, o, n in mentions)

    @property
    def has_denied_pair(self) -> bool:
        """Whether a fact with a negation mentions the question's subject and object."""
        mentions = zip(
            self.find_mentions(self.subj), self.find_mentions(self.obj), self.negations, strict=True
        )
        return any(s and o and n for s, o, n in mentions)

    @property
    def has_other_value(self) -> bool:
        """Whether a fact mentions the subject and the relation, but not the question's object."""
        return any(
            s and not o and not n and bool(self.relation & fact)
            for s, o, n, fact in zip(
                self.find_mentions(self.subj),
                self.find_mentions(self.obj),
                self.negations,
                self.facts,
                strict=True,
            )
        )

    @property
    def has_object_elsewhere(self) -> bool:
        """Whether a fact mentions the question's object but not its subject."""
        mentions = zip(self.find_mentions(self.subj), self.find_mentions(self.obj), strict=True)
        return any(o and not s for s, o in mentions)


def read_surface(card: Card, get_name: Callable[[str], str] = get_readable_name) -> CardSurface:
    """Extracts the words of one card; ``get_name`` returns the name of a term."""
    question_words = frozenset(split_words(card.question))
    subj = frozenset(split_words(get_name(card.claim.subj))) & question_words - _STOP_WORDS
    obj = frozenset(split_words(get_name(card.claim.obj))) & question_words - _STOP_WORDS
    # Adding and removing a final "s" makes "flow" in a question match "flows" in a fact.
    relation_words = {w for w in question_words - subj - obj - _STOP_WORDS if len(w) > 2}
    relation_words |= {w + "s" for w in relation_words} | {
        w[:-1] for w in relation_words if w.endswith("s")
    }
    return CardSurface(
        subj,
        obj,
        frozenset(relation_words),
        tuple(frozenset(split_words(fact)) for fact in card.facts),
        tuple(has_negation(fact) for fact in card.facts),
    )


FEATURE_NAMES = (
    "facts",
    "rules",
    "negated facts",
    "words in facts",
    "characters in facts",
    "longest fact",
    "shortest fact",
    "words in question",
    "characters in question",
    "facts that mention the subject",
    "facts that mention the object",
    "facts that start with the subject",
    "negated facts that mention the subject",
    "facts that say what the subject is",
    "facts that share the asked relation's words",
    "words shared by subject and object",
    "digits in facts",
    "digits in question",
    "distinct first words of facts",
)


def compute_features(
    card: Card, surface: CardSurface, get_name: Callable[[str], str] = get_readable_name
) -> list[float]:
    """Computes the features named in ``FEATURE_NAMES`` for one card."""
    word_counts = [len(split_words(fact)) for fact in card.facts] or [0]
    # Six words usually include the name that a sentence starts with.
    first_words = [split_words(fact)[:6] for fact in card.facts]
    subject_mentions = surface.find_mentions(surface.subj)
    n_name_words = max(len(surface.subj), 1)
    text = " ".join(card.facts)
    # A name counts as the start of a fact even after an article and one more word (+ 2 below).
    return [
        len(card.facts),
        len(card.rules),
        sum(surface.negations),
        sum(word_counts),
        sum(map(len, card.facts)),
        max(word_counts),
        min(word_counts),
        len(split_words(card.question)),
        len(card.question),
        sum(subject_mentions),
        sum(surface.find_mentions(surface.obj)),
        sum(
            bool(surface.subj) and surface.subj <= frozenset(words[: n_name_words + 2])
            for words in first_words
        ),
        sum(s and n for s, n in zip(subject_mentions, surface.negations, strict=True)),
        sum(
            s and _CLASS.search(fact) is not None
            for s, fact in zip(subject_mentions, card.facts, strict=True)
        ),
        sum(bool(surface.relation & fact) for fact in surface.facts),
        len(
            frozenset(split_words(get_name(card.claim.subj)))
            & frozenset(split_words(get_name(card.claim.obj)))
        ),
        sum(map(str.isdigit, text)),
        sum(map(str.isdigit, card.question)),
        len({words[:2] for words in first_words}),
    ]


def count_name_occurrences(
    cards: Sequence[Card], get_name: Callable[[str], str] = get_readable_name
) -> dict[str, int]:
    """Counts how often the name of each claim's subject and object occurs in a file's facts.

    Facts that several cards share are counted once, so that the cards of a triplet do not triple
    the counts.

    Returns:
        Term text → number of facts.
    """
    contexts = {tuple(sorted(card.facts)) for card in cards}
    counts = Counter(
        word for context in contexts for fact in context for word in set(split_words(fact))
    )
    # The count of a name's rarest word is a cheap upper bound on the count of the whole name.
    return {
        term: min((counts[word] for word in split_words(get_name(term))), default=0)
        for card in cards
        for term in (card.claim.subj, card.claim.obj)
    }
