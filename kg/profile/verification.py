"""Tests drafted rules on the graph, and finds which predicates given shapes constrain."""

from __future__ import annotations

import itertools
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kg.base.plain_text import format_count, list_words
from kg.claims import Claim
from kg.entailment import Closure
from kg.graph import Graph
from kg.oracle import Oracle
from kg.profile.ceilings import ONE_SUBJECT
from kg.profile.rules import ANSWER_TABLES, DraftRule, GivenRule, render_shapes
from kg.shapes import Constraint, Shapes
from kg.shapes.model import SH_VIOLATION
from kg.single_values import get_limited_predicate
from kg.terms import RDF_TYPE, XSD_STRING, iri_tail, is_literal, parse_literal, write_literal
from kg.triples.index import Index

_IRI = re.compile(r"<([^<>\s]*)>")
_INVERSE = re.compile(r"\^<([^<>\s]*)>")
_LOCAL_NAME = re.compile(r"\w*:([\w-]+(?:\.[\w-]+)*)")
_DATATYPE = "DatatypeConstraintComponent"
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

    def describe(self) -> str:
        """Says in a sentence how many things are left out, and why most of them."""
        return (
            f"{format_count(len(self.nodes), 'thing')} left out for breaking your shapes, "
            f"{self.n_worst:,} of them for breaking `{self.worst_shape}` "
            "(`epoche kg inspect` lists all)."
        )


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


def add_missing_datatypes(graph: Graph, shapes: Shapes) -> tuple[Graph, int]:
    """Gives literals without a datatype the one that the shapes demand, if they are valid in it.

    Power grids in CIM, and tables made into RDF, often have none.

    Args:
        graph: the graph.
        shapes: the user's own shapes.

    Returns:
        The graph, and how many literals have a datatype now.
    """
    demanded: dict[str, set[str]] = {}
    for constraint in shapes.list_constraints():
        if constraint.component == _DATATYPE:
            demanded.setdefault(constraint.path, set()).add(str(constraint.parameters["datatype"]))
    if not demanded:
        return graph, 0
    typed: dict[Claim, Claim] = {}
    for claim in _find_mistyped_claims(graph, shapes):
        literal = parse_literal(claim.obj)
        datatypes = demanded.get(claim.pred, ())
        if literal.datatype == XSD_STRING and len(datatypes) == 1:
            value = write_literal(literal.lexical, *datatypes)
            typed[claim] = Claim(claim.subj, claim.pred, value)
    if not typed:
        return graph, 0
    still_wrong = set(_find_mistyped_claims(_replace_claims(graph, typed), shapes))
    typed = {old: new for old, new in typed.items() if new not in still_wrong}
    return _replace_claims(graph, typed), len(typed)


def _find_mistyped_claims(graph: Graph, shapes: Shapes) -> Iterator[Claim]:
    for violation in Oracle(graph, shapes, regime="none").find_violations():
        claim = Claim(violation.focus_node, violation.path, violation.value)
        if violation.component == _DATATYPE and is_literal(claim.obj) and graph.has_claim(claim):
            yield claim


def _replace_claims(graph: Graph, replacements: Mapping[Claim, Claim]) -> Graph:
    claims = (replacements.get(claim, claim) for claim in graph.iter_claims())
    return Graph(
        Graph.from_claims(claims).index,
        prefixes=graph.prefixes,
        sources=graph.sources,
        notes=graph.notes,
        omissions=graph.omissions,
    )


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


@dataclass(frozen=True)
class LimitedTerms:
    """The predicates of which shapes contradict claims in other ways than by a number of values."""

    iris: frozenset[str] = frozenset()
    """The IRIs in their paths, parameters and queries."""
    inverse: frozenset[str] = frozenset()
    """Those whose links they follow back."""
    local_names: frozenset[str] = frozenset()
    """Local names in their queries, which shorten IRIs."""

    def __bool__(self) -> bool:
        return bool(self.iris)

    def __contains__(self, iri: object) -> bool:
        return str(iri) in self.iris or iri_tail(str(iri)) in self.local_names


def find_otherwise_limited(constraints: Iterable[Constraint]) -> LimitedTerms:
    """Finds what shapes limit in other ways than by a number of values or the form of a value."""
    others = [
        one
        for one in constraints
        if one.severity == SH_VIOLATION
        and (one.component not in _VALUES or "^" in one.path)
        and not (
            one.component == "NodeConstraintComponent"
            and not find_otherwise_limited(itertools.chain.from_iterable(one.inner))
        )
    ]
    texts = list(_iter_texts(others))
    queries = [_IRI.sub(" ", query) for query in _iter_queries(others)]
    return LimitedTerms(
        frozenset(texts).union(*map(_IRI.findall, texts)),
        frozenset(iri for text in texts for iri in _INVERSE.findall(text)),
        frozenset(name for query in queries for name in _LOCAL_NAME.findall(query)),
    )


def _iter_texts(constraints: Iterable[Constraint]) -> Iterator[str]:
    """Yields the paths and parameters of constraints, also of nested ones."""
    for one in constraints:
        yield one.path
        for value in one.parameters.values():
            yield from (value,) if isinstance(value, str) else value
        yield from _iter_texts(itertools.chain.from_iterable(one.inner))


def _iter_queries(constraints: Iterable[Constraint]) -> Iterator[str]:
    for one in constraints:
        query = one.parameters.get("select")
        if isinstance(query, str):
            yield query
        yield from _iter_queries(itertools.chain.from_iterable(one.inner))


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
        found.update(["other"] * (iri in others), [ONE_SUBJECT] * (iri in others.inverse))
    return kinds
