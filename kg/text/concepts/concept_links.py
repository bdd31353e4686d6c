"""The concepts of a text and their links as arrays, which take a tenth of a graph's memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from kg.text.concepts.association import compute_npmi

if TYPE_CHECKING:
    import networkx as nx
    import numpy as np
    import numpy.typing as npt


class ConceptPairs(NamedTuple):
    """Pairs of concepts that share chunks, as arrays of equal length, sorted."""

    first: npt.NDArray[np.int32]
    """The position of the concept that comes first."""
    second: npt.NDArray[np.int32]
    weight: npt.NDArray[np.int32]
    """The number of shared chunks."""

    def select_pairs(self, is_selected: npt.NDArray[np.bool_]) -> ConceptPairs:
        """Returns the pairs of a mask."""
        return ConceptPairs(*(column[is_selected] for column in self))

    def renumber_concepts(self) -> tuple[list[int], ConceptPairs]:
        """Leaves out concepts that are in no pair.

        Returns:
            The positions of the other concepts, and the pairs as positions among these.
        """
        import numpy as np

        linked = np.unique(np.concatenate((self.first, self.second)))
        first, second = (
            np.searchsorted(linked, column).astype(np.int32) for column in (self.first, self.second)
        )
        return linked.tolist(), ConceptPairs(first, second, self.weight)


class ConceptLinks(NamedTuple):
    """Concepts and links; see ``kg.text.concepts.concept_graph.ConceptGraph``."""

    nodes: dict[str, dict[str, Any]]
    """Node → its attributes, sorted."""
    pairs: ConceptPairs
    """The linked concepts, as positions in ``nodes``."""
    chunk_count: int
    """The number of chunks, including those without concepts."""

    def iter_links(self) -> Iterator[tuple[str, str, int]]:
        """Yields the two nodes and the weight of each link."""
        names = list(self.nodes)
        for first, second, weight in zip(*self.pairs, strict=True):
            yield names[first], names[second], int(weight)

    def build_graph(self) -> nx.Graph:
        """Returns the graph, with the NPMI of each link."""
        import networkx as nx

        graph = nx.Graph(chunks=self.chunk_count)
        graph.add_nodes_from(self.nodes.items())
        for first, second, weight in self.iter_links():
            counts = (self.nodes[first]["count"], self.nodes[second]["count"], self.chunk_count)
            graph.add_edge(first, second, weight=weight, npmi=compute_npmi(weight, *counts))
        return graph


def count_shared_chunks(chunk_numbers: Sequence[Sequence[int]], chunk_count: int) -> ConceptPairs:
    """Counts the chunks that concepts share.

    Args:
        chunk_numbers: the chunks of each concept, as numbers from 0, each once.
        chunk_count: number of chunks.

    Returns:
        All pairs of concepts, as positions in ``chunk_numbers``, that share a chunk.
    """
    import numpy as np
    from scipy.sparse import csr_array, triu

    starts = np.cumsum([0, *map(len, chunk_numbers)])
    chunks = np.fromiter(chain.from_iterable(chunk_numbers), np.int32, count=starts[-1])
    mentions = csr_array(
        (np.ones(len(chunks), np.int32), chunks, starts), shape=(len(chunk_numbers), chunk_count)
    )
    shared = triu(mentions @ mentions.T, k=1, format="csr")
    shared.sort_indices()
    pairs = shared.tocoo()
    return ConceptPairs(pairs.row.astype(np.int32), pairs.col.astype(np.int32), pairs.data)
