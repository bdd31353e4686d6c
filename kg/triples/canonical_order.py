"""Sorts an index, so that equal triples give equal results whatever file they were read from.

Iteration over an index is in the order in which it was filled. Without sorting, cards would depend
on the format and the order of the file. Blank nodes have no names of their own, so they are sorted
by the triples that mention them; those with the same triples stay in the order of the file.
"""

from __future__ import annotations

from kg.triples.index import Index
from kg.triples.rows import Cell, Row


def sort_index(index: Index) -> None:
    """Sorts predicates, subjects and objects by their text."""
    ranks = _rank_terms(index)
    get_rank = ranks.__getitem__
    forward = index.begin_loading()
    rows = {p: _sort_row(forward[p], ranks) for p in sorted(forward, key=get_rank)}
    forward.clear()
    forward.update(rows)
    index.finish_loading(0)


def _rank_terms(index: Index) -> list[int]:
    """Returns the rank of each term by its id."""
    texts, blanks = index.terms.texts, index.terms.blanks
    order = sorted(range(len(texts)), key=texts.__getitem__)
    if blanks:
        descriptions = _describe_blanks(index)
        order = [term for term in order if term not in blanks] + sorted(
            blanks, key=lambda term: (descriptions.get(term, []), texts[term])
        )
    ranks = [0] * len(order)
    for rank, term in enumerate(order):
        ranks[term] = rank
    return ranks


def _describe_blanks(index: Index) -> dict[int, list[tuple[str, str, str]]]:
    """Returns the triples that mention each blank node, with all blank nodes named alike."""
    texts, blanks = index.terms.texts, index.terms.blanks
    descriptions: dict[int, list[tuple[str, str, str]]] = {}
    for s, p, o in index.iter_triples():
        if s in blanks or o in blanks:
            row = ("" if s in blanks else texts[s], texts[p], "" if o in blanks else texts[o])
            for term in {s, o} & blanks:
                descriptions.setdefault(term, []).append(row)
    for rows in descriptions.values():
        rows.sort()
    return descriptions


def _sort_row(row: Row, ranks: list[int]) -> Row:
    get_rank = ranks.__getitem__
    return {s: _sort_cell(row[s], ranks) for s in sorted(row, key=get_rank)}


def _sort_cell(cell: Cell, ranks: list[int]) -> Cell:
    if isinstance(cell, int):
        return cell
    values = sorted(cell, key=ranks.__getitem__)
    return values if isinstance(cell, list) else dict.fromkeys(values)
