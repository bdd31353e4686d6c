"""Gives blank nodes IRIs and names, so that cards can ask about them.

Blank nodes that have a name of their own are things like any others: the author of a page, the
ports of a device. Many more are parts of one thing: its address, offer or rating. These are called
after it: "address of Acme", and "gain of Chorus" if each device has a port called gain.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from kg.base.plain_text import format_count
from kg.claims import Claim
from kg.graph import Graph
from kg.profile.names import Names, Naming, choose_naming
from kg.shapes.vocabulary import SH
from kg.terms import OWL, RDF, RDF_TYPE, RDFS, iri_tail, parse_literal, write_literal
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

MAX_CODE_LENGTH = 12
"""Maximum length of a code that tells a part from others of its kind: "release 1.18.4 of LV2"."""

_CODE = re.compile(r"[^\W_][\w.\-/]*")
_CODES = "code designation index key no number position rank revision sequence serial version"
_CODE_NOUNS = frozenset(_CODES.split(" "))
"""What predicates are called, at the end, whose values tell parts apart."""
_VALUE_NAMES = frozenset(("v", "value"))
_LIST = frozenset((RDF + "first", RDF + "rest"))
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

    Nodes of which nothing is said but the same name and class become one, and one that only holds a
    value becomes this. Lists, restrictions and other nodes of the schema stay as they are. So do
    several nodes of one owner that would be called alike, and nodes of several owners without a
    name of their own.

    Args:
        graph: the graph, loaded from files.
    """
    if not graph.index.terms.blanks:
        return None
    n_blanks = len(graph.index.terms.blanks)
    graph = _put_values_for_wrappers(graph)
    naming = choose_naming(graph)
    namer = _NodeNamer(graph, naming)
    labels = namer.name_parts()
    nodes = sorted({*namer.things, *labels})
    if not nodes:
        return graph if len(graph.index.terms.blanks) < n_blanks else None
    iris = _choose_iris(graph, {node: namer.originals.get(node, node) for node in nodes})
    renamed = graph.with_names(iris)
    # The preferred language, so that this label precedes others of the node.
    language = naming.languages[0]
    return renamed.with_claims(
        Claim(iris[node], RDFS + "label", write_literal(label, language=language))
        for node, label in labels.items()
    )


def describe_named_nodes(before: Graph, after: Graph, file: str) -> list[str]:
    """Says in sentences how many blank nodes ``name_blank_nodes`` changed.

    Args:
        before: the graph.
        after: the same graph with other changes perhaps, or the result.
        file: the name of its file.
    """
    n_changed = len(before.index.terms.blanks) - len(after.index.terms.blanks)
    n_named = _count_named(after) - _count_named(before)
    remarks = []
    if n_named:
        remarks.append(
            f"{format_count(n_named, 'blank node')} got an IRI and a name: its own, or one made "
            f"from what it belongs to (`{file}`)."
        )
    if n_changed > n_named:
        remarks.append(
            f"{format_count(n_changed - n_named, 'blank node')} that only hold a value, or are "
            "called like another of which nothing else is said, are one with it."
        )
    return remarks


def _count_named(graph: Graph) -> int:
    return sum(text.startswith(NAMED_NODE) for text in graph.index.terms.texts)


