"""Applies compiled axioms to the triples of an index until no new triple follows (fixpoint)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from kg.base.errors import GraphTooLargeError
from kg.reasoning.axioms import CompiledAxioms
from kg.reasoning.log import ENTRY_WIDTH, InferenceLog
from kg.reasoning.rule import Rule
from kg.reasoning.vocabulary import Vocabulary
from kg.triples.index import Index, Triple

EXPLICIT_PROOF = -1
"""Rule number of a triple whose rule name and premises are stored in full; its witness is their
position in ``InferenceRun._explicit_proofs``."""
# Rule numbers of the equality rules, which are not compiled from axioms.
EQ_SYM, EQ_TRANS, EQ_REP_S, EQ_REP_P, EQ_REP_O = -2, -3, -4, -5, -6
EQUALITY_RULE_NAMES = {
    EQ_SYM: "eq-sym",
    EQ_TRANS: "eq-trans",
    EQ_REP_S: "eq-rep-s",
    EQ_REP_P: "eq-rep-p",
    EQ_REP_O: "eq-rep-o",
}

MAX_INFERRED_TRIPLES = 20_000_000
"""Maximum number of inferred triples; a run that infers more is aborted. One transitive property
over a chain of a million links, for example, would infer 5 · 10¹¹ triples."""

Batch: TypeAlias = list[tuple[int, list[tuple[int, int]], int]]
"""New triples in order, in groups of (predicate, its (subject, object) pairs, rule number).

