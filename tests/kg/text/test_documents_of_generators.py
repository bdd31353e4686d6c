"""Tests the formats of documentation trees: rst, qmd, mdx, notebooks, Word and AsciiDoc."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import docx
import pytest
from document_blocks import read_blocks

from kg.base.errors import DocumentError, DuplicateIdError, MissingFileError
from kg.text.documents import docx as docx_reader
from kg.text.documents import read_document, restructured_text
from kg.text.documents.names import SourceFile, assign_document_names
from kg.text.run.sources import count_unread_files, find_source_files, read_sources

SECRET = "the secret of another file"


def test_sphinx_markup_is_read_as_text(tmp_path: Path) -> None:
    blocks = read_blocks(
        tmp_path / "a.rst",
        """
Title
=====

See :ref:`the guide <guide>`, :class:`~pkg.mod.Name`, :unknown:`role` and |sub|.

.. |sub| replace:: its name

.. py:function:: split(page)

   Splits *a page*.

   :param page: the page

.. frobnicate:: an argument
   :option: value

   Content of an unknown directive.

.. toctree::

   hidden-page

Part
----

==== ====
a    b
==== ====
1    2
==== ====

- one

  more
- two
""",
    )
    assert blocks == [
        "# Title",
        "See the guide, Name, role and its name.",
        "split(page)",
        "Splits a page.",
        "param page: the page",
        "an argument",
        "Content of an unknown directive.",
        "## Part",
        "a | b\n1 | 2",
        "- one\n  more\n- two",
    ]


def test_no_directive_or_macro_reads_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET)
    rst = "".join(
        f".. {name} {secret}\n{option}\n\n"
        for name, option in (
            ("include::", ""),
            ("include::", "   :literal:"),
            ("literalinclude::", ""),
            ("raw:: html", f"   :file: {secret}"),
            ("raw:: html", f"   :url: file://{secret}"),
            ("csv-table:: T", f"   :file: {secret}"),
            ("parsed-literal::", f"   .. include:: {secret}"),
            ("figure::", f"   .. include:: {secret}"),
        )
    )
    sources = {
        "a.rst": f"Text.\n\n{rst}",
        "a.adoc": f"Text.\n\ninclude::{secret}[]\n\n|===\ninclude::{secret}[]\n|===\n",
        "a.qmd": f"Text.\n\n{{{{< include {secret} >}}}}\n",
        "b.md": f"Text.\n\n```{{include}} {secret}\n```\n",
    }
    for name, text in sources.items():
        blocks = read_blocks(tmp_path / name, text)
        assert "Text." in blocks[0]
        assert SECRET not in "".join(blocks)


def test_text_files_of_django_are_read_as_rst(tmp_path: Path) -> None:
    assert read_blocks(tmp_path / "a.txt", "Title\n=====\n\n.. note::\n\n    Mind it.\n") == [
        "# Title",
        "Mind it.",
    ]
    assert read_blocks(tmp_path / "b.txt", "Title\n=====\n\nText.\n")[0] == "Title\n====="


def test_markdown_of_generators_is_read_without_its_frames(tmp_path: Path) -> None:
    text = """---
title: "Page"
---
## Part

!!! note "Mind"
    Inside.

    ??? tip
        Deeper.

=== "Tab"

    In the tab.

::: {.callout-note}
In the call-out.
:::

Use {ref}`target`. {{< video x.mp4 >}}

```python
!!! x
```
"""
    blocks = read_blocks(tmp_path / "a.md", text)
    assert blocks == [
        "# Page",
        "## Part",
        "Mind",
        "Inside.",
        "Deeper.",
        "Tab",
        "In the tab.",
        "In the call-out.",
        "Use target.",
        "!!! x",
    ]


def test_mdx_is_read_without_statements(tmp_path: Path) -> None:
    text = """import Tabs from "@theme/Tabs";
export const x = {
  a: 1,
};

# Title

import this sentence.

<Tabs>
  <Item value="a">Inside the tag.</Item>
</Tabs>

{/* a comment */}

