"""Retrieves passages by cosine similarity of sentence embeddings (extra ``minilm``)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kg.base.console import track_progress
from kg.base.files import sha256_bytes
from kg.embedding.embedder import Embedder, normalise_rows
from retrieval.base import CorpusRetriever, collect_unique_ids
from retrieval.protocol import Passage

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CACHE_VARIABLE = "EPOCHE_EMBEDDING_CACHE"
"""Environment variable that names a cache folder for embeddings. It is not a setting of the
retriever, since it does not change the results."""
_CACHE_VERSION = 2
"""Changed when the same weights give vectors with other last digits."""
PASSAGES_PER_STEP = 512
"""Number of passages that are embedded per step of the progress bar."""


class DenseRetriever(CorpusRetriever):
    """Cosine similarity between sentence embeddings of query and passages.

    Args:
        passages: the corpus; embedded once, in the constructor.
        embedder: the model; ``load_embedder`` loads one.
        cache: a folder that caches the corpus's embeddings between processes, by the hash of
            weights and texts. Unreadable files in it are replaced. ``None`` for no cache.

    Raises:
        DuplicateIdError: two passages have the same id.
        WriteError: the cache cannot be written.
    """

    name = "dense"

    def __init__(
        self, passages: Sequence[Passage], embedder: Embedder, *, cache: Path | None = None
    ) -> None:
        self.ids = collect_unique_ids(passages)
        self._embedder = embedder
        texts = [passage.text for passage in passages]
        self._matrix = embed_texts(texts, embedder, cache)

    def params(self) -> dict[str, object]:
        """Returns the parameters that determine the scores."""
        return {
            "name": self.name,
            "embedder": self._embedder.name,
            "weights_sha256": self._embedder.sha256 or None,
        }

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """See ``Retriever``; every passage has a score."""
        return self.rank_scores(self.score_passages(query), pool_size, chunks)

    def score_passages(self, query: str) -> npt.NDArray[np.float32]:
        """Returns the cosines of all passages, shape (passages,)."""
        import numpy as np

        if not self.ids:
            return np.zeros(0, dtype=np.float32)
        return compute_cosines(self._matrix, embed_query(query, self._embedder))


@lru_cache(maxsize=8)
def embed_query(query: str, embedder: Embedder) -> npt.NDArray[np.float32]:
    """Returns the embedding of a question, of length 1; must not be changed.

    Kept for the last questions, because the retrievers of a fusion embed the same one in turn.
    """
    vector: npt.NDArray[np.float32] = normalise_rows(embedder.encode([query]))[0]
    return vector


def compute_cosines(
    matrix: npt.NDArray[np.float32], vector: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Returns the product of each row with a vector; both have length 1."""
    import numpy as np

    # Not `@`: the last digits of its result depend on a row's position in the matrix, but equal
    # texts must get equal scores, in any order of the corpus.
    return np.asarray(np.einsum("ij,j->i", matrix, vector))


def embed_texts(
    texts: Sequence[str], embedder: Embedder, cache: Path | None
) -> npt.NDArray[np.float32]:
    """Returns the texts' normalised embeddings, shape (texts, dimensions).

    Args:
        texts: the texts.
        embedder: the model.
        cache: as for ``DenseRetriever``.

    Raises:
        WriteError: the cache cannot be written.
    """
    if cache is None or not embedder.sha256:
        return _embed_texts(texts, embedder)
    return _get_cached_embeddings(texts, embedder, cache)


def get_cache_folder() -> Path | None:
    """Returns the folder named by ``EPOCHE_EMBEDDING_CACHE``; None if it is not set."""
    folder = os.environ.get(CACHE_VARIABLE, "")
    return Path(folder).expanduser() if folder else None


def _embed_texts(texts: Sequence[str], embedder: Embedder) -> npt.NDArray[np.float32]:
    """Computes the texts' normalised embeddings, shape (texts, dimensions).

    Equal texts are embedded once: how a matrix library rounds may depend on the other texts of a
    batch, but equal texts must get equal scores.
    """
    import numpy as np

    rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    unique_texts = list(rows)
    starts = range(0, len(unique_texts), PASSAGES_PER_STEP)
    parts = [
        normalise_rows(embedder.encode(unique_texts[start : start + PASSAGES_PER_STEP]))
        for start in track_progress(starts, what="embedding", total=len(starts))
    ]
    if not parts:
        return normalise_rows(embedder.encode([]))
    matrix: npt.NDArray[np.float32] = np.concatenate(parts)[[rows[text] for text in texts]]
    return matrix


def _get_cached_embeddings(
    texts: Sequence[str], embedder: Embedder, folder: Path
) -> npt.NDArray[np.float32]:
    """Returns the corpus's normalised embeddings from the cache, which is filled if needed.

    The file's name is the hash of model and texts, so it cannot be out of date. The file begins
    with the hash of its content, so a truncated or modified file is detected and replaced.
    """
    import numpy as np

    from kg.base.files import convert_write_errors, write_bytes_atomic

    hasher = hashlib.sha256(f"{_CACHE_VERSION} {embedder.sha256}".encode())
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        # The length prefix keeps ["ab"] from having the hash of ["a", "b"].
        hasher.update(len(data).to_bytes(8, "big") + data)
    file = folder / f"{hasher.hexdigest()[:32]}.f32"
    try:
        cached_bytes = file.read_bytes()
    except OSError:
        cached_bytes = b""
    digest, content = cached_bytes[:64], cached_bytes[64:]  # 64 hex digits, then float32 values
    if texts and content and digest == sha256_bytes(content).encode():
        return np.frombuffer(content, dtype="<f4").reshape(len(texts), -1)
    matrix = _embed_texts(texts, embedder)
    content = matrix.astype("<f4").tobytes()
    with convert_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_bytes_atomic(file, sha256_bytes(content).encode() + content)
    return matrix
