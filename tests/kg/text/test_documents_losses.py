"""Tests that readers lose no text of documentation trees, and read no navigation as text."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import docx
import pytest
from document_blocks import read_blocks

from kg.text.documents import read_document

# -- reStructuredText


def test_descriptions_of_classes_and_generated_parts_are_read(tmp_path: Path) -> None:
    text = """
.. class:: ConfigParser(defaults=None)

   Reads *settings*.

   .. method:: read(names, *, encoding=None)

      Reads files.

.. rst-class:: wide

   Under a class of styles.

.. module:: configparser
   :synopsis: Parses files.

.. autoclass:: pkg.Session
   :members:

   .. attribute:: permanent

      Lives for a month.

.. autoclass:: pkg.Other
"""
    assert read_blocks(tmp_path / "a.rst", text) == [
        "ConfigParser(defaults=None)",
        "Reads settings.",
        "read(names, *, encoding=None)",
        "Reads files.",
        "Under a class of styles.",
        "pkg.Session",
        "permanent",
        "Lives for a month.",
    ]


def test_arguments_of_directives_are_read_only_if_they_are_text(tmp_path: Path) -> None:
    text = """
.. figure:: /images/foo.png
   :alt: A picture

   The caption.

.. only:: html

   For the web.

.. jsonschema:: ../schema/v1.yaml

.. http:get:: /users/all.json

.. versionadded:: 3.2 The :class:`Foo` was *added*.

.. function:: call(*args, **kwargs)

.. rubric:: A title
   :heading-level: 2

See |logo|, :rfc:`2822`, :rfc:`9110#section-2`, :pep:`8`, :cve:`2022-1` and :pep:`its text <8>`.

.. |logo| image:: logo.png
   :alt: the logo
"""
    assert read_blocks(tmp_path / "a.rst", text) == [
        "A picture",
        "The caption.",
        "For the web.",
        "/users/all.json",
        "Added in 3.2: The Foo was added.",
        "call(*args, **kwargs)",
        "A title",
        "See the logo, RFC 2822, RFC 9110 section 2, PEP 8, CVE-2022-1 and its text.",
    ]


def test_what_docutils_refuses_is_read_as_written_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.rst"
    blocks = read_blocks(
        path,
        """
===  ===
a    b
===  ===
12345  6
===  ===

.. note::

   Inner title
   -----------

   Text.

.. list-table:: Name
   :widths: none

   * - cell

.. note::
""",
    )
    assert blocks == ["a    b\n12345  6", "Inner title\nText.", "Name\n:widths: none\n* - cell"]
    assert read_document(path).notes == ("parts with damaged markup, read as they are written: 3",)


# -- Markdown and notebooks


def test_text_between_rules_is_no_front_matter(tmp_path: Path) -> None:
    text = "---\n\nFirst paragraph: of many.\n\n---\n\nSecond.\n"
    assert read_blocks(tmp_path / "a.md", text) == ["First paragraph: of many.", "Second."]
    text = "---\n\nNote: read this.\n\n---\n"
    assert read_blocks(tmp_path / "note.md", text) == ["Note: read this."]
    assert read_blocks(tmp_path / "b.md", "---\n# Title\n---\nText.\n") == ["# Title", "Text."]
    assert read_blocks(tmp_path / "c.md", "+++\n\nA block of MyST.\n\n+++\nText.\n") == [
        "+++",
        "A block of MyST.",
        "+++ Text.",
    ]
    cell = {"cell_type": "markdown", "source": "---\nnote: mind it\n---\nText."}
    first = {"cell_type": "markdown", "source": "---\ntitle: Page\n---\n"}
    notebook = json.dumps({"cells": [first, cell]})
    assert read_blocks(tmp_path / "a.ipynb", notebook) == ["# Page", "## note: mind it", "Text."]


def test_front_matter_of_yaml_and_toml_is_read_as_the_title(tmp_path: Path) -> None:
    yaml = """---
