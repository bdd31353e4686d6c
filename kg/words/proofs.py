"""Proofs in words: why a claim is entailed, contradictory or unknown, as one readable paragraph."""

from __future__ import annotations

import re

from kg.claims import Claim, Proof, Step, Verdict, Violation
from kg.rules import RuleBook
from kg.terms import OWL, RDF_TYPE, RDFS, is_literal
from kg.words.axioms import axiom_sentence, is_axiom
from kg.words.phrasebook import Phrasebook
from kg.words.plain_text import article, listing, plain, sentence

MAX_SHOWN = 12
"""Steps, checks or values listed before "and n more": a proof is read by people."""

MAX_RULES = 3
"""Rules quoted in the proof of an unknown claim."""

_ABSENCE = "a rule asks for something the graph does not state, which means incomplete, not false"

_FALLBACKS = {
    "retargeted-pyshacl": "(Checked by pySHACL, on the nodes the claim concerns.)",
    "pyshacl": "(Checked by pySHACL, on the whole graph.)",
}

_STEP_RULES = {
    "prp-dom": "by the domain of the property",
    "prp-rng": "by the range of the property",
    "prp-inv1": "inverse property",
    "prp-inv2": "inverse property",
    "prp-symp": "symmetric property",
    "prp-trp": "transitive property",
    "prp-spo1": "sub-property",
    "prp-spo2": "property chain",
    "prp-eqp1": "equivalent property",
    "prp-eqp2": "equivalent property",
    "prp-fp": "functional property",
    "prp-ifp": "inverse functional property",
    "prp-key": "key",
    "cax-sco": "subclass",
    "cax-eqc1": "equivalent class",
    "cax-eqc2": "equivalent class",
    "cls-hv1": "value restriction",
    "cls-hv2": "value restriction",
    "cls-svf1": "existential restriction",
    "cls-avf": "universal restriction",
    "cls-int1": "intersection",
    "cls-int2": "intersection",
    "cls-uni": "union",
    "cls-oo": "enumeration",
}


def proof_paragraph(words: Phrasebook, rulebook: RuleBook, verdict: Verdict) -> str:
    """The whole proof as one paragraph of plain text."""
    text = _paragraph(words, rulebook, verdict)
    checked_by = _FALLBACKS.get(verdict.proof.engine, "")
    return f"{text} {checked_by}" if checked_by else text


def _paragraph(words: Phrasebook, rulebook: RuleBook, verdict: Verdict) -> str:
    proof, claim = verdict.proof, verdict.claim
    match proof.kind:
        case "asserted":
            return f"The graph states it: {words.fact(claim)}"
        case "derived":
            return _derived(words, claim, proof)
        case "denied":
            return f"The graph itself denies it: {words.denied(claim)}"
        case "violation":
            return _contradicted(words, rulebook, claim, proof)
        case "unproved":
            return _unproved(words, rulebook, claim, proof)


def violation_sentence(words: Phrasebook, rulebook: RuleBook, violation: Violation) -> str:
    """One validation result as a sentence: which rule, broken by what."""
    rule = rulebook.broken_rule(violation)
    about = f"This is broken by {words.name(violation.focus_node)}"
    if violation.value:
        about += f", with the value {words.name(violation.value, violation.path)}"
    return f"{rule} {sentence(about)}."


def _derived(words: Phrasebook, claim: Claim, proof: Proof) -> str:
    steps = [text for text in (_step(words, step) for step in proof.steps) if text]
    if not steps:
        return f"It follows from what the graph states: {words.fact(claim)}"
    if len(steps) == 1:
        return f"It follows from what the graph states: {steps[0]}"
    shown = steps if len(steps) <= MAX_SHOWN else [*steps[: MAX_SHOWN - 1], steps[-1]]
    numbered = " ".join(f"({number}) {text}" for number, text in enumerate(shown, 1))
    omitted = len(steps) - len(shown)
    note = f" ({omitted} steps in between are not shown.)" if omitted else ""
    return f"It follows from what the graph states in {len(steps)} steps. {numbered}{note}"