def _choose_iris(graph: Graph, originals: Mapping[int, int]) -> dict[int, str]:
    """Chooses IRIs that the graph does not have; nodes of one original get the same."""
    terms = graph.index.terms
    iris: dict[int, str] = {}
    for node in sorted(set(originals.values())):
        iri = base = NAMED_NODE + terms.get_text(node).removeprefix("_:")
        for number in itertools.count(2):
            if terms.get(iri) is None:
                break
            iri = f"{base}-{number}"
        iris[node] = iri
    return {node: iris[original] for node, original in originals.items()}


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
        self._links = _list_links(index)
        self._predicate_nouns: dict[int, str] = {}
        blanks = index.terms.blanks - _find_schema_nodes(index)
        get_text = index.terms.get_text
        self._own_names = {
            node: self._labels.get_plain_label(get_text(node))
            for node in blanks
            if self._labels.has_label(get_text(node))
        }
        self._owners = _find_owners(index, blanks)
        self.originals = self._find_originals()
        self._own_name_counts = Counter(
            self._labels.to_normal_form(name)
            for node, name in self._own_names.items()
            if node not in self.originals
        )
        repeated = self._find_repeated_names()
        self.things = {
            node
            for node, name in self._own_names.items()
            if (node not in self._owners or self._owners[node][1] not in repeated)
            and self._own_name_counts[self._labels.to_normal_form(name)] == 1
            and self._is_free(name)
        }
        self.originals = {
            node: first
            for node, first in self.originals.items()
            if node in self.things and first in self.things
        }

    def _is_free(self, name: str) -> bool:
        """Returns whether nothing with an IRI is labelled so."""
        return not any(map(self._labels.has_label, self._labels.find_entities(name)))

    def _find_originals(self) -> dict[int, int]:
        """Finds nodes that stand for one thing, as far as the graph can tell: Canon, a brand.

        Not if axioms would make other things one by them, or if one thing has two such values.
        """
        axiomatic = _find_axiomatic_predicates(self._index)
        linked: dict[int, list[tuple[int, int]]] = {}
        for p in self._index.list_predicates():
            for s, o in self._index.iter_pairs(p):
                if o in self._own_names:
                    linked.setdefault(o, []).append((p, s))
        firsts: dict[tuple[tuple[int, int], ...], int] = {}
        originals: dict[int, int] = {}
        used: set[tuple[int, tuple[int, int]]] = set()
        for node in sorted(self._own_names):
            links = linked.get(node, [])
            if self._list_facts(node) or any(p in axiomatic for p, _ in links):
                continue
            first = firsts.setdefault(tuple(sorted(self._links[node])), node)
            if used.isdisjoint((first, link) for link in links) and first != node:
                originals[node] = first
            used.update((first, link) for link in links)
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
                for node, noun in self._find_nouns(owner, parts[owner]).items():
                    reached[node] = f"{noun} of {short_name}", f"{noun} of {full_name}"
                    short_owner_names[node] = short_name
            counts = Counter([*found.values(), *(short_name for short_name, _ in reached.values())])
            names = {
                node: short_name if counts[short_name] == 1 else full_name
                for node, (short_name, full_name) in reached.items()
            }
            found |= {node: name for node, name in names.items() if self._is_free(name)}
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
        return [link for link in self._links.get(node, ()) if link[0] not in self._naming]

    def _find_owner_name(self, owner: int) -> str:
        if owner in self._own_names:
            return self._own_names[owner] if owner in self.things else ""
        return self._names.get_name(owner) if self._names.is_nameable(owner) else ""

    def _find_nouns(self, owner: int, parts: Sequence[int]) -> dict[int, str]:
        """Returns what the parts of one thing are called; not those that something else is called.

        A part is called by its own name, else by the predicate that leads to it, else by its class,
        at last with a code that only this part has, such as a number.
        """
        get_label, get_text = self._labels.get_plain_label, self._index.terms.get_text
        values = {
            p: self._index.find_objects(owner, p) for p in {self._owners[n][1] for n in parts}
        }
        names = {p: Counter(get_label(get_text(o)) for o in every) for p, every in values.items()}
        every_value = {o for _, o in self._index.iter_out_edges(owner)}
        classes = Counter(noun for o in every_value for noun in set(self._nouns.list_nouns(o)))

        def find_own_name(node: int) -> str:
            name = self._own_names.get(node, "")
            return name if names[self._owners[node][1]][name] == 1 else ""

        def find_link_noun(node: int) -> str:
            p = self._owners[node][1]
            return self._find_predicate_noun(p) if len(values[p]) == 1 else ""

        def get_class_noun(node: int) -> str:
            return next(iter(self._nouns.list_nouns(node)), "")

        def find_class_noun(node: int) -> str:
            noun = get_class_noun(node)
            return noun if classes[noun] == 1 else ""

        def find_coded_noun(node: int) -> str:
            noun = get_class_noun(node) or self._find_predicate_noun(self._owners[node][1])
            code = "" if node in self._own_names else self._find_code(node)
            return f"{noun} {code}" if noun and code else ""

        found: dict[int, str] = {}
        for find_noun in (find_own_name, find_link_noun, find_class_noun, find_coded_noun):
            nouns = {n: noun for n in parts if n not in found and (noun := find_noun(n))}
            counts = Counter([*nouns.values(), *found.values()])
            found |= {node: noun for node, noun in nouns.items() if counts[noun] == 1}
        return found

    def _find_code(self, node: int) -> str:
        """Finds the only code of a node that has one, such as its number or version."""
        get_text, is_literal = self._index.terms.get_text, self._index.terms.is_literal
        codes = {
            parse_literal(get_text(value)).lexical.strip()
            for p, value in self._links.get(node, ())
            if is_literal(value) and self._find_predicate_noun(p).split(" ")[-1] in _CODE_NOUNS
        }
        code = codes.pop() if len(codes) == 1 else ""
        return code if len(code) <= MAX_CODE_LENGTH and _CODE.fullmatch(code) else ""

    def _find_predicate_noun(self, p: int) -> str:
        noun = self._predicate_nouns.get(p)
        if noun is None:
            label = self._names.find_predicate_label(self._index.terms.get_text(p))
            parsed = parse_label(label)
            noun = self._predicate_nouns[p] = parsed.words if parsed.kind == "noun" else ""
        return noun


