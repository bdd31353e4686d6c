"""PDF, by pypdf: the text that is stored in the file; pictures of text are not read."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kg.base.errors import DocumentError
from kg.base.overhearing import overheard
from kg.text.documents.document import Content
from kg.text.documents.pages import OutlineEntry, blocks_of_pages

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_PAGES = 5_000
MAX_STREAM = 16_000_000
"""Bytes one compressed stream may unpack to."""
MAX_FORMS = 1_000
"""Pieces of reused content a page may show."""
MAX_OUTLINE = 10_000
"""Entries of an outline."""
MAX_CHARACTERS = 50_000_000
"""Of text, over all pages."""

_MOST_NOTES = 5


def read_pdf(data: bytes, where: str) -> Content:
    """Reads a PDF file; ``kg.text.documents.pages`` says what becomes a heading.

    Raises:
        DocumentError: it is damaged, encrypted, larger than the limits, or holds no text at all,
            as scans do that went through no text recognition.
    """
    from pypdf import PdfReader, apply_configuration

    limits = apply_configuration(
        zlib_maximum_output_length=MAX_STREAM,
        lzw_maximum_output_length=MAX_STREAM,
        run_length_maximum_output_length=MAX_STREAM,
        array_based_stream_maximum_output_length=MAX_STREAM,
        outline_maximum_entries=MAX_OUTLINE,
        xform_maximum_invocations_per_extraction=MAX_FORMS,
        jbig2dec_binary=None,  # no other program is started on what a stranger wrote
    )
    with overheard("pypdf") as complaints, limits:
        with _named("the file", where):
            reader = PdfReader(io.BytesIO(data))
            _unlock(reader, where)
            count = len(reader.pages)
        if count > MAX_PAGES:
            raise _too_large(f"it has {count:,} pages; at most {MAX_PAGES:,} are read", where)
        pages = list(_texts(reader, where))
        with _named("the outline", where):
            outline = list(_entries(reader, reader.outline, 1))
    empty = [number for number, text in enumerate(pages, 1) if not text.strip()]
    if len(empty) == count:
        raise DocumentError(
            f"the PDF holds no text (pages: {count:,})",
            where=where,
            hint="A scan must go through text recognition (OCR) first.",
        )
    notes = list(dict.fromkeys(complaints))[:_MOST_NOTES]
    if empty:
        first = ", ".join(map(str, empty[:10])) + (" …" if len(empty) > 10 else "")
        notes.insert(0, f"{len(empty):,} of {count:,} pages hold no text: {first}")
    return Content(blocks_of_pages(pages, outline), notes=tuple(notes))


@contextlib.contextmanager
def _named(part: str, where: str) -> Iterator[None]:
    """Turns what pypdf raises over a part of a file into an error that names it."""
    from pypdf.errors import LimitReachedError

    try:
        yield
    except DocumentError:
        raise
    except LimitReachedError as error:
        raise _too_large(f"{part}: {error}", where) from error
    except Exception as error:  # pypdf says itself that broken files cause any exception
        raise DocumentError(
            f"the PDF is damaged: {part} cannot be read ({type(error).__name__}: {error})",
            where=where,
            hint="Print it to a new PDF, or convert it to text.",
        ) from error


def _texts(reader: PdfReader, where: str) -> Iterator[str]:
    """The text of each page."""
    characters = 0
    for number in range(len(reader.pages)):
        with _named(f"page {number + 1}", where):
            text = reader.pages[number].extract_text()
        characters += len(text)
        if characters > MAX_CHARACTERS:
            raise _too_large(f"more than {MAX_CHARACTERS:,} characters", where)
        yield text


def _unlock(reader: PdfReader, where: str) -> None:
    """Opens what is encrypted with an empty password, as every viewer does.

    Raises:
        DocumentError: it needs a password, or a cipher that pypdf cannot do alone.
    """
    from pypdf.errors import DependencyError

    if not reader.is_encrypted:
        return
    try:
        opened = bool(reader.decrypt(""))
    except (DependencyError, NotImplementedError):
        opened = False
    if not opened:
        raise DocumentError(
            "the PDF is encrypted", where=where, hint="Save it without a password first."
        )


def _entries(reader: PdfReader, outline: Sequence[Any], level: int) -> Iterator[OutlineEntry]:
    """The outline's entries in order; pypdf caps how many and how deep."""
    for entry in outline:
        if isinstance(entry, list):
            yield from _entries(reader, entry, level + 1)
        elif (page := reader.get_destination_page_number(entry)) is not None and page >= 0:
            yield OutlineEntry(level, str(entry.title or ""), page + 1)


def _too_large(what: str, where: str) -> DocumentError:
    return DocumentError(
        f"the PDF is larger than the limits allow: {what}", where=where, hint="Split it."
    )