def _step(words: Phrasebook, step: Step) -> str:
    if is_axiom(step.conclusion):
        text = axiom_sentence(words, step.conclusion)
        return f"By the vocabulary, {text[0].lower() + text[1:]}" if text else ""
    facts = [words.clause_of(p) for p in step.premises if not is_axiom(p) and _is_data(p)]
    axioms = [axiom_sentence(words, p) for p in step.premises if is_axiom(p)]
    so = words.clause_of(step.conclusion)
    because = f"Because {listing(facts)}, {so}" if facts else sentence(so)
    kind = _STEP_RULES.get(step.rule) or (
        "same thing" if step.rule.startswith("eq-") else step.rule
    )
    reasons = " ".join(text for text in axioms if text)
    return f"{because} ({kind}{': ' + reasons.rstrip('.') if reasons else ''})."


def _is_data(claim: Claim) -> bool:
    """Leaves out the list cells that hold a chain or a union together."""
    return not claim.pred.endswith(("#first", "#rest"))


def _contradicted(words: Phrasebook, rulebook: RuleBook, claim: Claim, proof: Proof) -> str:
    first = proof.violations[0]
    facts = clashing_facts(words, rulebook, claim, first)
    said = f"The graph says that {listing(facts)}. " if facts else ""
    rule = rulebook.broken_rule(first)
    others = dict.fromkeys(rulebook.broken_rule(v) for v in proof.violations[1:])
    others.pop(rule, None)
    more = f" Other rules forbid it too: {' '.join(list(others)[:3])}" if others else ""
    return f"{said}{rule} So it cannot be that {words.clause_of(claim)}.{more}"


def clashing_facts(
    words: Phrasebook, rulebook: RuleBook, claim: Claim, violation: Violation
) -> list[str]:
    """What the graph says that a claim clashes with, as clauses, at most three.

    For counts the other values; for classes what the value is; for comparisons of two properties
    the other property's value; else how the two things are related already.
    """
    component = violation.component.removesuffix("ConstraintComponent")
    if component in ("MaxCount", "QualifiedMaxCount", "UniqueLang"):
        return _other_values(words, claim, violation)
    if component in ("LessThan", "LessThanOrEquals", "Equals"):
        return _compared(words, rulebook, claim, violation)
    if component == "Disjoint":
        return _relations(words, claim, violation)
    if component in ("Class", "Not", "And", "Or", "Xone", "Node", "Closed"):
        node = violation.value or violation.focus_node
        return _kinds(words, claim, node) if not is_literal(node) else []
    return []


def _other_values(words: Phrasebook, claim: Claim, violation: Violation) -> list[str]:
    path = violation.path
    steps = re.findall(r"<([^<>]*)>", path)
    if len(steps) > 1 or path.endswith(("+", "*", ")")):
        # A longer path: what its predicates say of the two things the claim would join, and
        # only what its last one says (the values that clash) where it speaks of both.
        ends = [
            [c for node in (claim.subj, claim.obj) for c in related(words, pred, subj=node)]
            for pred in dict.fromkeys([steps[-1], *steps])
            if pred != claim.pred
        ]
        if ends and len({known.subj for known in ends[0]}) == 2:
            ends = ends[:1]
        return [words.clause_of(c) for known in ends for c in known if c != claim][:3]
    inverse = path.startswith("^")
    pred = path.lstrip("^").strip("<>")
    focus = violation.focus_node
    known = (
        related(words, pred, obj=focus)
        if inverse
        else related(words, pred or claim.pred, subj=focus)
    )
    if not known and claim.pred != pred:
        known = related(words, claim.pred, subj=claim.subj)
    return [words.clause_of(c) for c in known if c != claim][:3]


