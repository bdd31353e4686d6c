"""Implements the SHACL constraint components that test values, over the triple index.

``find_failing_values`` returns each value exactly as many times as pySHACL reports it. Results
that depend on a term alone are cached by its id.
"""

# ruff: noqa: ARG002 — one signature for all components, whether they need the focus node or not
from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection
from typing import Any

from kg.shapes.evaluation import NO_VALUE, Component, Result
from kg.shapes.model import Parameter
from kg.shapes.rdflib_terms import (
    MAX_CACHE_SIZE,
    RdflibTerms,
    compare_literals,
    is_less_than,
    silence_rdflib,
)
from kg.terms import RDF, RDFS, XSD, to_rdflib
from kg.triples.index import Index


class TermTest(Component):
    """A component that tests each value separately and does not read the graph."""

    def __init__(self, parameter: Parameter, test: Callable[[int], bool]) -> None:
        super().__init__(parameter)
        self._test = test
        self._cache: dict[int, bool] = {}

    def find_failing_values(
        self, index: Index, focus: int, values: Collection[int]
    ) -> Collection[int]:
        """Returns the values that fail the test."""
        cache = self._cache
        failed: list[int] = []
        for value in values:
            if (is_passing := cache.get(value)) is None:
                if len(cache) >= MAX_CACHE_SIZE:
                    cache.clear()
                is_passing = cache[value] = self._test(value)
            if not is_passing:
                failed.append(value)
        return failed


class TypeCacheScope:
    """Stores the index for which answers about types may be cached.

    It is None while the engine adds a claim with ``rdf:type`` or ``rdfs:subClassOf``.
    """

    __slots__ = ("index",)

    def __init__(self) -> None:
        self.index: Index | None = None


class TypeCache:
    """Caches yes-or-no answers that depend only on a node's types; combinations are few.

    Args:
        scope: the index for which answers may be cached.
        rdf_type: id of ``rdf:type``.
    """

    __slots__ = ("_answers", "_rdf_type", "_scope")

    def __init__(self, scope: TypeCacheScope, rdf_type: int) -> None:
        self._scope, self._rdf_type = scope, rdf_type
        self._answers: dict[tuple[int, ...], bool] = {}

    def get_or_compute(
        self, compute: Callable[[Index, int], bool], index: Index, node: int
    ) -> bool:
        """Returns ``compute(index, node)``, cached by the node's types if that is allowed."""
        if index is not self._scope.index:
            return compute(index, node)
        types = tuple(index.find_objects(node, self._rdf_type))
        answer = self._answers.get(types)
        if answer is None:
            if len(self._answers) >= MAX_CACHE_SIZE:
                self._answers.clear()
            answer = self._answers[types] = compute(index, node)
        return answer


class ClassConstraint(Component):
    """``sh:class``: each value is an instance of the class or of a subclass."""

    def __init__(
        self, parameter: Parameter, rdflib_terms: RdflibTerms, cache_scope: TypeCacheScope
    ) -> None:
        super().__init__(parameter)
        intern = rdflib_terms.terms.intern
        self.required_class = intern(parameter.terms[0])
        self.rdf_type, self.subclass_predicate = intern(RDF + "type"), intern(RDFS + "subClassOf")
        self._type_cache = TypeCache(cache_scope, self.rdf_type)

    def find_failing_values(
        self, index: Index, focus: int, values: Collection[int]
    ) -> Collection[int]:
        """Returns the values that are not instances."""
        return [value for value in values if not self.is_instance(index, value)]

    def is_instance(self, index: Index, value: int) -> bool:
        """Returns whether a type of ``value`` is the class or one of its subclasses."""
        return self._type_cache.get_or_compute(self._check_instance, index, value)

    def _check_instance(self, index: Index, value: int) -> bool:
        types = index.find_objects(value, self.rdf_type)
        if self.required_class in types:
            return True
        return bool(types) and has_superclass(
            index, types, self.required_class, self.subclass_predicate
        )


def has_superclass(
    index: Index, classes: Collection[int], required_class: int, subclass_predicate: int
) -> bool:
    """Returns whether one of ``classes`` reaches ``required_class`` by ``rdfs:subClassOf``."""
    visited = set(classes)
    queue = list(classes)
    for cls in queue:
        for superclass in index.find_objects(cls, subclass_predicate):
            if superclass == required_class:
                return True
            if superclass not in visited:
                visited.add(superclass)
                queue.append(superclass)
    return False


class MinCount(Component):
    """``sh:minCount``: there are at least this many values."""

    def find_failing_values(
        self, index: Index, focus: int, values: Collection[int]
    ) -> Collection[int]:
        """Returns one ``NO_VALUE`` if there are too few values."""
        return () if len(values) >= self.parameter.number else (NO_VALUE,)


class MaxCount(Component):
    """``sh:maxCount``: there are at most this many values."""

    def find_failing_values(
        self, index: Index, focus: int, values: Collection[int]
    ) -> Collection[int]:
        """Returns one ``NO_VALUE`` if there are too many values."""
        return () if len(values) <= self.parameter.number else (NO_VALUE,)


