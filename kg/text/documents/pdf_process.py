"""Extracts the lines and the outline of a PDF with PDFium; run as a script, in its own process.

PDFium is native code and has no limits on time and memory. ``kg.text.documents.pdf`` therefore runs
this file as a script with both limits, so that a hostile file can neither crash nor exhaust the
program. It reads the file from standard input and writes one JSON object.
"""

from __future__ import annotations

import ctypes
import json
import statistics
import sys
from collections.abc import Iterator
from typing import Any

MAX_MEASURED_CHARACTERS = 9
"""Lines of this many letters or fewer are measured whole; of longer ones, a sample of less than
twice as many."""
MAX_WIDTH_DIFFERENCE = 0.05
"""Maximum difference between the widths of monospaced letters, in sizes of the letters."""
_NARROW = frozenset("fijlrtI.,;:'|!()[]-")
"""Signs that are narrower than others, except in monospaced fonts."""
_HYPHEN = 2
"""What PDFium writes for a hyphen at the end of a line together with the line break."""


def extract_pages(data: bytes, limits: dict[str, int]) -> dict[str, Any]:
    """Returns ``pages`` (lines, see ``_iter_lines``) and ``outline`` (level, title, page).

    Args:
        data: the file.
        limits: maximum numbers of ``pages``, ``characters``, ``page_characters`` and ``entries``.

    Returns:
        An object with the key ``error`` instead if the file cannot be read or is too large.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        return {
            "error": "encrypted" if "assword" in str(error) else "damaged: PDFium cannot load it"
        }
    if len(document) > limits["pages"]:
        limit = limits["pages"]
        return {"error": f"large: it has {len(document):,} pages; at most {limit:,} are read"}
    pages: list[list[tuple[str, float, float, bool | None]]] = []
    n_characters = 0
    for number in range(len(document)):
        try:
            page = document[number]
            text_page = page.get_textpage()
        except pypdfium2.PdfiumError:
            pages.append([])
            continue
        count = text_page.count_chars()
        n_characters += count
        if count > limits["page_characters"]:
            limit = limits["page_characters"]
            return {"error": f"large: page {number + 1}: more than {limit:,} characters"}
        if n_characters > limits["characters"]:
            return {"error": f"large: more than {limits['characters']:,} characters"}
        pages.append(list(_iter_lines(text_page, count)))
        page.close()
    return {"pages": pages, "outline": list(_iter_outline(document, limits["entries"]))}


def _iter_lines(text_page: Any, count: int) -> Iterator[tuple[str, float, float, bool | None]]:
    """Yields each line's text, size of letters, height, and whether it is monospaced.

    It is if the letters of a sample have one width. That tells nothing (``None``) of letters that
    have it in any font: "}", "end".
    """
    # The numbers of characters are those of UTF-16 units, so the text is cut in that encoding.
    units = _read_units(text_page, count)
    start = 0
    ends = (i for i, unit in enumerate(units) if unit in (_HYPHEN, 10, 13))
    for end in [*ends, len(units)]:
        line = units[start:end]
        text = b"".join(u.to_bytes(2, "little") for u in line).decode("utf-16-le", "replace")
        text = text.replace("\0", "") + ("-" if units[end : end + 1] == [_HYPHEN] else "")
        visible = [start + i for i, unit in enumerate(line) if unit > 32]
        step = max(1, len(visible) // MAX_MEASURED_CHARACTERS)
        boxes = [_measure_character(text_page, i) for i in visible[::step]]
        if boxes:
            size = statistics.median_high(size for size, _, _ in boxes)
            y = statistics.median_high(y for _, y, _ in boxes)
            widths = [width for _, _, width in boxes]
            narrow = {chr(units[i]) in _NARROW for i in visible[::step]}
            has_one_width = max(widths) - min(widths) <= MAX_WIDTH_DIFFERENCE * size
            yield text, size, y, None if has_one_width and len(narrow) < 2 else has_one_width
        start = end + 1


def _read_units(text_page: Any, count: int) -> list[int]:
    from pypdfium2 import raw

    return [raw.FPDFText_GetUnicode(text_page.raw, i) & 0xFFFF for i in range(count)]


def _measure_character(text_page: Any, index: int) -> tuple[float, float, float]:
    """Returns the height of a character's box, which depends on its size, base line and width."""
    from pypdfium2 import raw

    box = raw.FS_RECTF()
    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetLooseCharBox(text_page.raw, index, box)
    raw.FPDFText_GetCharOrigin(text_page.raw, index, x, y)
    return round(abs(box.top - box.bottom), 1), round(y.value, 1), abs(box.right - box.left)


def _iter_outline(document: Any, max_entries: int) -> Iterator[tuple[int, str, int]]:
    for number, entry in enumerate(document.get_toc(max_depth=15)):
        if number == max_entries:
            return
        destination = entry.get_dest()
        page = destination.get_index() if destination else None
        if page is not None and page >= 0:
            yield entry.level + 1, entry.get_title().replace("\0", ""), page + 1


if __name__ == "__main__":
    parameters = json.loads(sys.argv[1])
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (parameters["bytes"], parameters["bytes"]))
    except (ImportError, ValueError, OSError):  # on Windows; or a lower limit holds
        pass
    try:
        result = extract_pages(sys.stdin.buffer.read(), parameters)
    except MemoryError:
        result = {"error": "large: it needs too much memory"}
    sys.stdout.buffer.write(json.dumps(result).encode())