def _compared(
    words: Phrasebook, rulebook: RuleBook, claim: Claim, violation: Violation
) -> list[str]:
    others = [violation.path.strip("<>"), *rulebook.compared_with(violation)]
    facts = []
    for pred in dict.fromkeys(others):
        if pred and pred != claim.pred:
            facts += [words.clause_of(c) for c in related(words, pred, subj=violation.focus_node)]
    return facts[:3]


def _relations(words: Phrasebook, claim: Claim, violation: Violation) -> list[str]:
    ends = {violation.focus_node, violation.value, claim.subj, claim.obj} - {""}
    found = []
    for pred in words.domain.predicates or [claim.pred]:
        for subj in sorted(ends):
            found += [c for c in related(words, pred, subj=subj) if c.obj in ends and c != claim]
    return [words.clause_of(c) for c in found[:1]]


def _kinds(words: Phrasebook, claim: Claim, node: str) -> list[str]:
    kinds = specific_classes(words, node)
    if claim.pred == RDF_TYPE and claim.subj == node:
        kinds = [kind for kind in kinds if kind != claim.obj]
    nouns = [article(words.class_noun(kind)) for kind in kinds[:3]]
    return [f"{words.name(node)} is {listing(nouns)}"] if nouns else []


def _unproved(words: Phrasebook, rulebook: RuleBook, claim: Claim, proof: Proof) -> str:
    text = f"The graph neither states nor implies this: {words.fact(claim)}"
    known = [c for c in related(words, claim.pred, subj=claim.subj) if c != claim]
    label = words.label(claim.pred)
    if known:
        said = listing([words.clause_of(c) for c in known[:3]])
        more = f", and {len(known) - 3} more of the kind" if len(known) > 3 else ""
        text += f" It does say that {said}{more}."
    elif claim.pred != RDF_TYPE:
        text += f" It holds no value of “{label}” for {words.name(claim.subj)}."
    if proof.violations:
        rules = dict.fromkeys(rulebook.broken_rule(v) for v in proof.violations)
        reason = plain(proof.reason, 400).rstrip(".") or _ABSENCE
        shown = " ".join(list(rules)[:3])
        return f"{text} Adding it would leave a rule unmet, but not against it ({reason}): {shown}"
    shapes = dict.fromkeys(shape for shape, _ in proof.checked)
    if shapes:
        rules_checked = [rulebook.shape_text(shape) for shape in shapes]
        named = list(dict.fromkeys(rule for rule in rules_checked if rule))
        count = len(shapes)
        breaks = f"breaks none of the {count} rules" if count > 1 else "does not break the one rule"
        text += f" Nor is it contradicted: it {breaks} checked"
        if named:
            text += f": {' '.join(named[:MAX_RULES])}"
            text += f" And {len(named) - MAX_RULES} more." if len(named) > MAX_RULES else ""
        else:
            text += "."
    else:
        text += " Nor is it contradicted: no rule applies to it."
    return text


def related(
    words: Phrasebook, pred: str, *, subj: str | None = None, obj: str | None = None
) -> list[Claim]:
    """Triples of the closure with this predicate and this subject or object."""
    index = words.index
    terms = index.terms
    p, node = terms.get(pred), terms.get(subj if subj is not None else obj or "")
    if p is None or node is None:
        return []
    if subj is not None:
        return [Claim(subj, pred, terms.text(o)) for o in index.objects(node, p)]
    return [Claim(terms.text(s), pred, obj or "") for s in index.subjects(p, node)]


def specific_classes(words: Phrasebook, node: str) -> list[str]:
    """The classes of a thing that no other class of it is included in, in the graph's order."""
    kinds = [
        claim.obj
        for claim in related(words, RDF_TYPE, subj=node)
        if not claim.obj.startswith((OWL, RDFS, "_:"))
    ]
    return [
        kind for kind in kinds if not any(kind in words.ancestors(k) for k in kinds if k != kind)
    ] or kinds
