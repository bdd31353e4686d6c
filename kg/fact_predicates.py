"""Selects the triples of a graph that are facts: not notes about an ontology and its terms."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from kg.domain import Domain
from kg.terms import OWL, RDF, RDF_TYPE, RDFS, parse_literal
from kg.triples.index import Index
from kg.vocabulary import is_vocabulary

_OBO = "http://purl.obolibrary.org/obo/"
_NOTES = (
    "http://www.geneontology.org/formats/oboInOwl#",
    "http://purl.org/vocab/vann/",
    "http://purl.org/vocommons/voaf#",
    "http://dbpedia.org/ontology/wikiPage",  # length, revision and links of a page
    "http://www.w3.org/2003/06/sw-vocab-status/ns#",
    "http://wikiba.se/ontology#propertyType",
    f"{_OBO}IAO_0100001",  # term replaced by
    f"{_OBO}IAO_0000114",  # has curation status
    f"{_OBO}IAO_0000231",  # has obsolescence reason
    f"{_OBO}IAO_0000412",  # imported from
)
"""Vocabularies, and terms of the OBO Foundry's metadata, that only ever describe terms."""
_METADATA = (
    "http://purl.org/dc/",
    "http://xmlns.com/foaf/0.1/",
    "http://schema.org/",
    "https://schema.org/",
)
"""Vocabularies that describe terms as well as books, people and the like."""
_CLASS_CLASSES = (OWL + "Class", RDFS + "Class")
_PREDICATE_CLASSES = (
    RDF + "Property",
    OWL + "ObjectProperty",
    OWL + "DatatypeProperty",
    OWL + "AnnotationProperty",
)


def find_fact_predicates(domain: Domain, index: Index) -> tuple[int, ...]:
    """Returns the predicates of the graph for which the domain has wording.

    If none of the domain's predicates is a term of the graph, returns all predicates of the graph
    except schema vocabulary and those that only make notes (see ``Notes``).
    """
    terms = index.terms
    used_predicates = index.list_predicates()
    domain_predicates = {terms.get(p) for p in domain.predicates} - {None}
    if domain_predicates:
        return tuple(p for p in used_predicates if p in domain_predicates)
    notes = find_notes(index)
    return tuple(
        p
        for p in used_predicates
        if p not in notes.predicates and not is_vocabulary(terms.get_text(p))
    )


class Notes(NamedTuple):
    """What an ontology says of itself and its terms rather than of things.

    Cards neither ask about it nor state it.
    """

    predicates: frozenset[int]
    """Annotation properties, and predicates that only describe terms: known ones, and others if
    most of their subjects are declared predicates. Those of Dublin Core, FOAF and schema.org also
    count where most of their subjects are ontologies and classes."""
    ontologies: frozenset[int]
    """The ontologies: what is said of them is a file's header."""
    obsolete: frozenset[int]
    """Terms that the graph marks as deprecated."""
    statements: frozenset[int]
    """Reified statements, of which a graph says a source or how sure it is."""
    schema_terms: frozenset[int]
    """The ontologies, classes and predicates that the graph declares."""

    @property
    def nodes(self) -> frozenset[int]:
        """Nodes that no card mentions."""
        return self.ontologies | self.obsolete | self.statements


def find_notes(index: Index) -> Notes:
    """Finds the notes of a graph."""
    terms = index.terms
    ontologies = find_members(index, OWL + "Ontology")
    declared_predicates = _find_all_members(index, _PREDICATE_CLASSES)
    schema_terms = ontologies | declared_predicates | _find_all_members(index, _CLASS_CLASSES)
    annotations = find_members(index, OWL + "AnnotationProperty")
    predicates = set()
    for p in index.list_predicates():
        iri = terms.get_text(p)
        subjects = index.get_subjects(p)
        described = schema_terms if iri.startswith(_METADATA) else declared_predicates
        is_note = 2 * _count_common(described, subjects) > len(subjects)
        is_note |= iri.startswith(_NOTES) or (p in annotations and not iri.startswith(_METADATA))
        if is_note and not is_vocabulary(iri):
            predicates.add(p)
    return Notes(
        frozenset(predicates),
        ontologies,
        _find_obsolete(index),
        find_statements(index),
        schema_terms,
    )


def _count_common(some: Collection[int], others: Collection[int]) -> int:
    """Counts the terms that are in both."""
    fewer, more = sorted((some, others), key=len)
    return sum(term in more for term in fewer)


def find_statements(index: Index) -> frozenset[int]:
    """Finds the nodes that describe a triple by subject, predicate and object."""
    parts = (index.terms.get(RDF + name) for name in ("subject", "predicate", "object"))
    nodes = [frozenset(() if p is None else index.get_subjects(p)) for p in parts]
    return frozenset.intersection(*nodes)


def _find_obsolete(index: Index) -> frozenset[int]:
    deprecated = index.terms.get(OWL + "deprecated")
    pairs = () if deprecated is None else index.iter_pairs(deprecated)
    get_text = index.terms.get_text
    marked = {
        s
        for s, o in pairs
        if get_text(o).startswith('"') and parse_literal(get_text(o)).lexical in ("true", "1")
    }
    return find_members(index, OWL + "DeprecatedClass").union(marked)


def _find_all_members(index: Index, classes: Iterable[str]) -> frozenset[int]:
    return frozenset[int]().union(*(find_members(index, cls) for cls in classes))


def find_members(index: Index, cls: str) -> frozenset[int]:
    """Finds the nodes that the graph states to be members of a class."""
    rdf_type, c = index.terms.get(RDF_TYPE), index.terms.get(cls)
    if rdf_type is None or c is None:
        return frozenset()
    return frozenset(index.find_subjects(rdf_type, c))
