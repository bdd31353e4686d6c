"""Implements the OWL 2 RL rules that infer ``owl:sameAs``: functional properties, counts, keys."""

# ruff: noqa: ARG002, D102 - methods of rules are documented in their base class

from __future__ import annotations

from itertools import combinations

from kg.reasoning.rule import Rule, Run
from kg.triples.index import Triple


class SameValueRule(Rule):
    """Two values of a single-valued property are the same: prp-fp, cls-maxc2, cls-maxqc3/4.

    For prp-fp, ``restriction`` is None and the property is single-valued for every subject;
    otherwise it is so for instances of the restriction only. If there is a ``value_class``, only
    values of that class count. Literals are left out (see ``kg.entailment``).
    """

    __slots__ = ("predicate", "restriction", "value_class")

    def bind_terms(
        self, predicate: int, restriction: int | None = None, value_class: int | None = None
    ) -> SameValueRule:
        """Sets property, restriction and class of the values."""
        self.predicate, self.restriction, self.value_class = predicate, restriction, value_class
        return self

    def on_triple(self, run: Run, s: int, p: int, o: int) -> None:
        values = run.index.find_objects(s, self.predicate)
        if len(values) < 2 or not self._is_counted(run, o):
            return
        if self.restriction is None or run.index.has_triple(s, self.rdf_type, self.restriction):
            for other in list(values):
                if other != o and self._is_counted(run, other):
                    run.emit(other, run.same_as, o, self.number, s)

    def on_instance(self, run: Run, x: int) -> None:
        # The new type may be the restriction (x is a subject) or the value class (x is a value).
        if self.restriction is not None and run.index.has_triple(
            x, self.rdf_type, self.restriction
        ):
            values = [
                o for o in run.index.find_objects(x, self.predicate) if self._is_counted(run, o)
            ]
            for first, second in combinations(values, 2):
                run.emit(first, run.same_as, second, self.number, x)
        if self.value_class is not None:
            for s in list(run.index.find_subjects(self.predicate, x)):
                self.on_triple(run, s, self.predicate, x)

    def _is_counted(self, run: Run, o: int) -> bool:
        if run.is_literal(o):
            return False
        return self.value_class is None or run.index.has_triple(o, self.rdf_type, self.value_class)

    def find_data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        premises: list[Triple] = []
        if self.restriction is not None:
            premises.append((witness, self.rdf_type, self.restriction))
        for value in (s, o):
            premises.append((witness, self.predicate, value))
            if self.value_class is not None:
                premises.append((value, self.rdf_type, self.value_class))
        return tuple(premises)


class SameSubjectRule(Rule):
    """prp-ifp: two subjects with the same value of an inverse functional property are the same."""

    __slots__ = ("predicate",)

    def bind_terms(self, predicate: int) -> SameSubjectRule:
        """Sets the property."""
        self.predicate = predicate
        return self

    def on_triple(self, run: Run, s: int, p: int, o: int) -> None:
        for other in list(run.index.find_subjects(p, o)):
            if other != s:
                run.emit(other, run.same_as, s, self.number, o)

    def find_data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return (s, self.predicate, witness), (o, self.predicate, witness)


class KeyRule(Rule):
    """prp-key: two instances that share a value of every key property are the same."""

    __slots__ = ("owner", "properties")

    def bind_terms(self, owner: int, properties: tuple[int, ...]) -> KeyRule:
        """Sets the class and its key properties."""
        self.owner, self.properties = owner, properties
        return self

    def on_triple(self, run: Run, s: int, p: int, o: int) -> None:
        self.on_instance(run, s)

    def on_instance(self, run: Run, x: int) -> None:
        index = run.index
        if not index.has_triple(x, self.rdf_type, self.owner):
            return
        first_property = self.properties[0]
        candidates: dict[int, None] = {}
        for value in index.find_objects(x, first_property):
            candidates.update(dict.fromkeys(index.find_subjects(first_property, value)))
        # ``y`` shares a value of the first key property; the other properties are checked here.
        for y in candidates:
            if y == x or not index.has_triple(y, self.rdf_type, self.owner):
                continue
            value_premises: list[Triple] = []
            for p in self.properties:
                values_of_y = index.find_objects(y, p)
                shared_value = next((v for v in index.find_objects(x, p) if v in values_of_y), None)
                if shared_value is None:
                    break
                value_premises += [(x, p, shared_value), (y, p, shared_value)]
            else:
                type_premises = ((x, self.rdf_type, self.owner), (y, self.rdf_type, self.owner))
                run.emit_with_premises(
                    (x, run.same_as, y), self.name, (*self.axioms, *type_premises, *value_premises)
                )
