"""Reads Word documents (``.docx``) with python-docx, the extra ``docs``."""

from __future__ import annotations

import importlib
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

from kg.base.errors import DocumentError, MissingExtraError
from kg.text.documents.document import (
    Block,
    DocumentContent,
    make_heading,
    make_paragraph,
    make_paragraphs,
)
from kg.text.documents.inline_text import format_superscript
from kg.text.documents.markup.table_rows import MAX_COLUMNS, Cell, TableRows

MAX_UNPACKED_BYTES = 256 * 1024 * 1024
"""Maximum size of all parts of a file after unpacking: most of it may be images."""
MAX_TEXT_PART_BYTES = 32 * 1024 * 1024
"""Maximum size of an XML part after unpacking; its tree needs about ten times as much memory."""
MAX_PARTS = 10_000
"""Maximum number of parts."""
MAX_DEPTH = 20
"""Maximum nesting of tables; deeper ones are left out."""

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
# Elements around text that python-docx passes over: insertions, text that was moved here, fields,
# content controls and what applications recognised in the text.
_WRAPPERS = tuple(
    _WORD + name
    for name in ("ins", "moveTo", "fldSimple", "smartTag", "customXml", "sdtContent", "sdt")
)
# Text that was deleted or moved away, and the properties of wrappers.
_DROPPED = (
    *(
        _WORD + name
        for name in ("del", "moveFrom", "sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr")
    ),
    _FALLBACK,
)
_UNSTATED = tuple(_WORD + name for name in ("strike", "dstrike", "vanish"))
"""Properties of text that is struck out or hidden."""
_CONTENTS_STYLE = re.compile(r"toc \d", re.IGNORECASE)
_HEADING_STYLE = re.compile(r"heading (\d)", re.IGNORECASE)


def read_docx(data: bytes, where: str) -> DocumentContent:
    """Reads a Word document: headings by their styles, paragraphs, lists, tables and text boxes.

    Headers, footers, notes, comments, tables of contents, and text that is deleted, struck out or
    hidden are left out. Inserted text, fields and content controls (forms, cover pages) are read.

    Raises:
        MissingExtraError: python-docx is not installed.
        DocumentError: the file is damaged, encrypted or larger than the limits.
    """
    _check_parts(data, where)
    try:
        docx = importlib.import_module("docx")
    except ImportError as error:
        raise MissingExtraError(
            "python-docx is not installed, which reads Word documents",
            where=where,
            hint="Install the extra: pip install 'epoche[docs]'.",
        ) from error
    try:
        document = docx.Document(io.BytesIO(data))
        _unwrap_text(document.element.body)
        return DocumentContent(list(_iter_blocks(document.iter_inner_content())))
    except Exception as error:  # lxml and python-docx raise many kinds for damaged files
        raise _make_damage_error(f"{type(error).__name__}: {error}", where) from error


