"""What can be counted on a card without understanding it: the surface that must not tell labels.

Works on any card file: names are found by the words of the claim's IRIs (or literal values) that
the question repeats. Where IRIs are opaque (``Q584``), whoever has the graph hands in its labels.
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
_FILLER = frozenset(
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


def words(text: str) -> tuple[str, ...]:
    """Case-folded words of ``text``, in order."""
    return tuple(_WORD.findall(text.casefold()))


def negated(fact: str) -> bool:
    """Whether a fact sentence contains a negation word."""
    return _NEGATION.search(fact) is not None


def tail(term: str) -> str:
    """The readable end of a term: an IRI's last segment, decoded, or a literal's value.

    >>> tail("http://dbpedia.org/resource/http_//dbpedia.org/resource/Ohio_River")
    'Ohio River'
    """
    if term.startswith('"'):
        return term[1:].rpartition('"')[0]
    return iri_tail(term)


class Sight(msgspec.Struct, frozen=True):
    """What pattern matching sees of one card: who is mentioned where."""

    subj: frozenset[str]
    """Words of the asked subject's name, as far as the question repeats them."""
    obj: frozenset[str]
    question: frozenset[str]
    """Content words of the question that belong to neither name: the relation asked about."""
    facts: tuple[frozenset[str], ...]
    negations: tuple[bool, ...]

    def mentions(self, name: frozenset[str]) -> list[bool]:
        """For each fact, whether it contains every word of ``name`` (never, for no words)."""
        return [bool(name) and name <= fact for fact in self.facts]

    @property
    def pair_stated(self) -> bool:
        """A fact without negation mentions both asked names."""
        both = zip(self.mentions(self.subj), self.mentions(self.obj), self.negations, strict=True)
        return any(s and o and not n for s, o, n in both)

    @property
    def pair_denied(self) -> bool:
        """A fact with a negation mentions both asked names."""
        both = zip(self.mentions(self.subj), self.mentions(self.obj), self.negations, strict=True)
        return any(s and o and n for s, o, n in both)

    @property
    def other_value(self) -> bool:
        """A fact gives the asked subject another object under a word of the asked relation."""
        return any(
            s and not o and not n and bool(self.question & fact)
            for s, o, n, fact in zip(
                self.mentions(self.subj),
                self.mentions(self.obj),
                self.negations,
                self.facts,
                strict=True,
            )
        )

    @property
    def object_elsewhere(self) -> bool:
        """A fact mentions the asked object but not the asked subject."""
        both = zip(self.mentions(self.subj), self.mentions(self.obj), strict=True)
        return any(o and not s for s, o in both)


def look(card: Card, name: Callable[[str], str] = tail) -> Sight:
    """Reads the surface of one card; ``name`` tells how a term is called."""
    asked = words(card.question)
    known = frozenset(asked)
    subj = frozenset(words(name(card.claim.subj))) & known - _FILLER
    obj = frozenset(words(name(card.claim.obj))) & known - _FILLER
    # "flow" in a question and "flows" in a fact are one word to any pattern matcher.
    relation = {w for w in known - subj - obj - _FILLER if len(w) > 2}
    relation |= {w + "s" for w in relation} | {w[:-1] for w in relation if w.endswith("s")}
    return Sight(
        subj,
        obj,
        frozenset(relation),
        tuple(frozenset(words(fact)) for fact in card.facts),
        tuple(negated(fact) for fact in card.facts),
    )


COUNT_NAMES = (
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
    "facts that share the asked relation's words",
    "words shared by subject and object",
    "digits in facts",
    "digits in question",
    "distinct first words of facts",
)


def counts(card: Card, sight: Sight, name: Callable[[str], str] = tail) -> list[float]:
    """The numbers named in ``COUNT_NAMES`` for one card."""
    lengths = [len(words(fact)) for fact in card.facts] or [0]
    heads = [words(fact)[:6] for fact in card.facts]
    subject = sight.mentions(sight.subj)
    name_words = max(len(sight.subj), 1)
    text = " ".join(card.facts)
    return [
        len(card.facts),
        len(card.rules),
        sum(sight.negations),
        sum(lengths),
        sum(map(len, card.facts)),
        max(lengths),
        min(lengths),
        len(words(card.question)),
        len(card.question),
        sum(subject),
        sum(sight.mentions(sight.obj)),
        sum(bool(sight.subj) and sight.subj <= frozenset(head[: name_words + 2]) for head in heads),
        sum(s and n for s, n in zip(subject, sight.negations, strict=True)),
        sum(bool(sight.question & fact) for fact in sight.facts),
        len(frozenset(words(name(card.claim.subj))) & frozenset(words(name(card.claim.obj)))),
        sum(map(str.isdigit, text)),
        sum(map(str.isdigit, card.question)),
        len({head[:2] for head in heads}),
    ]


def file_popularity(cards: Sequence[Card], name: Callable[[str], str] = tail) -> dict[str, int]:
    """How often each asked term's name occurs in the facts of the distinct contexts of a file.

    Keyed by the claim's term text. Contexts are counted once however many cards share them, so
    that a card does not count its own siblings.
    """
    contexts = {tuple(sorted(card.facts)) for card in cards}
    seen = Counter(word for context in contexts for fact in context for word in set(words(fact)))
    # The rarest word of a name bounds how often the whole name can occur: cheap and monotone.
    return {
        term: min((seen[word] for word in words(name(term))), default=0)
        for card in cards
        for term in (card.claim.subj, card.claim.obj)
    }
