"""Constraint components on values: compiled tests over the integer index.

Each component says which values fail (``failing``), exactly as many times as pySHACL would report
them. Answers that depend on the term alone are remembered by its id.
"""

# ruff: noqa: ARG002 — one signature for all components, whether they need the focus node or not
from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection
from typing import Any

from kg.index import Index
from kg.shapes.evaluation import NO_VALUE, Component, Result
from kg.shapes.lexicon import MEMO_LIMIT, Lexicon, compare_literals, in_order, quiet_rdflib
from kg.shapes.model import Parameter
from kg.terms import RDF, RDFS, XSD, to_rdflib


class TermTest(Component):
    """A test of each value by itself, whatever the graph says about it."""

    def __init__(self, parameter: Parameter, test: Callable[[int], bool]) -> None:
        super().__init__(parameter)
        self._test = test
        self._passes: dict[int, bool] = {}

    def failing(self, index: Index, focus: int, values: Collection[int]) -> Collection[int]:
        """Values that fail the test."""
        passes = self._passes
        failed: list[int] = []
        for value in values:
            ok = passes.get(value)
            if ok is None:
                if len(passes) >= MEMO_LIMIT:
                    passes.clear()
                ok = passes[value] = self._test(value)
            if not ok:
                failed.append(value)
        return failed


class TypingMemo:
    """On which index, if any, answers about types may be remembered.

    They hold as long as neither ``rdf:type`` nor ``rdfs:subClassOf`` triples change: the engine
    sets ``index`` to the closed graph's, and to None while a claim of these predicates is in it.
    """

    __slots__ = ("index",)

    def __init__(self) -> None:
        self.index: Index | None = None


class ByTypes:
    """Yes or no about nodes, as far as it follows from their types alone, remembered by types.

    A million nodes have a few combinations of types, so that nearly every answer is known.

    Args:
        memo: on which index answers may be remembered.
        rdf_type: id of ``rdf:type``.
    """

    __slots__ = ("_answers", "_memo", "_rdf_type")

    def __init__(self, memo: TypingMemo, rdf_type: int) -> None:
        self._memo, self._rdf_type = memo, rdf_type
        self._answers: dict[tuple[int, ...], bool] = {}

    def ask(self, find: Callable[[Index, int], bool], index: Index, node: int) -> bool:
        """``find(index, node)``, or what it said of a node with the same types."""
        if index is not self._memo.index:
            return find(index, node)
        types = tuple(index.objects(node, self._rdf_type))
        known = self._answers.get(types)
        if known is None:
            if len(self._answers) >= MEMO_LIMIT:
                self._answers.clear()
            known = self._answers[types] = find(index, node)
        return known


class ClassOf(Component):
    """``sh:class``: each value is an instance of the class or of a class below it."""

    def __init__(self, parameter: Parameter, lexicon: Lexicon, memo: TypingMemo) -> None:
        super().__init__(parameter)
        intern = lexicon.terms.intern
        self.target = intern(parameter.terms[0])
        self.rdf_type, self.sub_class = intern(RDF + "type"), intern(RDFS + "subClassOf")
        self._by_types = ByTypes(memo, self.rdf_type)

    def failing(self, index: Index, focus: int, values: Collection[int]) -> Collection[int]:
        """Values that are no instance."""
        return [value for value in values if not self.is_instance(index, value)]

    def is_instance(self, index: Index, value: int) -> bool:
        """Whether a type of ``value`` is the class or leads to it by ``rdfs:subClassOf``."""
        return self._by_types.ask(self._look, index, value)

    def _look(self, index: Index, value: int) -> bool:
        types = index.objects(value, self.rdf_type)
        if self.target in types:
            return True
        return bool(types) and is_below(index, types, self.target, self.sub_class)


def is_below(index: Index, classes: Collection[int], target: int, sub_class: int) -> bool:
    """Whether one of ``classes`` leads to ``target`` by ``rdfs:subClassOf`` steps."""
    seen = set(classes)
    queue = list(classes)
    for item in queue:
        for above in index.objects(item, sub_class):
            if above == target:
                return True
            if above not in seen:
                seen.add(above)
                queue.append(above)
    return False


class MinCount(Component):
    """``sh:minCount``."""

    def failing(self, index: Index, focus: int, values: Collection[int]) -> Collection[int]:
        """One result without value if there are too few."""
        return () if len(values) >= self.parameter.number else (NO_VALUE,)


