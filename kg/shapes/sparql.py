"""Compiles ``sh:sparql`` constraints: joins triple patterns over the index, filters with rdflib.

A query is compiled if it has the form ``SELECT … WHERE { triple patterns FILTER … }`` and its
filters use only the values bound by the patterns. The patterns may have property paths. Filters
are evaluated by rdflib's own functions on rdflib terms, so that they mean the same as in pySHACL,
the reference. Queries with anything else (OPTIONAL, UNION, BIND, EXISTS, sub-queries, aggregates,
functions with side effects) are evaluated by pySHACL.
"""

# ruff: noqa: ARG002 — one signature for all components, whether they need the focus node or not
from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from kg.shapes.evaluation import NO_VALUE, Component, Result
from kg.shapes.model import Parameter, Shape
from kg.shapes.paths import Alternative, Path, Repeat, Sequence, Step
from kg.shapes.patterns import (
    THIS,
    Binding,
    TriplePattern,
    UnsupportedQueryError,
    check_connected,
    convert_path,
    find_start_bindings,
    join_patterns,
    make_pattern,
    order_patterns,
)
from kg.shapes.queries import collect_node_names, parse_query
from kg.shapes.rdflib_terms import RdflibTerms, silence_rdflib
from kg.triples.index import Index

_COMPILED_NODES = frozenset(
    [
        "SelectQuery",
        "Project",
        "Distinct",
        "Reduced",
        "Filter",
        "BGP",
        "RelationalExpression",
        "ConditionalAndExpression",
        "ConditionalOrExpression",
        "UnaryNot",
        "UnaryMinus",
        "UnaryPlus",
        "AdditiveExpression",
        "MultiplicativeExpression",
        "Builtin_BOUND",
        "Builtin_STR",
        "Builtin_LANG",
        "Builtin_DATATYPE",
        "Builtin_isIRI",
        "Builtin_isURI",
        "Builtin_isBLANK",
        "Builtin_isLITERAL",
        "Builtin_isNUMERIC",
        "Builtin_REGEX",
        "Builtin_CONTAINS",
        "Builtin_STRSTARTS",
        "Builtin_STRENDS",
        "Builtin_STRLEN",
        "Builtin_UCASE",
        "Builtin_LCASE",
        "Builtin_LANGMATCHES",
        "Builtin_sameTerm",
        "Builtin_ABS",
        "Builtin_YEAR",
        "Builtin_MONTH",
        "Builtin_DAY",
    ]
)
"""The nodes of rdflib's algebra that a compiled query may contain."""
_UNKNOWN_DEPENDENCY_NODES = frozenset(["Builtin_EXISTS", "Builtin_NOTEXISTS"])
"""Algebra nodes with triple patterns of their own, whose dependencies are not analysed."""
_MAX_FILTER_CACHE_SIZE = 100_000
"""Maximum number of cached results of a filter; a full cache is emptied."""


class SparqlConstraint(Component):
    """One ``sh:sparql`` constraint.

    Attributes:
        is_compiled: whether it can be evaluated over an index.
        has_known_dependencies: whether the patterns show which focus nodes a triple can affect.
        patterns: its triple patterns; empty without known dependencies.
        predicates: ids of all predicates in the query; None if it can depend on any predicate.
            Queries that are not compiled have them, too.
    """

    def __init__(self, parameter: Parameter, shape: Shape, rdflib_terms: RdflibTerms) -> None:
        super().__init__(parameter)
        assert parameter.query is not None
        self.query = parameter.query
        self._rdflib_terms = rdflib_terms
        self._is_property_shape = shape.path is not None
        self.patterns: tuple[TriplePattern, ...] = ()
        self._join_orders: dict[tuple[str, ...], list[TriplePattern]] = {}
        algebra = parse_query(self.query.text)
        self.predicates = _collect_predicates(algebra, rdflib_terms)
        self.is_compiled = self.has_known_dependencies = False
        with contextlib.suppress(UnsupportedQueryError):
            self._compile_query(algebra)

    def _compile_query(self, algebra: Any) -> None:
        names = collect_node_names(algebra)
        # pySHACL binds $currentShape to the shape, which is not in the index.
        if "currentShape" in self.query.text or names & _UNKNOWN_DEPENDENCY_NODES:
            raise UnsupportedQueryError
        part = algebra.p
        filters: list[Any] = []
        while part.name in ("Project", "Distinct", "Reduced", "Filter", "Extend"):
            if part.name == "Filter":
                filters.append(part.expr)
            part = part.p
        if part.name != "BGP":
            raise UnsupportedQueryError
        patterns = tuple(make_pattern(triple, self._rdflib_terms) for triple in part.triples)
        check_connected(patterns)
        self.patterns = patterns
        self.has_known_dependencies = True
        if not names <= _COMPILED_NODES:
            raise UnsupportedQueryError
        self._projected_names = [str(variable) for variable in algebra.PV]
        self._filters = [_compile_filter(expr, self._rdflib_terms) for expr in filters]
        self.is_compiled = True

    # Evaluation

    def iter_solutions(self, index: Index, start: Binding) -> Iterator[Binding]:
        """Yields all solutions of patterns and filters that extend ``start``."""
        for binding in join_patterns(index, self._get_join_order(start), 0, start):
            if all(passes_filter(binding) for passes_filter in self._filters):
                yield binding

    def find_rows(self, index: Index, focus: int) -> list[dict[str, int]]:
        """Returns the distinct rows with ``$this`` bound to ``focus``, as pySHACL counts them."""
        if self.query.deactivated:
            return []
        names = self._projected_names
        rows: dict[tuple[int | None, ...], dict[str, int]] = {}
        for binding in self.iter_solutions(index, {THIS: focus}):
            row = {name: binding[name] for name in names if name in binding}
            # pySHACL ignores rows that bind none of these.
            if "failure" in row or "path" in row or "value" in row or THIS in row:
                rows.setdefault(tuple(row.get(name) for name in names), row)
        return list(rows.values())

    def find_failing_values(
        self, index: Index, focus: int, values: Collection[int]
    ) -> Collection[int]:
        """Returns one entry per row: its ``?value``, if bound."""
        return [row.get("value", NO_VALUE) for row in self.find_rows(index, focus)]

    def values_conform(self, index: Index, focus: int, values: Collection[int]) -> bool:
        """Returns whether the query has no row for ``focus``."""
        return not self.find_rows(index, focus)

    def collect_results(
        self, index: Index, focus: int, values: Collection[int], results: list[Result]
    ) -> None:
        """Appends one result per row, with the focus node, path and value that the row binds."""
        for row in self.find_rows(index, focus):
            path = row.get("path")
            default = NO_VALUE if self._is_property_shape else focus
            results.append(
                (
                    self.owner,
                    self.name,
                    row.get(THIS, focus),
                    None if path is None else self._rdflib_terms.terms.get_text(path),
                    row.get("value", default),
                )
            )

    # Dependencies

    def find_affected_nodes(self, index: Index, s: int, p: int, o: int) -> Iterator[int]:
        """Yields the nodes bound to ``$this`` in solutions that use the triple.

        The triple must be in ``index``. Filters are not applied: they only remove solutions, so
        the result may contain too many nodes, never too few.
        """
        for pattern in self.patterns:
            for start in find_start_bindings(pattern, index, s, p, o):
                for binding in join_patterns(index, self._get_join_order(start), 0, start):
                    yield binding[THIS]

    def _get_join_order(self, start: Binding) -> list[TriplePattern]:
        key = tuple(start)
        plan = self._join_orders.get(key)
        if plan is None:
            plan = self._join_orders[key] = order_patterns(self.patterns, set(key))
        return plan


