"""From an RDF shapes graph to ``Shape`` records; everything ill-formed is refused by name.

pySHACL finds most of these mistakes only when a focus node happens to reach the constraint. Here
a shape that nothing reaches yet is checked all the same.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from kg.base.errors import ShapesError
from kg.shapes.model import SH_VIOLATION, Parameter, Query, Shape, Targets
from kg.shapes.paths import parse_path, path_text, read_list, sparql_path
from kg.shapes.queries import check_query, declared_prefixes
from kg.shapes.vocabulary import CONSTRAINT_PARAMETERS, NODE_KINDS, PATHS, SH, TARGETS
from kg.terms import OWL, RDF, RDFS, XSD
from kg.terms import from_rdflib as identifier_text

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Identifier, Node

MAX_NESTING = 12
"""Shapes inside shapes; pySHACL itself gives up at 15."""
MAX_PATTERN = 1_000
"""Characters in a regular expression."""

_INTEGERS = frozenset(
    XSD + name
    for name in [
        "integer",
        "int",
        "long",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
    ]
)
_SHAPES = ("not", "node", "property", "qualifiedValueShape")
_SHAPE_LISTS = ("and", "or", "xone")
_PROPERTY_ONLY = [
    "minCount",
    "maxCount",
    "uniqueLang",
    "lessThan",
    "lessThanOrEquals",
    "qualifiedValueShape",
    "qualifiedMinCount",
    "qualifiedMaxCount",
]


def from_rdflib(node: Node) -> str:
    """Term text of a node; a graph's nodes are all terms, though rdflib's types do not say so."""
    return identifier_text(cast("Identifier", node))


def component_of(parameter: str) -> str:
    """``minCount`` → ``MinCount``: the component's name without its common ending."""
    return parameter[0].upper() + parameter[1:]