```js
import y from "y";
```
"""
    blocks = read_blocks(tmp_path / "a.mdx", text)
    assert blocks == [
        "# Title",
        "import this sentence.",
        "Inside the tag.",
        'import y from "y";',
    ]


def test_notebook_cells_are_read_without_outputs(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "Some *text*."]},
        {"cell_type": "code", "source": "x = 1", "outputs": [{"text": "an output"}]},
        {"cell_type": "raw", "source": "raw"},
    ]
    for name, notebook in {
        "a.ipynb": {"nbformat": 4, "cells": cells},
        "b.ipynb": {"nbformat": 3, "worksheets": [{"cells": cells}]},
    }.items():
        blocks = read_blocks(tmp_path / name, json.dumps(notebook))
        assert blocks == ["# Title", "Some text.", "x = 1"]
    for damaged in (b"", b"[]", b"{" * 10_000, b'{"cells": 3}'):
        with pytest.raises(DocumentError, match="notebook"):
            read_blocks(tmp_path / "c.ipynb", damaged)


def test_asciidoc_is_read_as_text(tmp_path: Path) -> None:
    text = """= Book
Author Name <a@example.org>
:product: Trees

== Part

{product} use *bold* and `code`; see <<other,the other part>>, https://example.org[a page].

// a comment
[NOTE]
====
Mind it.
====

* one
** deeper
* two

[source,python]
----
== x
----

|===
|a |b

|1
|2
|===

