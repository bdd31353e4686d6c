"""OWL 2 RL rules about class expressions: values, some, all, intersections, enumerations."""

# ruff: noqa: ARG002, D102 - all rules answer one signature, documented at their base class

from __future__ import annotations

from kg.index import Triple
from kg.reasoning.rule import Rule, Run


class HasValue(Rule):
    """cls-hv1: an instance of the restriction has the value; cls-hv2: and the other way."""

    __slots__ = ("predicate", "restriction", "value")

    def bind(self, restriction: int, predicate: int, value: int) -> HasValue:
        """Sets restriction class, property and value."""
        self.restriction, self.predicate, self.value = restriction, predicate, value
        return self

    def on_type(self, run: Run, x: int) -> None:
        run.emit(x, self.predicate, self.value, self.number)

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        if o == self.value:
            run.emit(s, self.kind, self.restriction, self.number)

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        if self.name == "cls-hv1":
            return ((s, self.kind, self.restriction),)
        return ((s, self.predicate, self.value),)


class SomeValues(Rule):
    """cls-svf1 (a value of the class makes an instance), cls-svf2 (any value, for owl:Thing)."""

    __slots__ = ("predicate", "restriction", "value_class")

    def bind(self, restriction: int, predicate: int, value_class: int | None) -> SomeValues:
        """Sets restriction, property and class of the value (None for owl:Thing)."""
        self.restriction, self.predicate, self.value_class = restriction, predicate, value_class
        return self

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        if self.value_class is None or run.index.has(o, self.kind, self.value_class):
            run.emit(s, self.kind, self.restriction, self.number, o)

    def on_type(self, run: Run, x: int) -> None:
        for s in list(run.index.subjects(self.predicate, x)):
            run.emit(s, self.kind, self.restriction, self.number, x)

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        value = (s, self.predicate, witness)
        if self.value_class is None:
            return (value,)
        return value, (witness, self.kind, self.value_class)


class AllValues(Rule):
    """cls-avf: every value of an instance of the restriction is of the class."""

    __slots__ = ("predicate", "restriction", "value_class")

    def bind(self, restriction: int, predicate: int, value_class: int) -> AllValues:
        """Sets restriction, property and class of the values."""
        self.restriction, self.predicate, self.value_class = restriction, predicate, value_class
        return self

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        if not run.is_literal(o) and run.index.has(s, self.kind, self.restriction):
            run.emit(o, self.kind, self.value_class, self.number, s)

    def on_type(self, run: Run, x: int) -> None:
        for o in list(run.index.objects(x, self.predicate)):
            self.on_pair(run, x, self.predicate, o)

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return (witness, self.kind, self.restriction), (witness, self.predicate, s)


class Intersection(Rule):
    """cls-int1: an instance of all the classes is one of their intersection."""

    __slots__ = ("parts", "target")

    def bind(self, target: int, parts: tuple[int, ...]) -> Intersection:
        """Sets intersection and its classes."""
        self.target, self.parts = target, parts
        return self

    def on_type(self, run: Run, x: int) -> None:
        has = run.index.has
        if all(has(x, self.kind, part) for part in self.parts):
            run.emit(x, self.kind, self.target, self.number)

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return tuple((s, self.kind, part) for part in self.parts)


class Member(Rule):
    """cls-oo: what an enumeration lists is an instance of it."""

    __slots__ = ()
