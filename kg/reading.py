"""The reading of absence: which new violations contradict a claim, and which only show a gap.

A SHACL result can rest on something *not* being stated. Such a result makes a claim incomplete,
never contradicted. Which is which is decided by evaluating the violated constraint with three
truth values: FALSE (it fails whatever else may be added), TRUE (it is met by what is there) and
GAP (it fails, or passes, only because something is missing):

* ``minCount``, ``qualifiedMinCount`` and ``hasValue`` over a path: met → TRUE, else GAP.
* ``class``: met → TRUE; on a node without any declared type → GAP; else FALSE.
* ``equals``: GAP where one side has no value at all; else as it is.
* ``maxCount``, ``qualifiedMaxCount``: exceeded by different *names* → FALSE under the unique-name
  assumption, else GAP.
* every other component: violated → FALSE; met by at least one value → TRUE; met only because
  there is no value → GAP.
* ``not``, ``and``, ``or``, ``xone``, ``node``, ``property``: Kleene's tables over these.

A new violation is held against the claim if and only if its constraint is FALSE there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from enum import IntEnum

from kg.index import Index
from kg.shapes.components import (
    ClassOf,
    Closed,
    Compared,
    HasValue,
    MaxCount,
    MinCount,
    TermTest,
)
from kg.shapes.evaluation import CompiledShape, Component
from kg.shapes.lexicon import Lexicon
from kg.shapes.nested import AllOf, AnyOf, Nested, Not, OneOf, Qualified
from kg.shapes.sparql import SparqlConstraint
from kg.term_table import TermTable
from kg.terms import OWL, RDF, RDFS

ABSENT = "the violation rests on something not being stated"
NAMES = "a cardinality clash, but different names are not assumed to be different things"
ONE_NAME = "the values counted can be one and the same thing"

_NO_TYPE = (OWL + "Thing", RDFS + "Resource", OWL + "NamedIndividual")
"""Types that say nothing about what a node is."""

SameAs = Callable[[int], Iterable[int]]


class Truth(IntEnum):
    """Kleene's three values, ordered, so that ``min`` is *and* and ``max`` is *or*."""

    FALSE = 0
    GAP = 1
    TRUE = 2


