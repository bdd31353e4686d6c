"""The concept graph: the concepts of a text, which occur together, and in which chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kg.text.concepts.concept_links import ConceptLinks
from kg.words.normaliser import extract_content_words, split_words, stem_word

if TYPE_CHECKING:
    import networkx as nx

    from kg.text.canonical.lookup import CanonicalLookup

MAX_FORM_WORDS = 8
"""Maximum number of words in a form that queries are searched for."""
MAX_QUERY_WORDS = 300
"""Maximum number of words of a query that are searched; limits the work on hostile input."""
_MAX_LOOKUP_WORDS = 3
"""Maximum number of words in a phrase for which the nearest concept is looked up."""


class ConceptGraph:
    """A graph with concepts as nodes and co-occurrence in chunks as edges.

    A node is the normal form (``kg.words.normaliser.normalise_phrase``) of a concept's canonical
    keyword. Nodes and edges are sorted.

    * node attributes: ``label`` (the commonest spelling), ``aliases`` (other spellings, including
      those of merged synonyms, commonest first), ``forms`` (normal forms of label and aliases),
      ``chunk_ids`` (in the order of the text), ``count`` (number of chunks);
    * edge attributes: ``weight`` (number of shared chunks) and ``npmi`` (-1 … 1).

    Args:
        graph: an undirected ``networkx.Graph`` with these attributes, which is not copied; or what
            it is built from when it is first asked for, since it takes much more memory.
    """

    def __init__(self, graph: nx.Graph | ConceptLinks) -> None:
        self._links = graph if isinstance(graph, ConceptLinks) else None
        if not isinstance(graph, ConceptLinks):
            self.graph = graph
        self.attributes: Mapping[str, dict[str, Any]] = graph.nodes
        """Node → its attributes, sorted."""

    @cached_property
    def graph(self) -> nx.Graph:
        """The graph in networkx."""
        assert self._links is not None
        return self._links.build_graph()

    def __len__(self) -> int:
        return len(self.attributes)

    def __contains__(self, node: object) -> bool:
        return node in self.attributes

    @property
    def nodes(self) -> list[str]:
        """All nodes, sorted."""
        return list(self.attributes)

    @property
    def link_count(self) -> int:
        """The number of links."""
        if self._links is not None:
            return len(self._links.pairs.weight)
        return int(self.graph.number_of_edges())

    @property
    def totals(self) -> dict[str, Any]:
        """The attributes of the whole graph: ``chunks``, their number, if it is known."""
        if self._links is not None:
            return {"chunks": self._links.chunk_count}
        return dict(self.graph.graph)

    def iter_links(self) -> Iterator[tuple[str, str, int]]:
        """Yields the two nodes and the weight of each link."""
        if self._links is not None:
            return self._links.iter_links()
        return iter(self.graph.edges.data("weight"))

    def get_label(self, node: str) -> str:
        """Returns the commonest spelling of a node."""
        return str(self.attributes[node]["label"])

    def get_chunk_ids(self, node: str) -> list[str]:
        """Returns the ids of the chunks that mention a node, in the order of the text."""
        return list(self.attributes[node]["chunk_ids"])

    def get_chunk_nodes(self, chunk_id: str) -> list[str]:
        """Returns the concepts of a chunk, sorted; none for an unknown chunk."""
        return self._nodes_by_chunk.get(chunk_id, [])

    @cached_property
    def _nodes_by_chunk(self) -> dict[str, list[str]]:
        nodes: dict[str, list[str]] = {}
        for node, data in self.attributes.items():
            for chunk_id in data["chunk_ids"]:
                nodes.setdefault(chunk_id, []).append(node)
        return nodes

    @cached_property
    def _nodes_by_form(self) -> dict[str, str]:
        """Normal form → node, for every spelling. A node's own form takes precedence."""
        node_of_form = {node: node for node in self.attributes}
        for node, data in self.attributes.items():
            for form in data["forms"]:
                node_of_form.setdefault(form, node)
        return node_of_form

    @cached_property
    def _max_form_words(self) -> int:
        return min(MAX_FORM_WORDS, max((f.count(" ") + 1 for f in self._nodes_by_form), default=0))

    def build_indexes(self) -> None:
        """Builds the indexes in advance, so that the first query is not slower than others."""
        _ = self._nodes_by_chunk, self._nodes_by_form, self._max_form_words

    def find_mentions(self, stems: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        """Yields start, end and node of each sequence of stemmed words that is written like one.

        Sequences inside each other are all found: by their start, then the longest first.
        """
        for start in range(len(stems)):
            for end in range(min(len(stems), start + self._max_form_words), start, -1):
                node = self._nodes_by_form.get(" ".join(stems[start:end]))
                if node is not None:
                    yield start, end, node

    def match_concepts(self, query: str, lookup: CanonicalLookup | None = None) -> list[str]:
        """Returns the concepts that a query mentions, in its order, each once.

        Word sequences of the query are matched against the nodes and their aliases, the longest
        first; no word is used twice. Function words alone match nothing.

        Args:
            query: a question or any text.
            lookup: finds the nearest concept for words that match no form.
        """
        tokens = split_words(query)[:MAX_QUERY_WORDS]
        stems = [stem_word(token) for token in tokens]
        is_content = [bool(extract_content_words(token)) for token in tokens]
        used = [False] * len(tokens)
        matches: dict[int, str] = {}
        for start, size in _iter_windows(len(tokens), self._max_form_words):
            span = slice(start, start + size)
            if any(used[span]) or not any(is_content[span]):
                continue
            node = self._nodes_by_form.get(" ".join(stems[span]))
            if node is not None:
                matches[start] = node
                used[span] = [True] * size
        if lookup is not None:
            self._add_lookup_matches(tokens, is_content, used, matches, lookup)
        return list(dict.fromkeys(matches[start] for start in sorted(matches)))

    def _add_lookup_matches(
        self,
        tokens: Sequence[str],
        is_content: Sequence[bool],
        used: list[bool],
        matches: dict[int, str],
        lookup: CanonicalLookup,
    ) -> None:
        """Adds to ``matches`` the concepts that ``lookup`` finds for phrases of unused words."""
        spans = [
            (start, size)
            for start, size in _iter_windows(len(tokens), _MAX_LOOKUP_WORDS)
            if is_content[start]
            and is_content[start + size - 1]
            and not any(used[start : start + size])
        ]
        phrases = [" ".join(tokens[start : start + size]) for start, size in spans]
        for (start, size), node in zip(spans, lookup.resolve_keywords(phrases), strict=True):
            if node is not None and node in self and not any(used[start : start + size]):
                matches[start] = node
                used[start : start + size] = [True] * size


def _iter_windows(count: int, max_size: int) -> Iterator[tuple[int, int]]:
    """Yields (start, size) of all windows over ``count`` words, longest first, then leftmost."""
    for size in range(min(max_size, count), 0, -1):
        for start in range(count - size + 1):
            yield start, size
