"""Runs pySHACL on selected focus nodes only, by replacing the shapes' targets.

Targets are replaced by ``sh:targetNode``. The data graph stays complete and referenced shapes stay
unchanged, so that nested shapes, paths and ``sh:not`` evaluate as in a full validation. (pySHACL's
own options do not ensure this: ``focus_nodes`` also filters the value nodes of nested shapes,
and ``use_shapes`` drops targets and nested named shapes.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kg.shapes import Shapes
from kg.shapes.model import RawResult
from kg.shapes.vocabulary import SH
from kg.terms import to_rdflib
from kg.validation.pyshacl_validation import run_pyshacl

if TYPE_CHECKING:
    import rdflib


def validate_focus_nodes(
    data: rdflib.Graph, shapes: Shapes, foci: Iterable[tuple[str, str]]
) -> Counter[RawResult]:
    """Validates the given (shape, focus node) pairs, whether the shapes target them or not.

    Args:
        data: the data graph.
        shapes: the shapes; only those in ``foci`` get a target.
        foci: pairs of a shape's node and a focus node, as term text.

    Raises:
        ShapesEngineError: pySHACL failed.
    """
    from rdflib import URIRef

    pairs = list(foci)
    if not pairs:
        return Counter()
    graph = shapes.to_rdflib_without_targets()
    target = URIRef(SH + "targetNode")
    for shape, focus in pairs:
        graph.add((to_rdflib(shape), target, to_rdflib(focus)))
    return run_pyshacl(data, graph, shapes)
