"""Tests that damaged, hostile and mislabelled documents give a clear error."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import docutils.nodes
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg.base.errors import DocumentError, MissingFileError
from kg.text.chunker import chunk_documents
from kg.text.documents import SUFFIXES, Document, html_reader, markdown, read_document, reader
from kg.text.documents import pdf as pdf_reader
from kg.text.documents.names import MAX_NAME_LENGTH

sys.path.insert(0, str(Path(__file__).parent))
from pdf_files import make_pdf, write_pdf


def check_refused(path: Path, content: bytes, *message_parts: str) -> None:
    path.write_bytes(content)
    with pytest.raises(DocumentError) as caught:
        read_document(path)
    message = caught.value.format_line()
    assert path.name in message
    assert all(part in message for part in message_parts), message
    assert caught.value.exit_code == 30
    assert caught.value.hint


@pytest.mark.parametrize("suffix", [s for s in SUFFIXES if s not in (".pdf", ".docx", ".ipynb")])
@pytest.mark.parametrize(
    "content", [b"", b" \n\n\t\n", b"\xef\xbb\xbf", b"...\n\n!?\n", b"<p></p>"]
)
def test_document_without_words_is_refused(tmp_path: Path, suffix: str, content: bytes) -> None:
    if content == b"<p></p>" and suffix in (".txt", ".text", ".rst", ".adoc", ".asciidoc"):
        return  # In plain text and formats without HTML, the p of the tag counts as a word.
    check_refused(tmp_path / f"a{suffix}", content, "no word")


def test_undecodable_text_and_unusable_charsets_are_refused(tmp_path: Path) -> None:
    check_refused(tmp_path / "a.txt", b"caf\xe9 au lait", "UTF-8", "byte 3")
    check_refused(tmp_path / "a.md", b"\xff\xfea", "UTF-16")
    check_refused(tmp_path / "a.html", b"<meta charset='utf-8'><p>\xe9", "UTF-8")
    check_refused(tmp_path / "b.html", b"<meta charset='no-such-thing'><p>a", "no-such-thing")
    for name in ("rot13", "hex", "undefined", "idna", "unicode_escape", "utf-7", "zlib"):
        check_refused(tmp_path / "c.html", f"<meta charset='{name}'><p>a".encode(), name)


def test_binary_files_are_refused(tmp_path: Path) -> None:
    check_refused(tmp_path / "a.txt", b"MZ\x00\x00\x01", "NUL")


def test_error_message_names_an_unsupported_format(tmp_path: Path) -> None:
    check_refused(tmp_path / "a.odt", b"PK", ".odt", ".md, .markdown")
    check_refused(tmp_path / "noextension", b"text", "without an extension")


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.md", tmp_path, tmp_path / ("x" * 300 + ".md")):
        with pytest.raises(MissingFileError):
            read_document(path)
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(MissingFileError, match="not an ordinary file"):
        read_document(tmp_path / "pipe.md")


def test_unreadable_pdfs_are_refused(tmp_path: Path) -> None:
    valid_pdf = make_pdf([["Some text."], ["More text."]])
    check_refused(tmp_path / "scan.pdf", make_pdf([[], []]), "contains no text", "OCR")
    check_refused(tmp_path / "locked.pdf", make_pdf([["Secret."]], password="x"), "encrypted")
    check_refused(tmp_path / "cut.pdf", valid_pdf[: len(valid_pdf) // 2], "damaged")
    check_refused(tmp_path / "none.pdf", b"", "damaged")
    check_refused(tmp_path / "text.pdf", b"no PDF at all", "damaged")
    check_refused(tmp_path / "empty.pdf", make_pdf([]), "damaged")


def test_pdf_bomb_is_refused(tmp_path: Path) -> None:
    bomb = write_pdf([b"BT /F1 12 Tf " + b"(abcdefghij) Tj 90 0 Td " * 200_000 + b"ET"])
    assert len(bomb) < 200_000
    check_refused(tmp_path / "bomb.pdf", bomb, "larger than the limits", "page 1")


def test_pdf_with_recursive_forms_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf_reader, "MAX_SECONDS", 20)
    monkeypatch.setattr(pdf_reader, "MAX_MEMORY", 400 * 1024**2)
    # In PDF, a form is a drawing that others can show. A chain of eight forms, each of which shows
    # the next one ten times, is a file of 4 kB that stands for 10^8 pieces of text.
    objects = ["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>"]
    resources = "/Resources<</Font<</F1 4 0 R>>/XObject<</X %d 0 R>>>>"
    objects.append("<</Type/Page/Parent 2 0 R/Contents 5 0 R" + resources % 6 + ">>")
    objects.append("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    form_calls = "/X Do " * 10
    objects.append(f"<</Length {len(form_calls)}>>stream\n{form_calls}\nendstream")
    for number in range(6, 14):
        content = form_calls if number < 13 else "BT /F1 12 Tf (word) Tj ET"
        objects.append(
            f"<</Type/XObject/Subtype/Form/Length {len(content)}"
            + resources % min(number + 1, 13)
            + f">>stream\n{content}\nendstream"
        )
    body, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj{content}endobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    body += f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer<</Size {size}/Root 1 0 R>>\n"
    path = tmp_path / "forms.pdf"
    path.write_bytes(f"{body}startxref\n{body.index('xref')}\n%%EOF".encode())
    with pytest.raises(DocumentError, match=r"larger than the limits allow: it (needs|takes) more"):
        read_document(path)


def test_size_limits_are_enforced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_TEXT_BYTES", 1024**2)
    check_refused(tmp_path / "a.txt", b"word " * 300_000, "larger than 1 MiB")
    monkeypatch.setattr(pdf_reader, "MAX_PAGES", 2)
    check_refused(tmp_path / "a.pdf", make_pdf([["a"]] * 3), "3 pages; at most 2")
    monkeypatch.setattr(pdf_reader, "MAX_PAGES", 5)
    monkeypatch.setattr(pdf_reader, "MAX_CHARACTERS", 10)
    check_refused(tmp_path / "b.pdf", make_pdf([["twelve chars"]]), "more than 10 characters")
    monkeypatch.setattr(html_reader, "MAX_TAGS", 100)
    check_refused(tmp_path / "a.html", b"<p>a" * 101, "101 tags")
    check_refused(tmp_path / "a.md", b"text\n\n<div>" + b"<b>" * 101, "tags")
    monkeypatch.setattr(markdown, "MAX_LINES", 10)
    check_refused(tmp_path / "b.md", b"text\n" * 11, "11 lines; at most 10")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md", b"x" * 10_000_000),
        ("b.md", b"# " + b"word " * 2_000_000),
        ("c.txt", b"word " * 2_000_000),
        ("d.md", b"*a _b `c [d](e " * 600_000),
        ("e.html", b"<p>" + b"word " * 2_000_000),
    ],
    ids=["one word", "one heading", "plain", "marks", "html"],
)
def test_line_of_ten_megabytes_is_read(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    document = read_document(path)
    # Almost all characters are kept; only markup may be dropped.
    assert sum(len(block.text) for block in document.blocks) >= 0.99 * len(content.strip()) - 100
    chunks = chunk_documents([document])
    assert max(len(chunk.text) for chunk in chunks) <= 2_000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", b"<div>" * 100_000 + b"word" + b"</div>" * 100_000),
        ("b.html", b"<ul><li>word" * 30_000),
        ("c.html", b"word" + b"<!--" * 100_000),
        ("d.html", b"word " + b"<a " * 100_000),
        ("e.html", b"word " + b"<a x='" * 100_000),
        ("f.html", b"<b>" * 50_000 + b"word"),
        ("g.md", b"word\n\n" + b"[" * 50_000),
        ("h.md", b"word\n\n" + b"[a](<b" * 10_000),
        ("i.md", b"".join(b"- word\n" + b"  " * n for n in range(40))),
    ],
)
def test_deep_nesting_and_unclosed_markup_are_read(
    tmp_path: Path, name: str, content: bytes
) -> None:
    # Without limits, these inputs overflow the stack or take quadratic time (many minutes).
    path = tmp_path / name
    path.write_bytes(content)
    assert any("word" in block.text for block in read_document(path).blocks)


def test_too_deeply_nested_markdown_is_refused(tmp_path: Path) -> None:
    check_refused(tmp_path / "a.md", b">" * 5_000 + b" word\n", "nested")
    check_refused(tmp_path / "b.md", b"- " * 5_000 + b"word\n", "nested")


@pytest.mark.parametrize(
    "name",
    [
        "..md",
        "...md",
        "\u202egpj.md",
        "a\nb\x1b[31m.md",
        "  .md",
        "-.md",
        "#?%.md",
        "über Größe.md",
        "長江.md",
        "हिन्दी.md",
        "x" * 240 + ".md",
        "C#.md",
        "a#b~2.md",
        os.fsdecode(b"\xff\xfe.md"),
    ],
)
def test_hostile_file_names_are_cleaned(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"# Title\n\ntext\n")
    document = read_document(path)
    (chunk,) = chunk_documents([document])
    assert chunk.id == f"{document.name}#title"
    assert 1 <= len(document.name) <= MAX_NAME_LENGTH
    assert not {"#", "/", "~", "\\"} & set(document.name)
    assert document.name.isprintable()
    assert document.filename.isprintable()
    assert document.filename
    document.filename.encode()


def test_long_names_with_different_ends_stay_distinct(tmp_path: Path) -> None:
    documents = []
    for end in "ab":
        path = tmp_path / ("x" * 200 + end + ".md")
        path.write_bytes(b"text")
        documents.append(read_document(path))
    assert len({chunk.id for chunk in chunk_documents(documents)}) == 2


def test_control_characters_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\x1b[31mred\x07 \u202eturned\u2066 \u00adsoft\ttab\n")
    (block,) = read_document(path).blocks
    assert block.text == "a[31mred turned soft\ttab"


MARKUP_PIECES = st.sampled_from(
    b"<;>;<h1>;</p>;<!--;<![CDATA[;<!;&#x;# ;\n\n;> ;- ;\xff;\x00;1.1 T;\xed\xa0\x80;<pre>;<td>;"
    b"<li>;</ul>;---\n;1. ;    ;<?;charset=utf-7 ;\xef\xbb\xbf;```;[a]: b\n;![;|;|-|\n;word".split(
        b";"
    )
)
FUZZED_BYTES = st.binary(max_size=200) | st.lists(MARKUP_PIECES, max_size=30).map(b"".join)


def try_to_read(path: Path, content: bytes) -> Document | None:
    """Reads a document. Returns None if it is refused; any other error fails the test."""
    path.write_bytes(content)
    try:
        return read_document(path)
    except DocumentError:
        return None


@given(
    st.sampled_from(SUFFIXES),
    FUZZED_BYTES,
)
@settings(
    deadline=None,
    max_examples=400,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_bytes_are_read_or_refused(tmp_path: Path, suffix: str, data: bytes) -> None:
    document = try_to_read(tmp_path / f"fuzzed{suffix}", data)
    if document is None:
        return
    chunks = chunk_documents([document], size=60, overlap=20)
    assert chunks
    for chunk in chunks:
        chunk.text.encode()
        assert 0 < len(chunk.text) <= 60


VALID_PDF = make_pdf(
    [["1 Title", "Some text (here)."], ["2 Next", "More."]], outline=[("Title", 0, 1)]
)


@given(
    st.lists(
        st.tuples(st.integers(0, len(VALID_PDF) - 1), st.binary(max_size=6), st.integers(0, 8)),
        min_size=1,
        max_size=5,
    )
)
@settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_pdf_with_any_damage_is_read_or_refused(
    tmp_path: Path, damages: list[tuple[int, bytes, int]]
) -> None:
    data = VALID_PDF
    for position, inserted, cut_length in damages:
        data = data[:position] + inserted + data[position + cut_length :]
    document = try_to_read(tmp_path / "fuzzed.pdf", data)
    assert document is None or document.blocks


@given(st.binary(max_size=300))
@settings(
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_page_with_any_content_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    data = write_pdf([content, b"BT /F1 12 Tf (word) Tj ET"])
    document = try_to_read(tmp_path / "fuzzed.pdf", data)
    assert document is None or any("word" in block.text for block in document.blocks)


def test_no_tree_of_docutils_stays_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "nested.rst"
    path.write_text("Title\n=====\n\n.. note:: One\n\n   .. tip:: Two\n\n      - three\n", "utf-8")

    def count_trees() -> int:
        gc.collect()
        return sum(isinstance(thing, docutils.nodes.document) for thing in gc.get_objects())

    count_before = count_trees()
    assert len(read_document(path).blocks) > 1
    assert count_trees() <= count_before
