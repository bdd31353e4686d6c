"""Builds an index in an order that depends on the triples alone.

Terms are numbered, and rows and cells filled, in sorted order. So equal triples give the same
index, and whatever is drawn from it is the same, in whichever files, formats and order they came.

Blank nodes follow the other terms. They have no names, so they are sorted by what is said of them,
then by what is said of the blank nodes that these are linked to, and so on (colour refinement).
Nodes that remain alike are sorted by the number of blank nodes that they are connected with: a node
that is linked to itself, and two that are linked to each other. Of those that remain alike even
then, any one is placed last, and the refinement goes on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeAlias

from kg.triples.index import Index
from kg.triples.rows import Row, add_to_row
from kg.triples.term_table import TermTable

LinksByPredicate: TypeAlias = dict[int, list[int]]
"""Predicate → its links as subject, object, subject, object …; a link may occur several times."""


def build_index(
    terms: TermTable,
    links_by_predicate: LinksByPredicate,
    *,
    make_blank_label: Callable[[int], str] | None = "_:b{}".format,
) -> Index:
    """Builds an index of links; ``terms`` are numbered anew, and the links are used up.

    Args:
        terms: the terms.
        links_by_predicate: the links, by the present ids.
        make_blank_label: returns the new label of a blank node by its number; None to keep them.
    """
    texts, blank_count = terms.texts, len(terms.blanks)
    order = _sort_terms(texts, terms.blanks, links_by_predicate)
    named_count = len(order) - blank_count
    if make_blank_label and blank_count:
        for term in terms.blanks:
            del terms.ids[texts[term]]
        for number, term in enumerate(order[named_count:]):
            texts[term] = make_blank_label(number)
    terms.texts = list(map(texts.__getitem__, order))
    terms.blanks = set(range(named_count, len(order)))
    ranks = _invert_order(order)
    # In the old order, texts lie side by side in memory, which makes this twice as fast.
    terms.ids.update(zip(texts, ranks, strict=True))
    rows: dict[int, Row] = {}
    count = 0
    # Links are freed as soon as their row has been built.
    for p in sorted(links_by_predicate, key=ranks.__getitem__):
        row, link_count = _build_row(links_by_predicate.pop(p), ranks)
        rows[ranks[p]] = row
        count += link_count
    return Index.from_rows(terms, rows, count)


def _sort_terms(
    texts: list[str], blanks: set[int], links_by_predicate: LinksByPredicate
) -> list[int]:
    """Returns the terms in the order of the graph: by text, and then the blank nodes."""
    order = sorted(range(len(texts)), key=texts.__getitem__)
    if not blanks:
        return order
    named = list(itertools.filterfalse(blanks.__contains__, order))
    ranks = dict(zip(named, itertools.count()))
    return named + _sort_blanks(sorted(blanks), links_by_predicate, ranks)


def _invert_order(order: list[int]) -> list[int]:
    """Returns the place of each term."""
    ranks = [0] * len(order)
    for rank, term in enumerate(order):
        ranks[term] = rank
    return ranks


def _build_row(links: list[int], ranks: list[int]) -> tuple[Row, int]:
    """Builds the sorted row of one predicate; returns it with its number of links."""
    get_rank = ranks.__getitem__
    subjects = list(map(get_rank, links[::2]))
    objects = list(map(get_rank, links[1::2]))
    row: Row = dict(zip(subjects, objects, strict=True))
    is_single = len(row) == len(subjects)  # No subject has two objects.
    count = len(row)
    if not is_single:
        row, count = {}, 0
        for s, o in zip(subjects, objects, strict=True):
            if s not in row:
                row[s] = o
                count += 1
            else:
                count += add_to_row(row, s, o)
        for s, cell in row.items():
            if isinstance(cell, list):
                cell.sort()
            elif isinstance(cell, dict):
                row[s] = dict.fromkeys(sorted(cell))
    keys = sorted(row)
    return dict(zip(keys, map(row.__getitem__, keys), strict=True)), count


def _sort_blanks(
    blanks: list[int], links_by_predicate: LinksByPredicate, ranks: dict[int, int]
) -> list[int]:
    """Returns blank nodes in an order that does not depend on their labels or the file.

    Partition refinement: nodes with the same colour are alike so far; a colour is the place of the
    first node that has it. A class of alike nodes is divided by the colours of those neighbours
    that were given another colour. Of the parts into which a class falls, the largest need not be
    followed (Hopcroft 1971), so the time is in proportion to n log n links.

    Args:
        blanks: the ids of the blank nodes.
        links_by_predicate: the links.
        ranks: the place of each term that is not a blank node.
    """
    descriptions, neighbours = _describe_blanks(blanks, links_by_predicate, ranks)
    colours = dict.fromkeys(blanks, 0)
    classes = {0: dict.fromkeys(blanks)}
    _divide_class(0, descriptions, classes, colours)
    changed = blanks
    place = 0
    has_sizes = False
    while place < len(blanks):
        while changed:
            keys: dict[int, list[tuple[int, int]]] = {}
            for node in changed:
                for code, other in neighbours[node]:
                    keys.setdefault(other, []).append((code, colours[node]))
            touched: dict[int, dict[int, list[tuple[int, int]]]] = {}
            for node, key in keys.items():
                key.sort()
                touched.setdefault(colours[node], {})[node] = key
            changed = []
            for colour in sorted(touched):
                parts = _divide_class(colour, touched[colour], classes, colours)
                largest = max(parts, key=len)
                changed += [node for part in parts if part is not largest for node in part]
        members = classes.get(place, {})
        if len(members) > 1 and not has_sizes:
            sizes = _measure_components(neighbours)
            for colour in sorted(classes):
                parts = _divide_class(
                    colour, {node: sizes[node] for node in classes[colour]}, classes, colours
                )
                largest = max(parts, key=len)
                changed += [node for part in parts if part is not largest for node in part]
            has_sizes = True
        elif len(members) > 1:
            # Which of the nodes that are still alike is the last of them makes no difference.
            node, _ = members.popitem()
            colours[node] = place + len(members)
            classes[colours[node]] = {node: None}
            changed = [node]
        else:
            place += 1
    return [node for colour in sorted(classes) for node in classes[colour]]


def _measure_components(
    neighbours: dict[int, list[tuple[int, int]]],
) -> dict[int, list[tuple[int, int]]]:
    """Returns the number of nodes of each node's component, as a key for ``_divide_class``."""
    sizes: dict[int, list[tuple[int, int]]] = {}
    for start in neighbours:
        if start in sizes:
            continue
        component = {start: None}
        open_nodes = [start]
        while open_nodes:
            for _, other in neighbours[open_nodes.pop()]:
                if other not in component:
                    component[other] = None
                    open_nodes.append(other)
        sizes.update({node: [(0, len(component))] for node in component})
    return sizes


