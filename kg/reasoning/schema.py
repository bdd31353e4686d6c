"""Derives axioms from axioms: the scm-* rules of OWL 2 RL, and rdfs5 and rdfs11.

There are few axioms, so a plain loop to the fixpoint is fast enough; class and property
hierarchies are closed by one walk per class or property.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kg.index import Index, Triple
from kg.reasoning.vocabulary import Vocabulary


class DerivedAxiom(NamedTuple):
    """An axiom that follows from others."""

    triple: Triple
    name: str
    premises: tuple[Triple, ...]
    trivial: bool
    """Whether it is reflexive (``C rdfs:subClassOf C``); such axioms are derived only if another
    rule needs them as a premise."""


class RdfList(NamedTuple):
    """An RDF list: its members and the triples it consists of."""

    items: tuple[int, ...]
    triples: tuple[Triple, ...]


def read_list(index: Index, vocabulary: Vocabulary, head: int) -> RdfList | None:
    """Returns the list at ``head``, or None if it is broken, circular or empty."""
    items: list[int] = []
    triples: list[Triple] = []
    visited: set[int] = set()
    node = head
    while node != vocabulary.NIL:
        first = next(iter(index.find_objects(node, vocabulary.FIRST)), None)
        tail = next(iter(index.find_objects(node, vocabulary.REST)), None)
        if first is None or tail is None or node in visited:
            return None
        visited.add(node)
        items.append(first)
        triples += [(node, vocabulary.FIRST, first), (node, vocabulary.REST, tail)]
        node = tail
    return RdfList(tuple(items), tuple(triples)) if items else None


def close_schema(
    schema: Index, lists: Index, vocabulary: Vocabulary, regime: str
) -> list[DerivedAxiom]:
    """Closes ``schema`` in place.

    Args:
        schema: the axioms; changed.
        lists: the index that RDF lists are read from (the whole graph).
        vocabulary: ids of the terms.
        regime: ``rdfs`` or ``owl-rl``.

    Returns:
        The axioms that were added, premises first.
    """
    added: list[DerivedAxiom] = []
    owl = regime == "owl-rl"
    grew = True
    while grew:
        grew = False
        class_rule = "scm-sco" if owl else "rdfs11"
        hierarchies = list(_derive_hierarchies(schema, vocabulary, class_rule, owl))
        for derived in hierarchies:
            schema.add_triple(*derived.triple)
        added += hierarchies
        grew = bool(hierarchies)
        if not owl:
            continue
        for derived in _derive_owl_axioms(schema, lists, vocabulary):
            if derived.triple[0] == derived.triple[2] and not derived.trivial:
                continue
            if schema.add_triple(*derived.triple):
                added.append(derived)
                grew = True
    return added


def _derive_hierarchies(
    schema: Index, vocabulary: Vocabulary, class_rule: str, owl: bool
) -> Iterator[DerivedAxiom]:
    property_rule = "scm-spo" if owl else "rdfs5"
    for predicate, name in (
        (vocabulary.SUB_CLASS, class_rule),
        (vocabulary.SUB_PROPERTY, property_rule),
    ):
        for low in list(schema.get_subjects(predicate)):
            ancestors = dict.fromkeys(schema.find_objects(low, predicate))
            walk = list(ancestors)
            # ``walk`` grows while it is iterated, so all ancestors are reached, nearest first.
            for middle in walk:
                for high in schema.find_objects(middle, predicate):
                    if high not in ancestors and high != low:
                        ancestors[high] = None
                        walk.append(high)
                        premises = (low, predicate, middle), (middle, predicate, high)
                        yield DerivedAxiom((low, predicate, high), name, premises, False)


def _derive_owl_axioms(schema: Index, lists: Index, v: Vocabulary) -> Iterator[DerivedAxiom]:
    for low, high, equivalence, names in (
        (v.SUB_CLASS, v.SUB_CLASS, v.EQUIVALENT_CLASS, ("scm-eqc1", "scm-eqc2")),
        (v.SUB_PROPERTY, v.SUB_PROPERTY, v.EQUIVALENT_PROPERTY, ("scm-eqp1", "scm-eqp2")),
    ):
        for a, b in list(schema.iter_pairs(equivalence)):
            yield DerivedAxiom((a, low, b), names[0], ((a, equivalence, b),), False)
            yield DerivedAxiom((b, high, a), names[0], ((a, equivalence, b),), False)
        for a, b in list(schema.iter_pairs(low)):
            if schema.has_triple(b, low, a):
                yield DerivedAxiom((a, equivalence, b), names[1], ((a, low, b), (b, low, a)), False)
    for predicate, first, second in (
        (v.DOMAIN, "scm-dom1", "scm-dom2"),
        (v.RANGE, "scm-rng1", "scm-rng2"),
    ):
        for p, c in list(schema.iter_pairs(predicate)):
            for d in list(schema.find_objects(c, v.SUB_CLASS)):
                premises: tuple[Triple, ...] = (p, predicate, c), (c, v.SUB_CLASS, d)
                yield DerivedAxiom((p, predicate, d), first, premises, False)
            for q in list(schema.find_subjects(v.SUB_PROPERTY, p)):
                premises = (p, predicate, c), (q, v.SUB_PROPERTY, p)
                yield DerivedAxiom((q, predicate, c), second, premises, False)
    for c, head in list(schema.iter_pairs(v.INTERSECTION)):
        listed = read_list(lists, v, head)
        for part in listed.items if listed else ():
            premises = (c, v.INTERSECTION, head), *(listed.triples if listed else ())
            yield DerivedAxiom((c, v.SUB_CLASS, part), "scm-int", premises, False)
    for c, head in list(schema.iter_pairs(v.UNION)):
        listed = read_list(lists, v, head)
        for part in listed.items if listed else ():
            premises = (c, v.UNION, head), *(listed.triples if listed else ())
            yield DerivedAxiom((part, v.SUB_CLASS, c), "scm-uni", premises, False)
    yield from _derive_restrictions(schema, v)


def _derive_restrictions(schema: Index, v: Vocabulary) -> Iterator[DerivedAxiom]:
    """scm-hv, scm-svf1, scm-svf2, scm-avf1, scm-avf2: one restriction is a subclass of another."""
    for c1, value in list(schema.iter_pairs(v.HAS_VALUE)):
        for p1 in list(schema.find_objects(c1, v.ON_PROPERTY)):
            for c2, p2 in _iter_other_restrictions(schema, v, v.HAS_VALUE, value, c1):
                yield from _derive_reflexive_property(schema, v, p1, p2)
                if schema.has_triple(p1, v.SUB_PROPERTY, p2):
                    premises = (
                        (c1, v.HAS_VALUE, value), (c1, v.ON_PROPERTY, p1),
                        (c2, v.HAS_VALUE, value), (c2, v.ON_PROPERTY, p2),
                        (p1, v.SUB_PROPERTY, p2),
                    )  # fmt: skip
                    yield DerivedAxiom((c1, v.SUB_CLASS, c2), "scm-hv", premises, False)
    for quantifier, by_class, by_property in (
        (v.SOME_VALUES, "scm-svf1", "scm-svf2"),
        (v.ALL_VALUES, "scm-avf1", "scm-avf2"),
    ):
        for c1, y1 in list(schema.iter_pairs(quantifier)):
            for p1 in list(schema.find_objects(c1, v.ON_PROPERTY)):
                premises_1 = (c1, quantifier, y1), (c1, v.ON_PROPERTY, p1)
                if len(schema.find_subjects(quantifier, y1)) > 1:
                    yield from _derive_reflexive_class(schema, v, y1)
                for y2 in list(schema.find_objects(y1, v.SUB_CLASS)):
                    for c2, p2 in _iter_other_restrictions(schema, v, quantifier, y2, c1):
                        if p1 == p2:
                            premises_2 = (c2, quantifier, y2), (c2, v.ON_PROPERTY, p2)
                            premises = (*premises_1, *premises_2, (y1, v.SUB_CLASS, y2))
                            yield DerivedAxiom((c1, v.SUB_CLASS, c2), by_class, premises, False)
                for c2, p2 in _iter_other_restrictions(schema, v, quantifier, y1, c1):
                    yield from _derive_reflexive_property(schema, v, p1, p2)
                    if schema.has_triple(p1, v.SUB_PROPERTY, p2):
                        premises_2 = (c2, quantifier, y1), (c2, v.ON_PROPERTY, p2)
                        premises = (*premises_1, *premises_2, (p1, v.SUB_PROPERTY, p2))
                        # A more general property makes "all values" stricter: the order reverses.
                        low, high = (c1, c2) if quantifier == v.SOME_VALUES else (c2, c1)
                        yield DerivedAxiom((low, v.SUB_CLASS, high), by_property, premises, False)


def _iter_other_restrictions(
    schema: Index, v: Vocabulary, predicate: int, value: int, excluded: int
) -> Iterator[tuple[int, int]]:
    for c in list(schema.find_subjects(predicate, value)):
        if c != excluded:
            for p in list(schema.find_objects(c, v.ON_PROPERTY)):
                yield c, p


def _derive_reflexive_property(
    schema: Index, v: Vocabulary, p1: int, p2: int
) -> Iterator[DerivedAxiom]:
    if p1 != p2:
        return
    for kind, name in ((v.OBJECT_PROPERTY, "scm-op"), (v.DATA_PROPERTY, "scm-dp")):
        if schema.has_triple(p1, v.TYPE, kind):
            yield DerivedAxiom((p1, v.SUB_PROPERTY, p1), name, ((p1, v.TYPE, kind),), True)


def _derive_reflexive_class(schema: Index, v: Vocabulary, c: int) -> Iterator[DerivedAxiom]:
    if schema.has_triple(c, v.TYPE, v.CLASS):
        yield DerivedAxiom((c, v.SUB_CLASS, c), "scm-cls", ((c, v.TYPE, v.CLASS),), True)
