"""Finds what tells apart the things of a graph that share a name."""

from __future__ import annotations

import random
from collections.abc import Iterator

from kg.graph import Graph
from kg.profile.plausibility import is_part
from kg.terms import RDF_TYPE, iri_tail, is_malformed_iri
from kg.vocabulary import is_vocabulary
from kg.words.label_grammar import split_name
from kg.words.labels import Labels
from kg.words.qualifiers import INVERSE, Qualifiers

MAX_QUALIFIERS = 4
"""Maximum number of predicates that tell things apart."""
MAX_NAMESAKES = 20_000
"""Maximum number of things that share labels of which all labels are looked at; of more, about as
many are sampled."""
MIN_TOLD_APART = 5
"""Minimum number of things that a predicate tells apart."""
MAX_OWNER_SHARE = 2 / 3
"""Maximum number of things that others belong to, as a share of these."""


def find_qualifiers(graph: Graph, labels: Labels) -> tuple[str, ...]:
    """Finds the predicates that tell apart most of the things that share a label.

    Their classes come first. Then come links to what they belong to: links by which several things
    belong to one, or that say so by their name. What a name says cannot be asked about, so a link
    must tell apart at least as many things as have it and can be named without it.

    Args:
        graph: the graph.
        labels: its labels, without qualifiers.
    """
    shared = sorted(labels.iter_shared_labels())
    namesakes = {term for _, terms, _ in shared for term in terms}
    n_all = len(namesakes)
    if n_all > MAX_NAMESAKES:
        n_kept = max(1, len(shared) * MAX_NAMESAKES // n_all)
        shared = random.Random(0).sample(shared, n_kept)  # noqa: S311 - nothing secret
    sampled = {term for _, terms, _ in shared for term in terms}
    if not namesakes:
        return ()
    told_apart: dict[str, set[int]] = {}
    for text in (RDF_TYPE, *_iter_links(graph, sampled)):
        qualifiers = Qualifiers(graph.index, (text,), labels.find_readable_name)
        told_apart[text] = {
            term
            for name, terms, holders in shared
            if (found := qualifiers.qualify(name, terms))
            for term in holders
            if term in found
        }
    chosen = [RDF_TYPE] if len(told_apart[RDF_TYPE]) >= MIN_TOLD_APART else []
    done = set().union(*(told_apart[text] for text in chosen))
    del told_apart[RDF_TYPE]
    while told_apart and len(chosen) < MAX_QUALIFIERS:
        best = min(told_apart, key=lambda text: (-len(told_apart[text] - done), text))
        gain = told_apart.pop(best) - done
        if len(gain) < MIN_TOLD_APART:
            break
        if len(gain) * n_all >= _count_others(graph, best, namesakes) * len(sampled):
            chosen.append(best)
            done |= gain
    return tuple(chosen)


def _iter_links(graph: Graph, namesakes: set[int]) -> Iterator[str]:
    """Yields the predicates, in both directions, by which namesakes may belong to something."""
    index, terms = graph.index, graph.index.terms
    for p in index.list_predicates():
        iri = terms.get_text(p)
        if is_vocabulary(iri) or is_malformed_iri(iri):
            continue
        subjects, objects = index.get_subjects(p), index.get_objects(p)
        says_so = is_part(split_name(iri_tail(iri)))
        for things, owners, mark in ((subjects, objects, ""), (objects, subjects, INVERSE)):
            if (says_so or len(owners) <= MAX_OWNER_SHARE * len(things)) and len(
                namesakes.intersection(things)
            ) >= MIN_TOLD_APART:
                yield mark + iri


def _count_others(graph: Graph, text: str, namesakes: set[int]) -> int:
    """Counts the things with a link that share their names with nothing."""
    p = graph.index.terms.get(text.removeprefix(INVERSE))
    if p is None:
        return 0
    things = graph.index.get_objects(p) if text.startswith(INVERSE) else graph.index.get_subjects(p)
    return len(set(things) - namesakes)
