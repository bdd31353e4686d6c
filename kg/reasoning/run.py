"""One run to the fixpoint: applies compiled axioms to the triples of an index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from kg.base.errors import GraphTooLargeError
from kg.index import Index, Triple
from kg.reasoning.axioms import Axioms
from kg.reasoning.log import ENTRY_WIDTH, InferenceLog
from kg.reasoning.rule import Rule
from kg.reasoning.vocabulary import Vocabulary

EXTRA = -1
"""Rule number of a triple whose rule name and premises are written out in ``Run.extras``."""
EQ_SYM, EQ_TRANS, EQ_REP_S, EQ_REP_P, EQ_REP_O = -2, -3, -4, -5, -6
EQUALITY_NAMES = {
    EQ_SYM: "eq-sym",
    EQ_TRANS: "eq-trans",
    EQ_REP_S: "eq-rep-s",
    EQ_REP_P: "eq-rep-p",
    EQ_REP_O: "eq-rep-o",
}

MAX_INFERRED = 20_000_000
"""A run that infers more is given up: one property declared transitive over a chain of a million
links would otherwise ask for 10¹² triples."""

Batch: TypeAlias = list[tuple[int, list[tuple[int, int]], int]]
"""New triples in order: each predicate with a run of its (subject, object), and the rule that all
of them were inferred by, or ``SEVERAL``."""
SEVERAL = -7
"""Stands for the rule where there may be several."""


class Run:
    """Applies compiled axioms to a base index until nothing new follows.

    Attributes:
        base: the asserted triples; never changed.
        index: asserted and inferred triples.
        log: the inferred ones in order.
    """

    __slots__ = (
        "_add",
        "_append",
        "_extras",
        "_hot",
        "_kind",
        "_rules",
        "_same_seen",
        "_schema_classes",
        "_schema_predicates",
        "_todo",
        "_trivial",
        "_vocabulary",
        "base",
        "index",
        "is_literal",
        "log",
        "same",
        "schema_grew",
    )

    def __init__(self, base: Index, vocabulary: Vocabulary) -> None:
        self.base = base
        self.index = base.fork()
        self._add = self.index.add
        self.schema_grew = False
        self._vocabulary = vocabulary
        self._kind = vocabulary.TYPE
        self.log = InferenceLog()
        self._append = self.log.append
        self.same = vocabulary.SAME
        self.is_literal: Callable[[int], bool] = base.terms.is_literal
        self._extras: list[tuple[str, tuple[Triple, ...]]] = []
        self._rules: list[Rule] = []
        self._todo: Batch = []
        self._hot: frozenset[int] = frozenset()
        self._same_seen = False
        self._trivial = vocabulary.trivial_if_reflexive
        self._schema_predicates: frozenset[int] = frozenset()
        self._schema_classes: frozenset[int] = frozenset()

    @property
    def rule_count(self) -> int:
        """Rules installed so far; the number of the next one."""
        return len(self._rules)

    # Inference

    def emit(self, s: int, p: int, o: int, rule: int, witness: int = 0) -> None:
        """Adds a conclusion unless it is known or trivially reflexive; rules call this."""
        if s == o and p in self._trivial:
            return
        if not self._add(s, p, o):
            return
        self._append((s, p, o, rule, witness))
        if p in self._hot or self._same_seen:
            self._put(s, p, o)
        if p == self._kind:
            if o in self._schema_classes:
                self.schema_grew = True
        elif p in self._schema_predicates:
            self.schema_grew = True

    def emit_links(self, p: int, links: Iterable[tuple[int, int]], rule: int) -> None:
        """``emit`` for many (subject, object) of one predicate, which prove themselves.

        What holds of the predicate is asked once, not once for each of a million links.
        """
        if not self._plain(p):
            for s, o in links:
                self.emit(s, p, o, rule)
            return
        self._note(p, self.index.add_links(p, links), rule)

    def emit_types(
        self,
        instances: Collection[int],
        target: int,
        rule: int,
        witnesses: Mapping[int, int] | None = None,
    ) -> None:
        """``emit`` for many instances of one class, with a witness each where there are any."""
        if self._same_seen or target in self._schema_classes:
            for x in instances:
                self.emit(x, self._kind, target, rule, witnesses[x] if witnesses else 0)
            return
        new = self.index.lacking(self._kind, target, instances)
        self.index.add_to_many(self._kind, target, new)
        found = [witnesses[x] for x in new] if witnesses else ()
        self._note(self._kind, [(x, target) for x in new], rule, found)

    def emit_joined(self, p: int, links: Iterable[tuple[int, int]], rule: int) -> None:
        """``emit`` for what paths of two steps of a predicate through given ones lead to.

        What is found depends on what was emitted before, so each is added as it comes; the middle
        of its path is its witness.
        """
        entries, most = self.log.entries, MAX_INFERRED * ENTRY_WIDTH
        if not self._plain(p):
            index = self.index
            for s, o in links:
                for z in list(index.objects(o, p)):
                    self.emit(s, p, z, rule, o)
                for x in list(index.subjects(p, s)):
                    self.emit(x, p, o, rule, s)
                if len(entries) > most:
                    raise _too_many()
            return
        room = MAX_INFERRED - len(self.log)
        new, witnesses = self.index.add_joined(p, links, room)
        if len(new) > room:
            raise _too_many()
        self._note(p, new, rule, witnesses)

    def _plain(self, p: int) -> bool:
        """Whether nothing about a triple of the predicate needs to be asked but if it is new."""
        return not (
            self._same_seen or p == self._kind or p in self._trivial or p in self._schema_predicates
        )

    def _note(
        self, p: int, links: list[tuple[int, int]], rule: int, witnesses: Sequence[int] = ()
    ) -> None:
        """Logs what was added and marks it to be inferred from."""
        self.log.extend(p, links, rule, witnesses)
        if links and p in self._hot:
            self._todo.append((p, links, rule))

    def _put(self, s: int, p: int, o: int) -> None:
        todo = self._todo
        if todo and todo[-1][0] == p and todo[-1][2] == SEVERAL:
            todo[-1][1].append((s, o))
        else:
            todo.append((p, [(s, o)], SEVERAL))

    def emit_with(
        self, triple: Triple, name: str, premises: tuple[Triple, ...], *, trivial: bool = False
    ) -> None:
        """Adds a conclusion whose premises do not follow from rule and witness alone."""
        s, p, o = triple
        if trivial:
            # A reflexive axiom that another rule rests on: known, so that its proof is whole.
            if self.index.add(s, p, o):
                self.log.append((s, p, o, EXTRA, len(self._extras)))
                self._extras.append((name, premises))
                self._put(s, p, o)
            return
        before = len(self.log)
        self.emit(s, p, o, EXTRA, len(self._extras))
        if len(self.log) != before:
            self._extras.append((name, premises))

    def apply(self, axioms: Axioms) -> None:
        """Runs one set of compiled axioms to its fixpoint over all triples known so far.

        Sets ``schema_grew`` where the result holds axioms that were not compiled yet.
        """
        vocabulary = self._vocabulary
        kind, same = vocabulary.TYPE, vocabulary.SAME
        self._schema_predicates = vocabulary.schema_predicates[axioms.regime]
        self._schema_classes = vocabulary.schema_classes[axioms.regime]
        equality = axioms.regime == "owl-rl"
        known = len(self.log)
        self._rules += axioms.rules
        by_predicate, by_class = axioms.by_predicate, axioms.by_class
        self._hot = frozenset(by_predicate) | {kind} | ({same} if equality else frozenset())
        for triple, name, premises, trivial in axioms.derived:
            self.emit_with(triple, name, premises, trivial=trivial)
        self.schema_grew = False
        for triple, rule in axioms.initial:
            self.emit(*triple, rule.number)
        base = self.base
        if equality and base.count(same):
            self._same_seen = True
            for x, y in base.pairs(same):
                self._equal(x, y)
        for p, rules in by_predicate.items():
            if base.subjects_of(p):
                for rule in rules:
                    rule.on_all(self, p)
            if self._todo:
                self._drain(axioms, equality)
        for c, found in [(c, list(base.subjects(kind, c))) for c in by_class]:
            for rule in by_class[c] if found else ():
                rule.on_types(self, found)
        for triple in self.log.triples(known):
            self._put(*triple)
        self._drain(axioms, equality)

    def _drain(self, axioms: Axioms, equality: bool) -> None:
        by_predicate, by_class = axioms.by_predicate, axioms.by_class
        kind, same = self._vocabulary.TYPE, self._vocabulary.SAME
        entries, most = self.log.entries, MAX_INFERRED * ENTRY_WIDTH
        # Batch by batch, so that the shortest derivation of a triple is found first.
        while self._todo:
            batch, self._todo = self._todo, []
            for p, links, number in batch:
                if len(entries) > most:
                    raise _too_many()
                rules = by_predicate.get(p, ())
                if not (equality and (self._same_seen or p == same)):
                    # Rule by rule: what one asks of the graph for all of them, it asks once.
                    for rule in rules:
                        if number < 0 or not rule.only_echoes(self._rules[number]):
                            rule.on_links(self, p, links)
                    if p == kind:
                        self._on_types(links, by_class)
                    continue
                for s, o in links:
                    if len(entries) > most:
                        raise _too_many()
                    for rule in rules:
                        rule.on_pair(self, s, p, o)
                    if p == kind:
                        for rule in by_class.get(o, ()):
                            rule.on_type(self, s)
                    if p == same:
                        self._same_seen = True
                        self._equal(s, o)
                    self._replace(s, p, o)

    def _on_types(self, types: Iterable[tuple[int, int]], by_class: dict[int, list[Rule]]) -> None:
        """Fires the rules that listen to classes on new (instance, class), class by class."""
        instances: dict[int, list[int]] = {c: [] for c in by_class}
        for x, c in types:
            if c in instances:
                instances[c].append(x)
        for c, found in instances.items():
            for rule in by_class[c] if found else ():
                rule.on_types(self, found)

    def _equal(self, x: int, y: int) -> None:
        """All that follows from a new ``x owl:sameAs y``."""
        same, index, is_literal = self.same, self.index, self.is_literal
        self._reflexive(x)
        if not is_literal(y):
            self.emit(y, same, x, EQ_SYM)
            for z in list(index.objects(y, same)):
                self.emit(x, same, z, EQ_TRANS, y)
            for p, o in list(index.out_edges(x)):
                self.emit(y, p, o, EQ_REP_S, x)
        for p, s in list(index.in_edges(x)):
            self.emit(s, p, y, EQ_REP_O, x)
        if self._is_iri(y):
            for s, o in list(index.pairs(x)):
                self.emit(s, y, o, EQ_REP_P, x)

    def _replace(self, s: int, p: int, o: int) -> None:
        """All that follows for a new triple from equalities known before."""
        same, index, is_literal = self.same, self.index, self.is_literal
        if p == self._vocabulary.TYPE and index.objects(s, same):
            self._reflexive(s)
        for other in list(index.objects(s, same)):
            if not is_literal(other):
                self.emit(other, p, o, EQ_REP_S, s)
        for other in list(index.objects(o, same)):
            self.emit(s, p, other, EQ_REP_O, o)
        for other in list(index.objects(p, same)):
            if self._is_iri(other):
                self.emit(s, other, o, EQ_REP_P, p)

    def _reflexive(self, x: int) -> None:
        """States that a class or property with equals is below itself, hence below its equals."""
        v = self._vocabulary
        for kind, name, below, equivalent in (
            (v.CLASS, "scm-cls", v.SUB_CLASS, v.EQUIVALENT_CLASS),
            (v.OBJECT_PROPERTY, "scm-op", v.SUB_PROPERTY, v.EQUIVALENT_PROPERTY),
            (v.DATA_PROPERTY, "scm-dp", v.SUB_PROPERTY, v.EQUIVALENT_PROPERTY),
        ):
            if self.index.has(x, v.TYPE, kind):
                for predicate in (below, equivalent):
                    premise = (x, v.TYPE, kind)
                    self.emit_with((x, predicate, x), name, (premise,), trivial=True)

    def _is_iri(self, term: int) -> bool:
        return not self.index.terms.text(term).startswith(('"', "_:"))

    # Proofs

    def justification(self, place: int) -> tuple[str, tuple[Triple, ...]]:
        """Rule name and premises of the triple inferred at ``place``."""
        s, p, o, number, witness = self.log.at(place)
        if number >= 0:
            rule = self._rules[number]
            return rule.name, (*rule.axioms, *rule.data_premises(s, p, o, witness))
        if number == EXTRA:
            return self._extras[witness]
        same = self.same
        premises: dict[int, tuple[Triple, ...]] = {
            EQ_SYM: ((o, same, s),),
            EQ_TRANS: ((s, same, witness), (witness, same, o)),
            EQ_REP_S: ((witness, same, s), (witness, p, o)),
            EQ_REP_P: ((witness, same, p), (s, witness, o)),
            EQ_REP_O: ((witness, same, o), (s, p, witness)),
        }
        return EQUALITY_NAMES[number], premises[number]


def _too_many() -> GraphTooLargeError:
    return GraphTooLargeError(
        f"the axioms infer more than {MAX_INFERRED:,} triples",
        where="closure",
        hint="Choose a weaker entailment regime, or take out the transitive, "
        "functional or owl:sameAs axiom behind them.",
    )