class MaxCount(Component):
    """``sh:maxCount``."""

    def failing(self, index: Index, focus: int, values: Collection[int]) -> Collection[int]:
        """One result without value if there are too many."""
        return () if len(values) <= self.parameter.number else (NO_VALUE,)


class HasValue(Component):
    """``sh:hasValue``."""

    def __init__(self, parameter: Parameter, lexicon: Lexicon) -> None:
        super().__init__(parameter)
        self.wanted = lexicon.terms.intern(parameter.terms[0])

    def failing(self, index: Index, focus: int, values: Collection[int]) -> Collection[int]:
        """One result without value if the term is not among the values."""
        return () if self.wanted in values else (NO_VALUE,)


class Compared(Component):
    """``sh:equals``, ``sh:disjoint``, ``sh:lessThan``, ``sh:lessThanOrEquals``.

    Values are compared with the objects of one predicate of the *focus node*.
    """

    def __init__(self, parameter: Parameter, lexicon: Lexicon) -> None:
        super().__init__(parameter)
        self.predicate = lexicon.terms.intern(parameter.terms[0])
        if parameter.component != "Equals":
            self.idle_without = self.predicate
        self._lexicon = lexicon
        self._ordered: dict[tuple[int, int], bool] = {}

    def failing(self, index: Index, focus: int, values: Collection[int]) -> Collection[int]:
        """The values in the wrong relation; for an order, once per offending pair."""
        others = index.objects(focus, self.predicate)
        kind = self.parameter.component
        if kind == "Disjoint":
            return [value for value in values if value in others] if others else ()
        if kind == "Equals":
            return [value for value in values if value not in others] + [
                other for other in others if other not in values
            ]
        if not others:
            return ()
        return [v for v in values for other in others if not self._less(v, other)]

    def _less(self, value: int, other: int) -> bool:
        key = (value, other)
        less = self._ordered.get(key)
        if less is None:
            if len(self._ordered) >= MEMO_LIMIT:
                self._ordered.clear()
            rdf = self._lexicon.rdf
            or_equal = self.parameter.component == "LessThanOrEquals"
            less = self._ordered[key] = in_order(rdf(value), rdf(other), or_equal=or_equal)
        return less


class UniqueLang(Component):
    """``sh:uniqueLang``."""

    def __init__(self, parameter: Parameter, lexicon: Lexicon) -> None:
        super().__init__(parameter)
        self._language = lexicon.language

    def failing(self, index: Index, focus: int, values: Collection[int]) -> Collection[int]:
        """One result without value per language that occurs twice."""
        if len(values) < 2:
            return ()
        counts: dict[str, int] = {}
        for value in values:
            language = self._language(value)
            if language:
                counts[language] = counts.get(language, 0) + 1
        return [NO_VALUE for count in counts.values() if count > 1]


class Closed(Component):
    """``sh:closed``: no predicates but the allowed ones."""

    def __init__(self, parameter: Parameter, lexicon: Lexicon) -> None:
        super().__init__(parameter)
        intern = lexicon.terms.intern
        self.allowed = frozenset(map(intern, parameter.terms))
        self._texts = lexicon.terms.texts
        # pySHACL lets everything be a resource.
        self._resource = (intern(RDF + "type"), intern(RDFS + "Resource"))

    def edges(self, index: Index, values: Collection[int]) -> list[tuple[int, int]]:
        """(predicate, object) of every triple that should not be."""
        return [
            edge
            for value in values
            for edge in index.out_edges(value)
            if edge[0] not in self.allowed and edge != self._resource
        ]

    def failing(self, index: Index, focus: int, values: Collection[int]) -> Collection[int]:
        """Objects of the triples that should not be."""
        return [o for _, o in self.edges(index, values)]

    def collect(self, index: Index, focus: int, values: Collection[int], out: list[Result]) -> None:
        """Appends one result per triple, its predicate as the path."""
        for p, o in self.edges(index, values):
            out.append((self.owner, self.name, focus, self._texts[p], o))


