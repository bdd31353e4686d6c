"""The chunk: a piece of a document, under an id that every retriever shares."""

from __future__ import annotations

from typing import Any

import msgspec


class Chunk(msgspec.Struct, frozen=True):
    """A piece of one section of one document.

    ``metadata`` of chunks made here: ``document`` (the slug), ``filename`` (the base name),
    ``section`` (the nearest heading), ``section_path`` (the headings from the top to it),
    ``section_id`` (``document#key``), ``page_numbers`` (of PDF only), ``language`` (where the
    document declares it). Other keys are kept.
    """

    id: str
    """``document#key`` for the first chunk of a section, then with ``/2``, ``/3`` …"""
    text: str
    metadata: dict[str, Any] = {}
