"""OWL 2 RL rules about properties and classes as such: hierarchy, domain, inverse, chains."""

# ruff: noqa: ARG002, D102 - all rules answer one signature, documented at their base class

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from kg.index import Triple
from kg.reasoning.rule import Rule, Run

_START, _END, _FLIPPED = itemgetter(0), itemgetter(1), itemgetter(1, 0)


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
            links = list(links)
            # Asked once for each object: many links lead to one.
            literals = set(filter(run.is_literal, set(map(_END, links))))
            if literals:
                links = [link for link in links if link[1] not in literals]
            links = map(_FLIPPED, links)
        run.emit_links(self.target, links, self.number)

    def only_echoes(self, other: Rule) -> bool:
        return (
            isinstance(other, Rewrite)
            and (other.source, other.target) == (self.target, self.source)
            and other.flip == self.flip
        )

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
        new = set(run.index.lacking(self.kind, self.target, set(map(_START, links))))
        for s, o in links if new else ():
            if s in new:
                new.discard(s)
                run.emit(s, self.kind, self.target, self.number, o)

    def only_echoes(self, other: Rule) -> bool:
        # The ends of a path of two steps are ends of its steps.
        return isinstance(other, Transitive) and other.predicate == self.predicate

    def data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return ((s, self.predicate, witness),)


class Range(Domain):
    """prp-rng: ``x p y`` ⟹ ``y rdf:type C``; not for literals, which have datatypes."""

    __slots__ = ()

    def on_pair(self, run: Run, s: int, p: int, o: int) -> None:
        if not run.index.has(o, self.kind, self.target) and not run.is_literal(o):
            run.emit(o, self.kind, self.target, self.number, s)

    def on_all(self, run: Run, p: int) -> None:
        lacking = run.index.lacking(self.kind, self.target, run.base.distinct_objects(p))
        first = {o: -1 for o in lacking if not run.is_literal(o)}
        for s, o in run.base.pairs(p) if first else ():
            if first.get(o) == -1:
                first[o] = s
        run.emit_types(first, self.target, self.number, first)

    def on_links(self, run: Run, p: int, links: list[tuple[int, int]]) -> None:
        new = set(run.index.lacking(self.kind, self.target, set(map(_END, links))))
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
        run.emit_joined(p, links, self.number)

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
