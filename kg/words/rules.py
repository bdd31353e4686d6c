"""Words the rules about a predicate: those of the domain, else rules from shapes and axioms."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from kg.base.plain_text import capitalise_sentence, clean_text
from kg.claims import Claim, Violation
from kg.domain import Rule
from kg.shapes import Constraint, Shapes
from kg.shapes.description import describe_constraints
from kg.shapes.model import SH_VIOLATION
from kg.single_values import get_limited_predicate
from kg.terms import (
    OWL,
    RDF,
    RDF_LANG_STRING,
    RDF_TYPE,
    XSD,
    XSD_STRING,
    is_literal,
    parse_literal,
)
from kg.words.axioms import PROPERTY_RELATIONS, find_axioms_about, render_axiom
from kg.words.constraints import render_constraint
from kg.words.phrasebook import Phrasebook

_COMPARISON_KEYS = ("equals", "disjoint", "lessThan", "lessThanOrEquals")
"""Parameters of SHACL constraints that name another predicate."""
_MAX_MESSAGE_LENGTH = 400
"""Maximum characters of an ``sh:message`` that are used."""


_TEXT_DATATYPES = frozenset((XSD_STRING, XSD + "normalizedString", XSD + "token", RDF_LANG_STRING))


class RuleBook:
    """The constraints and axioms of a domain, worded as rules."""

    def __init__(self, phrasebook: Phrasebook) -> None:
        self._phrasebook = phrasebook
        self._rules: dict[str, list[Rule]] = {}

    @cached_property
    def constraints_by_target(self) -> dict[str, list[Constraint]]:
        """Targeted shape → its constraints that can contradict a claim, nested ones included."""
        shapes = self._phrasebook.shapes
        return {} if shapes is None else _list_constraints(shapes)

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
        about it. Such a rule refers to exactly the axioms that its text describes, or to a shape;
        of this it describes the constraints that ``select_shapes`` returns.
        """
        if pred not in self._rules:
            self._rules[pred] = self._list_domain_rules(pred) or _make_ids_unique(
                [*self._make_shape_rules(pred), *self._make_axiom_rules(pred)]
            )
        return self._rules[pred]

    def select_shapes(self, pred: str) -> Shapes | None:
        """Returns what the rules about ``pred`` describe: shapes, or parts of these.

        The domain's own rules describe whole shapes. The others leave out what no claim with this
        predicate can violate: constraints on other predicates, minimum counts, and that values are
        texts, if all values of the graph are.
        """
        shapes = self._phrasebook.shapes
        if shapes is None:
            return None
        names = dict.fromkeys(shape for rule in self.get_rules(pred) for shape in rule.shapes)
        if self._list_domain_rules(pred):
            return shapes.select_shapes(names)
        return self._select_constraints(shapes, names, pred)

    def _select_constraints(self, shapes: Shapes, names: Iterable[str], pred: str) -> Shapes:
        predicates = self._find_implied_predicates(pred)
        return shapes.select_constraints(names, predicates, self._find_text_datatypes(predicates))

    def _find_text_datatypes(self, predicates: Iterable[str]) -> list[str]:
        """Returns the datatype of texts that all values of some predicates have; empty if none.

        That they have it is no rule for a reader, since no sentence shows it, and none that a
        claim of these values can break.
        """
        index = self._phrasebook.index
        ids = [p for one in predicates if (p := index.terms.get(one)) is not None]
        values = [o for p in ids for o in index.list_distinct_objects(p)]
        found: set[str] = set()
        for text in map(index.terms.get_text, values):
            found.add(parse_literal(text).datatype if is_literal(text) else "")
            if len(found) > 1 or not found <= _TEXT_DATATYPES:
                return []
        return list(found)

    def _list_domain_rules(self, pred: str) -> list[Rule]:
        return [rule for rule in self._phrasebook.domain.rules if pred in rule.predicates]

    def _find_implied_predicates(self, pred: str) -> set[str]:
        """Returns a predicate and those of which the axioms about it may derive triples."""
        related = {pred}
        for axiom in find_axioms_about(self._phrasebook, pred):
            if axiom.pred in PROPERTY_RELATIONS:
                related |= {axiom.subj, axiom.obj}
        return related

    def describe_shape(self, shape: str, pred: str = "") -> str:
        """Describes the constraints of a shape; empty for an unknown shape.

        Args:
            shape: the shape.
            pred: the predicate of a claim, if only what it can violate matters.
        """
        if pred and not self._list_domain_rules(pred):
            for rule in self.get_rules(pred):
                if rule.shapes == (shape,):
                    return rule.text
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

    @cached_property
    def _shared_messages(self) -> frozenset[tuple[str, str, str]]:
        """Messages of several constraints, of which they may describe only one: "Wrong type"."""
        components: dict[tuple[str, str, str], set[str]] = {}
        for constraints in self._constraints_by_shape.values():
            for one in constraints:
                # What is missing contradicts no claim, so that its message may name both bounds.
                if one.message and one.component != "MinCountConstraintComponent":
                    components.setdefault(_get_message_key(one), set()).add(one.component)
        return frozenset(key for key, names in components.items() if len(names) > 1)

    def _describe_constraint(self, constraint: Constraint) -> str:
        """Describes a constraint by its own ``sh:message`` if any, else by a generated sentence."""
        message = clean_text(constraint.message, _MAX_MESSAGE_LENGTH)
        is_own = _get_message_key(constraint) not in self._shared_messages
        # A message with a placeholder ({$this}, {?value}) describes one result, not the rule.
        if message and is_own and not re.search(r"\{[?$]\w+\}", message):
            return capitalise_sentence(
                message if message.endswith((".", "!", "?")) else f"{message}."
            )
        return render_constraint(self._phrasebook, constraint)

    def _make_shape_rules(self, pred: str) -> list[Rule]:
        shapes = self._phrasebook.shapes
        names = [
            shape
            for shape, constraints in self.constraints_by_target.items()
            if any(_mentions_predicate(c, pred) for c in constraints)
        ]
        if shapes is None or not names:
            return []
        parts = self._select_constraints(shapes, names, pred)
        return [
            Rule(_make_rule_id(shape), text, (pred,), shapes=(shape,))
            for shape, constraints in _list_constraints(parts).items()
            if (text := " ".join(dict.fromkeys(map(self._describe_constraint, constraints))))
        ]

    def _make_axiom_rules(self, pred: str) -> list[Rule]:
        # "Y and Z are the same" beside "at most one value" leaves open whether two names are.
        restated = Claim(pred, RDF_TYPE, OWL + "FunctionalProperty")
        is_limited = any(
            get_limited_predicate(constraint) == pred and ("subjects-of", pred) in constraint.target
            for constraints in self.constraints_by_target.values()
            for constraint in constraints
        )
        axioms = [
            axiom
            for axiom in find_axioms_about(self._phrasebook, pred)
            if not (is_limited and axiom == restated)
        ]
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


def _get_message_key(constraint: Constraint) -> tuple[str, str, str]:
    return constraint.shape, constraint.path, constraint.message


def _list_constraints(shapes: Shapes) -> dict[str, list[Constraint]]:
    by_shape = {
        node: list(describe_constraints(shapes.shapes, node)) for node in shapes.targeted_nodes
    }
    return {
        node: [c for c in constraints if c.severity == SH_VIOLATION]
        for node, constraints in by_shape.items()
    }


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