CPU:: the processor
"""
    assert read_blocks(tmp_path / "a.adoc", text) == [
        "# Book",
        "## Part",
        "Trees use bold and code; see the other part, a page.",
        "Mind it.",
        "- one\n  - deeper\n- two",
        "== x",
        "a | b\n1 | 2",
        "CPU:: the processor",
    ]


def make_docx(path: Path) -> bytes:
    document = docx.Document()
    document.add_heading("Title", 0)
    document.add_heading("Part", 2)
    document.add_paragraph("Some text.")
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("two", style="List Bullet")
    table = document.add_table(2, 2)
    for number, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"cell {number}"
    document.save(str(path))
    return path.read_bytes()


def test_word_document_is_read_and_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_docx(tmp_path / "a.docx")
    assert read_blocks(tmp_path / "a.docx", data) == [
        "# Title",
        "## Part",
        "Some text.",
        "- one\n- two",
        "cell 0 | cell 1\ncell 2 | cell 3",
    ]
    for damaged in (b"PK", data[:2000], b"text"):
        with pytest.raises(DocumentError, match="Word document"):
            read_blocks(tmp_path / "b.docx", damaged)
    monkeypatch.setattr(docx_reader, "MAX_TEXT_PART_BYTES", 1_000_000)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 20_000_000)
    assert len(bomb.getvalue()) < 50_000
    with pytest.raises(DocumentError, match="larger than the limits"):
        read_blocks(tmp_path / "bomb.docx", bomb.getvalue())


def test_entities_of_a_word_document_are_not_expanded(tmp_path: Path) -> None:
    data = make_docx(tmp_path / "a.docx")
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET)
    declarations = "".join(
        f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "boom" * 10}">' for n in range(9)
    )
    hostile = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as source,
        zipfile.ZipFile(hostile, "w") as target,
    ):
        for part in source.infolist():
            content = source.read(part)
            if part.filename == "word/document.xml":
                head, _, tail = content.decode().partition("?>")
                content = (
                    f'{head}?><!DOCTYPE d [{declarations}<!ENTITY f SYSTEM "file://{secret}">]>'
                    + tail.replace("Some text.", "Some text. &e8; &f;")
                ).encode()
            target.writestr(part, content)
    try:
        blocks = read_blocks(tmp_path / "b.docx", hostile.getvalue())
    except DocumentError:
        return
    assert len("".join(blocks)) < 10_000
    assert SECRET not in "".join(blocks)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".rst", "*a " * 200_000),
        (".rst", "`" * 90_000),
        (".rst", "\n".join("  " * n + "- a" for n in range(2_000))),
        (".rst", "\n\n".join("  " * n + f".. note:: n{n}" for n in range(1_000))),
        (".rst", "\n".join(f".. |s{n}| replace:: " + f"|s{n - 1}| " * 10 for n in range(300))),
        (".adoc", "*a " * 200_000),
        (".adoc", "<<" * 200_000 + "\n" + "link:[" * 60_000),
        (".adoc", ("xref:a[" * 2_000 + "\n") * 40),
        (".adoc", ("a" * 19_000 + "\n") * 20 + ":a: " + "b" * 5000 + "\n" + "{a}" * 6_000),
        (".mdx", "{/*" * 100_000),
        (".qmd", "".join(" " * 4 * n + "!!! note\n" for n in range(1_000))),
        (".qmd", "{{< " * 100_000),
        (".md", "{" * 100_000 + "`a`"),
        (".md", ("![" * 9_000 + "\n\n") * 5),
        (".rst", ("`a " * 6_000 + "\n\n") * 5),
        (".rst", "a@b.c http://d " * 1_000),
        (".rst", "+--" * 9_000 + "+\n" + "|a " * 9_000 + "|\n" + "+--" * 9_000 + "+"),
        (".rst", "+-" * 90 + "+\n" + ("| |" + "-+" * 89 + "\n+-+" + "-+" * 89 + "\n") * 90),
        (".html", "<table><tr>" + "<td></td>" * 100_000),
    ],
)
def test_hostile_markup_is_read_or_refused_quickly(tmp_path: Path, suffix: str, text: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_text("word\n\n" + text)
    try:
        document = read_document(path)
    except DocumentError:
        return
    assert sum(len(block.text) for block in document.blocks) < 3 * len(text) + 100


def test_substitutions_of_rst_do_not_multiply_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restructured_text, "MAX_SUBSTITUTED", 50)
    text = "|a| and |a| and |a|\n\n.. |a| replace:: twenty characters ha"
    assert read_blocks(tmp_path / "a.rst", text) == [
        "twenty characters ha and twenty characters ha and a"
    ]


def test_names_come_from_paths(tmp_path: Path) -> None:
    def name(*paths: str) -> list[str]:
        return assign_document_names([SourceFile(tmp_path / path, tmp_path) for path in paths])

    assert name("index.md", "Guide/index.md", "api/v1.2/index.rst") == [
        "index",
        "guide/index",
        "api/v1-2/index",
    ]
    assert name("trees.md", "trees.txt", "a.md") == ["trees-md", "trees-txt", "a"]
    similar = name("Trees.md", "trees.md")
    assert len(set(similar)) == 2
    other = tmp_path / "other"
    assert (
        assign_document_names(
            [SourceFile(tmp_path / "a.md", tmp_path), SourceFile(other / "a.md", other)]
        )[1]
        == "other/a"
    )
    with pytest.raises(DuplicateIdError, match="twice"):
        name("a.md", "b/../a.md")


def test_a_tree_is_read_although_some_files_cannot_be(tmp_path: Path) -> None:
    for path, content in {
        "index.md": b"# Home\n\nWelcome.",
        "guide/index.md": b"# Guide\n\nRead this.",
        "guide/empty.md": b"",
        "guide/latin.txt": b"caf\xe9",
        "data/rows.jsonl": b'{"x": 1}\n',
        "image.png": b"\x89PNG",
        "conf.py": b"",
        "Makefile": b"",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    files = find_source_files([tmp_path], (".md", ".txt"))
    assert count_unread_files([tmp_path], (".md", ".txt")) == {
        ".png": 1,
        ".py": 1,
        "no extension": 1,
    }
    text = read_sources(files, 2000, 300, lambda _done: None)
    assert [document.name for document in text.documents] == ["index", "guide/index"]
    assert [document.filename for document in text.documents] == ["index.md", "guide/index.md"]
    assert [chunk.id for chunk in text.chunks] == ["index#home", "guide/index#guide"]
    assert len(text.skipped) == 3
    assert sorted(
        name for name in ("empty.md", "latin.txt", "rows.jsonl") if name in " ".join(text.skipped)
    ) == ["empty.md", "latin.txt", "rows.jsonl"]
    with pytest.raises(DocumentError, match="no word"):
        read_sources([SourceFile(tmp_path / "guide/empty.md")], 2000, 300, lambda _done: None)


def test_links_unreadable_folders_and_data_do_not_end_the_reading_of_a_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, content in {
        "README.md": "# Home\n\nWelcome.",
        "docs/guide.md": "# Guide\n\nRead this.",
        "docs/locked/page.md": "# Locked",
        "data/events.jsonl": '{"id": "1", "text": "a"}\n{"id": "1", "text": "b"}\n',
        "data/passages.jsonl": '{"id": "1", "text": "A passage."}\n',
        "data/passages-2.jsonl": '{"id": "1", "text": "The same."}\n',
        "data/home.jsonl": '{"id": "readme#home", "text": "The id of a document."}\n',
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    (tmp_path / "a.md").symlink_to("README.md")
    (tmp_path / "docs/index.md").symlink_to("../README.md")
    (tmp_path / "docs/loop.md").symlink_to("loop.md")
    scandir = os.scandir

    def refuse_locked(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse_locked)
    files = find_source_files([tmp_path], (".md",))
    assert count_unread_files([tmp_path], (".md",)) == {}
    text = read_sources(files, 2000, 300, lambda _done: None)
    assert [chunk.id for chunk in text.chunks] == ["readme#home", "docs/guide#guide", "1"]
    assert [document.filename for document in text.documents] == [
        "README.md",
        "data/passages-2.jsonl",
        "docs/guide.md",
    ]
    skipped = {
        name: line
        for name in ("a.md", "index.md", "loop.md", "events.jsonl", "passages.jsonl", "home.jsonl")
        for line in text.skipped
        if name in line
    }
    assert len(skipped) == len(text.skipped) == 6
    assert "same file" in skipped["a.md"]
    assert "README.md" in skipped["index.md"]
    warnings = capsys.readouterr().err
    assert warnings.count("docs/locked") == 1
    assert "ready chunks: data/passages-2.jsonl" in warnings
    # What the user names is not skipped.
    with pytest.raises(DuplicateIdError, match="twice"):
        read_sources([*files, SourceFile(tmp_path / "README.md")], 2000, 300, lambda _done: None)
    with pytest.raises(DuplicateIdError, match="two chunks"):
        read_sources([tmp_path / "data/events.jsonl"], 2000, 300, lambda _done: None)
    with pytest.raises(MissingFileError, match="folder cannot be read"):
        find_source_files([tmp_path / "docs/locked"], (".md",))


def test_sources_of_pages_are_not_read_beside_the_pages(tmp_path: Path) -> None:
    for path in ("html/guide/start.html", "html/_sources/guide/start.rst.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("<p>Start here.</p>")
    (tmp_path / "html/_sources/index.rst.txt").write_text("No page is made of this.")
    (tmp_path / "html/_sources/notes.txt").write_text("Nor of this.")
    files = find_source_files([tmp_path], (".html", ".txt"))
    text = read_sources(files, 2000, 300, lambda _done: None)
    assert [document.filename for document in text.documents] == [
        "html/_sources/index.rst.txt",
        "html/_sources/notes.txt",
        "html/guide/start.html",
    ]
    (line,) = text.skipped
    assert "start.rst.txt is the source of" in line
    # What the user names is read.
    source = SourceFile(tmp_path / "html/_sources/guide/start.rst.txt")
    named = read_sources([source, files[-1]], 2000, 300, lambda _done: None)
    assert len(named.documents) == 2


def test_html_whose_head_is_never_closed_is_read(tmp_path: Path) -> None:
    # The end of the head may be left out, as in specifications of the W3C.
    text = "<!doctype html><html><head><title>T</title><style>x</style><body><h1>A</h1><p>Text."
    assert read_blocks(tmp_path / "a.html", text) == ["# A", "Text."]
