"""Finds inconsistencies in a closed graph: the OWL 2 RL rules whose conclusion is *false*."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from kg.reasoning.axioms import parse_cardinality
from kg.reasoning.schema import read_list
from kg.reasoning.vocabulary import Vocabulary
from kg.triples.index import Index, Triple

Contradiction = tuple[str, tuple[Triple, ...]]
"""Rule name and premises; a triple may occur twice among the premises."""


def find_contradictions(index: Index) -> Iterator[Contradiction]:
    """Yields every instance of a rule with conclusion *false* in a closed index.

    The rules about datatypes (``dt-not-type``) are not applied; see ``kg.entailment``.
    """
    v = Vocabulary.get_for_table(index.terms)
    yield from _find_equality_contradictions(index, v)
    yield from _find_property_contradictions(index, v)
    yield from _find_denial_contradictions(index, v)
    yield from _find_class_contradictions(index, v)
    yield from _find_cardinality_contradictions(index, v)


def _find_equality_contradictions(index: Index, v: Vocabulary) -> Iterator[Contradiction]:
    for x, y in index.iter_pairs(v.DIFFERENT):
        if index.has_triple(x, v.SAME, y):
            yield "eq-diff1", ((x, v.SAME, y), (x, v.DIFFERENT, y))
        elif x == y:
            # Everything is the same as itself (eq-ref); these triples are not stored.
            yield "eq-diff1", ((x, v.DIFFERENT, y),)
    for predicate, name in ((v.MEMBERS, "eq-diff2"), (v.DISTINCT_MEMBERS, "eq-diff3")):
        for axioms, items in _iter_member_lists(index, v, v.ALL_DIFFERENT, predicate):
            for x, y in combinations(items, 2):
                if x == y:
                    yield name, axioms
                elif index.has_triple(x, v.SAME, y):
                    yield name, (*axioms, (x, v.SAME, y))


def _find_property_contradictions(index: Index, v: Vocabulary) -> Iterator[Contradiction]:
    for p in index.find_subjects(v.TYPE, v.IRREFLEXIVE):
        for x, y in index.iter_pairs(p):
            if x == y:
                yield "prp-irp", ((p, v.TYPE, v.IRREFLEXIVE), (x, p, x))
    for p in index.find_subjects(v.TYPE, v.ASYMMETRIC):
        for x, y in index.iter_pairs(p):
            # ``x <= y``: each pair is reported once, not also in reverse.
            if x <= y and index.has_triple(y, p, x):
                yield "prp-asyp", ((p, v.TYPE, v.ASYMMETRIC), (x, p, y), (y, p, x))
    for p, q in index.iter_pairs(v.DISJOINT_PROPERTY):
        axiom = (p, v.DISJOINT_PROPERTY, q)
        yield from (
            ("prp-pdw", (axiom, *data_triples)) for data_triples in _iter_shared_links(index, p, q)
        )
    for axioms, items in _iter_member_lists(index, v, v.ALL_DISJOINT_PROPERTIES, v.MEMBERS):
        for p, q in combinations(items, 2):
            yield from (
                ("prp-adp", (*axioms, *data_triples))
                for data_triples in _iter_shared_links(index, p, q)
            )


def _find_denial_contradictions(index: Index, v: Vocabulary) -> Iterator[Contradiction]:
    for x, s in index.iter_pairs(v.SOURCE):
        for p in index.find_objects(x, v.ASSERTION_PROPERTY):
            for target, name in ((v.TARGET, "prp-npa1"), (v.TARGET_VALUE, "prp-npa2")):
                for o in index.find_objects(x, target):
                    if index.has_triple(s, p, o):
                        axioms = (x, v.SOURCE, s), (x, v.ASSERTION_PROPERTY, p), (x, target, o)
                        yield name, (*axioms, (s, p, o))


def _find_class_contradictions(index: Index, v: Vocabulary) -> Iterator[Contradiction]:
    for x in index.find_subjects(v.TYPE, v.NOTHING):
        yield "cls-nothing2", ((x, v.TYPE, v.NOTHING),)
    for predicate, name in ((v.COMPLEMENT, "cls-com"), (v.DISJOINT_CLASS, "cax-dw")):
        for c, d in index.iter_pairs(predicate):
            axiom = (c, predicate, d)
            yield from (
                (name, (axiom, *data_triples))
                for data_triples in _iter_shared_instances(index, v, c, d)
            )
    for axioms, items in _iter_member_lists(index, v, v.ALL_DISJOINT_CLASSES, v.MEMBERS):
        for c, d in combinations(items, 2):
            yield from (
                ("cax-adc", (*axioms, *data_triples))
                for data_triples in _iter_shared_instances(index, v, c, d)
            )


def _find_cardinality_contradictions(index: Index, v: Vocabulary) -> Iterator[Contradiction]:
    for predicate in (v.MAX_CARDINALITY, v.MAX_QUALIFIED):
        for r, limit in index.iter_pairs(predicate):
            if parse_cardinality(index.terms.get_text(limit)) != 0:
                continue
            for p in index.find_objects(r, v.ON_PROPERTY):
                axioms = (r, predicate, limit), (r, v.ON_PROPERTY, p)
                for u in index.find_subjects(v.TYPE, r):
                    type_triple = (u, v.TYPE, r)
                    for y in index.find_objects(u, p):
                        fact = (u, p, y)
                        if predicate == v.MAX_CARDINALITY:
                            yield "cls-maxc1", (*axioms, type_triple, fact)
                            continue
                        for c in index.find_objects(r, v.ON_CLASS):
                            on_class = (r, v.ON_CLASS, c)
                            if c == v.THING:
                                yield "cls-maxqc2", (*axioms, on_class, type_triple, fact)
                            elif index.has_triple(y, v.TYPE, c):
                                value_type = (y, v.TYPE, c)
                                yield (
                                    "cls-maxqc1",
                                    (*axioms, on_class, type_triple, fact, value_type),
                                )


def _iter_member_lists(
    index: Index, v: Vocabulary, axiom_class: int, predicate: int
) -> Iterator[tuple[tuple[Triple, ...], tuple[int, ...]]]:
    """Yields (axiom triples, members) of each axiom of a kind that applies to a list."""
    for x in index.find_subjects(v.TYPE, axiom_class):
        for head in index.find_objects(x, predicate):
            rdf_list = read_list(index, v, head)
            if rdf_list:
                axioms = (x, v.TYPE, axiom_class), (x, predicate, head), *rdf_list.triples
                yield axioms, rdf_list.items


def _iter_shared_links(index: Index, p: int, q: int) -> Iterable[tuple[Triple, ...]]:
    for x, y in index.iter_pairs(p):
        if index.has_triple(x, q, y):
            yield (x, p, y), (x, q, y)


def _iter_shared_instances(
    index: Index, v: Vocabulary, c: int, d: int
) -> Iterable[tuple[Triple, ...]]:
    for x in index.find_subjects(v.TYPE, c):
        if index.has_triple(x, v.TYPE, d):
            yield (x, v.TYPE, c), (x, v.TYPE, d)
