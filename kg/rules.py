"""Rules in words for any predicate: the domain's own, else put together from shapes and axioms."""

from __future__ import annotations

import re
from functools import cached_property

from kg.claims import Violation
from kg.domain import Rule
from kg.shapes import Constraint
from kg.shapes.description import describe
from kg.shapes.model import SH_VIOLATION
from kg.terms import RDF, RDF_TYPE
from kg.words.axioms import axiom_sentence, axioms_about
from kg.words.constraints import constraint_sentence
from kg.words.phrasebook import Phrasebook
from kg.words.plain_text import plain, sentence

_COMPARED = ("equals", "disjoint", "lessThan", "lessThanOrEquals")
_MESSAGE_LIMIT = 400


class RuleBook:
    """Everything the shapes and axioms of a domain demand, in words."""

    def __init__(self, words: Phrasebook) -> None:
        self._words = words
        self._rules: dict[str, list[Rule]] = {}

    @cached_property
    def shapes(self) -> dict[str, list[Constraint]]:
        """Targeted shape → its constraints that can contradict a claim, nested ones included."""
        shapes = self._words.shapes
        if shapes is None:
            return {}
        found = {node: list(describe(shapes.shapes, node)) for node in shapes.targeted}
        return {
            node: [c for c in constraints if c.severity == SH_VIOLATION]
            for node, constraints in found.items()
        }

    @cached_property
    def _by_shape(self) -> dict[str, list[Constraint]]:
        found: dict[str, list[Constraint]] = {}
        for constraints in self.shapes.values():
            for constraint in constraints:
                found.setdefault(constraint.shape, []).append(constraint)
        return found

    def rules(self, pred: str) -> list[Rule]:
        """The rules that matter for ``pred``.

        A domain that writes rules for a predicate decides for it alone. Otherwise there is one
        rule for each named, targeted shape with a constraint on ``pred``, and one for each axiom
        about it; a rule names exactly the shape or axioms whose every constraint it puts in words.
        """
        if pred not in self._rules:
            own = [rule for rule in self._words.domain.rules if pred in rule.predicates]
            made = own or _unique([*self._from_shapes(pred), *self._from_axioms(pred)])
            self._rules[pred] = made
        return self._rules[pred]

    def shape_text(self, shape: str) -> str:
        """Every constraint of a shape in words; empty for a shape nobody knows."""
        constraints = self.shapes.get(shape) or self._by_shape.get(shape, [])
        return " ".join(dict.fromkeys(map(self._sentence, constraints)))

    def broken_rule(self, violation: Violation) -> str:
        """The rule that a violation breaks, in its author's words, else in ours."""
        # A blank shape is named by the IRI above it and its path.
        candidates = self._by_shape.get(violation.shape) or self._by_shape.get(
            violation.shape.split(" ", 1)[0], []
        )
        fitting = [c for c in candidates if c.component == violation.component]
        exact = [c for c in fitting if c.path == violation.path]
        for constraint in exact or fitting or candidates[:1]:
            return self._sentence(constraint)
        message = plain(violation.message, _MESSAGE_LIMIT)
        if message:
            return message if message.endswith((".", "!", "?")) else f"{message}."
        component = violation.component.removesuffix("ConstraintComponent") or "constraint"
        return f"The shape “{self._words.label(violation.shape)}” ({component}) must hold."

    def compared_with(self, violation: Violation) -> list[str]:
        """Predicates whose values the violated shape compares with."""
        return [
            value
            for constraint in self._by_shape.get(violation.shape, [])
            for key in _COMPARED
            for value in _values(constraint, key)
        ]

    def _sentence(self, constraint: Constraint) -> str:
        """The constraint in its author's words (``sh:message``), else in ours."""
        message = plain(constraint.message, _MESSAGE_LIMIT)
        # A message with a placeholder speaks of one result, not of the rule.
        if message and not re.search(r"\{[?$]\w+\}", message):
            return sentence(message if message.endswith((".", "!", "?")) else f"{message}.")
        return constraint_sentence(self._words, constraint)

    def _from_shapes(self, pred: str) -> list[Rule]:
        return [
            Rule(_id(shape), self.shape_text(shape), (pred,), shapes=(shape,))
            for shape, constraints in self.shapes.items()
            # A shape without a name cannot be picked out of the shapes graph for a card.
            if not shape.startswith("_:") and any(_concerns(c, pred) for c in constraints)
        ]

    def _from_axioms(self, pred: str) -> list[Rule]:
        axioms = axioms_about(self._words, pred)
        cells = [axiom for axiom in axioms if axiom.pred in (RDF + "first", RDF + "rest")]
        rules = []
        for axiom in axioms:
            text = axiom_sentence(self._words, axiom)
            if text:
                chain = cells if axiom.pred.endswith("#propertyChainAxiom") else []
                name = f"{_id(axiom.subj)}-{_id(axiom.pred)}-{_id(axiom.obj)}"
                rules.append(Rule(name, text, (pred,), axioms=(axiom, *chain)))
        return rules


def _concerns(constraint: Constraint, pred: str) -> bool:
    """Whether a triple of ``pred`` is among what the constraint speaks of."""
    if pred == RDF_TYPE:
        return not constraint.path and any(kind == "class" for kind, _ in constraint.target)
    if any(kind.endswith("s-of") and term == pred for kind, term in constraint.target):
        return True
    if constraint.path == pred or f"<{pred}>" in constraint.path:
        return True
    if any(pred in _values(constraint, key) for key in _COMPARED):
        return True
    return any(_concerns(inner, pred) for group in constraint.inner for inner in group)


def _values(constraint: Constraint, key: str) -> tuple[str, ...]:
    value = constraint.parameters.get(key, ())
    return (value,) if isinstance(value, str) else value


def _id(iri: str) -> str:
    tail = re.split(r"[#/]", iri.rstrip("#/"))[-1]
    return re.sub(r"[^\w.-]+", "-", tail)[:80] or "rule"


def _unique(rules: list[Rule]) -> list[Rule]:
    """The rules with ids made unique by a number where two names end alike."""
    seen: dict[str, int] = {}
    out = []
    for rule in rules:
        seen[rule.id] = seen.get(rule.id, 0) + 1
        number = seen[rule.id]
        name = rule.id if number == 1 else f"{rule.id}-{number}"
        out.append(Rule(name, rule.text, rule.predicates, rule.shapes, rule.axioms))
    return out
