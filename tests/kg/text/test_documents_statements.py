"""Tests that documents state what they say: numbers, text that is struck out, tasks, tables."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import docx
import pytest
from document_blocks import read_blocks
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.text.chunker import chunk_documents
from kg.text.documents.document import Paragraph
from kg.text.documents.html_reader import read_html
from kg.text.documents.inline_text import format_superscript
from kg.text.documents.markup.table_rows import MAX_COLUMNS, MAX_GROWTH, Cell, TableRows
from kg.text.documents.reader import read_document
from kg.text.facts.rules import find_facts

sys.path.insert(0, str(Path(__file__).parent))
from pdf_files import make_pdf, write_pdf

# -- Superscripts, subscripts and marks of notes


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        ("2", "32", "^32"),
        ("10", "-3", "^-3"),
        ("m", "2", "^2"),
        ("(a+b)", "n", "^n"),
        ("2", "n + 1", "^(n + 1)"),
        ("Ca", "2+", "^2+"),
        ("1990", "[3]", ""),
        ("1990", "[3][note 4]", ""),
        ("1990", "1, 2", ""),
        ("text.", "4", ""),
        ("name", "†", ""),
        ("1", "st", "st"),
        ("2", "e", "e"),
        ("Na", "+", "+"),
        ("Java", "TM", "TM"),
        ("", "1", "1"),
        ("see ", "1", "1"),
        ("", "", ""),
        ("x", "a long remark above the line, as some pages have", None),
    ],
)
def test_superscripts_are_exponents_endings_or_marks(
    before: str, text: str, expected: str | None
) -> None:
    assert format_superscript(text, before) == (text if expected is None else expected)


EXPECTED_SCRIPT = "It has 2^32 bytes of H2O, on the 1st of May 1990."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.html",
            "<p>It has 2<sup>32</sup> bytes of H<sub>2</sub>O, on the 1<sup>st</sup> of May "
            "1990<sup>[3]</sup>.</p>",
        ),
        (
            "linked.html",
            "<p>It has 2<sup><b>3</b>2</sup> bytes of H<sub>2</sub>O, on the 1<sup>st</sup> of May "
            '1990<sup><a href="#n3">3</a></sup><a href="#n4"><sup>4</sup></a>'
            '<a class="footnote-reference brackets" href="#id1">[1]</a>'
            '<a role="doc-noteref" href="#id2">2</a>.</p>',
        ),
        (
            "a.md",
            "It has 2<sup>32</sup> bytes of H<sub>2</sub>O, on the 1<sup>st</sup> of May "
            "1990<sup>[3]</sup>.",
        ),
        (
            "linked.md",
            "It has 2<sup>32</sup> bytes of [H<sub>2</sub>O](#x), on the 1<sup>st</sup> of May "
            '1990<sup>[3](#n3)</sup>[<sup>4</sup>](#n4)<sup><a href="#n5">5</a></sup>.',
        ),
        (
            "pandoc.md",
            "It has 2^32^ bytes of H~2~O, on the 1^st^ of May 1990[^3].\n\n[^3]: ",
        ),
        (
            "a.rst",
            r"It has 2\ :sup:`32` bytes of H\ :sub:`2`\ O, on the 1\ :superscript:`st` of May "
            r"1990\ :sup:`[3]`.",
        ),
        ("a.adoc", "It has 2^32^ bytes of H~2~O, on the 1^st^ of May 1990^[3]^."),
    ],
)
def test_numbers_keep_their_exponents_and_lose_marks_of_notes(
    tmp_path: Path, name: str, text: str
) -> None:
    assert read_blocks(tmp_path / name, text) == [EXPECTED_SCRIPT]


def test_exponents_in_links_are_kept(tmp_path: Path) -> None:
    text = '<p>See <a href="#a">O(n<sup>2</sup>)</a> and <a href="b">2<sup>3</sup></a>.</p>'
    for name in ("a.html", "a.md"):
        markup = text.replace("<p>", "").replace("</p>", "") if name == "a.md" else text
        assert read_blocks(tmp_path / name, markup) == ["See O(n^2) and 2^3."]
    assert read_blocks(tmp_path / "b.md", "See [O(n<sup>2</sup>)](#a).") == ["See O(n^2)."]


def test_superscripts_in_word_documents_are_read(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("It has 2")
    for text, position in [
        ("3", "superscript"),
        ("2", "superscript"),
        (" bytes of H", ""),
        ("2", "subscript"),
        ("O, on the 1", ""),
        ("st", "superscript"),
        (" of May 1990", ""),
        ("[3]", "superscript"),
        (".", ""),
    ]:
        run = paragraph.add_run(text)
        if position:
            setattr(run.font, position, True)
    document.save(str(tmp_path / "a.docx"))
    blocks = read_blocks(tmp_path / "a.docx", (tmp_path / "a.docx").read_bytes())
    assert blocks == [EXPECTED_SCRIPT]


def test_notes_of_markdown_are_read_without_their_marks(tmp_path: Path) -> None:
    text = """Built in 1990[^a],[^long-name], `[^a]` and [^0-9] stay, and so do a^b^c and ~/a~.

