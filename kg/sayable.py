"""Which predicates of a graph state what can be said of the world in a sentence."""

from __future__ import annotations

from kg.domain import Domain
from kg.index import Index
from kg.vocabulary import is_vocabulary


def sayable_predicates(domain: Domain, index: Index) -> tuple[int, ...]:
    """Predicates whose facts read well: the domain's own, else all but schema vocabulary."""
    terms = index.terms
    present = index.predicates()
    named = {terms.get(p) for p in domain.predicates} - {None}
    if named:
        return tuple(p for p in present if p in named)
    return tuple(p for p in present if not is_vocabulary(terms.text(p)))
