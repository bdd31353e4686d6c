"""Dense retrieval: sentence embeddings and cosine similarity (extra ``dense``)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kg.base.console import progress
from kg.base.files import sha256_bytes
from kg.embedding.embedder import Embedder, unit_rows
from retrieval.protocol import Passage
from retrieval.ranking import Ranked, unique_ids

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CACHE_VARIABLE = "EPOCHE_EMBEDDING_CACHE"
"""A folder that keeps embedded corpora. Not a setting: it decides no answer."""
AT_ONCE = 512
"""Passages that are embedded between two steps of the progress bar."""


class Dense(Ranked):
    """Cosine similarity between sentence embeddings of query and passages.

    Args:
        passages: the corpus; embedded once, here.
        embedder: the model; ``load_embedder`` loads one.
        cache: a folder that keeps the corpus's embeddings from one process to the next, by the
            hash of weights and texts; a file in it that cannot be read is made again. None: no
            such folder.

    Raises:
        DuplicateIdError: two passages bear one id.
        WriteError: the cache cannot be written.
    """

    name = "dense"

    def __init__(
        self, passages: Sequence[Passage], embedder: Embedder, *, cache: Path | None = None
    ) -> None:
        self.ids = unique_ids(passages)
        self._embedder = embedder
        texts = [passage.text for passage in passages]
        if cache is None or not embedder.sha256:
            self._matrix = _embedded(texts, embedder)
        else:
            self._matrix = _cached(texts, embedder, cache)

    def params(self) -> dict[str, object]:
        """What decides the scores."""
        return {
            "name": self.name,
            "embedder": self._embedder.name,
            "weights_sha256": self._embedder.sha256 or None,
        }

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """As the protocol says; every passage has a similarity."""
        import numpy as np

        if not self.ids:
            return {}
        vector = unit_rows(self._embedder.encode([query]))[0]
        # Not `@`, whose last digits depend on where in the matrix a row stands: equal texts must
        # be equally similar, and in any order of the corpus.
        return self.best(np.einsum("ij,j->i", self._matrix, vector), pool_size, chunks)


def cache_folder() -> Path | None:
    """The folder named by ``EPOCHE_EMBEDDING_CACHE``; None when it is not set."""
    named = os.environ.get(CACHE_VARIABLE, "")
    return Path(named).expanduser() if named else None


def _embedded(texts: Sequence[str], embedder: Embedder) -> npt.NDArray[np.float32]:
    """The texts' normalised embeddings, shape (texts, dimensions)."""
    import numpy as np

    starts = range(0, len(texts), AT_ONCE)
    parts = [
        unit_rows(embedder.encode(texts[start : start + AT_ONCE]))
        for start in progress(starts, what="embedding", total=len(starts))
    ]
    return np.concatenate(parts) if parts else unit_rows(embedder.encode([]))


def _cached(texts: Sequence[str], embedder: Embedder, folder: Path) -> npt.NDArray[np.float32]:
    """The corpus's normalised embeddings, from the cache or put there.

    The file is named by what it must hold, so it can be stale in no way; it begins with the hash
    of its own content, so a torn or edited one is noticed and made again.
    """
    import numpy as np

    from kg.base.files import write_bytes_atomic, write_errors_named

    key = hashlib.sha256(embedder.sha256.encode())
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        key.update(len(data).to_bytes(8, "big") + data)  # lengths: ["ab"] is not ["a", "b"]
    file = folder / f"{key.hexdigest()[:32]}.f32"
    try:
        kept = file.read_bytes()
    except OSError:
        kept = b""
    digest, content = kept[:64], kept[64:]
    if texts and content and digest == sha256_bytes(content).encode():
        return np.frombuffer(content, dtype="<f4").reshape(len(texts), -1)
    matrix = _embedded(texts, embedder)
    content = matrix.astype("<f4").tobytes()
    with write_errors_named(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_bytes_atomic(file, sha256_bytes(content).encode() + content)
    return matrix
