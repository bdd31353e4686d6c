"""Renders proofs as text from their records, for reports made without the knowledge base.

With a knowledge base, its wording is used instead. Here every term is named by the last part of
its IRI, and every rule is described in a few words. No step of the proof is left out. A report
with such proofs says that they are worded from their records.
"""

from __future__ import annotations

from collections.abc import Callable

from kg.claims import Claim, Proof, Verdict, Violation
from kg.terms import iri_tail
from kg.words.proofs import MINED_RULE_NOTE

ProofRenderer = Callable[[Verdict], str]
"""Renders the proof of a verdict as one paragraph."""

# The keys are the names of the inference rules in the OWL 2 RL profile (W3C, section 4.3).
_RULE_REASONS = {
    "prp-inv1": "because the two properties are inverses",
    "prp-inv2": "because the two properties are inverses",
    "prp-symp": "because the property is symmetric",
    "prp-trp": "because the property is transitive",
    "prp-spo1": "because one property includes the other",
    "prp-spo2": "by a chain of properties",
    "prp-dom": "by the property's domain",
    "prp-rng": "by the property's range",
    "prp-fp": "because the property has one value",
    "prp-ifp": "because the property identifies its subject",
    "prp-eqp1": "because the two properties are equivalent",
    "prp-eqp2": "because the two properties are equivalent",
    "cax-sco": "because one class includes the other",
    "cax-eqc1": "because the two classes are equivalent",
    "cax-eqc2": "because the two classes are equivalent",
    "eq-sym": "because the two names mean one thing",
    "eq-trans": "because the names mean one thing",
    "eq-rep-s": "because the two names mean one thing",
    "eq-rep-p": "because the two names mean one thing",
    "eq-rep-o": "because the two names mean one thing",
    "scm-sco": "because class inclusion is transitive",
    "scm-spo": "because property inclusion is transitive",
}


def describe_term(term: str) -> str:
    """Names a term: the last part of an IRI, the text of a literal, or a blank node."""
    if term.startswith('"'):
        end = term.rfind('"')
        text = term[1:end] if end > 0 else term[1:]
        return text.replace('\\"', '"').replace("\\n", " ").replace("\\\\", "\\")
    if term.startswith("_:"):
        return "an unnamed node"
    return iri_tail(term)


def describe_claim(claim: Claim) -> str:
    """Renders a triple on one line: ``Rhine — flowsInto → North Sea``."""
    return f"{describe_term(claim.subj)} — {describe_term(claim.pred)} → {describe_term(claim.obj)}"


def describe_violation(violation: Violation) -> str:
    """Describes one SHACL validation result."""
    component = violation.component.removesuffix("ConstraintComponent") or "a constraint"
    text = f"{describe_term(violation.focus_node)} would break {component}"
    text += f" of {describe_term(violation.shape)}"
    if violation.path:
        text += f" at {describe_term(violation.path.strip('<>'))}"
    if violation.value:
        text += f" with {describe_term(violation.value)}"
    if violation.message:
        text += f": {violation.message}"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def describe_proof(verdict: Verdict) -> str:
    """Renders a proof as one paragraph, from its record alone."""
    proof = verdict.proof
    if proof.kind == "asserted":
        return f"The graph states it: {describe_claim(verdict.claim)}."
    if proof.kind == "derived":
        return _describe_derivation(verdict.claim, proof)
    if proof.kind == "denied":
        return f"The graph denies it explicitly: not ({describe_claim(verdict.claim)})."
    if proof.kind == "violation":
        first, *other_violations = proof.violations
        text = f"If it were added, {describe_violation(first)}"
        if first.breaks_mined_rule:
            text += f" {MINED_RULE_NOTE}"
        if other_violations:
            text += f" ({len(other_violations)} more violations.)"
        return text
    text = "It is neither stated nor derivable, and adding it breaks no constraint"
    if proof.checked:
        shapes = len({shape for shape, _ in proof.checked})
        text += f" ({shapes} {'shape' if shapes == 1 else 'shapes'} checked)"
    text += "."
    return f"{text} {proof.reason.rstrip('.')}." if proof.reason else text


def _describe_derivation(claim: Claim, proof: Proof) -> str:
    sentences = []
    for step in proof.steps:
        premises = " and ".join(describe_claim(premise) for premise in step.premises)
        reason = _RULE_REASONS.get(step.rule, f"by rule {step.rule}")
        sentences.append(f"From {premises} follows {describe_claim(step.conclusion)}, {reason}.")
    return " ".join(sentences) or f"It follows from the graph: {describe_claim(claim)}."
