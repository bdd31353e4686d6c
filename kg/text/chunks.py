"""The chunk: a piece of a document with an id that all retrievers share."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

HEADING_SEPARATOR: Final = " › "

_Position = Annotated[int, msgspec.Meta(ge=0)]


class Chunk(msgspec.Struct, frozen=True):
    """A piece of one section of one document.

    ``metadata`` of chunks cut by Epoché: ``document`` (the slug), ``filename`` (the path below the
    folder that was read), ``section`` (the nearest heading), ``section_path`` (all enclosing
    headings, from the outermost to the nearest), ``section_id`` (``document#key``),
    ``page_numbers`` (PDF only), ``language`` (if the document declares it), ``code`` (start and end
    of each block of code in the text, or of tasks not done, if it has any). Other keys are kept.
    """

    id: str
    """``document#key`` for the first chunk of a section, then ``document#key/2``, ``/3`` …"""
    text: str
    metadata: dict[str, Any] = {}

    @property
    def prose(self) -> str:
        """The text without blocks of code and open tasks, which name no things, state no facts."""
        pieces, position = [], 0
        for start, end in _read_ranges(self.metadata.get("code")):
            pieces.append(self.text[position:start])
            position = max(position, start, end)
        return "".join([*pieces, self.text[position:]]) if pieces else self.text

    @property
    def headings(self) -> str:
        """The headings above it as one text; empty if there is none."""
        path = self.metadata.get("section_path")
        return HEADING_SEPARATOR.join(map(str, path)) if isinstance(path, list) else ""


def _read_ranges(value: object) -> list[tuple[int, int]]:
    """Reads starts and ends; none from what is no list of them, as chunk files may have."""
    try:
        return sorted(msgspec.convert(value, list[tuple[_Position, _Position]]))
    except msgspec.ValidationError:
        return []