# a comment
title: >-
  The page
tags:
- one
- two
list: [
  3
]
"quoted key": |
  # no heading

date: 2020
---
Text.
"""
    toml = '+++\ntitle = "The page"\ndate = 2020-01-01\n\n[menu.main]\n  weight = 1\n+++\nText.\n'
    for number, text in enumerate((yaml, toml)):
        for suffix in (".md", ".mdx", ".adoc", ".html"):
            name = f"{number}{suffix}"
            assert read_blocks(tmp_path / name, text) == ["# The page", "Text."], name


def test_inline_text_of_markdown_is_neither_lost_nor_joined(tmp_path: Path) -> None:
    text = """Use the `{% for %}` tag and ``{{< ref >}} ` `` in templates{{< ref >}}, {ref}`a`.

| a | b |
|---|---|
| one<br>two | <img src="x.png" alt="a &amp; b"> |

One<br/>
two <kbd>Ctrl</kbd>+<kbd>C</kbd>

10. Step

    ```jinja
    {% for x in y %}
    :::
    ```

    {% raw %} and text

    - ```sh
      echo {{< a >}}
      ```

> ```
> {{< b >}}
> ```

    indented {% code %}

```one``` line {{< c >}}
"""
    assert read_blocks(tmp_path / "a.md", text) == [
        "Use the {% for %} tag and {{< ref >}} ` in templates, a.",
        "a | b\none two | a & b",
        "One\ntwo Ctrl+C",
        "10. Step",
        "{% for x in y %}\n:::",
        "and text",
        "  - echo {{< a >}}",
        "{{< b >}}",
        "indented {% code %}",
        "one line",
    ]


def test_titles_of_divisions_admonitions_and_directives_are_read(tmp_path: Path) -> None:
    text = """::: warning Beware: of dog
It bites.
:::

:::note[Mind]
One.
:::

::: {.callout-tip title="A tip"}
Two.
:::

:::{admonition} Titled
:class: tip
Three.
:::

::: columns
:::: {.column width="40%"}
Four.
::::
:::

===! "Tab"

    Five.

!!! warning: this is no admonition

=== neither is this

- item

    !!! note "In a list"
        *Six.*

````{note} With *marks*
:class: x

See {ref}`target`.

```python
{% y %}
```
````

Seven.

```{figure} x.png
:alt: A picture
The *caption*.
```

```{versionadded} 5.0
```

```markdown
!!! note

    ```
    ::: x
    ```
```

```{eval-rst}
.. note::

   From *reST*.

.. autoclass:: x
```

::: pkg.module
    options:
        members: false
        filters:
            - a

::: tip
    Note: code
:::

:::{figure} y.png
:alt: Another
:::

:::{code-block} python
"""
    assert read_blocks(tmp_path / "a.md", text) == [
        "Beware: of dog",
        "It bites.",
        "Mind",
        "One.",
        "A tip",
        "Two.",
        "Titled",
        "Three.",
        "Four.",
        "Tab",
        "Five.",
        "!!! warning: this is no admonition",
        "=== neither is this",
        "- item\nIn a list\nSix.",
        "With marks",
        "See target.",
        "{% y %}",
        "Seven.",
        "A picture",
        "The caption.",
        "Added in 5.0.",
        "!!! note\n\n    ```\n    ::: x\n    ```",
        "From reST.",
        "Note: code",
        "Another",
    ]


def test_attributes_are_no_text_outside_of_code(tmp_path: Path) -> None:
    text = """## Automatic docs { #automatic-docs }

### Setext {: #a .b title="x y" }
---

## Unnumbered {-}

## The set `{ .x }`

## Of {braces}

(my-target)=
## Target

A [link](x){:target="_blank"}, [span]{.small}, `code`{.python} and `{: .kept }`, {.kept}, {x: 1}.
{: .no_toc }

{ .annotate }

* TOC
{:toc}
"""
    assert read_blocks(tmp_path / "a.md", text) == [
        "## Automatic docs",
        "### Setext",
        "## Unnumbered",
        "## The set { .x }",
        "## Of {braces}",
        "## Target",
        "A link, [span], code and {: .kept }, {.kept}, {x: 1}.",
        "- TOC",
    ]


