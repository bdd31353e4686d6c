"""Defines the facts that cards are made from, as term ids, and converts them to claims and JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kg.claims import Claim
from kg.terms import OWL, RDF_TYPE
from kg.triples.term_table import TermTable


class Fact(NamedTuple):
    """A triple that a card states or denies; ``s``, ``p`` and ``o`` are term ids."""

    s: int
    p: int
    o: int
    denied: bool = False

    def mentions_term(self, term: int) -> bool:
        """Returns whether ``term`` is the fact's subject or object."""
        return term in (self.s, self.o)

    def to_claim(self, terms: TermTable) -> Claim:
        """Returns the triple with terms as text; the result omits whether the fact is denied."""
        return Claim(terms.get_text(self.s), terms.get_text(self.p), terms.get_text(self.o))


class TermRole(NamedTuple):
    """The position of a term in a fact: predicate, whether the term is subject, whether denied."""

    p: int
    is_subject: bool
    is_denied: bool


def get_term_role(fact: Fact, term: int) -> TermRole:
    """Returns the position of ``term`` in ``fact``."""
    s, p, _, denied = fact
    return TermRole(p, s == term, denied)


def facts_to_triples(facts: Iterable[Fact], terms: TermTable) -> list[Claim]:
    """Converts facts to triples; a denied one becomes an OWL negative property assertion."""
    triples: list[Claim] = []
    for index, fact in enumerate(facts):
        claim = fact.to_claim(terms)
        if fact.denied:
            triples += make_denial_triples(claim, f"_:denied{index}")
        else:
            triples.append(claim)
    return triples


def make_denial_triples(claim: Claim, node: str) -> list[Claim]:
    """Returns the four triples of an ``owl:NegativePropertyAssertion`` that denies ``claim``.

    Args:
        claim: the claim to deny.
        node: the assertion's blank node.
    """
    target_property = "targetValue" if claim.obj.startswith('"') else "targetIndividual"
    return [
        Claim(node, RDF_TYPE, OWL + "NegativePropertyAssertion"),
        Claim(node, OWL + "sourceIndividual", claim.subj),
        Claim(node, OWL + "assertionProperty", claim.pred),
        Claim(node, OWL + target_property, claim.obj),
    ]


def facts_to_json(facts: Iterable[Fact], terms: TermTable) -> list[dict[str, Any]]:
    """Encodes facts for ``meta.triples``: one claim each, a denied one under the key ``denied``."""
    rows: list[dict[str, Any]] = []
    for fact in facts:
        subj, pred, obj = terms.get_text(fact.s), terms.get_text(fact.p), terms.get_text(fact.o)
        row = {"subj": subj, "pred": pred, "obj": obj}
        rows.append({"denied": row} if fact.denied else row)
    return rows
