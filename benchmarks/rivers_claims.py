"""Makes true and false claims about the shipped rivers, to compare engines on a real graph."""

from __future__ import annotations

import random

from kg.claims import Claim
from kg.oracle import Oracle
from kg.terms import RDF, XSD

VOCABULARY = "https://epoche.example/rivers#"
TYPE = RDF + "type"
CLAIM_COUNT = 1_000


def make_claims(oracle: Oracle, count: int = CLAIM_COUNT) -> list[Claim]:
    """Makes claims of every predicate: asserted ones, and ones with exchanged or random terms."""
    rng = random.Random(7)
    index = oracle.closure.index
    text = index.terms.get_text
    facts = [Claim(text(s), text(p), text(o)) for s, p, o in index.iter_triples()]
    facts = [claim for claim in facts if claim.subj.startswith("http")]
    claims_by_predicate: dict[str, list[Claim]] = {}
    for claim in facts:
        if claim.pred.startswith(VOCABULARY) or claim.pred == TYPE:
            claims_by_predicate.setdefault(claim.pred, []).append(claim)
    predicates = sorted(claims_by_predicate)
    subjects = sorted({claim.subj for claim in facts})
    unique_claims: dict[Claim, None] = {}
    while len(unique_claims) < count:
        claims = claims_by_predicate[rng.choice(predicates)]
        first_claim, second_claim = rng.choice(claims), rng.choice(claims)
        roll = rng.random()
        if roll < 0.15:
            claim = first_claim
        elif roll < 0.6:
            claim = Claim(first_claim.subj, first_claim.pred, second_claim.obj)
        elif roll < 0.75 and not first_claim.obj.startswith('"'):
            claim = Claim(first_claim.obj, first_claim.pred, first_claim.subj)
        elif roll < 0.85:
            claim = Claim(rng.choice(subjects), first_claim.pred, second_claim.obj)
        elif roll < 0.9:
            claim = Claim(
                first_claim.subj, first_claim.pred, f'"{rng.randint(-9, 9000)}"^^<{XSD}integer>'
            )
        elif roll < 0.95:
            claim = Claim(first_claim.subj, first_claim.pred, rng.choice(subjects))
        else:
            claim = Claim(
                "https://epoche.example/rivers/Nowhere", first_claim.pred, first_claim.obj
            )
        unique_claims[claim] = None
    return list(unique_claims)
