"""Counts what a graph states and no card can mention: facts about nodes without a name."""

from __future__ import annotations

from kg.fact_predicates import find_members, find_statements
from kg.literals import parse_number
from kg.shapes.vocabulary import SH, TARGET_PROPERTIES
from kg.terms import RDF, iri_tail
from kg.triples.index import Index
from kg.vocabulary import is_vocabulary


def describe_skipped_content(index: Index, *, uses_shapes: bool = True) -> tuple[str, ...]:
    """Returns a sentence for each kind of content that cards leave out, with counts.

    Blank nodes of the schema, such as OWL's restrictions, are used and do not count.

    Args:
        index: the graph.
        uses_shapes: whether shapes in the graph are used, because its file was given for them, too.
    """
    notes = []
    n_shapes = 0 if uses_shapes else _count_shapes(index)
    if n_shapes:
        notes.append(
            f"SHACL shapes in the graph are not taken as rules (shapes: {n_shapes}): give the file "
            "that has them with --shapes, too"
        )
    statements = len(find_statements(index))
    if statements:
        notes.append(
            "reified statements (rdf:Statement) are not taken as facts, only links that are stated "
            f"directly (statements: {statements})"
        )
    link_count, nodes = _find_unnamed_nodes(index)
    if link_count:
        lists = nodes & _get_subjects(index, RDF + "first")
        quantities = _find_quantities(index, nodes - lists)
        counts = {
            "facts": link_count,
            "nodes": len(nodes),
            "of these quantities with a unit": len(quantities),
            "of these RDF lists": len(lists),
        }
        notes.append(
            "cards leave out facts that mention blank nodes, which have no name "
            f"({', '.join(f'{name}: {count}' for name, count in counts.items() if count)})"
        )
    return tuple(notes)


def _count_shapes(index: Index) -> int:
    """Counts the shapes with a class of SHACL or a target."""
    typed = (find_members(index, SH + name) for name in ("NodeShape", "PropertyShape"))
    targeted = (_get_subjects(index, SH + name) for name in TARGET_PROPERTIES)
    return len(frozenset().union(*typed, *targeted))


def _find_unnamed_nodes(index: Index) -> tuple[int, set[int]]:
    """Returns the number of facts that mention blank nodes, and these nodes."""
    blanks = index.terms.blanks
    link_count = 0
    nodes: set[int] = set()
    for p in index.list_predicates() if blanks else ():
        if is_vocabulary(index.terms.get_text(p)):
            continue
        for link in index.iter_pairs(p):
            if not blanks.isdisjoint(link):
                link_count += 1
                nodes.update(link)
    return link_count, nodes & blanks


def _find_quantities(index: Index, nodes: set[int]) -> set[int]:
    """Finds the nodes that have a number and a unit."""
    with_unit: set[int] = set()
    for p in index.list_predicates():
        if "unit" in iri_tail(index.terms.get_text(p)).casefold():
            with_unit |= nodes.intersection(index.get_row(p))
    return {
        node
        for node in with_unit
        if any(
            parse_number(index.terms.get_text(o)) is not None for _, o in index.iter_out_edges(node)
        )
    }


def _get_subjects(index: Index, predicate: str) -> set[int]:
    term = index.terms.get(predicate)
    return set() if term is None else set(index.get_subjects(term))