class Reader:
    """Reads violations on one index, into which the claim has been added.

    Args:
        index: the closed graph and the claim.
        lexicon: the values of its terms.
        same: all terms that ``owl:sameAs`` holds to be one with a term.
        unique_names: whether different names are different things.
        query_conforms: asks a SPARQL constraint that is not compiled about a focus node.
        without_claim: takes the claim out of the index for the length of a ``with`` block.
    """

    def __init__(
        self,
        index: Index,
        lexicon: Lexicon,
        same: SameAs,
        *,
        unique_names: bool,
        query_conforms: Callable[[SparqlConstraint, int], bool],
        without_claim: Callable[[], AbstractContextManager[None]],
    ) -> None:
        terms: TermTable = lexicon.terms
        self._index, self._lexicon, self._terms = index, lexicon, terms
        self._same = same
        self._unique_names = unique_names
        self._query_conforms = query_conforms
        self._without_claim = without_claim
        self._rdf_type = terms.intern(RDF + "type")
        self._no_type = frozenset(map(terms.intern, _NO_TYPE))

    def reason_to_spare(self, shape: CompiledShape, name: str, focus: int, value: int) -> str:
        """Why a violation is not held against the claim; empty if it is.

        Args:
            shape: its source shape.
            name: its component, e.g. ``MaxCountConstraintComponent``.
            focus: its focus node.
            value: its value, or ``NO_VALUE``.
        """
        found = [component for component in shape.components if component.name == name]
        if len(found) > 1:
            found = self._newly_failing(found, focus, value)
        truths = {component: self._of_result(component, focus, value) for component in found}
        # Several constraints of one kind may stand behind one result; any that is FALSE decides.
        if not truths or Truth.FALSE in truths.values():
            return ""
        clash = any(
            isinstance(c, MaxCount) or (isinstance(c, Qualified) and not c.least) for c in truths
        )
        if not clash:
            return ABSENT
        return ONE_NAME if self._unique_names else NAMES

    def _newly_failing(self, found: list[Component], focus: int, value: int) -> list[Component]:
        """Of several constraints of one kind on one shape, those behind the *new* result."""

        def fails(component: Component) -> bool:
            if isinstance(component, SparqlConstraint):
                return True
            values = component.owner.values(self._index, focus)
            return value in component.failing(self._index, focus, values)

        failing = [component for component in found if fails(component)]
        with self._without_claim():
            new = [component for component in failing if not fails(component)]
        return new or failing

    def _of_result(self, component: Component, focus: int, value: int) -> Truth:
        if isinstance(component, (ClassOf, Nested)):
            return self._each(component, (value,), on_path=False)
        if isinstance(component, (TermTest, Closed, SparqlConstraint)):
            return Truth.FALSE
        return self._component(component, focus, component.owner.values(self._index, focus))

    # Three-valued evaluation

    def shape(self, shape: CompiledShape, focus: int) -> Truth:
        """Whether ``focus`` conforms to ``shape``."""
        if shape.shape.deactivated:
            return Truth.TRUE
        values = shape.values(self._index, focus)
        truth = Truth.TRUE
        for component in shape.components:
            truth = min(truth, self._component(component, focus, values))
            if truth is Truth.FALSE:
                return truth
        for inner in shape.properties:
            truth = min(truth, self._all(inner, values))
        return truth

    def _all(self, inner: CompiledShape, values: Collection[int]) -> Truth:
        # No value to check is no news: nothing is stated that could be wrong.
        return min((self.shape(inner, value) for value in values), default=Truth.GAP)

    def _component(self, component: Component, focus: int, values: Collection[int]) -> Truth:
        on_path = component.owner.walk is not None
        index = self._index
        if isinstance(component, (ClassOf, Nested)):
            return self._each(component, values, on_path=on_path)
        if isinstance(component, MaxCount):
            if len(values) > component.parameter.number:
                return self._too_many(list(values), component.parameter.number)
            return Truth.TRUE if values else Truth.GAP
        if isinstance(component, Qualified):
            return self._qualified(component, values)
        if isinstance(component, SparqlConstraint):
            good = (
                component.conforms(index, focus, values)
                if component.compiled
                else self._query_conforms(component, focus)
            )
            return Truth.TRUE if good else Truth.FALSE
        failing = component.failing(index, focus, values)
        if isinstance(component, (MinCount, HasValue)):
            if not failing:
                return Truth.TRUE
            return Truth.GAP if on_path else Truth.FALSE
        if failing:
            if isinstance(component, Compared) and component.parameter.component == "Equals":
                empty = not values or not index.objects(focus, component.predicate)
                return Truth.GAP if empty else Truth.FALSE
            return Truth.FALSE
        return Truth.GAP if on_path and not values else Truth.TRUE

    def _each(
        self, component: ClassOf | Nested, values: Collection[int], *, on_path: bool
    ) -> Truth:
        truths = [
            self._instance(component, value)
            if isinstance(component, ClassOf)
            else self._logical(component, value)
            for value in values
        ]
        return min(truths, default=Truth.GAP if on_path else Truth.TRUE)

    def _instance(self, component: ClassOf, value: int) -> Truth:
        if component.is_instance(self._index, value):
            return Truth.TRUE
        if self._terms.is_literal(value):
            return Truth.FALSE
        types = self._index.objects(value, self._rdf_type)
        return Truth.FALSE if any(t not in self._no_type for t in types) else Truth.GAP

    def _logical(self, component: Nested, value: int) -> Truth:
        truths = [self.shape(shape, value) for shape in component.shapes]
        if isinstance(component, Not):
            return Truth(2 - truths[0])
        if isinstance(component, AllOf):
            return min(truths)
        if isinstance(component, AnyOf):
            return max(truths)
        assert isinstance(component, OneOf)
        met, open_ = truths.count(Truth.TRUE), truths.count(Truth.GAP)
        if met > 1 or met + open_ == 0:
            return Truth.FALSE
        return Truth.TRUE if met == 1 and not open_ else Truth.GAP

    def _qualified(self, component: Qualified, values: Collection[int]) -> Truth:
        limit = component.parameter.number
        counted = {
            value: min(
                self.shape(component.shape, value),
                *(Truth(2 - self.shape(sibling, value)) for sibling in component.siblings),
                Truth.TRUE,
            )
            for value in values
        }
        sure = [value for value, truth in counted.items() if truth is Truth.TRUE]
        if component.least:
            return Truth.TRUE if len(sure) >= limit else Truth.GAP
        if len(sure) > limit:
            return self._too_many(sure, limit)
        possible = sum(truth is not Truth.FALSE for truth in counted.values())
        return Truth.TRUE if possible <= limit and values else Truth.GAP

    def _too_many(self, values: list[int], limit: int) -> Truth:
        if not self._unique_names:
            return Truth.GAP
        return Truth.FALSE if self._different(values) > limit else Truth.GAP

    def _different(self, values: list[int]) -> int:
        """The least number of things that ``values`` can stand for.

        Names joined by ``owl:sameAs`` are one, so are numerals of one value; a blank node can
        be any of the others.
        """
        found: set[object] = set()
        seen: set[int] = set()
        for value in values:
            if value in seen or self._terms.text(value).startswith("_:"):
                continue
            if self._terms.is_literal(value):
                found.add(self._lexicon.number_key(value))
            else:
                seen.update(self._same(value))
                found.add(value)
        return len(found) or min(1, len(values))
