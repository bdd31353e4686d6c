"""Reads Jupyter notebooks: the text of Markdown cells and the source of code cells."""

from __future__ import annotations

from typing import Any

import msgspec

from kg.base.errors import DocumentError
from kg.text.documents.document import Block, DocumentContent, decode_text, make_paragraph
from kg.text.documents.markdown import convert_markdown, parse_page


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: str | list[str] = ""
    input: str | list[str] = ""
    """The source of a code cell in version 3."""


class _Worksheet(msgspec.Struct):
    cells: list[_Cell] = []


class _Notebook(msgspec.Struct):
    cells: list[_Cell] = []
    worksheets: list[_Worksheet] = []
    """Where version 3 has its cells."""
    metadata: dict[str, Any] = {}


def read_notebook(data: bytes, where: str) -> DocumentContent:
    """Reads a notebook without its outputs; nothing is executed.

    Raises:
        DocumentError: the file is no notebook, or a Markdown cell is refused (``read_markdown``).
    """
    try:
        notebook = msgspec.json.decode(decode_text(data, where), type=_Notebook)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DocumentError(
            f"not a Jupyter notebook: {error}",
            where=where,
            hint="Open it in Jupyter and save it again.",
        ) from error
    cells = [*notebook.cells, *(cell for sheet in notebook.worksheets for cell in sheet.cells)]
    blocks: list[Block] = []
    for number, cell in enumerate(cells):
        source = cell.source or cell.input
        text = source if isinstance(source, str) else "".join(source)
        # JSON may contain lone surrogates, which cannot be encoded.
        text = text.encode("utf-8", "replace").decode()
        if cell.cell_type in ("markdown", "heading"):
            # A rule at the start of a later cell does not begin front matter.
            blocks += convert_markdown(text, where) if number else parse_page(text, where)
        elif cell.cell_type == "code":
            blocks += make_paragraph(text, is_code=True)
    return DocumentContent(blocks)
