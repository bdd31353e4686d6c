"""Distinguishes terms of schema and labelling vocabularies from terms that state facts."""

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
sections 8 and 10): unlike the other SKOS properties, they state facts about what the concepts stand
for."""

NAMED_NODE = "urn:epoche:node:"
"""Begins the IRIs of blank nodes that ``kg init`` has named."""

_NAMESPACES = (RDF, RDFS, OWL, SKOS, SH)


def is_vocabulary(iri: str) -> bool:
    """Returns whether a term belongs to RDF, RDFS, OWL, SHACL or SKOS and states no facts.

    SKOS's relations between concepts, such as ``skos:broader``, do state facts.
    """
    return iri.startswith(_NAMESPACES) and iri not in SKOS_RELATIONS
