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
from kg.terms import OWL, RDF, RDFS
from kg.triples.index import Index
from kg.triples.term_table import TermTable

# The reasons why a violation does not contradict a claim, as proofs state them.
RESTS_ON_ABSENCE = "the violation rests on something not being stated"
NAMES_NOT_UNIQUE = "a cardinality clash, but different names are not assumed to be different things"
POSSIBLY_SAME_VALUES = "the values counted can be one and the same thing"

_UNINFORMATIVE_TYPES = (OWL + "Thing", RDFS + "Resource", OWL + "NamedIndividual")
"""Types that any node may have, so they do not show what kind of thing a node is."""

SameTermFinder = Callable[[int], Iterable[int]]
"""Returns all terms that ``owl:sameAs`` makes equal to a term, itself included."""


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
        query_conforms: returns whether a focus node conforms to a SPARQL constraint; called only
            for constraints that are not compiled.
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

    def explain_no_contradiction(
        self, shape: CompiledShape, component_name: str, focus: int, value: int
    ) -> str:
        """Explains why a violation does not contradict the claim.

        Returns an empty string if the violation contradicts the claim.

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
        truth_by_component = {
            component: self._evaluate_result(component, focus, value) for component in components
        }
        # Several constraints of one kind can cause the same result; one that is FALSE suffices.
        if not truth_by_component or Truth.FALSE in truth_by_component.values():
            return ""
        exceeds_maximum = any(
            isinstance(c, MaxCount) or (isinstance(c, QualifiedCount) and not c.is_minimum)
            for c in truth_by_component
        )
        if not exceeds_maximum:
            return RESTS_ON_ABSENCE
        return POSSIBLY_SAME_VALUES if self._unique_names else NAMES_NOT_UNIQUE

    def _find_newly_failing(
        self, components: list[Component], focus: int, value: int
    ) -> list[Component]:
        """Finds, among constraints of one kind on one shape, those that only the claim violates.

        Only these can cause the *new* result. If there are none, all violated ones are returned.
        """

        def is_failing(component: Component) -> bool:
            if isinstance(component, SparqlConstraint):
                return True
            values = component.owner.find_value_nodes(self._index, focus)
            return value in component.find_failing_values(self._index, focus, values)

        failing = [component for component in components if is_failing(component)]
        with self._without_claim():
            newly_failing = [component for component in failing if not is_failing(component)]
        return newly_failing or failing

    def _evaluate_result(self, component: Component, focus: int, value: int) -> Truth:
        """Evaluates the constraint of a result; on the result's value alone if it tests values."""
        if isinstance(component, (ClassConstraint, NestedConstraint)):
            return self._evaluate_each_value(component, (value,), has_path=False)
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
        has_path = component.owner.walk is not None
        index = self._index
        if isinstance(component, (ClassConstraint, NestedConstraint)):
            return self._evaluate_each_value(component, values, has_path=has_path)
        if isinstance(component, MaxCount):
            if len(values) > component.parameter.number:
                return self._evaluate_excess(list(values), component.parameter.number)
            return Truth.TRUE if values else Truth.GAP
        if isinstance(component, QualifiedCount):
            return self._evaluate_qualified(component, values)
        if isinstance(component, SparqlConstraint):
            conforms = (
                component.values_conform(index, focus, values)
                if component.is_compiled
                else self._query_conforms(component, focus)
            )
            return Truth.TRUE if conforms else Truth.FALSE
        failing = component.find_failing_values(index, focus, values)
        if isinstance(component, (MinCount, HasValue)):
            if not failing:
                return Truth.TRUE
            return Truth.GAP if has_path else Truth.FALSE
        if failing:
            if (
                isinstance(component, PropertyPairConstraint)
                and component.parameter.component == "Equals"
            ):
                has_empty_side = not values or not index.find_objects(focus, component.predicate)
                return Truth.GAP if has_empty_side else Truth.FALSE
            return Truth.FALSE
        return Truth.GAP if has_path and not values else Truth.TRUE

    def _evaluate_each_value(
        self,
        component: ClassConstraint | NestedConstraint,
        values: Collection[int],
        *,
        has_path: bool,
    ) -> Truth:
        truths = [
            self._evaluate_class(component, value)
            if isinstance(component, ClassConstraint)
            else self._evaluate_logical(component, value)
            for value in values
        ]
        return min(truths, default=Truth.GAP if has_path else Truth.TRUE)

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
            return Truth(2 - truths[0])  # swaps FALSE and TRUE; GAP stays
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
        truth_by_value = {
            value: min(
                self.evaluate_shape(component.shape, value),
                *(Truth(2 - self.evaluate_shape(sibling, value)) for sibling in component.siblings),
                Truth.TRUE,
            )
            for value in values
        }
        certain_values = [value for value, truth in truth_by_value.items() if truth is Truth.TRUE]
        if component.is_minimum:
            return Truth.TRUE if len(certain_values) >= limit else Truth.GAP
        if len(certain_values) > limit:
            return self._evaluate_excess(certain_values, limit)
        possible_count = sum(truth is not Truth.FALSE for truth in truth_by_value.values())
        return Truth.TRUE if possible_count <= limit and values else Truth.GAP

    def _evaluate_excess(self, values: list[int], limit: int) -> Truth:
        """Evaluates a maximum count that ``values`` exceed, unless some of them are equal."""
        if not self._unique_names:
            return Truth.GAP
        return Truth.FALSE if self._count_distinct(values) > limit else Truth.GAP

    def _count_distinct(self, values: list[int]) -> int:
        """Counts the minimum number of different things that ``values`` can denote.

        Names equal by ``owl:sameAs`` count once, as do numerals of equal value. A blank node can
        be equal to any other value, so it does not count; if all
        values are blank nodes, the result is 1.
        """
        distinct_keys: set[object] = set()
        counted_terms: set[int] = set()
        for value in values:
            if value in counted_terms or self._terms.get_text(value).startswith("_:"):
                continue
            if self._terms.is_literal(value):
                distinct_keys.add(self._lexicon.get_number_key(value))
            else:
                counted_terms.update(self._find_same_terms(value))
                distinct_keys.add(value)
        return len(distinct_keys) or min(1, len(values))
