"""Proofs in words: through the domain's own words where it is at hand, else plainly.

The plain words are for a report made without the knowledge base: every term is shown by the tail
of its IRI, every rule by what it says. They are complete (nothing of the proof is left out) but
not pretty, and the report says that they were used.
"""

from __future__ import annotations

from collections.abc import Callable

from kg.claims import Claim, Proof, Verdict, Violation
from kg.terms import iri_tail

ProofWords = Callable[[Verdict], str]
"""Turns a verdict into a readable paragraph."""

_RULES = {
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


def term_words(term: str) -> str:
    """A term as a reader would say it: an IRI's last part, a literal's text, a blank node."""
    if term.startswith('"'):
        end = term.rfind('"')
        text = term[1:end] if end > 0 else term[1:]
        return text.replace('\\"', '"').replace("\\n", " ").replace("\\\\", "\\")
    if term.startswith("_:"):
        return "an unnamed node"
    return iri_tail(term)


def claim_words(claim: Claim) -> str:
    """A triple on one line: ``Rhine — flowsInto → North Sea``."""
    return f"{term_words(claim.subj)} — {term_words(claim.pred)} → {term_words(claim.obj)}"


def violation_words(violation: Violation) -> str:
    """What one validation result says."""
    component = violation.component.removesuffix("ConstraintComponent") or "a constraint"
    text = f"{term_words(violation.focus_node)} would break {component}"
    text += f" of {term_words(violation.shape)}"
    if violation.path:
        text += f" at {term_words(violation.path.strip('<>'))}"
    if violation.value:
        text += f" with {term_words(violation.value)}"
    if violation.message:
        text += f": {violation.message}"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def plain_proof(verdict: Verdict) -> str:
    """One readable paragraph from the proof record alone."""
    proof = verdict.proof
    if proof.kind == "asserted":
        return f"The graph states it: {claim_words(verdict.claim)}."
    if proof.kind == "derived":
        return _derivation(verdict.claim, proof)
    if proof.kind == "denied":
        return f"The graph denies it explicitly: not ({claim_words(verdict.claim)})."
    if proof.kind == "violation":
        first, *others = proof.violations
        text = f"If it were added, {violation_words(first)}"
        if others:
            text += f" ({len(others)} more of the kind.)"
        return text
    text = "It is neither stated nor derivable, and adding it breaks no constraint"
    if proof.checked:
        shapes = len({shape for shape, _ in proof.checked})
        text += f" ({shapes} {'shape' if shapes == 1 else 'shapes'} checked)"
    text += "."
    return f"{text} {proof.reason.rstrip('.')}." if proof.reason else text


def _derivation(claim: Claim, proof: Proof) -> str:
    sentences = []
    for step in proof.steps:
        premises = " and ".join(claim_words(premise) for premise in step.premises)
        why = _RULES.get(step.rule, f"by rule {step.rule}")
        sentences.append(f"From {premises} follows {claim_words(step.conclusion)}, {why}.")
    return " ".join(sentences) or f"It follows from the graph: {claim_words(claim)}."
