"""The reference: pySHACL over the whole graph, and its report read into comparable results."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING

from kg.base.errors import ShapesEngineError
from kg.bridge import fill_rdflib
from kg.shapes import Shapes
from kg.shapes.lexicon import quiet_rdflib
from kg.shapes.model import Raw
from kg.shapes.vocabulary import SH
from kg.terms import RDF, from_rdflib

if TYPE_CHECKING:
    import rdflib

    from kg.index import Index


def index_to_rdflib(index: Index) -> rdflib.Graph:
    """The index as an rdflib graph, lexical forms kept and ``xsd:string`` dropped."""
    import rdflib

    with quiet_rdflib():
        return fill_rdflib(rdflib.Graph(bind_namespaces="none"), index)


def validate(data: rdflib.Graph, shapes_graph: rdflib.Graph, shapes: Shapes) -> Counter[Raw]:
    """Runs pySHACL: no inference, no advanced features, nothing imported, all results.

    Args:
        data: the data graph; left as it is.
        shapes_graph: what to validate against; pySHACL adds two axioms to it.
        shapes: where the shapes of ``shapes_graph`` come from, for their paths.

    Raises:
        ShapesEngineError: pySHACL gave up, e.g. on ``sh:lessThan`` over a blank node.
    """
    import pyshacl
    import rdflib

    try:
        with warnings.catch_warnings(), quiet_rdflib():
            warnings.simplefilter("ignore")
            _, report, text = pyshacl.validate(
                data,
                shacl_graph=shapes_graph,
                inference="none",
                advanced=False,
                do_owl_imports=False,
                meta_shacl=False,
                inplace=True,
            )
    except Exception as error:  # pySHACL raises its own, rdflib's and bare TypeErrors
        raise ShapesEngineError(
            f"pySHACL could not validate: {type(error).__name__}: {error!s:.200}",
            hint="Use the incremental engine, or correct the values it names.",
        ) from error
    if not isinstance(report, rdflib.Graph):
        raise ShapesEngineError(f"pySHACL could not validate: {text!s:.200}")
    return Counter(_results(report, shapes))


def _results(report: rdflib.Graph, shapes: Shapes) -> list[Raw]:
    from rdflib import URIRef

    def one(node: rdflib.term.Node, name: str) -> rdflib.term.Identifier | None:
        return report.value(node, URIRef(SH + name))  # type: ignore[return-value]  # a term

    head = report.value(predicate=URIRef(RDF + "type"), object=URIRef(SH + "ValidationReport"))
    found: list[Raw] = []
    # Details of sh:node results hang below sh:detail, so sh:result lists the outermost only.
    for result in report.objects(head, URIRef(SH + "result")):
        if one(result, "resultSeverity") != URIRef(SH + "Violation"):
            continue
        shape, component = one(result, "sourceShape"), one(result, "sourceConstraintComponent")
        path, value = one(result, "resultPath"), one(result, "value")
        focus = one(result, "focusNode")
        assert shape is not None
        assert focus is not None
        node = from_rdflib(shape)
        found.append(
            Raw(
                shape=node,
                component=str(component)[len(SH) :],
                focus=from_rdflib(focus),
                path=""
                if path is None
                else str(path)
                if isinstance(path, URIRef)
                else shapes.shapes[node].path_text,
                value="" if value is None else from_rdflib(value),
            )
        )
    return found
