"""The rules of OWL 2 RL that conclude *false*: what in a closed graph contradicts its axioms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from kg.index import Index, Triple
from kg.reasoning.axioms import count_of
from kg.reasoning.schema import read_list
from kg.reasoning.vocabulary import Vocabulary

Clash = tuple[str, tuple[Triple, ...]]
"""Rule name and premises, in which a triple may stand twice."""


def find_clashes(index: Index) -> Iterator[Clash]:
    """Yields every instance of a rule with conclusion *false* in a closed index.

    Left out are the rules about datatypes (``dt-not-type``); see ``kg.entailment``.
    """
    v = Vocabulary.of(index.terms)
    yield from _equality(index, v)
    yield from _properties(index, v)
    yield from _denials(index, v)
    yield from _classes(index, v)
    yield from _cardinalities(index, v)


def _equality(index: Index, v: Vocabulary) -> Iterator[Clash]:
    for x, y in index.pairs(v.DIFFERENT):
        if index.has(x, v.SAME, y):
            yield "eq-diff1", ((x, v.SAME, y), (x, v.DIFFERENT, y))
        elif x == y:
            # Everything is the same as itself (eq-ref), which is not written out.
            yield "eq-diff1", ((x, v.DIFFERENT, y),)
    for predicate, name in ((v.MEMBERS, "eq-diff2"), (v.DISTINCT_MEMBERS, "eq-diff3")):
        for axioms, items in _member_lists(index, v, v.ALL_DIFFERENT, predicate):
            for x, y in combinations(items, 2):
                if x == y:
                    yield name, axioms
                elif index.has(x, v.SAME, y):
                    yield name, (*axioms, (x, v.SAME, y))


def _properties(index: Index, v: Vocabulary) -> Iterator[Clash]:
    for p in index.subjects(v.TYPE, v.IRREFLEXIVE):
        for x, y in index.pairs(p):
            if x == y:
                yield "prp-irp", ((p, v.TYPE, v.IRREFLEXIVE), (x, p, x))
    for p in index.subjects(v.TYPE, v.ASYMMETRIC):
        for x, y in index.pairs(p):
            if x <= y and index.has(y, p, x):
                yield "prp-asyp", ((p, v.TYPE, v.ASYMMETRIC), (x, p, y), (y, p, x))
    for p, q in index.pairs(v.DISJOINT_PROPERTY):
        axiom = (p, v.DISJOINT_PROPERTY, q)
        yield from (("prp-pdw", (axiom, *both)) for both in _both_properties(index, p, q))
    for axioms, items in _member_lists(index, v, v.ALL_DISJOINT_PROPERTIES, v.MEMBERS):
        for p, q in combinations(items, 2):
            yield from (("prp-adp", (*axioms, *both)) for both in _both_properties(index, p, q))


def _denials(index: Index, v: Vocabulary) -> Iterator[Clash]:
    for x, s in index.pairs(v.SOURCE):
        for p in index.objects(x, v.ASSERTION_PROPERTY):
            for target, name in ((v.TARGET, "prp-npa1"), (v.TARGET_VALUE, "prp-npa2")):
                for o in index.objects(x, target):
                    if index.has(s, p, o):
                        axioms = (x, v.SOURCE, s), (x, v.ASSERTION_PROPERTY, p), (x, target, o)
                        yield name, (*axioms, (s, p, o))


def _classes(index: Index, v: Vocabulary) -> Iterator[Clash]:
    for x in index.subjects(v.TYPE, v.NOTHING):
        yield "cls-nothing2", ((x, v.TYPE, v.NOTHING),)
    for predicate, name in ((v.COMPLEMENT, "cls-com"), (v.DISJOINT_CLASS, "cax-dw")):
        for c, d in index.pairs(predicate):
            axiom = (c, predicate, d)
            yield from ((name, (axiom, *both)) for both in _both_classes(index, v, c, d))
    for axioms, items in _member_lists(index, v, v.ALL_DISJOINT_CLASSES, v.MEMBERS):
        for c, d in combinations(items, 2):
            yield from (("cax-adc", (*axioms, *both)) for both in _both_classes(index, v, c, d))


def _cardinalities(index: Index, v: Vocabulary) -> Iterator[Clash]:
    for predicate in (v.MAX_CARDINALITY, v.MAX_QUALIFIED):
        for r, limit in index.pairs(predicate):
            if count_of(index.terms.text(limit)) != 0:
                continue
            for p in index.objects(r, v.ON_PROPERTY):
                axioms = (r, predicate, limit), (r, v.ON_PROPERTY, p)
                for u in index.subjects(v.TYPE, r):
                    typed = (u, v.TYPE, r)
                    for y in index.objects(u, p):
                        fact = (u, p, y)
                        if predicate == v.MAX_CARDINALITY:
                            yield "cls-maxc1", (*axioms, typed, fact)
                            continue
                        for c in index.objects(r, v.ON_CLASS):
                            on = (r, v.ON_CLASS, c)
                            if c == v.THING:
                                yield "cls-maxqc2", (*axioms, on, typed, fact)
                            elif index.has(y, v.TYPE, c):
                                of_class = (y, v.TYPE, c)
                                yield "cls-maxqc1", (*axioms, on, typed, fact, of_class)


def _member_lists(
    index: Index, v: Vocabulary, kind: int, predicate: int
) -> Iterator[tuple[tuple[Triple, ...], tuple[int, ...]]]:
    """(axiom triples, members) of the axioms of a kind that hold over a list."""
    for x in index.subjects(v.TYPE, kind):
        for head in index.objects(x, predicate):
            listed = read_list(index, v, head)
            if listed:
                axioms = (x, v.TYPE, kind), (x, predicate, head), *listed.triples
                yield axioms, listed.items


def _both_properties(index: Index, p: int, q: int) -> Iterable[tuple[Triple, ...]]:
    for x, y in index.pairs(p):
        if index.has(x, q, y):
            yield (x, p, y), (x, q, y)


def _both_classes(index: Index, v: Vocabulary, c: int, d: int) -> Iterable[tuple[Triple, ...]]:
    for x in index.subjects(v.TYPE, c):
        if index.has(x, v.TYPE, d):
            yield (x, v.TYPE, c), (x, v.TYPE, d)
