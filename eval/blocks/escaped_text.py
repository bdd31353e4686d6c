"""Escapes untrusted text for Markdown, which would read ``<`` and ``|`` as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kg.base.visible_text import make_visible

_INLINE_MARKUP = r"[\\`*_{}\[\]()#!|~$^]"
_TEXT_MARKUP = re.compile(rf"{_INLINE_MARKUP}|^[+-]|(?<=^\d)[.)]|(?<=^\d\d)[.)]")
"""Characters that are markup anywhere in a line, and those that are markup only at its start:
``+``, ``-``, and the ``.`` or ``)`` after a number of one or two digits."""
_CELL_MARKUP = re.compile(_INLINE_MARKUP)


def escape_markdown(text: str) -> str:
    """Escapes text for one line of Markdown."""
    return _escape_markup(text, _TEXT_MARKUP)


def escape_markdown_cell(text: str) -> str:
    """Escapes text for a table cell, which does not start a line: negative numbers stay as is."""
    return _escape_markup(text, _CELL_MARKUP)


def _escape_markup(text: str, markup: re.Pattern[str]) -> str:
    one_line = " ".join(make_visible(text).split())
    escaped_text = markup.sub(r"\\\g<0>", one_line)
    return escaped_text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def render_markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Renders a Markdown pipe table; the cells must be escaped already."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)
