"""Facts: what a card states, as integers while cards are made and as claims when written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kg.claims import Claim
from kg.term_table import TermTable
from kg.terms import OWL, RDF_TYPE


class Fact(NamedTuple):
    """A stated or denied triple, in term ids."""

    s: int
    p: int
    o: int
    denied: bool = False

    def mentions(self, term: int) -> bool:
        """Whether ``term`` is its subject or object."""
        return term in (self.s, self.o)

    def claim(self, terms: TermTable) -> Claim:
        """The triple in term text."""
        return Claim(terms.text(self.s), terms.text(self.p), terms.text(self.o))


class Place(NamedTuple):
    """Where a term stands in a fact: the fact's shape seen from that term."""

    p: int
    head: bool
    denied: bool


def place(fact: Fact, term: int) -> Place:
    """How ``fact`` looks from ``term``."""
    s, p, _, denied = fact
    return Place(p, s == term, denied)


def as_triples(facts: Iterable[Fact], terms: TermTable) -> list[Claim]:
    """The facts as a graph: a denied one as an OWL negative property assertion."""
    triples: list[Claim] = []
    for number, fact in enumerate(facts):
        claim = fact.claim(terms)
        if fact.denied:
            triples += denial(claim, f"_:denied{number}")
        else:
            triples.append(claim)
    return triples


def denial(claim: Claim, node: str) -> list[Claim]:
    """``claim`` denied, as the four triples of an ``owl:NegativePropertyAssertion``."""
    target = "targetValue" if claim.obj.startswith('"') else "targetIndividual"
    return [
        Claim(node, RDF_TYPE, OWL + "NegativePropertyAssertion"),
        Claim(node, OWL + "sourceIndividual", claim.subj),
        Claim(node, OWL + "assertionProperty", claim.pred),
        Claim(node, OWL + target, claim.obj),
    ]


def as_json(facts: Iterable[Fact], terms: TermTable) -> list[dict[str, Any]]:
    """The facts for ``meta.triples``: a claim each, or one under ``denied``."""
    rows: list[dict[str, Any]] = []
    for fact in facts:
        subj, pred, obj = terms.text(fact.s), terms.text(fact.p), terms.text(fact.o)
        row = {"subj": subj, "pred": pred, "obj": obj}
        rows.append({"denied": row} if fact.denied else row)
    return rows


def triples_of_meta(rows: Iterable[dict[str, Any]]) -> list[Claim]:
    """Reads ``meta.triples`` back as a graph, denials as negative property assertions."""
    triples: list[Claim] = []
    for number, row in enumerate(rows):
        if "denied" in row:
            triples += denial(Claim(**row["denied"]), f"_:denied{number}")
        else:
            triples.append(Claim(row["subj"], row["pred"], row["obj"]))
    return triples