def term_test(parameter: Parameter, lexicon: Lexicon) -> Callable[[int], bool] | None:
    """The test of a component that looks at each value by itself; None for other components."""
    name = parameter.component
    if name == "In":
        listed = frozenset(map(lexicon.terms.intern, parameter.terms))
        return listed.__contains__
    if name == "NodeKind":
        return _node_kind(parameter.terms[0], lexicon)
    if name == "Datatype":
        return _datatype(parameter.terms[0], lexicon)
    if name in ("MinLength", "MaxLength"):
        return _length(parameter, lexicon)
    if name == "Pattern":
        return _pattern(parameter, lexicon)
    if name == "LanguageIn":
        return _language_in(frozenset(parameter.terms), lexicon)
    if name in _BOUNDS:
        return _bound(parameter, lexicon)
    return None


def _node_kind(kind: str, lexicon: Lexicon) -> Callable[[int], bool]:
    text = lexicon.terms.text
    wanted = kind.rpartition("#")[2]
    iri = wanted in ("IRI", "BlankNodeOrIRI", "IRIOrLiteral")
    blank = wanted in ("BlankNode", "BlankNodeOrIRI", "BlankNodeOrLiteral")
    literal = wanted in ("Literal", "BlankNodeOrLiteral", "IRIOrLiteral")

    def test(term: int) -> bool:
        start = text(term)[:2]
        return literal if start[:1] == '"' else blank if start == "_:" else iri

    return test


def _datatype(datatype: str, lexicon: Lexicon) -> Callable[[int], bool]:
    from datetime import date, datetime, time
    from decimal import Decimal

    # Which Python value a literal of a datatype must have; pySHACL takes others on trust.
    needed: Any = {
        XSD + "string": (str, bytes),
        RDF + "langString": (str, bytes),
        XSD + "integer": int,
        XSD + "float": float,
        XSD + "decimal": Decimal,
        XSD + "boolean": bool,
        XSD + "date": date,
        XSD + "time": time,
        XSD + "dateTime": datetime,
    }.get(datatype, object)

    def test(term: int) -> bool:
        from rdflib import Literal

        literal = lexicon.rdf(term)
        if not isinstance(literal, Literal):
            return False
        own = None if literal.datatype is None else str(literal.datatype)
        if own == datatype:
            return literal.ill_typed is not True and isinstance(literal.value, needed)
        if datatype == RDFS + "Literal" or (datatype == RDFS + "Datatype" and own):
            return True
        plain = own is None and not literal.language and datatype == XSD + "string"
        tagged = bool(literal.language) and datatype == RDF + "langString"
        return (plain or tagged) and isinstance(literal.value, needed)

    return test


def _length(parameter: Parameter, lexicon: Lexicon) -> Callable[[int], bool]:
    limit, least = parameter.number, parameter.component == "MinLength"

    def test(term: int) -> bool:
        string = lexicon.string(term)
        if string is None:
            return least and limit == 0
        return len(string) >= limit if least else len(string) <= limit

    return test


def _pattern(parameter: Parameter, lexicon: Lexicon) -> Callable[[int], bool]:
    flags = (re.IGNORECASE if "i" in parameter.flags else 0) | (
        re.MULTILINE if "m" in parameter.flags else 0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = re.compile(parameter.text, flags).search

    def test(term: int) -> bool:
        string = lexicon.string(term)
        return string is not None and search(string) is not None

    return test


def _language_in(ranges: frozenset[str], lexicon: Lexicon) -> Callable[[int], bool]:
    def test(term: int) -> bool:
        language = lexicon.language(term)
        if not language:
            return False
        return "*" in ranges or language in ranges or language.split("-")[0] in ranges

    return test


_BOUNDS: dict[str, Callable[[int], bool]] = {
    "MinExclusive": lambda order: order > 0,
    "MinInclusive": lambda order: order >= 0,
    "MaxExclusive": lambda order: order < 0,
    "MaxInclusive": lambda order: order <= 0,
}


def _bound(parameter: Parameter, lexicon: Lexicon) -> Callable[[int], bool]:
    with quiet_rdflib():
        bound: Any = to_rdflib(parameter.terms[0])
    within = _BOUNDS[parameter.component]

    def test(term: int) -> bool:
        from rdflib import Literal

        value = lexicon.rdf(term)
        if not isinstance(value, Literal):
            return False
        if isinstance(value.value, str) != isinstance(bound.value, str):
            return False
        try:
            with quiet_rdflib():
                return within(compare_literals(value, bound))
        except (TypeError, NotImplementedError):
            return False

    return test