def _find_axiomatic_predicates(index: Index) -> set[int]:
    """Finds the predicates of which axioms say more than their kind, domain and range."""
    found: set[int] = set()
    for p in index.list_predicates():
        iri = index.terms.get_text(p)
        if iri == RDF_TYPE:
            for name in ("InverseFunctional", "Symmetric", "Transitive"):
                cls = index.terms.get(f"{OWL}{name}Property")
                found.update(() if cls is None else index.find_subjects(p, cls))
        elif iri.startswith(OWL) or iri == RDFS + "subPropertyOf":
            found.update(index.get_subjects(p), index.get_objects(p))
    return found


def _put_values_for_wrappers(graph: Graph) -> Graph:
    """Returns the graph with values in place of blank nodes that have nothing else.

    Such are ``[ fhir:v "male" ]``, and a list with one member.
    """
    index = graph.index
    get_text, get_id = index.terms.get_text, index.terms.get
    rdf_type = get_id(RDF_TYPE)
    first, rest, nil = (get_id(RDF + name) for name in ("first", "rest", "nil"))
    tails = set() if rest is None else set(index.get_objects(rest))
    kept_nodes = _find_schema_nodes(index, lists=False) | tails
    used = {o for p in index.list_predicates() for o in index.list_distinct_objects(p)}
    all_links = _list_links(index)
    held: dict[int, int] = {}
    for node, links in all_links.items():
        # What a class says of a value would be lost.
        if node in kept_nodes or node not in used or any(p == rdf_type for p, _ in links):
            continue
        facts = [link for link in links if link != (rest, nil)]
        if len(facts) == 1:
            p, value = facts[0]
            is_value = index.terms.is_literal(value) and iri_tail(get_text(p)) in _VALUE_NAMES
            if is_value or (p == first and len(links) == 2):
                held[node] = value
    values: dict[int, str] = {}
    for node in held:
        path = {node: None}
        value = held[node]
        while value in held and value not in values and value not in path:
            path[value] = None
            value = held[value]
        text = values.get(value, "" if value in path else get_text(value))
        values |= dict.fromkeys(path, text)
    values = {node: text for node, text in values.items() if text}
    if not values:
        return graph
    return graph.without((s, p, o) for s in values for p, o in all_links[s]).with_names(values)


def _list_links(index: Index) -> dict[int, list[tuple[int, int]]]:
    """Lists the predicates and values of each blank node."""
    blanks = index.terms.blanks
    links: dict[int, list[tuple[int, int]]] = {}
    for p in index.list_predicates():
        for s, o in index.iter_pairs(p):
            if s in blanks:
                links.setdefault(s, []).append((p, o))
    return links


def _find_schema_nodes(index: Index, *, lists: bool = True) -> set[int]:
    """Finds the nodes of axioms, shapes and, if asked, of lists."""
    get_text = index.terms.get_text
    nodes: set[int] = set()
    for p in index.list_predicates():
        iri = get_text(p)
        if iri in _LIST and not lists:
            continue
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
