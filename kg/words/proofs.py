"""Renders proofs in English: why a claim is entailed, contradicted or unknown."""

from __future__ import annotations

import re

from kg.base.plain_text import add_article, capitalise_sentence, clean_text, join_list
from kg.claims import Claim, Proof, Step, Verdict, Violation
from kg.terms import OWL, RDF_TYPE, RDFS, is_literal
from kg.words.axioms import is_axiom, render_axiom
from kg.words.phrasebook import Phrasebook
from kg.words.rules import RuleBook

MAX_STEPS = 12
"""Maximum number of derivation steps in a rendered proof."""

MAX_RULES = 3
"""Maximum number of rules quoted in the proof of an unknown claim."""

_ABSENCE_REASON = (
    "a rule asks for something the graph does not state, which means incomplete, not false"
)
"""Reason given for an unproved claim whose validation result has no reason of its own."""

MINED_RULE_NOTE = "(This rule was found in the data; its publisher does not state it.)"
"""Note after a rule that `epoche kg init` found."""

_ENGINE_NOTES = {
    "retargeted-pyshacl": "(Checked by pySHACL, on the nodes the claim concerns.)",
    "pyshacl": "(Checked by pySHACL, on the whole graph.)",
    "pyrudof": "(Checked by pyrudof, on the whole graph.)",
}
"""Note at the end of a proof that an external engine checked."""