class ShapeReader:
    """Reads shapes out of one graph, each once.

    Args:
        graph: the shapes graph; never changed.
        source: file names, for error messages.
    """

    def __init__(self, graph: Graph, source: str) -> None:
        self.graph = graph
        self.source = source
        self.shapes: dict[str, Shape] = {}
        self._heights: dict[str, int] = {}

    def read_all(self) -> list[str]:
        """Reads every shape of the graph; returns the nodes of those with targets, sorted.

        Raises:
            ShapesError: a shape is ill-formed or refers to itself.
        """
        for node in self._shape_nodes():
            self._read(node, (), "")
        return sorted(text for text, shape in self.shapes.items() if shape.targets)

    # Finding shapes

    def _shape_nodes(self) -> list[Node]:
        from rdflib import BNode, Literal, URIRef

        graph = self.graph
        found: set[Node] = set()
        for kind in ("NodeShape", "PropertyShape"):
            found.update(graph.subjects(URIRef(RDF + "type"), URIRef(SH + kind)))
        for name in sorted(CONSTRAINT_PARAMETERS | TARGETS | {"path"}):
            found.update(graph.subjects(URIRef(SH + name)))
        for node in found:
            if isinstance(node, Literal):
                raise ShapesError(f"a literal stands as a shape: {node!s:.80}", where=self.source)
        # Named shapes first: a blank one reached from a named one then takes its name.
        return sorted(found, key=lambda node: (isinstance(node, BNode), str(node)))

    def _read(self, node: Node, above: tuple[str, ...], name: str) -> str:
        from rdflib import BNode, Literal

        if isinstance(node, Literal):
            raise ShapesError(
                f"a literal where a shape is expected: {node!s:.80}",
                where=self._where(name or "a shape"),
            )
        text = from_rdflib(node)
        if text in above:
            raise ShapesError(
                f"recursive shape: {name or text} refers to itself",
                where=self.source,
                hint="SHACL leaves recursion undefined; a property path (sh:oneOrMorePath) can "
                "often say the same.",
            )
        own_name = text if not isinstance(node, BNode) else name or text
        where = self._where(own_name)
        if text not in self.shapes:
            self._read_new(node, text, above, own_name, where)
        if len(above) + self._heights[text] > MAX_NESTING:
            raise ShapesError(f"shapes nested deeper than {MAX_NESTING}", where=where)
        return text

    def _read_new(
        self, node: Node, text: str, above: tuple[str, ...], own_name: str, where: str
    ) -> None:
        from rdflib import BNode

        if len(above) > MAX_NESTING:
            raise ShapesError(f"shapes nested deeper than {MAX_NESTING}", where=where)
        path_node = self._single(node, "path", where)
        path = None if path_node is None else parse_path(self.graph, path_node, where)
        written = "" if path_node is None else path_text(self.graph, path_node)
        if isinstance(node, BNode) and written and above:
            own_name = f"{own_name}/{written}"
        parameters = tuple(self._parameters(node, (*above, text), own_name, where, path_node))
        severity = self._single(node, "severity", where)
        self.shapes[text] = Shape(
            node=text,
            name=own_name,
            path=path,
            path_text=written,
            parameters=parameters,
            targets=self._targets(node, where),
            severity=SH_VIOLATION if severity is None else str(severity),
            deactivated=self._boolean(node, "deactivated", where),
            messages=self._messages(node, where),
        )
        inner = [i for p in parameters for i in (*p.shapes, *p.siblings)]
        self._heights[text] = 1 + max((self._heights[i] for i in inner), default=0)

    def _targets(self, node: Node, where: str) -> Targets:
        from rdflib import URIRef

        classes = self._iris(node, "targetClass", where)
        rdf_type, sub_class = URIRef(RDF + "type"), URIRef(RDFS + "subClassOf")
        meta: set[Node] = {URIRef(RDFS + "Class"), URIRef(OWL + "Class")}
        meta.update(self.graph.subjects(sub_class, URIRef(RDFS + "Class")))
        if isinstance(node, URIRef) and meta.intersection(self.graph.objects(node, rdf_type)):
            classes = (*classes, str(node))
        return Targets(
            nodes=tuple(from_rdflib(o) for o in self._values(node, "targetNode")),
            classes=tuple(sorted(set(classes))),
            subjects_of=self._iris(node, "targetSubjectsOf", where),
            objects_of=self._iris(node, "targetObjectsOf", where),
        )

    # Constraints

    def _parameters(
        self, node: Node, above: tuple[str, ...], name: str, where: str, path_node: Node | None
    ) -> Iterator[Parameter]:
        used = {str(p)[len(SH) :] for p in self.graph.predicates(node) if str(p).startswith(SH)}
        used &= CONSTRAINT_PARAMETERS | PATHS
        if path_node is None:
            for only in _PROPERTY_ONLY:
                if only in used:
                    raise ShapesError(f"sh:{only} on a shape without sh:path", where=where)
        yield from self._value_parameters(node, where)
        yield from self._string_parameters(node, used, where)
        for key in _SHAPES[:3]:
            for value in self._values(node, key):
                inner = self._read(value, above, name)
                if key != "not" and (self.shapes[inner].path is None) == (key == "property"):
                    need = "property" if key == "property" else "node"
                    raise ShapesError(f"sh:{key} does not point to a {need} shape", where=where)
                yield Parameter(component_of(key), shapes=(inner,))
        for key in _SHAPE_LISTS:
            for value in self._values(node, key):
                members = read_list(self.graph, value, where)
                if not members:
                    raise ShapesError(f"sh:{key} has an empty list", where=where)
                inners = tuple(self._read(member, above, name) for member in members)
                yield Parameter(component_of(key), shapes=inners)
        yield from self._qualified(node, used, above, name, where)
        yield from self._closed(node, used, where)
        for value in self._values(node, "sparql"):
            query = self._query(value, path_node, where)
            yield Parameter("SPARQL", query=query)

    def _value_parameters(self, node: Node, where: str) -> Iterator[Parameter]:
        for key in ("class", "equals", "disjoint", "lessThan", "lessThanOrEquals"):
            for iri in self._iris(node, key, where):
                yield Parameter(component_of(key), terms=(iri,))
        datatype = self._single(node, "datatype", where)
        if datatype is not None:
            yield Parameter("Datatype", terms=(self._iri(datatype, "datatype", where),))
        kind = self._single(node, "nodeKind", where)
        if kind is not None:
            if str(kind).removeprefix(SH) not in NODE_KINDS:
                raise ShapesError(f"sh:nodeKind {kind!s:.80} is no node kind", where=where)
            yield Parameter("NodeKind", terms=(str(kind),))
        for key in ("minCount", "maxCount"):
            count = self._integer(node, key, where, {XSD + "integer"})
            if count is not None:
                yield Parameter(component_of(key), number=count)
        for key in ("minExclusive", "minInclusive", "maxExclusive", "maxInclusive"):
            for bound in self._values(node, key):
                text = from_rdflib(bound)
                if not text.startswith('"'):
                    raise ShapesError(f"sh:{key} is not a literal: {text:.80}", where=where)
                yield Parameter(component_of(key), terms=(text,))
        for value in self._values(node, "hasValue"):
            yield Parameter("HasValue", terms=(from_rdflib(value),))
        listed = self._single(node, "in", where)
        if listed is not None:
            members = read_list(self.graph, listed, where)
            yield Parameter("In", terms=tuple(from_rdflib(member) for member in members))

    def _string_parameters(self, node: Node, used: set[str], where: str) -> Iterator[Parameter]:
        from rdflib import Literal

        for key in ("minLength", "maxLength"):
            length = self._integer(node, key, where, _INTEGERS)
            if length is not None:
                yield Parameter(component_of(key), number=length)
        flags = self._single(node, "flags", where)
        if "flags" in used and "pattern" not in used:
            raise ShapesError("sh:flags without sh:pattern", where=where)
        for pattern in self._values(node, "pattern"):
            yield Parameter(
                "Pattern",
                text=_checked_pattern(pattern, where),
                flags="" if flags is None else _checked_flags(flags, where),
            )
        listed = self._single(node, "languageIn", where)
        if listed is not None:
            tags = read_list(self.graph, listed, where)
            if not all(isinstance(tag, Literal) and isinstance(tag.value, str) for tag in tags):
                raise ShapesError("sh:languageIn must list strings", where=where)
            yield Parameter("LanguageIn", terms=tuple(str(tag).lower() for tag in tags))
        if self._boolean(node, "uniqueLang", where):
            yield Parameter("UniqueLang")

    def _qualified(
        self, node: Node, used: set[str], above: tuple[str, ...], name: str, where: str
    ) -> Iterator[Parameter]:
        value = self._single(node, "qualifiedValueShape", where)
        counts = {key: self._integer(node, key, where, _INTEGERS) for key in
                  ("qualifiedMinCount", "qualifiedMaxCount")}  # fmt: skip
        given = {key: count for key, count in counts.items() if count is not None}
        if value is None or not given:
            if value is not None or given or "qualifiedValueShapesDisjoint" in used:
                raise ShapesError(
                    "sh:qualifiedValueShape and a qualified count need each other", where=where
                )
            return
        inner = self._read(value, above, name)
        siblings: tuple[str, ...] = ()
        if self._boolean(node, "qualifiedValueShapesDisjoint", where):
            siblings = tuple(
                self._read(other, above, name) for other in self._sibling_nodes(node, value)
            )
        for key, count in given.items():
            yield Parameter(component_of(key), shapes=(inner,), number=count, siblings=siblings)

    def _sibling_nodes(self, node: Node, value: Node) -> list[Node]:
        from rdflib import URIRef

        prop, qualified = URIRef(SH + "property"), URIRef(SH + "qualifiedValueShape")
        found = {
            other
            for parent in self.graph.subjects(prop, node)
            for sibling in self.graph.objects(parent, prop)
            for other in self.graph.objects(sibling, qualified)
        }
        return sorted(found - {value}, key=str)

    def _closed(self, node: Node, used: set[str], where: str) -> Iterator[Parameter]:
        if "ignoredProperties" in used and "closed" not in used:
            raise ShapesError("sh:ignoredProperties without sh:closed", where=where)
        if not self._boolean(node, "closed", where):
            return
        from rdflib import URIRef

        allowed: set[str] = set()
        for value in self._values(node, "ignoredProperties"):
            for member in read_list(self.graph, value, where):
                allowed.add(self._iri(member, "ignoredProperties", where))
        for shape in self._values(node, "property"):
            paths = self.graph.objects(shape, URIRef(SH + "path"))
            allowed.update(str(path) for path in paths if isinstance(path, URIRef))
        yield Parameter("Closed", terms=tuple(sorted(allowed)))

    def _query(self, node: Node, path_node: Node | None, where: str) -> Query:
        select = self._single(node, "select", where)
        if select is None:
            raise ShapesError("sh:sparql without sh:select", where=where)
        prefixes = declared_prefixes(self.graph, node, where)
        path = None if path_node is None else sparql_path(self.graph, path_node)
        return Query(
            select=str(select),
            text=check_query(str(select), prefixes, path, where),
            messages=self._messages(node, where),
            deactivated=self._boolean(node, "deactivated", where),
        )

    # Values

    def _where(self, name: str) -> str:
        return f"{self.source}: shape {name:.200}" if self.source else f"shape {name:.200}"

    def _values(self, node: Node, key: str) -> list[Node]:
        from rdflib import URIRef

        # Sorted, because rdflib hands them over in no fixed order.
        return sorted(self.graph.objects(node, URIRef(SH + key)), key=lambda o: o.n3())

    def _single(self, node: Node, key: str, where: str) -> Node | None:
        values = self._values(node, key)
        if len(values) > 1:
            raise ShapesError(f"more than one sh:{key}", where=where)
        return values[0] if values else None

    def _iri(self, value: Node, key: str, where: str) -> str:
        from rdflib import URIRef

        if not isinstance(value, URIRef):
            raise ShapesError(f"sh:{key} is not an IRI: {value!s:.80}", where=where)
        return str(value)

    def _iris(self, node: Node, key: str, where: str) -> tuple[str, ...]:
        return tuple(self._iri(value, key, where) for value in self._values(node, key))

    def _integer(
        self, node: Node, key: str, where: str, datatypes: set[str] | frozenset[str]
    ) -> int | None:
        from rdflib import Literal

        value = self._single(node, key, where)
        if value is None:
            return None
        number = value.value if isinstance(value, Literal) else None
        good = isinstance(number, int) and str(getattr(value, "datatype", "")) in datatypes
        if not good or int(number) < 0:  # type: ignore[arg-type]  # an int where good
            raise ShapesError(
                f"sh:{key} is not a non-negative integer: {value!s:.80}",
                where=where,
                hint=f"Write a bare number, as in sh:{key} 1.",
            )
        return int(number)  # type: ignore[arg-type]  # checked above

    def _boolean(self, node: Node, key: str, where: str) -> bool:
        from rdflib import Literal

        value = self._single(node, key, where)
        if value is None:
            return False
        if not isinstance(value, Literal) or not isinstance(value.value, bool):
            raise ShapesError(f"sh:{key} is neither true nor false: {value!s:.80}", where=where)
        return value.value

    def _messages(self, node: Node, where: str) -> tuple[tuple[str, str], ...]:
        from rdflib import Literal

        messages = self._values(node, "message")
        if not all(isinstance(message, Literal) for message in messages):
            raise ShapesError("sh:message is not text", where=where)
        return tuple((str(m), (getattr(m, "language", "") or "").lower()) for m in messages)


def _checked_pattern(pattern: Node, where: str) -> str:
    from rdflib import Literal

    text = str(pattern)
    if not isinstance(pattern, Literal) or len(text) > MAX_PATTERN:
        raise ShapesError(f"sh:pattern is no text of ≤ {MAX_PATTERN} characters", where=where)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ShapesError(
            f"sh:pattern {text!r:.100} is no regular expression: {error}", where=where
        ) from None
    return text


def _checked_flags(flags: Node, where: str) -> str:
    text = str(flags).lower()
    if set(text) - set("im"):
        # pySHACL would pass over the others without a word.
        raise ShapesError(f"sh:flags {text!r:.20}: only i and m are evaluated", where=where)
    return text
