"""Makes small PDF files for tests: lines of text on pages, with an outline or a password."""

from __future__ import annotations

import io
from collections.abc import Sequence

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def make_pdf(
    pages: Sequence[Sequence[str]],
    *,
    outline: Sequence[tuple[str, int, int]] = (),
    password: str = "",
) -> bytes:
    """Returns a PDF file with lines of text on each page.

    Args:
        pages: for each page, its lines; no lines make an empty content stream.
        outline: (title, page number from 0, level from 1) of each entry.
        password: encrypts the file; empty leaves it unencrypted.
    """
    return write_pdf(
        [_encode_lines(lines) if lines else b"" for lines in pages],
        outline=outline,
        password=password,
    )


def _encode_lines(lines: Sequence[str]) -> bytes:
    """Typesets lines; those that begin with a grave accent, without it, in Courier."""
    escaped = (line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in lines)
    body = " ".join(
        f"/F2 12 Tf ({line[1:]}) Tj T* /F1 12 Tf" if line.startswith("`") else f"({line}) Tj T*"
        for line in escaped
    )
    return f"BT /F1 12 Tf 72 720 Td 14 TL {body} ET".encode("latin-1")


def write_pdf(
    contents: Sequence[bytes],
    *,
    outline: Sequence[tuple[str, int, int]] = (),
    password: str = "",
) -> bytes:
    """Returns a PDF file whose pages have the given content streams, which may be invalid.

    Args:
        contents: the content stream of each page.
        outline: as in ``make_pdf``.
        password: as in ``make_pdf``.
    """
    writer = PdfWriter()
    fonts = DictionaryObject(
        {
            NameObject(name): DictionaryObject(
                {
                    NameObject("/Type"): NameObject("/Font"),
                    NameObject("/Subtype"): NameObject("/Type1"),
                    NameObject("/BaseFont"): NameObject(font),
                }
            )
            for name, font in (("/F1", "/Helvetica"), ("/F2", "/Courier"))
        }
    )
    for content in contents:
        page = writer.add_blank_page(612, 792)
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(content)
        page[NameObject("/Contents")] = writer._add_object(stream.flate_encode())
    parents = []  # the last entry of each level above the current one
    for title, page_number, level in outline:
        del parents[level - 1 :]
        parents.append(
            writer.add_outline_item(
                title=title, page_number=page_number, parent=parents[-1] if parents else None
            )
        )
    if password:
        writer.encrypt(password)
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()
