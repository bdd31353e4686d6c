"""Derives axioms from axioms: the scm-* rules of OWL 2 RL, and rdfs5 and rdfs11.

All rules are applied repeatedly until no new axiom follows. In each pass, one walk per class or
property collects all its ancestors, and pairs are compared; later passes leave out those whose
axioms are as in the pass before, since nothing new follows from them.

Ontologies write the same anonymous restriction hundreds of times ("has role some evaluant role").
All copies are equivalent to the first of them, and further axioms are derived only of this one:
axioms between all copies would be a million, and say nothing more of other classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kg.reasoning.vocabulary import Vocabulary
from kg.terms import is_blank
from kg.triples.index import Index, Triple


class DerivedAxiom(NamedTuple):
    """An axiom that follows from others."""

    triple: Triple
    name: str
    premises: tuple[Triple, ...]
    trivial: bool = False
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
        rest = next(iter(index.find_objects(node, vocabulary.REST)), None)
        if first is None or rest is None or node in visited:
            return None
        visited.add(node)
        items.append(first)
        triples += [(node, vocabulary.FIRST, first), (node, vocabulary.REST, rest)]
        node = rest
    return RdfList(tuple(items), tuple(triples)) if items else None


def close_schema(
    schema: Index, lists: Index, vocabulary: Vocabulary, regime: str
) -> list[DerivedAxiom]:
    """Adds to ``schema`` all axioms that follow from its axioms.

    Args:
        schema: the axioms; changed.
        lists: the index that RDF lists are read from (the whole graph).
        vocabulary: ids of the terms.
        regime: ``rdfs`` or ``owl-rl``.

    Returns:
        The added axioms in order; the premises of each precede it.
    """
    derived_axioms: list[DerivedAxiom] = []
    is_owl = regime == "owl-rl"
    copies = _find_copied_restrictions(schema, vocabulary) if is_owl else {}
    new: _NewLinks | None = None
    grew = True
    while grew:
        class_rule = "scm-sco" if is_owl else "rdfs11"
        hierarchies = list(_derive_hierarchies(schema, vocabulary, class_rule, copies, new))
        for derived in hierarchies:
            schema.add_triple(*derived.triple)
            if new is not None:
                new.add(derived.triple)
        derived_axioms += hierarchies
        grew = bool(hierarchies)
        if not is_owl:
            continue
        following = _NewLinks(vocabulary)
        # Without copies, what is below these has all of their ancestors already.
        for derived in hierarchies if copies else ():
            following.add(derived.triple)
        for derived in _derive_owl_axioms(schema, lists, vocabulary, copies, new):
            if derived.triple[0] == derived.triple[2] and not derived.trivial:
                continue
            if schema.add_triple(*derived.triple):
                derived_axioms.append(derived)
                grew = True
                following.add(derived.triple)
                if new is not None:
                    new.add(derived.triple)
        new = following
    return derived_axioms


def _find_copied_restrictions(schema: Index, v: Vocabulary) -> dict[int, int]:
    """Returns each anonymous restriction that copies an earlier one, with the earlier one.

    Only restrictions are copies whose equivalence follows from the rules: their class or property
    must be declared. A restriction that is the class of another one is never a copy, because the
    other one is compared by what is above it.
    """
    definitions: dict[int, set[tuple[int, int, int]]] = {}
    for quantifier in (v.HAS_VALUE, v.SOME_VALUES, v.ALL_VALUES):
        for c, value in schema.iter_pairs(quantifier):
            for p in schema.find_objects(c, v.ON_PROPERTY):
                definitions.setdefault(c, set()).add((quantifier, p, value))
    copies: dict[int, int] = {}
    originals: dict[tuple[int, int, int], int] = {}
    for c, meanings in definitions.items():
        if len(meanings) > 1:
            continue
        ((quantifier, p, value),) = meanings
        original = originals.setdefault((quantifier, p, value), c)
        if (
            original != c
            and is_blank(schema.terms.get_text(c))
            and not schema.find_subjects(v.SOME_VALUES, c)
            and not schema.find_subjects(v.ALL_VALUES, c)
            and (
                schema.has_triple(p, v.TYPE, v.OBJECT_PROPERTY)
                or schema.has_triple(p, v.TYPE, v.DATA_PROPERTY)
                or (quantifier != v.HAS_VALUE and schema.has_triple(value, v.TYPE, v.CLASS))
            )
        ):
            copies[c] = original
    return copies


class _NewLinks:
    """The ends of links that were added to the hierarchies of classes and of properties."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        hierarchies = (vocabulary.SUB_CLASS, vocabulary.SUB_PROPERTY)
        self.subjects: dict[int, set[int]] = {p: set() for p in hierarchies}
        """Predicate → the subjects of its new links."""
        self.objects: dict[int, set[int]] = {p: set() for p in hierarchies}
        """Predicate → their objects."""

    def add(self, triple: Triple) -> None:
        """Adds the ends of an axiom, if it is a link of a hierarchy."""
        s, p, o = triple
        if p in self.subjects:
            self.subjects[p].add(s)
            self.objects[p].add(o)


