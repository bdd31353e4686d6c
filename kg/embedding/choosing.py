"""Which embedder a name means."""

from __future__ import annotations

from kg.embedding.embedder import DEFAULT_MODEL, Embedder, load_embedder
from kg.embedding.lexical import NAME as LEXICAL
from kg.embedding.lexical import lexical_embedder

MINILM = "minilm"


def open_embedder(name: str) -> Embedder:
    """The embedder of that name.

    Args:
        name: ``lexical`` (no model), ``minilm`` (all-MiniLM-L6-v2 from the installed package or
            the hub), a folder or a hub name; empty for what ``load_embedder`` takes by default.

    Raises:
        EpocheError: it cannot be had.
    """
    if name == LEXICAL:
        return lexical_embedder()
    return load_embedder(DEFAULT_MODEL if name == MINILM else name)