[^a]: word
[^long-name]: A note with 2^8^
  of two lines.
"""
    assert read_blocks(tmp_path / "a.md", text) == [
        "Built in 1990, [^a] and [^0-9] stay, and so do a^b^c and ~/a~.",
        "word",
        "A note with 2^8 of two lines.",
    ]
    text = "Built in 1990footnote:[By X.], and in 1991footnote:a[]."
    assert read_blocks(tmp_path / "a.adoc", text) == ["Built in 1990 (By X.), and in 1991."]


# -- Text that is struck out or hidden


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.html", "<p>It is <s>slow</s>fast.</p>"),
        ("del.html", "<p>It is <del>slow, <b>very</b></del>fast.</p><del><p>Old.</p></del>"),
        ("style.html", '<p>It is <b style="text-decoration: line-through">slow</b>fast.</p>'),
        ("hidden.html", '<p>It is <b style="display:none">slow</b>fast.</p>'),
        ("invisible.html", '<p>It is <b style="color: red; visibility: hidden">slow</b>fast.</p>'),
        ("marks.md", "It is ~~slow~~fast."),
        ("tags.md", "It is <del>slow</del><s>*very* slow</s>fast."),
        ("block.md", "It is fast.\n\n<div><strike>It is slow.</strike></div>"),
        ("a.rst", ".. role:: strike\n\nIt is :strike:`slow`\\ fast."),
        ("a.adoc", "It is [line-through]#slow#[.line-through]##slow##fast."),
    ],
)
def test_text_that_is_struck_out_is_not_read(tmp_path: Path, name: str, text: str) -> None:
    assert [" ".join(block.split()) for block in read_blocks(tmp_path / name, text)] == [
        "It is fast."
    ]


def test_tags_that_are_never_closed_strike_nothing_out_of_markdown(tmp_path: Path) -> None:
    assert read_blocks(tmp_path / "a.md", "The <s> begins it.\n\nIt </s> ends.") == [
        "The begins it.",
        "It ends.",
    ]


def test_struck_out_and_hidden_text_of_word_documents_is_not_read(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("It is ")
    for name in ("strike", "double_strike", "hidden"):
        setattr(paragraph.add_run("slow").font, name, True)
    kept = paragraph.add_run("fast.")
    kept.font.strike = False
    document.save(str(tmp_path / "a.docx"))
    blocks = read_blocks(tmp_path / "a.docx", (tmp_path / "a.docx").read_bytes())
    assert blocks == ["It is fast."]


# -- Tasks

DONE = "Epoche supports Linux, and Linux is a free system of the year 1991."
OPEN = "Epoche supports Windows, and Windows is a famous system of the year 1985."
TASKS = {
    "a.md": f"- [x] {DONE}\n- [ ] {OPEN}\n  - {OPEN}\n  - [x] {DONE}\n- {DONE}\n",
    "numbers.md": f"1. [ ] {OPEN}\n\n   {OPEN}\n2. {DONE}\n",
    "tags.md": f"{DONE}\n\n<ul><li><input type='checkbox'> {OPEN}</ul>",
    "a.html": f"<ul><li><input type=checkbox disabled> {OPEN}<ul><li>{OPEN}</ul>"
    f"<li><p><input type=checkbox checked> {DONE}</p></ul>",
    "a.rst": f"* [ ] {OPEN}\n\n  {OPEN}\n* {DONE}\n",
    "a.adoc": f"* [ ] {OPEN}\n** {OPEN}\n* [*] {DONE}\n",
    "a.txt": f"To do\n- [ ] {OPEN}\n- [X] {DONE}\n",
    "all.md": f"- [ ] {OPEN}\n",
    "a.ipynb": json.dumps(
        {"cells": [{"cell_type": "markdown", "source": f"- [ ] {OPEN}\n- {DONE}"}]}
    ),
}


@pytest.mark.parametrize("name", TASKS)
def test_tasks_that_are_not_ticked_can_be_found_but_state_nothing(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text(TASKS[name])
    document = read_document(tmp_path / name)
    for block in document.blocks:
        assert isinstance(block, Paragraph)
        assert not block.is_code
        assert block.is_task == ("Windows" in block.text)
        assert not (block.is_task and "Linux" in block.text)
    (chunk,) = chunks = chunk_documents([document])
    assert "Windows" in chunk.text
    assert "Windows" not in chunk.prose
    assert chunk.prose.count("Linux") == TASKS[name].count("Linux")
    assert not [fact for fact in find_facts(chunks) if "Windows" in fact.text]


def test_tasks_of_word_documents_state_nothing(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph(f"[ ] {OPEN}", style="List Bullet")
    document.add_paragraph(f"[x] {DONE}", style="List Bullet")
    document.add_paragraph(f"☐ {OPEN}")
    document.save(str(tmp_path / "a.docx"))
    blocks = read_document(tmp_path / "a.docx").blocks
    assert [getattr(block, "is_task", None) for block in blocks] == [True, False, True]


# -- Tables of HTML


def test_cells_of_html_tables_stay_in_their_row_and_column(tmp_path: Path) -> None:
    text = """<table class="docutils align-default">
