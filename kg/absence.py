"""Decides which new violations contradict a claim, and which only show that triples are missing.

A SHACL result can rest on a triple being *absent*. Such a result makes a claim incomplete, but
does not contradict it. The violated constraint is therefore evaluated with three truth values:
FALSE (it fails whatever triples are added), TRUE (the triples present satisfy it) and GAP (it
fails, or passes, only because triples are missing):

* ``minCount``, ``qualifiedMinCount`` and ``hasValue`` over a path: satisfied → TRUE, else GAP.
* ``class``: satisfied → TRUE; on a node without any declared type → GAP; else FALSE.
* ``equals``: one side has no values → GAP; else TRUE or FALSE as evaluated.
* ``maxCount``, ``qualifiedMaxCount``: exceeded by different *names* → FALSE under the unique-name
  assumption, else GAP.
* every other component: violated → FALSE; satisfied by at least one value → TRUE; satisfied only
  because there is no value → GAP.
* ``not``, ``and``, ``or``, ``xone``, ``node``, ``property``: Kleene's tables over these.

A new violation contradicts the claim if and only if its constraint evaluates to FALSE.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from enum import IntEnum

from kg.index import Index
from kg.shapes.components import (
    ClassConstraint,
    Closed,
    HasValue,
    MaxCount,
    MinCount,
    PropertyPairConstraint,
    TermTest,
)
from kg.shapes.evaluation import CompiledShape, Component
from kg.shapes.nested import AllOf, AnyOf, NestedConstraint, Not, OneOf, QualifiedCount
from kg.shapes.rdflib_terms import RdflibTerms
from kg.shapes.sparql import SparqlConstraint
from kg.term_table import TermTable
from kg.terms import OWL, RDF, RDFS

RESTS_ON_ABSENCE = "the violation rests on something not being stated"
NAMES_NOT_UNIQUE = "a cardinality clash, but different names are not assumed to be different things"
POSSIBLY_SAME_VALUES = "the values counted can be one and the same thing"

_UNINFORMATIVE_TYPES = (OWL + "Thing", RDFS + "Resource", OWL + "NamedIndividual")
"""Types that any node may have, so they do not show what kind of thing a node is."""

SameTermFinder = Callable[[int], Iterable[int]]


class Truth(IntEnum):
    """Kleene's three truth values, ordered so that ``min`` is *and* and ``max`` is *or*."""

    FALSE = 0
    GAP = 1
    TRUE = 2


