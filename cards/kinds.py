"""Kinds: the names for how a label comes about, one per constraint component the shapes use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kg.base.errors import DomainError
from kg.claims import Claim, Verdict, Violation

if TYPE_CHECKING:
    from kg.shapes import Constraint

FUNCTIONAL = "functional"
NUMERIC = "numeric"
DISJOINT = "disjoint"
DOMAIN_RANGE = "domain-range"
IRREFLEXIVE = "irreflexive"
ASYMMETRIC = "asymmetric"
CYCLE = "cycle"
DENIED = "denied"

WITHHELD = "withheld"
COUNTERFACTUAL = "counterfactual"
FAITHFULNESS_KINDS = frozenset({WITHHELD, COUNTERFACTUAL})
"""Kinds whose gold follows the card *against* the graph: always reported apart."""

NEAR_MISS_PREFIX = "near-miss/"
"""What kinds of near-misses begin with; their strategy follows."""

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
    return _own_name(component)


def _own_name(component: str) -> str:
    """The kind a component lends its own name to: ``InConstraintComponent`` → ``in``."""
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


def check_kinds(asked: Iterable[str], constraints: Iterable[Constraint]) -> None:
    """Refuses a kind that no card can ever have: it would silently leave a label empty.

    Args:
        asked: names given with ``--kinds``.
        constraints: what the shapes demand; components without a kind of their own name it.

    Raises:
        DomainError: naming the kinds there are.
    """
    fixed = ("asserted", "inferred", "absent", DENIED, IRREFLEXIVE, ASYMMETRIC, CYCLE)
    own = (_OF_COMPONENT.get(c.component) or _own_name(c.component) for c in constraints)
    known = list(dict.fromkeys((*fixed, *own)))
    for kind in asked:
        if kind not in known:
            raise DomainError(
                f"no kind {kind!r}", where="--kinds", hint=f"Known here: {', '.join(known)}."
            )
