"""Loads the SHACL shapes of a domain as ``Shapes``: parsed, checked and ready to be compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kg.base.errors import MissingShapesError, ShapesError
from kg.shapes.description import describe_constraints
from kg.shapes.excerpt import Excerpt, LeftOut, find_fixed_shapes
from kg.shapes.model import Constraint, Shape
from kg.shapes.omissions import describe_omissions, find_omissions, leave_out
from kg.shapes.reader import ShapeReader
from kg.shapes.source_files import read_shapes_files
from kg.shapes.vocabulary import SH, TARGET_PROPERTIES
from kg.terms import OWL, RDF, RDFS, to_rdflib

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node


class Shapes:
    """The shapes of one shapes graph, with all terms and constraints checked.

    ``owl:imports`` are read from the given files and those beside them, never fetched. Two
    collections with the same shapes graph and the same targeted shapes have the same ``sha256``.
    """

    def __init__(
        self,
        graph: Graph,
        shapes: dict[str, Shape],
        targeted_nodes: tuple[str, ...],
        notes: tuple[str, ...] = (),
        left_out: tuple[LeftOut, ...] = (),
    ) -> None:
        self._graph = graph
        self._left_out = left_out
        self.shapes = shapes
        """All shapes by node text."""
        self.targeted_nodes = targeted_nodes
        """Node texts of the shapes whose targets are evaluated, sorted."""
        self.notes = notes
        """What was left out of the files, in sentences."""

    @classmethod
    def load(cls, paths: Path | str | Iterable[Path | str]) -> Shapes:
        """Reads shapes from RDF files of any format that graphs may have, plain or gzip'ed.

        Raises:
            MissingFileError: a file cannot be read.
            MissingShapesError: no file was given, or none has a shape with a target.
            ShapesError: a syntax error (with line and column) or an ill-formed shape.
        """
        files = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(p) for p in paths]
        if not files:
            raise MissingShapesError("no shapes file was given", hint="Pass --shapes FILE.")
        graph, notes = read_shapes_files(files)
        shapes = cls._read_graph(graph, ", ".join(map(str, files)))
        shapes.notes = notes + shapes.notes
        if len(graph) and not any(str(pred).startswith(SH) for pred in graph.predicates()):
            raise MissingShapesError(
                "no SHACL shapes, only other triples",
                where=", ".join(map(str, files)),
                hint="If this is the graph, give it with --kg, and a SHACL file with --shapes.",
            )
        if not shapes.targeted_nodes:
            raise MissingShapesError(
                "no shape with a target",
                where=", ".join(map(str, files)),
                hint="; ".join(shapes.notes)
                or "Give shapes sh:targetClass, sh:targetNode, sh:targetSubjectsOf or "
                "sh:targetObjectsOf.",
            )
        return shapes

    @classmethod
    def _read_graph(cls, graph: Graph, source: str) -> Shapes:
        _repair_shape_types(graph)
        left_out = leave_out(graph, find_omissions(graph, source))
        while True:
            reader = ShapeReader(graph, source)
            targeted = reader.read_all()
            if not reader.omissions:
                break
            left_out += leave_out(graph, reader.omissions)
        return cls(graph, reader.shapes, tuple(targeted), describe_omissions(left_out))

    def select_shapes(self, shape_iris: Iterable[str]) -> Shapes:
        """Returns a copy in which only these shapes have targets.

        The other shapes stay, because the selected ones may refer to them.

        Raises:
            ShapesError: one of them is not a shape with a target.
        """
        selected = sorted(set(shape_iris))
        for iri in selected:
            if iri not in self.targeted_nodes:
                is_shape = iri in self.shapes
                raise ShapesError(
                    f"{iri} {'has no target' if is_shape else 'is not a shape'}",
                    hint="A rule must name shapes that have targets of their own.",
                )
        return Shapes(self._graph, self.shapes, tuple(selected), self.notes, self._left_out)

    def select_constraints(
        self,
        shape_iris: Iterable[str],
        predicates: Iterable[str],
        met_datatypes: Iterable[str] = (),
    ) -> Shapes:
        """Returns a copy in which only these shapes have targets, without what cannot be violated.

        Args:
            shape_iris: shapes with targets.
            predicates: the predicate of a claim, and those of what follows from it. Constraints
                that no triple with one of these can violate are left out.
            met_datatypes: datatypes that all values in these triples are known to have.

        Raises:
            ShapesError: one of them is not a shape with a target.
        """
        selected = self.select_shapes(shape_iris)
        excerpt = Excerpt(self.shapes, self._fixed_shapes, tuple(predicates), tuple(met_datatypes))
        excerpt.reduce(selected.targeted_nodes)
        if not excerpt.shapes:
            return selected
        left_out = (*self._left_out, *excerpt.left_out)
        shapes = self.shapes | excerpt.shapes
        return Shapes(self._graph, shapes, selected.targeted_nodes, self.notes, left_out)

    @cached_property
    def _fixed_shapes(self) -> frozenset[str]:
        return find_fixed_shapes(self.shapes)

    def list_iris(self) -> list[str]:
        """Returns the IRIs of the named shapes that have targets."""
        return [node for node in self.targeted_nodes if not node.startswith("_:")]

    def list_constraints(self) -> list[Constraint]:
        """Returns all constraints of targeted shapes in a flat form and a fixed order."""
        return list(self._constraints)

    @cached_property
    def _constraints(self) -> tuple[Constraint, ...]:
        return tuple(
            c for node in self.targeted_nodes for c in describe_constraints(self.shapes, node)
        )

    @cached_property
    def sha256(self) -> str:
        """Hex SHA-256 of the shapes graph and the list of targeted shapes."""
        digest = hashlib.sha256()
        for line in sorted(f"{s.n3()} {p.n3()} {o.n3()}" for s, p, o in self._iter_triples()):
            digest.update(line.encode())
        for node in self.targeted_nodes:
            digest.update(f"\n{node}".encode())
        return digest.hexdigest()

    def to_rdflib(self) -> Graph:
        """Returns a copy of the shapes graph in which only the targeted shapes have targets."""
        return self._copy_graph(self.targeted_nodes)

    def to_rdflib_without_targets(self) -> Graph:
        """Returns a copy of the shapes graph in which no shape has targets."""
        return self._copy_graph(())

    def _copy_graph(self, targeted_nodes: Iterable[str]) -> Graph:
        """Returns a copy of the shapes graph in which only the given shapes have targets."""
        import rdflib

        nodes_with_targets = {to_rdflib(node) for node in targeted_nodes}
        # A shape that is also a class implicitly targets its instances, so its type goes too.
        rdfs_class = rdflib.URIRef(RDFS + "Class")
        classes: set[Node] = {rdfs_class, rdflib.URIRef(OWL + "Class")}
        classes.update(self._graph.subjects(rdflib.URIRef(RDFS + "subClassOf"), rdfs_class))
        nodes_without_targets = {to_rdflib(node) for node in self.shapes} - nodes_with_targets
        target_predicates = {rdflib.URIRef(SH + name) for name in TARGET_PROPERTIES}
        rdf_type = rdflib.URIRef(RDF + "type")
        graph = rdflib.Graph(bind_namespaces="none")
        for s, p, o in self._iter_triples():
            if s in nodes_without_targets and (
                p in target_predicates or (p == rdf_type and o in classes)
            ):
                continue
            graph.add((s, p, o))
        return graph

    def _iter_triples(self) -> Iterator[tuple[Node, Node, Node]]:
        if not self._left_out:
            yield from self._graph
            return
        import rdflib

        left_out = {
            (to_rdflib(one.node), rdflib.URIRef(SH + one.key), to_rdflib(one.value))
            if one.value
            else (to_rdflib(one.node), rdflib.URIRef(SH + one.key), None)
            for one in self._left_out
        }
        for s, p, o in self._graph:
            if (s, p, o) not in left_out and (s, p, None) not in left_out:
                yield s, p, o

    def __len__(self) -> int:
        return len(self.targeted_nodes)


def _repair_shape_types(graph: Graph) -> None:
    """Makes shapes with a path ``sh:PropertyShape`` and those without one ``sh:NodeShape``.

    The path decides what a shape is, but pySHACL refuses a graph in which a type contradicts it.
    """
    from rdflib import URIRef

    rdf_type, path = URIRef(RDF + "type"), URIRef(SH + "path")
    node_shape, property_shape = URIRef(SH + "NodeShape"), URIRef(SH + "PropertyShape")
    for wrong, right, has_path in (
        (node_shape, property_shape, True),
        (property_shape, node_shape, False),
    ):
        for node in list(graph.subjects(rdf_type, wrong)):
            if ((node, path, None) in graph) is has_path:
                graph.remove((node, rdf_type, wrong))
                graph.add((node, rdf_type, right))
