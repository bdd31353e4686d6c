"""``sh:sparql`` compiled: basic graph patterns joined over the index, filters left to rdflib.

Compiled are queries of the form ``SELECT … WHERE { triple patterns (property paths included)
FILTER … }`` whose filters look at nothing but the values bound by the patterns. Filters are
evaluated by rdflib's own functions on rdflib terms, so their meaning is the reference's. Anything
else (OPTIONAL, UNION, BIND, EXISTS, sub-queries, aggregates, functions with side effects) is not
compiled, and says so by ``compiled = False``.
"""

# ruff: noqa: ARG002 — one signature for all components, whether they need the focus node or not
from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from kg.index import Index
from kg.shapes.evaluation import NO_VALUE, Component, Result
from kg.shapes.joining import (
    THIS,
    Binding,
    NotCompiledError,
    Pattern,
    check_connected,
    join,
    make_path,
    make_pattern,
    ordered,
    starts,
)
from kg.shapes.lexicon import Lexicon, quiet_rdflib
from kg.shapes.model import Parameter, Shape
from kg.shapes.paths import Alternative, Path, Repeat, Sequence, Step
from kg.shapes.queries import names_in, parse_query

_ALLOWED = frozenset(
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
_UNDERIVABLE = frozenset(["Builtin_EXISTS", "Builtin_NOTEXISTS"])


class SparqlConstraint(Component):
    """One ``sh:sparql`` constraint.

    Attributes:
        compiled: whether it can be evaluated over an index.
        derivable: whether its patterns alone say which focus nodes a triple can affect.
        patterns: its triple patterns, if derivable.
        predicates: ids of all predicates the query names anywhere, or None if it can depend on
            any predicate; known for queries that are not compiled, too.
    """

    def __init__(self, parameter: Parameter, shape: Shape, lexicon: Lexicon) -> None:
        super().__init__(parameter)
        assert parameter.query is not None
        self.query = parameter.query
        self._lexicon = lexicon
        self._is_property = shape.path is not None
        self.patterns: tuple[Pattern, ...] = ()
        self._plans: dict[tuple[str, ...], list[Pattern]] = {}
        algebra = parse_query(self.query.text)
        self.predicates = _predicates(algebra, lexicon)
        self.compiled = self.derivable = False
        with contextlib.suppress(NotCompiledError):
            self._compile(algebra)

    def _compile(self, algebra: Any) -> None:
        names = names_in(algebra)
        if "currentShape" in self.query.text or names & _UNDERIVABLE:
            raise NotCompiledError
        part = algebra.p
        filters: list[Any] = []
        while part.name in ("Project", "Distinct", "Reduced", "Filter", "Extend"):
            if part.name == "Filter":
                filters.append(part.expr)
            part = part.p
        if part.name != "BGP":
            raise NotCompiledError
        patterns = tuple(make_pattern(triple, self._lexicon) for triple in part.triples)
        check_connected(patterns)
        self.patterns = patterns
        self.derivable = True
        if not names <= _ALLOWED:
            raise NotCompiledError
        self._shown = [str(variable) for variable in algebra.PV]
        self._filters = [_compile_filter(expr, self._lexicon) for expr in filters]
        self.compiled = True

    # Evaluation

    def solutions(self, index: Index, start: Binding) -> Iterator[Binding]:
        """All solutions of patterns and filters that extend ``start``."""
        for binding in join(index, self._plan(start), 0, start):
            if all(passes(binding) for passes in self._filters):
                yield binding

    def rows(self, index: Index, focus: int) -> list[dict[str, int]]:
        """Distinct rows of the query with ``$this`` bound to ``focus``, as pySHACL counts them."""
        if self.query.deactivated:
            return []
        shown = self._shown
        rows: dict[tuple[int | None, ...], dict[str, int]] = {}
        for binding in self.solutions(index, {THIS: focus}):
            row = {name: binding[name] for name in shown if name in binding}
            if "failure" in row or "path" in row or "value" in row or THIS in row:
                rows.setdefault(tuple(row.get(name) for name in shown), row)
        return list(rows.values())

    def failing(self, index: Index, focus: int, values: Collection[int]) -> Collection[int]:
        """One entry per row."""
        return [row.get("value", NO_VALUE) for row in self.rows(index, focus)]

    def conforms(self, index: Index, focus: int, values: Collection[int]) -> bool:
        """Whether the query has no row for ``focus``."""
        return not self.rows(index, focus)

    def collect(self, index: Index, focus: int, values: Collection[int], out: list[Result]) -> None:
        """Appends one result per row, with the focus, path and value the row says."""
        for row in self.rows(index, focus):
            path = row.get("path")
            default = NO_VALUE if self._is_property else focus
            out.append(
                (
                    self.owner,
                    self.name,
                    row.get(THIS, focus),
                    None if path is None else self._lexicon.terms.text(path),
                    row.get("value", default),
                )
            )

    # What it depends on

    def touched(self, index: Index, s: int, p: int, o: int) -> Iterator[int]:
        """Nodes that ``$this`` may stand for in solutions that use the triple (now in ``index``).

        Filters only narrow solutions, so that they are left out: more nodes, never fewer.
        """
        for pattern in self.patterns:
            for start in starts(pattern, index, s, p, o):
                for binding in join(index, self._plan(start), 0, start):
                    yield binding[THIS]

    def _plan(self, start: Binding) -> list[Pattern]:
        key = tuple(start)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = ordered(self.patterns, set(key))
        return plan


def _compile_filter(expression: Any, lexicon: Lexicon) -> Callable[[Binding], bool]:
    from rdflib.plugins.sparql.evalutils import _ebv
    from rdflib.plugins.sparql.sparql import FrozenBindings, QueryContext

    names = {str(name): name for name in _variables(expression)}
    context = QueryContext(initBindings={})
    answers: dict[tuple[int | None, ...], bool] = {}

    def passes(binding: Mapping[str, int]) -> bool:
        key = tuple(binding.get(name) for name in names)
        known = answers.get(key)
        if known is None:
            bound = {
                variable: lexicon.rdf(term)
                for variable, term in zip(names.values(), key, strict=True)
                if term is not None
            }
            with quiet_rdflib():
                known = bool(_ebv(expression, FrozenBindings(context, bound)))
            if len(answers) > 100_000:
                answers.clear()
            answers[key] = known
        return known

    return passes


def _variables(expression: Any) -> list[Any]:
    from rdflib import Variable
    from rdflib.plugins.sparql.parserutils import CompValue

    found: dict[Any, None] = {}
    queue: list[Any] = [expression]
    while queue:
        part = queue.pop()
        if isinstance(part, Variable):
            found[part] = None
        elif isinstance(part, CompValue):
            queue.extend(value for key, value in part.items() if key != "_vars")
        elif isinstance(part, (list, tuple)):
            queue.extend(part)
    return sorted(found)


def _predicates(algebra: Any, lexicon: Lexicon) -> frozenset[int] | None:
    """Ids of all predicates in any triple pattern of the query; None if there is no telling."""
    from rdflib import URIRef
    from rdflib.plugins.sparql.parserutils import CompValue

    found: set[str] = set()
    queue: list[Any] = [algebra]
    while queue:
        part = queue.pop()
        if isinstance(part, CompValue):
            for key, value in part.items():
                if key == "triples":
                    for triple in _triples(value):
                        predicate = triple[1]
                        if isinstance(predicate, URIRef):
                            found.add(str(predicate))
                            continue
                        try:
                            path = make_path(predicate)
                        except NotCompiledError:
                            return None
                        found.update(_predicates_of(path))
                else:
                    queue.append(value)
        elif isinstance(part, (list, tuple)):
            queue.extend(part)
    return frozenset(map(lexicon.terms.intern, sorted(found)))


def _triples(value: Any) -> list[tuple[Any, Any, Any]]:
    """Triple patterns, which EXISTS blocks keep as flat lists of three times as many terms."""
    triples: list[tuple[Any, Any, Any]] = []
    for item in value:
        items = list(item)
        triples += [tuple(items[i : i + 3]) for i in range(0, len(items), 3)]
    return triples


def _predicates_of(path: Path) -> Iterator[str]:
    match path:
        case Step(predicate):
            yield predicate
        case Sequence(parts) | Alternative(parts):
            for part in parts:
                yield from _predicates_of(part)
        case Repeat(inner):
            yield from _predicates_of(inner)