<thead><tr class="row-odd"><th class="head stub"></th><th class="head"><p>Size</p></th>
<th class="head"><div><p>Speed</p></div></th></tr></thead>
<tbody><tr><td><p>disk</p></td><td></td><td><p>slow,</p><p>cheap</p></td></tr>
<tr><td> </td><td><p>2<sup>10</sup></p></td><td><p>fast</p></td></tr></tbody></table>
<table><tr><th>k<th>v<tr><td><td>1<tr><td>b<td>2</table>"""
    assert read_blocks(tmp_path / "a.html", text) == [
        "| Size | Speed\ndisk | | slow, cheap\n| 2^10 | fast",
        "k | v\n| 1\nb | 2",
    ]


def test_tables_that_lay_out_a_page_keep_its_blocks(tmp_path: Path) -> None:
    text = """<table><tr><td><p>One paragraph.</p><p>Two.</p></td></tr></table>
<table><tr><td></td><td><p>An answer.</p><p>More.</p></td></tr></table>
<table><tr><td>Menu</td><td><h2>Title</h2><p>Text.</p><ul><li>one<li>two</ul></td></tr></table>
<table><tr><td>A</td><td>b<pre>c
d</pre></td><td>e</td></tr></table>"""
    assert read_blocks(tmp_path / "a.html", text) == [
        "One paragraph.\nTwo.",
        "An answer.\nMore.",
        "Menu |",
        "## Title",
        "Text.\n  - one\n  - two",
        "A | b",
        "c\nd",
        "e",
    ]


# -- Page numbers of PDF


def read_pages(path: Path, *pages: list[str]) -> str:
    path.write_bytes(make_pdf(pages))
    return " / ".join(block.text for block in read_document(path).blocks)


def test_numbers_at_the_end_of_pages_are_text(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    # Values of a table, and the end of a sentence.
    assert read_pages(path, ["The total of the year is", "1200"]).endswith("1200")
    rows = [["alpha has", "812"], ["beta has", "93"], ["gamma has", "45"], ["delta has", "7"]]
    assert read_pages(path, *rows) == "alpha has 812 / beta has 93 / gamma has 45 / delta has 7"
    years = [["It began in", "1990."], ["It ended in", "1991."], ["It was sold in", "1992."]]
    assert read_pages(path, *years).count("199") == 3
    assert "100 %" in read_pages(path, ["They are", "100 %"], ["They are not", "101 %"])
    # Of several numbers at one edge, only the outermost may be the page number.
    pages = [["alpha", "5", "1"], ["beta", "6", "2"], ["gamma", "7", "3"]]
    assert read_pages(path, *pages) == "alpha 5 / beta 6 / gamma 7"


def test_page_numbers_follow_the_pages_or_stand_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    pages = [["alpha", "i"], ["beta", "ii"], ["gamma", "1"], ["delta", "- 2 -"], ["zeta", "9"]]
    assert read_pages(path, *pages) == "alpha / beta / gamma / delta / zeta 9"
    every_other = [["alpha", "3"], ["beta", "b"], ["gamma", "5"]]
    assert read_pages(path, *every_other) == "alpha / beta b / gamma"
    page = b"BT /F1 12 Tf 72 720 Td 14 TL (Some text) Tj T* (of two lines) Tj 0 -600 Td (7) Tj ET"
    path.write_bytes(write_pdf([page]))
    assert [block.text for block in read_document(path).blocks] == ["Some text of two lines"]


def test_todo_directives_are_tasks_and_versions_are_stated(tmp_path: Path) -> None:
    text = """
