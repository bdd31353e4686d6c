"""Kinds: the names for how a label comes about, one per constraint component the shapes use."""

from __future__ import annotations

import re

from kg.claims import Claim, Verdict, Violation

FUNCTIONAL = "functional"
NUMERIC = "numeric"
DISJOINT = "disjoint"
DOMAIN_RANGE = "domain-range"
IRREFLEXIVE = "irreflexive"
ASYMMETRIC = "asymmetric"
CYCLE = "cycle"
DENIED = "denied"

SURFACE_KINDS = frozenset({DISJOINT, DOMAIN_RANGE, IRREFLEXIVE})
"""Kinds that the question itself betrays ("Does the Rhine flow into the Rhine?", a country as a
mouth). No matched E or U card can exist for them, so a set holds only a small share."""

_OF_COMPONENT = {
    "MaxCountConstraintComponent": FUNCTIONAL,
    "QualifiedMaxCountConstraintComponent": FUNCTIONAL,
    "UniqueLangConstraintComponent": FUNCTIONAL,
    "LessThanConstraintComponent": NUMERIC,
    "LessThanOrEqualsConstraintComponent": NUMERIC,
    "MinInclusiveConstraintComponent": NUMERIC,
    "MinExclusiveConstraintComponent": NUMERIC,
    "MaxInclusiveConstraintComponent": NUMERIC,
    "MaxExclusiveConstraintComponent": NUMERIC,
    "ClassConstraintComponent": DOMAIN_RANGE,
    "DatatypeConstraintComponent": DOMAIN_RANGE,
    "NodeKindConstraintComponent": DOMAIN_RANGE,
    "NotConstraintComponent": DISJOINT,
}


def kind_of_violation(claim: Claim, violation: Violation, *, reverse_holds: bool) -> str:
    """The kind that one violation makes a contradictory claim.

    Args:
        claim: the claim.
        violation: what adding it to the graph brings about.
        reverse_holds: whether the claim with subject and object swapped is entailed.
    """
    component = violation.component
    if component == "DisjointConstraintComponent":
        if claim.subj == claim.obj:
            return IRREFLEXIVE
        return ASYMMETRIC if reverse_holds else CYCLE
    known = _OF_COMPONENT.get(component)
    if known is not None:
        return known
    # A component this table does not know lends its own name: "InConstraint…" → "in".
    name = re.sub(r"(ConstraintComponent|Component)$", "", component)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower() or "violation"


def kinds_of(verdict: Verdict, *, reverse_holds: bool = False) -> list[str]:
    """All kinds a verdict supports, without repeats, in the proof's order."""
    proof = verdict.proof
    if verdict.label == "E":
        return ["asserted" if proof.kind == "asserted" else "inferred"]
    if verdict.label == "U":
        return ["absent"]
    if proof.kind == "denied":
        return [DENIED]
    return list(
        dict.fromkeys(
            kind_of_violation(verdict.claim, violation, reverse_holds=reverse_holds)
            for violation in proof.violations
        )
    )
