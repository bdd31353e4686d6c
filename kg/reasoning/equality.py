"""OWL 2 RL rules that find two names to be one thing: functional properties and keys."""

# ruff: noqa: ARG002, D102 - all rules answer one signature, documented at their base class

from __future__ import annotations

from itertools import combinations

from kg.index import Triple
from kg.reasoning.rule import Rule, Run


class SameValue(Rule):
    """Two values of a single-valued property are one: prp-fp, cls-maxc2, cls-maxqc3, cls-maxqc4.

    For prp-fp ``restriction`` is None and every subject counts; else only its instances, and
    with a ``value_class`` only values of that class. Literals are left out (see
    ``kg.entailment``).
    """

    __slots__ = ("predicate", "restriction", "value_class")

    def bind(
        self, predicate: int, restriction: int | None = None, value_class: int | None = None
    ) -> SameValue:
        """Sets property, restriction and class of the values."""
        self.predicate, self.restriction, self.value_class = predicate, restriction, value_class
        return self

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        values = run.index.objects(s, self.predicate)
        if len(values) < 2 or not self._counts(run, o):
            return
        if self.restriction is None or run.index.has(s, self.kind, self.restriction):
            for other in list(values):
                if other != o and self._counts(run, other):
                    run.emit(other, run.same, o, self.number, s)

    def on_type(self, run: Run, x: int) -> None:
        # The class may be the restriction's (x is a subject) or the values' (x is a value).
        if self.restriction is not None and run.index.has(x, self.kind, self.restriction):
            values = [o for o in run.index.objects(x, self.predicate) if self._counts(run, o)]
            for first, second in combinations(values, 2):
                run.emit(first, run.same, second, self.number, x)
        if self.value_class is not None:
            for s in list(run.index.subjects(self.predicate, x)):
                self.on_pair(run, s, self.predicate, x)

    def _counts(self, run: Run, o: int) -> bool:
        if run.is_literal(o):
            return False
        return self.value_class is None or run.index.has(o, self.kind, self.value_class)

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        premises: list[Triple] = []
        if self.restriction is not None:
            premises.append((witness, self.kind, self.restriction))
        for value in (s, o):
            premises.append((witness, self.predicate, value))
            if self.value_class is not None:
                premises.append((value, self.kind, self.value_class))
        return tuple(premises)


class SameSubject(Rule):
    """prp-ifp: two subjects of one value of an inverse functional property are one."""

    __slots__ = ("predicate",)

    def bind(self, predicate: int) -> SameSubject:
        """Sets the property."""
        self.predicate = predicate
        return self

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        for other in list(run.index.subjects(p, o)):
            if other != s:
                run.emit(other, run.same, s, self.number, o)

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return (s, self.predicate, witness), (o, self.predicate, witness)


class Key(Rule):
    """prp-key: two instances that share a value of every key property are one."""

    __slots__ = ("owner", "properties")

    def bind(self, owner: int, properties: tuple[int, ...]) -> Key:
        """Sets the class and its key properties."""
        self.owner, self.properties = owner, properties
        return self

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        self.on_type(run, s)

    def on_type(self, run: Run, x: int) -> None:
        index = run.index
        if not index.has(x, self.kind, self.owner):
            return
        first = self.properties[0]
        others: dict[int, None] = {}
        for value in index.objects(x, first):
            others.update(dict.fromkeys(index.subjects(first, value)))
        for y in others:
            if y == x or not index.has(y, self.kind, self.owner):
                continue
            shared: list[Triple] = []
            for p in self.properties:
                theirs = index.objects(y, p)
                common = next((v for v in index.objects(x, p) if v in theirs), None)
                if common is None:
                    break
                shared += [(x, p, common), (y, p, common)]
            else:
                types = ((x, self.kind, self.owner), (y, self.kind, self.owner))
                run.emit_with((x, run.same, y), self.name, (*self.axioms, *types, *shared))
