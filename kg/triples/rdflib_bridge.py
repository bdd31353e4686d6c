"""Copies an index into an rdflib graph, in the form in which pySHACL gives correct results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.terms import to_rdflib

if TYPE_CHECKING:
    import rdflib

    from kg.triples.index import Index


def fill_rdflib_graph(graph: rdflib.Graph, index: Index) -> rdflib.Graph:
    """Adds every triple of ``index`` to ``graph`` and returns ``graph``.

    ``xsd:string`` is dropped: rdflib treats ``Literal("x", xsd:string)`` and ``Literal("x")`` as
    different, which makes pySHACL report false violations. Lexical forms are kept
    (``"1.00"^^xsd:decimal`` is not normalised).

    Raises:
        ValueError: a literal that is not in N-Triples form.
    """
    converted: dict[int, rdflib.term.Identifier] = {}
    get_text = index.terms.get_text
    for triple in index.iter_triples():
        for term in triple:
            if term not in converted:
                converted[term] = to_rdflib(get_text(term))
        graph.add((converted[triple[0]], converted[triple[1]], converted[triple[2]]))
    return graph