def test_prose_of_mdx_that_begins_like_a_statement_is_read(tmp_path: Path) -> None:
    text = """import A, { B } from "x";
import {
  C,
} from "y";
import "z.css";
export { D };
export default function Page() {}

export your data as CSV (see below).

import data from a "table" = easily

You can
export const values, too.
"""
    assert read_blocks(tmp_path / "a.mdx", text) == [
        "export your data as CSV (see below).",
        'import data from a "table" = easily',
        "You can export const values, too.",
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{ref}`the guide <guide>`", "the guide"),
        ("{class}`~pkg.mod.Name`", "Name"),
        ("{func}`!pkg.run`", "pkg.run"),
        ("{func}`f(*args, **kwargs)` or {func}`g(*a)`", "f(*args, **kwargs) or g(*a)"),
        ("2{sup}`32` and H{sub}`2`O", "2^32 and H2O"),
        ("the 1{superscript}`st`", "the 1st"),
        ("It is {strike}`slow` {del}`old`fast.", "It is fast."),
        ("{pep}`8` and {rfc}`2822`", "PEP 8 and RFC 2822"),
        ("{unknown}``a b``", "a b"),
        ("`{ref}` is a role, `{sup}`", "{ref} is a role, {sup}"),
    ],
)
def test_roles_of_myst_are_read_as_those_of_sphinx(
    source: str, expected: str, tmp_path: Path
) -> None:
    assert read_blocks(tmp_path / "a.md", source) == [expected]


DIRECTIVES_OF_MYST = """
```{glossary}
Page
: A block of *bytes*.
```

```{only} html
For the web.
```

```{pull-quote}
Quoted.
```

```{py:function} split(*pages)
:async:

Splits pages.
```

```{versionadded} 3.1
The *option*.
```

```{versionchanged} 4.0 Renamed.
```

:::{deprecated} 5.0
:::

:::{versionremoved} 6.0
The option.
:::

```{frobnicate} An argument
Some text.
```

:::{block}
In a *division*.
:::

:::{eval-rst}
.. note:: From ``reST``.
:::

```{list-table} Servers
:header-rows: 1

* - Name
  - Runs on
* - Redis
  - Linux
```

```{csv-table} Ports
:header: name, port

redis, 6379
```

- item

  ```{csv-table}
  a, b
  ```

```{table} Sizes
| a | b |
|---|---|
| 1 | 2 |
```

```{currentmodule} pkg
```

```{autofunction} pkg.split
```
"""
CODE_OF_MYST = """
```{code-block} python
:caption: x
c1 = 1
```

```{code-cell} ipython3
:tags: [hide]

c2()
```

```{python}
c3 = [":a: b"]
```

```{click:example}
c4()
```

```{mermaid}
c5 --> b
```

```{todo}
c6 runs on Windows.
```

:::{code-block} yaml
:lineno-start: 2
c7:
```
: x
:::

```{.python}
c8
```

```{webr-r}
c9
```

:::{toctree}
hidden
:::
"""


