"""Reads PDF with PDFium: the text stored in the file; no text recognition (OCR) of images."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import msgspec

from kg.base.errors import DocumentError
from kg.text.documents.document import DocumentContent
from kg.text.documents.pages import OutlineEntry, build_blocks
from kg.text.documents.running_heads import PageLine

MAX_PAGES = 5_000
"""Maximum number of pages."""
MAX_PAGE_CHARACTERS = 1_000_000
"""Maximum number of characters of a page."""
MAX_CHARACTERS = 50_000_000
"""Maximum number of characters over all pages."""
MAX_OUTLINE_ENTRIES = 10_000
"""Maximum number of outline entries."""
MAX_SECONDS = 300
"""Maximum time for a file."""
MAX_MEMORY = 2 * 1024**3
"""Maximum memory of the process that reads a file, in bytes."""

_PROCESS = Path(__file__).with_name("pdf_process.py")


class _Reply(msgspec.Struct):
    """What ``pdf_process`` writes."""

    error: str = ""
    pages: list[list[tuple[str, float, float, bool | None]]] = []
    outline: list[tuple[int, str, int]] = []


def read_pdf(data: bytes, where: str) -> DocumentContent:
    """Reads a PDF file; ``kg.text.documents.pages`` describes how headings are found.

    PDFium runs in a process of its own, with limits on time and memory.

    Raises:
        DocumentError: the file is damaged, encrypted or larger than the limits, or contains no text
            (for example a scan without text recognition).
    """
    reply = _extract_pages(data, where)
    kind, _, detail = reply.error.partition(": ")
    if kind == "large":
        raise _make_size_error(detail, where)
    if kind == "encrypted":
        raise DocumentError(
            "the PDF is encrypted", where=where, hint="Save it without a password first."
        )
    if reply.error:
        raise _make_damage_error(detail, where)
    pages = [[PageLine(*line) for line in page] for page in reply.pages]
    empty_pages = [
        number
        for number, page in enumerate(pages, 1)
        if not any(line.text.strip() for line in page)
    ]
    if len(empty_pages) == len(pages):
        raise DocumentError(
            f"the PDF contains no text (pages: {len(pages):,})",
            where=where,
            hint="If it is a scan, run text recognition (OCR) on it first.",
        )
    notes = []
    if empty_pages:
        page_list = ", ".join(map(str, empty_pages[:10])) + (" …" if len(empty_pages) > 10 else "")
        notes.append(f"{len(empty_pages):,} of {len(pages):,} pages contain no text: {page_list}")
    outline = [OutlineEntry(*entry) for entry in reply.outline]
    return DocumentContent(build_blocks(pages, outline), notes=tuple(notes))


def _extract_pages(data: bytes, where: str) -> _Reply:
    parameters = {
        "pages": MAX_PAGES,
        "page_characters": MAX_PAGE_CHARACTERS,
        "characters": MAX_CHARACTERS,
        "entries": MAX_OUTLINE_ENTRIES,
        "bytes": MAX_MEMORY,
    }
    command = [sys.executable, str(_PROCESS), msgspec.json.encode(parameters).decode()]
    try:
        # The command has no part of the file, which is read from standard input.
        process = subprocess.run(  # noqa: S603
            command, input=data, capture_output=True, timeout=MAX_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise _make_size_error(f"it takes more than {MAX_SECONDS} seconds", where) from error
    if process.returncode == -signal.SIGABRT:  # how PDFium stops when memory is exhausted
        raise _make_size_error(f"it needs more than {MAX_MEMORY // 1024**2:,} MiB", where)
    if process.returncode:
        message = process.stderr.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1]
        raise _make_damage_error(message or f"PDFium stopped ({process.returncode})", where)
    return msgspec.json.decode(process.stdout, type=_Reply)


def _make_damage_error(problem: str, where: str) -> DocumentError:
    return DocumentError(
        f"the PDF is damaged: {problem}",
        where=where,
        hint="Print it to a new PDF, or convert it to text.",
    )


def _make_size_error(what: str, where: str) -> DocumentError:
    return DocumentError(
        f"the PDF is larger than the limits allow: {what}", where=where, hint="Split it."
    )
