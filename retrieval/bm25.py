"""Retrieves passages by BM25, with the library bm25s (Lù 2024, arXiv:2407.03618)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from kg.words.normaliser import extract_content_words
from retrieval.base import CorpusRetriever, collect_unique_ids
from retrieval.protocol import Passage

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class BM25(CorpusRetriever):
    """Okapi BM25 in Lucene's variant, whose idf is never negative.

    Args:
        passages: the corpus.
        k1: term-frequency saturation.
        b: length normalisation, 0 to 1.

    Raises:
        DuplicateIdError: two passages have the same id.
    """

    name = "bm25"

    def __init__(self, passages: Sequence[Passage], *, k1: float = 1.5, b: float = 0.75) -> None:
        self.ids = collect_unique_ids(passages)
        self._k1, self._b = k1, b
        self._index: Any = None
        tokens = [extract_content_words(passage.text) for passage in passages]
        self._vocabulary = {token for words in tokens for token in words}
        if self._vocabulary:
            import bm25s

            self._index = bm25s.BM25(k1=k1, b=b, method="lucene")
            self._index.index(tokens, show_progress=False)

    def params(self) -> dict[str, object]:
        """Returns the parameters that determine the scores."""
        return {"name": self.name, "k1": self._k1, "b": self._b, "variant": "lucene"}

    def score_passages(self, query: str) -> npt.NDArray[np.floating[Any]]:
        """Returns the scores of all passages, shape (passages,); 0 for those without a word."""
        import numpy as np

        known_words = [word for word in extract_content_words(query) if word in self._vocabulary]
        if not known_words:
            return np.zeros(len(self.ids))
        return np.asarray(self._index.get_scores(known_words))

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """See ``Retriever``; passages that share no word with the query are absent."""
        return self.rank_scores(self.score_passages(query), pool_size, chunks, above=0.0)
