"""Cross-encoders: models that read two texts together and say how they belong."""

from __future__ import annotations

from typing import Any, NamedTuple

from kg.base.errors import WeightsError
from kg.embedding.weights import named_folder, sentence_transformers, weights_sha256


class CrossEncoder(NamedTuple):
    """A loaded cross-encoder.

    Attributes:
        model: the sentence-transformers object.
        name: for the manifest; a folder's last part, never its path.
        sha256: of its weights.
    """

    model: Any
    name: str
    sha256: str


def load_cross_encoder(model: str, *, wanted_by: str, instead: str) -> CrossEncoder:
    """Loads a sentence-transformers ``CrossEncoder``, for the CPU.

    Args:
        model: a folder or a name on the hub.
        wanted_by: what needs it, for messages.
        instead: what to do when it cannot be had, for messages.

    Raises:
        MissingExtraError: sentence-transformers is not installed, or the hub cannot be reached.
        MissingFileError: a folder was named that is not there.
        WeightsError: it cannot be loaded.
    """
    library = sentence_transformers(wanted_by)
    folder, name = named_folder(model, instead=instead)
    digest = weights_sha256(folder)
    try:
        loaded = library.CrossEncoder(str(folder), local_files_only=True, device="cpu")
    except Exception as error:  # whatever a stranger's files make the library raise
        raise WeightsError(
            f"the model cannot be loaded: {type(error).__name__}: {error}",
            where=model,
            hint=instead,
        ) from error
    return CrossEncoder(loaded, name, digest)
