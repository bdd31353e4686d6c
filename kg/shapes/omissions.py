"""Leaves out of a shapes graph what cannot be evaluated, and says what was left out.

The rest of the file stays usable: a constraint that is left out can only make shapes accept more
nodes, so no claim is contradicted for it. Where accepting more would forbid more (inside
``sh:not``, ``sh:xone`` and qualified counts), the constraint around it is left out too. A target
that cannot be read is left out without a substitute, so a shape never gets more focus nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from kg.base.plain_text import clean_text
from kg.shapes.vocabulary import SH, TARGET_PROPERTIES, find_unsupported_terms
from kg.terms import RDF, RDFS

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node, URIRef

MAX_NAME_LENGTH = 200
"""Maximum characters of a name that a note quotes."""

_LIST_KEYS = ("and", "or", "xone")
_SINGLE_KEYS = ("property", "node", "not", "qualifiedValueShape")
_QUALIFIED_KEYS = (
    *("qualifiedValueShape", "qualifiedMinCount", "qualifiedMaxCount"),
    "qualifiedValueShapesDisjoint",
)
_COMPONENT = "custom constraint components"
_MISSING_SHAPE = "references to shapes that no file defines"
_INNER_SHAPE = "constraints around a constraint left out"


class Omission(NamedTuple):
    """A part of a shapes graph that is left out."""

    node: Node
    predicate: str
    """Full IRI."""
    value: Node | None
    """None: all values."""
    feature: str
    """What it is, in the plural, for the note."""
    is_constraint: bool
    """Whether the shape loses a constraint, so that it accepts more nodes."""
    place: str = ""
    """Where it is, for the note; see ``find_place``."""


def find_omissions(graph: Graph, where: str) -> list[Omission]:
    """Finds what can be recognised as unsupported by the terms used.

    Raises:
        ShapesError: a term is a misspelt term of SHACL.
    """
    from rdflib import URIRef

    omissions: list[Omission] = []
    for name, term in find_unsupported_terms(graph, where).items():
        feature = f"sh:{name} ({term.feature})"
        omissions += [
            Omission(node, SH + name, value, feature, term.is_constraint)
            for node, value in graph.subject_objects(URIRef(SH + name))
        ]
    omissions += _find_custom_constraints(graph)
    omissions += _find_missing_shapes(graph)
    return sorted(set(omissions), key=lambda o: (o.feature, str(o.node), o.predicate, str(o.value)))


def leave_out(graph: Graph, omissions: Iterable[Omission]) -> list[Omission]:
    """Removes omissions from the graph, and what may not stay without them.

    Returns:
        The omissions, and those that follow from them.
    """
    from rdflib import URIRef

    done: dict[Omission, None] = {}
    pending = list(omissions)
    visited: set[Node] = set()
    while pending:
        omission = pending.pop()
        if omission in done:
            continue
        done[omission] = None
        if omission.predicate == SH + "property":
            # A closed shape allows the paths of its property shapes, of which one is missing now.
            pending.append(omission._replace(predicate=SH + "closed", value=None))
        if omission.is_constraint and omission.node not in visited:
            visited.add(omission.node)
            pending += _find_dependents(graph, omission.node)
    placed = [o._replace(place=find_place(graph, o.node)) if o.feature else o for o in done]
    for omission in done:
        predicate = URIRef(omission.predicate)
        values = list(graph.objects(omission.node, predicate))
        for value in values if omission.value is None else [omission.value]:
            graph.remove((omission.node, predicate, value))
            _remove_unused(graph, value)
    return placed


def find_place(graph: Graph, node: Node, name: str = "") -> str:
    """Returns how a reader finds a node: by its IRI, or else what it is inside and its message.

    A blank node's label is our own, and tells a reader nothing.

    Args:
        graph: the graph.
        node: the node.
        name: how a blank node is called; its label if nothing better is known.
    """
    from rdflib import BNode, URIRef

    if not isinstance(node, BNode):
        return str(node)
    if name and not name.startswith("_:"):
        return name
    message = next(iter(sorted(map(str, graph.objects(node, URIRef(SH + "message"))))), "")
    quoted = f" (“{clean_text(message, MAX_NAME_LENGTH)}”)" if message else ""
    found = ""
    pending: list[Node] = [node]
    visited: set[Node] = {node}
    while pending and not found:
        owners = sorted({s for n in pending for s in graph.subjects(None, n)} - visited, key=str)
        visited.update(owners)
        found = next((str(owner) for owner in owners if isinstance(owner, URIRef)), "")
        pending = [owner for owner in owners if isinstance(owner, BNode)]
    if found:
        return f"inside {found}{quoted}"
    targets = (o for p in sorted(TARGET_PROPERTIES) for o in graph.objects(node, URIRef(SH + p)))
    target = next(iter(sorted(str(o) for o in targets if isinstance(o, URIRef))), "")
    return f"of {target}{quoted}" if target else f"without a name{quoted}"


def _find_dependents(graph: Graph, shape: Node) -> Iterator[Omission]:
    """Finds what else must be left out if ``shape`` has lost a constraint.

    A shape that only refers to it positively stays, but has lost a constraint itself; this is
    yielded as an omission without effect (of a value that does not occur).
    """
    from rdflib import URIRef

    def sh(name: str) -> URIRef:
        return URIRef(SH + name)

    for name in ("property", "node"):
        for parent in graph.subjects(sh(name), shape):
            yield Omission(parent, "", None, "", is_constraint=True)
    for parent in graph.subjects(sh("not"), shape):
        yield Omission(parent, SH + "not", shape, _INNER_SHAPE, is_constraint=True)
    for head in _find_list_heads(graph, shape):
        for name in _LIST_KEYS:
            for parent in graph.subjects(sh(name), head):
                predicate = SH + name if name == "xone" else ""
                feature = _INNER_SHAPE if name == "xone" else ""
                yield Omission(parent, predicate, head, feature, is_constraint=True)
    for parent in graph.subjects(sh("qualifiedValueShape"), shape):
        owners = {parent}
        for grandparent in graph.subjects(sh("property"), parent):
            owners.update(
                sibling
                for sibling in graph.objects(grandparent, sh("property"))
                if (sibling, sh("qualifiedValueShapesDisjoint"), None) in graph
            )
        for owner in sorted(owners, key=str):
            for name in _QUALIFIED_KEYS:
                if (owner, sh(name), None) in graph:
                    yield Omission(owner, SH + name, None, _INNER_SHAPE, is_constraint=True)


def _find_list_heads(graph: Graph, member: Node) -> Iterator[Node]:
    from rdflib import URIRef

    rest = URIRef(RDF + "rest")
    pending = list(graph.subjects(URIRef(RDF + "first"), member))
    visited: set[Node] = set()
    while pending:
        cell = pending.pop()
        if cell not in visited:
            visited.add(cell)
            pending += graph.subjects(rest, cell)
            yield cell


def _find_custom_constraints(graph: Graph) -> Iterator[Omission]:
    from rdflib import URIRef

    rdf_type, component_class = URIRef(RDF + "type"), URIRef(SH + "ConstraintComponent")
    classes = {component_class, *graph.subjects(URIRef(RDFS + "subClassOf"), component_class)}
    for component in {c for cls in classes for c in graph.subjects(rdf_type, cls)}:
        if str(component).startswith(SH):
            continue  # SHACL's own description of its components
        # pySHACL would evaluate a component that has its type.
        for cls in classes.intersection(graph.objects(component, rdf_type)):
            yield Omission(component, RDF + "type", cls, _COMPONENT, is_constraint=False)
        for parameter in graph.objects(component, URIRef(SH + "parameter")):
            for path in graph.objects(parameter, URIRef(SH + "path")):
                if not isinstance(path, URIRef) or str(path).startswith(SH):
                    continue
                for shape in graph.subjects(path):
                    feature = f"uses of {_COMPONENT}"
                    yield Omission(shape, str(path), None, feature, is_constraint=True)


def _find_missing_shapes(graph: Graph) -> Iterator[Omission]:
    """Finds constraints that refer to a shape of which the graph has no triple."""
    from rdflib import URIRef

    def is_missing(shape: Node) -> bool:
        return isinstance(shape, URIRef) and (shape, None, None) not in graph

    for name in _SINGLE_KEYS:
        for node, shape in graph.subject_objects(URIRef(SH + name)):
            if is_missing(shape):
                yield Omission(node, SH + name, shape, _MISSING_SHAPE, is_constraint=True)
    first = URIRef(RDF + "first")
    for member in {m for m in graph.objects(None, first, unique=True) if is_missing(m)}:
        for head in _find_list_heads(graph, member):
            for name in _LIST_KEYS:
                for node in graph.subjects(URIRef(SH + name), head):
                    yield Omission(node, SH + name, head, _MISSING_SHAPE, is_constraint=True)


def _remove_unused(graph: Graph, node: Node) -> None:
    """Removes the description of a node that nothing refers to any more, unless it is a shape."""
    from rdflib import BNode, URIRef

    rdf_type = URIRef(RDF + "type")
    shape_types = {URIRef(SH + "NodeShape"), URIRef(SH + "PropertyShape")}
    targets = {URIRef(SH + name) for name in TARGET_PROPERTIES}
    pending = [node]
    while pending:
        node = pending.pop()
        if not isinstance(node, (BNode, URIRef)) or (None, None, node) in graph:
            continue
        triples = list(graph.triples((node, None, None)))
        is_shape = any((p == rdf_type and o in shape_types) or p in targets for _, p, o in triples)
        if isinstance(node, URIRef) and (is_shape or not triples):
            continue
        for triple in triples:
            graph.remove(triple)
            # A shape or class that a definition mentions is a thing of its own.
            if isinstance(triple[2], BNode):
                pending.append(triple[2])


def describe_omissions(omissions: Iterable[Omission]) -> tuple[str, ...]:
    """Describes what was left out: one sentence for each feature, with a count and an example."""
    from rdflib import BNode

    counts: Counter[str] = Counter()
    examples: dict[str, tuple[bool, str]] = {}
    for omission in omissions:
        if omission.feature:
            counts[omission.feature] += 1
            is_blank = isinstance(omission.node, BNode)
            place = clean_text(omission.place, 2 * MAX_NAME_LENGTH)
            example = examples.get(omission.feature)
            if place and (example is None or (example[0] and not is_blank)):
                examples[omission.feature] = is_blank, place
    return tuple(
        f"shapes: {n} × {feature} left out"
        + (f", e.g. {'' if is_blank else 'of '}{place}" if place else "")
        for feature, n in sorted(counts.items())
        for is_blank, place in [examples.get(feature, (False, ""))]
    )
