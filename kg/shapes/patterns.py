"""Compiles the triple patterns of SPARQL queries and joins them over the index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kg.shapes.paths import (
    Alternative,
    Path,
    PathStartFinder,
    Repeat,
    Sequence,
    Step,
    Walk,
    compile_path,
    reverse_path,
)
from kg.shapes.rdflib_terms import RdflibTerms
from kg.terms import from_rdflib
from kg.triples.index import Index

THIS = "this"
"""Name of the variable that is bound to the focus node."""

Binding = dict[str, int]
"""Variable name → id of the term that it is bound to."""
PatternTerm = str | int
"""A variable's name, or a constant's id."""


@dataclass(frozen=True)
class TriplePattern:
    """One triple pattern."""

    subject: PatternTerm
    predicate: int | None
    """The predicate's id; None if the pattern has a path instead."""
    path: Path | None
    object: PatternTerm
    walk: Walk | None = None
    """Leads from the subject along the path; None without a path, like the next two."""
    walk_back: Walk | None = None
    """Leads from the object back along the path."""
    start_finder: PathStartFinder | None = None
    """Finds the subjects from which the path can use a triple."""

    def list_variables(self) -> list[str]:
        """Returns the names of the pattern's variables."""
        return [term for term in (self.subject, self.object) if isinstance(term, str)]


class UnsupportedQueryError(Exception):
    """The query uses features that are not compiled; pySHACL must evaluate it."""


def find_start_bindings(
    pattern: TriplePattern, index: Index, s: int, p: int, o: int
) -> Iterator[Binding]:
    """Yields the bindings with which the pattern can match the triple ``s p o``.

    The pattern matches the triple itself, or its path contains the triple.
    """
    if pattern.path is None:
        if pattern.predicate == p:
            binding = _bind_term({}, pattern.subject, s)
            binding = None if binding is None else _bind_term(binding, pattern.object, o)
            if binding is not None:
                yield binding
        return
    # The triple may be any step of the path, so every node before it is a possible start.
    assert pattern.start_finder is not None
    for node in pattern.start_finder.find_starts(index, s, p, o):
        binding = _bind_term({}, pattern.subject, node)
        if binding is not None:
            yield binding


def _bind_term(binding: Binding, term: PatternTerm, value: int) -> Binding | None:
    if isinstance(term, int):
        return binding if term == value else None
    bound_value = binding.get(term)
    if bound_value is None:
        return {**binding, term: value}
    return binding if bound_value == value else None


def order_patterns(
    patterns: tuple[TriplePattern, ...], bound_names: set[str]
) -> list[TriplePattern]:
    """Returns the patterns in join order: fewest unbound variables first, paths after triples."""
    remaining, plan = list(patterns), []
    bound_names = set(bound_names)

    def count_unbound(pattern: TriplePattern) -> tuple[int, int]:
        unbound_count = sum(name not in bound_names for name in set(pattern.list_variables()))
        return (unbound_count, 0 if pattern.path is None else 1)

    while remaining:
        best = min(remaining, key=count_unbound)
        remaining.remove(best)
        plan.append(best)
        bound_names.update(best.list_variables())
    return plan


def check_connected(patterns: tuple[TriplePattern, ...]) -> None:
    """Refuses queries that would have to walk a path with neither end bound.

    Raises:
        UnsupportedQueryError: ``$this`` is not in the patterns, or a path is not connected to
            the other patterns.
    """
    names = {name for pattern in patterns for name in pattern.list_variables()}
    if THIS not in names:
        raise UnsupportedQueryError
    # Joins start from ``$this`` (evaluation) or from the match of one pattern (dependencies).
    initial_names: list[set[str]] = [{THIS}]
    for pattern in patterns:
        variables = pattern.list_variables()
        initial_names.append(set(variables) if pattern.path is None else set(variables[:1]))
    for start in initial_names:
        bound_names = set(start)
        for pattern in order_patterns(patterns, bound_names):
            variables = pattern.list_variables()
            if (
                pattern.path is not None
                and len(variables) == 2
                and not bound_names.intersection(variables)
            ):
                raise UnsupportedQueryError
            bound_names.update(variables)


