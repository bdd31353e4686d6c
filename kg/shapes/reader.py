"""Reads an RDF shapes graph into ``Shape`` records and refuses ill-formed shapes.

pySHACL finds most of these mistakes only when a focus node happens to reach the constraint. Here
every shape is checked when it is read, whether or not it has focus nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from kg.base.errors import ShapesError
from kg.shapes.model import SH_VIOLATION, Parameter, Shape, SparqlQuery, Targets
from kg.shapes.omissions import Omission, find_place
from kg.shapes.paths import format_result_path, format_sparql_path, parse_path, read_list
from kg.shapes.queries import (
    UnsupportedPartError,
    check_flags,
    check_pattern,
    check_query,
    collect_prefixes,
)
from kg.shapes.vocabulary import (
    CONSTRAINT_PARAMETERS,
    INTEGER_DATATYPES,
    NODE_KINDS,
    PATH_PROPERTIES,
    SH,
    TARGET_PROPERTIES,
)
from kg.terms import OWL, RDF, RDFS, XSD
from kg.terms import from_rdflib as identifier_text

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Identifier, Node

MAX_NESTING_DEPTH = 12
"""Maximum depth of shapes inside shapes; pySHACL itself fails at 15."""

_PROPERTY_SHAPE_PARAMETERS = [
    *("minCount", "maxCount", "uniqueLang", "lessThan", "lessThanOrEquals"),
    *("qualifiedValueShape", "qualifiedMinCount", "qualifiedMaxCount"),
]
_QUALIFIED_PARAMETERS = (*_PROPERTY_SHAPE_PARAMETERS[-3:], "qualifiedValueShapesDisjoint")


def get_term_text(node: Node) -> str:
    """Returns the term text of a node."""
    # All nodes of a graph are identifiers, although rdflib's type hints do not declare it.
    return identifier_text(cast("Identifier", node))


def get_component_name(parameter: str) -> str:
    """Returns a component's name without ``ConstraintComponent``: ``minCount`` → ``MinCount``."""
    return parameter[0].upper() + parameter[1:]


