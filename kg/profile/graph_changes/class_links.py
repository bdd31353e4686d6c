"""Reads what an ontology says of its classes as links between them.

An ontology without individuals still states facts about kinds of things: "mozzarella topping is a
subclass of cheese topping, and of what has mild as its spiciness". A restriction becomes a link
from the class to the class or individual that it names, and a superclass a link that says what the
class is a kind of, so that cards can ask about both as about any other fact.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from kg.claims import Claim
from kg.graph import Graph
from kg.profile.known_labels import find_known_label
from kg.profile.names import is_usable_iri
from kg.reasoning.schema import read_list
from kg.reasoning.vocabulary import Vocabulary
from kg.terms import OWL, RDF, RDF_TYPE, RDFS, iri_tail, is_iri, to_ntriples, write_literal
from kg.triples.index import Triple
from kg.vocabulary import is_vocabulary
from kg.words.label_grammar import split_name

MIN_LINKS = 15
"""Minimum number of links; fewer give no cards."""
_TERM_CLASSES = (
    *(OWL + name for name in ("Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty")),
    *(RDFS + name for name in ("Class", "Datatype")),
    RDF + "Property",
)
_FUNCTIONAL, _TRANSITIVE = OWL + "FunctionalProperty", OWL + "TransitiveProperty"
KIND_OF = "urn:epoche:kind-of"
"""The predicate between a class and a class above it. ``rdfs:subClassOf`` itself defines terms, and
what defines terms is never asked about."""
_SOME = "urn:epoche:some:"
_MAX_SHARE_OF_THINGS = 0.1
"""Facts about other things than classes, as a share of the links: up to this, the superclasses
alone show what an ontology is about."""


def links_classes(pred: str) -> bool:
    """Returns whether a predicate is one of the links that restrictions state."""
    return pred.startswith(_SOME)


def list_class_links(graph: Graph, *, beside_things: bool = False) -> list[Claim]:
    """Lists the links between classes that restrictions and superclasses state, sorted.

    A link says that each instance of a class is linked with some instance of another. What the
    ontology says of predicates need not hold of such links: each nucleus is part of some cell, but
    not each cell has a nucleus. So the links have predicates of their own with the same labels. Of
    a predicate with one value, a class keeps its link only if no class above it has another one.

    Args:
        graph: the graph.
        beside_things: whether to list them even if the graph states as much about other things, so
            that classes are not what it is about.
    """
    reader = _ClassReader(graph)
    superclasses = dict.fromkeys(reader.iter_superclasses())
    restrictions = _select_restrictions(reader, superclasses)
    n_links = len(restrictions) + len(superclasses)
    if n_links < MIN_LINKS:
        return []
    max_facts = max(len(restrictions), _MAX_SHARE_OF_THINGS * n_links)
    if not beside_things and reader.count_facts_about_things() >= max_facts:
        return []
    get_text = graph.index.terms.get_text
    names: dict[int, str] = {}
    for p in sorted({p for _, p, _ in restrictions}, key=get_text):
        name = _SOME + re.split(r"[/#:]", get_text(p))[-1]
        names[p] = f"{name}-{len(names)}" if name in names.values() else name
    links = [Claim(get_text(s), names[p], get_text(o)) for s, p, o in restrictions]
    links += [Claim(get_text(cls), KIND_OF, get_text(other)) for cls, other in superclasses]
    for p in names:
        links += reader.iter_axioms_of_links(p, names)
    if superclasses:
        links.append(Claim(KIND_OF, RDF_TYPE, _TRANSITIVE))
        links.append(Claim(KIND_OF, RDFS + "label", write_literal("is a kind of", language="en")))
        for p in names:
            if not reader.find_functional(p):
                links += _write_inheritance(names[p])
    return sorted(set(links))


def _select_restrictions(
    reader: _ClassReader, superclasses: Iterable[tuple[int, int]]
) -> list[Triple]:
    """Selects the links of restrictions, but for those that would make two classes the same.

    A class may have one restriction to "abnormal" and another one to "elevated", a kind of it: the
    one value that a functional predicate has is of both kinds, but these are not the same kind.
    """
    above: dict[int, list[int]] = {}
    for cls, other in superclasses:
        above.setdefault(cls, []).append(other)
    links = dict.fromkeys(reader.iter_restrictions())
    functional = {p: reader.find_functional(p) for p in {p for _, p, _ in links}}
    values: dict[tuple[int, int], set[int]] = {}
    for s, p, o in links:
        for q in functional[p]:
            values.setdefault((q, s), set()).add(o)

    def list_values(q: int, s: int) -> set[int]:
        """Lists the values of a class and of all classes above it."""
        reached = [s]
        for cls in reached:
            reached += sorted(set(above.get(cls, ())).difference(reached))
        return set().union(*(values.get((q, cls), ()) for cls in reached))

    return [
        (s, p, o) for s, p, o in links if all(len(list_values(q, s)) == 1 for q in functional[p])
    ]


def _write_inheritance(pred: str) -> Iterator[Claim]:
    """Writes that a link of a class is one of its kinds, too, and leads to what its end is."""
    for side, chain in enumerate(((KIND_OF, pred), (pred, KIND_OF))):
        node, rest = f"{pred}:chain:{side}", f"{pred}:chain:{side}:rest"
        yield Claim(pred, OWL + "propertyChainAxiom", node)
        yield Claim(node, RDF + "first", chain[0])
        yield Claim(node, RDF + "rest", rest)
        yield Claim(rest, RDF + "first", chain[1])
        yield Claim(rest, RDF + "rest", RDF + "nil")


def drop_superclasses(graph: Graph, links: Iterable[Triple]) -> Graph:
    """Returns a graph without the axioms that links of kinds were taken from."""
    index = graph.index
    kind_of, below = index.terms.get(KIND_OF), index.terms.get(RDFS + "subClassOf")
    if kind_of is None or below is None:
        return graph
    axioms = ((s, below, o) for s, p, o in links if p == kind_of)
    return graph.without([axiom for axiom in axioms if index.has_triple(*axiom)])


def render_class_links(links: Sequence[Claim], head: str) -> str:
    """Renders class links as N-Triples, below a comment that begins with ``head``."""
    rows = ((claim.subj, claim.pred, claim.obj) for claim in links)
    lines = [f"{' '.join(map(to_ntriples, row))} .\n" for row in rows]
    return "".join([f"# {head}: what the ontology says of its classes\n", *lines])


class _ClassReader:
    """Reads restrictions and superclasses of named classes."""

    def __init__(self, graph: Graph) -> None:
        self._index = graph.index
        self._get_text = graph.index.terms.get_text
        get_id = graph.index.terms.get
        self._vocabulary = Vocabulary.get_for_table(graph.index.terms)
        self._equivalent = get_id(OWL + "equivalentClass")
        self._parts = get_id(OWL + "intersectionOf")
        self._below = get_id(RDFS + "subClassOf")
        self._property = get_id(OWL + "onProperty")
        self._values = [get_id(OWL + name) for name in ("someValuesFrom", "hasValue")]
        pairs = self._index.iter_pairs(self._below) if self._below is not None else ()
        self._classes = {c for pair in pairs for c in pair if self._is_named(c)}

    @cached_property
    def _same_classes(self) -> dict[int, int]:
        """Class → the one of those that are the same as it that most is said of.

        Classes are the same if they are declared to be equivalent, or kinds of each other. Two that
        are equivalent to the same class of another vocabulary, of which this graph says nothing,
        need not be: alignments of ontologies are rarely so exact.
        """
        leaders: dict[int, int] = {}

        def find_leader(cls: int) -> int:
            while (leader := leaders.setdefault(cls, cls)) != cls:
                leaders[cls] = leaders[leader]  # a shorter way for the next time
                cls = leader
            return cls

        n_pairs: Counter[int] = Counter()
        for predicate in (self._below, self._equivalent):
            for pair in self._index.iter_pairs(predicate) if predicate is not None else ():
                n_pairs.update(pair)
                one, other = pair
                is_same = predicate == self._equivalent or one in self._list_superclasses(other)
                if is_same and all(self._is_named(c) and self._is_described(c) for c in pair):
                    leaders[find_leader(one)] = find_leader(other)
        groups: dict[int, list[int]] = {}
        for cls in list(leaders):
            groups.setdefault(find_leader(cls), []).append(cls)
        best = {
            leader: min(group, key=lambda c: (-n_pairs[c], self._get_text(c)))
            for leader, group in groups.items()
        }
        return {cls: best[find_leader(cls)] for cls in leaders}

    def _list_superclasses(self, cls: int) -> Collection[int]:
        return () if self._below is None else self._index.find_objects(cls, self._below)

    def _find_same(self, term: int) -> int:
        return self._same_classes.get(term, term)

    def count_facts_about_things(self) -> int:
        """Counts facts that are not about classes and predicates."""
        index = self._index
        terms = {*self._classes, *index.list_predicates()}
        for name in _TERM_CLASSES:
            cls = index.terms.get(name)
            terms.update(() if cls is None else index.find_subjects(self._vocabulary.TYPE, cls))
        return sum(
            s not in terms and not self._get_text(s).startswith("_:")
            for p in index.list_predicates()
            if not is_vocabulary(self._get_text(p))
            for s, _ in index.iter_pairs(p)
        )

    def _list_more_general(self, p: int) -> list[int]:
        """Lists a predicate and those that follow from it."""
        index, get_id = self._index, self._index.terms.get
        below, equal = get_id(RDFS + "subPropertyOf"), get_id(OWL + "equivalentProperty")
        found = [p]
        for q in found:
            more = set() if below is None else set(index.find_objects(q, below))
            if equal is not None:
                more |= {*index.find_objects(q, equal), *index.find_subjects(equal, q)}
            found += sorted(more.difference(found))
        return found

    def _is_of_type(self, p: int, name: str) -> bool:
        cls = self._index.terms.get(name)
        return cls is not None and self._index.has_triple(p, self._vocabulary.TYPE, cls)

    def find_functional(self, p: int) -> list[int]:
        """Finds the predicates that follow from one and have one value by axiom."""
        return [q for q in self._list_more_general(p) if self._is_of_type(q, _FUNCTIONAL)]

    def iter_axioms_of_links(self, p: int, names: Mapping[int, str]) -> Iterator[Claim]:
        """Yields the labels of a predicate, and its axioms that hold of links between classes, too.

        Args:
            p: the predicate.
            names: the predicate of each link → that of the links between classes.
        """
        index, get_text = self._index, self._get_text
        label = index.terms.get(RDFS + "label")
        texts = [] if label is None else [get_text(o) for o in index.find_objects(p, label)]
        name = find_known_label(get_text(p)) or split_name(iri_tail(get_text(p)))
        for text in texts or [write_literal(name)]:
            yield Claim(names[p], RDFS + "label", text)
        for kind in (_TRANSITIVE, _FUNCTIONAL):
            if self._is_of_type(p, kind):
                yield Claim(names[p], RDF_TYPE, kind)
        for q in self._list_more_general(p):
            if q != p and q in names:
                yield Claim(names[p], RDFS + "subPropertyOf", names[q])

    def iter_superclasses(self) -> Iterator[tuple[int, int]]:
        """Yields (class, named class above it)."""
        for cls, part in self._iter_descriptions():
            one, other = self._find_same(cls), self._find_same(part)
            if self._is_named(part) and one != other:
                yield one, other

    def iter_restrictions(self) -> Iterator[Triple]:
        """Yields (class, predicate, what the restriction names)."""
        for cls, part in self._iter_descriptions():
            for p, value in self._iter_restriction(part):
                one, other = self._find_same(cls), self._find_same(value)
                if one != other:
                    yield one, p, other

    def _iter_descriptions(self) -> Iterator[tuple[int, int]]:
        """Yields (named class, class above it or equivalent, or a part of this or of itself)."""
        for cls, head in self._index.iter_pairs(self._parts) if self._parts is not None else ():
            if self._is_named(cls):
                for part in self._list_members(head):
                    yield cls, part
        for predicate in (self._below, self._equivalent):
            for cls, expression in (
                self._index.iter_pairs(predicate) if predicate is not None else ()
            ):
                is_alias = predicate == self._equivalent and not (
                    self._is_described(cls) and self._is_described(expression)
                )
                if self._is_named(cls) and not is_alias:
                    for part in self._iter_parts(expression):
                        yield cls, part

    def _iter_parts(self, expression: int) -> Iterator[int]:
        """Yields an expression or, if it has no name, the parts of which it is the intersection."""
        heads = () if self._parts is None else self._index.find_objects(expression, self._parts)
        if not heads or self._is_named(expression):
            yield expression
        else:
            for head in heads:
                yield from self._list_members(head)

    def _list_members(self, head: int) -> Sequence[int]:
        found = read_list(self._index, self._vocabulary, head)
        return found.items if found else ()

    def _iter_restriction(self, node: int) -> Iterator[tuple[int, int]]:
        """Yields (predicate, what a restriction names); nothing for other classes."""
        for p in (
            self._index.find_objects(node, self._property) if self._property is not None else ()
        ):
            for predicate in self._values if self._is_named(p) else ():
                for o in self._index.find_objects(node, predicate) if predicate is not None else ():
                    if self._index.terms.is_literal(o) or self._is_named(o):
                        yield p, o

    def _is_described(self, cls: int) -> bool:
        """Returns whether the graph says what a class is a kind of, or has kinds of it."""
        if cls in self._classes or not self._is_named(cls):
            return True
        equal = () if self._equivalent is None else self._index.find_objects(cls, self._equivalent)
        return not all(map(self._is_named, equal))

    def _is_named(self, term: int) -> bool:
        text = self._get_text(term)
        return is_iri(text) and not is_vocabulary(text) and is_usable_iri(text)
