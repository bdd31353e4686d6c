"""Implements the OWL 2 RL rules about restrictions, intersections and enumerations."""

# ruff: noqa: ARG002, D102 - methods of rules are documented in their base class

from __future__ import annotations

from kg.reasoning.rule import Rule, Run
from kg.triples.index import Triple


class HasValueRule(Rule):
    """cls-hv1: an instance of the restriction has the value; cls-hv2: the converse."""

    __slots__ = ("predicate", "restriction", "value")

    def bind_terms(self, restriction: int, predicate: int, value: int) -> HasValueRule:
        """Sets restriction class, property and value."""
        self.restriction, self.predicate, self.value = restriction, predicate, value
        return self

    def on_instance(self, run: Run, x: int) -> None:
        run.emit(x, self.predicate, self.value, self.number)

    def on_triple(self, run: Run, s: int, p: int, o: int) -> None:
        if o == self.value:
            run.emit(s, self.rdf_type, self.restriction, self.number)

    def find_data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        if self.name == "cls-hv1":
            return ((s, self.rdf_type, self.restriction),)
        return ((s, self.predicate, self.value),)


class SomeValuesRule(Rule):
    """A subject with a value of the class (cls-svf1) or any value (cls-svf2) is an instance."""

    __slots__ = ("predicate", "restriction", "value_class")

    def bind_terms(
        self, restriction: int, predicate: int, value_class: int | None
    ) -> SomeValuesRule:
        """Sets restriction, property and class of the value (None for owl:Thing)."""
        self.restriction, self.predicate, self.value_class = restriction, predicate, value_class
        return self

    def on_triple(self, run: Run, s: int, p: int, o: int) -> None:
        if self.value_class is None or run.index.has_triple(o, self.rdf_type, self.value_class):
            run.emit(s, self.rdf_type, self.restriction, self.number, o)

    def on_instance(self, run: Run, x: int) -> None:
        for s in list(run.index.find_subjects(self.predicate, x)):
            run.emit(s, self.rdf_type, self.restriction, self.number, x)

    def find_data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        value = (s, self.predicate, witness)
        if self.value_class is None:
            return (value,)
        return value, (witness, self.rdf_type, self.value_class)


class AllValuesRule(Rule):
    """cls-avf: every value of an instance of the restriction is of the class."""

    __slots__ = ("predicate", "restriction", "value_class")

    def bind_terms(self, restriction: int, predicate: int, value_class: int) -> AllValuesRule:
        """Sets restriction, property and class of the values."""
        self.restriction, self.predicate, self.value_class = restriction, predicate, value_class
        return self

    def on_triple(self, run: Run, s: int, p: int, o: int) -> None:
        if not run.is_literal(o) and run.index.has_triple(s, self.rdf_type, self.restriction):
            run.emit(o, self.rdf_type, self.value_class, self.number, s)

    def on_instance(self, run: Run, x: int) -> None:
        for o in list(run.index.find_objects(x, self.predicate)):
            self.on_triple(run, x, self.predicate, o)

    def find_data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return (witness, self.rdf_type, self.restriction), (witness, self.predicate, s)


class IntersectionRule(Rule):
    """cls-int1: an instance of all the classes is an instance of their intersection."""

    __slots__ = ("classes", "target")

    def bind_terms(self, target: int, classes: tuple[int, ...]) -> IntersectionRule:
        """Sets intersection and its classes."""
        self.target, self.classes = target, classes
        return self

    def on_instance(self, run: Run, x: int) -> None:
        has_triple = run.index.has_triple
        if all(has_triple(x, self.rdf_type, part) for part in self.classes):
            run.emit(x, self.rdf_type, self.target, self.number)

    def find_data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return tuple((s, self.rdf_type, part) for part in self.classes)


class EnumerationRule(Rule):
    """cls-oo: a member of an enumeration is an instance of it."""

    __slots__ = ()
