"""Gives people without a label one of their given and family names.

Registers, directories and genealogies often state only these, so that people would be called by the
codes in their IRIs ("person 62").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from kg.claims import Claim
from kg.graph import Graph
from kg.profile.names import find_naming_predicates
from kg.terms import RDFS, iri_tail, parse_literal, write_literal
from kg.words.labels import LABEL_PREDICATES
from kg.words.readable_names import is_missing_value

GIVEN_NAMES = frozenset(("givenname", "firstname", "forename", "given"))
"""Local names of predicates for given names, in lower case and without other characters."""
FAMILY_NAMES = frozenset(("familyname", "lastname", "surname", "family"))
"""The same for family names."""
_PART_OF_NAME = re.compile(
    "given|first|fore|family|last|sur|middle|maiden|birth|user|nick|short|pen", re.IGNORECASE
)
"""Marks of predicates whose values are no full names."""
MIN_PEOPLE = 15
"""Minimum number of people that get a label."""


def name_people(graph: Graph) -> tuple[Graph, int]:
    """Gives a label to each subject that has one given name, one family name and no label.

    Namesakes are left as they are, since their label would not tell them apart.

    Returns:
        The graph, and how many got a label; none if they are fewer than ``MIN_PEOPLE``.
    """
    given, family = _find_names(graph, GIVEN_NAMES), _find_names(graph, FAMILY_NAMES)
    if len(given.keys() & family.keys()) < MIN_PEOPLE:
        return graph, 0
    get_text = graph.index.terms.get_text
    names = {s: f"{given[s]} {family[s]}" for s in given.keys() & family.keys()}
    n_namesakes = Counter(map(str.casefold, names.values()))
    unnamed = names.keys() - graph.index.terms.blanks - set(_iter_named(graph))
    labels = [
        Claim(get_text(s), RDFS + "label", write_literal(names[s]))
        for s in sorted(unnamed, key=get_text)
        if n_namesakes[names[s].casefold()] == 1
    ]
    return (graph.with_claims(labels), len(labels)) if len(labels) >= MIN_PEOPLE else (graph, 0)


def _is_one_of(iri: str, local_names: frozenset[str]) -> bool:
    return re.sub("[^a-z]", "", iri_tail(iri).casefold()).removeprefix("has") in local_names


def _find_names(graph: Graph, local_names: frozenset[str]) -> dict[int, str]:
    """Finds the subjects that have exactly one name of a kind."""
    index, terms = graph.index, graph.index.terms
    found: dict[int, set[str]] = {}
    for p in index.list_predicates():
        if _is_one_of(terms.get_text(p), local_names):
            for s, o in index.iter_pairs(p):
                if terms.is_literal(o):
                    name = " ".join(parse_literal(terms.get_text(o)).lexical.split())
                    found.setdefault(s, set()).add(name)
    return {
        s: name
        for s, (name, *others) in found.items()
        if name and not others and not is_missing_value(name)
    }


def _iter_named(graph: Graph) -> Iterator[int]:
    """Yields the subjects that have a label or another name of their own."""
    for iri in (*LABEL_PREDICATES, *find_naming_predicates(graph)):
        p = graph.index.terms.get(iri)
        if p is not None and not _PART_OF_NAME.search(iri_tail(iri)):
            yield from graph.index.get_subjects(p)
