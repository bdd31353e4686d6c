"""Reads what an ontology says of its classes as links between them.

An ontology without individuals still states facts about kinds of things: "mozzarella topping is a
subclass of what has mild as its spiciness". Such a restriction becomes a link from the class to the
class or individual that it names, so that cards can ask about it as about any other fact; and the
classes above it say what kind of thing it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kg.claims import Claim
from kg.graph import Graph
from kg.profile.names import is_usable_iri
from kg.reasoning.schema import read_list
from kg.reasoning.vocabulary import Vocabulary
from kg.terms import OWL, RDFS, to_ntriples
from kg.triples.index import Triple
from kg.vocabulary import is_vocabulary

MIN_LINKS = 15
"""Minimum number of links; fewer give no cards."""


def list_class_links(graph: Graph) -> list[Claim]:
    """Lists the links between classes that restrictions state, sorted.

    There are none if the graph has as many facts about other things: then classes are not what it
    is about.
    """
    reader = _RestrictionReader(graph)
    links = dict.fromkeys(reader.iter_links())
    if len(links) < MIN_LINKS:
        return []
    index, get_text = graph.index, graph.index.terms.get_text
    n_facts = sum(
        index.count_triples(p) for p in index.list_predicates() if not is_vocabulary(get_text(p))
    )
    n_annotations = sum(
        1 for s, _, o in _iter_facts(graph) if s in reader.classes or _is_text(graph, o)
    )
    if n_facts - n_annotations >= len(links):
        return []
    kinds = [(c, reader.rdf_type, d) for c, d in reader.iter_superclasses()]
    return sorted(Claim(*map(get_text, link)) for link in (*links, *kinds))


def _iter_facts(graph: Graph) -> Iterator[Triple]:
    index, get_text = graph.index, graph.index.terms.get_text
    for p in index.list_predicates():
        if not is_vocabulary(get_text(p)):
            for s, o in index.iter_pairs(p):
                yield s, p, o


def _is_text(graph: Graph, term: int) -> bool:
    return graph.index.terms.is_literal(term)


def render_class_links(links: Sequence[Claim], head: str) -> str:
    """Renders class links as N-Triples, below a comment that begins with ``head``."""
    rows = ((claim.subj, claim.pred, claim.obj) for claim in links)
    lines = [f"{' '.join(map(to_ntriples, row))} .\n" for row in rows]
    return "".join([f"# {head}: what the ontology says of its classes\n", *lines])


class _RestrictionReader:
    """Reads restrictions of named classes."""

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
        self.classes = {c for pair in pairs for c in pair if self._is_named(c)}

    @property
    def rdf_type(self) -> int:
        """The id of ``rdf:type``."""
        return self._vocabulary.TYPE

    def iter_superclasses(self) -> Iterator[tuple[int, int]]:
        """Yields (class, named class above it): what kind of thing the class is, in a sentence."""
        for cls, other in self._index.iter_pairs(self._below) if self._below is not None else ():
            if cls != other and self._is_named(cls) and self._is_named(other):
                yield cls, other

    def iter_links(self) -> Iterator[Triple]:
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
