"""Tests that code in documents is found, but names and states nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.text.chunker import chunk_documents
from kg.text.chunks import Chunk
from kg.text.documents.document import Block, Document, Heading, Paragraph
from kg.text.documents.reader import read_document
from kg.text.facts.rules import find_facts
from kg.text.keywords.yake_extractor import Yake

sys.path.insert(0, str(Path(__file__).parent))
from pdf_files import make_pdf

PROSE = (
    "The application object implements a web server interface and is passed the name of a module."
)
CODE = "from flask import Flask\napp = Flask(__name__)"
INDENTED_CODE = "    from flask import Flask\n    app = Flask(__name__)"
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "source": PROSE},
            {"cell_type": "code", "source": CODE, "outputs": []},
        ],
        "nbformat": 4,
    }
)
DOCUMENTS = {
    "fence.md": f"{PROSE}\n\n```python\n{CODE}\n```\n\n{PROSE}",
    "indented.md": f"{PROSE}\n\n{INDENTED_CODE}\n\n{PROSE}",
    "list.md": f"*   {PROSE}\n\n    ```\n{INDENTED_CODE}\n    ```\n*   {PROSE}",
    "page.html": f"<p>{PROSE}</p><pre>{CODE}</pre><p>{PROSE}</p>",
    "list.html": f"<ul><li>{PROSE}<pre>{CODE}</pre></li><li>{PROSE}</li></ul>",
    "double_colon.rst": f"{PROSE}::\n\n{INDENTED_CODE}\n\n{PROSE}",
    "directive.rst": f"{PROSE}\n\n.. code-block:: python\n\n{INDENTED_CODE}\n\n{PROSE}",
    "list.rst": f"* {PROSE} ::\n\n{INDENTED_CODE}\n\n* {PROSE}",
    "listing.adoc": f"{PROSE}\n\n----\n{CODE}\n----\n\n{PROSE}",
    "literal.adoc": f"{PROSE}\n\n{INDENTED_CODE}\n\n{PROSE}",
    "item.adoc": f"* {PROSE}\n\n{INDENTED_CODE}\n* {PROSE}",
    "source.adoc": f"{PROSE}\n\n[source,python]\n{CODE}\n\n{PROSE}",
    "short.adoc": f"{PROSE}\n\n[,python]\n--\n{CODE}\n--\n\n{PROSE}",
    "styled.adoc": f"{PROSE}\n\n[listing]\n{CODE}\n\n[literal]\n....\n....\n\n{PROSE}",
    "tags.md": f"{PROSE}\n\n<div><p>{PROSE}</p><pre>{CODE}</pre></div>\n\n{PROSE}",
    "tags_in_list.md": f"- {PROSE}\n\n  <pre>\n{INDENTED_CODE}\n  </pre>\n- {PROSE}",
    "sphinx.md": f"{PROSE}\n\n```{{eval-rst}}\n{PROSE}::\n\n{INDENTED_CODE}\n```\n\n{PROSE}",
    "unclosed.adoc": f"{PROSE}\n\n{PROSE}\n\n----\n{CODE}",
    "book.ipynb": NOTEBOOK,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_code_names_and_states_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(DOCUMENTS[name], "utf-8")
    document = read_document(tmp_path / name)
    code = [
        block.text for block in document.blocks if isinstance(block, Paragraph) and block.is_code
    ]
    assert ["".join(text.split()) for text in code] == ["".join(CODE.split())]
    chunks = chunk_documents([document])
    (chunk,) = chunks
    assert "import" in chunk.text  # it can be searched
    assert "import" not in chunk.prose
    assert chunk.prose.count("implements") == DOCUMENTS[name].count("implements")
    (keywords,) = Yake().extract_keywords(chunks, lambda _row: None)
    assert not [word for word in keywords.keywords if "flask" in word.lower() or "import" in word]
    assert "web server interface" in keywords.keywords
    assert not [fact for fact in find_facts(chunks) if "Flask" in fact.text]


def test_a_text_that_is_typeset_as_code_is_prose(tmp_path: Path) -> None:
    path = tmp_path / "rfc.html"
    path.write_text(f"<p>RFC 1</p><pre>{PROSE}\n\n{PROSE}</pre>", "utf-8")
    (chunk,) = chunk_documents([read_document(path)])
    assert chunk.prose == chunk.text


WORDS = st.lists(st.sampled_from(["page", "of", "disk.", "A"]), min_size=1, max_size=30)
BLOCKS = st.one_of(
    WORDS.map(lambda words: Heading(2, " ".join(words)[:40].strip())),
    WORDS.map(lambda words: Paragraph(" ".join(words))),
    WORDS.map(lambda words: Paragraph("\n".join(f"qx{word}" for word in words), is_code=True)),
)


@given(st.lists(BLOCKS, min_size=1, max_size=8))
def test_chunks_know_their_code_wherever_they_are_cut(blocks: list[Block]) -> None:
    for chunk in chunk_documents([Document("d", "d.md", tuple(blocks))], size=60, overlap=20):
        code = [chunk.text[start:end] for start, end in chunk.metadata.get("code", [])]
        assert all(text.startswith("q") or "qx" not in text.split()[0] for text in code)
        assert [word for text in code for word in text.split()] == [
            word for word in chunk.text.split() if word.startswith("qx")
        ]
        assert chunk.prose.split() == [
            word for word in chunk.text.split() if not word.startswith("qx")
        ]


@pytest.mark.parametrize(
    "value", ["no", [1], [[5, 2]], [[-1, 3]], [["a", 1]], [[0, 9**9]], None, {}]
)
def test_ranges_of_other_tools_do_no_harm(value: object) -> None:
    assert Chunk("a", "some text", {"code": value}).prose in ("some text", "")


def test_directives_that_hold_code_are_code(tmp_path: Path) -> None:
    sources = {
        "click:example": "@click.command()",
        "click:run": "invoke(hello)",
        "command-output": "a line",
        "exec_code": "print(1)",
        "code-tab": "f()",
        "shop-example": "buy(3)",
        "frobnicate": "pages = 3\n   split(pages)",
        "frobnicated": "def split(page):\n       return page[:1]",
    }
    prose = {
        "example": "Redis runs on Linux.",
        "prf:example": "Let *n* be even.",
        "exit-code": "It *failed*.",
        "runner": "It runs.\n   It stops.",
        "frobnicate": "Pages\n   (split) = halves of pages",
        "truncated": "x = 1",
    }
    text = "".join(
        f".. {name}:: {PROSE}\n\n   {content}\n\n"
        for directives in (sources, prose)
        for name, content in directives.items()
    )
    path = tmp_path / "a.rst"
    path.write_text(text)
    blocks = [block for block in read_document(path).blocks if isinstance(block, Paragraph)]
    assert [block.text.replace("\n", "\n   ") for block in blocks if block.is_code] == list(
        sources.values()
    )
    texts = [block.text for block in blocks if not block.is_code]
    for content in prose.values():
        assert content.replace("\n   ", " ").replace("*", "") in texts


def test_drawings_have_no_text(tmp_path: Path) -> None:
    for name in ("plantuml", "uml", "blockdiag", "mermaid", "railroad-diagram"):
        path = tmp_path / "a.rst"
        path.write_text(f"Text.\n\n.. {name}::\n\n   A -> B: runs on\n")
        assert [block.text for block in read_document(path).blocks] == ["Text."]


def read_pdf_blocks(tmp_path: Path, *lines: str) -> list[tuple[str, bool]]:
    """Returns text and kind of the paragraphs of a page; lines with a grave accent are Courier."""
    path = tmp_path / "a.pdf"
    path.write_bytes(make_pdf([[*lines, "More words of ordinary text, all of them in Helvetica."]]))
    blocks = [block for block in read_document(path).blocks if isinstance(block, Paragraph)]
    return [(block.text, block.is_code) for block in blocks]


LONG = "The application object implements an interface of web servers and is passed to them all"
STATEMENTS = ["`int x = fill(10, item);", "`return list[x] + i;"]


def test_monospaced_lines_of_pdf_are_code(tmp_path: Path) -> None:
    assert read_pdf_blocks(tmp_path, f"{LONG}, as here:", *STATEMENTS, f"{LONG}.", "So.")[:3] == [
        (f"{LONG}, as here:", False),
        ("int x = fill(10, item);\nreturn list[x] + i;", True),
        (f"{LONG}. So.", False),
    ]
    assert (STATEMENTS[0][1:], True) in read_pdf_blocks(tmp_path, "So.", STATEMENTS[0], LONG, "So.")


@pytest.mark.parametrize("line", ["`list_filter", "`list_of_files.", "`/opt/lib/file.html. One"])
def test_names_of_programs_in_sentences_of_pdf_are_no_code(tmp_path: Path, line: str) -> None:
    for before in ("So.", LONG):
        blocks = read_pdf_blocks(tmp_path, before, line, LONG, LONG)
        assert not any(is_code for _, is_code in blocks)
    assert not any(is_code for _, is_code in read_pdf_blocks(tmp_path, LONG, STATEMENTS[0], LONG))


def test_monospaced_pdf_has_no_code(tmp_path: Path) -> None:
    blocks = read_pdf_blocks(tmp_path, *STATEMENTS * 3)
    assert blocks
    assert not any(is_code for _, is_code in blocks)


FUNCTION = "`int main(void)", "`{", "`while (true)", "`{", "`run(list[i]);", "`}", "`}"


def test_braces_do_not_end_code_of_pdf(tmp_path: Path) -> None:
    code = "\n".join(line[1:] for line in FUNCTION)
    lines = (f"{LONG}, as here:", *FUNCTION, f"{LONG}.", LONG, LONG, LONG, LONG, f"{LONG}.")
    assert read_pdf_blocks(tmp_path, *lines)[:2] == [(f"{LONG}, as here:", False), (code, True)]
    script = "`if list.empty? then", "`end"
    assert read_pdf_blocks(tmp_path, LONG, f"{LONG}.", *script, LONG, f"{LONG}.")[1] == (
        "if list.empty? then\nend",
        True,
    )


def test_ends_of_sentences_in_pdf_are_no_code(tmp_path: Path) -> None:
    assert read_pdf_blocks(tmp_path, LONG, "once", *STATEMENTS, LONG, LONG, LONG)[:2] == [
        (f"{LONG} once", False),
        ("int x = fill(10, item);\nreturn list[x] + i;", True),
    ]
    lines = LONG, "once", STATEMENTS[0], LONG, LONG
    assert not any(is_code for _, is_code in read_pdf_blocks(tmp_path, *lines))


@pytest.mark.parametrize("title", ["fopen(path)", "return list[x] + i;"])
def test_monospaced_headings_of_pdf_end_code(tmp_path: Path, title: str) -> None:
    prose = [f"{LONG}." for _ in range(8)]
    page = [*prose, "`open(file, list);", f"`{title}", "`stream.fill(item, list);", *prose]
    path = tmp_path / "a.pdf"
    path.write_bytes(make_pdf([page], outline=[("Files", 0, 1), (title, 0, 2)]))
    blocks = read_document(path).blocks
    heading = [isinstance(block, Heading) and block.text == title for block in blocks].index(True)
    before, after = blocks[heading - 1], blocks[heading + 1]
    assert isinstance(before, Paragraph)
    assert isinstance(after, Paragraph)
    assert (before.text, before.is_code) == ("open(file, list);", True)
    assert (after.text, after.is_code) == ("stream.fill(item, list);", True)


def test_code_at_the_end_of_a_page_of_pdf_stays_on_it(tmp_path: Path) -> None:
    prose = [f"{LONG}." for _ in range(8)]
    path = tmp_path / "a.pdf"
    outline = [("Files", 0, 1), ("fopen(path)", 0, 2), ("More", 1, 1)]
    pages = [[*prose, *STATEMENTS, "`fopen(path)"], ["`if (list[i])", *STATEMENTS, *prose]]
    path.write_bytes(make_pdf(pages, outline=outline))
    code = [b for b in read_document(path).blocks if isinstance(b, Paragraph) and b.is_code]
    assert [(block.page, block.text.count("\n")) for block in code] == [(1, 1), (2, 2)]