def _check_parts(data: bytes, where: str) -> None:
    """Checks the sizes of a file's parts before any is unpacked.

    Python's ``zipfile`` unpacks no more than the stated size, so they cannot understate it.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError) as error:
        raise _make_damage_error(str(error), where) from error
    text_bytes = max(
        (p.file_size for p in parts if p.filename.endswith((".xml", ".rels"))), default=0
    )
    if (
        len(parts) > MAX_PARTS
        or sum(part.file_size for part in parts) > MAX_UNPACKED_BYTES
        or text_bytes > MAX_TEXT_PART_BYTES
    ):
        raise DocumentError(
            f"the document is larger than the limits allow: {len(parts):,} parts of "
            f"{sum(part.file_size for part in parts):,} bytes, the text up to {text_bytes:,}",
            where=where,
            hint="Split it, or save it as text.",
        )


def _make_damage_error(problem: str, where: str) -> DocumentError:
    return DocumentError(
        f"not a Word document, or a damaged or encrypted one: {problem}",
        where=where,
        hint="Open it in a word processor and save it again as .docx.",
    )


def _unwrap_text(body: Any) -> None:
    """Puts all text where python-docx looks for it: in runs of paragraphs, rows and cells."""
    for element in list(body.iter(*_DROPPED)):
        element.getparent().remove(element)
    for element in list(body.iter(*_WRAPPERS)):
        for child in list(element):
            element.addprevious(child)
        element.getparent().remove(element)
    for span in list(body.iter(_WORD + "gridSpan")):
        # python-docx lists a cell as often as it has columns.
        number = span.get(_WORD + "val", "")
        if not number.isdecimal() or len(number) > 4 or int(number) > MAX_COLUMNS:
            span.getparent().remove(span)
    for box in list(body.iter(_WORD + "txbxContent")):
        anchor = next(box.iterancestors(_WORD + "p"), None)
        if anchor is not None:
            # The paragraphs of a text box follow the one that it belongs to.
            for child in reversed(list(box)):
                anchor.addnext(child)
    for paragraph in body.iter(_WORD + "p"):
        _rewrite_runs(paragraph)


def _rewrite_runs(paragraph: Any) -> None:
    """Removes runs that are struck out or hidden, and rewrites superscripts as plain text."""
    before = ""  # the text before the superscript
    superscript: list[Any] = []  # the text elements of neighbouring runs of it
    for run in [*paragraph.iter(_WORD + "r"), None]:
        properties = None if run is None else run.find(_WORD + "rPr")
        if properties is not None and any(
            _is_on(element) for element in properties if element.tag in _UNSTATED
        ):
            run.getparent().remove(run)
            continue
        texts = [] if run is None else list(run.iter(_WORD + "t"))
        position = None if properties is None else properties.find(_WORD + "vertAlign")
        if position is not None and position.get(_WORD + "val") == "superscript":
            superscript += texts
            continue
        if superscript:
            text = "".join(element.text or "" for element in superscript)
            for element in superscript:
                element.text = ""
            superscript[0].text = format_superscript(text, before)
            superscript = []
        before = "".join(element.text or "" for element in texts) or before


def _is_on(element: Any) -> bool:
    return element.get(_WORD + "val", "true").lower() not in ("0", "false", "off", "none")


def _iter_blocks(content: Any) -> Iterator[Block]:
    items: list[str] = []
    for block in content:
        if not hasattr(block, "style") or hasattr(block, "rows"):
            yield from make_paragraphs(items)
            items = []
            yield from make_paragraph("\n".join(_iter_rows(block, 0)))
            continue
        style = str(getattr(block.style, "name", "") or "")
        heading = _HEADING_STYLE.match(style)
        text = block.text
        if _CONTENTS_STYLE.match(style):
            continue
        if style.startswith("List") and text.strip():
            items.append(f"- {text.strip()}")
            continue
        yield from make_paragraphs(items)
        items = []
        if style == "Title":
            yield from make_heading(1, text)
        elif heading:
            yield from make_heading(max(1, int(heading[1])), text)
        else:
            yield from make_paragraph(text, is_task=text.lstrip().startswith("☐"))
    yield from make_paragraphs(items)


def _iter_rows(table: Any, depth: int) -> Iterator[str]:
    """Yields a line per row, laid out as by ``TableRows``."""
    if depth > MAX_DEPTH:
        return
    rows = TableRows()
    for row in table.rows:
        # python-docx lists a merged cell in each row and column that it spans.
        listed = list(row.cells)
        columns = Counter(id(cell._tc) for cell in listed)
        cells = {id(cell._tc): cell for cell in listed}
        texts = []
        for key, cell in cells.items():
            lines = [paragraph.text for paragraph in cell.paragraphs]
            for inner in cell.tables:
                lines += _iter_rows(inner, depth + 1)
            texts.append(Cell(" ".join(" ".join(lines).split()), columns[key]))
        yield " | ".join(rows.fill_row(texts))