# The keys are the names of the inference rules in the OWL 2 RL profile (W3C, section 4.3).
_RULE_NAMES = {
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


def render_proof_paragraph(phrasebook: Phrasebook, rulebook: RuleBook, verdict: Verdict) -> str:
    """Renders the whole proof as one paragraph of plain text."""
    text = _render_paragraph(phrasebook, rulebook, verdict)
    engine_note = _ENGINE_NOTES.get(verdict.proof.engine, "")
    return f"{text} {engine_note}" if engine_note else text


def _render_paragraph(phrasebook: Phrasebook, rulebook: RuleBook, verdict: Verdict) -> str:
    proof, claim = verdict.proof, verdict.claim
    match proof.kind:
        case "asserted":
            return f"The graph states it: {phrasebook.render_fact(claim)}"
        case "derived":
            return _render_derivation(phrasebook, claim, proof)
        case "denied":
            return f"The graph itself denies it: {phrasebook.render_denial(claim)}"
        case "violation":
            return _render_contradiction(phrasebook, rulebook, claim, proof)
        case "unproved":
            return _render_unproved(phrasebook, rulebook, claim, proof)


def render_violation_sentence(
    phrasebook: Phrasebook, rulebook: RuleBook, violation: Violation
) -> str:
    """Renders one validation result: the rule, and the node and value that break it."""
    rule = rulebook.describe_broken_rule(violation)
    violation_text = f"This is broken by {phrasebook.render_term(violation.focus_node)}"
    if violation.value:
        violation_text += (
            f", with the value {phrasebook.render_term(violation.value, violation.path)}"
        )
    return f"{rule} {capitalise_sentence(violation_text)}."


def _render_derivation(phrasebook: Phrasebook, claim: Claim, proof: Proof) -> str:
    steps = [text for text in (_render_step(phrasebook, step) for step in proof.steps) if text]
    if not steps:
        return f"It follows from what the graph states: {phrasebook.render_fact(claim)}"
    if len(steps) == 1:
        return f"It follows from what the graph states: {steps[0]}"
    shown_steps = steps if len(steps) <= MAX_STEPS else [*steps[: MAX_STEPS - 1], steps[-1]]
    numbered_steps = " ".join(f"({number}) {text}" for number, text in enumerate(shown_steps, 1))
    n_omitted = len(steps) - len(shown_steps)
    note = f" ({n_omitted} steps in between are not shown.)" if n_omitted else ""
    return f"It follows from what the graph states in {len(steps)} steps. {numbered_steps}{note}"


def _render_step(phrasebook: Phrasebook, step: Step) -> str:
    if is_axiom(step.conclusion):
        text = render_axiom(phrasebook, step.conclusion)
        return f"By the vocabulary, {text[0].lower() + text[1:]}" if text else ""
    facts = [phrasebook.render_clause(p) for p in step.premises if not is_axiom(p) and _is_fact(p)]
    axioms = [render_axiom(phrasebook, p) for p in step.premises if is_axiom(p)]
    conclusion = phrasebook.render_clause(step.conclusion)
    sentence = (
        f"Because {join_list(facts)}, {conclusion}" if facts else capitalise_sentence(conclusion)
    )
    rule_name = _RULE_NAMES.get(step.rule) or (
        "same thing" if step.rule.startswith("eq-") else step.rule
    )
    axiom_text = " ".join(text for text in axioms if text)
    return f"{sentence} ({rule_name}{': ' + axiom_text.rstrip('.') if axiom_text else ''})."


def _is_fact(claim: Claim) -> bool:
    """Whether a premise is a fact, and not a cell of the RDF list of a chain or a union."""
    return not claim.pred.endswith(("#first", "#rest"))


def _render_contradiction(
    phrasebook: Phrasebook, rulebook: RuleBook, claim: Claim, proof: Proof
) -> str:
    first_violation = proof.violations[0]
    facts = find_clashing_facts(phrasebook, rulebook, claim, first_violation)
    intro = f"The graph says that {join_list(facts)}. " if facts else ""
    rule = _describe_rule_with_origin(rulebook, first_violation)
    other_rules = dict.fromkeys(
        _describe_rule_with_origin(rulebook, v) for v in proof.violations[1:]
    )
    other_rules.pop(rule, None)
    more_text = (
        f" Other rules forbid it too: {' '.join(list(other_rules)[:3])}" if other_rules else ""
    )
    return f"{intro}{rule} So it cannot be that {phrasebook.render_clause(claim)}.{more_text}"


def _describe_rule_with_origin(rulebook: RuleBook, violation: Violation) -> str:
    rule = rulebook.describe_broken_rule(violation)
    return f"{rule} {MINED_RULE_NOTE}" if violation.breaks_mined_rule else rule


def find_clashing_facts(
    phrasebook: Phrasebook, rulebook: RuleBook, claim: Claim, violation: Violation
) -> list[str]:
    """Renders the facts that a claim clashes with, as at most three clauses.

    Which facts these are depends on the violated constraint:

    * a maximum count: the other values;
    * a comparison of two properties: the values of the other property;
    * disjoint properties: another relation between the two entities;
    * a class or a combination of shapes: the classes of the value.
    """
    component = violation.component.removesuffix("ConstraintComponent")
    if component in ("MaxCount", "QualifiedMaxCount", "UniqueLang"):
        return _find_other_values(phrasebook, claim, violation)
    if component in ("LessThan", "LessThanOrEquals", "Equals"):
        return _find_compared_values(phrasebook, rulebook, claim, violation)
    if component == "Disjoint":
        return _find_relations(phrasebook, claim, violation)
    if component in ("Class", "Not", "And", "Or", "Xone", "Node", "Closed"):
        node = violation.value or violation.focus_node
        return _find_class_facts(phrasebook, claim, node) if not is_literal(node) else []
    return []


def _find_other_values(phrasebook: Phrasebook, claim: Claim, violation: Violation) -> list[str]:
    """Renders the values that the violated property path has apart from the claim."""
    path = violation.path  # A SHACL path: <iri>, ^<iri> (inverse), <iri>+ or (<iri>/<iri>).
    steps = re.findall(r"<([^<>]*)>", path)
    if len(steps) > 1 or path.endswith(("+", "*", ")")):
        # For a longer path, use the facts of its predicates about the two entities of the claim.
        # If the last predicate has facts about both, only these clash with the claim.
        claims_by_pred = [
            [
                c
                for node in (claim.subj, claim.obj)
                for c in find_claims(phrasebook, pred, subj=node)
            ]
            for pred in dict.fromkeys([steps[-1], *steps])
            if pred != claim.pred
        ]
        if claims_by_pred and len({c.subj for c in claims_by_pred[0]}) == 2:
            claims_by_pred = claims_by_pred[:1]
        return [
            phrasebook.render_clause(c) for claims in claims_by_pred for c in claims if c != claim
        ][:3]
    inverse = path.startswith("^")
    pred = path.lstrip("^").strip("<>")
    focus_node = violation.focus_node
    stated_claims = (
        find_claims(phrasebook, pred, obj=focus_node)
        if inverse
        else find_claims(phrasebook, pred or claim.pred, subj=focus_node)
    )
    if not stated_claims and claim.pred != pred:
        stated_claims = find_claims(phrasebook, claim.pred, subj=claim.subj)
    return [phrasebook.render_clause(c) for c in stated_claims if c != claim][:3]


def _find_compared_values(
    phrasebook: Phrasebook, rulebook: RuleBook, claim: Claim, violation: Violation
) -> list[str]:
    """Renders the values of the properties that the violated rule compares with the claim's."""
    predicates = [violation.path.strip("<>"), *rulebook.find_compared_predicates(violation)]
    facts = []
    for pred in dict.fromkeys(predicates):
        if pred and pred != claim.pred:
            facts += [
                phrasebook.render_clause(c)
                for c in find_claims(phrasebook, pred, subj=violation.focus_node)
            ]
    return facts[:3]


def _find_relations(phrasebook: Phrasebook, claim: Claim, violation: Violation) -> list[str]:
    """Renders the first other fact that relates the two entities of the claim."""
    ends = {violation.focus_node, violation.value, claim.subj, claim.obj} - {""}
    relations = []
    for pred in phrasebook.domain.predicates or [claim.pred]:
        for subj in sorted(ends):
            relations += [
                c for c in find_claims(phrasebook, pred, subj=subj) if c.obj in ends and c != claim
            ]
    return [phrasebook.render_clause(c) for c in relations[:1]]


def _find_class_facts(phrasebook: Phrasebook, claim: Claim, node: str) -> list[str]:
    """Renders the classes of an entity as one clause, without a class that the claim gives it."""
    classes = find_specific_classes(phrasebook, node)
    if claim.pred == RDF_TYPE and claim.subj == node:
        classes = [class_iri for class_iri in classes if class_iri != claim.obj]
    nouns = [add_article(phrasebook.get_class_noun(class_iri)) for class_iri in classes[:3]]
    return [f"{phrasebook.render_term(node)} is {join_list(nouns)}"] if nouns else []


def _render_unproved(phrasebook: Phrasebook, rulebook: RuleBook, claim: Claim, proof: Proof) -> str:
    text = f"The graph neither states nor implies this: {phrasebook.render_fact(claim)}"
    other_claims = [c for c in find_claims(phrasebook, claim.pred, subj=claim.subj) if c != claim]
    label = phrasebook.get_label(claim.pred)
    if other_claims:
        facts = join_list([phrasebook.render_clause(c) for c in other_claims[:3]])
        omission = (
            f", and {len(other_claims) - 3} more of the kind" if len(other_claims) > 3 else ""
        )
        text += f" It does say that {facts}{omission}."
    elif claim.pred != RDF_TYPE:
        text += f" It holds no value of “{label}” for {phrasebook.render_term(claim.subj)}."
    if proof.violations:
        rules = dict.fromkeys(rulebook.describe_broken_rule(v) for v in proof.violations)
        reason = clean_text(proof.reason, 400).rstrip(".") or _ABSENCE_REASON
        rule_text = " ".join(list(rules)[:3])
        return (
            f"{text} Adding it would leave a rule unmet, but not against it ({reason}): {rule_text}"
        )
    shapes = dict.fromkeys(shape for shape, _ in proof.checked)
    if shapes:
        rules_checked = [rulebook.describe_shape(shape, claim.pred) for shape in shapes]
        rule_texts = list(dict.fromkeys(rule for rule in rules_checked if rule))
        count = len(shapes)
        check_result = (
            f"breaks none of the {count} rules" if count > 1 else "does not break the one rule"
        )
        text += f" Nor is it contradicted: it {check_result} checked"
        if rule_texts:
            text += f": {' '.join(rule_texts[:MAX_RULES])}"
            text += (
                f" And {len(rule_texts) - MAX_RULES} more." if len(rule_texts) > MAX_RULES else ""
            )
        else:
            text += "."
    else:
        text += " Nor is it contradicted: no rule applies to it."
    return text


def find_claims(
    phrasebook: Phrasebook, pred: str, *, subj: str | None = None, obj: str | None = None
) -> list[Claim]:
    """Returns the triples of the closure with this predicate and this subject or object."""
    index = phrasebook.index
    terms = index.terms
    p, node = terms.get(pred), terms.get(subj if subj is not None else obj or "")
    if p is None or node is None:
        return []
    if subj is not None:
        return [Claim(subj, pred, terms.get_text(o)) for o in index.find_objects(node, p)]
    return [Claim(terms.get_text(s), pred, obj or "") for s in index.find_subjects(p, node)]


def find_specific_classes(phrasebook: Phrasebook, node: str) -> list[str]:
    """Returns the most specific classes of an entity, in the graph's order."""
    classes = [
        claim.obj
        for claim in find_claims(phrasebook, RDF_TYPE, subj=node)
        if not claim.obj.startswith((OWL, RDFS, "_:"))
    ]
    return [
        class_iri
        for class_iri in classes
        if not any(class_iri in phrasebook.find_superclasses(k) for k in classes if k != class_iri)
    ] or classes
