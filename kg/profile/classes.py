"""Finds classes that never meet: their members are things of different kinds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from kg.base.plain_text import format_count
from kg.graph import Graph
from kg.profile.names import is_usable_iri
from kg.profile.rules import MIN_SUBJECTS, DraftRule
from kg.terms import RDF_TYPE, RDFS, iri_tail, to_ntriples
from kg.vocabulary import is_vocabulary

MAX_CLASSES = 30
"""Maximum number of classes compared with each other, the largest ones."""


def iter_class_rules(graph: Graph) -> Iterator[DraftRule]:
    """Yields a rule for each two classes whose members nothing is known of in common.

    That no member of one is a member of the other does not suffice: an actor may be a director.
    Something must be known of members of both, and no predicate but those of the schema
    vocabularies may have subjects of both classes.
    """
    index, terms = graph.index, graph.index.terms
    rdf_type, sub_class_of = terms.get(RDF_TYPE), terms.get(RDFS + "subClassOf")
    if rdf_type is None:
        return
    members: dict[str, frozenset[int]] = {}
    for c in index.get_objects(rdf_type):
        text = terms.get_text(c)
        if text.startswith(('"', "_:")) or is_vocabulary(text) or not is_usable_iri(text):
            continue
        found = index.find_subjects(rdf_type, c)
        has_subclasses = sub_class_of is not None and (
            index.find_objects(c, sub_class_of) or index.find_subjects(sub_class_of, c)
        )
        if len(found) >= MIN_SUBJECTS and not has_subclasses:
            members[text] = frozenset(found)
    largest = sorted(members, key=lambda text: (-len(members[text]), text))[:MAX_CLASSES]
    predicates = {text: _find_predicates(graph, members[text]) for text in largest}
    largest = [text for text in largest if predicates[text]]
    for name, other in itertools.combinations(sorted(largest), 2):
        if members[name].isdisjoint(members[other]) and predicates[name].isdisjoint(
            predicates[other]
        ):
            yield DraftRule(
                origin="mined",
                kind="never-both",
                about=name,
                support=f"none of {format_count(len(members[name]), 'member')} is one of the "
                f"{len(members[other]):,} of {iri_tail(other)}, and no predicate describes both",
                body=f"a sh:NodeShape ; sh:targetClass {to_ntriples(name)} ; "
                f"sh:not [ sh:class {to_ntriples(other)} ]",
            )


def _find_predicates(graph: Graph, members: frozenset[int]) -> frozenset[int]:
    """Returns the predicates, without those of schema vocabularies, that describe a member.

    None if they describe too few members to say what these are.
    """
    index = graph.index
    predicates: set[int] = set()
    described: set[int] = set()
    for p in index.list_predicates():
        if not is_vocabulary(index.terms.get_text(p)):
            subjects = members.intersection(index.get_subjects(p))
            described |= subjects
            predicates.update((p,) if subjects else ())
    return frozenset(predicates if len(described) >= MIN_SUBJECTS else ())
