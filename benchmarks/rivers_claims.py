"""Makes true and false claims about the shipped rivers, to compare engines on a real graph."""

from __future__ import annotations

import random

from kg.claims import Claim
from kg.oracle import Oracle
from kg.terms import RDF, XSD

WM = "https://epoche.example/rivers#"
TYPE = RDF + "type"
CLAIMS = 1_000


def make_claims(oracle: Oracle, count: int = CLAIMS) -> list[Claim]:
    """Makes claims of every predicate: asserted ones, ones with a wrong object, and nonsense."""
    rng = random.Random(7)
    index = oracle.closure.index
    text = index.terms.get_text
    facts = [Claim(text(s), text(p), text(o)) for s, p, o in index.iter_triples()]
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
        first, second = rng.choice(claims), rng.choice(claims)
        roll = rng.random()
        if roll < 0.15:
            claim = first
        elif roll < 0.6:
            claim = Claim(first.subj, first.pred, second.obj)
        elif roll < 0.75 and not first.obj.startswith('"'):
            claim = Claim(first.obj, first.pred, first.subj)
        elif roll < 0.85:
            claim = Claim(rng.choice(subjects), first.pred, second.obj)
        elif roll < 0.9:
            claim = Claim(first.subj, first.pred, f'"{rng.randint(-9, 9000)}"^^<{XSD}integer>')
        elif roll < 0.95:
            claim = Claim(first.subj, first.pred, rng.choice(subjects))
        else:
            claim = Claim("https://epoche.example/rivers/Nowhere", first.pred, first.obj)
        made[claim] = None
    return list(made)
