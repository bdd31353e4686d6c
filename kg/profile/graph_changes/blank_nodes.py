"""Gives blank nodes IRIs and names, so that cards can ask about them.

Blank nodes that have a name of their own are things like any others: the author of a page, the
ports of a device. Many more are parts of one thing: its address, offer or rating. These are called
after it: "address of Acme", and "gain of Chorus" if each device has a port called gain.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from kg.claims import Claim
from kg.graph import Graph
from kg.profile.names import Names, Naming, choose_naming
from kg.shapes.vocabulary import SH
from kg.terms import OWL, RDF, RDF_TYPE, RDFS, write_literal
from kg.triples.index import Index
from kg.vocabulary import NAMED_NODE, is_vocabulary
from kg.words.coded_names import ClassNouns
from kg.words.label_grammar import parse_label
from kg.words.labels import LABEL_PREDICATES

MAX_OWNERS = 2
"""Maximum number of owners in a name: "address of office of Acme"."""
MIN_DISTINCT_NAMES = 0.8
"""Minimum number of distinct names of the objects of a predicate, as a share of these, to be names
of things rather than of parts that many things have."""

_SCHEMA = (RDF, RDFS, OWL, SH)
_NO_SCHEMA = frozenset(
    [
        *(RDF + name for name in ("type", "value")),
        *(RDFS + name for name in ("label", "comment", "seeAlso", "Resource")),
        *(OWL + name for name in ("sameAs", "Thing", "NamedIndividual")),
    ]
)
"""Terms of the schema's vocabularies that say something of things."""


def name_blank_nodes(graph: Graph) -> Graph | None:
    """Returns the graph with IRIs and labels for the blank nodes that can be named; None if none.

    Nodes of which nothing is said but the same name and class become one. Lists, restrictions and
    other nodes of the schema stay as they are. So do several nodes of one
    owner that are called alike, and nodes of several owners without a name of their own.

    Args:
        graph: the graph, loaded from files.
    """
    if not graph.index.terms.blanks:
        return None
    naming = choose_naming(graph)
    namer = _NodeNamer(graph, naming)
    labels = namer.name_parts()
    nodes = sorted({*namer.things, *labels})
    if not nodes:
        return None
    get_text = graph.index.terms.get_text
    iris = {
        node: NAMED_NODE + get_text(namer.originals.get(node, node)).removeprefix("_:")
        for node in nodes
    }
    renamed = graph.with_names(iris)
    # The preferred language, so that this label precedes others of the node.
    language = naming.languages[0]
    return renamed.with_claims(
        Claim(iris[node], RDFS + "label", write_literal(label, language=language))
        for node, label in labels.items()
    )


