"""The concept graph: what a text speaks of, what is spoken of together, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kg.text.normaliser import content_words, stem, words

if TYPE_CHECKING:
    import networkx as nx

    from kg.text.canonical.lookup import CanonicalLookup

LONGEST_FORM = 8
"""Words of the longest form that a query is searched for."""
MAX_QUERY_WORDS = 300
"""Words of a query that are looked at: a question is short, a hostile one need not be."""


class ConceptGraph:
    """Concepts as nodes, joint occurrence in chunks as edges.

    A node is a concept's canonical form, normalised (``kg.text.normaliser.normalise``). Nodes and
    edges stand in sorted order, whatever order they were found in.

    * node attributes: ``label`` (the commonest spelling), ``aliases`` (the other spellings, those
      of merged synonyms among them, commonest first), ``forms`` (normal forms of all of them),
      ``chunk_ids`` (in the order of the text), ``count`` (how many chunks);
    * edge attributes: ``weight`` (how many chunks have both), ``npmi`` (-1 … 1) and ``chunk_ids``.

    Args:
        graph: an undirected ``networkx.Graph`` of that form; it is not copied.
    """

    def __init__(self, graph: nx.Graph) -> None:
        self.graph = graph

    def __len__(self) -> int:
        return len(self.graph)

    def __contains__(self, node: object) -> bool:
        return node in self.graph

    @property
    def nodes(self) -> list[str]:
        """All nodes, sorted."""
        return list(self.graph)

    def label(self, node: str) -> str:
        """How a node is spelt most often."""
        return str(self.graph.nodes[node]["label"])

    def chunk_ids(self, node: str) -> list[str]:
        """Ids of the chunks that speak of a node, in the order of the text."""
        return list(self.graph.nodes[node]["chunk_ids"])

    def nodes_of_chunk(self, chunk_id: str) -> list[str]:
        """The concepts of a chunk, sorted; none for a chunk that is not known."""
        return self._by_chunk.get(chunk_id, [])

    @cached_property
    def _by_chunk(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for node, chunk_ids in self.graph.nodes(data="chunk_ids"):
            for chunk_id in chunk_ids:
                found.setdefault(chunk_id, []).append(node)
        return found

    @cached_property
    def _by_form(self) -> dict[str, str]:
        """Normal form → node, for every way a node is written. A node's own form goes first."""
        found = {node: node for node in self.graph}
        for node, forms in self.graph.nodes(data="forms"):
            for form in forms:
                found.setdefault(form, node)
        return found

    @cached_property
    def _longest(self) -> int:
        return min(LONGEST_FORM, max((f.count(" ") + 1 for f in self._by_form), default=0))

    def prepare(self) -> None:
        """Makes the indexes now that the first query would otherwise wait for."""
        _ = self._by_chunk, self._by_form, self._longest

    def match(self, query: str, lookup: CanonicalLookup | None = None) -> list[str]:
        """The concepts a query speaks of, in its order, each once.

        The longest runs of the query's words that are written like a node or one of its aliases
        go first; no word is used twice. Function words alone match nothing.

        Args:
            query: a question or any text.
            lookup: finds the nearest concept for the words that no form was found for.
        """
        tokens = words(query)[:MAX_QUERY_WORDS]
        stems = [stem(token) for token in tokens]
        free = [bool(content_words(token)) for token in tokens]
        taken = [False] * len(tokens)
        found: dict[int, str] = {}
        for start, size in _windows(len(tokens), self._longest):
            span = slice(start, start + size)
            if any(taken[span]) or not any(free[span]):
                continue
            node = self._by_form.get(" ".join(stems[span]))
            if node is not None:
                found[start] = node
                taken[span] = [True] * size
        if lookup is not None:
            self._look_up(tokens, free, taken, found, lookup)
        return list(dict.fromkeys(found[start] for start in sorted(found)))

    def _look_up(
        self,
        tokens: Sequence[str],
        free: Sequence[bool],
        taken: list[bool],
        found: dict[int, str],
        lookup: CanonicalLookup,
    ) -> None:
        """Adds to ``found`` what ``lookup`` knows for phrases of the words not ``taken`` yet."""
        spans = [
            (start, size)
            for start, size in _windows(len(tokens), 3)
            if free[start] and free[start + size - 1] and not any(taken[start : start + size])
        ]
        phrases = [" ".join(tokens[start : start + size]) for start, size in spans]
        for (start, size), node in zip(spans, lookup.resolve_many(phrases), strict=True):
            if node is not None and node in self.graph and not any(taken[start : start + size]):
                found[start] = node
                taken[start : start + size] = [True] * size


def _windows(count: int, longest: int) -> Iterator[tuple[int, int]]:
    """(start, size) of all windows over ``count`` words, longest first, then leftmost."""
    for size in range(min(longest, count), 0, -1):
        for start in range(count - size + 1):
            yield start, size