class HasValue(Component):
    """``sh:hasValue``: a given term is among the values."""

    def __init__(self, parameter: Parameter, rdflib_terms: RdflibTerms) -> None:
        super().__init__(parameter)
        self.required_value = rdflib_terms.terms.intern(parameter.terms[0])

    def find_failing_values(
        self, index: Index, focus: int, values: Collection[int]
    ) -> Collection[int]:
        """Returns one ``NO_VALUE`` if the term is not among the values."""
        return () if self.required_value in values else (NO_VALUE,)


class PropertyPairConstraint(Component):
    """``sh:equals``, ``sh:disjoint``, ``sh:lessThan``, ``sh:lessThanOrEquals``.

    Values are compared with the objects of one predicate of the *focus node*.
    """

    def __init__(self, parameter: Parameter, rdflib_terms: RdflibTerms) -> None:
        super().__init__(parameter)
        self.predicate = rdflib_terms.terms.intern(parameter.terms[0])
        if parameter.component != "Equals":
            self.skip_if_without = self.predicate
        self._rdflib_terms = rdflib_terms
        self._is_less_cache: dict[tuple[int, int], bool] = {}

    def find_failing_values(
        self, index: Index, focus: int, values: Collection[int]
    ) -> Collection[int]:
        """Returns the values that violate the relation.

        For ``sh:lessThan`` and ``sh:lessThanOrEquals``, a value is returned once for each object
        that it violates the relation with.
        """
        compared_values = index.find_objects(focus, self.predicate)
        component = self.parameter.component
        if component == "Disjoint":
            return (
                [value for value in values if value in compared_values] if compared_values else ()
            )
        if component == "Equals":
            return [value for value in values if value not in compared_values] + [
                other for other in compared_values if other not in values
            ]
        if not compared_values:
            return ()
        return [v for v in values for other in compared_values if not self._is_less(v, other)]

    def _is_less(self, value: int, other: int) -> bool:
        key = (value, other)
        is_less = self._is_less_cache.get(key)
        if is_less is None:
            if len(self._is_less_cache) >= MAX_CACHE_SIZE:
                self._is_less_cache.clear()
            get_rdflib_term = self._rdflib_terms.get_rdflib_term
            or_equal = self.parameter.component == "LessThanOrEquals"
            is_less = self._is_less_cache[key] = is_less_than(
                get_rdflib_term(value), get_rdflib_term(other), or_equal=or_equal
            )
        return is_less


class UniqueLang(Component):
    """``sh:uniqueLang``: no two values have the same language tag."""

    def __init__(self, parameter: Parameter, rdflib_terms: RdflibTerms) -> None:
        super().__init__(parameter)
        self._get_language = rdflib_terms.get_language

    def find_failing_values(
        self, index: Index, focus: int, values: Collection[int]
    ) -> Collection[int]:
        """Returns one ``NO_VALUE`` per language that occurs more than once."""
        if len(values) < 2:
            return ()
        counts: dict[str, int] = {}
        for value in values:
            language = self._get_language(value)
            if language:
                counts[language] = counts.get(language, 0) + 1
        return [NO_VALUE for count in counts.values() if count > 1]


class Closed(Component):
    """``sh:closed``: values have no predicates except the allowed ones."""

    def __init__(self, parameter: Parameter, rdflib_terms: RdflibTerms) -> None:
        super().__init__(parameter)
        intern = rdflib_terms.terms.intern
        self.allowed = frozenset(map(intern, parameter.terms))
        self._term_texts = rdflib_terms.terms.texts
        # As in pySHACL, ``rdf:type rdfs:Resource`` is always allowed.
        self._resource_edge = (intern(RDF + "type"), intern(RDFS + "Resource"))

    def find_extra_edges(self, index: Index, values: Collection[int]) -> list[tuple[int, int]]:
        """Returns (predicate, object) of every triple that is not allowed."""
        return [
            edge
            for value in values
            for edge in index.iter_out_edges(value)
            if edge[0] not in self.allowed and edge != self._resource_edge
        ]

    def find_failing_values(
        self, index: Index, focus: int, values: Collection[int]
    ) -> Collection[int]:
        """Returns the objects of the triples that are not allowed."""
        return [o for _, o in self.find_extra_edges(index, values)]

    def collect_results(
        self, index: Index, focus: int, values: Collection[int], results: list[Result]
    ) -> None:
        """Appends one result per triple that is not allowed, with its predicate as the path."""
        for p, o in self.find_extra_edges(index, values):
            results.append((self.owner, self.name, focus, self._term_texts[p], o))