class _NodeNamer:
    """Finds what the blank nodes of a graph are called.

    Attributes:
        things: those with a name of their own that tells them from others.
        originals: those of which nothing is said but the same name and class → the first of them.
    """

    def __init__(self, graph: Graph, naming: Naming) -> None:
        self._index = index = graph.index
        self._naming = {
            index.terms.get(iri) for iri in (RDF_TYPE, *LABEL_PREDICATES, *naming.predicates)
        }
        self._labels = naming.make_labels(graph)
        self._names = Names(graph, self._labels)
        self._nouns = ClassNouns(index, self._labels.find_readable_name)
        blanks = index.terms.blanks - _find_schema_nodes(index)
        get_text = index.terms.get_text
        self._own_names = {
            node: self._labels.get_plain_label(get_text(node))
            for node in blanks
            if self._labels.has_label(get_text(node))
        }
        self.originals = self._find_originals()
        self._own_name_counts = Counter(
            name for node, name in self._own_names.items() if node not in self.originals
        )
        self._owners = _find_owners(index, blanks)
        repeated = self._find_repeated_names()
        self.things = {
            node
            for node in self._own_names
            if node not in self._owners or self._owners[node][1] not in repeated
        }
        self.originals = {
            node: first
            for node, first in self.originals.items()
            if node in self.things and first in self.things
        }

    def _find_originals(self) -> dict[int, int]:
        """Finds nodes that stand for one thing, as far as the graph can tell: Canon, a brand."""
        firsts: dict[tuple[tuple[int, int], ...], int] = {}
        originals: dict[int, int] = {}
        for node in sorted(self._own_names):
            if not self._list_facts(node):
                edges = tuple(sorted(self._index.iter_out_edges(node)))
                first = firsts.setdefault(edges, node)
                if first != node:
                    originals[node] = first
        return originals

    def _find_repeated_names(self) -> set[int]:
        """Finds the predicates to parts whose names are those of other things' parts, too."""
        names: dict[int, list[str]] = defaultdict(list)
        for node, name in self._own_names.items():
            if node in self._owners and node not in self.originals:
                names[self._owners[node][1]].append(name)
        return {
            p for p, every in names.items() if len(set(every)) < MIN_DISTINCT_NAMES * len(every)
        }

    def name_parts(self) -> dict[int, str]:
        """Returns what the nodes are called that are named after their owner."""
        parts: dict[int, list[int]] = defaultdict(list)
        for node, (owner, _) in self._owners.items():
            if node not in self.things:
                parts[owner].append(node)
        found: dict[int, str] = {}
        # What has nothing but a part is left out of its name if that is still unique: "address of
        # Acme", not "address of site address of Acme".
        owners = {owner: (name, name) for owner in parts if (name := self._find_owner_name(owner))}
        for _ in range(MAX_OWNERS):
            reached: dict[int, tuple[str, str]] = {}
            short_owner_names: dict[int, str] = {}
            for owner, (short_name, full_name) in owners.items():
                for node, noun in self._find_nouns(parts[owner]).items():
                    reached[node] = f"{noun} of {short_name}", f"{noun} of {full_name}"
                    short_owner_names[node] = short_name
            counts = Counter([*found.values(), *(short_name for short_name, _ in reached.values())])
            names = {
                node: short_name if counts[short_name] == 1 else full_name
                for node, (short_name, full_name) in reached.items()
            }
            found |= names
            owners = {
                node: (
                    names[node] if len(self._list_facts(node)) > 1 else short_owner_names[node],
                    names[node],
                )
                for node in reached
                if node in parts
            }
        return dict(sorted(found.items()))

    def _list_facts(self, node: int) -> list[tuple[int, int]]:
        """Lists what is said of a node beside its names and classes: predicates and values."""
        return [link for link in self._index.iter_out_edges(node) if link[0] not in self._naming]

    def _find_owner_name(self, owner: int) -> str:
        if owner in self._own_names:
            name = self._own_names[owner]
            others = filter(self._labels.has_label, self._labels.find_entities(name))
            is_unique = self._own_name_counts[name] == 1 and not any(others)
            return name if owner in self.things and is_unique else ""
        return self._names.get_name(owner) if self._names.is_nameable(owner) else ""

    def _find_nouns(self, nodes: list[int]) -> dict[int, str]:
        """Returns what the parts of one thing are called; not those that are called alike.

        A part is called by its own name, else by the predicate that leads to it, else by its class.
        """
        found: dict[int, str] = {}
        for find_noun in (self._own_names.get, self._find_link_noun, self._find_class_noun):
            nouns = {
                node: noun for node in nodes if node not in found and (noun := find_noun(node))
            }
            counts = Counter([*nouns.values(), *found.values()])
            found |= {node: noun for node, noun in nouns.items() if counts[noun] == 1}
        return found

    def _find_link_noun(self, node: int) -> str:
        iri = self._index.terms.get_text(self._owners[node][1])
        parsed = parse_label(self._names.find_predicate_label(iri))
        return parsed.words if parsed.kind == "noun" else ""

    def _find_class_noun(self, node: int) -> str:
        return next(iter(self._nouns.list_nouns(node)), "")


def _find_schema_nodes(index: Index) -> set[int]:
    """Finds the nodes of lists, axioms and shapes."""
    get_text = index.terms.get_text
    nodes: set[int] = set()
    for p in index.list_predicates():
        iri = get_text(p)
        if iri.startswith(_SCHEMA) and iri not in _NO_SCHEMA:
            nodes.update(index.get_subjects(p), index.get_objects(p))
        elif iri == RDF_TYPE:
            for c in index.list_distinct_objects(p):
                if get_text(c).startswith(_SCHEMA) and get_text(c) not in _NO_SCHEMA:
                    nodes.update(index.find_subjects(p, c))
    return nodes


def _find_owners(index: Index, nodes: set[int]) -> dict[int, tuple[int, int]]:
    """Returns the owner of each node that is linked from one thing, and the predicate."""
    links: dict[int, list[tuple[int, int]]] = {}
    for p in index.list_predicates():
        if is_vocabulary(index.terms.get_text(p)):
            continue
        for s, o in index.iter_pairs(p):
            if o in nodes:
                links.setdefault(o, []).append((s, p))
    return {
        node: owners[0]
        for node, owners in links.items()
        if {owner for owner, _ in owners} == {owners[0][0]} - {node}
    }