def _derive_hierarchies(
    schema: Index,
    vocabulary: Vocabulary,
    class_rule: str,
    copies: Mapping[int, int],
    new: _NewLinks | None,
) -> Iterator[DerivedAxiom]:
    """Derives that what is below something is below all that is above this.

    Args:
        schema: the axioms.
        vocabulary: ids of the terms.
        class_rule: the name of the rule for classes, ``scm-sco`` or ``rdfs11``.
        copies: see ``_find_copied_restrictions``; of these nothing is derived here.
        new: the links added since the last pass; None in the first one.
    """
    property_rule = "scm-spo" if class_rule == "scm-sco" else "rdfs5"
    no_copies: Mapping[int, int] = {}
    for predicate, name, skipped in (
        (vocabulary.SUB_CLASS, class_rule, copies),
        (vocabulary.SUB_PROPERTY, property_rule, no_copies),
    ):
        starts: Iterable[int] = list(schema.get_subjects(predicate))
        if new is not None:
            # All others still have all of their ancestors.
            changed = set(new.subjects[predicate])
            queue = list(changed)
            for one in queue:
                below = [x for x in schema.find_subjects(predicate, one) if x not in changed]
                changed.update(below)
                queue += below
            starts = filter(changed.__contains__, starts)
        for start in starts:
            if start in skipped:
                continue
            ancestors = dict.fromkeys(schema.find_objects(start, predicate))
            queue = list(ancestors)
            # ``queue`` grows while it is iterated, so all ancestors are reached, nearest first.
            for middle in queue:
                for ancestor in schema.find_objects(middle, predicate):
                    if ancestor in ancestors or ancestor == start:
                        continue
                    # What is above a copy will be above its original, too.
                    if skipped.get(ancestor) != middle:
                        ancestors[ancestor] = None
                        queue.append(ancestor)
                        premises = (start, predicate, middle), (middle, predicate, ancestor)
                        yield DerivedAxiom((start, predicate, ancestor), name, premises)


def _derive_owl_axioms(
    schema: Index,
    lists: Index,
    v: Vocabulary,
    copies: Mapping[int, int],
    new: _NewLinks | None,
) -> Iterator[DerivedAxiom]:
    for sub_relation, equivalence, rule_1, rule_2 in (
        (v.SUB_CLASS, v.EQUIVALENT_CLASS, "scm-eqc1", "scm-eqc2"),
        (v.SUB_PROPERTY, v.EQUIVALENT_PROPERTY, "scm-eqp1", "scm-eqp2"),
    ):
        for a, b in list(schema.iter_pairs(equivalence)):
            yield DerivedAxiom((a, sub_relation, b), rule_1, ((a, equivalence, b),))
            yield DerivedAxiom((b, sub_relation, a), rule_1, ((a, equivalence, b),))
        if new is None:
            pairs = list(schema.iter_pairs(sub_relation))
        else:
            # Others were compared in the pass before.
            changed = new.subjects[sub_relation] | new.objects[sub_relation]
            starts = filter(changed.__contains__, schema.get_subjects(sub_relation))
            pairs = [(a, b) for a in starts for b in schema.find_objects(a, sub_relation)]
        for a, b in pairs:
            if schema.has_triple(b, sub_relation, a):
                mutual_links = (a, sub_relation, b), (b, sub_relation, a)
                yield DerivedAxiom((a, equivalence, b), rule_2, mutual_links)
    for predicate, class_rule, property_rule in (
        (v.DOMAIN, "scm-dom1", "scm-dom2"),
        (v.RANGE, "scm-rng1", "scm-rng2"),
    ):
        for p, c in list(schema.iter_pairs(predicate)):
            for d in list(schema.find_objects(c, v.SUB_CLASS)):
                premises: tuple[Triple, ...] = (p, predicate, c), (c, v.SUB_CLASS, d)
                yield DerivedAxiom((p, predicate, d), class_rule, premises)
            for q in list(schema.find_subjects(v.SUB_PROPERTY, p)):
                premises = (p, predicate, c), (q, v.SUB_PROPERTY, p)
                yield DerivedAxiom((q, predicate, c), property_rule, premises)
    for c, head in list(schema.iter_pairs(v.INTERSECTION)):
        rdf_list = read_list(lists, v, head)
        for part in rdf_list.items if rdf_list else ():
            premises = (c, v.INTERSECTION, head), *(rdf_list.triples if rdf_list else ())
            yield DerivedAxiom((c, v.SUB_CLASS, part), "scm-int", premises)
    for c, head in list(schema.iter_pairs(v.UNION)):
        rdf_list = read_list(lists, v, head)
        for part in rdf_list.items if rdf_list else ():
            premises = (c, v.UNION, head), *(rdf_list.triples if rdf_list else ())
            yield DerivedAxiom((part, v.SUB_CLASS, c), "scm-uni", premises)
    yield from _derive_restrictions(schema, v, copies)