def test_directives_of_myst_are_text_unless_they_hold_code(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    assert read_blocks(path, DIRECTIVES_OF_MYST) == [
        "Page",
        "A block of bytes.",
        "For the web.",
        "Quoted.",
        "split(*pages)",
        "Splits pages.",
        "Added in 3.1: The option.",
        "Changed in 4.0: Renamed.",
        "Deprecated since 5.0.",
        "Removed in 6.0: The option.",
        "An argument",
        "Some text.",
        "In a division.",
        "From reST.",
        "Servers\nName | Runs on\nRedis | Linux",
        "Ports\nname | port\nredis | 6379",
        "- item\na | b",
        "Sizes",
        "a | b\n1 | 2",
    ]
    assert not any(getattr(block, "is_code", False) for block in read_document(path).blocks)
    blocks = read_blocks(path, f"{'Some words of prose. ' * 20}\n{CODE_OF_MYST}\nMore *prose*.")
    assert blocks[1:-1] == [
        "c1 = 1",
        "c2()",
        'c3 = [":a: b"]',
        "c4()",
        "c5 --> b",
        "c6 runs on Windows.",
        "c7:\n```\n: x",
        "c8",
        "c9",
    ]
    assert blocks[-1] == "More prose."
    assert all(getattr(block, "is_code", False) for block in read_document(path).blocks[1:-1])


def test_notes_and_definitions_go_on_in_indented_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    text = """See below.[^1]

[^1]: A note
    that goes on.

    Its *second* paragraph.

        its_code()

[^2]:

    A note below its mark.

Term
: one
: two
  goes on

    More of two.

Other *term*

:   - first
    - second

    ```
    more_code()
    ```

!!! note
    Inside
    : is defined

        Deeper.

The end.

    the_code()

| a | b |
|:--|--:|
| : c | d |
"""
    assert read_blocks(path, text) == [
        "See below.",
        "A note that goes on.",
        "Its second paragraph.",
        "its_code()",
        "A note below its mark.",
        "Term",
        "one",
        "two goes on",
        "More of two.",
        "Other term",
        "- first\n- second",
        "more_code()",
        "Inside",
        "is defined",
        "Deeper.",
        "The end.",
        "the_code()",
        "a | b\n: c | d",
    ]
    code = [block.text for block in read_document(path).blocks if getattr(block, "is_code", 0)]
    assert code == ["its_code()", "more_code()", "the_code()"]


# -- AsciiDoc


def test_a_paragraph_after_a_list_of_asciidoc_is_no_part_of_it(tmp_path: Path) -> None:
    text = """Needs:

* one
that goes on
* two
+
More about two.

* three
// a comment

It runs on Linux.

* [ ] run on Windows

[[where]]
It runs on macOS.

. Start it
+
.Listing
----
start
----

. Stop it

.Options
`-q`:: Be quiet.
`-v`::

Say more.
`--std::c`; C:: Language.
+
And more.

Use `a::b` as before.
"""
    path = tmp_path / "a.adoc"
    assert read_blocks(path, text) == [
        "Needs:",
        "- one that goes on\n- two More about two.\n- three",
        "It runs on Linux.",
        "- [ ] run on Windows",
        "It runs on macOS.",
        "- Start it",
        "Listing",
        "start",
        "- Stop it",
        "Options",
        "-q:: Be quiet.\n-v Say more.\n--std::c; C:: Language. And more.",
        "Use a::b as before.",
    ]
    tasks = [block.text for block in read_document(path).blocks if getattr(block, "is_task", 0)]
    assert tasks == ["- [ ] run on Windows"]


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        (
            '[cols="1,1"]\n|===\n|Redis\n|Linux\n|MySQL\n|Windows\n|===',
            "Redis | Linux\nMySQL | Windows",
        ),
        ("[cols=2*,options=header]\n|===\n|a\n|b\n\n|c\n|d\n|===", "a | b\nc | d"),
        ("[%header,cols='>1,2*<m']\n.Title\n|===\n|a\n|b\n|c\n|d\n|===", "a | b | c\nd"),
        ("[cols=2]\n|===\n\n|a\n|b\n|c |d\n|===", "a | b\nc | d"),
        ("|===\n|a |b |c\n\n|d\n|e\n|f\n|===", "a | b | c\nd | e | f"),
        (
            "|===\n|a|yes\n.2+|b|no\n|maybe\n2+|c\n|d|e\n|===",
            "a | yes\nb | no\nb | maybe\nc\nd | e",
        ),
        (
            "|===\n|a |b |c\n2+|wide |d\n.3+|high 2.2+|both\n|===",
            "a | b | c\nwide | wide | d\nhigh | both | both",
        ),
        ("|===\n|a |b\n|goes\non |x\\|y\n|===", "a | b\ngoes on | x|y"),
        ("|===\n|a |b\n|too few\n|c |d\n|===", "a | b\ntoo few\nc | d"),
        (',===\na,b\n"c,d", e\n,===', "a | b\nc,d | e"),
        (":===\na:b\nc:d\n:===", "a | b\nc | d"),
        ("|===\n.999999999+|a |b\n|c\n999999999999+|d\n|===", "a | b\na | c\na | d"),
        ("|===\n.9+|a .9+|b\n|c |d\n|===", "a | b\nc | d"),
    ],
)
def test_rows_of_asciidoc_have_as_many_cells_as_columns(
    source: str, rows: str, tmp_path: Path
) -> None:
    blocks = read_blocks(tmp_path / "a.adoc", f"Before.\n\n{source}\n\nAfter.\n")
    assert [block for block in blocks if block != "Title"] == ["Before.", rows, "After."]


