"""Tests that readers lose no text of documentation trees, and read no furniture of pages as text."""

from __future__ import annotations

from pathlib import Path

from kg.text.documents import Heading, read_document


def read_blocks(path: Path, text: str | bytes) -> list[str]:
    """Returns the blocks as text; a heading begins with its level in number signs."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return [
        f"{'#' * block.level} {block.text}" if isinstance(block, Heading) else block.text
        for block in read_document(path).blocks
    ]


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
        "3.2 The Foo was added.",
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
