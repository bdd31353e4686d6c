"""Defines the kinds of cards: a card's kind is the reason for its label.

The kind of a contradiction follows from the component of the violated SHACL constraint.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kg.base.errors import DomainError
from kg.claims import Claim, Verdict, Violation
from kg.domain import suggest_nearest
from kg.profile.graph_changes.class_links import KIND_OF
from kg.terms import RDFS

if TYPE_CHECKING:
    from cards.generation.graph_lookup import GraphLookup
    from kg.shapes import Constraint

FUNCTIONAL = "functional"
NUMERIC = "numeric"
DISJOINT = "disjoint"
DOMAIN_RANGE = "domain-range"
IRREFLEXIVE = "irreflexive"
ASYMMETRIC = "asymmetric"
CYCLE = "cycle"
EXCLUSIVE = "exclusive"
"""Kind of a claim about two things that another predicate links, which excludes this one."""
DENIED = "denied"

WITHHELD = "withheld"
COUNTERFACTUAL = "counterfactual"
FAITHFULNESS_KINDS = frozenset({WITHHELD, COUNTERFACTUAL})
"""Kinds whose gold follows from the card and *contradicts* the graph; reported separately."""

NEAR_MISS_PREFIX = "near-miss/"
"""Prefix of the kinds of near-misses; the strategy follows."""

SURFACE_KINDS = frozenset({DISJOINT, DOMAIN_RANGE, IRREFLEXIVE})
"""Kinds that the question alone reveals: "Does the Rhine flow into the Rhine?", or a river that
flows into a country. No E or U card can look like these, so they are a small share of a card set.
"""

REFLEXIVE = frozenset((KIND_OF, RDFS + "subClassOf", RDFS + "subPropertyOf"))
"""Predicates by which everything is linked with itself: every class is a subclass of itself."""
_REFLEXIVE_NAMES = frozenset(
    (
        "is a",
        "is a kind of",
        "kind of",
        "is a type of",
        "type of",
        "is a subclass of",
        "subclass of",
    )
)

_KIND_OF_COMPONENT = {
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


def is_reflexive(lookup: GraphLookup, p: int) -> bool:
    """Returns whether a predicate, or one of its name, also links everything with itself.

    Nobody could say that it is false that a dotplot is a kind of dotplot.
    """
    pred = lookup.terms.get_text(p)
    label = lookup.kb.verbaliser.get_label(pred)
    return pred in REFLEXIVE or label.casefold() in _REFLEXIVE_NAMES


def classify_violation(claim: Claim, violation: Violation, *, reverse_holds: bool) -> str:
    """Returns the kind of a contradictory claim, given one violation it causes.

    Args:
        claim: the claim.
        violation: a violation caused by adding the claim to the graph.
        reverse_holds: whether the claim with subject and object swapped is entailed.
    """
    component = violation.component
    if component == "DisjointConstraintComponent":
        if claim.subj == claim.obj:
            return IRREFLEXIVE
        if "^" not in violation.path:
            return EXCLUSIVE
        return ASYMMETRIC if reverse_holds else CYCLE
    kind = _KIND_OF_COMPONENT.get(component)
    if kind is not None:
        return kind
    return _derive_kind(component)


def _derive_kind(component: str) -> str:
    """Derives a kind from a component's name: ``InConstraintComponent`` → ``in``."""
    stem = re.sub(r"(ConstraintComponent|Component)$", "", component)
    # Insert a hyphen between the words: "MaxLength" becomes "max-length".
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", stem).lower() or "violation"


def list_supported_kinds(verdict: Verdict, *, reverse_holds: bool = False) -> list[str]:
    """Lists the kinds that a verdict supports, without duplicates, in the proof's order."""
    proof = verdict.proof
    if verdict.label == "E":
        return ["asserted" if proof.kind == "asserted" else "inferred"]
    if verdict.label == "U":
        return ["absent"]
    if proof.kind == "denied":
        return [DENIED]
    return list(
        dict.fromkeys(
            classify_violation(verdict.claim, violation, reverse_holds=reverse_holds)
            for violation in proof.violations
        )
    )


def check_kinds(requested: Iterable[str], constraints: Iterable[Constraint]) -> None:
    """Refuses a requested kind that no card can have, because its label would have no cards.

    Args:
        requested: names given with ``--kinds``.
        constraints: the constraints of the shapes; their components determine further kinds.

    Raises:
        DomainError: a kind is unknown; the hint lists the known ones.
    """
    fixed_kinds = (
        "asserted",
        "inferred",
        "absent",
        DENIED,
        IRREFLEXIVE,
        ASYMMETRIC,
        CYCLE,
        EXCLUSIVE,
    )
    shape_kinds = (
        _KIND_OF_COMPONENT.get(c.component) or _derive_kind(c.component) for c in constraints
    )
    known_kinds = list(dict.fromkeys((*fixed_kinds, *shape_kinds)))
    for kind in requested:
        if kind not in known_kinds:
            raise DomainError(
                f"unknown kind {kind!r}",
                where="--kinds",
                hint=" ".join(
                    (suggest_nearest(kind, known_kinds), f"Known here: {', '.join(known_kinds)}.")
                ).strip(),
            )