def join_patterns(
    index: Index, plan: list[TriplePattern], position: int, binding: Binding
) -> Iterator[Binding]:
    """Yields the solutions of the patterns from ``position`` on that extend ``binding``."""
    if position == len(plan):
        yield binding
        return
    pattern = plan[position]
    for extended_binding in _match_pattern(index, pattern, binding):
        yield from join_patterns(index, plan, position + 1, extended_binding)


def _match_pattern(index: Index, pattern: TriplePattern, binding: Binding) -> Iterator[Binding]:
    subject, object_ = pattern.subject, pattern.object
    s = subject if isinstance(subject, int) else binding.get(subject)
    o = object_ if isinstance(object_, int) else binding.get(object_)
    if s is not None:
        if pattern.walk is None:
            objects = index.find_objects(s, pattern.predicate)  # type: ignore[arg-type]  # no path here
        else:
            objects = pattern.walk(index, s)
        if o is not None:
            if o in objects:
                yield binding
            return
        for value in objects:
            yield {**binding, object_: value}  # type: ignore[dict-item]  # unbound, so a name
        return
    if o is not None:
        if pattern.walk_back is None:
            subjects = index.find_subjects(pattern.predicate, o)  # type: ignore[arg-type]  # as above
        else:
            subjects = pattern.walk_back(index, o)
        for value in subjects:
            yield {**binding, subject: value}  # type: ignore[dict-item]  # unbound, so a name
        return
    if pattern.walk is not None:
        raise UnsupportedQueryError
    for s, o in index.iter_pairs(pattern.predicate):  # type: ignore[arg-type]  # as above
        extended = _bind_term({**binding, subject: s}, object_, o)  # type: ignore[dict-item]  # as above
        if extended is not None:
            yield extended


# Compilation


def make_pattern(triple: tuple[Any, Any, Any], rdflib_terms: RdflibTerms) -> TriplePattern:
    """Compiles one triple pattern of rdflib's algebra.

    Raises:
        UnsupportedQueryError: its predicate is a variable or a negated property set.
    """
    from rdflib import URIRef
    from rdflib.paths import Path as SparqlPath

    s, p, o = triple
    subject, object_ = _compile_term(s, rdflib_terms), _compile_term(o, rdflib_terms)
    if isinstance(p, URIRef):
        return TriplePattern(subject, rdflib_terms.terms.intern(str(p)), None, object_)
    if isinstance(p, SparqlPath):
        path = convert_path(p)
        walk = compile_path(path, rdflib_terms.terms)
        walk_back = compile_path(reverse_path(path), rdflib_terms.terms)
        start_finder = PathStartFinder(path, rdflib_terms.terms)
        return TriplePattern(subject, None, path, object_, walk, walk_back, start_finder)
    raise UnsupportedQueryError  # a variable


def _compile_term(term: Any, rdflib_terms: RdflibTerms) -> PatternTerm:
    from rdflib import BNode, Variable

    if isinstance(term, Variable):
        return str(term)
    if isinstance(term, BNode):
        return f"_:{term}"  # a blank node in a query is a variable that cannot be selected
    return rdflib_terms.terms.intern(from_rdflib(term))


def convert_path(path: Any, inverse: bool = False) -> Path:
    """Converts an rdflib path, pushing inverses down to the steps.

    Unlike ``parse_path`` this follows the SPARQL recommendation: the inverse of a sequence
    reverses its order.
    """
    from rdflib import URIRef
    from rdflib.paths import AlternativePath, InvPath, MulPath, SequencePath

    if isinstance(path, URIRef):
        return Step(str(path), inverse)
    if isinstance(path, InvPath):
        return convert_path(path.arg, not inverse)
    if isinstance(path, SequencePath):
        parts = reversed(path.args) if inverse else path.args
        return Sequence(tuple(convert_path(part, inverse) for part in parts))
    if isinstance(path, AlternativePath):
        return Alternative(tuple(convert_path(part, inverse) for part in path.args))
    if isinstance(path, MulPath):
        return Repeat(convert_path(path.path, inverse), zero=path.zero, many=path.more)
    raise UnsupportedQueryError  # negated property sets
