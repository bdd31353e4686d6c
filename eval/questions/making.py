"""Makes claims of names and numbers: which classes a predicate joins, what a number stands for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from eval.questions.form import Question
from eval.questions.linking import Mention, unit_key
from kg.claims import Claim
from kg.literals import NUMERIC, number
from kg.terms import RDF_TYPE, RDFS, XSD, literal_text, parse_literal

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase


class ClaimMaker:
    """What may stand before and behind the predicates of one knowledge base."""

    def __init__(self, kb: KnowledgeBase, preds: Iterable[str]) -> None:
        preds = tuple(preds)
        self._kb = kb
        self._index = kb.oracle.closure.index
        self.literal = {pred: self._literal_datatype(pred) for pred in preds}
        """Predicate → datatype of its values; empty when they are things."""
        self.units = {pred: unit_key(kb.words.words_of(pred).unit) for pred in preds}
        """Predicate → unit of its values, as ``Mention.unit`` spells it."""
        self._ends = {pred: (self._classes(pred, "domain"), self._classes(pred, "range"))
                      for pred in preds}  # fmt: skip

    def fits(self, pred: str, subj: Mention, obj: Mention) -> bool:
        """Whether a thing, and a thing or a number in the right unit, stand where they should."""
        if not subj.entities:
            return False
        if self.literal[pred]:
            return bool(obj.number) and obj.unit in ("", self.units[pred])
        return bool(obj.entities)

    def unit_fits(self, pred: str, question: Question) -> bool:
        """Whether the numbers of a question name the unit the predicate counts in."""
        # "Is its length 766?" may mean miles, so a number must name the unit the graph counts in.
        return {m.unit for m in question.mentions if m.number} == {self.units[pred]}

    def claims(self, pred: str, subj: Mention, obj: Mention) -> tuple[Claim, ...]:
        """The claims two mentions may make: one for each way to take their homonyms."""
        claims: list[Claim] = []
        for s in subj.entities:
            if obj.number:
                claims.append(Claim(s, pred, self._number(s, pred, obj.number)))
            else:
                claims += [Claim(s, pred, o) for o in obj.entities]
        if len(claims) > 1:
            # A homonym that could not even bear the predicate is not what was meant.
            fitting = [claim for claim in claims if self.classes_fit(claim)]
            claims = fitting or claims
        return tuple(claims)

    def charitable(self, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
        """Of homonyms the one the graph relates to the other thing, if it is the only one.

        Whoever asks whether the Thames rises in the Cotswolds means the Thames that has to do
        with the Cotswolds. Numbers relate to nothing, so with them homonyms stay ambiguous.
        """
        if len(claims) < 2 or claims[0].pred == RDF_TYPE or self.literal[claims[0].pred]:
            return claims
        related = [
            claim
            for claim in claims
            if self.adjacent(claim.subj, (claim.obj,)) or self.adjacent(claim.obj, (claim.subj,))
        ]
        return tuple(related) if len(related) == 1 else claims

    def allowed(self, pred: str, subj: Mention, obj: Mention) -> bool:
        """Whether any bearer of the names is of the classes the predicate joins."""
        objects = obj.entities or (obj.number,)
        return any(self.classes_fit(Claim(s, pred, o)) for s in subj.entities for o in objects)

    def classes_fit(self, claim: Claim) -> bool:
        """Whether subject and object are of the classes the predicate joins."""
        domain, range_ = self._ends[claim.pred]
        if domain and self._kb.words.types(claim.subj).isdisjoint(domain):
            return False
        if self.literal[claim.pred]:
            return True
        return not range_ or not self._kb.words.types(claim.obj).isdisjoint(range_)

    def adjacent(self, iri: str, others: Sequence[str]) -> bool:
        """Whether the graph relates a thing, as subject, to one of the others."""
        index, terms = self._index, self._index.terms
        node = terms.get(iri)
        near = {terms.get(other) for other in others} - {None}
        if node is None:
            return False
        return any(o in near for _, o in index.out_edges(node))

    def _number(self, subj: str, pred: str, digits: str) -> str:
        """The literal a number stands for: the graph's own spelling where it has that value."""
        index, terms = self._index, self._index.terms
        s, p = terms.get(subj), terms.get(pred)
        if s is not None and p is not None:
            for o in index.objects(s, p):
                text = terms.text(o)
                if number(text) == float(digits):
                    return text
        datatype = self.literal[pred]
        whole = not any(sign in digits for sign in ".eE")
        if datatype not in NUMERIC or (not whole and datatype == XSD + "integer"):
            datatype = XSD + ("integer" if whole else "decimal")
        return literal_text(digits, datatype)

    def _literal_datatype(self, pred: str) -> str:
        """Datatype of a predicate's values; empty when they are things."""
        p = self._index.terms.get(pred)
        first = None if p is None else next(iter(self._index.pairs(p)), None)
        text = "" if first is None else self._index.terms.text(first[1])
        return parse_literal(text).datatype if text.startswith('"') else ""

    def _classes(self, pred: str, end: str) -> frozenset[str]:
        """The classes of a predicate's domain or range; failing these, of all that stands there."""
        terms = self._index.terms
        p, schema = terms.get(pred), terms.get(RDFS + end)
        if p is None:
            return frozenset()
        if schema is not None and (stated := self._index.objects(p, schema)):
            return frozenset(terms.text(cls) for cls in stated)
        if self.literal[pred]:
            return frozenset()
        side = 0 if end == "domain" else 1
        seen = dict.fromkeys(terms.text(pair[side]) for pair in self._index.pairs(p))
        return frozenset(cls for iri in seen for cls in self._kb.words.types(iri))
