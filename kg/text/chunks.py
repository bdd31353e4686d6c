"""The chunk: a piece of a document with an id that all retrievers share."""

from __future__ import annotations

from typing import Any

import msgspec


class Chunk(msgspec.Struct, frozen=True):
    """A piece of one section of one document.

    ``metadata`` of chunks cut by Epoché: ``document`` (the slug), ``filename`` (the path below the
    folder that was read), ``section`` (the nearest heading), ``section_path`` (all enclosing
    headings, from the outermost to the nearest), ``section_id`` (``document#key``),
    ``page_numbers`` (PDF only), ``language`` (if the document declares it). Other keys are kept.
    """

    id: str
    """``document#key`` for the first chunk of a section, then ``document#key/2``, ``/3`` …"""
    text: str
    metadata: dict[str, Any] = {}

    @property
    def headings(self) -> str:
        """The headings above it as one text; empty if there is none."""
        path = self.metadata.get("section_path")
        return " › ".join(map(str, path)) if isinstance(path, list) else ""
