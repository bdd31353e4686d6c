"""Collects the facts that a graph asserts or denies about some entities, most relevant first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, TypeVar

from kg.claims import Claim
from kg.denials import iter_denials
from retrieval.passages import is_factual_claim

if TYPE_CHECKING:
    from kg.graph import Graph
    from kg.words.phrasebook import Phrasebook

T = TypeVar("T")


def collect_nearby_facts(
    graph: Graph, phrasebook: Phrasebook, iris: Sequence[str], limit: int
) -> list[str]:
    """Collects the facts about some entities, as sentences.

    The order is: facts that link two of the entities; denials with one of them as subject; facts
    with one as subject; facts with one as object; denials with one as object. Entities take turns,
    so that none uses the whole limit. As in ``build_passages``, inferred facts are not included.

    Args:
        graph: the graph.
        phrasebook: words each fact as a sentence.
        iris: the entities; those that are not in the graph are ignored.
        limit: maximum number of facts.

    Returns:
        Sentences, each once, in an order that depends on graph and arguments only.
    """
    index = graph.index
    text = index.terms.get_text
    nodes = {node for thing in iris if (node := index.terms.get(thing)) is not None}
    ordered = [node for thing in iris if (node := index.terms.get(thing)) in nodes]

    def iter_outgoing(node: int) -> Iterator[Claim]:
        return (Claim(text(node), text(p), text(o)) for p, o in index.iter_out_edges(node))

    def iter_incoming(node: int) -> Iterator[Claim]:
        return (Claim(text(s), text(p), text(node)) for p, s in index.iter_in_edges(node))

    joining = (
        Claim(text(node), text(p), text(o))
        for node in ordered
        for p, o in index.iter_out_edges(node)
        if o in nodes
    )
    denials = [d for d in iter_denials(index) if d.s in nodes or d.o in nodes]
    # Denials that link two of the entities first, those with one only as object last.
    denials.sort(key=lambda d: (not (d.s in nodes and d.o in nodes), d.s not in nodes))
    denied = [phrasebook.render_denial(Claim(text(d.s), text(d.p), text(d.o))) for d in denials]
    as_subject = sum(d.s in nodes for d in denials)
    facts = chain(
        _render_facts(phrasebook, joining),
        denied[:as_subject],
        _render_facts(phrasebook, _interleave_rows(map(iter_outgoing, ordered))),
        _render_facts(phrasebook, _interleave_rows(map(iter_incoming, ordered))),
        denied[as_subject:],
    )
    return list(islice(_drop_duplicates(facts), limit))


def _render_facts(phrasebook: Phrasebook, claims: Iterable[Claim]) -> Iterator[str]:
    return (phrasebook.render_fact(claim) for claim in claims if is_factual_claim(claim))


def _interleave_rows(rows: Iterable[Iterator[T]]) -> Iterator[T]:
    """Yields the first item of each row, then the second of each, and so on."""
    return (item for turn in zip_longest(*rows) for item in turn if item is not None)


def _drop_duplicates(items: Iterable[T]) -> Iterator[T]:
    seen: set[T] = set()
    for item in items:
        if item not in seen:
            seen.add(item)
            yield item