.. todo:: Support Windows.

   Then *macOS*.

- item

  .. todo:: Mend it.

- next

.. todolist::

.. deprecated:: 3.0
   Use :func:`other`.

.. versionchanged:: 3.1

   The *option*.

   More.

.. versionadded:: 3.2

.. deprecated:: No version.
"""
    (tmp_path / "a.rst").write_text(text)
    blocks = read_document(tmp_path / "a.rst").blocks
    assert [
        (block.text.strip(), isinstance(block, Paragraph) and block.is_task) for block in blocks
    ] == [
        ("Support Windows.\nThen macOS.", True),
        ("- item", False),
        ("Mend it.", True),
        ("- next", False),
        ("Deprecated since 3.0: Use other.", False),
        ("Changed in 3.1: The option.", False),
        ("More.", False),
        ("Added in 3.2.", False),
        ("Deprecated: No version.", False),
    ]


# -- Hidden elements whose end tag is left out


@pytest.mark.parametrize(
    ("hidden", "next_element"),
    [
        ("<ul><li hidden>old", "<li>New.</ul>"),
        ("<ul><li hidden>old<ul><li>older</ul>", "<li>New.</ul>"),
        ("<ul><li><p hidden>old", "<li>New.</ul>"),
        ("<dl><dt>Term<dd style='display:none'>old", "<dt>New.</dl>"),
        ("<table><tr hidden><td>old", "<tr><td>New.</table>"),
        ("<table><tr><td hidden>old<table><tr><td>older</table>", "<td>New.</table>"),
        ("<table><thead hidden><tr><td>old", "<tbody><tr><td>New.</table>"),
        ("<table><tr><td><p hidden>old", "<td>New.</table>"),
        ("<p style='display: none'>loading…", "<h2>New.</h2>"),
        ("<p aria-hidden=true>old <b>old", "<table><tr><td>New.</table>"),
        ("<div><p hidden>old", "<section>New.</section></div>"),
        ("<p>Before.<div hidden>old<div>older</div>old<p>oldest</div>", "New."),
        ("<p>Before.<span hidden>old</span>", "<div>New.</div>"),
    ],
)
def test_hidden_element_ends_where_browsers_end_it(
    hidden: str, next_element: str, tmp_path: Path
) -> None:
    blocks = read_blocks(tmp_path / "a.html", f"{hidden}{next_element}<p>Last.")
    assert "old" not in "".join(blocks)
    assert "loading" not in "".join(blocks)
    assert "New." in "".join(blocks)
    assert blocks[-1] == "Last."


HIDING: st.SearchStrategy[str] = st.sampled_from(
    ["", "", "", " hidden", " style='display:none'", " aria-hidden=true"]
)
WORDS: st.SearchStrategy[str] = st.text("abc", min_size=1, max_size=3)
FLOW: st.SearchStrategy[str] = st.deferred(
    lambda: st.lists(PARAGRAPHS | DIVISIONS | ITEMS | TERMS | TABLES, min_size=1, max_size=3).map(
        "".join
    )
)
# «…» are end tags that may be left out.
PARAGRAPHS: st.SearchStrategy[str] = st.builds("<p{}>{}«</p>»".format, HIDING, WORDS)
DIVISIONS: st.SearchStrategy[str] = st.builds("<div{}>{}</div>".format, HIDING, FLOW)
ITEMS: st.SearchStrategy[str] = st.lists(
    st.builds("<li{}>{}«</li>»".format, HIDING, WORDS | FLOW), min_size=1
).map(lambda items: f"<ul>{''.join(items)}</ul>")
TERMS: st.SearchStrategy[str] = st.lists(
    st.builds("<{0}{1}>{2}«</{0}>»".format, st.sampled_from(["dt", "dd"]), HIDING, WORDS),
    min_size=1,
).map(lambda terms: f"<dl>{''.join(terms)}</dl>")
CELLS: st.SearchStrategy[str] = st.builds(
    "<{0}{1}>{2}«</{0}>»".format, st.sampled_from(["td", "th"]), HIDING, WORDS | FLOW
)
TABLES: st.SearchStrategy[str] = st.lists(
    st.builds(
        "<tr{}>{}«</tr>»".format, HIDING, st.lists(CELLS, min_size=1, max_size=2).map("".join)
    ),
    min_size=1,
    max_size=2,
).map(lambda rows: f"<table>{''.join(rows)}</table>")


@settings(max_examples=60, deadline=None)
@given(page=FLOW)
def test_page_reads_the_same_without_the_end_tags_that_may_be_left_out(page: str) -> None:
    written = page.replace("«", "").replace("»", "")
    assert read_html(re.sub("«.*?»", "", page).encode(), "a") == read_html(written.encode(), "a")


# -- Cells that span rows and columns


SPANNING = {
    "a.html": """<table><tr><th rowspan=2>Server<th colspan=2>Runs on<tr><th>Linux<th>Windows
