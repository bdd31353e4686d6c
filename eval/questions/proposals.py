"""Reads claims that a model proposes in words: names of subject, predicate and object.

The names are linked as in questions (``mentions``, or else by the graph's labels),
the predicate by the domain's wording. The claim is then compared with the question. If the question
itself can be parsed, both claims must be the same; if not, the claim may only be about entities
that the question mentions. Without this check a model could get a wrong answer licensed by
proposing some other true claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from eval.questions.cues import stem_tokens
from eval.questions.mentions import (
    Mention,
    build_name_key,
    build_unit_key,
    tokenise_text,
)
from eval.questions.parser import ClaimParser, ParseFailure, Reading
from eval.questions.question import explain_qualification, replace_mentions
from kg.base.plain_text import add_article, clean_text
from kg.claims import Claim
from kg.literals import parse_number
from kg.terms import RDF_TYPE, iri_tail
from kg.words.label_grammar import split_name

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

_TYPE_PREDICATE = re.compile(
    r"(?:rdf:)?type|(?:is |are |was |has )?(?:an? )?(?:kind|type|instance)(?: of)?|is|is an?|isa|a",
    re.IGNORECASE,
)
"""Predicates that mean that the object is the type of the subject."""


class WordedClaim(NamedTuple):
    """A proposed claim in words."""

    subject: str
    predicate: str
    object: str


class QuestionContext(NamedTuple):
    """The entities, numbers and claim of a question, with which proposed claims are compared.

    Attributes:
        mentions: the entities and numbers that the question mentions.
        reading: the claim that the question was parsed as; None if it could not be parsed.
        no_claim_reason: why no claim can answer a question that could not be parsed, or empty.
    """

    mentions: tuple[Mention, ...]
    reading: Reading | None
    no_claim_reason: str = ""

    @property
    def entities(self) -> tuple[str, ...]:
        """IRIs of all entities that the question may mention, in order, without duplicates."""
        return tuple(dict.fromkeys(iri for m in self.mentions for iri in m.entities))


class ProposalReader:
    """Reads proposed claims over one knowledge base."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._parser = ClaimParser(kb)
        self._predicates: dict[tuple[str, ...], set[tuple[str, bool]]] = {}
        for pred in self._parser.preds:
            for phrase, swapped in self._list_phrases(pred):
                key = tuple(stem_tokens(tokenise_text(phrase)))
                if key:
                    self._predicates.setdefault(key, set()).add((pred, swapped))

    def analyse_question(self, question: str) -> QuestionContext:
        """Finds the entities, numbers and claim that a question is about."""
        tokens = tokenise_text(question)
        mentions = self._parser.mention_index.find_mentions(tokens)
        reading = self._parser.parse_question(question)
        if isinstance(reading, ParseFailure):
            return QuestionContext(
                tuple(mentions), None, explain_qualification(replace_mentions(tokens, mentions))
            )
        return QuestionContext(tuple(mentions), reading)

    def list_predicate_sentences(self, max_sentences: int) -> list[str]:
        """Lists a sentence about X and Y for each predicate, up to a maximum number."""
        words = self._kb.verbaliser
        sentences = []
        for pred in self._parser.preds[:max_sentences]:
            unit = clean_text(words.get_wording(pred).unit)
            sentences.append(
                words.fill_clause(pred, "X", "Y") + (f" (Y in {unit})" if unit else "")
            )
        return sentences

    def read_claim(self, worded_claim: WordedClaim) -> tuple[Claim, ...] | ParseFailure:
        """Reads a claim given in words.

        Returns:
            One claim, or one for each combination of homonyms; or the reason why there is none.
        """
        subject, predicate, object_ = map(clean_text, worded_claim)
        for role, name in (("subject", subject), ("predicate", predicate), ("object", object_)):
            if not name:
                return ParseFailure(f"the claim has no {role}")
        subject, object_ = self._link_name(subject), self._link_name(object_)
        if not self._find_entities(subject):
            return ParseFailure(f"“{subject}” names nothing in the graph")
        for sentence in self._iter_candidate_sentences(subject, predicate, object_):
            reading = self._parser.parse_question(sentence)
            if isinstance(reading, Reading) and self._is_about(reading, subject, object_):
                return reading.claims
        return ParseFailure(f"“{subject} {predicate} {object_}” is no claim the graph could hold")

    def explain_mismatch(self, claims: Iterable[Claim], question: QuestionContext) -> str:
        """Explains why claims are not what the question asks; empty if they are.

        Args:
            claims: the claims that one proposed claim was read as.
            question: what the question is about.
        """
        claims = tuple(claims)
        if question.reading is not None:
            if set(claims) & set(question.reading.claims):
                return ""
            return "the question asks something else"
        entities = set(question.entities)
        for claim in claims:
            if claim.subj not in entities:
                return (
                    f"the question does not mention {self._kb.verbaliser.render_term(claim.subj)}"
                )
            is_literal = claim.obj.startswith('"')
            if is_literal and not self._mentions_number(claim, question):
                return (
                    "the question does not name the value "
                    f"{self._kb.verbaliser.render_term(claim.obj)}"
                )
            if not is_literal and claim.pred != RDF_TYPE and claim.obj not in entities:
                return f"the question does not mention {self._kb.verbaliser.render_term(claim.obj)}"
        return ""

    def find_missing_mention(self, claims: Iterable[Claim], question: QuestionContext) -> str:
        """Finds the first entity or number of the question that no claim is about; empty if none.

        Only for questions that could not be parsed. For these there is no other check that the
        claims cover the whole question.
        """
        claims = tuple(claims)
        claim_terms = {term for claim in claims for term in (claim.subj, claim.obj)}
        values = {parse_number(claim.obj) for claim in claims}
        # Numbers may belong to the predicate's own sentence: "on 1 January 2020".
        predicate_numbers = {
            token.key
            for pred in dict.fromkeys(claim.pred for claim in claims)
            for token in tokenise_text(self._kb.verbaliser.fill_clause(pred, "", ""))
            if token.number
        }
        for mention in question.mentions:
            if mention.entities and claim_terms.isdisjoint(mention.entities):
                return self._kb.verbaliser.render_term(mention.entities[0])
            if (
                mention.number
                and mention.number not in predicate_numbers
                and float(mention.number) not in values
            ):
                return mention.number
        return ""

    def _list_phrases(self, pred: str) -> Iterator[tuple[str, bool]]:
        """Yields pairs (phrase for a predicate, whether its object comes first)."""
        words = self._kb.verbaliser
        entry = words.get_wording(pred)
        yield words.get_label(pred), False
        yield split_name(iri_tail(pred)), False
        yield words.fill_clause(pred, "", ""), False
        for phrase in entry.synonyms:
            yield phrase, False
        for phrase in entry.inverse_synonyms:
            yield phrase, True

    def _link_name(self, name: str) -> str:
        """Returns a name that the question parser knows: itself, or one the label index finds."""
        if self._find_entities(name):
            return name
        entities = self._kb.labels.find_entities(name)
        return self._kb.verbaliser.render_term(entities[0]) if len(entities) == 1 else name

    def _find_entities(self, name: str) -> tuple[str, ...]:
        return self._parser.mention_index.find_entities(build_name_key(name))

    def _iter_candidate_sentences(
        self, subject: str, predicate: str, object_: str
    ) -> Iterator[str]:
        """Yields sentences that the claim may be parsed from, the most likely first."""
        if _TYPE_PREDICATE.fullmatch(predicate):
            noun = re.sub(r"^(?:an?|the)\s+", "", object_, flags=re.IGNORECASE)
            yield f"Is {subject} {add_article(noun)}?"
        # A model may repeat the whole listed sentence: "X flows into Y".
        without_slots = re.sub(r"\b[XY]\b", " ", predicate)
        for phrase in dict.fromkeys((predicate, without_slots, split_name(iri_tail(predicate)))):
            preds = self._predicates.get(tuple(stem_tokens(tokenise_text(phrase))), set())
            # If several predicates share the phrase, the parser decides: it checks the classes.
            if len(preds) == 1:
                ((pred, swapped),) = preds
                first, second = (object_, subject) if swapped else (subject, object_)
                yield self._kb.verbaliser.fill_clause(pred, first, second)
        yield f"{subject} {predicate} {object_}"

    def _is_about(self, reading: Reading, subject: str, object_: str) -> bool:
        """Whether each parsed claim relates the two names, in either order."""
        if reading.inverted:
            return False
        subjects, objects = set(self._find_entities(subject)), set(self._find_entities(object_))
        for claim in reading.claims:
            is_literal = claim.obj.startswith('"')
            is_in_order = claim.subj in subjects and (
                is_literal or claim.pred == RDF_TYPE or claim.obj in objects
            )
            if not is_in_order and not (claim.subj in objects and claim.obj in subjects):
                return False
        return True

    def _mentions_number(self, claim: Claim, question: QuestionContext) -> bool:
        unit = build_unit_key(self._kb.verbaliser.get_wording(claim.pred).unit)
        value = parse_number(claim.obj)
        return any(
            m.number and float(m.number) == value and m.unit in ("", unit)
            for m in question.mentions
        )
