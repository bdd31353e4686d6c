"""Claims about the shipped rivers, good and bad, for comparing engines on a real graph."""

from __future__ import annotations

import random

from kg.claims import Claim
from kg.oracle import Oracle
from kg.terms import RDF, XSD

WM = "https://epoche.example/rivers#"
TYPE = RDF + "type"
CLAIMS = 1_000


def make_claims(oracle: Oracle, count: int = CLAIMS) -> list[Claim]:
    """Claims of every predicate: stated ones, ones with another's object, and nonsense."""
    rng = random.Random(7)
    index = oracle.closure.index
    text = index.terms.text
    facts = [Claim(text(s), text(p), text(o)) for s, p, o in index.triples()]
    facts = [claim for claim in facts if claim.subj.startswith("http")]
    by_predicate: dict[str, list[Claim]] = {}
    for claim in facts:
        if claim.pred.startswith(WM) or claim.pred == TYPE:
            by_predicate.setdefault(claim.pred, []).append(claim)
    names = sorted(by_predicate)
    subjects = sorted({claim.subj for claim in facts})
    made: dict[Claim, None] = {}
    while len(made) < count:
        claims = by_predicate[rng.choice(names)]
        one, other = rng.choice(claims), rng.choice(claims)
        roll = rng.random()
        if roll < 0.15:
            claim = one
        elif roll < 0.6:
            claim = Claim(one.subj, one.pred, other.obj)
        elif roll < 0.75 and not one.obj.startswith('"'):
            claim = Claim(one.obj, one.pred, one.subj)
        elif roll < 0.85:
            claim = Claim(rng.choice(subjects), one.pred, other.obj)
        elif roll < 0.9:
            claim = Claim(one.subj, one.pred, f'"{rng.randint(-9, 9000)}"^^<{XSD}integer>')
        elif roll < 0.95:
            claim = Claim(one.subj, one.pred, rng.choice(subjects))
        else:
            claim = Claim("https://epoche.example/rivers/Nowhere", one.pred, one.obj)
        made[claim] = None
    return list(made)
