"""Axioms compiled into rules, once, to be run over any number of indexes of one term table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from kg.index import Index, Triple
from kg.reasoning.equality import Key, SameSubject, SameValue
from kg.reasoning.restrictions import AllValues, HasValue, Intersection, Member, SomeValues
from kg.reasoning.rule import Rule
from kg.reasoning.rules import Chain, Domain, Range, Retype, Rewrite, Transitive
from kg.reasoning.schema import Derived, close_schema, read_list
from kg.reasoning.vocabulary import Vocabulary
from kg.terms import is_iri, is_literal, parse_literal

AnyRule = TypeVar("AnyRule", bound=Rule)

_RDFS_NAMES = {
    "prp-dom": "rdfs2",
    "prp-rng": "rdfs3",
    "prp-spo1": "rdfs7",
    "cax-sco": "rdfs9",
}
_NEEDED_OVER_DATA = {"scm-hv", "scm-svf1", "scm-svf2", "scm-avf1", "scm-avf2"}


class Axioms:
    """The rules that a set of axioms amounts to, under one regime.

    Attributes:
        regime: ``rdfs`` or ``owl-rl``.
        source: the index they were found in.
        triples: the axioms themselves.
        derived: axioms that follow from them, premises first.
        rules: rules over data; their numbers count up from ``first_number``.
        by_predicate: predicate → rules that listen to its triples.
        by_class: class → rules that listen to its instances.
        initial: triples that hold without any data (members of enumerations).
    """

    def __init__(self, index: Index, regime: str, first_number: int = 0) -> None:
        """Compiles the axioms found in ``index``.

        Args:
            index: a graph, or axioms alone; not changed.
            regime: ``rdfs`` or ``owl-rl``.
            first_number: number of the first rule.
        """
        self.regime = regime
        self.source = index
        self.terms = index.terms
        self.vocabulary = Vocabulary.of(index.terms)
        self.rules: list[Rule] = []
        self.by_predicate: dict[int, list[Rule]] = {}
        self.by_class: dict[int, list[Rule]] = {}
        self.initial: list[tuple[Triple, Rule]] = []
        self._first_number = first_number
        self._bound: set[tuple[object, ...]] = set()
        schema = axioms_in(index, self.vocabulary, regime)
        self.triples = tuple(schema.triples())
        self.derived: list[Derived] = close_schema(schema, index, self.vocabulary, regime)
        self._lists = index
        # Most axioms that follow from others add nothing over data that the others, applied one
        # after another, do not: leaving them out makes proofs plain and runs short.
        schema = axioms_in(index, self.vocabulary, regime)
        schema.update(d.triple for d in self.derived if d.name in _NEEDED_OVER_DATA)
        self._compile_hierarchies(schema)
        if regime == "owl-rl":
            self._compile_properties(schema)
            self._compile_classes(schema)
            self._compile_restrictions(schema)
        del self._lists

    # How rules are registered

    def _make(self, factory: Callable[..., AnyRule], name: str, *axioms: Triple) -> AnyRule:
        if self.regime == "rdfs":
            name = _RDFS_NAMES[name]
        number = self._first_number + len(self.rules)
        rule = factory(name, number, self.vocabulary.TYPE, axioms)
        self.rules.append(rule)
        return rule

    def _listen(
        self, rule: Rule, predicates: Iterable[int] = (), classes: Iterable[int] = ()
    ) -> None:
        for p in dict.fromkeys(predicates):
            self.by_predicate.setdefault(p, []).append(rule)
        for c in dict.fromkeys(classes):
            self.by_class.setdefault(c, []).append(rule)

    def _first_time(self, *key: object) -> bool:
        """Whether no rule does the same yet: the first, from the plainest axiom, is enough."""
        if key in self._bound:
            return False
        self._bound.add(key)
        return True

    def _is_property(self, term: int) -> bool:
        return is_iri(self.terms.text(term))

    # One method for each of W3C's tables

    def _rewrite(self, name: str, axiom: Triple, source: int, target: int, *, flip: bool) -> None:
        # Predicates are IRIs: a blank inverse expression would need generalised triples.
        if (source == target and not flip) or not self._is_property(target):
            return
        if self._first_time("rewrite", source, target, flip):
            rule = self._make(Rewrite, name, axiom).bind(source, target, flip=flip)
            self._listen(rule, [source])

    def _retype(self, name: str, axioms: tuple[Triple, ...], source: int, target: int) -> None:
        if source != target and self._first_time("retype", source, target):
            rule = self._make(Retype, name, *axioms).bind(source, target)
            self._listen(rule, classes=[source])

    def _compile_hierarchies(self, schema: Index) -> None:
        v = self.vocabulary
        for p, q in schema.pairs(v.EQUIVALENT_PROPERTY):
            axiom = (p, v.EQUIVALENT_PROPERTY, q)
            self._rewrite("prp-eqp1", axiom, p, q, flip=False)
            self._rewrite("prp-eqp2", axiom, q, p, flip=False)
        for c, d in schema.pairs(v.EQUIVALENT_CLASS):
            axiom = (c, v.EQUIVALENT_CLASS, d)
            self._retype("cax-eqc1", (axiom,), c, d)
            self._retype("cax-eqc2", (axiom,), d, c)
        for p, q in schema.pairs(v.SUB_PROPERTY):
            self._rewrite("prp-spo1", (p, v.SUB_PROPERTY, q), p, q, flip=False)
        for c, d in schema.pairs(v.SUB_CLASS):
            self._retype("cax-sco", ((c, v.SUB_CLASS, d),), c, d)
        for p, c in schema.pairs(v.DOMAIN):
            self._listen(self._make(Domain, "prp-dom", (p, v.DOMAIN, c)).bind(p, c), [p])
        for p, c in schema.pairs(v.RANGE):
            self._listen(self._make(Range, "prp-rng", (p, v.RANGE, c)).bind(p, c), [p])

    def _compile_properties(self, schema: Index) -> None:
        v = self.vocabulary
        for p, q in schema.pairs(v.INVERSE):
            axiom = (p, v.INVERSE, q)
            self._rewrite("prp-inv1", axiom, p, q, flip=True)
            self._rewrite("prp-inv2", axiom, q, p, flip=True)
        for p in schema.subjects(v.TYPE, v.SYMMETRIC):
            self._rewrite("prp-symp", (p, v.TYPE, v.SYMMETRIC), p, p, flip=True)
        for p in schema.subjects(v.TYPE, v.TRANSITIVE):
            rule = self._make(Transitive, "prp-trp", (p, v.TYPE, v.TRANSITIVE)).bind(p)
            self._listen(rule, [p])
        for p in schema.subjects(v.TYPE, v.FUNCTIONAL):
            one = self._make(SameValue, "prp-fp", (p, v.TYPE, v.FUNCTIONAL)).bind(p)
            self._listen(one, [p])
        for p in schema.subjects(v.TYPE, v.INVERSE_FUNCTIONAL):
            two = self._make(SameSubject, "prp-ifp", (p, v.TYPE, v.INVERSE_FUNCTIONAL)).bind(p)
            self._listen(two, [p])
        for p, head in schema.pairs(v.CHAIN):
            listed = read_list(self._lists, v, head)
            if listed and self._is_property(p):
                axioms = (p, v.CHAIN, head), *listed.triples
                chain = self._make(Chain, "prp-spo2", *axioms).bind(p, listed.items)
                self._listen(chain, listed.items)
        for c, head in schema.pairs(v.KEY):
            listed = read_list(self._lists, v, head)
            if listed:
                axioms = (c, v.KEY, head), *listed.triples
                key = self._make(Key, "prp-key", *axioms).bind(c, listed.items)
                self._listen(key, listed.items, [c])

    def _compile_classes(self, schema: Index) -> None:
        v = self.vocabulary
        for c, head in schema.pairs(v.INTERSECTION):
            listed = read_list(self._lists, v, head)
            if listed:
                axioms = (c, v.INTERSECTION, head), *listed.triples
                rule = self._make(Intersection, "cls-int1", *axioms).bind(c, listed.items)
                self._listen(rule, classes=listed.items)
                for part in listed.items:
                    self._retype("cls-int2", axioms, c, part)
        for c, head in schema.pairs(v.UNION):
            listed = read_list(self._lists, v, head)
            for part in listed.items if listed else ():
                axioms = (c, v.UNION, head), *(listed.triples if listed else ())
                self._retype("cls-uni", axioms, part, c)
        for c, head in schema.pairs(v.ONE_OF):
            listed = read_list(self._lists, v, head)
            if listed:
                member = self._make(Member, "cls-oo", (c, v.ONE_OF, head), *listed.triples)
                for item in listed.items:
                    if not self.terms.is_literal(item):
                        self.initial.append(((item, v.TYPE, c), member))

    def _compile_restrictions(self, schema: Index) -> None:
        v = self.vocabulary
        for c, p in schema.pairs(v.ON_PROPERTY):
            if not self._is_property(p):
                continue
            on = (c, v.ON_PROPERTY, p)
            for value in schema.objects(c, v.HAS_VALUE):
                axiom = (c, v.HAS_VALUE, value)
                forward = self._make(HasValue, "cls-hv1", axiom, on).bind(c, p, value)
                self._listen(forward, classes=[c])
                backward = self._make(HasValue, "cls-hv2", axiom, on).bind(c, p, value)
                self._listen(backward, [p])
            for d in schema.objects(c, v.SOME_VALUES):
                axiom = (c, v.SOME_VALUES, d)
                if d == v.THING:
                    some = self._make(SomeValues, "cls-svf2", axiom, on).bind(c, p, None)
                    self._listen(some, [p])
                else:
                    some = self._make(SomeValues, "cls-svf1", axiom, on).bind(c, p, d)
                    self._listen(some, [p], [d])
            for d in schema.objects(c, v.ALL_VALUES):
                every = self._make(AllValues, "cls-avf", (c, v.ALL_VALUES, d), on).bind(c, p, d)
                self._listen(every, [p], [c])
            for limit in schema.objects(c, v.MAX_CARDINALITY):
                if count_of(self.terms.text(limit)) == 1:
                    axiom = (c, v.MAX_CARDINALITY, limit)
                    most = self._make(SameValue, "cls-maxc2", axiom, on).bind(p, c)
                    self._listen(most, [p], [c])
            for limit in schema.objects(c, v.MAX_QUALIFIED):
                if count_of(self.terms.text(limit)) == 1:
                    self._compile_qualified(schema, (c, v.MAX_QUALIFIED, limit), on)

    def _compile_qualified(self, schema: Index, axiom: Triple, on: Triple) -> None:
        v = self.vocabulary
        c, _, p = on
        for d in schema.objects(c, v.ON_CLASS):
            premises = (axiom, on, (c, v.ON_CLASS, d))
            if d == v.THING:
                rule = self._make(SameValue, "cls-maxqc4", *premises).bind(p, c)
                self._listen(rule, [p], [c])
            else:
                rule = self._make(SameValue, "cls-maxqc3", *premises).bind(p, c, d)
                self._listen(rule, [p], [c, d])


def axioms_in(index: Index, vocabulary: Vocabulary, regime: str) -> Index:
    """The triples of ``index`` that are axioms under ``regime``, as an index of their own."""
    schema = index.scratch()
    lists = {vocabulary.FIRST, vocabulary.REST}
    for p in index.predicates():
        # Lists are read where an axiom points to one; others in the data are no axioms.
        if p in vocabulary.schema_predicates[regime] and p not in lists:
            schema.update((s, p, o) for s, o in index.pairs(p))
    classes = vocabulary.schema_classes[regime]
    if classes:
        kind = vocabulary.TYPE
        for s, cell in index.cells(kind):
            # A few of a great many: most are passed over at once.
            if cell.__class__ is not int or cell in classes:
                schema.update((s, kind, c) for c in index.objects(s, kind) if c in classes)
    return schema


def count_of(text: str) -> int | None:
    """The number a cardinality literal stands for, or None where it is no whole number."""
    if not is_literal(text):
        return None
    try:
        return int(parse_literal(text).lexical)
    except ValueError:
        return None
