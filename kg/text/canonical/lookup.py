"""Finds the concept of the graph that a keyword of a question refers to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kg.text.canonical.rules import is_refuted
from kg.words.normaliser import normalise_phrase

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kg.embedding.embedder import Embedder
    from kg.text.canonical.table import CanonicalTable

DEFAULT_FALLBACK_THRESHOLD = 0.85
"""Minimum cosine at which a keyword outside the table is resolved to the nearest concept."""
_MAX_NEAREST = 8
"""Maximum number of nearest concepts that are tried. One is skipped if a rule decides that it is no
synonym of the keyword (``is_refuted``)."""
_BATCH_SIZE = 256
"""Number of keywords compared with all concepts in one matrix product."""


class CanonicalLookup:
    """Resolves a keyword to a graph node: the keyword itself, its concept, or the nearest concept.

    Idempotent: a node of the graph always resolves to itself.
    """

    def __init__(
        self,
        table: CanonicalTable,
        embedder: Embedder,
        graph_nodes: Collection[str],
        fallback_threshold: float = DEFAULT_FALLBACK_THRESHOLD,
        vectors: npt.NDArray[np.float32] | None = None,
    ) -> None:
        """Stores the arguments; concepts are embedded when a keyword first needs it.

        Args:
            table: the canonical table of the corpus.
            embedder: the model that the table was built with.
            graph_nodes: nodes of the graph in normal form; only these are returned.
            fallback_threshold: minimum cosine of the nearest concept.
            vectors: embeddings of the labels of ``table.concepts``, in that order and with rows of
                length 1, if they have been computed before.
        """
        self._table, self._embedder = table, embedder
        self._graph_nodes, self._threshold = frozenset(graph_nodes), fallback_threshold
        self._all_vectors = vectors
        if vectors is not None and len(vectors) != len(table.concepts):
            raise ValueError(f"{len(vectors)} vectors for {len(table.concepts)} concepts")

    def resolve_keyword(self, keyword: str) -> str | None:
        """Returns the graph node that a keyword refers to, or None."""
        return self.resolve_keywords([keyword])[0]

    def resolve_keywords(self, keywords: Sequence[str]) -> list[str | None]:
        """Returns the graph node of each keyword, or None; embeds keywords in batches."""
        forms = [normalise_phrase(keyword) for keyword in keywords]
        node_of_form = {form: self._find_in_table(form) for form in forms}
        # Forms are embedded in sorted order, so that the result does not depend on the order or the
        # spelling of the keywords.
        missing_forms = sorted(form for form, node in node_of_form.items() if form and node is None)
        if missing_forms and self._candidates:
            for start in range(0, len(missing_forms), _BATCH_SIZE):
                batch = missing_forms[start : start + _BATCH_SIZE]
                node_of_form.update(zip(batch, self._find_nearest(batch), strict=True))
        return [node_of_form[form] for form in forms]

    def _find_in_table(self, form: str) -> str | None:
        """Returns the node of a form without embeddings: the form itself, else its concept."""
        if form in self._graph_nodes:
            return form
        concept = self._table.forms.get(form)
        return concept if concept in self._graph_nodes else None

    @cached_property
    def _candidates(self) -> list[str]:
        """The concepts that are nodes of the graph, sorted."""
        return [concept for concept in self._table.concepts if concept in self._graph_nodes]

    @cached_property
    def _vectors(self) -> npt.NDArray[np.float32]:
        """Embeddings of ``_candidates``: shape (candidates, dimensions), rows of length 1."""
        from kg.embedding.embedder import normalise_rows

        if self._all_vectors is not None:
            indices = [
                index
                for index, name in enumerate(self._table.concepts)
                if name in self._graph_nodes
            ]
            return self._all_vectors[indices]
        return normalise_rows(
            self._embedder.encode([self._table.labels[name] for name in self._candidates])
        )

    def _find_nearest(self, forms: Sequence[str]) -> list[str | None]:
        """Returns, for each form, the nearest candidate that no rule refutes.

        The result is None for a form without such a candidate above the threshold.
        """
        import numpy as np

        from kg.embedding.embedder import normalise_rows

        similarity_matrix = normalise_rows(self._embedder.encode(forms)) @ self._vectors.T
        nearest: list[str | None] = []
        for form, similarities in zip(forms, similarity_matrix, strict=True):
            near_indices = np.flatnonzero(similarities >= self._threshold)
            # The stable sort breaks ties by name, since candidates are sorted.
            order = np.argsort(-similarities[near_indices], kind="stable")
            nearest_indices = near_indices[order][:_MAX_NEAREST]
            names = [self._candidates[index] for index in nearest_indices.tolist()]
            nearest.append(next((n for n in names if not is_refuted(form, n)), None))
        return nearest
