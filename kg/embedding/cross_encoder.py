"""Loads cross-encoders: models that score a pair of texts."""

from __future__ import annotations

from typing import Any, NamedTuple

from kg.base.errors import WeightsError
from kg.embedding.weights import hash_weights, import_sentence_transformers, resolve_model_folder


class CrossEncoder(NamedTuple):
    """A loaded cross-encoder.

    Attributes:
        model: the sentence-transformers object.
        name: its name for the manifest: the name on the hub, or the last part of the folder's path.
        sha256: hash of its weights.
    """

    model: Any
    name: str
    sha256: str


def load_cross_encoder(model: str, *, required_by: str, hint: str) -> CrossEncoder:
    """Loads a sentence-transformers ``CrossEncoder`` on the CPU.

    Args:
        model: a folder or a name on the hub.
        required_by: the component that needs it, for messages.
        hint: what to do if it is not available, for messages.

    Raises:
        MissingExtraError: sentence-transformers is not installed, or the hub cannot be reached.
        MissingFileError: the folder does not exist.
        WeightsError: it cannot be loaded.
    """
    library = import_sentence_transformers(required_by)
    folder, name = resolve_model_folder(model, hint=hint)
    digest = hash_weights(folder)
    try:
        encoder = library.CrossEncoder(str(folder), local_files_only=True, device="cpu")
    except Exception as error:  # arbitrary model files can make the library raise anything
        raise WeightsError(
            f"the model cannot be loaded: {type(error).__name__}: {error}",
            where=model,
            hint=hint,
        ) from error
    return CrossEncoder(encoder, name, digest)