class ThreeValuedEvaluator:
    """Evaluates violated constraints on an index to which the claim has been added.

    Args:
        index: the closed graph and the claim.
        lexicon: the values of its terms.
        find_same_terms: returns all terms that ``owl:sameAs`` makes equal to a term.
        unique_names: whether different names denote different things.
        query_conforms: evaluates a SPARQL constraint that is not compiled on a focus node.
        without_claim: removes the claim from the index for the duration of a ``with`` block.
    """

    def __init__(
        self,
        index: Index,
        lexicon: RdflibTerms,
        find_same_terms: SameTermFinder,
        *,
        unique_names: bool,
        query_conforms: Callable[[SparqlConstraint, int], bool],
        without_claim: Callable[[], AbstractContextManager[None]],
    ) -> None:
        terms: TermTable = lexicon.terms
        self._index, self._lexicon, self._terms = index, lexicon, terms
        self._find_same_terms = find_same_terms
        self._unique_names = unique_names
        self._query_conforms = query_conforms
        self._without_claim = without_claim
        self._rdf_type = terms.intern(RDF + "type")
        self._uninformative_types = frozenset(map(terms.intern, _UNINFORMATIVE_TYPES))

    def explain_exemption(
        self, shape: CompiledShape, component_name: str, focus: int, value: int
    ) -> str:
        """Explains why a violation does not contradict the claim; empty if it does.

        Args:
            shape: the violation's source shape.
            component_name: its component, e.g. ``MaxCountConstraintComponent``.
            focus: its focus node.
            value: its value, or ``NO_VALUE``.
        """
        components = [
            component for component in shape.components if component.name == component_name
        ]
        if len(components) > 1:
            components = self._find_newly_failing(components, focus, value)
        truths = {
            component: self._evaluate_result(component, focus, value) for component in components
        }
        # Several constraints of one kind can cause the same result; one that is FALSE suffices.
        if not truths or Truth.FALSE in truths.values():
            return ""
        clash = any(
            isinstance(c, MaxCount) or (isinstance(c, QualifiedCount) and not c.is_minimum)
            for c in truths
        )
        if not clash:
            return RESTS_ON_ABSENCE
        return POSSIBLY_SAME_VALUES if self._unique_names else NAMES_NOT_UNIQUE

    def _find_newly_failing(
        self, components: list[Component], focus: int, value: int
    ) -> list[Component]:
        """Finds the constraints that fail only now, among several of one kind on one shape.

        Only these cause the *new* result; where none does, all failing ones are returned.
        """

        def is_failing(component: Component) -> bool:
            if isinstance(component, SparqlConstraint):
                return True
            values = component.owner.find_value_nodes(self._index, focus)
            return value in component.find_failing_values(self._index, focus, values)

        failing = [component for component in components if is_failing(component)]
        with self._without_claim():
            new = [component for component in failing if not is_failing(component)]
        return new or failing

    def _evaluate_result(self, component: Component, focus: int, value: int) -> Truth:
        if isinstance(component, (ClassConstraint, NestedConstraint)):
            return self._evaluate_each_value(component, (value,), on_path=False)
        if isinstance(component, (TermTest, Closed, SparqlConstraint)):
            return Truth.FALSE
        return self._evaluate_component(
            component, focus, component.owner.find_value_nodes(self._index, focus)
        )

    # Three-valued evaluation

    def evaluate_shape(self, shape: CompiledShape, focus: int) -> Truth:
        """Evaluates whether ``focus`` conforms to ``shape``."""
        if shape.shape.deactivated:
            return Truth.TRUE
        values = shape.find_value_nodes(self._index, focus)
        truth = Truth.TRUE
        for component in shape.components:
            truth = min(truth, self._evaluate_component(component, focus, values))
            if truth is Truth.FALSE:
                return truth
        for inner in shape.properties:
            truth = min(truth, self._evaluate_inner_shape(inner, values))
        return truth

    def _evaluate_inner_shape(self, inner: CompiledShape, values: Collection[int]) -> Truth:
        # Without values the shape is satisfied trivially: a value added later could violate it.
        return min((self.evaluate_shape(inner, value) for value in values), default=Truth.GAP)

    def _evaluate_component(
        self, component: Component, focus: int, values: Collection[int]
    ) -> Truth:
        on_path = component.owner.walk is not None
        index = self._index
        if isinstance(component, (ClassConstraint, NestedConstraint)):
            return self._evaluate_each_value(component, values, on_path=on_path)
        if isinstance(component, MaxCount):
            if len(values) > component.parameter.number:
                return self._evaluate_excess(list(values), component.parameter.number)
            return Truth.TRUE if values else Truth.GAP
        if isinstance(component, QualifiedCount):
            return self._evaluate_qualified(component, values)
        if isinstance(component, SparqlConstraint):
            good = (
                component.values_conform(index, focus, values)
                if component.is_compiled
                else self._query_conforms(component, focus)
            )
            return Truth.TRUE if good else Truth.FALSE
        failing = component.find_failing_values(index, focus, values)
        if isinstance(component, (MinCount, HasValue)):
            if not failing:
                return Truth.TRUE
            return Truth.GAP if on_path else Truth.FALSE
        if failing:
            if (
                isinstance(component, PropertyPairConstraint)
                and component.parameter.component == "Equals"
            ):
                empty = not values or not index.find_objects(focus, component.predicate)
                return Truth.GAP if empty else Truth.FALSE
            return Truth.FALSE
        return Truth.GAP if on_path and not values else Truth.TRUE

    def _evaluate_each_value(
        self,
        component: ClassConstraint | NestedConstraint,
        values: Collection[int],
        *,
        on_path: bool,
    ) -> Truth:
        truths = [
            self._evaluate_class(component, value)
            if isinstance(component, ClassConstraint)
            else self._evaluate_logical(component, value)
            for value in values
        ]
        return min(truths, default=Truth.GAP if on_path else Truth.TRUE)

    def _evaluate_class(self, component: ClassConstraint, value: int) -> Truth:
        if component.is_instance(self._index, value):
            return Truth.TRUE
        if self._terms.is_literal(value):
            return Truth.FALSE
        types = self._index.find_objects(value, self._rdf_type)
        return Truth.FALSE if any(t not in self._uninformative_types for t in types) else Truth.GAP

    def _evaluate_logical(self, component: NestedConstraint, value: int) -> Truth:
        truths = [self.evaluate_shape(shape, value) for shape in component.shapes]
        if isinstance(component, Not):
            return Truth(2 - truths[0])
        if isinstance(component, AllOf):
            return min(truths)
        if isinstance(component, AnyOf):
            return max(truths)
        assert isinstance(component, OneOf)
        true_count, gap_count = truths.count(Truth.TRUE), truths.count(Truth.GAP)
        if true_count > 1 or true_count + gap_count == 0:
            return Truth.FALSE
        return Truth.TRUE if true_count == 1 and not gap_count else Truth.GAP

    def _evaluate_qualified(self, component: QualifiedCount, values: Collection[int]) -> Truth:
        limit = component.parameter.number
        counted = {
            value: min(
                self.evaluate_shape(component.shape, value),
                *(Truth(2 - self.evaluate_shape(sibling, value)) for sibling in component.siblings),
                Truth.TRUE,
            )
            for value in values
        }
        sure = [value for value, truth in counted.items() if truth is Truth.TRUE]
        if component.is_minimum:
            return Truth.TRUE if len(sure) >= limit else Truth.GAP
        if len(sure) > limit:
            return self._evaluate_excess(sure, limit)
        possible = sum(truth is not Truth.FALSE for truth in counted.values())
        return Truth.TRUE if possible <= limit and values else Truth.GAP

    def _evaluate_excess(self, values: list[int], limit: int) -> Truth:
        if not self._unique_names:
            return Truth.GAP
        return Truth.FALSE if self._count_distinct(values) > limit else Truth.GAP

    def _count_distinct(self, values: list[int]) -> int:
        """Counts the minimum number of different things that ``values`` can denote.

        Names equal by ``owl:sameAs`` count once, as do numerals of equal value; a blank node can
        be equal to any other value and does not count.
        """
        distinct: set[object] = set()
        same_terms: set[int] = set()
        for value in values:
            if value in same_terms or self._terms.get_text(value).startswith("_:"):
                continue
            if self._terms.is_literal(value):
                distinct.add(self._lexicon.get_number_key(value))
            else:
                same_terms.update(self._find_same_terms(value))
                distinct.add(value)
        return len(distinct) or min(1, len(values))
