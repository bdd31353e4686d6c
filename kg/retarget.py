"""pySHACL on chosen focus nodes only: the shapes' targets replaced by ``sh:targetNode``.

The whole graph stays the data graph, and shapes that are only referred to stay as they are, so
that nested shapes, paths and ``sh:not`` see what they would see in a validation of everything.
(pySHACL's own ``focus_nodes`` and ``use_shapes`` do not keep that promise: the first also filters
the value nodes of nested shapes, the second forgets targets and nested named shapes.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kg.reference import validate
from kg.shapes import Shapes
from kg.shapes.model import Raw
from kg.shapes.vocabulary import SH
from kg.terms import to_rdflib

if TYPE_CHECKING:
    import rdflib


def validate_foci(
    data: rdflib.Graph, shapes: Shapes, foci: Iterable[tuple[str, str]]
) -> Counter[Raw]:
    """Validates the given (shape, focus node) pairs, whether targeted or not.

    Args:
        data: the data graph.
        shapes: the shapes; none but those of ``foci`` is given a target.
        foci: pairs of a shape's node and a focus node, as term text.

    Raises:
        ShapesEngineError: pySHACL gave up.
    """
    from rdflib import URIRef

    pairs = list(foci)
    if not pairs:
        return Counter()
    graph = shapes.untargeted_rdflib()
    target = URIRef(SH + "targetNode")
    for shape, focus in pairs:
        graph.add((to_rdflib(shape), target, to_rdflib(focus)))
    return validate(data, graph, shapes)