The rule number is that of the rule that inferred the group, or ``MIXED_RULES``."""
MIXED_RULES = -7
"""Rule number of a group of triples that different rules may have inferred."""


class InferenceRun:
    """Applies compiled axioms to a base index until no new triple follows.

    Attributes:
        base: the asserted triples; never changed.
        index: asserted and inferred triples.
        log: the inferred triples in order.
        schema_grew: whether axioms were inferred that are not compiled yet.
        has_equalities: whether ``owl:sameAs`` links are asserted or inferred.
    """

    __slots__ = (
        "_add_triple",
        "_append_entry",
        "_explicit_proofs",
        "_pending",
        "_rdf_type",
        "_rules",
        "_schema_classes",
        "_schema_predicates",
        "_trivial_if_reflexive",
        "_vocabulary",
        "_watched_predicates",
        "base",
        "has_equalities",
        "index",
        "is_literal",
        "log",
        "same_as",
        "schema_grew",
    )

    def __init__(self, base: Index, vocabulary: Vocabulary) -> None:
        self.base = base
        self.index = base.fork()
        self._add_triple = self.index.add_triple
        self.schema_grew = False
        self._vocabulary = vocabulary
        self._rdf_type = vocabulary.TYPE
        self.log = InferenceLog()
        self._append_entry = self.log.append
        self.same_as = vocabulary.SAME
        self.is_literal: Callable[[int], bool] = base.terms.is_literal
        self._explicit_proofs: list[tuple[str, tuple[Triple, ...]]] = []
        self._rules: list[Rule] = []
        self._pending: Batch = []
        self._watched_predicates: frozenset[int] = frozenset()
        self.has_equalities = False
        self._trivial_if_reflexive = vocabulary.trivial_if_reflexive
        self._schema_predicates: frozenset[int] = frozenset()
        self._schema_classes: frozenset[int] = frozenset()

    @property
    def rule_count(self) -> int:
        """Number of rules so far, which is the number of the next rule."""
        return len(self._rules)

    def is_axiom(self, triple: Triple) -> bool:
        """Returns whether a triple is an axiom, from which rules are compiled."""
        _, p, o = triple
        return p in self._schema_predicates or (p == self._rdf_type and o in self._schema_classes)

    def copy_for(self, base: Index) -> InferenceRun:
        """Returns a copy of this run with other asserted triples; see ``kg.reasoning.removal``."""
        copy = InferenceRun(base, self._vocabulary)
        copy.index = self.index.fork()
        copy._add_triple = copy.index.add_triple
        copy.log = self.log.fork()
        copy._append_entry = copy.log.append
        copy._explicit_proofs = list(self._explicit_proofs)
        copy._rules = list(self._rules)
        copy._watched_predicates = self._watched_predicates
        copy._schema_predicates = self._schema_predicates
        copy._schema_classes = self._schema_classes
        return copy

    def resume(self, axioms: CompiledAxioms) -> None:
        """Adds what follows from axioms alone, but no axioms, and applies the rules to it."""
        self.schema_grew = False
        for triple, rule in axioms.initial:
            self.emit(*triple, rule.number)
        self._process_pending(axioms, axioms.regime == "owl-rl")

    # Inference

    def emit(self, s: int, p: int, o: int, rule: int, witness: int = 0) -> None:
        """Adds a conclusion unless it is in the index already or trivially reflexive.

        Args:
            s: subject.
            p: predicate.
            o: object.
            rule: number of the rule.
            witness: the term from which, with the rule, the premises can be rebuilt.
        """
        if s == o and p in self._trivial_if_reflexive:
            return
        if not self._add_triple(s, p, o):
            return
        self._append_entry((s, p, o, rule, witness))
        if p in self._watched_predicates or self.has_equalities:
            self._queue_triple(s, p, o)
        if p == self._rdf_type:
            if o in self._schema_classes:
                self.schema_grew = True
        elif p in self._schema_predicates:
            self.schema_grew = True

    def emit_paths(self, s: int, p: int, o: int, rule: int) -> None:
        """Adds ``s p z`` for each ``o p z``, and ``x p o`` for each ``x p s``, as ``emit`` does."""
        # Both are copied, because ``emit`` adds to the collections that are iterated.
        for z in list(self.index.find_objects(o, p)):
            self.emit(s, p, z, rule, o)
        for x in list(self.index.find_subjects(p, s)):
            self.emit(x, p, o, rule, s)

    def emit_links(self, p: int, links: Iterable[tuple[int, int]], rule: int) -> None:
        """Adds many (subject, object) pairs of one predicate whose proofs need no witness.

        Faster than ``emit`` for each pair, because the predicate is checked only once.
        """
        if self._allows_bulk_insertion(p):
            self._record_links(p, self.index.add_links(p, links), rule)
        else:
            for s, o in links:
                self.emit(s, p, o, rule)

    def emit_types(
        self,
        instances: Collection[int],
        target: int,
        rule: int,
        witnesses: Mapping[int, int] | None = None,
    ) -> None:
        """Adds the type triples of many instances of one class, optionally with a witness each."""
        if self.has_equalities or target in self._schema_classes:
            for x in instances:
                self.emit(x, self._rdf_type, target, rule, witnesses[x] if witnesses else 0)
            return
        new_instances = self.index.filter_subjects_without(self._rdf_type, target, instances)
        self.index.add_to_many(self._rdf_type, target, new_instances)
        new_witnesses = [witnesses[x] for x in new_instances] if witnesses else ()
        self._record_links(
            self._rdf_type, [(x, target) for x in new_instances], rule, new_witnesses
        )

    def emit_two_step_links(self, p: int, links: Iterable[tuple[int, int]], rule: int) -> None:
        """Adds the two-step paths of a predicate that contain one of the given links.

        Each new link is added before the next one is followed, because it can be part of further
        paths. The witness is the middle of the path.
        """
        entries, max_size = self.log.entries, MAX_INFERRED_TRIPLES * ENTRY_WIDTH
        if not self._allows_bulk_insertion(p):
            for s, o in links:
                self.emit_paths(s, p, o, rule)
                if len(entries) > max_size:
                    raise _make_limit_error()
            return
        remaining = MAX_INFERRED_TRIPLES - len(self.log)
        new_links, witnesses = self.index.add_two_step_links(p, links, remaining)
        if len(new_links) > remaining:
            raise _make_limit_error()
        self._record_links(p, new_links, rule, witnesses)

    def _allows_bulk_insertion(self, p: int) -> bool:
        """Returns whether the predicate's triples need no check except that they are new."""
        return not (
            self.has_equalities
            or p == self._rdf_type
            or p in self._trivial_if_reflexive
            or p in self._schema_predicates
        )

    def _record_links(
        self, p: int, links: list[tuple[int, int]], rule: int, witnesses: Sequence[int] = ()
    ) -> None:
        """Logs added links and queues them, so that rules are applied to them."""
        self.log.append_links(p, links, rule, witnesses)
        if links and p in self._watched_predicates:
            self._pending.append((p, links, rule))

    def _queue_triple(self, s: int, p: int, o: int) -> None:
        pending = self._pending
        if pending and pending[-1][0] == p and pending[-1][2] == MIXED_RULES:
            pending[-1][1].append((s, o))
        else:
            pending.append((p, [(s, o)], MIXED_RULES))

    def emit_with_premises(
        self, triple: Triple, name: str, premises: tuple[Triple, ...], *, trivial: bool = False
    ) -> None:
        """Adds a conclusion whose premises cannot be rebuilt from a rule and a witness.

        Args:
            triple: the conclusion.
            name: W3C rule name.
            premises: all premises.
            trivial: whether the conclusion is a reflexive axiom that another rule needs as a
                premise; it is added although ``emit`` would skip it, so that proofs are complete.
        """
        s, p, o = triple
        if trivial:
            if self.index.add_triple(s, p, o):
                self.log.append((s, p, o, EXPLICIT_PROOF, len(self._explicit_proofs)))
                self._explicit_proofs.append((name, premises))
                self._queue_triple(s, p, o)
            return
        log_length = len(self.log)
        self.emit(s, p, o, EXPLICIT_PROOF, len(self._explicit_proofs))
        if len(self.log) != log_length:  # `emit` added the triple.
            self._explicit_proofs.append((name, premises))

    def apply_axioms(self, axioms: CompiledAxioms) -> None:
        """Applies one set of compiled axioms to all triples so far until no new triple follows.

        Sets ``schema_grew`` if the result contains axioms that were not compiled yet.
        """
        vocabulary = self._vocabulary
        rdf_type, same_as = vocabulary.TYPE, vocabulary.SAME
        self._schema_predicates = vocabulary.schema_predicates[axioms.regime]
        self._schema_classes = vocabulary.schema_classes[axioms.regime]
        has_equality_rules = axioms.regime == "owl-rl"
        # The first ``log_length`` triples were inferred from earlier axioms; the new rules have not
        # processed them yet.
        log_length = len(self.log)
        self._rules += axioms.rules
        by_predicate, by_class = axioms.by_predicate, axioms.by_class
        self._watched_predicates = (
            frozenset(by_predicate)
            | {rdf_type}
            | ({same_as} if has_equality_rules else frozenset())
        )
        self._emit_axioms(axioms)
        base = self.base
        if has_equality_rules and base.count_triples(same_as):
            self.has_equalities = True
            for x, y in base.iter_pairs(same_as):
                self._apply_new_equality(x, y)
        for p, rules in by_predicate.items():
            if base.get_subjects(p):
                for rule in rules:
                    rule.on_asserted(self, p)
            if self._pending:
                self._process_pending(axioms, has_equality_rules)
        for c, instances in [(c, list(base.find_subjects(rdf_type, c))) for c in by_class]:
            for rule in by_class[c] if instances else ():
                rule.on_instances(self, instances)
        for triple in self.log.iter_triples(log_length):
            self._queue_triple(*triple)
        self._process_pending(axioms, has_equality_rules)

    def _emit_axioms(self, axioms: CompiledAxioms) -> None:
        for triple, name, premises, trivial in axioms.derived:
            self.emit_with_premises(triple, name, premises, trivial=trivial)
        self.schema_grew = False
        for triple, rule in axioms.initial:
            self.emit(*triple, rule.number)

    def _process_pending(self, axioms: CompiledAxioms, has_equality_rules: bool) -> None:
        """Applies the rules to queued triples and to what they infer, until the queue is empty."""
        by_predicate, by_class = axioms.by_predicate, axioms.by_class
        rdf_type, same_as = self._vocabulary.TYPE, self._vocabulary.SAME
        entries, max_size = self.log.entries, MAX_INFERRED_TRIPLES * ENTRY_WIDTH
        # Batch by batch (breadth first), so that a shortest derivation of a triple is logged.
        while self._pending:
            batch, self._pending = self._pending, []
            for p, links, rule_number in batch:
                if len(entries) > max_size:
                    raise _make_limit_error()
                rules = by_predicate.get(p, ())
                if not (has_equality_rules and (self.has_equalities or p == same_as)):
                    # Rule by rule, so that a rule can process all links with one look-up.
                    for rule in rules:
                        # A negative number (MIXED_RULES) is not a single rule's number.
                        if rule_number < 0 or not rule.is_redundant_after(self._rules[rule_number]):
                            rule.on_links(self, p, links)
                    if p == rdf_type:
                        self._apply_class_rules(links, by_class)
                    continue
                for s, o in links:
                    if len(entries) > max_size:
                        raise _make_limit_error()
                    for rule in rules:
                        rule.on_triple(self, s, p, o)
                    if p == rdf_type:
                        for rule in by_class.get(o, ()):
                            rule.on_instance(self, s)
                    if p == same_as:
                        self.has_equalities = True
                        self._apply_new_equality(s, o)
                    self._apply_known_equalities(s, p, o)

    def _apply_class_rules(
        self, types: Iterable[tuple[int, int]], by_class: dict[int, list[Rule]]
    ) -> None:
        """Applies the rules of each class to its new instances, given as (instance, class)."""
        instances_by_class: dict[int, list[int]] = {c: [] for c in by_class}
        for x, c in types:
            if c in instances_by_class:
                instances_by_class[c].append(x)
        for c, instances in instances_by_class.items():
            for rule in by_class[c] if instances else ():
                rule.on_instances(self, instances)

    def _apply_new_equality(self, x: int, y: int) -> None:
        """Emits everything that follows from a new ``x owl:sameAs y``."""
        same_as, index, is_literal = self.same_as, self.index, self.is_literal
        self._emit_reflexive_axioms(x)
        if not is_literal(y):
            self.emit(y, same_as, x, EQ_SYM)
            for z in list(index.find_objects(y, same_as)):
                self.emit(x, same_as, z, EQ_TRANS, y)
            for p, o in list(index.iter_out_edges(x)):
                self.emit(y, p, o, EQ_REP_S, x)
        for p, s in list(index.iter_in_edges(x)):
            self.emit(s, p, y, EQ_REP_O, x)
        if self._is_iri(y):
            for s, o in list(index.iter_pairs(x)):
                self.emit(s, y, o, EQ_REP_P, x)

    def _apply_known_equalities(self, s: int, p: int, o: int) -> None:
        """Emits everything that follows from a new triple and the equalities of its terms."""
        same_as, index, is_literal = self.same_as, self.index, self.is_literal
        if p == self._vocabulary.TYPE and index.find_objects(s, same_as):
            self._emit_reflexive_axioms(s)
        for other in list(index.find_objects(s, same_as)):
            if not is_literal(other):
                self.emit(other, p, o, EQ_REP_S, s)
        for other in list(index.find_objects(o, same_as)):
            self.emit(s, p, other, EQ_REP_O, o)
        for other in list(index.find_objects(p, same_as)):
            if self._is_iri(other):
                self.emit(s, other, o, EQ_REP_P, p)

    def _emit_reflexive_axioms(self, x: int) -> None:
        """Adds the reflexive axioms of a class or property that equals another (``owl:sameAs``).

        They are needed as premises: from ``C rdfs:subClassOf C`` and ``C owl:sameAs D`` follows
        ``C rdfs:subClassOf D``.
        """
        v = self._vocabulary
        for type_class, name, sub_relation, equivalence in (
            (v.CLASS, "scm-cls", v.SUB_CLASS, v.EQUIVALENT_CLASS),
            (v.OBJECT_PROPERTY, "scm-op", v.SUB_PROPERTY, v.EQUIVALENT_PROPERTY),
            (v.DATA_PROPERTY, "scm-dp", v.SUB_PROPERTY, v.EQUIVALENT_PROPERTY),
        ):
            if self.index.has_triple(x, v.TYPE, type_class):
                for predicate in (sub_relation, equivalence):
                    premise = (x, v.TYPE, type_class)
                    self.emit_with_premises((x, predicate, x), name, (premise,), trivial=True)

    def _is_iri(self, term: int) -> bool:
        return not self.index.terms.get_text(term).startswith(('"', "_:"))

    def get_justification(self, position: int) -> tuple[str, tuple[Triple, ...]]:
        """Returns rule name and premises of the inferred triple at ``position`` in the log."""
        s, p, o, rule_number, witness = self.log.get_entry(position)
        if rule_number >= 0:
            rule = self._rules[rule_number]
            return rule.name, (*rule.axioms, *rule.find_data_premises(s, p, o, witness))
        if rule_number == EXPLICIT_PROOF:
            return self._explicit_proofs[witness]
        same_as = self.same_as
        premises: dict[int, tuple[Triple, ...]] = {
            EQ_SYM: ((o, same_as, s),),
            EQ_TRANS: ((s, same_as, witness), (witness, same_as, o)),
            EQ_REP_S: ((witness, same_as, s), (witness, p, o)),
            EQ_REP_P: ((witness, same_as, p), (s, witness, o)),
            EQ_REP_O: ((witness, same_as, o), (s, p, witness)),
        }
        return EQUALITY_RULE_NAMES[rule_number], premises[rule_number]


def _make_limit_error() -> GraphTooLargeError:
    return GraphTooLargeError(
        f"the axioms infer more than {MAX_INFERRED_TRIPLES:,} triples",
        where="closure",
        hint="Choose a weaker entailment regime, or remove the transitive, functional or "
        "owl:sameAs axiom that causes it.",
    )
