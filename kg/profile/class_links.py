"""Reads what an ontology says of its classes as links between them.

An ontology without individuals still states facts about kinds of things: "mozzarella topping is a
subclass of cheese topping, and of what has mild as its spiciness". A restriction becomes a link
from the class to the class or individual that it names, and a superclass a link that says what the
class is a kind of, so that cards can ask about both as about any other fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kg.claims import Claim
from kg.graph import Graph
from kg.profile.names import is_usable_iri
from kg.reasoning.schema import read_list
from kg.reasoning.vocabulary import Vocabulary
from kg.terms import OWL, RDF, RDF_TYPE, RDFS, to_ntriples, write_literal
from kg.triples.index import Triple
from kg.vocabulary import is_vocabulary

MIN_LINKS = 15
"""Minimum number of links; fewer give no cards."""
_TERM_CLASSES = (
    *(OWL + name for name in ("Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty")),
    *(RDFS + name for name in ("Class", "Datatype")),
    RDF + "Property",
)
FUNCTIONAL, INVERSE_FUNCTIONAL = OWL + "FunctionalProperty", OWL + "InverseFunctionalProperty"
KIND_OF = "urn:epoche:kind-of"
"""The predicate between a class and a class above it. ``rdfs:subClassOf`` itself defines terms, and
what defines terms is never asked about or set aside."""
_MAX_SHARE_OF_THINGS = 0.1
"""Facts about other things than classes, as a share of the links: up to this, the superclasses
alone show what an ontology is about."""


def list_class_links(graph: Graph, *, beside_things: bool = False) -> list[Claim]:
    """Lists the links between classes that restrictions and superclasses state, sorted.

    Args:
        graph: the graph.
        beside_things: whether to list them even if the graph states as much about other things, so
            that classes are not what it is about.
    """
    reader = _ClassReader(graph)
    restrictions = _leave_out_equalities(reader)
    superclasses = dict.fromkeys(reader.iter_superclasses())
    n_links = len(restrictions) + len(superclasses)
    if n_links < MIN_LINKS:
        return []
    max_facts = max(len(restrictions), _MAX_SHARE_OF_THINGS * n_links)
    if not beside_things and reader.count_facts_about_things() >= max_facts:
        return []
    get_text = graph.index.terms.get_text
    links = [Claim(*map(get_text, link)) for link in restrictions]
    links += [Claim(get_text(cls), KIND_OF, get_text(other)) for cls, other in superclasses]
    if superclasses:
        links.append(Claim(KIND_OF, RDF_TYPE, OWL + "TransitiveProperty"))
        links.append(Claim(KIND_OF, RDFS + "label", write_literal("is a kind of", language="en")))
        inherited = {p for _, p, _ in restrictions if not reader.find_equating_predicates(p)}
        for number, pred in enumerate(sorted(map(get_text, inherited))):
            links += _write_inheritance(pred, f"{KIND_OF}:{number}")
    return sorted(links)


def _leave_out_equalities(reader: _ClassReader) -> list[Triple]:
    """Lists the links of restrictions, but for those that would make two classes the same.

    A class may have one restriction to "abnormal" and another one to "elevated", a kind of it: the
    one value that a functional predicate has is of both kinds, but these are not the same kind.
    """
    links = dict.fromkeys(reader.iter_restrictions())
    equating = {p: reader.find_equating_predicates(p) for p in {p for _, p, _ in links}}
    values: dict[tuple[str, int, int], set[int]] = {}
    for s, p, o in links:
        for name, q in equating[p]:
            one, other = (s, o) if name == FUNCTIONAL else (o, s)
            values.setdefault((name, q, one), set()).add(other)
    return [
        (s, p, o)
        for s, p, o in links
        if all(len(values[name, q, s if name == FUNCTIONAL else o]) == 1 for name, q in equating[p])
    ]


def _write_inheritance(pred: str, node: str) -> Iterator[Claim]:
    """Writes that what a restriction says of a class holds of the kinds of this class, too."""
    yield Claim(pred, OWL + "propertyChainAxiom", node)
    for item, rest in ((KIND_OF, f"{node}-rest"), (pred, "")):
        yield Claim(node, RDF + "first", item)
        yield Claim(node, RDF + "rest", rest or RDF + "nil")
        node = rest


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

    def count_facts_about_things(self) -> int:
        """Counts facts that are neither texts nor about classes and predicates."""
        index = self._index
        terms = {*self._classes, *index.list_predicates()}
        for name in _TERM_CLASSES:
            cls = index.terms.get(name)
            terms.update(() if cls is None else index.find_subjects(self._vocabulary.TYPE, cls))
        return sum(
            s not in terms and not index.terms.is_literal(o)
            for p in index.list_predicates()
            if not is_vocabulary(self._get_text(p))
            for s, o in index.iter_pairs(p)
        )

    def find_equating_predicates(self, p: int) -> list[tuple[str, int]]:
        """Finds the predicates that follow from one and have one value, or one subject, by axiom.

        Returns:
            (OWL's name of the axiom, predicate).
        """
        index, get_id = self._index, self._index.terms.get
        below = get_id(RDFS + "subPropertyOf")
        predicates = [p]
        if below is not None:
            for q in predicates:
                predicates += sorted(set(index.find_objects(q, below)).difference(predicates))
        return [
            (name, q)
            for name in (FUNCTIONAL, INVERSE_FUNCTIONAL)
            if (cls := get_id(name)) is not None
            for q in predicates
            if index.has_triple(q, self._vocabulary.TYPE, cls)
        ]

    def iter_superclasses(self) -> Iterator[tuple[int, int]]:
        """Yields (class, named class above it), but for classes that are equivalent to others.

        Two equivalent classes are kinds of each other, so that kinds would not go one way.
        """
        pairs = self._index.iter_pairs(self._equivalent) if self._equivalent is not None else ()
        equivalent = {c for pair in pairs if all(map(self._is_named, pair)) for c in pair}
        for pair in self._index.iter_pairs(self._below) if self._below is not None else ():
            cls, other = pair
            if cls != other and equivalent.isdisjoint(pair) and all(map(self._is_named, pair)):
                yield cls, other

    def iter_restrictions(self) -> Iterator[Triple]:
        """Yields (class, predicate, what the restriction names)."""
        for predicate in (self._below, self._equivalent):
            if predicate is None or self._property is None:
                continue
            for cls, expression in self._index.iter_pairs(predicate):
                if self._is_named(cls):
                    for part in self._iter_parts(expression):
                        yield from self._iter_restriction(cls, part)

    def _iter_parts(self, expression: int) -> Iterator[int]:
        """Yields an expression, or the parts of which it is the intersection."""
        heads = (
            [] if self._parts is None else list(self._index.find_objects(expression, self._parts))
        )
        for head in heads:
            found = read_list(self._index, self._vocabulary, head)
            yield from found.items if found else ()
        if not heads:
            yield expression

    def _iter_restriction(self, cls: int, node: int) -> Iterator[Triple]:
        assert self._property is not None
        for p in self._index.find_objects(node, self._property):
            if not self._is_named(p):
                continue
            for predicate in self._values:
                for o in self._index.find_objects(node, predicate) if predicate is not None else ():
                    if o != cls and (self._index.terms.is_literal(o) or self._is_named(o)):
                        yield cls, p, o

    def _is_named(self, term: int) -> bool:
        text = self._get_text(term)
        return not text.startswith(('"', "_:")) and not is_vocabulary(text) and is_usable_iri(text)
