"""Finds the entities that are other names of an entity: ``owl:sameAs`` and SKOS's alignment links.

An entity and its aliases are one thing, or nearly, so a name that they share is not ambiguous.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, KeysView

from kg.terms import OWL, RDF_TYPE, SKOS, is_iri
from kg.triples.index import Index
from kg.words.readable_names import is_document_address

SAME_AS = OWL + "sameAs"
ALIGNMENT_PREDICATES = (SKOS + "exactMatch", SKOS + "closeMatch")
"""Predicates that link a concept with one that means the same, or nearly."""


class Aliases:
    """The aliases in one graph.

    Args:
        index: the graph.
        naming_predicates: the predicates that give names.
    """

    def __init__(self, index: Index, naming_predicates: Collection[int]) -> None:
        self._index = index
        get_id = index.terms.get
        ids = [get_id(text) for text in (SAME_AS, *ALIGNMENT_PREDICATES)]
        self._predicates = [p for p in ids if p is not None and index.get_subjects(p)]
        self._main_by_alias = self._find_mains(naming_predicates) if self._predicates else {}

    def has_any(self) -> bool:
        """Returns whether the graph states any alias."""
        return bool(self._predicates)

    def get_main(self, term: int) -> int:
        """Returns the entity that links to a term of which nothing but names is stated.

        Any other term is returned as it is.
        """
        return self._main_by_alias.get(term, term)

    def merge(self, terms: Iterable[int]) -> list[int]:
        """Returns one of each group of aliases among terms, the first by id; the order is kept.

        An IRI that one of the terms links to, and of which nothing is stated, is left out as well,
        for example an encyclopedia's page of a city.
        """
        candidates = dict.fromkeys(map(self.get_main, terms))
        merged: set[int] = set()
        for term in sorted(candidates):
            if len(candidates) == 1 or not (
                merged & self.find_aliases(term) or self._is_page(term, candidates)
            ):
                merged.add(term)
        return [term for term in candidates if term in merged]

    def _is_page(self, term: int, entities: Collection[int]) -> bool:
        """Returns whether a term of which nothing is stated is linked from some entities only.

        What others link to as well, for example a datatype, is a thing of its own, unless its IRI
        is the address of a document, and that of another one is not.
        """
        if any(self._index.iter_out_edges(term)):
            return False
        get_text = self._index.terms.get_text
        if is_document_address(get_text(term)):
            return not all(is_document_address(get_text(entity)) for entity in entities)
        predicates = {
            p for entity in entities for p, o in self._index.iter_out_edges(entity) if o == term
        }
        return bool(predicates) and all(
            s in entities for p in predicates for s in self._index.find_subjects(p, term)
        )

    def find_aliases(self, term: int) -> KeysView[int]:
        """Finds a term, the other names of it, and the terms that one of these is aligned with."""
        same_as = self._index.terms.get(SAME_AS)
        found = {term: None}
        queue = [term]
        for name in queue:
            for p in self._predicates:
                for other in (
                    *self._index.find_objects(name, p),
                    *self._index.find_subjects(p, name),
                ):
                    if other not in found:
                        found[other] = None
                        # The same as the same is the same; close to close need not be close.
                        if p == same_as:
                            queue.append(other)
        return found.keys()

    def _find_mains(self, naming_predicates: Collection[int]) -> dict[int, int]:
        """Returns the entity that links to each alias of which nothing but names is stated.

        Works on whole rows, because every row must be searched.
        """
        index, get_text = self._index, self._index.terms.get_text
        bare = {o for p in self._predicates for o in index.list_distinct_objects(p)}
        bare = {o for o in bare if is_iri(get_text(o))}
        silent = {*self._predicates, *naming_predicates, index.terms.get(RDF_TYPE)}
        for p in index.list_predicates():
            if p not in silent:
                bare.difference_update(index.get_row(p))
            if p not in self._predicates:
                bare.difference_update(index.list_distinct_objects(p))
        mains: dict[int, int] = {}
        for p in self._predicates:
            for s, o in index.iter_pairs(p):
                if o in bare and s not in bare and is_iri(get_text(s)):
                    mains.setdefault(o, s)
        return mains
