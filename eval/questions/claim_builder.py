"""Builds claims from mentions, checking classes and units and choosing among homonyms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from eval.questions.mentions import Mention, build_unit_key, tokenise_text
from eval.questions.question import Question
from kg.claims import Claim
from kg.literals import NUMERIC
from kg.terms import RDF_TYPE, RDFS, XSD, parse_literal, write_literal

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase


class ClaimBuilder:
    """Builds claims with the predicates of one knowledge base."""

    def __init__(self, kb: KnowledgeBase, preds: Iterable[str]) -> None:
        preds = tuple(preds)
        self._kb = kb
        self._index = kb.oracle.closure.index
        self.datatypes = {pred: self._find_datatype(pred) for pred in preds}
        """Predicate → datatype of its values; empty when they are entities."""
        self.units = {pred: build_unit_key(kb.verbaliser.get_wording(pred).unit) for pred in preds}
        """Predicate → unit of its values, as ``Mention.unit`` spells it."""
        self._class_constraints = {
            pred: (self._find_classes(pred, "domain"), self._find_classes(pred, "range"))
            for pred in preds
        }
        self._numbers: dict[str, Mapping[Decimal, Sequence[str]]] = {}

    def fits_predicate(self, pred: str, subj: Mention, obj: Mention) -> bool:
        """Whether the subject is an entity, and the object an entity or value as required."""
        if not subj.entities:
            return False
        if self._list_own_values(pred, obj):
            return True
        if self.datatypes[pred]:
            return bool(obj.number) and obj.unit in ("", self.units[pred])
        return bool(obj.entities)

    def has_matching_unit(self, pred: str, question: Question) -> bool:
        """Whether the numbers of a question have the unit of the predicate."""
        # "Is its length 766?" may mean miles, so the question must state the graph's unit.
        return {m.unit for m in question.mentions if m.number} == {self.units[pred]}

    def build_claims(self, pred: str, subj: Mention, obj: Mention) -> tuple[Claim, ...]:
        """Builds the claims of two mentions: one for each combination of their homonyms."""
        claims: list[Claim] = []
        for s in subj.entities:
            if own_values := self._choose_values(s, pred, self._list_own_values(pred, obj)):
                claims += [Claim(s, pred, value) for value in own_values]
            elif obj.number:
                claims.append(Claim(s, pred, self._build_literal(s, pred, obj.number)))
            else:
                claims += [Claim(s, pred, o) for o in obj.entities]
        if len(claims) > 1:
            # The question cannot be about a homonym whose class does not allow the predicate.
            fitting = [claim for claim in claims if self.has_matching_classes(claim)]
            claims = fitting or claims
        return tuple(claims)

    def resolve_homonyms(self, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
        """Chooses the homonym that the graph relates to the other entity, if there is only one.

        "Does the Thames rise in the Cotswolds?" is about the Thames that the graph relates to the
        Cotswolds. Homonyms of claims about a number stay ambiguous.
        """
        if len(claims) < 2 or claims[0].pred == RDF_TYPE or self.datatypes[claims[0].pred]:
            return claims
        related = [
            claim
            for claim in claims
            if self.is_adjacent(claim.subj, (claim.obj,))
            or self.is_adjacent(claim.obj, (claim.subj,))
        ]
        return tuple(related) if len(related) == 1 else claims

    def is_allowed(self, pred: str, subj: Mention, obj: Mention) -> bool:
        """Whether any combination of homonyms has the classes that the predicate requires."""
        objects = obj.entities or (obj.number,)
        return any(
            self.has_matching_classes(Claim(s, pred, o)) for s in subj.entities for o in objects
        )

    def has_matching_classes(self, claim: Claim) -> bool:
        """Whether subject and object have the classes that the predicate requires."""
        domain, range_ = self._class_constraints[claim.pred]
        if domain and self._kb.verbaliser.collect_types(claim.subj).isdisjoint(domain):
            return False
        if self.datatypes[claim.pred]:
            return True
        return not range_ or not self._kb.verbaliser.collect_types(claim.obj).isdisjoint(range_)

    def is_adjacent(self, iri: str, candidates: Sequence[str]) -> bool:
        """Whether the graph relates an entity, as subject, to one of the others."""
        index, terms = self._index, self._index.terms
        node = terms.get(iri)
        candidate_nodes = {terms.get(other) for other in candidates} - {None}
        if node is None:
            return False
        return any(o in candidate_nodes for _, o in index.iter_out_edges(node))

    def _list_own_values(self, pred: str, mention: Mention) -> list[str]:
        """Lists the literals of a mention that are values of a predicate."""
        index, terms = self._index, self._index.terms
        p = terms.get(pred)
        ids = {text: terms.get(text) for text in mention.values}
        return [
            text
            for text, o in ids.items()
            if p is not None and o is not None and index.find_subjects(p, o)
        ]

    def _choose_values(self, subj: str, pred: str, values: Sequence[str]) -> Sequence[str]:
        """Chooses among values that are written alike those that the graph states of a subject."""
        index, terms = self._index, self._index.terms
        s, p = terms.get(subj), terms.get(pred)
        stated = set() if s is None or p is None else set(index.find_objects(s, p))
        return [value for value in values if terms.get(value) in stated] or values

    def _build_literal(self, subj: str, pred: str, digits: str) -> str:
        """Builds the literal of a number: the subject's own if it has that value, or another's.

        One predicate may have years beside dates, and numbers beside texts: a question does not
        say which datatype a number has.
        """
        datatype = self.datatypes[pred]
        written_alike = self._list_numbers(pred).get(Decimal(digits), ())
        if written_alike:
            values = self._choose_values(subj, pred, written_alike)
            return min(values, key=lambda text: parse_literal(text).datatype != datatype)
        is_integer = not any(sign in digits for sign in ".eE")
        if datatype not in NUMERIC or (not is_integer and datatype == XSD + "integer"):
            datatype = XSD + ("integer" if is_integer else "decimal")
        return write_literal(digits, datatype)

    def _list_numbers(self, pred: str) -> Mapping[Decimal, Sequence[str]]:
        """Lists the values of a predicate that are written as numbers, of whatever datatype."""
        known = self._numbers.get(pred)
        if known is None:
            terms = self._index.terms
            p = terms.get(pred)
            numbers: dict[Decimal, list[str]] = {}
            for o in self._index.list_distinct_objects(p) if p is not None else ():
                text = terms.get_text(o)
                number = _parse_decimal(text) if terms.is_literal(o) else None
                if number is not None:
                    numbers.setdefault(number, []).append(text)
            known = self._numbers[pred] = numbers
        return known

    def _find_datatype(self, pred: str) -> str:
        """Finds the datatype of a predicate's values; empty when they are entities."""
        p = self._index.terms.get(pred)
        first_pair = None if p is None else next(iter(self._index.iter_pairs(p)), None)
        text = "" if first_pair is None else self._index.terms.get_text(first_pair[1])
        return parse_literal(text).datatype if text.startswith('"') else ""

    def _find_classes(self, pred: str, constraint: str) -> frozenset[str]:
        """Finds the classes of a predicate's domain or range.

        If the graph does not declare them, they are the classes of all subjects or objects that the
        predicate has in the graph.
        """
        terms = self._index.terms
        p, constraint_node = terms.get(pred), terms.get(RDFS + constraint)
        if p is None:
            return frozenset()
        if constraint_node is not None and (
            declared := self._index.find_objects(p, constraint_node)
        ):
            return frozenset(terms.get_text(cls) for cls in declared)
        if self.datatypes[pred]:
            return frozenset()
        side = 0 if constraint == "domain" else 1
        nodes = dict.fromkeys(terms.get_text(pair[side]) for pair in self._index.iter_pairs(p))
        return frozenset(cls for iri in nodes for cls in self._kb.verbaliser.collect_types(iri))


def _parse_decimal(term: str) -> Decimal | None:
    """Returns the number that a literal is written as; also of "(030)", which a reader calls so."""
    lexical = parse_literal(term).lexical
    try:
        number = Decimal(lexical.strip())
    except InvalidOperation:
        tokens = tokenise_text(lexical)
        if len(tokens) != 1 or not tokens[0].number:
            return None
        number = Decimal(tokens[0].key)
    return number if number.is_finite() else None
