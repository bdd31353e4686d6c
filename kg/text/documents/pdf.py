"""Reads PDF with pypdf: the text stored in the file; no text recognition (OCR) of images."""

from __future__ import annotations

import contextlib
import io
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kg.base.errors import DocumentError
from kg.base.log_capture import capture_logs
from kg.text.documents.document import DocumentContent
from kg.text.documents.pages import OutlineEntry, build_blocks
from kg.text.documents.running_heads import PageLine

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_PAGES = 5_000
"""Maximum number of pages."""
MAX_STREAM_BYTES = 16_000_000
"""Maximum decompressed size of a stream in bytes; limits decompression bombs."""
MAX_PAGE_FORMS = 1_000
"""Maximum number of reused content objects (form XObjects) per page."""
MAX_OUTLINE_ENTRIES = 10_000
"""Maximum number of outline entries."""
MAX_CHARACTERS = 50_000_000
"""Maximum number of characters over all pages."""

_MAX_LOG_NOTES = 5
"""Maximum number of pypdf's log messages that become notes of the document."""


def read_pdf(data: bytes, where: str) -> DocumentContent:
    """Reads a PDF file; ``kg.text.documents.pages`` describes how headings are found.

    Raises:
        DocumentError: the file is damaged, encrypted or larger than the limits, or contains no text
            (for example a scan without text recognition).
    """
    from pypdf import PdfReader, apply_configuration

    limits = apply_configuration(
        zlib_maximum_output_length=MAX_STREAM_BYTES,
        lzw_maximum_output_length=MAX_STREAM_BYTES,
        run_length_maximum_output_length=MAX_STREAM_BYTES,
        array_based_stream_maximum_output_length=MAX_STREAM_BYTES,
        outline_maximum_entries=MAX_OUTLINE_ENTRIES,
        xform_maximum_invocations_per_extraction=MAX_PAGE_FORMS,
        jbig2dec_binary=None,  # do not run another program on an untrusted file
    )
    with capture_logs("pypdf") as log_messages, limits:
        with _convert_errors("the file", where):
            reader = PdfReader(io.BytesIO(data))
            _decrypt_file(reader, where)
            page_count = len(reader.pages)
        if page_count > MAX_PAGES:
            raise _make_size_error(
                f"it has {page_count:,} pages; at most {MAX_PAGES:,} are read", where
            )
        pages = list(_iter_pages(reader, where))
        with _convert_errors("the outline", where):
            outline = list(_iter_outline_entries(reader, reader.outline, 1))
    empty_pages = [
        number
        for number, page in enumerate(pages, 1)
        if not any(line.text.strip() for line in page)
    ]
    if len(empty_pages) == page_count:
        raise DocumentError(
            f"the PDF contains no text (pages: {page_count:,})",
            where=where,
            hint="If it is a scan, run text recognition (OCR) on it first.",
        )
    notes = list(dict.fromkeys(log_messages))[:_MAX_LOG_NOTES]
    if empty_pages:
        page_list = ", ".join(map(str, empty_pages[:10])) + (" …" if len(empty_pages) > 10 else "")
        notes.insert(
            0, f"{len(empty_pages):,} of {page_count:,} pages contain no text: {page_list}"
        )
    return DocumentContent(build_blocks(pages, outline), notes=tuple(notes))


@contextlib.contextmanager
def _convert_errors(part: str, where: str) -> Iterator[None]:
    """Converts exceptions of pypdf to a ``DocumentError`` that names the part of the file."""
    from pypdf.errors import LimitReachedError

    try:
        yield
    except DocumentError:
        raise
    except LimitReachedError as error:
        raise _make_size_error(f"{part}: {error}", where) from error
    except Exception as error:  # according to pypdf, broken files may raise any exception
        raise DocumentError(
            f"the PDF is damaged: {part} cannot be read ({type(error).__name__}: {error})",
            where=where,
            hint="Print it to a new PDF, or convert it to text.",
        ) from error


def _iter_pages(reader: PdfReader, where: str) -> Iterator[list[PageLine]]:
    """Yields the lines of each page."""
    characters = 0
    for index in range(len(reader.pages)):
        collector = _LineCollector()
        with _convert_errors(f"page {index + 1}", where):
            text = reader.pages[index].extract_text(visitor_text=collector.add_text)
        characters += len(text)
        if characters > MAX_CHARACTERS:
            raise _make_size_error(f"more than {MAX_CHARACTERS:,} characters", where)
        yield collector.get_lines(text)


class _LineCollector:
    """Collects the pieces of a page's text with their sizes and places."""

    def __init__(self) -> None:
        self._pieces: list[tuple[str, float, float]] = []

    def add_text(
        self, text: str, cm: Sequence[float], tm: Sequence[float], _font: Any, size: float
    ) -> None:
        """Adds a piece; ``cm`` and ``tm`` are the matrices of the page and of the text."""
        y = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        # The length of the upright unit vector of the text; letters may be turned.
        up = tm[2] * cm[0] + tm[3] * cm[2], tm[2] * cm[1] + tm[3] * cm[3]
        self._pieces.append((text, size * math.hypot(*up), y))

    def get_lines(self, text: str) -> list[PageLine]:
        """Returns the lines of the page's text, without places if the pieces are not its parts."""
        if "".join(piece for piece, _, _ in self._pieces) != text:
            return [PageLine(line) for line in text.split("\n")]
        lines: list[PageLine] = []
        content, places = "", Counter[tuple[float, float]]()
        for piece, size, y in [*self._pieces, ("\n", 0.0, 0.0)]:
            for number, part in enumerate(piece.split("\n")):
                if number:
                    best = max(places, key=lambda place: (places[place], place), default=(0.0, 0.0))
                    lines.append(PageLine(content, *best))
                    content, places = "", Counter()
                content += part
                if part.strip() and math.isfinite(size) and math.isfinite(y):
                    places[round(size, 1), round(y, 1)] += len(part.strip())
        return lines


def _decrypt_file(reader: PdfReader, where: str) -> None:
    """Decrypts a file that is encrypted with an empty password, as viewers do.

    Raises:
        DocumentError: the file needs a password, or uses a cipher that pypdf does not support.
    """
    from pypdf.errors import DependencyError

    if not reader.is_encrypted:
        return
    try:
        is_decrypted = bool(reader.decrypt(""))
    except (DependencyError, NotImplementedError):
        is_decrypted = False
    if not is_decrypted:
        raise DocumentError(
            "the PDF is encrypted", where=where, hint="Save it without a password first."
        )


def _iter_outline_entries(
    reader: PdfReader, outline: Sequence[Any], level: int
) -> Iterator[OutlineEntry]:
    """Yields the outline's entries in order, without those that point to no page.

    pypdf limits their number and depth.
    """
    for entry in outline:
        if isinstance(entry, list):
            yield from _iter_outline_entries(reader, entry, level + 1)
        elif (page := reader.get_destination_page_number(entry)) is not None and page >= 0:
            yield OutlineEntry(level, str(entry.title or ""), page + 1)


def _make_size_error(what: str, where: str) -> DocumentError:
    return DocumentError(
        f"the PDF is larger than the limits allow: {what}", where=where, hint="Split it."
    )
