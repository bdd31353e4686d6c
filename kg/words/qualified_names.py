"""Tells things with the same name apart by their class, or by the thing that they belong to.

A name that two things share is followed by what only one of them is or belongs to: "Letters
(record)" and "Letters (volume)", or "id (train)" and "id (test)". A domain says in ``qualifiers``
by what: ``rdf:type``, another predicate of the thing, or one that leads to it (``^<IRI>``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from kg.base.plain_text import clean_text
from kg.terms import RDF_TYPE, is_blank, is_literal
from kg.vocabulary import is_vocabulary
from kg.words.label_grammar import split_name

if TYPE_CHECKING:
    from kg.triples.index import Index

INVERSE_MARK = "^"
MAX_NAMESAKES = 20_000
"""Maximum number of things of one name that are told apart; more stay without a unique name."""


# A UUID or a hash; a number alone is that of a record, and can be read.
_OPAQUE = re.compile(
    r"(?:[0-9a-fA-F]{4,}[- ]){3,}|(?=\w*[a-fA-F])(?=\w*\d)[0-9a-fA-F]{12,}"
    r"|\b(?=\w*[a-z])(?=\w*[A-Z])(?=\w*\d)\w{20,}"
)


def is_opaque(local_name: str) -> bool:
    """Returns whether the last part of an IRI says nothing to a reader: a UUID or a hash."""
    return _OPAQUE.search(local_name) is not None


class NameIndex(Protocol):
    """The part of ``Labels`` that is needed here."""

    def get_label(self, term: str) -> str:
        """Returns the preferred label of a term."""

    def has_label(self, term: str) -> bool:
        """Returns whether the graph gives any name for the term."""

    def find_entities(self, name: str) -> list[str]:
        """Returns the IRIs with that name."""

    def to_normal_form(self, name: str) -> str:
        """Normalises a name."""


class NameQualifier:
    """Makes the names of namesakes different.

    Args:
        index: the graph.
        labels: its labels.
        qualifiers: by what namesakes are told apart, best first.
    """

    def __init__(self, index: Index, labels: NameIndex, qualifiers: Sequence[str]) -> None:
        self._index = index
        self._labels = labels
        self._qualifiers = tuple(qualifiers)
        self._names: dict[str, str] = {}
        self._nouns: dict[int, str] = {}
        self._known: set[str] = set()

    def find_name(self, iri: str) -> str:
        """Returns the distinct name of a thing with namesakes; empty if it has none."""
        if not self._qualifiers or is_literal(iri) or is_blank(iri):
            return ""
        label = self._labels.get_label(iri)
        key = self._labels.to_normal_form(label)
        if key not in self._known:
            self._known.add(key)
            self._qualify_namesakes(self._labels.find_entities(label), self._qualifiers)
        return self._names.get(iri, "")

    def count_distinct(self, iris: Sequence[str], qualifier: str) -> int:
        """Counts the namesakes that one qualifier alone would tell apart."""
        texts = Counter(self._find_text(iri, qualifier) for iri in iris)
        return sum(n == 1 for text, n in texts.items() if text)

    def list_alike(self, iris: Sequence[str], qualifier: str) -> list[str]:
        """Lists the namesakes that one qualifier alone would not tell apart."""
        texts = {iri: self._find_text(iri, qualifier) for iri in iris}
        counts = Counter(texts.values())
        return [iri for iri, text in texts.items() if not text or counts[text] > 1]

    def _qualify_namesakes(self, iris: Collection[str], qualifiers: Sequence[str]) -> None:
        if not 1 < len(iris) <= MAX_NAMESAKES:
            return
        for qualifier in reversed(qualifiers):
            texts = {iri: self._find_text(iri, qualifier) for iri in iris}
            counts = Counter(text.casefold() for text in texts.values())
            for iri, text in texts.items():
                if text and counts[text.casefold()] == 1:
                    name = f"{clean_text(self._labels.get_label(iri))} ({text})"
                    if not self._labels.find_entities(name):
                        self._names[iri] = name

    def _find_text(self, iri: str, qualifier: str) -> str:
        """Returns what a qualifier says of a thing; empty if that is nothing or several things."""
        index, get_id = self._index, self._index.terms.get
        node = get_id(iri)
        if node is None:
            return ""
        if qualifier == RDF_TYPE:
            return self._find_class_noun(node)
        is_inverse = qualifier.startswith(INVERSE_MARK)
        p = get_id(qualifier.removeprefix(INVERSE_MARK))
        if p is None:
            return ""
        others = index.find_subjects(p, node) if is_inverse else index.find_objects(node, p)
        if len(others) != 1:
            return ""
        (other,) = others
        text = index.terms.get_text(other)
        if is_blank(text):
            return ""
        name = self._labels.get_label(text)
        if is_literal(text):
            return clean_text(name)
        if is_opaque(name) and not self._labels.has_label(text):
            return ""
        namesakes = self._labels.find_entities(name)
        if len(namesakes) <= 1:
            return clean_text(name)
        # Told apart by class only: a reader cannot follow longer ways.
        nouns = Counter(self._find_text(namesake, RDF_TYPE) for namesake in namesakes)
        noun = self._find_text(text, RDF_TYPE)
        return f"{noun} {clean_text(name)}" if noun and nouns[noun] == 1 else ""

    def _find_class_noun(self, node: int) -> str:
        """Returns the name of the class of a thing that has fewest members."""
        terms = self._index.terms
        rdf_type = terms.get(RDF_TYPE)
        if rdf_type is None:
            return ""
        classes = [
            (len(self._index.find_subjects(rdf_type, c)), text, c)
            for c in self._index.find_objects(node, rdf_type)
            if not is_vocabulary(text := terms.get_text(c)) and not is_blank(text)
        ]
        if not classes:
            return ""
        _, text, cls = min(classes)
        noun = self._nouns.get(cls)
        if noun is None:
            words = split_name(self._labels.get_label(text))
            noun = self._nouns[cls] = clean_text(
                words if words.isupper() else words[:1].lower() + words[1:]
            )
        return noun
