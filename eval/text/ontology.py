"""An ontology as a model is told of it, and what a model says as triples of that ontology.

Relations are those the domain words, else all that the graph uses or declares, but for schema
vocabulary. A name that the graph knows is that thing; one that it does not know becomes a thing of
its own, under an IRI made of the name. What several things are called is not guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote

from kg.literals import NUMERIC
from kg.terms import OWL, RDF, RDF_TYPE, RDFS, XSD, is_iri, is_literal, literal_text, parse_literal
from kg.text.normaliser import mend, normalise
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

DEFAULT_NAMESPACE = "urn:epoche:text:"
MAX_RELATIONS = 60
"""Relations a model is told of, at most."""

_PROPERTY_CLASSES = (
    OWL + "ObjectProperty",
    OWL + "DatatypeProperty",
    OWL + "FunctionalProperty",
    RDF + "Property",
)
_NUMBER = re.compile(r"[+-]?\d+(?:,\d{3})*(?:\.\d+)?")


class UnusableError(ValueError):
    """A statement cannot be read as a triple of the ontology; the message says why."""


class Ontology:
    """The relations of a knowledge base, by name.

    Args:
        kb: the knowledge base.
        namespace: what IRIs of things it does not know begin with.
    """

    def __init__(self, kb: KnowledgeBase, namespace: str = DEFAULT_NAMESPACE) -> None:
        self._kb = kb
        self._namespace = namespace
        self.minted: dict[str, str] = {}
        """IRI → name, of the things that the graph does not know."""

    @property
    def untold(self) -> int:
        """How many relations there are beyond ``MAX_RELATIONS``."""
        return max(len(self._predicates) - MAX_RELATIONS, 0)

    def relations(self) -> list[str]:
        """Each relation for the prompt: its name, how it is said, and the unit of its values."""
        words = self._kb.words
        shown = []
        for pred in self._predicates[:MAX_RELATIONS]:
            unit = plain(words.words_of(pred).unit)
            said = words.clause(pred, "SUBJECT", "OBJECT") + (f" (in {unit})" if unit else "")
            shown.append(f"{words.label(pred)}: {said}")
        return shown

    def predicate(self, name: str) -> str:
        """The relation of that name.

        Raises:
            UnusableError: none or several.
        """
        found = self._by_name.get(normalise(name), [])
        if len(found) != 1:
            raise UnusableError(f"“{plain(name)}” names {_how_many(found)} of the relations")
        return found[0]

    def thing(self, name: str) -> str:
        """The IRI of the thing of that name: the graph's, or one made for it.

        Raises:
            UnusableError: several things bear the name, or it is none.
        """
        found = self._kb.labels.find(name)
        if len(found) > 1:
            raise UnusableError(f"“{plain(name)}” names {len(found)} things in the graph")
        if found:
            return found[0]
        key = normalise(name)
        if not key:
            raise UnusableError(f"“{plain(name)}” is no name")
        iri = self._namespace + quote(key.replace(" ", "-"), safe="-")
        self.minted.setdefault(iri, mend(name))
        return iri

    def value(self, pred: str, text: str) -> str:
        """The object of a relation, as term text: a thing, or a literal of the relation's type.

        Raises:
            UnusableError: it should be a number and is none, or as ``thing``.
        """
        datatype = self._datatypes.get(pred)
        if datatype is None:
            return self.thing(text)
        if datatype not in NUMERIC:
            return literal_text(mend(text), datatype)
        numbers = _NUMBER.findall(text)
        if len(numbers) != 1:
            raise UnusableError(f"“{plain(text)}” holds {_how_many(numbers)} numbers, not one")
        return literal_text(numbers[0].replace(",", ""), datatype)

    @cached_property
    def _predicates(self) -> list[str]:
        index = self._kb.graph.index
        terms = index.terms
        named = [pred for pred in self._kb.domain.predicates if terms.get(pred) is not None]
        if named:
            return named
        from kg.vocabulary import is_vocabulary

        used = map(terms.text, index.predicates())
        every = dict.fromkeys([*used, *self._declared()])
        return [pred for pred in every if is_iri(pred) and not is_vocabulary(pred)]

    def _declared(self) -> Iterator[str]:
        index = self._kb.graph.index
        rdf_type = index.terms.get(RDF_TYPE)
        for cls in map(index.terms.get, _PROPERTY_CLASSES):
            if rdf_type is not None and cls is not None:
                yield from map(index.terms.text, index.subjects(rdf_type, cls))

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        words = self._kb.words
        for pred in self._predicates:
            names = (words.label(pred), self._kb.labels.label(pred), words.clause(pred, "", ""))
            for key in dict.fromkeys(map(normalise, names)):
                found.setdefault(key, []).append(pred)
        return found

    @cached_property
    def _datatypes(self) -> dict[str, str]:
        """Relation → the datatype of its values, of those whose values are literals."""
        index = self._kb.graph.index
        terms = index.terms
        range_of, rdf_type = terms.get(RDFS + "range"), terms.get(RDF_TYPE)
        literal = terms.get(OWL + "DatatypeProperty")
        found = {}
        for pred in self._predicates:
            p = terms.get(pred)
            if p is None:
                continue
            ranges = [] if range_of is None else map(terms.text, index.objects(p, range_of))
            known = next((text for text in ranges if text.startswith(XSD)), None)
            if known is None:
                pair = next(iter(index.pairs(p)), None)
                text = terms.text(pair[1]) if pair else ""
                if is_literal(text):
                    known = parse_literal(text).datatype
                elif rdf_type is not None and literal is not None:
                    known = XSD + "string" if index.has(p, rdf_type, literal) else None
            if known is not None:
                found[pred] = known
        return found


def _how_many(found: list[str]) -> str:
    return str(len(found)) if found else "none"
