"""What follows from axioms alone: the scm-* rules of OWL 2 RL, and rdfs5 and rdfs11.

They run on the axioms only, which are few, so a plain loop to the fixpoint is clear and fast
enough; hierarchies are closed by one walk per class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kg.index import Index, Triple
from kg.reasoning.vocabulary import Vocabulary


class Derived(NamedTuple):
    """An axiom that follows from others."""

    triple: Triple
    name: str
    premises: tuple[Triple, ...]
    trivial: bool
    """A reflexive one (``C rdfs:subClassOf C``), made only where another rule rests on it."""


class Listed(NamedTuple):
    """An RDF list read off a graph."""

    items: tuple[int, ...]
    triples: tuple[Triple, ...]


def read_list(index: Index, vocabulary: Vocabulary, head: int) -> Listed | None:
    """The list at ``head``, or None where it is broken, endless or empty."""
    items: list[int] = []
    triples: list[Triple] = []
    seen: set[int] = set()
    node = head
    while node != vocabulary.NIL:
        first = next(iter(index.objects(node, vocabulary.FIRST)), None)
        rest = next(iter(index.objects(node, vocabulary.REST)), None)
        if first is None or rest is None or node in seen:
            return None
        seen.add(node)
        items.append(first)
        triples += [(node, vocabulary.FIRST, first), (node, vocabulary.REST, rest)]
        node = rest
    return Listed(tuple(items), tuple(triples)) if items else None


def close_schema(schema: Index, lists: Index, vocabulary: Vocabulary, regime: str) -> list[Derived]:
    """Closes ``schema`` in place; returns what was added, premises first.

    Args:
        schema: the axioms, which this changes.
        lists: where RDF lists are read (the whole graph).
        vocabulary: ids of the terms.
        regime: ``rdfs`` or ``owl-rl``.
    """
    added: list[Derived] = []
    owl = regime == "owl-rl"
    grew = True
    while grew:
        grew = False
        found = list(_hierarchies(schema, vocabulary, "scm-sco" if owl else "rdfs11", owl))
        for derived in found:
            schema.add(*derived.triple)
        added += found
        grew = bool(found)
        if not owl:
            continue
        for derived in _owl(schema, lists, vocabulary):
            if derived.triple[0] == derived.triple[2] and not derived.trivial:
                continue
            if schema.add(*derived.triple):
                added.append(derived)
                grew = True
    return added


def _hierarchies(
    schema: Index, vocabulary: Vocabulary, class_rule: str, owl: bool
) -> Iterator[Derived]:
    property_rule = "scm-spo" if owl else "rdfs5"
    for predicate, name in (
        (vocabulary.SUB_CLASS, class_rule),
        (vocabulary.SUB_PROPERTY, property_rule),
    ):
        for low in list(schema.subjects_of(predicate)):
            known = dict.fromkeys(schema.objects(low, predicate))
            walk = list(known)
            # A walk that grows: what is reached through a new superior comes after it.
            for middle in walk:
                for high in schema.objects(middle, predicate):
                    if high not in known and high != low:
                        known[high] = None
                        walk.append(high)
                        premises = (low, predicate, middle), (middle, predicate, high)
                        yield Derived((low, predicate, high), name, premises, False)


def _owl(schema: Index, lists: Index, v: Vocabulary) -> Iterator[Derived]:
    for low, high, both, names in (
        (v.SUB_CLASS, v.SUB_CLASS, v.EQUIVALENT_CLASS, ("scm-eqc1", "scm-eqc2")),
        (v.SUB_PROPERTY, v.SUB_PROPERTY, v.EQUIVALENT_PROPERTY, ("scm-eqp1", "scm-eqp2")),
    ):
        for a, b in list(schema.pairs(both)):
            yield Derived((a, low, b), names[0], ((a, both, b),), False)
            yield Derived((b, high, a), names[0], ((a, both, b),), False)
        for a, b in list(schema.pairs(low)):
            if schema.has(b, low, a):
                yield Derived((a, both, b), names[1], ((a, low, b), (b, low, a)), False)
    for predicate, first, second in (
        (v.DOMAIN, "scm-dom1", "scm-dom2"),
        (v.RANGE, "scm-rng1", "scm-rng2"),
    ):
        for p, c in list(schema.pairs(predicate)):
            for d in list(schema.objects(c, v.SUB_CLASS)):
                premises: tuple[Triple, ...] = (p, predicate, c), (c, v.SUB_CLASS, d)
                yield Derived((p, predicate, d), first, premises, False)
            for q in list(schema.subjects(v.SUB_PROPERTY, p)):
                premises = (p, predicate, c), (q, v.SUB_PROPERTY, p)
                yield Derived((q, predicate, c), second, premises, False)
    for c, head in list(schema.pairs(v.INTERSECTION)):
        listed = read_list(lists, v, head)
        for part in listed.items if listed else ():
            premises = (c, v.INTERSECTION, head), *(listed.triples if listed else ())
            yield Derived((c, v.SUB_CLASS, part), "scm-int", premises, False)
    for c, head in list(schema.pairs(v.UNION)):
        listed = read_list(lists, v, head)
        for part in listed.items if listed else ():
            premises = (c, v.UNION, head), *(listed.triples if listed else ())
            yield Derived((part, v.SUB_CLASS, c), "scm-uni", premises, False)
    yield from _restrictions(schema, v)


def _restrictions(schema: Index, v: Vocabulary) -> Iterator[Derived]:
    """scm-hv, scm-svf1, scm-svf2, scm-avf1, scm-avf2: one restriction below another."""
    for c1, value in list(schema.pairs(v.HAS_VALUE)):
        for p1 in list(schema.objects(c1, v.ON_PROPERTY)):
            for c2, p2 in _others(schema, v, v.HAS_VALUE, value, c1):
                yield from _reflexive_property(schema, v, p1, p2)
                if schema.has(p1, v.SUB_PROPERTY, p2):
                    premises = (
                        (c1, v.HAS_VALUE, value), (c1, v.ON_PROPERTY, p1),
                        (c2, v.HAS_VALUE, value), (c2, v.ON_PROPERTY, p2),
                        (p1, v.SUB_PROPERTY, p2),
                    )  # fmt: skip
                    yield Derived((c1, v.SUB_CLASS, c2), "scm-hv", premises, False)
    for quantifier, by_class, by_property in (
        (v.SOME_VALUES, "scm-svf1", "scm-svf2"),
        (v.ALL_VALUES, "scm-avf1", "scm-avf2"),
    ):
        for c1, y1 in list(schema.pairs(quantifier)):
            for p1 in list(schema.objects(c1, v.ON_PROPERTY)):
                own = (c1, quantifier, y1), (c1, v.ON_PROPERTY, p1)
                if len(schema.subjects(quantifier, y1)) > 1:
                    yield from _reflexive_class(schema, v, y1)
                for y2 in list(schema.objects(y1, v.SUB_CLASS)):
                    for c2, p2 in _others(schema, v, quantifier, y2, c1):
                        if p1 == p2:
                            theirs = (c2, quantifier, y2), (c2, v.ON_PROPERTY, p2)
                            premises = (*own, *theirs, (y1, v.SUB_CLASS, y2))
                            yield Derived((c1, v.SUB_CLASS, c2), by_class, premises, False)
                for c2, p2 in _others(schema, v, quantifier, y1, c1):
                    yield from _reflexive_property(schema, v, p1, p2)
                    if schema.has(p1, v.SUB_PROPERTY, p2):
                        theirs = (c2, quantifier, y1), (c2, v.ON_PROPERTY, p2)
                        premises = (*own, *theirs, (p1, v.SUB_PROPERTY, p2))
                        # A wider property makes "all values" narrower: the order turns round.
                        low, high = (c1, c2) if quantifier == v.SOME_VALUES else (c2, c1)
                        yield Derived((low, v.SUB_CLASS, high), by_property, premises, False)


def _others(
    schema: Index, v: Vocabulary, predicate: int, value: int, but: int
) -> Iterator[tuple[int, int]]:
    for c in list(schema.subjects(predicate, value)):
        if c != but:
            for p in list(schema.objects(c, v.ON_PROPERTY)):
                yield c, p


def _reflexive_property(schema: Index, v: Vocabulary, p1: int, p2: int) -> Iterator[Derived]:
    if p1 != p2:
        return
    for kind, name in ((v.OBJECT_PROPERTY, "scm-op"), (v.DATA_PROPERTY, "scm-dp")):
        if schema.has(p1, v.TYPE, kind):
            yield Derived((p1, v.SUB_PROPERTY, p1), name, ((p1, v.TYPE, kind),), True)


def _reflexive_class(schema: Index, v: Vocabulary, c: int) -> Iterator[Derived]:
    if schema.has(c, v.TYPE, v.CLASS):
        yield Derived((c, v.SUB_CLASS, c), "scm-cls", ((c, v.TYPE, v.CLASS),), True)