def _compile_filter(expression: Any, rdflib_terms: RdflibTerms) -> Callable[[Binding], bool]:
    from rdflib.plugins.sparql.evalutils import _ebv
    from rdflib.plugins.sparql.sparql import FrozenBindings, QueryContext

    names = {str(name): name for name in _find_variables(expression)}
    context = QueryContext(initBindings={})
    # Results are cached by the ids that the filter's variables are bound to, because building
    # rdflib terms is the expensive part.
    cached_results: dict[tuple[int | None, ...], bool] = {}

    def passes_filter(binding: Mapping[str, int]) -> bool:
        key = tuple(binding.get(name) for name in names)
        result = cached_results.get(key)
        if result is None:
            rdflib_bindings = {
                variable: rdflib_terms.get_rdflib_term(term)
                for variable, term in zip(names.values(), key, strict=True)
                if term is not None
            }
            with silence_rdflib():
                result = bool(_ebv(expression, FrozenBindings(context, rdflib_bindings)))
            if len(cached_results) > _MAX_FILTER_CACHE_SIZE:
                cached_results.clear()
            cached_results[key] = result
        return result

    return passes_filter


def _find_variables(expression: Any) -> list[Any]:
    from rdflib import Variable
    from rdflib.plugins.sparql.parserutils import CompValue

    variables: dict[Any, None] = {}
    queue: list[Any] = [expression]
    while queue:
        part = queue.pop()
        if isinstance(part, Variable):
            variables[part] = None
        elif isinstance(part, CompValue):
            queue.extend(value for key, value in part.items() if key != "_vars")
        elif isinstance(part, (list, tuple)):
            queue.extend(part)
    return sorted(variables)


def _collect_predicates(algebra: Any, rdflib_terms: RdflibTerms) -> frozenset[int] | None:
    """Returns the ids of all predicates in the query's triple patterns; None if unknown."""
    from rdflib import URIRef
    from rdflib.plugins.sparql.parserutils import CompValue

    predicates: set[str] = set()
    queue: list[Any] = [algebra]
    while queue:
        part = queue.pop()
        if isinstance(part, CompValue):
            for key, value in part.items():
                if key == "triples":
                    for triple in _split_triples(value):
                        predicate = triple[1]
                        if isinstance(predicate, URIRef):
                            predicates.add(str(predicate))
                            continue
                        try:
                            path = convert_path(predicate)
                        except UnsupportedQueryError:
                            return None
                        predicates.update(_iter_path_predicates(path))
                else:
                    queue.append(value)
        elif isinstance(part, (list, tuple)):
            queue.extend(part)
    return frozenset(map(rdflib_terms.terms.intern, sorted(predicates)))


def _split_triples(value: Any) -> list[tuple[Any, Any, Any]]:
    """Returns the triple patterns of a block.

    rdflib keeps those of EXISTS blocks as flat lists of terms, three for each pattern.
    """
    triples: list[tuple[Any, Any, Any]] = []
    for item in value:
        items = list(item)
        triples += [tuple(items[i : i + 3]) for i in range(0, len(items), 3)]
    return triples


def _iter_path_predicates(path: Path) -> Iterator[str]:
    match path:
        case Step(predicate):
            yield predicate
        case Sequence(parts) | Alternative(parts):
            for part in parts:
                yield from _iter_path_predicates(part)
        case Repeat(inner):
            yield from _iter_path_predicates(inner)
