"""Which terms say how a graph is built or labelled, and which say what is the case."""

from __future__ import annotations

from kg.shapes.vocabulary import SH
from kg.terms import OWL, RDF, RDFS, SKOS

SKOS_RELATIONS = frozenset(
    SKOS + name
    for name in (
        "semanticRelation", "broader", "narrower", "related", "broaderTransitive",
        "narrowerTransitive", "mappingRelation", "exactMatch", "closeMatch", "broadMatch",
        "narrowMatch", "relatedMatch",
    )
)  # fmt: skip
"""SKOS's relations and mappings between concepts (SKOS Reference, W3C Recommendation 2009,
sections 8 and 10): what they state is a fact of the field, as nothing else in SKOS is."""

_NAMESPACES = (RDF, RDFS, OWL, SKOS, SH)


def is_vocabulary(iri: str) -> bool:
    """Whether a term is of RDF, RDFS, OWL, SHACL or SKOS and states nothing of the world.

    SKOS's relations between concepts do: ``skos:broader`` is as much of a fact as any.
    """
    return iri.startswith(_NAMESPACES) and iri not in SKOS_RELATIONS
