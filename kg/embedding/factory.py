"""Opens embedders by name."""

from __future__ import annotations

from kg.embedding.embedder import DEFAULT_MODEL, Embedder, load_embedder
from kg.embedding.lexical import NAME as LEXICAL
from kg.embedding.lexical import make_lexical_embedder

MINILM = "minilm"
"""Short name of the default model."""


def open_embedder(name: str) -> Embedder:
    """Opens the embedder with the given name.

    Args:
        name: ``lexical`` (no model), ``minilm`` (all-MiniLM-L6-v2 from the installed package or
            the hub), a folder or a hub name; empty for the model that ``EPOCHE_EMBEDDER`` names,
            or ``minilm`` if that is empty too.

    Raises:
        EpocheError: the embedder cannot be loaded.
    """
    if name == LEXICAL:
        return make_lexical_embedder()
    return load_embedder(DEFAULT_MODEL if name == MINILM else name)
