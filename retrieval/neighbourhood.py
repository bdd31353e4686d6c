"""The facts around things: what a graph states and denies of them, nearest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, TypeVar

from kg.claims import Claim
from kg.denials import stated_denials
from retrieval.passages import states_a_fact

if TYPE_CHECKING:
    from kg.graph import Graph
    from kg.words.phrasebook import Phrasebook

T = TypeVar("T")


def neighbourhood(graph: Graph, words: Phrasebook, things: Sequence[str], limit: int) -> list[str]:
    """The facts about some things, as sentences.

    First those that join two of the things, then what is denied of them, then those that have one
    of them as subject, then as object, then denials with one as object; the things take turns, so
    that none crowds out the others.
    Only what is stated is told, as in ``passages_of``: nothing is inferred.

    Args:
        graph: what is stated.
        words: puts each fact in a sentence.
        things: IRIs; those the graph does not know are passed over.
        limit: at most so many facts.

    Returns:
        Sentences, each once, in an order that depends on graph and arguments only.
    """
    index = graph.index
    text = index.terms.text
    nodes = {node for thing in things if (node := index.terms.get(thing)) is not None}
    ordered = [node for thing in things if (node := index.terms.get(thing)) in nodes]

    def outward(node: int) -> Iterator[Claim]:
        return (Claim(text(node), text(p), text(o)) for p, o in index.out_edges(node))

    def inward(node: int) -> Iterator[Claim]:
        return (Claim(text(s), text(p), text(node)) for p, s in index.in_edges(node))

    joining = (
        Claim(text(node), text(p), text(o))
        for node in ordered
        for p, o in index.out_edges(node)
        if o in nodes
    )
    denials = [d for d in stated_denials(index) if d.s in nodes or d.o in nodes]
    # Those about two of the things first, those that only have one as object last.
    denials.sort(key=lambda d: (not (d.s in nodes and d.o in nodes), d.s not in nodes))
    denied = [words.denied(Claim(text(d.s), text(d.p), text(d.o))) for d in denials]
    near = sum(d.s in nodes for d in denials)
    facts = chain(
        _sentences(words, joining),
        denied[:near],
        _sentences(words, _in_turn(map(outward, ordered))),
        _sentences(words, _in_turn(map(inward, ordered))),
        denied[near:],
    )
    return list(islice(_once(facts), limit))


def _sentences(words: Phrasebook, claims: Iterable[Claim]) -> Iterator[str]:
    return (words.fact(claim) for claim in claims if states_a_fact(claim))


def _in_turn(rows: Iterable[Iterator[T]]) -> Iterator[T]:
    """One of each row, then the next of each."""
    return (item for turn in zip_longest(*rows) for item in turn if item is not None)


def _once(items: Iterable[T]) -> Iterator[T]:
    seen: set[T] = set()
    for item in items:
        if item not in seen:
            seen.add(item)
            yield item
