"""Describes an ontology to a model and converts the model's statements to triples.

The relations are the predicates for which the domain has wording. If there are none, they are all
predicates that the graph uses or declares, except schema vocabulary. Names are resolved by the
labels of the graph; an unknown name becomes a new entity whose IRI is made from the name. A name
that several entities share is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote

from kg.base.plain_text import clean_text
from kg.literals import NUMERIC
from kg.terms import OWL, RDF, RDF_TYPE, RDFS, XSD, is_iri, is_literal, parse_literal, write_literal
from kg.words.normaliser import normalise_phrase, repair_text

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

DEFAULT_NAMESPACE = "urn:epoche:text:"
MAX_RELATIONS = 60
"""Maximum number of relations in the prompt."""

_PROPERTY_CLASSES = (
    OWL + "ObjectProperty",
    OWL + "DatatypeProperty",
    OWL + "FunctionalProperty",
    RDF + "Property",
)
_NUMBER = re.compile(r"[+-]?\d+(?:,\d{3})*(?:\.\d+)?")
"""A decimal number, optionally with thousands separators: ``-1,234.5``."""


class UnusableError(ValueError):
    """A statement cannot be converted to a triple of the ontology; the message says why."""


class Ontology:
    """The relations of a knowledge base, and lookups of relations and entities by name.

    Args:
        kb: the knowledge base.
        namespace: prefix of the IRIs of new entities.
    """

    def __init__(self, kb: KnowledgeBase, namespace: str = DEFAULT_NAMESPACE) -> None:
        self._kb = kb
        self._namespace = namespace
        self.minted: dict[str, str] = {}
        """IRI → name of the new entities, which are not in the graph."""

    @property
    def omitted_relations(self) -> int:
        """Number of relations that are not in the prompt, because of ``MAX_RELATIONS``."""
        return max(len(self._predicates) - MAX_RELATIONS, 0)

    def describe_relations(self) -> list[str]:
        """Returns each relation for the prompt: its name, wording, and the unit of its values."""
        verbaliser = self._kb.verbaliser
        lines = []
        for pred in self._predicates[:MAX_RELATIONS]:
            unit = clean_text(verbaliser.get_wording(pred).unit)
            clause = verbaliser.fill_clause(pred, "SUBJECT", "OBJECT") + (
                f" (in {unit})" if unit else ""
            )
            lines.append(f"{verbaliser.get_label(pred)}: {clause}")
        return lines

    def find_predicate(self, name: str) -> str:
        """Returns the relation with that name.

        Raises:
            UnusableError: no relation has that name, or several have it.
        """
        matches = self._predicates_by_name.get(normalise_phrase(name), [])
        if len(matches) != 1:
            raise UnusableError(
                f"“{clean_text(name)}” names {_format_count(matches)} of the relations"
            )
        return matches[0]

    def resolve_entity(self, name: str) -> str:
        """Returns the IRI of the entity with that name, or a new one if the graph has none.

        Raises:
            UnusableError: several entities have that name, or the name contains no word.
        """
        matches = self._kb.labels.find_entities(name)
        if len(matches) > 1:
            raise UnusableError(f"“{clean_text(name)}” names {len(matches)} entities of the graph")
        if matches:
            return matches[0]
        key = normalise_phrase(name)
        if not key:
            raise UnusableError(f"“{clean_text(name)}” is not a name")
        iri = self._namespace + quote(key.replace(" ", "-"), safe="-")
        self.minted.setdefault(iri, repair_text(name))
        return iri

    def make_object(self, pred: str, text: str) -> str:
        """Returns the object of a statement as a term: an IRI, or a literal of the right datatype.

        Raises:
            UnusableError: the relation needs a number and the text does not contain exactly one;
                or the relation needs an entity and ``resolve_entity`` rejects the text.
        """
        datatype = self._datatypes.get(pred)
        if datatype is None:
            return self.resolve_entity(text)
        if datatype not in NUMERIC:
            return write_literal(repair_text(text), datatype)
        numbers = _NUMBER.findall(text)
        if len(numbers) != 1:
            raise UnusableError(f"“{clean_text(text)}” contains {len(numbers)} numbers, not one")
        return write_literal(numbers[0].replace(",", ""), datatype)

    @cached_property
    def _predicates(self) -> list[str]:
        index = self._kb.graph.index
        terms = index.terms
        domain_predicates = [
            pred for pred in self._kb.domain.predicates if terms.get(pred) is not None
        ]
        if domain_predicates:
            return domain_predicates
        from kg.vocabulary import is_vocabulary

        used_predicates = map(terms.get_text, index.list_predicates())
        predicates = dict.fromkeys([*used_predicates, *self._iter_declared()])
        return [pred for pred in predicates if is_iri(pred) and not is_vocabulary(pred)]

    def _iter_declared(self) -> Iterator[str]:
        index = self._kb.graph.index
        rdf_type = index.terms.get(RDF_TYPE)
        for class_id in map(index.terms.get, _PROPERTY_CLASSES):
            if rdf_type is not None and class_id is not None:
                yield from map(index.terms.get_text, index.find_subjects(rdf_type, class_id))

    @cached_property
    def _predicates_by_name(self) -> dict[str, list[str]]:
        predicates: dict[str, list[str]] = {}
        verbaliser = self._kb.verbaliser
        for pred in self._predicates:
            names = (
                verbaliser.get_label(pred),
                self._kb.labels.get_label(pred),
                verbaliser.fill_clause(pred, "", ""),
            )
            for key in dict.fromkeys(map(normalise_phrase, names)):
                predicates.setdefault(key, []).append(pred)
        return predicates

    @cached_property
    def _datatypes(self) -> dict[str, str]:
        """Relation → datatype of its values, for relations whose values are literals.

        The datatype is that of the declared range, else of the first value in the graph. A
        declared datatype property with neither has the datatype ``xsd:string``.
        """
        index = self._kb.graph.index
        terms = index.terms
        range_predicate, rdf_type = terms.get(RDFS + "range"), terms.get(RDF_TYPE)
        datatype_property = terms.get(OWL + "DatatypeProperty")
        datatypes = {}
        for pred in self._predicates:
            pred_id = terms.get(pred)
            if pred_id is None:
                continue
            ranges = (
                []
                if range_predicate is None
                else map(terms.get_text, index.find_objects(pred_id, range_predicate))
            )
            datatype = next((text for text in ranges if text.startswith(XSD)), None)
            if datatype is None:
                first_pair = next(iter(index.iter_pairs(pred_id)), None)
                text = terms.get_text(first_pair[1]) if first_pair else ""
                if is_literal(text):
                    datatype = parse_literal(text).datatype
                elif rdf_type is not None and datatype_property is not None:
                    datatype = (
                        XSD + "string"
                        if index.has_triple(pred_id, rdf_type, datatype_property)
                        else None
                    )
            if datatype is not None:
                datatypes[pred] = datatype
        return datatypes


def _format_count(matches: list[str]) -> str:
    return str(len(matches)) if matches else "none"
