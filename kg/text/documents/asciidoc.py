"""Reads AsciiDoc line by line: headings, paragraphs, lists, tables and listings.

No maintained Python library parses AsciiDoc, so this reader knows the part of the language that
technical documentation uses. ``include::`` and other macros never read a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kg.text.documents.document import (
    Block,
    DocumentContent,
    add_title,
    collapse_spaces,
    decode_text,
    make_heading,
    make_paragraph,
    make_paragraphs,
    split_front_matter,
)
from kg.text.documents.inline_text import format_superscript
from kg.text.documents.markup.asciidoc_tables import count_columns, iter_rows

MAX_INLINE_LENGTH = 20_000
"""Maximum length of a line in which inline markup is removed, in characters."""

_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?[ \t]*$")
_UNDERLINE = re.compile(r"(?:={3,}|-{3,}|~{3,}|\^{3,}|\+{3,})$")
_UNDERLINE_LEVELS = {sign: level for level, sign in enumerate("=-~^+", 1)}
# A line that may be a title: it has a word, and is no comment, block title, list item, ….
_TITLE = re.compile(r"(?!//|\.\S|\[.*\]$|[|:!]|```|[*.-]{1,5}[ \t])(?=.*\w)\S")
MAX_TITLE_DIFFERENCE = 2
"""Maximum difference in length between a title and its underline, as in AsciiDoc.py."""
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|\+{4,}|={4,}|\*{4,}|_{4,}|/{4,}|--|```.*)[ \t]*$")
_TABLE_DELIMITER = re.compile(r"[|,:!]={3,}[ \t]*$")
_TABLE_MARKS = ("|", ",", ":", "!")
_LITERAL_DELIMITERS = ("-", ".", "+", "`")
_ATTRIBUTE = re.compile(r":!?([\w-]+)!?:(?:[ \t]+(.*))?$")
_BLOCK_ATTRIBUTES = re.compile(r"\[.*\][ \t]*$")
_DROPPED_MACRO = re.compile(
    r"(?:include|image|video|audio|toc|ifdef|ifndef|ifeval|endif)::\S*\[.*$"
)
_CODE_STYLE = re.compile(r"\[(?:(?:source|listing|literal)(?=[\],%.#])|,[^\]])")
_BLOCK_TITLE = re.compile(r"\.(?=[^\s.])(.*)$")
_LIST_ITEM = re.compile(r"\s*(?:([*.-]{1,5}|\d+\.|<\d+>|<\.>)[ \t]+)(?=\S)")
# "term:: text" or "term::" before its text.
_TERM = re.compile(r"[^\s:].*?(?:(?<!:):{2,4}|;;)(?:[ \t]|$)")


def _format_superscript(match: re.Match[str]) -> str:
    return format_superscript(match[1], match.string[max(0, match.start() - 1) : match.start()])


_INLINE_RULES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    # Names of manual pages, such as linkgit:git-add[1].
    (re.compile(r"(?<!\w)[a-z]{1,20}:([\w.+-]+)\[(\d\w{0,3})\]"), r"\1(\2)"),
    (re.compile(r"<<[^<>,]*,\s*([^<>]*)>>"), r"\1"),
    (re.compile(r"<<#?([^<>]*)>>"), r"\1"),
    (
        re.compile(
            r"(?:xref|link|mailto|menu|kbd|btn|icon|image|stem|pass|indexterm2):"
            r"[^\s\[\]]*\[([^\[\]]*)\]"
        ),
        r"\1",
    ),
    (re.compile(r"(?:https?|ftp)://[^\s\[\]]+\[([^\[\]]+)\]"), r"\1"),
    (
        re.compile(
            r"(?:anchor|indexterm):[^\s\[\]]*\[[^\[\]]*\]|\[\[[^\[\]]*\]\]|\(\(\([^()]*\)\)\)"
        ),
        "",
    ),
    # Notes, and text that is struck out.
    (re.compile(r"footnote(?:ref)?:[^\s\[\]]*\[\]"), ""),
    (re.compile(r"[ \t]?footnote(?:ref)?:[^\s\[\]]*\[([^\[\]]*)\]"), r" (\1)"),
    (re.compile(r"\[\.?line-through\](##?)[^#\n]*\1"), ""),
    (re.compile(r"\[[.#%][^\[\]]*\](?=[#*_`])"), ""),
    (re.compile(r"\^([^\s^`]{1,30})\^"), _format_superscript),
    (re.compile(r"(?<=[\w)])~([\w+-]{1,30})~"), r"\1"),
    (re.compile(r"(?<![\w`])`\+?([^`\n]+?)\+?`(?!\w)"), r"\1"),
    (re.compile(r"(\*\*|__|``|##)(?=\S)([^\n*_`#]+)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<!\w)([*_#])(?=\S)([^\n*_#]+)(?<=\S)\1(?!\w)"), r"\2"),
)
"""Patterns of inline markup without nested repetition, so that each takes linear time."""
_ATTRIBUTE_REFERENCE = re.compile(r"\{([\w-]+)\}")


def read_asciidoc(data: bytes, where: str) -> DocumentContent:
    """Reads an AsciiDoc file as text without markup.

    A note says where a listing, comment or table begins that is never closed.

    Raises:
        DocumentError: the file cannot be decoded.
    """
    text = decode_text(data, where)
    title, body = split_front_matter(text)
    reader = _LineReader()
    blocks = list(reader.iter_blocks(body.split("\n")))
    notes: tuple[str, ...] = ()
    if reader.unclosed_line:
        line = reader.unclosed_line + text.count("\n") - body.count("\n")
        notes = (f"the block that begins in line {line:,} is never closed",)
    return DocumentContent(add_title(title, blocks), notes=notes)


class _LineReader:
    """Reads the lines of one document.

    Attributes:
        unclosed_line: number of the line that begins a block which is never closed; 0 if none.
    """

    def __init__(self) -> None:
        self.unclosed_line = 0
        self._attributes: dict[str, str] = {}
        self._paragraph: list[str] = []
        self._is_list = False
        self._is_apart = False  # whether an empty line stands before this line
        self._is_joined = False  # whether a "+" joins this line to the item of a list before it
        self._n_columns = 0  # of the next table, as far as it is stated

    def iter_blocks(self, lines: list[str]) -> Iterator[Block]:
        # Of the enclosing listing, comment or table; empty for a paragraph of code, which ends at
        # an empty line; None outside of these.
        delimiter: str | None = None
        verbatim: list[str] = []
        is_header = False  # between the document's title and the first empty line
        is_code = False  # whether the next block is code
        is_term = False  # whether the last line with text is a term, whose description follows
        opening_line = 0  # number of the line with that delimiter
        underline = 0  # number of the line under a title
        lines = [line.rstrip() for line in lines]
        for number, line in enumerate(lines, 1):
            if number == underline:
                continue
            is_item = bool(_LIST_ITEM.match(line))
            if delimiter == "" and is_item and verbatim[0][0].isspace() > line[0].isspace():
                # An indented paragraph also ends before the next item of its list.
                yield from self._make_block(delimiter, verbatim)
                delimiter, verbatim = None, []
            if delimiter is not None:
                if line == delimiter:
                    yield from self._make_block(delimiter, verbatim)
                    delimiter, verbatim = None, []
                else:
                    verbatim.append(line)
                continue
            if self._is_underlined_title(lines, number):
                yield from self._end_paragraph()
                level = _UNDERLINE_LEVELS[lines[number][0]]
                yield from make_heading(level, self._strip_markup(line))
                underline, is_header, is_term = number + 1, level == 1, False
                continue
            is_first = not self._paragraph or lines[number - 2] in ("", "+")
            heading = _HEADING.match(line)
            attribute = _ATTRIBUTE.match(line)
            fence = _DELIMITER.match(line)
            if heading or fence or _TABLE_DELIMITER.match(line):
                yield from self._end_paragraph()
                is_header = bool(heading and len(heading[1]) == 1)
                if heading:
                    yield from make_heading(len(heading[1]), self._strip_markup(heading[2]))
                elif (
                    not fence
                    or line[0] == "/"
                    or (line[0] in _LITERAL_DELIMITERS and (line != "--" or is_code))
                ):
                    delimiter = "```" if line.startswith("```") else line
                    opening_line = number
                is_code = False
            elif not line:
                is_header = is_code = False
                self._is_apart = True
                if not self._is_list:
                    yield from self._end_paragraph()
            elif attribute:
                self._attributes[attribute[1].lower()] = (attribute[2] or "").strip()[:200]
            elif is_header or line.startswith("//") or line == "+":
                # The author and revision; comments; the continuation of a list item.
                self._is_joined = self._is_joined or line == "+"
                continue
            elif _DROPPED_MACRO.match(line) or _BLOCK_ATTRIBUTES.match(line):
                is_code = is_code or bool(_CODE_STYLE.match(line))
                self._n_columns = count_columns(line) or self._n_columns
                if not self._is_list:
                    yield from self._end_paragraph()
            elif (is_code and not _BLOCK_TITLE.match(line)) or (
                is_first and line[0].isspace() and not is_term and not is_item
            ):
                yield from self._end_paragraph()
                delimiter, verbatim, is_code = "", [line], False
            else:
                yield from self._add_line(line, is_description=is_term)
            is_term = line.endswith("::") or (is_term and not line)
        if delimiter is not None:
            yield from self._make_block(delimiter, verbatim)
        yield from self._end_paragraph()
        self.unclosed_line = opening_line if delimiter else 0

    def _make_block(self, delimiter: str, lines: list[str]) -> list[Block]:
        if delimiter.startswith("/"):
            return []
        if delimiter.startswith(_TABLE_MARKS):
            n_columns, self._n_columns = self._n_columns, 0
            rows = iter_rows(lines, n_columns, delimiter[0], self._strip_markup)
            return make_paragraph("\n".join(map(" | ".join, rows)))
        return make_paragraph("\n".join(lines), is_code=True)

    def _is_underlined_title(self, lines: list[str], number: int) -> bool:
        """Whether a line (numbered from 1) begins a block and is underlined by the next line."""
        line = lines[number - 1]
        next_line = lines[number] if number < len(lines) else ""
        previous_line = lines[number - 2] if number > 1 else ""
        return bool(
            (not self._paragraph or not previous_line or _BLOCK_ATTRIBUTES.match(previous_line))
            and _UNDERLINE.match(next_line)
            and abs(len(line) - len(next_line)) <= MAX_TITLE_DIFFERENCE
            and _TITLE.match(line)
            and not _DROPPED_MACRO.match(line)
        )

    def _add_line(self, line: str, *, is_description: bool) -> Iterator[Block]:
        item = _LIST_ITEM.match(line)
        title = _BLOCK_TITLE.match(line) if not item else None
        is_term = not item and not title and bool(_TERM.match(line.lstrip()))
        if self._is_list:
            is_end = self._is_apart and not (item or is_term or is_description or self._is_joined)
            if is_end or (title and (self._is_apart or self._is_joined)):
                yield from self._end_paragraph()
        elif item or (is_term and not self._paragraph):
            yield from self._end_paragraph()
            self._is_list = True
        self._n_columns = self._n_columns if title else 0
        self._is_apart = self._is_joined = False
        if item:
            marker = item[1].strip()
            depth = len(marker) - 1 if marker[0] in "*.-" else 0
            self._paragraph.append("  " * depth + "- " + self._strip_markup(line[item.end() :]))
        elif title and not self._paragraph:
            yield from make_paragraph(self._strip_markup(title[1]))
        elif self._is_list and self._paragraph and not is_term:
            # The text of an item may go on in the next line.
            self._paragraph[-1] += " " + self._strip_markup(line)
        else:
            self._paragraph.append(self._strip_markup(line))

    def _end_paragraph(self) -> list[Block]:
        lines = list(filter(None, self._paragraph))
        is_list, self._paragraph, self._is_list = self._is_list, [], False
        return make_paragraphs(lines) if is_list else make_paragraph(" ".join(lines))

    def _strip_markup(self, text: str) -> str:
        if len(text) > MAX_INLINE_LENGTH:
            return text
        text = _ATTRIBUTE_REFERENCE.sub(
            lambda match: self._attributes.get(match[1].lower(), match[0]), text
        )[:MAX_INLINE_LENGTH]
        for pattern, replacement in _INLINE_RULES:
            text = pattern.sub(replacement, text)
        return collapse_spaces(text.replace("::", "", 1) if text.endswith("::") else text)