def _divide_class(
    colour: int,
    keys: dict[int, list[tuple[int, int]]],
    classes: dict[int, dict[int, None]],
    colours: dict[int, int],
) -> list[dict[int, None]]:
    """Divides a class by the keys of some members; the others come first. Returns the parts."""
    rest = classes[colour]
    if len(rest) == 1:
        return [rest]
    for node in keys:
        del rest[node]
    parts = [rest] if rest else []
    for _, group in itertools.groupby(sorted(keys, key=keys.__getitem__), key=keys.__getitem__):
        parts.append(dict.fromkeys(group))
    for part in parts:
        classes[colour] = part
        if part is not rest:
            colours.update(dict.fromkeys(part, colour))
        colour += len(part)
    return parts


def _describe_blanks(
    blanks: list[int], links_by_predicate: LinksByPredicate, ranks: dict[int, int]
) -> tuple[dict[int, list[tuple[int, int]]], dict[int, list[tuple[int, int]]]]:
    """Returns the links of each blank node with other terms, and those with blank nodes.

    A link is (twice the predicate's place, plus 1 for an incoming link; place or id of the other).
    """
    described: dict[int, set[tuple[int, int]]] = {node: set() for node in blanks}
    linked: dict[int, set[tuple[int, int]]] = {node: set() for node in blanks}
    for p, links in links_by_predicate.items():
        code = 2 * ranks[p]
        for s, o in zip(links[::2], links[1::2], strict=True):
            if s in described:
                if o in described:
                    linked[s].add((code, o))
                    linked[o].add((code + 1, s))
                else:
                    described[s].add((code, ranks[o]))
            elif o in described:
                described[o].add((code + 1, ranks[s]))
    return (
        {node: sorted(links) for node, links in described.items()},
        {node: sorted(links) for node, links in linked.items()},
    )
