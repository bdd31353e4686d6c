"""Claims, verdicts and proofs: input and output of the licence oracle.

Terms are written as *term text* in every record: an IRI without brackets, a blank node as
``_:b0``, a literal in N-Triples form (``"5"^^<http://www.w3.org/2001/XMLSchema#integer>``). The
three cannot be confused: an IRI starts neither with a quotation mark nor with ``_:``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Label = Literal["E", "C", "U"]
"""Entailed, contradictory, unknown."""

LABELS: tuple[Label, ...] = ("E", "C", "U")
"""All labels, in the order in which tables show them."""

Gold = Literal["YES", "NO", "UNKNOWN"]

GOLD_OF_LABEL: dict[Label, Gold] = {"E": "YES", "C": "NO", "U": "UNKNOWN"}

Regime = Literal["none", "rdfs", "owl-rl"]
"""Entailment regimes, by their W3C names (OWL 2 RL/RDF rules for ``owl-rl``)."""


MINED_RULE_PREFIX = "urn:epoche:mined:"
"""Prefix of the names of shapes that `epoche kg init` found in the data. Their publisher does not
state them, so they may be false of the world."""


class Claim(msgspec.Struct, frozen=True, order=True):
    """One triple to be checked, in term text."""

    subj: str
    pred: str
    obj: str


class Step(msgspec.Struct, frozen=True):
    """One rule application of a derivation: ``premises`` ⊢ ``conclusion`` by ``rule``."""

    rule: str
    """Rule name as in the OWL 2 RL/RDF tables (``prp-inv1``, ``prp-spo1``, ``cax-sco`` …)."""
    premises: tuple[Claim, ...]
    conclusion: Claim


class Violation(msgspec.Struct, frozen=True, order=True):
    """One ``sh:ValidationResult`` of severity ``sh:Violation``, in term text."""

    shape: str
    """``sh:sourceShape``; a blank one is named by the nearest IRI above it, then its path."""
    component: str
    """Local name of ``sh:sourceConstraintComponent``, e.g. ``MaxCountConstraintComponent``."""
    focus_node: str
    path: str = ""
    """``sh:resultPath`` as a SPARQL property path; empty for node shapes."""
    value: str = ""
    """``sh:value``; empty if the result has no value (as for counts)."""
    message: str = ""

    @property
    def breaks_mined_rule(self) -> bool:
        """Whether the rule was found in the data and its publisher does not state it."""
        return self.shape.startswith(MINED_RULE_PREFIX)


class Proof(msgspec.Struct, frozen=True):
    """The justification of a verdict.

    * E ``asserted``: ``steps`` is empty, ``premises`` contains the triple itself.
    * E ``derived``: ``steps`` are in order, each premise is asserted or concluded before it is
      used; ``premises`` are the asserted triples that the derivation uses.
    * C ``denied``: ``premises`` are the triples of the negative property assertion.
    * C ``violation``: ``violations`` are those that G ∪ {claim} has and G alone does not have;
      sorted and never empty; the first is the one to show.
    * U ``unproved``: ``checked`` lists the (shape, focus node) pairs evaluated; ``violations``
      are new results that do *not* contradict the claim, and ``reason`` explains why (they rest on
      absent triples, or unique names are not assumed).
    """

    kind: Literal["asserted", "derived", "denied", "violation", "unproved"]
    engine: Literal["index", "incremental", "retargeted-pyshacl", "pyshacl", "pyrudof"]
    """What decided: the index alone, the compiled shapes, pySHACL or pyrudof."""
    premises: tuple[Claim, ...] = ()
    steps: tuple[Step, ...] = ()
    violations: tuple[Violation, ...] = ()
    checked: tuple[tuple[str, str], ...] = ()
    reason: str = ""

    @property
    def rests_on_mined_rules(self) -> bool:
        """Whether a contradiction rests on nothing but rules found in the data."""
        return self.kind == "violation" and all(v.breaks_mined_rule for v in self.violations)


class Verdict(msgspec.Struct, frozen=True):
    """The licence oracle's answer to one claim."""

    claim: Claim
    label: Label
    proof: Proof
