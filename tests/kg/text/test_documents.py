"""Tests of the document readers: what becomes a heading or a paragraph, and what is left out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kg.text.documents import Document, Heading, Paragraph, read_document

sys.path.insert(0, str(Path(__file__).parent))
from pdf_files import make_pdf


def read_content(folder: Path, name: str, content: str | bytes) -> Document:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_document(path)


def list_blocks(document: Document) -> list[tuple[int, str] | str]:
    """Returns headings as (level, text) and paragraphs as their text."""
    return [
        (block.level, block.text) if isinstance(block, Heading) else block.text
        for block in document.blocks
    ]


MARKDOWN = """---
title: about the text
---
Before *any* heading.

# 7 Tree indexes

The **B+-tree** is [linked](http://x.example "t") by `code`
over two lines.  \nHard break. ![An image](a.png) &amp; 5 &lt; 6

Setext
------

1. one
2. two
   - nested
   - more

     second paragraph
> ## No heading of the document

| a | b |
|---|---|
| 1 | x \\| y |

```python
def f():
    return 1
```
<div><p>Block of <b>HTML</b></p><!-- gone --></div>

## 7.1 B + -Tree ##
"""


def test_markdown_is_read_as_headings_and_paragraphs(tmp_path: Path) -> None:
    document = read_content(tmp_path, "07-Tree Indexes.md", MARKDOWN)
    assert (document.name, document.filename) == ("07-tree-indexes", "07-Tree Indexes.md")
    assert list_blocks(document) == [
        "Before any heading.",
        (1, "7 Tree indexes"),
        "The B+-tree is linked by code over two lines.\nHard break. An image & 5 < 6",
        (2, "Setext"),
        "1. one\n2. two\n  - nested\n  - more\n  second paragraph",
        "No heading of the document",
        "a | b\n1 | x | y",
        "def f():\n    return 1",
        "Block of HTML",
        (2, "7.1 B+-Tree"),
    ]


def test_front_matter_is_dropped_but_text_after_a_horizontal_rule_is_kept(tmp_path: Path) -> None:
    assert list_blocks(read_content(tmp_path, "a.md", "---\n\nText.\n\nMore\n")) == [
        "Text.",
        "More",
    ]
    assert list_blocks(read_content(tmp_path, "b.md", "---\nx: 1\n...\nText.\n")) == ["Text."]


HTML = """<!DOCTYPE html><html lang="en-GB"><head><title>t</title><style>p{}</style></head><body>
<nav><a href="/">Home</a></nav><h1>Locks &amp; keys</h1>
<p>First   line<br>second <em>line</em><script>alert(1)</script></p>loose text
<div hidden>unseen</div><!-- comment --><h2><div>Inner</div></h2>
<ul><li>one<ul><li>two</li></ul></li><li><p>three</p></li></ul>
<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1<br>2</td></tr></table>
<pre>  kept
    as is</pre><p>caf&eacute; <img alt="a picture" src="x"></p></body></html>"""


def test_html_is_read_as_headings_and_paragraphs(tmp_path: Path) -> None:
    document = read_content(tmp_path, "page.HTM", HTML)
    assert document.language == "en"
    assert list_blocks(document) == [
        (1, "Locks & keys"),
        "First line\nsecond line",
        "loose text",
        (2, "Inner"),
        "- one\n  - two\n- three",
        "k | v\na | 1\n2",
        "  kept\n    as is",
        "café a picture",
    ]


def test_text_in_broken_html_is_kept(tmp_path: Path) -> None:
    broken_html = "<h1>Title<p>text one<p>text two<ul><li>x<li>y</ul><div>last <a href='x"
    assert list_blocks(read_content(tmp_path, "a.html", broken_html)) == [
        (1, "Title"),
        "text one",
        "text two",
        "- x\n- y",
        "last",
    ]
    assert list_blocks(read_content(tmp_path, "b.html", "<p>a<!--b<p>c")) == ["a"]
    assert list_blocks(read_content(tmp_path, "c.html", "<p>5 < 6 and <!-->7")) == ["5 < 6 and 7"]


@pytest.mark.parametrize(
    "data",
    [
        "é".encode(),
        b"\xef\xbb\xbf" + "é".encode(),
        "é".encode("utf-16"),
        b"\xfe\xff" + "é".encode("utf-16-be"),
    ],
)
def test_encodings_with_a_byte_order_mark_are_read(tmp_path: Path, data: bytes) -> None:
    assert list_blocks(read_content(tmp_path, "a.txt", data)) == ["é"]


def test_html_may_declare_its_encoding(tmp_path: Path) -> None:
    page = '<meta charset="iso-8859-1"><p>é</p>'.encode("latin-1")
    assert list_blocks(read_content(tmp_path, "a.html", page)) == ["é"]
    japanese = '<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS"><p>川'
    assert list_blocks(read_content(tmp_path, "b.html", japanese.encode("shift_jis"))) == ["川"]
    # A declaration that can be read as ASCII cannot be in UTF-16, so the file is read as UTF-8.
    assert list_blocks(read_content(tmp_path, "c.html", '<meta charset="utf-16"><p>é')) == ["é"]


def test_numbered_lines_of_plain_text_are_headings(tmp_path: Path) -> None:
    text = (
        "Title page\r\n\r\n1 Introduction\r\n\r\nFirst line\r\n  second line.\r\n \r\n"
        "1. open the file\n\n1.1 The first part\n\n1.1. Ends like a sentence.\n\n"
        "3 Skips a chapter\n\n2 Methods\n\n1.5 Goes back\n\n3 Results\f"
        "4 rivers were seen\n\nAppendix A\n"
    )
    assert list_blocks(read_content(tmp_path, "a.txt", text)) == [
        "Title page",
        (1, "1 Introduction"),
        "First line\n  second line.",
        "1. open the file",
        (2, "1.1 The first part"),
        "1.1. Ends like a sentence.",
        "3 Skips a chapter",
        (1, "2 Methods"),
        "1.5 Goes back",
        (1, "3 Results"),
        "4 rivers were seen",
        (1, "Appendix A"),
    ]


def test_pdf_outline_gives_the_headings(tmp_path: Path) -> None:
    pages = [
        ["1 Storage", "Disks are slow.", "2 is no heading, as the outline has none"],
        ["More of it.", "Trees and", "their uses", "A tree is quick."],
    ]
    # Title, page index, level. "Lost" is not in the text, so it is put at the start of its page.
    outline = [("Storage", 0, 1), ("Trees and their uses", 1, 2), ("Lost", 1, 2)]
    document = read_content(tmp_path, "a.pdf", make_pdf(pages, outline=outline))
    assert document.blocks == (
        Heading(1, "1 Storage", 1),
        Paragraph("Disks are slow.", 1),
        Paragraph("2 is no heading, as the outline has none", 1),
        Heading(2, "Lost", 2),
        Paragraph("More of it.", 2),
        Heading(2, "Trees and their uses", 2),
        Paragraph("A tree is quick.", 2),
    )


def test_numbered_lines_are_headings_without_an_outline(tmp_path: Path) -> None:
    pages = [
        [
            "1 Storage",
            "Disks are slow and the trans-",
            "action waits. Two-phase locking helps;",
            "two-",
            "phase commit too.",
            "1.1 Pages",
            "A transaction reads pages,",
        ],
        ["2 Trees", "A tree is quick."],
    ]
    assert read_content(tmp_path, "a.pdf", make_pdf(pages)).blocks == (
        Heading(1, "1 Storage", 1),
        Paragraph(
            "Disks are slow and the transaction waits. Two-phase locking helps; two-phase "
            "commit too.",
            1,
        ),
        Heading(2, "1.1 Pages", 1),
        Paragraph("A transaction reads pages,", 1),
        Heading(1, "2 Trees", 2),
        Paragraph("A tree is quick.", 2),
    )


def test_a_table_of_contents_holds_no_headings(tmp_path: Path) -> None:
    contents = [
        "Contents",
        "1 Storage ..... 2",
        "1.1 Pages . . . 3",
        "2 Trees 4",
        "A Tables......vii",
    ]
    pages = [
        contents,
        ["1 Storage", "Disks are slow."],
        ["1.1 Pages", "So."],
        ["2 Trees", "Quick."],
    ]
    document = read_content(tmp_path, "a.pdf", make_pdf(pages))
    headings = [block for block in document.blocks if isinstance(block, Heading)]
    assert headings == [
        Heading(1, "1 Storage", 2),
        Heading(2, "1.1 Pages", 3),
        Heading(1, "2 Trees", 4),
    ]


def test_running_heads_and_page_numbers_are_dropped(tmp_path: Path) -> None:
    words = ["alpha", "beta", "gamma", "delta", "epsilon"]
    pages = [[f"The book - {n}", f"Word {word}", f"- {n} -"] for n, word in enumerate(words, 1)]
    document = read_content(tmp_path, "a.pdf", make_pdf(pages))
    assert list_blocks(document) == [f"Word {word}" for word in words]
    # Running heads are only recognised in documents of at least four pages.
    short_document = read_content(tmp_path, "b.pdf", make_pdf(pages[:3]))
    assert "The book - 1 Word alpha" in list_blocks(short_document)
    slides = read_content(
        tmp_path, "c.pdf", make_pdf([["Slide 1"], ["Slide 2"], ["Slide 3"], ["Slide 4"]])
    )
    assert list_blocks(slides) == ["Slide 1", "Slide 2", "Slide 3", "Slide 4"]


def test_feet_whose_page_number_changes_sides_are_dropped(tmp_path: Path) -> None:
    feet = [
        f"{n} | Acme. All Rights Reserved" if n % 2 else f"Acme. All Rights Reserved | {n}"
        for n in range(8)
    ]
    pages = [["A line.", f"Word {'abcdefgh'[n]}", foot] for n, foot in enumerate(feet)]
    blocks = list_blocks(read_content(tmp_path, "a.pdf", make_pdf(pages)))
    assert not any("Acme" in str(block) for block in blocks)


def test_pages_without_text_are_listed_in_the_notes(tmp_path: Path) -> None:
    document = read_content(tmp_path, "a.pdf", make_pdf([["Text here."], [], ["And here."], []]))
    assert document.notes == ("2 of 4 pages contain no text: 2, 4",)
    assert [block.page for block in document.blocks] == [1, 3]


def test_a_pdf_under_an_empty_password_is_read(tmp_path: Path) -> None:
    from pypdf import PdfReader, PdfWriter

    plain_path = tmp_path / "plain.pdf"
    plain_path.write_bytes(make_pdf([["Open to all."]]))
    writer = PdfWriter(clone_from=PdfReader(plain_path))
    writer.encrypt(user_password="", owner_password="owner", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")
    assert list_blocks(read_document(tmp_path / "locked.pdf")) == ["Open to all."]


def test_headings_are_short_single_lines(tmp_path: Path) -> None:
    long_text = "word " * 100
    assert list_blocks(read_content(tmp_path, "a.md", f"# {long_text}\n")) == [long_text.strip()]
    assert list_blocks(read_content(tmp_path, "b.html", "<h1>two\n lines<br>here</h1>")) == [
        (1, "two lines here")
    ]
    assert list_blocks(read_content(tmp_path, "c.md", "#\n\ntext\n")) == ["text"]
