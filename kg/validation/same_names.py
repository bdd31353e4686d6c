"""Counts values that ``owl:sameAs`` makes one thing once, for the maximum counts of shapes.

A closure states each link of a thing under all of its names, so that one value becomes several.
SHACL counts names. A result of ``sh:maxCount`` or ``sh:qualifiedMaxCount`` therefore stands only if
there are too many values when the names of one thing count once, as if they had been merged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kg.shapes.components import MaxCount
from kg.shapes.evaluation import Component, Result
from kg.shapes.nested import QualifiedCount
from kg.terms import OWL
from kg.triples.index import Index


def find_same_terms(index: Index, term: int) -> Collection[int]:
    """Finds all terms that ``owl:sameAs`` makes equal to ``term``, itself included."""
    same_as = index.terms.get(OWL + "sameAs")
    if same_as is None or not index.get_subjects(same_as):
        return (term,)
    same_terms = {term: None}
    queue = [term]
    for name in queue:
        for other in (*index.find_objects(name, same_as), *index.find_subjects(same_as, name)):
            if other not in same_terms:
                same_terms[other] = None
                queue.append(other)
    return same_terms


def has_same_names(index: Index) -> bool:
    """Returns whether any ``owl:sameAs`` is stated."""
    same_as = index.terms.get(OWL + "sameAs")
    return same_as is not None and bool(index.get_subjects(same_as))


def drop_merged_counts(index: Index, results: Iterable[Result]) -> list[Result]:
    """Leaves out the results of maximum counts that only names of one thing exceed.

    Maximum counts inside of ``sh:node``, ``sh:not``, ``sh:and``, ``sh:or`` and ``sh:xone`` count
    names, because pySHACL, which checks some shapes, has no results of its own for them.

    Args:
        index: the graph that the results are about.
        results: results of either engine.
    """
    if not has_same_names(index):
        return list(results)
    return [result for result in results if not _rests_on_names(index, result)]


def _rests_on_names(index: Index, result: Result) -> bool:
    shape, component_name, focus, _, _ = result
    maxima = [c for c in shape.components if c.name == component_name and _is_maximum(c)]
    if not maxima:
        return False
    values = shape.find_value_nodes(index, focus)
    return all(_count_things(index, c, values) <= c.parameter.number for c in maxima)


def _is_maximum(component: Component) -> bool:
    return isinstance(component, MaxCount) or (
        isinstance(component, QualifiedCount) and not component.is_minimum
    )


def _count_things(index: Index, component: Component, values: Iterable[int]) -> int:
    """Counts the things that the counted values are names of."""
    names: set[int] = set()
    count = 0
    for value in values:
        if value in names or (
            isinstance(component, QualifiedCount) and not component.is_counted(index, value)
        ):
            continue
        names.update(find_same_terms(index, value))
        count += 1
    return count
