"""Implements the OWL 2 RL rules about named properties and classes, such as domain and range."""

# ruff: noqa: ARG002, D102 - methods of rules are documented in their base class

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from kg.reasoning.rule import Rule, Run
from kg.triples.index import Triple

_START, _END, _FLIPPED = itemgetter(0), itemgetter(1), itemgetter(1, 0)


class PropertyRewriteRule(Rule):
    """``x p y`` ⟹ ``x q y``, or ``y q x`` if ``flip`` is set.

    Used for sub- and equivalent properties; flipped for inverse and symmetric ones.
    """

    __slots__ = ("flip", "source", "target")

    def bind_terms(self, source: int, target: int, *, flip: bool) -> PropertyRewriteRule:
        """Sets the two predicates."""
        self.source, self.target, self.flip = source, target, flip
        return self

    def on_triple(self, run: Run, s: int, p: int, o: int) -> None:
        if not self.flip:
            run.emit(s, self.target, o, self.number)
        elif not run.is_literal(o):
            run.emit(o, self.target, s, self.number)

    def on_asserted(self, run: Run, p: int) -> None:
        self._emit_rewritten(run, run.base.iter_pairs(p))

    def on_links(self, run: Run, p: int, links: list[tuple[int, int]]) -> None:
        self._emit_rewritten(run, links)

    def _emit_rewritten(self, run: Run, links: Iterable[tuple[int, int]]) -> None:
        if self.flip:
            links = list(links)
            # Tested once per distinct object, because many links have the same object.
            literals = set(filter(run.is_literal, set(map(_END, links))))
            if literals:
                links = [link for link in links if link[1] not in literals]
            links = map(_FLIPPED, links)
        run.emit_links(self.target, links, self.number)

    def is_redundant_after(self, other: Rule) -> bool:
        return (
            isinstance(other, PropertyRewriteRule)
            and (other.source, other.target) == (self.target, self.source)
            and other.flip == self.flip
        )

    def find_data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return ((o, self.source, s) if self.flip else (s, self.source, o),)


class DomainRule(Rule):
    """prp-dom: ``x p y`` ⟹ ``x rdf:type C``."""

    __slots__ = ("predicate", "target")
    concludes_from_incoming = False

    def bind_terms(self, predicate: int, target: int) -> DomainRule:
        """Sets predicate and class."""
        self.predicate, self.target = predicate, target
        return self

    def on_triple(self, run: Run, s: int, p: int, o: int) -> None:
        run.emit(s, self.rdf_type, self.target, self.number, o)

    def on_asserted(self, run: Run, p: int) -> None:
        for s in run.index.filter_subjects_without(
            self.rdf_type, self.target, run.base.get_subjects(p)
        ):
            run.emit(
                s, self.rdf_type, self.target, self.number, next(iter(run.base.find_objects(s, p)))
            )

    def on_links(self, run: Run, p: int, links: list[tuple[int, int]]) -> None:
        # For most links the subject is an instance already.
        untyped_subjects = set(
            run.index.filter_subjects_without(self.rdf_type, self.target, set(map(_START, links)))
        )
        for s, o in links if untyped_subjects else ():
            if s in untyped_subjects:
                untyped_subjects.discard(s)
                run.emit(s, self.rdf_type, self.target, self.number, o)

    def is_redundant_after(self, other: Rule) -> bool:
        # The ends of a two-step path are also ends of its steps, which this rule has processed.
        return isinstance(other, TransitiveRule) and other.predicate == self.predicate

    def find_data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return ((s, self.predicate, witness),)