class ShapeReader:
    """Reads the shapes of one graph, each once.

    Args:
        graph: the shapes graph; not changed.
        source: file names, for error messages.
    """

    def __init__(self, graph: Graph, source: str) -> None:
        self.graph = graph
        self.source = source
        self.shapes: dict[str, Shape] = {}
        self.omissions: list[Omission] = []  # the shapes are complete only if there is none
        self._heights: dict[str, int] = {}  # levels of shapes in each shape, including itself

    def read_all(self) -> list[str]:
        """Reads every shape of the graph.

        Returns:
            The nodes of the shapes with targets, sorted.

        Raises:
            ShapesError: a shape is ill-formed.
        """
        for node in self._find_shape_nodes():
            self._read_shape(node, (), "")
        return sorted(text for text, shape in self.shapes.items() if shape.targets)

    # Finding shapes

    def _find_shape_nodes(self) -> list[Node]:
        from rdflib import BNode, Literal, URIRef

        graph = self.graph
        nodes: set[Node] = set()
        for kind in ("NodeShape", "PropertyShape"):
            nodes.update(graph.subjects(URIRef(RDF + "type"), URIRef(SH + kind)))
        for name in sorted(CONSTRAINT_PARAMETERS | TARGET_PROPERTIES | {"path"}):
            nodes.update(graph.subjects(URIRef(SH + name)))
        for node in nodes:
            if isinstance(node, Literal):
                raise ShapesError(f"a literal is used as a shape: {node!s:.80}", where=self.source)
        # Named shapes first, so that blank ones inside them are named after them.
        return sorted(nodes, key=lambda node: (isinstance(node, BNode), str(node)))

    def _read_shape(self, node: Node, ancestors: tuple[str, ...], name: str) -> str:
        from rdflib import BNode, Literal

        if isinstance(node, Literal):
            raise ShapesError(
                f"a literal where a shape is expected: {node!s:.80}",
                where=self._format_location(name or "a shape"),
            )
        text = get_term_text(node)
        if text in ancestors:
            # SHACL does not define what recursive shapes mean.
            raise UnsupportedPartError("references of shapes to themselves")
        own_name = text if not isinstance(node, BNode) else name or text
        where = self._format_location(find_place(self.graph, node, own_name))
        if text not in self.shapes:
            self._read_new_shape(node, text, ancestors, own_name, where)
        # A shape read before can be nested deeper here than where it was first read.
        if len(ancestors) + self._heights[text] > MAX_NESTING_DEPTH:
            raise ShapesError(f"shapes are nested deeper than {MAX_NESTING_DEPTH}", where=where)
        return text

    def _read_new_shape(
        self, node: Node, text: str, ancestors: tuple[str, ...], own_name: str, where: str
    ) -> None:
        from rdflib import BNode

        if len(ancestors) > MAX_NESTING_DEPTH:
            raise ShapesError(f"shapes are nested deeper than {MAX_NESTING_DEPTH}", where=where)
        path_node = self._get_single(node, "path", where)
        path = None if path_node is None else parse_path(self.graph, path_node, where)
        path_text = "" if path_node is None else format_result_path(self.graph, path_node)
        if isinstance(node, BNode) and path_text and ancestors:
            own_name = f"{own_name}/{path_text}"
        chain = (*ancestors, text)
        parameters = tuple(self._read_parameters(node, chain, own_name, where, path_node))
        severity = self._get_single(node, "severity", where)
        self.shapes[text] = Shape(
            node=text,
            name=own_name,
            path=path,
            path_text=path_text,
            parameters=parameters,
            targets=self._read_targets(node),
            severity=SH_VIOLATION if severity is None else str(severity),
            deactivated=self._get_boolean(node, "deactivated", where),
            messages=self._get_messages(node, where),
        )
        nested_nodes = [i for p in parameters for i in (*p.shapes, *p.siblings)]
        self._heights[text] = 1 + max((self._heights[i] for i in nested_nodes), default=0)

    def _read_targets(self, node: Node) -> Targets:
        from rdflib import URIRef

        # Implicit class target: a shape that is also a class targets its own instances.
        classes = self._get_targets(node, "targetClass")
        rdf_type, sub_class = URIRef(RDF + "type"), URIRef(RDFS + "subClassOf")
        class_types: set[Node] = {URIRef(RDFS + "Class"), URIRef(OWL + "Class")}
        class_types.update(self.graph.subjects(sub_class, URIRef(RDFS + "Class")))
        if isinstance(node, URIRef) and class_types.intersection(
            self.graph.objects(node, rdf_type)
        ):
            classes = (*classes, str(node))
        return Targets(
            nodes=tuple(get_term_text(o) for o in self._get_values(node, "targetNode")),
            classes=tuple(sorted(set(classes))),
            subjects_of=self._get_targets(node, "targetSubjectsOf"),
            objects_of=self._get_targets(node, "targetObjectsOf"),
        )

    def _get_targets(self, node: Node, key: str) -> tuple[str, ...]:
        from rdflib import URIRef

        values = self._get_values(node, key)
        for value in values:
            if not isinstance(value, URIRef):
                feature = f"values of sh:{key} that are no IRIs"
                self.omissions.append(Omission(node, SH + key, value, feature, is_constraint=False))
        return tuple(str(value) for value in values if isinstance(value, URIRef))

    # Constraints

    def _read_parameters(
        self, node: Node, ancestors: tuple[str, ...], name: str, where: str, path_node: Node | None
    ) -> Iterator[Parameter]:
        keys = {str(p)[len(SH) :] for p in self.graph.predicates(node) if str(p).startswith(SH)}
        keys &= CONSTRAINT_PARAMETERS | PATH_PROPERTIES
        if path_node is None:
            for key in _PROPERTY_SHAPE_PARAMETERS:
                if key in keys:
                    self._leave_out(node, key, None, f"sh:{key} in a shape without sh:path")
        yield from self._read_value_parameters(node, where)
        yield from self._read_string_parameters(node, keys, where)
        for key in ("not", "node", "property"):
            for value in self._get_values(node, key):
                try:
                    inner = self._read_shape(value, ancestors, name)
                except UnsupportedPartError as error:
                    self._leave_out(node, key, value, error.feature)
                    continue
                if key != "not" and (self.shapes[inner].path is None) == (key == "property"):
                    kind = "property" if key == "property" else "node"
                    raise ShapesError(f"sh:{key} does not point to a {kind} shape", where=where)
                yield Parameter(get_component_name(key), shapes=(inner,))
        for key in ("and", "or", "xone"):
            for value in self._get_values(node, key):
                members = read_list(self.graph, value, where)
                if not members:
                    raise ShapesError(f"sh:{key} has an empty list", where=where)
                try:
                    nodes = tuple(self._read_shape(member, ancestors, name) for member in members)
                except UnsupportedPartError as error:
                    self._leave_out(node, key, value, error.feature)
                    continue
                yield Parameter(get_component_name(key), shapes=nodes)
        yield from self._read_qualified(node, keys, ancestors, name, where)
        yield from self._read_closed(node, keys, where)
        for value in self._get_values(node, "sparql"):
            try:
                yield Parameter("SPARQL", query=self._read_query(value, path_node, where))
            except UnsupportedPartError as error:
                self._leave_out(node, "sparql", value, error.feature)

    def _leave_out(self, node: Node, key: str, value: Node | None, feature: str) -> None:
        self.omissions.append(Omission(node, SH + key, value, feature, is_constraint=True))

    def _ignore(self, node: Node, key: str, other: str) -> None:
        feature = f"sh:{key} without {other}, which has no effect,"
        self.omissions.append(Omission(node, SH + key, None, feature, is_constraint=False))

    def _read_value_parameters(self, node: Node, where: str) -> Iterator[Parameter]:
        for key in ("class", "equals", "disjoint", "lessThan", "lessThanOrEquals"):
            for iri in self._get_iris(node, key, where):
                yield Parameter(get_component_name(key), terms=(iri,))
        datatype = self._get_single(node, "datatype", where)
        if datatype is not None:
            yield Parameter("Datatype", terms=(self._to_iri(datatype, "datatype", where),))
        kind = self._get_single(node, "nodeKind", where)
        if kind is not None:
            if str(kind).removeprefix(SH) not in NODE_KINDS:
                raise ShapesError(f"sh:nodeKind {kind!s:.80} is not a node kind", where=where)
            yield Parameter("NodeKind", terms=(str(kind),))
        for key in ("minCount", "maxCount"):
            count = self._get_integer(node, key, where, {XSD + "integer"})
            if count is not None:
                yield Parameter(get_component_name(key), number=count)
        for key in ("minExclusive", "minInclusive", "maxExclusive", "maxInclusive"):
            for bound in self._get_values(node, key):
                text = get_term_text(bound)
                if not text.startswith('"'):
                    raise ShapesError(f"sh:{key} is not a literal: {text:.80}", where=where)
                yield Parameter(get_component_name(key), terms=(text,))
        for value in self._get_values(node, "hasValue"):
            yield Parameter("HasValue", terms=(get_term_text(value),))
        list_node = self._get_single(node, "in", where)
        if list_node is not None:
            members = read_list(self.graph, list_node, where)
            yield Parameter("In", terms=tuple(get_term_text(member) for member in members))

    def _read_string_parameters(
        self, node: Node, keys: set[str], where: str
    ) -> Iterator[Parameter]:
        from rdflib import Literal

        for key in ("minLength", "maxLength"):
            length = self._get_integer(node, key, where, INTEGER_DATATYPES)
            if length is not None:
                yield Parameter(get_component_name(key), number=length)
        flags = self._get_single(node, "flags", where)
        if flags is not None and "pattern" not in keys:
            self._ignore(node, "flags", "sh:pattern")
        for pattern in self._get_values(node, "pattern"):
            try:
                text = check_pattern(pattern, where)
                flag_text = "" if flags is None else check_flags(flags)
            except UnsupportedPartError as error:
                self._leave_out(node, "pattern", pattern, error.feature)
                continue
            yield Parameter("Pattern", text=text, flags=flag_text)
        list_node = self._get_single(node, "languageIn", where)
        if list_node is not None:
            tags = read_list(self.graph, list_node, where)
            if not all(isinstance(tag, Literal) and isinstance(tag.value, str) for tag in tags):
                raise ShapesError("sh:languageIn must list strings", where=where)
            yield Parameter("LanguageIn", terms=tuple(str(tag).lower() for tag in tags))
        if self._get_boolean(node, "uniqueLang", where):
            yield Parameter("UniqueLang")

    def _read_qualified(
        self, node: Node, keys: set[str], ancestors: tuple[str, ...], name: str, where: str
    ) -> Iterator[Parameter]:
        value = self._get_single(node, "qualifiedValueShape", where)
        counts = {key: self._get_integer(node, key, where, INTEGER_DATATYPES) for key in
                  ("qualifiedMinCount", "qualifiedMaxCount")}  # fmt: skip
        count_by_key = {key: count for key, count in counts.items() if count is not None}
        if value is None or not count_by_key:
            for key in sorted(keys.intersection(_QUALIFIED_PARAMETERS)):
                self._ignore(node, key, "the other parameters of a qualified count")
            return
        siblings: tuple[str, ...] = ()
        try:
            inner = self._read_shape(value, ancestors, name)
            if self._get_boolean(node, "qualifiedValueShapesDisjoint", where):
                siblings = tuple(
                    self._read_shape(other, ancestors, name)
                    for other in self._find_sibling_shapes(node, value)
                )
        except UnsupportedPartError as error:
            for key in sorted(keys.intersection(_QUALIFIED_PARAMETERS)):
                self._leave_out(node, key, None, error.feature)
            return
        for key, count in count_by_key.items():
            component = get_component_name(key)
            yield Parameter(component, shapes=(inner,), number=count, siblings=siblings)

    def _find_sibling_shapes(self, node: Node, value: Node) -> list[Node]:
        from rdflib import URIRef

        prop, qualified = URIRef(SH + "property"), URIRef(SH + "qualifiedValueShape")
        sibling_shapes = {
            other
            for parent in self.graph.subjects(prop, node)
            for sibling in self.graph.objects(parent, prop)
            for other in self.graph.objects(sibling, qualified)
        }
        return sorted(sibling_shapes - {value}, key=str)

    def _read_closed(self, node: Node, keys: set[str], where: str) -> Iterator[Parameter]:
        if "ignoredProperties" in keys and "closed" not in keys:
            self._ignore(node, "ignoredProperties", "sh:closed")
        if not self._get_boolean(node, "closed", where):
            return
        from rdflib import URIRef

        allowed: set[str] = set()
        for value in self._get_values(node, "ignoredProperties"):
            for member in read_list(self.graph, value, where):
                allowed.add(self._to_iri(member, "ignoredProperties", where))
        for shape in self._get_values(node, "property"):
            paths = self.graph.objects(shape, URIRef(SH + "path"))
            allowed.update(str(path) for path in paths if isinstance(path, URIRef))
        yield Parameter("Closed", terms=tuple(sorted(allowed)))

    def _read_query(self, node: Node, path_node: Node | None, where: str) -> SparqlQuery:
        select = self._get_single(node, "select", where)
        if select is None:
            raise ShapesError("sh:sparql needs sh:select", where=where)
        prefixes = collect_prefixes(self.graph, node, where)
        path = None if path_node is None else format_sparql_path(self.graph, path_node)
        return SparqlQuery(
            select=str(select),
            text=check_query(str(select), prefixes, path, where),
            messages=self._get_messages(node, where),
            deactivated=self._get_boolean(node, "deactivated", where),
        )

    # Values

    def _format_location(self, name: str) -> str:
        return f"{self.source}: shape {name:.200}" if self.source else f"shape {name:.200}"

    def _get_values(self, node: Node, key: str) -> list[Node]:
        from rdflib import URIRef

        # Sorted, because rdflib returns them in no fixed order.
        return sorted(self.graph.objects(node, URIRef(SH + key)), key=lambda o: o.n3())

    def _get_single(self, node: Node, key: str, where: str) -> Node | None:
        values = self._get_values(node, key)
        if len(values) > 1:
            raise ShapesError(f"more than one sh:{key}", where=where)
        return values[0] if values else None

    def _to_iri(self, value: Node, key: str, where: str) -> str:
        from rdflib import URIRef

        if not isinstance(value, URIRef):
            raise ShapesError(f"sh:{key} is not an IRI: {value!s:.80}", where=where)
        return str(value)

    def _get_iris(self, node: Node, key: str, where: str) -> tuple[str, ...]:
        return tuple(self._to_iri(value, key, where) for value in self._get_values(node, key))

    def _get_integer(
        self, node: Node, key: str, where: str, datatypes: set[str] | frozenset[str]
    ) -> int | None:
        from rdflib import Literal

        value = self._get_single(node, key, where)
        if value is None:
            return None
        number = value.value if isinstance(value, Literal) else None
        is_integer = isinstance(number, int) and str(getattr(value, "datatype", "")) in datatypes
        if not is_integer or int(number) < 0:  # type: ignore[arg-type]  # checked before
            raise ShapesError(
                f"sh:{key} is not a non-negative integer: {value!s:.80}",
                where=where,
                hint=f"Write a bare number, as in sh:{key} 1.",
            )
        return int(number)  # type: ignore[arg-type]  # checked above

    def _get_boolean(self, node: Node, key: str, where: str) -> bool:
        from rdflib import Literal

        value = self._get_single(node, key, where)
        if value is None:
            return False
        if not isinstance(value, Literal) or not isinstance(value.value, bool):
            raise ShapesError(f"sh:{key} must be true or false, not {value!s:.80}", where=where)
        return value.value

    def _get_messages(self, node: Node, where: str) -> tuple[tuple[str, str], ...]:
        from rdflib import Literal

        messages = self._get_values(node, "message")
        if not all(isinstance(message, Literal) for message in messages):
            raise ShapesError("sh:message must be a literal", where=where)
        return tuple((str(m), (getattr(m, "language", "") or "").lower()) for m in messages)