def test_underlined_titles_of_asciidoc_are_headings(tmp_path: Path) -> None:
    path = tmp_path / "a.adoc"
    text = """git-add(1)
==========

NAME
----
git-add - see linkgit:git-rm[1]

1. Numbered
~~~~~~~~~~~
* one

[[anchor]]
`Listing`
^^^^^^^^^
----
NAME
----

A paragraph of
one more line
-------------
a listing
-------------

.Title
-----
more
-----

Open
++++

....
never closed
"""
    assert read_blocks(path, text) == [
        "# git-add(1)",
        "## NAME",
        "git-add - see git-rm(1)",
        "### 1. Numbered",
        "- one",
        "#### Listing",
        "NAME",
        "A paragraph of one more line",
        "a listing",
        "Title",
        "more",
        "##### Open",
        "never closed",
    ]
    assert read_document(path).notes == ("the block that begins in line 33 is never closed",)


# -- HTML


def test_furniture_of_html_pages_is_no_text(tmp_path: Path) -> None:
    text = """<body><div role="banner">The site</div><div class="related" role="navigation">
<ul><li>previous</li></ul></div><div role="search">Search</div>
<h1>Title<a class="headerlink" href="#title" title="Link">Link</a></h1>
<h2 id="a"><a href="#a" class="anchor">#</a>Part<a href="#a"> § </a><a href="#b"></a></h2>
<p><span aria-hidden="true">icon</span>See <a href="#a">the part</a> or <a href="#1">1</a> and
<a href="x">¶</a> <a href="#x"><code>x</code></a>.</p>
<div role="note" aria-hidden="false">A note.</div><div role="contentinfo">Imprint</div></body>"""
    assert read_blocks(tmp_path / "a.html", text) == [
        "# Title",
        "## Part",
        "See the part or 1 and ¶ x.",
        "A note.",
    ]


def test_the_title_in_the_head_of_a_specification_is_read(tmp_path: Path) -> None:
    text = (
        "<div role=contentinfo><h1>Push API</h1><dl><dt>Editors:<dd>A. Example</dl></div><p>Text."
    )
    assert read_blocks(tmp_path / "a.html", text)[0] == "# Push API"


@pytest.mark.parametrize(
    ("page", "blocks"),
    [
        ("<ul><li hidden>a<li>b<ul><li>c</ul><li style='display:none'>d</ul>", ["- b\n  - c"]),
        ("<ul><li hidden>a<ul><li>b</ul>c<li>d</ul>", ["- d"]),
        ("<p hidden>a <i>b<h2>C</h2><p>d<p aria-hidden=true>e<ul><li>f</ul>", ["## C", "d", "- f"]),
        ("<dl><dt>a<dd hidden>b<dt>c<dd>d</dl>", ["a\nc\nd"]),
        ("<table><tr hidden><td>a<tr><td>b<td hidden>c<td>d<tbody><tr><td>e", ["b | d\ne"]),
        ("<div hidden><p>a<p>b</div>c", ["c"]),
    ],
)
def test_what_follows_a_hidden_element_without_end_tag_is_read(
    tmp_path: Path, page: str, blocks: list[str]
) -> None:
    assert read_blocks(tmp_path / "a.html", page) == blocks


