"""The canonical lookup: the concept of the graph that a keyword of a question means."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kg.text.canonical.rules import refuted
from kg.text.normaliser import normalise

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kg.embedding.embedder import Embedder
    from kg.text.canonical.table import CanonicalTable

FALLBACK_THRESHOLD = 0.85
"""Cosine at which the nearest concept is taken for a keyword that no table has."""
_NEAREST = 8
"""Nearest concepts that are looked at: those that a rule refutes are passed over."""
_AT_ONCE = 256
"""Keywords that are compared with all concepts at once."""


class CanonicalLookup:
    """Finds the node of a graph that a keyword means: itself, its concept, else the nearest.

    ``resolve`` is idempotent: a node that is live is always itself.
    """

    def __init__(
        self,
        table: CanonicalTable,
        embedder: Embedder,
        live: Collection[str],
        fallback_threshold: float = FALLBACK_THRESHOLD,
        vectors: npt.NDArray[np.float32] | None = None,
    ) -> None:
        """Takes what was built; embeds nothing until a keyword needs it.

        Args:
            table: of the corpus.
            embedder: the model that the table was made with.
            live: nodes that the graph holds, in normal form; no other is ever named.
            fallback_threshold: cosine that the nearest node must have at least.
            vectors: of ``table.canonical_keywords()`` row by row, rows of length 1, where they
                are already known.
        """
        self._table, self._embedder = table, embedder
        self._live, self._threshold = frozenset(live), fallback_threshold
        self._given = vectors
        if vectors is not None and len(vectors) != len(table.concepts):
            raise ValueError(f"{len(vectors)} vectors for {len(table.concepts)} concepts")

    def resolve(self, keyword: str) -> str | None:
        """The live node that a keyword means; None when there is none."""
        return self.resolve_many([keyword])[0]

    def resolve_many(self, keywords: Sequence[str]) -> list[str | None]:
        """The live node of each keyword; what must be embedded is embedded in one call."""
        forms = [normalise(keyword) for keyword in keywords]
        known = {form: self._known(form) for form in forms}
        # Sorted, and one spelling a form: what is found must not depend on what else is asked.
        unknown = sorted(form for form, node in known.items() if form and node is None)
        if unknown and self._candidates:
            for start in range(0, len(unknown), _AT_ONCE):
                some = unknown[start : start + _AT_ONCE]
                known.update(zip(some, self._nearest(some), strict=True))
        return [known[form] for form in forms]

    def _known(self, form: str) -> str | None:
        """The node of a form by the table alone. A live node comes first: it means itself."""
        if form in self._live:
            return form
        concept = self._table.forms.get(form)
        return concept if concept in self._live else None

    @cached_property
    def _candidates(self) -> list[str]:
        """The concepts that may be named, sorted."""
        return [concept for concept in self._table.concepts if concept in self._live]

    @cached_property
    def _vectors(self) -> npt.NDArray[np.float32]:
        """Their embeddings: shape (candidates, dimensions), rows of length 1."""
        from kg.embedding.embedder import unit_rows

        if self._given is not None:
            places = [
                place for place, name in enumerate(self._table.concepts) if name in self._live
            ]
            return self._given[places]
        return unit_rows(
            self._embedder.encode([self._table.labels[name] for name in self._candidates])
        )

    def _nearest(self, forms: Sequence[str]) -> list[str | None]:
        """The nearest live concept of each form that is near enough and that no rule refutes."""
        import numpy as np

        from kg.embedding.embedder import unit_rows

        similar = unit_rows(self._embedder.encode(forms)) @ self._vectors.T
        found: list[str | None] = []
        for form, row in zip(forms, similar, strict=True):
            near = np.flatnonzero(row >= self._threshold)
            # Equally near ones by name, in which order the candidates are.
            near = near[np.argsort(-row[near], kind="stable")][:_NEAREST]
            names = [self._candidates[place] for place in near.tolist()]
            found.append(next((n for n in names if not refuted(form, n)), None))
        return found
