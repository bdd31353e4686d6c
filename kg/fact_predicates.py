"""Selects the predicates of a graph whose triples are facts that a sentence can state."""

from __future__ import annotations

from kg.domain import Domain
from kg.triples.index import Index
from kg.vocabulary import is_vocabulary


def find_fact_predicates(domain: Domain, index: Index) -> tuple[int, ...]:
    """Returns the predicates of the graph for which the domain has wording.

    If none of the domain's predicates is a term of the graph, returns all predicates of the graph
    except schema vocabulary.
    """
    terms = index.terms
    used_predicates = index.list_predicates()
    domain_predicates = {terms.get(p) for p in domain.predicates} - {None}
    if domain_predicates:
        return tuple(p for p in used_predicates if p in domain_predicates)
    return tuple(p for p in used_predicates if not is_vocabulary(terms.get_text(p)))
