"""The way from an index to rdflib, in the one form that pySHACL reads without false results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.terms import to_rdflib

if TYPE_CHECKING:
    import rdflib

    from kg.index import Index


def fill_rdflib(graph: rdflib.Graph, index: Index) -> rdflib.Graph:
    """Adds every triple of ``index`` to ``graph``, each term made once; returns ``graph``.

    ``xsd:string`` is dropped (rdflib holds ``Literal("x", xsd:string)`` unequal to
    ``Literal("x")``, which makes pySHACL report violations that are none) and lexical forms are
    kept (``"1.00"^^xsd:decimal`` stays so).

    Raises:
        ValueError: a literal that is not in N-Triples form.
    """
    made: dict[int, rdflib.term.Identifier] = {}
    text = index.terms.text
    for triple in index.triples():
        for term in triple:
            if term not in made:
                made[term] = to_rdflib(text(term))
        graph.add((made[triple[0]], made[triple[1]], made[triple[2]]))
    return graph
