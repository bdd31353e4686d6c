"""Runs pySHACL, the reference engine, and converts its report to the results of our own engine."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING

from kg.base.errors import ShapesEngineError, ShapesError
from kg.base.time_budget import VARIABLE, limit_time
from kg.shapes import Shapes
from kg.shapes.model import RawResult
from kg.shapes.rdflib_terms import silence_rdflib
from kg.shapes.vocabulary import SH
from kg.terms import RDF, from_rdflib
from kg.triples.rdflib_bridge import fill_rdflib_graph

if TYPE_CHECKING:
    import rdflib

    from kg.triples.index import Index


def index_to_rdflib(index: Index) -> rdflib.Graph:
    """Converts an index to an rdflib graph, as described in ``fill_rdflib_graph``."""
    import rdflib

    with silence_rdflib():
        return fill_rdflib_graph(rdflib.Graph(bind_namespaces="none"), index)


PYSHACL_FACTOR = 6
"""How many times the seconds for one shape on one node pySHACL may take for all."""


def run_pyshacl(
    data: rdflib.Graph, shapes_graph: rdflib.Graph, shapes: Shapes
) -> Counter[RawResult]:
    """Runs pySHACL without inference, advanced features or imports; returns all violations.

    Args:
        data: the data graph; it is not changed.
        shapes_graph: the shapes to validate against; pySHACL adds two axioms to it.
        shapes: the shapes of ``shapes_graph``, parsed; used to write out complex paths.

    Raises:
        ShapesEngineError: pySHACL failed, e.g. on ``sh:lessThan`` over a blank node.
        ShapesError: it takes too long.
    """
    import pyshacl
    import rdflib

    def make_error(seconds: float) -> ShapesError:
        return ShapesError(
            f"pySHACL takes more than {seconds:g} s of processor time",
            where=", ".join(shapes.list_iris()[:3]),
            hint="Simplify the SPARQL constraints and patterns, leave them out, or give them more "
            f"time with {VARIABLE}.",
        )

    try:
        with (
            limit_time(make_error, PYSHACL_FACTOR),
            warnings.catch_warnings(),
            silence_rdflib(),
        ):
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
    except ShapesError:
        raise
    except Exception as error:  # pySHACL raises its own errors, those of rdflib, and TypeError
        raise ShapesEngineError(
            f"pySHACL could not validate: {type(error).__name__}: {error!s:.200}",
            hint="Use --engine incremental, or correct the values named in the message.",
        ) from error
    if not isinstance(report, rdflib.Graph):
        raise ShapesEngineError(f"pySHACL could not validate: {text!s:.200}")
    return Counter(_parse_report(report, shapes))


def _parse_report(report: rdflib.Graph, shapes: Shapes) -> list[RawResult]:
    from rdflib import URIRef

    def get_value(node: rdflib.term.Node, name: str) -> rdflib.term.Identifier | None:
        return report.value(node, URIRef(SH + name))  # type: ignore[return-value]  # a term

    report_node = report.value(
        predicate=URIRef(RDF + "type"), object=URIRef(SH + "ValidationReport")
    )
    results: list[RawResult] = []
    # Details of sh:node results are under sh:detail, so sh:result leads to top-level results only.
    for result in report.objects(report_node, URIRef(SH + "result")):
        if get_value(result, "resultSeverity") != URIRef(SH + "Violation"):
            continue
        shape, component = (
            get_value(result, "sourceShape"),
            get_value(result, "sourceConstraintComponent"),
        )
        path, value = get_value(result, "resultPath"), get_value(result, "value")
        focus = get_value(result, "focusNode")
        assert shape is not None
        assert focus is not None
        node = from_rdflib(shape)
        results.append(
            RawResult(
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
    return results