def make_term_test(parameter: Parameter, rdflib_terms: RdflibTerms) -> Callable[[int], bool] | None:
    """Returns the test of a component that tests values one by one; None for other components."""
    name = parameter.component
    if name == "In":
        allowed_terms = frozenset(map(rdflib_terms.terms.intern, parameter.terms))
        return allowed_terms.__contains__
    if name == "NodeKind":
        return _make_node_kind_test(parameter.terms[0], rdflib_terms)
    if name == "Datatype":
        return _make_datatype_test(parameter.terms[0], rdflib_terms)
    if name in ("MinLength", "MaxLength"):
        return _make_length_test(parameter, rdflib_terms)
    if name == "Pattern":
        return _make_pattern_test(parameter, rdflib_terms)
    if name == "LanguageIn":
        return _make_language_test(frozenset(parameter.terms), rdflib_terms)
    if name in _BOUNDS:
        return _make_bound_test(parameter, rdflib_terms)
    return None


def _make_node_kind_test(kind: str, rdflib_terms: RdflibTerms) -> Callable[[int], bool]:
    get_text = rdflib_terms.terms.get_text
    kind_name = kind.rpartition("#")[2]
    allows_iri = kind_name in ("IRI", "BlankNodeOrIRI", "IRIOrLiteral")
    allows_blank = kind_name in ("BlankNode", "BlankNodeOrIRI", "BlankNodeOrLiteral")
    allows_literal = kind_name in ("Literal", "BlankNodeOrLiteral", "IRIOrLiteral")

    def has_node_kind(term: int) -> bool:
        prefix = get_text(term)[:2]
        return (
            allows_literal if prefix[:1] == '"' else allows_blank if prefix == "_:" else allows_iri
        )

    return has_node_kind


def _make_datatype_test(datatype: str, rdflib_terms: RdflibTerms) -> Callable[[int], bool]:
    from datetime import date, datetime, time
    from decimal import Decimal

    # Python type that a literal of a datatype must have; pySHACL does not check other datatypes.
    required_type: Any = {
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

    def has_datatype(term: int) -> bool:
        from rdflib import Literal

        literal = rdflib_terms.get_rdflib_term(term)
        if not isinstance(literal, Literal):
            return False
        own_datatype = None if literal.datatype is None else str(literal.datatype)
        if own_datatype == datatype:
            return literal.ill_typed is not True and isinstance(literal.value, required_type)
        if datatype == RDFS + "Literal" or (datatype == RDFS + "Datatype" and own_datatype):
            return True
        is_plain_string = (
            own_datatype is None and not literal.language and datatype == XSD + "string"
        )
        is_language_tagged = bool(literal.language) and datatype == RDF + "langString"
        return (is_plain_string or is_language_tagged) and isinstance(literal.value, required_type)

    return has_datatype


def _make_length_test(parameter: Parameter, rdflib_terms: RdflibTerms) -> Callable[[int], bool]:
    limit, is_minimum = parameter.number, parameter.component == "MinLength"

    def has_length(term: int) -> bool:
        string = rdflib_terms.get_string(term)
        if string is None:  # A blank node: as in pySHACL, it passes only ``sh:minLength 0``.
            return is_minimum and limit == 0
        return len(string) >= limit if is_minimum else len(string) <= limit

    return has_length


def _make_pattern_test(parameter: Parameter, rdflib_terms: RdflibTerms) -> Callable[[int], bool]:
    flags = (re.IGNORECASE if "i" in parameter.flags else 0) | (
        re.MULTILINE if "m" in parameter.flags else 0
    )
    with warnings.catch_warnings():
        # Python warns of constructs that are valid in patterns of SHACL, such as "[[".
        warnings.simplefilter("ignore")
        search = re.compile(parameter.text, flags).search

    def matches_pattern(term: int) -> bool:
        string = rdflib_terms.get_string(term)
        return string is not None and search(string) is not None

    return matches_pattern


def _make_language_test(ranges: frozenset[str], rdflib_terms: RdflibTerms) -> Callable[[int], bool]:
    def has_language(term: int) -> bool:
        language = rdflib_terms.get_language(term)
        if not language:
            return False
        return "*" in ranges or language in ranges or language.split("-")[0] in ranges

    return has_language


# ``order`` is negative, 0 or positive if a value is less than, equal to or greater than the bound.
_BOUNDS: dict[str, Callable[[int], bool]] = {
    "MinExclusive": lambda order: order > 0,
    "MinInclusive": lambda order: order >= 0,
    "MaxExclusive": lambda order: order < 0,
    "MaxInclusive": lambda order: order <= 0,
}


def _make_bound_test(parameter: Parameter, rdflib_terms: RdflibTerms) -> Callable[[int], bool]:
    with silence_rdflib():
        bound: Any = to_rdflib(parameter.terms[0])
    satisfies_bound = _BOUNDS[parameter.component]

    def is_within_bound(term: int) -> bool:
        from rdflib import Literal

        value = rdflib_terms.get_rdflib_term(term)
        if not isinstance(value, Literal):
            return False
        # As in pySHACL, text and other values cannot be compared, so the value fails.
        if isinstance(value.value, str) != isinstance(bound.value, str):
            return False
        try:
            with silence_rdflib():
                return satisfies_bound(compare_literals(value, bound))
        except (TypeError, NotImplementedError):
            return False

    return is_within_bound
