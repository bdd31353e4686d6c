"""Reads a claim that a model proposes by its words: subject, predicate and object as names.

The names are linked like those of questions (``eval.questions.linking``, failing that by the
graph's labels), the predicate by the domain's words. What is read is then held against the
question: a claim may only be about what the question mentions, and where the question itself can
be read as a claim it must be that one. Otherwise a model could have a false answer licensed by
some true statement next to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from eval.questions.cues import stems_of
from eval.questions.form import cut_out, twist
from eval.questions.linking import Mention, name_key, tokens_of, unit_key
from eval.questions.parsing import ClaimParser, Reading, Unread
from kg.claims import Claim
from kg.literals import number
from kg.terms import RDF_TYPE, iri_tail
from kg.words.phrasing import split_name
from kg.words.plain_text import article, plain

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

_KIND = re.compile(
    r"(?:rdf:)?type|(?:is |are |was |has )?(?:an? )?(?:kind|type|instance)(?: of)?|is|is an?|isa|a",
    re.IGNORECASE,
)
"""Ways to say that the object is the kind of thing the subject is."""


class Wording(NamedTuple):
    """A proposed claim in words."""

    subject: str
    predicate: str
    object: str


class Asked(NamedTuple):
    """What a question is about, for holding proposed claims against it.

    Attributes:
        mentions: the things and numbers it mentions.
        reading: the claim it was read as; None when it could not be read.
        twist: why no claim at all may answer it where it could not be read; mostly empty.
    """

    mentions: tuple[Mention, ...]
    reading: Reading | None
    twist: str = ""

    @property
    def things(self) -> tuple[str, ...]:
        """IRIs of everything it may be about, in order, each once."""
        return tuple(dict.fromkeys(iri for m in self.mentions for iri in m.entities))


class ProposalReader:
    """Reads proposed claims over one knowledge base."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._parser = ClaimParser(kb)
        self._predicates: dict[tuple[str, ...], set[tuple[str, bool]]] = {}
        for pred in self._parser.preds:
            for phrase, swapped in self._phrases(pred):
                key = tuple(stems_of(tokens_of(phrase)))
                if key:
                    self._predicates.setdefault(key, set()).add((pred, swapped))

    def asked(self, question: str) -> Asked:
        """What a question is about."""
        tokens = tokens_of(question)
        mentions = self._parser.mentions.scan(tokens)
        reading = self._parser.parse(question)
        if isinstance(reading, Unread):
            return Asked(tuple(mentions), None, twist(cut_out(tokens, mentions)))
        return Asked(tuple(mentions), reading)

    def sentences(self, most: int) -> list[str]:
        """How each predicate is said of X and Y, the first ``most``."""
        words = self._kb.words
        shown = []
        for pred in self._parser.preds[:most]:
            unit = plain(words.words_of(pred).unit)
            shown.append(words.clause(pred, "X", "Y") + (f" (Y in {unit})" if unit else ""))
        return shown

    def read(self, wording: Wording) -> tuple[Claim, ...] | Unread:
        """The claim that is worded, or one for each way to take its homonyms.

        Returns:
            The claims, or why there is none.
        """
        subject, predicate, object_ = map(plain, wording)
        for role, name in (("subject", subject), ("predicate", predicate), ("object", object_)):
            if not name:
                return Unread(f"the claim has no {role}")
        subject, object_ = self._linked(subject), self._linked(object_)
        if not self._bearers(subject):
            return Unread(f"“{subject}” names nothing in the graph")
        for sentence in self._candidates(subject, predicate, object_):
            reading = self._parser.parse(sentence)
            if isinstance(reading, Reading) and self._says(reading, subject, object_):
                return reading.claims
        return Unread(f"“{subject} {predicate} {object_}” is no claim the graph could hold")

    def unasked(self, claims: Iterable[Claim], asked: Asked) -> str:
        """Why claims are not what the question asks; empty when they are.

        Args:
            claims: what was read of one proposed claim.
            asked: what the question is about.
        """
        claims = tuple(claims)
        if asked.reading is not None:
            if set(claims) & set(asked.reading.claims):
                return ""
            return "the question asks something else"
        things = set(asked.things)
        for claim in claims:
            if claim.subj not in things:
                return f"the question does not mention {self._kb.words.name(claim.subj)}"
            literal = claim.obj.startswith('"')
            if literal and not self._number_asked(claim, asked):
                return f"the question does not name the value {self._kb.words.name(claim.obj)}"
            if not literal and claim.pred != RDF_TYPE and claim.obj not in things:
                return f"the question does not mention {self._kb.words.name(claim.obj)}"
        return ""

    def left_out(self, claims: Iterable[Claim], asked: Asked) -> str:
        """The first thing or number of the question that no claim is about; empty when all are.

        Only for questions that could not be read: there nothing else tells that a claim leaves
        half of the question out.
        """
        claims = tuple(claims)
        used = {term for claim in claims for term in (claim.subj, claim.obj)}
        values = {number(claim.obj) for claim in claims}
        # Numbers may belong to the predicate's own sentence: "on 1 January 2020".
        own = {
            token.key
            for pred in dict.fromkeys(claim.pred for claim in claims)
            for token in tokens_of(self._kb.words.clause(pred, "", ""))
            if token.number
        }
        for mention in asked.mentions:
            if mention.entities and used.isdisjoint(mention.entities):
                return self._kb.words.name(mention.entities[0])
            if mention.number and mention.number not in own and float(mention.number) not in values:
                return mention.number
        return ""

    def _phrases(self, pred: str) -> Iterator[tuple[str, bool]]:
        """(how a predicate is said, whether the object is said first)."""
        words = self._kb.words
        entry = words.words_of(pred)
        yield words.label(pred), False
        yield split_name(iri_tail(pred)), False
        yield words.clause(pred, "", ""), False
        for phrase in entry.synonyms:
            yield phrase, False
        for phrase in entry.inverse_synonyms:
            yield phrase, True

    def _linked(self, name: str) -> str:
        """A name the question parser knows: itself, or what the graph's label index finds."""
        if self._bearers(name):
            return name
        found = self._kb.labels.find(name)
        return self._kb.words.name(found[0]) if len(found) == 1 else name

    def _bearers(self, name: str) -> tuple[str, ...]:
        return self._parser.mentions.entities(name_key(name))

    def _candidates(self, subject: str, predicate: str, object_: str) -> Iterator[str]:
        """Sentences the claim may be read from, the plainest first."""
        if _KIND.fullmatch(predicate):
            noun = re.sub(r"^(?:an?|the)\s+", "", object_, flags=re.IGNORECASE)
            yield f"Is {subject} {article(noun)}?"
        # A model may repeat the listed sentence whole: "X flows into Y".
        bare = re.sub(r"\b[XY]\b", " ", predicate)
        for phrase in dict.fromkeys((predicate, bare, split_name(iri_tail(predicate)))):
            found = self._predicates.get(tuple(stems_of(tokens_of(phrase))), set())
            # What several predicates are called is left to the parser, which knows the classes.
            if len(found) == 1:
                ((pred, swapped),) = found
                first, second = (object_, subject) if swapped else (subject, object_)
                yield self._kb.words.clause(pred, first, second)
        yield f"{subject} {predicate} {object_}"

    def _says(self, reading: Reading, subject: str, object_: str) -> bool:
        """Whether what was read is about the two names and nothing else."""
        if reading.inverted:
            return False
        subjects, objects = set(self._bearers(subject)), set(self._bearers(object_))
        for claim in reading.claims:
            literal = claim.obj.startswith('"')
            straight = claim.subj in subjects and (
                literal or claim.pred == RDF_TYPE or claim.obj in objects
            )
            if not straight and not (claim.subj in objects and claim.obj in subjects):
                return False
        return True

    def _number_asked(self, claim: Claim, asked: Asked) -> bool:
        unit = unit_key(self._kb.words.words_of(claim.pred).unit)
        value = number(claim.obj)
        return any(
            m.number and float(m.number) == value and m.unit in ("", unit) for m in asked.mentions
        )