HTML_CELLS = """<table><thead><tr><th rowspan=2>Database<th colspan=2>Systems
<tr><th>Linux<th>Windows</thead><tr><td>Redis<td colspan="2">yes
<tr><td rowspan="2">MySQL<td>5.7<td>5.6<tr><td>8.0<td>8.1<tr><td colspan=3>Others
<tr><td>H2<td rowspan=0>2.0<td rowspan=nonsense>2.1<tr><td>SQLite<td>3</table>"""
GRID_CELLS = """
+----------+---------+---------+
| Database | Systems           |
|          +---------+---------+
|          | Linux   | Windows |
+==========+=========+=========+
| Redis    | yes               |
+----------+---------+---------+
| MySQL    | 5.7     | 5.6     |
|          +---------+---------+
|          | 8.0     | 8.1     |
+----------+---------+---------+
"""


def test_cells_stand_in_all_columns_and_rows_that_they_span(tmp_path: Path) -> None:
    lines = ["Database | Systems | Systems", "Database | Linux | Windows", "Redis | yes | yes"]
    lines += ["MySQL | 5.7 | 5.6", "MySQL | 8.0 | 8.1"]
    more_lines = ["Others", "H2 | 2.0 | 2.1", "SQLite | 2.0 | 3"]
    assert read_blocks(tmp_path / "a.html", HTML_CELLS) == ["\n".join(lines + more_lines)]
    assert read_blocks(tmp_path / "a.rst", GRID_CELLS) == ["\n".join(lines)]
    assert read_blocks(tmp_path / "a.md", HTML_CELLS) == ["\n".join(lines + more_lines)]


def test_spans_cannot_make_a_page_much_longer(tmp_path: Path) -> None:
    cell = f"<td colspan=99999 rowspan=99999>{'long ' * 30}"
    page = f"<table><tr>{cell * 300}{'<tr><td>x' * 3000}</table>"
    assert sum(map(len, read_blocks(tmp_path / "a.html", page))) < len(page) + 3_000_000


def test_comments_end_where_browsers_end_them(tmp_path: Path) -> None:
    text = """<script>var s = "<!--";</script><h1>After</h1><STYLE>/* <!-- */</Style>
<p>one<!-- <script> -->, two<!-- x --!>, three<!-->, four<scripted>, five</scripted></p>"""
    assert read_blocks(tmp_path / "a.html", text) == [
        "# After",
        "one, two, three, four, five",
    ]
    assert read_blocks(tmp_path / "b.html", "<p>one<script>var s = '<!--'<p>two") == ["one"]


def test_declared_encodings_are_read_as_browsers_do(tmp_path: Path) -> None:
    for encoding in ("iso-8859-1", "latin1", "us-ascii", "windows-1252"):
        page = f'<meta charset="{encoding}"><p>'.encode() + b"\x93it\x92s\x94\x81 \x96 \xe9"
        assert read_blocks(tmp_path / "a.html", page) == ["“it’s” – é"], encoding
    page = b'<meta charset="gb2312"><p>' + "镕".encode("gbk")
    assert read_blocks(tmp_path / "b.html", page) == ["镕"]
    page = b'<meta charset="shift_jis"><p>' + "①".encode("cp932")
    assert read_blocks(tmp_path / "c.html", page) == ["①"]
    # A byte order mark overrides the declaration.
    page = b"\xef\xbb\xbf" + '<meta charset="iso-8859-1"><p>Ý'.encode()
    assert read_blocks(tmp_path / "d.html", page) == ["Ý"]


