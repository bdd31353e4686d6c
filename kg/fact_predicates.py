"""Selects the predicates of a graph whose triples are facts that a sentence can state."""

from __future__ import annotations

from kg.domain import Domain
from kg.index import Index
from kg.vocabulary import is_vocabulary


def find_fact_predicates(domain: Domain, index: Index) -> tuple[int, ...]:
    """Returns the domain's predicates that the graph uses.

    If none of them is a term of the graph, returns all its predicates except schema vocabulary.
    """
    terms = index.terms
    present = index.list_predicates()
    named = {terms.get(p) for p in domain.predicates} - {None}
    if named:
        return tuple(p for p in present if p in named)
    return tuple(p for p in present if not is_vocabulary(terms.get_text(p)))
