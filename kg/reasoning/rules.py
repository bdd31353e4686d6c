"""OWL 2 RL/RDF rules over data, each compiled for one axiom of the graph.

W3C's tables (https://www.w3.org/TR/owl2-profiles/#Reasoning_in_OWL_2_RL_and_RDF_Graphs_using_Rules)
write a rule with the axiom among its premises; here the axiom is bound at compile time, so that a
triple meets only the rules that can fire on it. ``axioms`` holds the bound premises,
``data_premises`` rebuilds the others from a conclusion and its witness.
"""

# ruff: noqa: ARG002, D102 - all rules answer one signature, documented at their base class

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Protocol

from kg.index import Index, Triple


class Run(Protocol):
    """What rules see of the run they fire in (``kg.reasoning.run``).

    Attributes:
        base: the asserted triples.
        index: asserted triples and those inferred so far.
        same: id of ``owl:sameAs``.
        is_literal: whether a term is a literal.
    """

    base: Index
    index: Index
    same: int
    is_literal: Callable[[int], bool]

    def emit(self, s: int, p: int, o: int, rule: int, witness: int = 0) -> None:
        """Adds a conclusion that rule number and witness are enough to prove."""

    def emit_links(self, p: int, links: Iterable[tuple[int, int]], rule: int) -> None:
        """``emit`` for many (subject, object) of one predicate."""

    def emit_types(self, instances: Iterable[int], target: int, rule: int) -> None:
        """``emit`` for many instances of one class."""

    def emit_witnessed(self, p: int, found: Iterable[tuple[int, int, int]], rule: int) -> None:
        """``emit`` for many (subject, object, witness) of one predicate."""

    def emit_with(self, triple: Triple, name: str, premises: tuple[Triple, ...]) -> None:
        """Adds a conclusion with all its premises."""


class Rule:
    """One rule bound to one axiom.

    Args:
        name: W3C rule name.
        number: its number in the run, for the log.
        kind: id of ``rdf:type``.
        axioms: the premises that are axioms.
    """

    __slots__ = ("axioms", "kind", "name", "number")

    def __init__(self, name: str, number: int, kind: int, axioms: tuple[Triple, ...]) -> None:
        self.name = name
        self.number = number
        self.kind = kind
        self.axioms = axioms

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        """Fires on a new triple with a predicate the rule listens to."""

    def on_type(self, run: Run, x: int) -> None:
        """Fires on a new ``x rdf:type C`` for a class the rule listens to."""

    def on_all(self, run: Run, p: int) -> None:
        """Fires on all asserted triples of a predicate it listens to."""
        # The base is never changed, so it can be walked while conclusions go into the fork.
        for s, o in run.base.pairs(p):
            self.on_pair(run, s, p, o)

    def on_links(self, run: Run, p: int, links: list[tuple[int, int]]) -> None:
        """Fires on many new (subject, object) of a predicate, all in the index already."""
        for s, o in links:
            self.on_pair(run, s, p, o)

    def on_types(self, run: Run, instances: list[int]) -> None:
        """Fires on many new instances of a class the rule listens to."""
        for x in instances:
            self.on_type(run, x)

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        """The premises that are not axioms, from the conclusion and its witness."""
        return ()


class Rewrite(Rule):
    """``x p y`` ⟹ ``x q y``, or ``y q x`` if flipped: sub-, equivalent, inverse, symmetric."""

    __slots__ = ("flip", "source", "target")

    def bind(self, source: int, target: int, *, flip: bool) -> Rewrite:
        """Sets the two predicates."""
        self.source, self.target, self.flip = source, target, flip
        return self

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        if not self.flip:
            run.emit(s, self.target, o, self.number)
        elif not run.is_literal(o):
            run.emit(o, self.target, s, self.number)

    def on_all(self, run: Run, p: int) -> None:
        self._rewrite(run, run.base.pairs(p))

    def on_links(self, run: Run, p: int, links: list[tuple[int, int]]) -> None:
        self._rewrite(run, links)

    def _rewrite(self, run: Run, links: Iterable[tuple[int, int]]) -> None:
        if self.flip:
            links = ((o, s) for s, o in links if not run.is_literal(o))
        run.emit_links(self.target, links, self.number)

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return ((o, self.source, s) if self.flip else (s, self.source, o),)


