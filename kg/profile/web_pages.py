"""Finds the values of a graph that are only addresses: a web page has no name in a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from kg.graph import Graph
from kg.profile.label_heads import compile_heads
from kg.profile.readiness import Readiness
from kg.terms import iri_tail
from kg.vocabulary import is_vocabulary
from kg.words.label_grammar import split_name
from kg.words.labels import Labels
from kg.words.readable_names import is_document_address

_PAGE_NOUNS = compile_heads(
    "url uri page homepage website web_site link download image img picture photo depiction "
    "thumbnail logo icon wiki webpage web_page download_mirror bug_database mailing_list"
)
"""Ends of the names of predicates whose values are addresses."""


class WebPages(NamedTuple):
    """The addresses of a graph."""

    predicates: frozenset[str]
    """Predicates all of whose values are addresses."""
    values: frozenset[str]

    def leave_out(self, rows: Iterable[Readiness]) -> tuple[Readiness, ...]:
        """Returns the predicates so that cards do not state those whose values are addresses."""
        return tuple(
            msgspec.structs.replace(row, is_fact=row.is_asked)
            if row.iri in self.predicates
            else row
            for row in rows
        )


def find_web_pages(graph: Graph, labels: Labels) -> WebPages:
    """Finds predicates whose values are addresses of documents, with neither label nor facts.

    Those called "homepage" or "access URL", and those whose values are mostly addresses that have
    the name of their subject in them: an encyclopedia's page about it.

    Args:
        graph: the graph.
        labels: its labels.
    """
    index, terms = graph.index, graph.index.terms
    predicates: set[str] = set()
    values: set[str] = set()
    for p in index.list_predicates():
        iri = terms.get_text(p)
        if is_vocabulary(iri):
            continue
        is_page = _PAGE_NOUNS.search(split_name(iri_tail(iri)).casefold()) is not None
        objects = list(index.list_distinct_objects(p))
        texts = set(map(terms.get_text, objects))
        if not is_page and all(map(is_document_address, texts)):
            links = [(terms.get_text(s), terms.get_text(o)) for s, o in index.iter_pairs(p)]
            n_about = sum(labels.get_label(s) == labels.get_label(o) for s, o in links)
            is_page = 2 * n_about > len(links)
        if is_page and all(
            not terms.is_literal(o)
            and o not in terms.blanks
            and next(index.iter_out_edges(o), None) is None
            and not labels.has_label(terms.get_text(o))
            for o in objects
        ):
            predicates.add(iri)
            values |= texts
    return WebPages(frozenset(predicates), frozenset(values))