def _derive_restrictions(
    schema: Index, v: Vocabulary, copies: Mapping[int, int]
) -> Iterator[DerivedAxiom]:
    """Derives that one restriction is a subclass of another: rules scm-hv, scm-svf*, scm-avf*."""
    copies_by_original: dict[int, list[int]] = {}
    for copy, original in copies.items():
        copies_by_original.setdefault(original, []).append(copy)
    for quantifier, by_class, by_property in (
        (v.HAS_VALUE, None, "scm-hv"),
        (v.SOME_VALUES, "scm-svf1", "scm-svf2"),
        (v.ALL_VALUES, "scm-avf1", "scm-avf2"),
    ):
        # Large ontologies have thousands of restrictions with the same class or property.
        by_value: dict[int, list[tuple[int, int]]] = {}
        by_meaning: dict[tuple[int, int], list[int]] = {}
        for c2, y2 in schema.iter_pairs(quantifier):
            for p2 in schema.find_objects(c2, v.ON_PROPERTY) if c2 not in copies else ():
                by_value.setdefault(y2, []).append((c2, p2))
                by_meaning.setdefault((p2, y2), []).append(c2)
        for c1, y1 in list(schema.iter_pairs(quantifier)):
            is_copy = c1 in copies
            same = [copies[c1]] if is_copy else copies_by_original.get(c1, [])
            for p1 in list(schema.find_objects(c1, v.ON_PROPERTY)):
                premises_1 = (c1, quantifier, y1), (c1, v.ON_PROPERTY, p1)
                if by_class is not None:
                    if len(schema.find_subjects(quantifier, y1)) > 1:
                        yield from _derive_reflexive_class(schema, v, y1)
                    for y2 in list(schema.find_objects(y1, v.SUB_CLASS)):
                        others = [] if is_copy else by_meaning.get((p1, y2), [])
                        for c2 in others + same if y1 == y2 else others:
                            if c1 != c2 and not schema.has_triple(c1, v.SUB_CLASS, c2):
                                premises_2 = (c2, quantifier, y2), (c2, v.ON_PROPERTY, p1)
                                premises = (*premises_1, *premises_2, (y1, v.SUB_CLASS, y2))
                                yield DerivedAxiom((c1, v.SUB_CLASS, c2), by_class, premises)
                pairs = [] if is_copy else by_value[y1]
                for c2, p2 in pairs + [(c, p1) for c in same]:
                    if c1 == c2:
                        continue
                    yield from _derive_reflexive_property(schema, v, p1, p2)
                    if schema.has_triple(p1, v.SUB_PROPERTY, p2):
                        premises_2 = (c2, quantifier, y1), (c2, v.ON_PROPERTY, p2)
                        premises = (*premises_1, *premises_2, (p1, v.SUB_PROPERTY, p2))
                        # A more general property makes "all values" stricter: the order reverses.
                        subclass, superclass = (c2, c1) if quantifier == v.ALL_VALUES else (c1, c2)
                        yield DerivedAxiom(
                            (subclass, v.SUB_CLASS, superclass), by_property, premises
                        )


def _derive_reflexive_property(
    schema: Index, v: Vocabulary, p1: int, p2: int
) -> Iterator[DerivedAxiom]:
    if p1 != p2:
        return
    for type_class, name in ((v.OBJECT_PROPERTY, "scm-op"), (v.DATA_PROPERTY, "scm-dp")):
        if schema.has_triple(p1, v.TYPE, type_class):
            yield DerivedAxiom(
                (p1, v.SUB_PROPERTY, p1), name, ((p1, v.TYPE, type_class),), trivial=True
            )


def _derive_reflexive_class(schema: Index, v: Vocabulary, c: int) -> Iterator[DerivedAxiom]:
    if schema.has_triple(c, v.TYPE, v.CLASS):
        yield DerivedAxiom((c, v.SUB_CLASS, c), "scm-cls", ((c, v.TYPE, v.CLASS),), trivial=True)