class RangeRule(DomainRule):
    """prp-rng: ``x p y`` ⟹ ``y rdf:type C``; not for literals, which cannot be subjects."""

    __slots__ = ()

    def on_triple(self, run: Run, s: int, p: int, o: int) -> None:
        if not run.is_literal(o):
            run.emit(o, self.rdf_type, self.target, self.number, s)

    def on_asserted(self, run: Run, p: int) -> None:
        untyped_objects = run.index.filter_subjects_without(
            self.rdf_type, self.target, run.base.list_distinct_objects(p)
        )
        # Object → its first subject, which is the witness; -1 until that subject is found.
        witness_by_object = {o: -1 for o in untyped_objects if not run.is_literal(o)}
        for s, o in run.base.iter_pairs(p) if witness_by_object else ():
            if witness_by_object.get(o) == -1:
                witness_by_object[o] = s
        run.emit_types(witness_by_object, self.target, self.number, witness_by_object)

    def on_links(self, run: Run, p: int, links: list[tuple[int, int]]) -> None:
        untyped_objects = set(
            run.index.filter_subjects_without(self.rdf_type, self.target, set(map(_END, links)))
        )
        for s, o in links if untyped_objects else ():
            if o in untyped_objects:
                untyped_objects.discard(o)
                if not run.is_literal(o):
                    run.emit(o, self.rdf_type, self.target, self.number, s)

    def find_data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return ((witness, self.predicate, s),)


class ClassRewriteRule(Rule):
    """``x rdf:type C`` ⟹ ``x rdf:type D``: sub- and equivalent classes, unions, intersections."""

    __slots__ = ("source", "target")

    def bind_terms(self, source: int, target: int) -> ClassRewriteRule:
        """Sets the two classes."""
        self.source, self.target = source, target
        return self

    def on_instance(self, run: Run, x: int) -> None:
        run.emit(x, self.rdf_type, self.target, self.number)

    def on_instances(self, run: Run, instances: list[int]) -> None:
        run.emit_types(instances, self.target, self.number)

    def find_data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return ((s, self.rdf_type, self.source),)


class TransitiveRule(Rule):
    """prp-trp: ``x p y``, ``y p z`` ⟹ ``x p z``."""

    __slots__ = ("predicate",)
    concludes_from_incoming = False

    def bind_terms(self, predicate: int) -> TransitiveRule:
        """Sets the predicate."""
        self.predicate = predicate
        return self

    def on_triple(self, run: Run, s: int, p: int, o: int) -> None:
        run.emit_paths(s, p, o, self.number)

    def on_links(self, run: Run, p: int, links: list[tuple[int, int]]) -> None:
        run.emit_two_step_links(p, links, self.number)

    def find_data_premises(self, s: int, p: int, o: int, witness: int) -> tuple[Triple, ...]:
        return (s, p, witness), (witness, p, o)


class ChainRule(Rule):
    """prp-spo2: a path along the properties of the chain implies the property."""

    __slots__ = ("properties", "target")

    def bind_terms(self, target: int, properties: tuple[int, ...]) -> ChainRule:
        """Sets the implied property and the properties of the chain."""
        self.target, self.properties = target, properties
        return self

    def on_triple(self, run: Run, s: int, p: int, o: int) -> None:
        self.on_links(run, p, [(s, o)])

    def on_links(self, run: Run, p: int, links: list[tuple[int, int]]) -> None:
        index, properties = run.index, self.properties
        for position, prop in enumerate(properties):
            if prop != p:
                continue
            # Most links have no link of the chain before or after them.
            connected = links
            if position > 0:
                ends = index.get_objects(properties[position - 1])
                connected = [link for link in connected if link[0] in ends]
            if position + 1 < len(properties):
                starts = index.get_subjects(properties[position + 1])
                connected = [link for link in connected if link[1] in starts]
            for s, o in connected:
                self._emit_paths_through(run, position, s, o)

    def _emit_paths_through(self, run: Run, position: int, s: int, o: int) -> None:
        """Emits a conclusion for each path whose step at ``position`` is the link from s to o."""
        index = run.index
        paths: list[tuple[int, ...]] = [(s, o)]
        for prop in reversed(self.properties[:position]):
            paths = [(x, *path) for path in paths for x in index.find_subjects(prop, path[0])]
        for prop in self.properties[position + 1 :]:
            paths = [(*path, y) for path in paths for y in index.find_objects(path[-1], prop)]
        for path in paths:
            # ``path`` has one node more than there are properties: zip stops after the last step.
            steps = zip(path, self.properties, path[1:], strict=False)
            run.emit_with_premises(
                (path[0], self.target, path[-1]), self.name, (*self.axioms, *steps)
            )
