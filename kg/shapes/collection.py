"""``Shapes``: the SHACL shapes of a domain, parsed, checked and ready to be compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kg.base.errors import MissingShapesError, ShapesError
from kg.base.files import require_file
from kg.shapes.description import describe
from kg.shapes.model import Constraint, Shape
from kg.shapes.parsing import ShapeReader
from kg.shapes.vocabulary import SH, TARGETS, check_vocabulary
from kg.terms import OWL, RDF, RDFS, to_rdflib

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Identifier, Node

MAX_BYTES = 50_000_000
"""A larger shapes file is refused."""
MAX_TRIPLES = 1_000_000

_FORMATS = {
    ".ttl": "text/turtle",
    ".turtle": "text/turtle",
    ".nt": "application/n-triples",
    ".rdf": "application/rdf+xml",
    ".xml": "application/rdf+xml",
    ".owl": "application/rdf+xml",
    ".jsonld": "application/ld+json",
    ".json": "application/ld+json",
}


class Shapes:
    """A shapes graph whose every term and constraint has been checked.

    ``owl:imports`` are never followed. Two collections with the same shapes graph and the same
    targeted shapes have the same ``sha256``.
    """

    def __init__(self, graph: Graph, shapes: dict[str, Shape], targeted: tuple[str, ...]) -> None:
        self._graph = graph
        self.shapes = shapes
        """All shapes by node text."""
        self.targeted = targeted
        """Node texts of the shapes whose targets are in force, sorted."""

    @classmethod
    def load(cls, paths: Path | str | Iterable[Path | str]) -> Shapes:
        """Reads shapes from Turtle, N-Triples, RDF/XML or JSON-LD files.

        Raises:
            MissingFileError: a file cannot be read.
            MissingShapesError: no shape with a target in any of them.
            ShapesError: a syntax error (with line and column) or an ill-formed shape.
        """
        import rdflib

        files = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(p) for p in paths]
        if not files:
            raise MissingShapesError("no shapes file was given", hint="Pass --shapes FILE.")
        graph = rdflib.Graph(bind_namespaces="none")
        names: dict[tuple[int, str], str] = {}
        for number, path in enumerate(files):
            for s, p, o in _parse(require_file(path, "shapes file")):
                graph.add((_node(s, number, names), _node(p, number, names),
                           _node(o, number, names)))  # fmt: skip
                if len(graph) > MAX_TRIPLES:
                    raise ShapesError(f"more than {MAX_TRIPLES} triples", where=str(path))
        shapes = cls._from(graph, ", ".join(map(str, files)))
        if not shapes.targeted:
            raise MissingShapesError(
                "no shape with a target",
                where=", ".join(map(str, files)),
                hint="Give shapes sh:targetClass, sh:targetNode, sh:targetSubjectsOf or "
                "sh:targetObjectsOf.",
            )
        return shapes

    @classmethod
    def from_graph(cls, graph: Graph) -> Shapes:
        """Takes shapes from an rdflib graph, which is copied; it may hold no target at all.

        Raises:
            ShapesError: an ill-formed shape or an unknown term.
        """
        import rdflib

        copy = rdflib.Graph(bind_namespaces="none")
        for s, p, o in graph:
            copy.add((_plain(s), _plain(p), _plain(o)))
        return cls._from(copy, "")

    @classmethod
    def _from(cls, graph: Graph, source: str) -> Shapes:
        check_vocabulary(graph, source)
        reader = ShapeReader(graph, source)
        targeted = reader.read_all()
        return cls(graph, reader.shapes, tuple(targeted))

    def subset(self, shape_iris: Iterable[str]) -> Shapes:
        """These shapes alone keep their targets; the others stay only to be referred to.

        Raises:
            ShapesError: one of them is no shape with a target.
        """
        wanted = sorted(set(shape_iris))
        for iri in wanted:
            if iri not in self.targeted:
                known = iri in self.shapes
                raise ShapesError(
                    f"{iri} {'has no target' if known else 'is no shape'}",
                    hint="A rule must name shapes that have targets of their own.",
                )
        return Shapes(self._graph, self.shapes, tuple(wanted))

    def iris(self) -> list[str]:
        """IRIs of the named shapes that have targets."""
        return [node for node in self.targeted if not node.startswith("_:")]

    def constraints(self) -> list[Constraint]:
        """All constraints of targeted shapes, flat, in a fixed order (see ``Constraint``)."""
        return list(self._constraints)

    @cached_property
    def _constraints(self) -> tuple[Constraint, ...]:
        return tuple(c for node in self.targeted for c in describe(self.shapes, node))

    @cached_property
    def sha256(self) -> str:
        """Hex SHA-256 of the shapes graph and of which shapes are targeted."""
        digest = hashlib.sha256()
        for line in sorted(f"{s.n3()} {p.n3()} {o.n3()}" for s, p, o in self._graph):
            digest.update(line.encode())
        for node in self.targeted:
            digest.update(f"\n{node}".encode())
        return digest.hexdigest()

    def rdflib(self) -> Graph:
        """A fresh copy of the shapes graph in which only the targeted shapes have targets."""
        return self.untargeted_rdflib(keep=self.targeted)

    def untargeted_rdflib(self, keep: Iterable[str] = ()) -> Graph:
        """A fresh copy of the shapes graph without targets, except those of ``keep``."""
        import rdflib

        kept = {to_rdflib(node) for node in keep}
        # A shape that is also a class targets its instances, unless it stops being a class.
        meta = rdflib.URIRef(RDFS + "Class")
        classes: set[Node] = {meta, rdflib.URIRef(OWL + "Class")}
        classes.update(self._graph.subjects(rdflib.URIRef(RDFS + "subClassOf"), meta))
        nodes = {to_rdflib(node) for node in self.shapes} - kept
        targets = {rdflib.URIRef(SH + name) for name in TARGETS}
        rdf_type = rdflib.URIRef(RDF + "type")
        graph = rdflib.Graph(bind_namespaces="none")
        for s, p, o in self._graph:
            if s in nodes and (p in targets or (p == rdf_type and o in classes)):
                continue
            graph.add((s, p, o))
        return graph

    def __len__(self) -> int:
        return len(self.targeted)


def _parse(path: Path) -> Iterator[tuple[object, object, object]]:
    import pyoxigraph

    media_type = _FORMATS.get(path.suffix.lower())
    if media_type is None:
        raise ShapesError(
            f"unknown shapes format {path.suffix!r}",
            where=str(path),
            hint="Use .ttl, .nt, .rdf or .jsonld.",
        )
    if path.stat().st_size > MAX_BYTES:
        raise ShapesError(f"larger than {MAX_BYTES} bytes", where=str(path))
    form = pyoxigraph.RdfFormat.from_media_type(media_type)
    base = path.resolve().as_uri()
    try:
        for quad in pyoxigraph.parse(path.read_bytes(), format=form, base_iri=base):
            yield quad.subject, quad.predicate, quad.object
    except SyntaxError as error:
        place = f"{path}:{error.lineno}:{error.offset}" if error.lineno else str(path)
        raise ShapesError(
            f"the shapes do not parse: {error.msg}", where=place, hint="Correct the file."
        ) from None
    except (ValueError, OSError) as error:
        raise ShapesError(f"the shapes do not parse: {error}", where=str(path)) from None


def _node(term: object, file: int, names: dict[tuple[int, str], str]) -> Identifier:
    """A pyoxigraph term as an rdflib one; blank nodes numbered in document order."""
    import pyoxigraph
    from rdflib import BNode

    if isinstance(term, pyoxigraph.NamedNode):
        return to_rdflib(term.value)
    if isinstance(term, pyoxigraph.BlankNode):
        return BNode(names.setdefault((file, term.value), f"s{len(names):06d}"))
    if isinstance(term, pyoxigraph.Literal):
        return to_rdflib(str(term))
    raise ShapesError("RDF-star terms are not allowed in shapes")


def _plain(term: Node) -> Node:
    """``"x"^^xsd:string`` as ``"x"``: rdflib and pySHACL hold the two unequal."""
    from rdflib import XSD, Literal

    if isinstance(term, Literal) and term.datatype == XSD.string:
        return Literal(str(term))
    return term