<tr><td rowspan=2>Redis<td>yes<td>no<tr><td colspan=2>since 7.0<tr><td colspan=3>End</table>""",
    "a.rst": """
+--------+-------+---------+
| Server | Runs on         |
|        +-------+---------+
|        | Linux | Windows |
+========+=======+=========+
| Redis  | yes   | no      |
|        +-------+---------+
|        | since 7.0       |
+--------+-------+---------+
| End                      |
+--------+-----------------+
""".replace("+--------+-----------------+\n", "+--------------------------+\n"),
    "a.md": "<table><tr><th rowspan=2>Server</th><th colspan=2>Runs on</th></tr>\n"
    "<tr><th>Linux</th><th>Windows</th></tr>\n<tr><td rowspan='2'>Redis</td>"
    "<td>yes</td><td>no</td></tr>\n"
    "<tr><td colspan='2'>since 7.0</td></tr><tr><td colspan='3'>End</td></tr></table>",
}


@pytest.mark.parametrize("name", SPANNING)
def test_text_of_a_cell_stands_in_each_row_and_column_that_it_spans(
    name: str, tmp_path: Path
) -> None:
    assert read_blocks(tmp_path / name, SPANNING[name]) == [
        "Server | Runs on | Runs on\nServer | Linux | Windows\nRedis | yes | no\n"
        "Redis | since 7.0 | since 7.0\nEnd"
    ]


def test_cell_that_spans_the_rest_of_a_table_ends_with_its_part(tmp_path: Path) -> None:
    page = """<table><tbody><tr><td rowspan=0>Redis<td>6<tr><td>7<tbody><tr><td>a<td>b</table>
<table><tr><td>c<td>d</table>"""
    assert read_blocks(tmp_path / "a.html", page) == [
        "Redis | 6\nRedis | 7\na | b",
        "c | d",
    ]


@pytest.mark.parametrize("span", ["9" * 9, "9" * 99, "1000", "100", "-1", "x", "100%", "²"])
def test_spans_that_no_table_can_have_cost_nothing(span: str, tmp_path: Path) -> None:
    row = f"<tr><td colspan='{span}' rowspan='{span}'>wide<td rowspan='{span}'>x"
    size = len("".join(read_blocks(tmp_path / "a.html", f"<table>{row * 3_000}</table>")))
    assert size < (MAX_GROWTH + 2) * len(row) * 3_000
    if span.isdecimal() and span.isascii():
        table = f"|===\n{f'.{span}+|wide {span}+|x {span}.{span}+|y{chr(10)}' * 3_000}|===\n"
        assert len("".join(read_blocks(tmp_path / "a.adoc", table))) < (MAX_GROWTH + 2) * len(table)


SPANS = st.sampled_from([0, 1, 1, 1, 2, 3, MAX_COLUMNS, MAX_COLUMNS + 1, 10**9])


@given(st.lists(st.lists(st.builds(Cell, st.text("ab"), SPANS, SPANS))))
def test_rows_have_their_own_cells_in_order_and_grow_within_limits(rows: list[list[Cell]]) -> None:
    table = TableRows()
    n_own = 1
    n_filled = 0
    for cells in rows:
        texts = table.fill_row(cells)
        remaining = iter(texts)
        assert all(cell.text in remaining for cell in cells)
        assert bool(texts) == bool(cells)
        n_own += sum(len(cell.text) + 1 for cell in cells)
        n_filled += sum(map(len, texts))
    assert n_filled <= 1_000 + (MAX_GROWTH + 1) * n_own