# -- Word


def test_text_of_fields_controls_insertions_and_boxes_is_read(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("PLACE")
    document.save(str(tmp_path / "plain.docx"))
    run = "<w:r><w:t>{}</w:t></w:r>"
    paragraph = "<w:p>{}</w:p>"

    def control(content: str) -> str:
        return (
            '<w:sdt><w:sdtPr><w:alias w:val="Name"/></w:sdtPr>'
            f"<w:sdtContent>{content}</w:sdtContent></w:sdt>"
        )

    box = "<w:txbxContent>" + paragraph.format(run.format("In a box.")) + "</w:txbxContent>"
    changes = (
        run.format("Kept ")
        + f"<w:ins w:id='1' w:author='a'>{run.format('inserted ')}</w:ins>"
        + "<w:del w:id='2' w:author='a'><w:r><w:delText>deleted</w:delText></w:r></w:del>"
        + f"<w:moveFrom w:id='3' w:author='a'>{run.format('moved away')}</w:moveFrom>"
        + f"<w:moveTo w:id='4' w:author='a'>{run.format('moved here ')}</w:moveTo>"
        + f"<w:fldSimple w:instr='DATE'>{run.format('field ')}</w:fldSimple>"
        + control(f"<w:smartTag>{run.format('control.')}</w:smartTag>")
        + "<w:r><mc:AlternateContent><mc:Choice Requires='wps'>"
        + f"{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>"
    )
    cells = "".join(
        f"<w:tc>{control(paragraph.format(run.format(text)))}</w:tc>" for text in ("a", "b")
    )
    contents = '<w:p><w:pPr><w:pStyle w:val="TOC1"/></w:pPr>' + run.format("Part 1") + "</w:p>"
    table = "<w:tbl><w:tblPr/><w:tblGrid><w:gridCol/><w:gridCol/></w:tblGrid>"
    body = (
        control(contents + paragraph.format(run.format("Cover.")))
        + paragraph.format(changes)
        + table
        + control(f"<w:tr>{cells}</w:tr>")
        + "</w:tbl>"
    )
    style = '<w:style w:type="paragraph" w:styleId="TOC1"><w:name w:val="toc 1"/></w:style>'
    with (
        zipfile.ZipFile(tmp_path / "plain.docx") as source,
        zipfile.ZipFile(tmp_path / "a.docx", "w") as target,
    ):
        for part in source.infolist():
            content = source.read(part).decode("utf-8", "surrogateescape")
            if part.filename == "word/document.xml":
                start, end = content.index("<w:p>"), content.index("</w:p>") + len("</w:p>")
                assert "PLACE" in content[start:end]
                content = content[:start] + body + content[end:]
            if part.filename == "word/styles.xml":
                content = content.replace("</w:styles>", style + "</w:styles>")
            target.writestr(part, content.encode("utf-8", "surrogateescape"))
    assert read_blocks(tmp_path / "a.docx", (tmp_path / "a.docx").read_bytes()) == [
        "Cover.",
        "Kept inserted moved here field control.",
        "In a box.",
        "a | b",
    ]


def test_a_cell_that_claims_to_span_a_billion_columns_is_one_cell(tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(rows=2, cols=3)
    for number, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = "abcdef"[number]
    table.cell(0, 0).merge(table.cell(0, 1))
    for cell, columns in ((table.cell(0, 0), "2"), (table.cell(1, 2), "2000000000")):
        span = cell._tc.get_or_add_tcPr().get_or_add_gridSpan()
        span.set("{http://schemas.openxmlformats.org/wordprocessingml/2006/main}val", columns)
    document.save(str(tmp_path / "a.docx"))
    assert read_blocks(tmp_path / "a.docx", (tmp_path / "a.docx").read_bytes()) == [
        "a b | a b | c\nd | e | f"
    ]
