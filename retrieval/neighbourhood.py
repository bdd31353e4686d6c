"""Collects the facts that a graph asserts or denies about some entities, most relevant first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, TypeVar

from kg.claims import Claim
from kg.validation.denials import iter_denials
from retrieval.passages import is_factual_claim

if TYPE_CHECKING:
    from kg.graph import Graph
    from kg.words.phrasebook import Phrasebook

T = TypeVar("T")


def collect_nearby_facts(
    graph: Graph, phrasebook: Phrasebook, iris: Sequence[str], limit: int
) -> list[str]:
    """Collects the facts about some entities, as sentences.

    They come in this order:

    1. facts that link two of the entities,
    2. denials with one of the entities as subject,
    3. facts with one as subject,
    4. facts with one as object,
    5. denials with one only as object.

    In 3 and 4 the entities take turns, so that none of them uses the whole limit. As in
    ``build_passages``, inferred facts are not included.

    Args:
        graph: the graph.
        phrasebook: words each fact as a sentence.
        iris: the entities; those that are not in the graph are ignored.
        limit: maximum number of facts.

    Returns:
        Sentences without duplicates, in an order that depends only on graph and arguments.
    """
    index = graph.index
    get_text = index.terms.get_text
    nodes = {node for iri in iris if (node := index.terms.get(iri)) is not None}
    ordered_nodes = [node for iri in iris if (node := index.terms.get(iri)) in nodes]

    def iter_outgoing(node: int) -> Iterator[Claim]:
        return (
            Claim(get_text(node), get_text(p), get_text(o)) for p, o in index.iter_out_edges(node)
        )

    def iter_incoming(node: int) -> Iterator[Claim]:
        return (
            Claim(get_text(s), get_text(p), get_text(node)) for p, s in index.iter_in_edges(node)
        )

    linking_facts = (
        Claim(get_text(node), get_text(p), get_text(o))
        for node in ordered_nodes
        for p, o in index.iter_out_edges(node)
        if o in nodes
    )
    denials = [d for d in iter_denials(index) if d.s in nodes or d.o in nodes]
    # Denials that link two of the entities come first, those with one only as object last.
    denials.sort(key=lambda d: (not (d.s in nodes and d.o in nodes), d.s not in nodes))
    denial_sentences = [
        phrasebook.render_denial(Claim(get_text(d.s), get_text(d.p), get_text(d.o)))
        for d in denials
    ]
    n_subject_denials = sum(d.s in nodes for d in denials)
    facts = chain(
        _render_facts(phrasebook, linking_facts),
        denial_sentences[:n_subject_denials],
        _render_facts(phrasebook, _interleave_rows(map(iter_outgoing, ordered_nodes))),
        _render_facts(phrasebook, _interleave_rows(map(iter_incoming, ordered_nodes))),
        denial_sentences[n_subject_denials:],
    )
    return list(islice(_drop_duplicates(facts), limit))


def _render_facts(phrasebook: Phrasebook, claims: Iterable[Claim]) -> Iterator[str]:
    return (phrasebook.render_fact(claim) for claim in claims if is_factual_claim(claim))


def _interleave_rows(rows: Iterable[Iterator[T]]) -> Iterator[T]:
    """Yields the first item of each row, then the second item of each row, and so on."""
    return (item for nth_items in zip_longest(*rows) for item in nth_items if item is not None)


def _drop_duplicates(items: Iterable[T]) -> Iterator[T]:
    seen: set[T] = set()
    for item in items:
        if item not in seen:
            seen.add(item)
            yield item
