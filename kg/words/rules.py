"""Words the rules about a predicate: those of the domain, else rules from shapes and axioms."""

from __future__ import annotations

import re
from functools import cached_property

from kg.base.plain_text import capitalise_sentence, clean_text
from kg.claims import Violation
from kg.domain import Rule
from kg.shapes import Constraint
from kg.shapes.description import describe_constraints
from kg.shapes.model import SH_VIOLATION
from kg.terms import RDF, RDF_TYPE
from kg.words.axioms import find_axioms_about, render_axiom
from kg.words.constraints import render_constraint
from kg.words.phrasebook import Phrasebook

_COMPARISON_KEYS = ("equals", "disjoint", "lessThan", "lessThanOrEquals")
"""Parameters of SHACL constraints that name another predicate."""
_MAX_MESSAGE_LENGTH = 400
"""Maximum characters of an ``sh:message`` that are used."""


class RuleBook:
    """The constraints and axioms of a domain, worded as rules."""

    def __init__(self, phrasebook: Phrasebook) -> None:
        self._phrasebook = phrasebook
        self._rules: dict[str, list[Rule]] = {}

    @cached_property
    def constraints_by_target(self) -> dict[str, list[Constraint]]:
        """Targeted shape → its constraints that can contradict a claim, nested ones included."""
        shapes = self._phrasebook.shapes
        if shapes is None:
            return {}
        by_shape = {
            node: list(describe_constraints(shapes.shapes, node)) for node in shapes.targeted_nodes
        }
        return {
            node: [c for c in constraints if c.severity == SH_VIOLATION]
            for node, constraints in by_shape.items()
        }

    @cached_property
    def _constraints_by_shape(self) -> dict[str, list[Constraint]]:
        by_shape: dict[str, list[Constraint]] = {}
        for constraints in self.constraints_by_target.values():
            for constraint in constraints:
                by_shape.setdefault(constraint.shape, []).append(constraint)
        return by_shape

    def get_rules(self, pred: str) -> list[Rule]:
        """Returns the rules that concern ``pred``.

        If the domain defines rules for the predicate, only those are used. Otherwise there is one
        rule for each named, targeted shape with a constraint on ``pred``, and one for each axiom
        about it. Such a rule refers to exactly the shape or axioms that its text describes.
        """
        if pred not in self._rules:
            domain_rules = [
                rule for rule in self._phrasebook.domain.rules if pred in rule.predicates
            ]
            self._rules[pred] = domain_rules or _make_ids_unique(
                [*self._make_shape_rules(pred), *self._make_axiom_rules(pred)]
            )
        return self._rules[pred]

    def describe_shape(self, shape: str) -> str:
        """Describes every constraint of a shape; empty for an unknown shape."""
        constraints = self.constraints_by_target.get(shape) or self._constraints_by_shape.get(
            shape, []
        )
        return " ".join(dict.fromkeys(map(self._describe_constraint, constraints)))

    def describe_broken_rule(self, violation: Violation) -> str:
        """Describes the rule that a violation breaks: ``sh:message`` or a generated sentence."""
        # The id of a blank shape is the nearest IRI above it, a space, and its path.
        candidates = self._constraints_by_shape.get(
            violation.shape
        ) or self._constraints_by_shape.get(violation.shape.split(" ", 1)[0], [])
        same_component = [c for c in candidates if c.component == violation.component]
        same_path = [c for c in same_component if c.path == violation.path]
        for constraint in same_path or same_component or candidates[:1]:
            return self._describe_constraint(constraint)
        message = clean_text(violation.message, _MAX_MESSAGE_LENGTH)
        if message:
            return message if message.endswith((".", "!", "?")) else f"{message}."
        component = violation.component.removesuffix("ConstraintComponent") or "constraint"
        return f"The shape “{self._phrasebook.get_label(violation.shape)}” ({component}) must hold."

    def find_compared_predicates(self, violation: Violation) -> list[str]:
        """Returns the predicates whose values the violated shape compares with others."""
        return [
            value
            for constraint in self._constraints_by_shape.get(violation.shape, [])
            for key in _COMPARISON_KEYS
            for value in _get_parameter_values(constraint, key)
        ]

    def _describe_constraint(self, constraint: Constraint) -> str:
        """Describes a constraint by its ``sh:message`` if any, else by a generated sentence."""
        message = clean_text(constraint.message, _MAX_MESSAGE_LENGTH)
        # A message with a placeholder ({$this}, {?value}) describes one result, not the rule.
        if message and not re.search(r"\{[?$]\w+\}", message):
            return capitalise_sentence(
                message if message.endswith((".", "!", "?")) else f"{message}."
            )
        return render_constraint(self._phrasebook, constraint)

    def _make_shape_rules(self, pred: str) -> list[Rule]:
        return [
            Rule(_make_rule_id(shape), self.describe_shape(shape), (pred,), shapes=(shape,))
            for shape, constraints in self.constraints_by_target.items()
            if any(_mentions_predicate(c, pred) for c in constraints)
        ]

    def _make_axiom_rules(self, pred: str) -> list[Rule]:
        axioms = find_axioms_about(self._phrasebook, pred)
        list_cells = [axiom for axiom in axioms if axiom.pred in (RDF + "first", RDF + "rest")]
        rules = []
        for axiom in axioms:
            text = render_axiom(self._phrasebook, axiom)
            if text:
                chain_members = list_cells if axiom.pred.endswith("#propertyChainAxiom") else []
                terms = (axiom.subj, axiom.pred, axiom.obj)
                name = "-".join(_make_rule_id(term) for term in terms)
                rules.append(Rule(name, text, (pred,), axioms=(axiom, *chain_members)))
        return rules


def _mentions_predicate(constraint: Constraint, pred: str) -> bool:
    """Returns whether the constraint's target, path or parameters mention ``pred``."""
    if pred == RDF_TYPE:
        return not constraint.path and any(
            target_kind == "class" for target_kind, _ in constraint.target
        )
    if any(
        target_kind.endswith("s-of") and term == pred for target_kind, term in constraint.target
    ):
        return True
    if constraint.path == pred or f"<{pred}>" in constraint.path:
        return True
    if any(pred in _get_parameter_values(constraint, key) for key in _COMPARISON_KEYS):
        return True
    return any(_mentions_predicate(inner, pred) for group in constraint.inner for inner in group)


def _get_parameter_values(constraint: Constraint, key: str) -> tuple[str, ...]:
    value = constraint.parameters.get(key, ())
    return (value,) if isinstance(value, str) else value


def _make_rule_id(iri: str) -> str:
    tail = re.split(r"[#/]", iri.removeprefix("_:").rstrip("#/"))[-1]
    return re.sub(r"[^\w.-]+", "-", tail)[:80] or "rule"


def _make_ids_unique(rules: list[Rule]) -> list[Rule]:
    """Makes rule ids unique by appending a number to repeated ids."""
    id_counts: dict[str, int] = {}
    unique_rules = []
    for rule in rules:
        id_counts[rule.id] = id_counts.get(rule.id, 0) + 1
        number = id_counts[rule.id]
        name = rule.id if number == 1 else f"{rule.id}-{number}"
        unique_rules.append(Rule(name, rule.text, rule.predicates, rule.shapes, rule.axioms))
    return unique_rules
