"""Small PDF files for tests: lines of text on pages, with an outline or a password."""

from __future__ import annotations

import io
from collections.abc import Sequence

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def pdf(
    pages: Sequence[Sequence[str]],
    *,
    outline: Sequence[tuple[str, int, int]] = (),
    password: str = "",
) -> bytes:
    """A PDF file.

    Args:
        pages: the lines of each.
        outline: (title, page from 0, level from 1) of each entry.
        password: to encrypt it with.
    """
    return written(
        [_shown(lines) if lines else b"" for lines in pages], outline=outline, password=password
    )


def _shown(lines: Sequence[str]) -> bytes:
    escaped = (line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in lines)
    body = " ".join(f"({line}) Tj T*" for line in escaped)
    return f"BT /F1 12 Tf 72 720 Td 14 TL {body} ET".encode("latin-1")


def written(
    contents: Sequence[bytes],
    *,
    outline: Sequence[tuple[str, int, int]] = (),
    password: str = "",
) -> bytes:
    """A PDF file of pages with these content streams."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    fonts = DictionaryObject({NameObject("/F1"): font})
    for content in contents:
        page = writer.add_blank_page(612, 792)
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(content)
        page[NameObject("/Contents")] = writer._add_object(stream.flate_encode())
    above = []
    for title, page_number, level in outline:
        del above[level - 1 :]
        above.append(
            writer.add_outline_item(
                title=title, page_number=page_number, parent=above[-1] if above else None
            )
        )
    if password:
        writer.encrypt(password)
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()
