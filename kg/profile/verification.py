"""Tests drafted rules on the graph, and finds which predicates given shapes constrain."""

from __future__ import annotations

import itertools
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from kg.base.plain_text import list_words
from kg.entailment import Closure
from kg.graph import Graph
from kg.oracle import Oracle
from kg.profile.ceilings import ONE_SUBJECT
from kg.profile.rules import ANSWER_TABLES, DraftRule, GivenRule, render_shapes
from kg.shapes import Constraint, Shapes
from kg.shapes.model import SH_VIOLATION
from kg.single_values import get_limited_predicate
from kg.terms import RDF_TYPE, iri_tail, is_literal
from kg.triples.index import Index

_ONE_WAY = "DisjointConstraintComponent"
_VALUES = frozenset(
    f"{name}ConstraintComponent"
    for name in list_words(
        "MinCount MaxCount Datatype Class NodeKind In HasValue Pattern MinLength MaxLength "
        "LanguageIn UniqueLang MinInclusive MaxInclusive MinExclusive MaxExclusive "
        "QualifiedMinCount Closed"
    )
)
"""Components that values of the graph meet, and so do claims of these values: but for the number of
values, they contradict none."""


class KeptRules(NamedTuple):
    """The rules that a graph keeps."""

    rules: dict[str, DraftRule]
    """Name of the shape → rule."""
    constraints: tuple[Constraint, ...]
    """Their constraints."""


def select_kept_rules(graph: Graph, closure: Closure, rules: Mapping[str, DraftRule]) -> KeptRules:
    """Selects the rules that the graph keeps, both as it is and with all that follows from it.

    What follows may break a rule that the stated facts keep: a value of a sub-property is another
    value of the property.

    Args:
        graph: the graph.
        closure: the graph with what follows from it.
        rules: name of the shape → rule.
    """
    if not rules:
        return KeptRules({}, ())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shapes.ttl"
        file.write_text(render_shapes(rules, {}), "utf-8")
        shapes = Shapes.load(file)
    broken = {
        # The id of a nested shape is that of the named one, "/", and its path.
        violation.shape.split("/", 1)[0]
        for oracle in (Oracle(graph, shapes, regime="none"), Oracle(closure, shapes))
        for violation in oracle.find_violations()
    }
    kept = {name: rule for name, rule in rules.items() if name not in broken}
    constraints = (c for c in shapes.list_constraints() if c.shape.split("/", 1)[0] in kept)
    return KeptRules(kept, tuple(constraints))


class BrokenShapes(NamedTuple):
    """What of the graph breaks the user's own shapes."""

    nodes: frozenset[str] = frozenset()
    """The nodes that do; no card mentions them."""
    worst_shape: str = ""
    """The shape that most of them break."""
    n_worst: int = 0
    """How many do."""


def find_broken_shapes(graph: Graph, shapes: Shapes) -> BrokenShapes:
    """Finds what of the graph breaks the user's own shapes."""
    broken = {
        (violation.shape, violation.focus_node)
        for violation in Oracle(graph, shapes).find_violations(certain_only=True)
        if not is_literal(violation.focus_node)
    }
    counts = Counter(shape for shape, _ in broken)
    worst, n_worst = max(counts.items(), key=lambda item: (item[1], item[0]), default=("", 0))
    return BrokenShapes(frozenset(node for _, node in broken), worst, n_worst)


def find_covered_predicates(index: Index, constraints: Iterable[Constraint]) -> set[str]:
    """Finds the predicates of which shapes allow each subject one value, and none has more.

    Args:
        index: the facts, with what follows from them.
        constraints: the constraints of the shapes.
    """
    terms = index.terms
    targets: dict[str, set[int]] = {}
    for constraint in constraints:
        predicate = get_limited_predicate(constraint)
        if not predicate or constraint.severity != SH_VIOLATION:
            continue
        nodes = targets.setdefault(predicate, set())
        for kind, text in constraint.target:
            term, rdf_type = terms.get(text), terms.get(RDF_TYPE)
            if term is not None and kind == "class" and rdf_type is not None:
                nodes.update(index.find_subjects(rdf_type, term))
            elif term is not None and kind == "subjects-of":
                nodes.update(index.get_subjects(term))
    return {
        predicate
        for predicate, nodes in targets.items()
        if (p := terms.get(predicate)) is not None
        and nodes.issuperset(index.get_subjects(p))
        and index.count_triples(p) == len(index.get_subjects(p))
    }


def find_given_rules(
    constraints: Iterable[Constraint], support: str, covered: Collection[str] = ()
) -> dict[str, GivenRule]:
    """Finds the predicates of which shapes can contradict a claim.

    Only constraints by which a claim that combines terms of the graph is often false are looked at.

    Args:
        constraints: the constraints of the shapes.
        support: who says so.
        covered: predicates of which they say it of all subjects.
    """
    found: dict[str, GivenRule] = {}
    for constraint in constraints:
        if constraint.severity != SH_VIOLATION:
            continue  # warnings contradict nothing
        if predicate := get_limited_predicate(constraint):
            found[predicate] = GivenRule("one value", support, predicate in covered)
        elif constraint.component == _ONE_WAY and "^" in constraint.path:
            other = constraint.parameters.get("disjoint")
            if isinstance(other, str):
                found.setdefault(other, GivenRule("one way", support))
    return found


class LimitedTerms(NamedTuple):
    """The predicates of which shapes contradict claims in other ways than by a number of values."""

    text: str
    """All that these shapes say."""

    def __contains__(self, iri: object) -> bool:
        # SPARQL queries shorten IRIs.
        tail = iri_tail(str(iri))
        return str(iri) in self.text or re.search(rf":{re.escape(tail)}\b", self.text) is not None


def find_otherwise_limited(constraints: Iterable[Constraint]) -> LimitedTerms:
    """Finds what shapes limit in other ways than by a number of values or the form of a value."""
    others = [
        one
        for one in constraints
        if one.severity == SH_VIOLATION
        and (one.component not in _VALUES or "^" in one.path)
        and not (
            one.component == "NodeConstraintComponent"
            and not find_otherwise_limited(itertools.chain.from_iterable(one.inner)).text
        )
    ]
    return LimitedTerms(" ".join(f"{one.path} {one.parameters} {one.inner}" for one in others))


def list_rule_kinds(
    rules: Mapping[str, DraftRule], given: Mapping[str, GivenRule], others: LimitedTerms
) -> dict[str, set[str]]:
    """Lists for each predicate the kinds of rules that contradict claims about its values.

    Args:
        rules: name of the shape → rule of the draft.
        given: predicate → the rule that the ontology or the user's own shapes state.
        others: what the user's own shapes limit in other ways.
    """
    kinds: dict[str, set[str]] = {iri: {rule.kind} for iri, rule in given.items()}
    for rule in rules.values():
        if rule.kind in (*ANSWER_TABLES, "one-subject"):
            kind = ANSWER_TABLES.get(rule.kind, rule.kind)
            kinds.setdefault(rule.about, set()).add(re.sub("[_-]", " ", kind))
    for iri, found in kinds.items():
        found.update(["other"] * (iri in others), [ONE_SUBJECT] * (f"^<{iri}>" in others.text))
    return kinds