class Domain(Rule):
    """prp-dom: ``x p y`` ⟹ ``x rdf:type C``."""

    __slots__ = ("predicate", "target")

    def bind(self, predicate: int, target: int) -> Domain:
        """Sets predicate and class."""
        self.predicate, self.target = predicate, target
        return self

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        if not run.index.has(s, self.kind, self.target):
            run.emit(s, self.kind, self.target, self.number, o)

    def on_all(self, run: Run, p: int) -> None:
        for s in run.index.lacking(self.kind, self.target, run.base.subjects_of(p)):
            run.emit(s, self.kind, self.target, self.number, next(iter(run.base.objects(s, p))))

    def on_links(self, run: Run, p: int, links: list[tuple[int, int]]) -> None:
        # Most links of a predicate say nothing new about the class of their ends.
        new = set(run.index.lacking(self.kind, self.target, (s for s, _ in links)))
        for s, o in links if new else ():
            if s in new:
                new.discard(s)
                run.emit(s, self.kind, self.target, self.number, o)

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return ((s, self.predicate, witness),)


class Range(Domain):
    """prp-rng: ``x p y`` ⟹ ``y rdf:type C``; not for literals, which have datatypes."""

    __slots__ = ()

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        if not run.index.has(o, self.kind, self.target) and not run.is_literal(o):
            run.emit(o, self.kind, self.target, self.number, s)

    def on_all(self, run: Run, p: int) -> None:
        done: set[int] = set()
        for s, o in run.base.pairs(p):
            if o not in done:
                done.add(o)
                self.on_pair(run, s, p, o)

    def on_links(self, run: Run, p: int, links: list[tuple[int, int]]) -> None:
        new = set(run.index.lacking(self.kind, self.target, (o for _, o in links)))
        for s, o in links if new else ():
            if o in new:
                new.discard(o)
                if not run.is_literal(o):
                    run.emit(o, self.kind, self.target, self.number, s)

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return ((witness, self.predicate, s),)


class Retype(Rule):
    """``x rdf:type C`` ⟹ ``x rdf:type D``: sub- and equivalent classes, unions, intersections."""

    __slots__ = ("source", "target")

    def bind(self, source: int, target: int) -> Retype:
        """Sets the two classes."""
        self.source, self.target = source, target
        return self

    def on_type(self, run: Run, x: int) -> None:
        run.emit(x, self.kind, self.target, self.number)

    def on_types(self, run: Run, instances: list[int]) -> None:
        run.emit_types(instances, self.target, self.number)

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return ((s, self.kind, self.source),)


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


class Transitive(Rule):
    """prp-trp: ``x p y``, ``y p z`` ⟹ ``x p z``."""

    __slots__ = ("predicate",)

    def bind(self, predicate: int) -> Transitive:
        """Sets the predicate."""
        self.predicate = predicate
        return self

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        index, emit, number = run.index, run.emit, self.number
        # Both are copied: the conclusions land in the very cells being walked.
        for z in list(index.objects(o, p)):
            emit(s, p, z, number, o)
        for x in list(index.subjects(p, s)):
            emit(x, p, o, number, s)

    def on_links(self, run: Run, p: int, links: list[tuple[int, int]]) -> None:
        run.emit_witnessed(p, run.index.joined(p, links), self.number)

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return (s, p, witness), (witness, p, o)


class Chain(Rule):
    """prp-spo2: a path along the chain's properties is a pair of the property."""

    __slots__ = ("links", "target")

    def bind(self, target: int, links: tuple[int, ...]) -> Chain:
        """Sets property and the chain's properties."""
        self.target, self.links = target, links
        return self

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        for at, link in enumerate(self.links):
            if link == p:
                self._through(run, at, s, o)

    def _through(self, run: Run, at: int, s: int, o: int) -> None:
        index = run.index
        paths: list[tuple[int, ...]] = [(s, o)]
        for link in reversed(self.links[:at]):
            paths = [(x, *path) for path in paths for x in index.subjects(link, path[0])]
        for link in self.links[at + 1 :]:
            paths = [(*path, y) for path in paths for y in index.objects(path[-1], link)]
        for path in paths:
            steps = zip(path, self.links, path[1:], strict=False)
            run.emit_with((path[0], self.target, path[-1]), self.name, (*self.axioms, *steps))


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


class Member(Rule):
    """cls-oo: what an enumeration lists is an instance of it."""

    __slots__ = ()
