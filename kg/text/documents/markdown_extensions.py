"""Removes what generators of sites add to Markdown: directives, tabs, attributes, shortcodes."""

from __future__ import annotations

import re

from kg.base.plain_text import list_words
from kg.text.documents.inline_text import format_superscript

MAX_NESTING = 100
"""Maximum nesting of quotations, lists and list items."""
MAX_INLINE_LENGTH = 20_000
"""Maximum length of a paragraph in which inline markup is parsed, in characters. The text of a
longer one keeps its markup."""

# The marks of quotations and list items may stand before a fence. Backticks after one make it
# inline code. A name in braces is a directive of MyST or a language of Quarto.
FENCE = re.compile(
    r"((?:[ \t]|>|(?:[-*+]|\d{1,9}[.)])[ \t])*)(`{3,}(?!.*`)|~{3,})[ \t]*(?:\{([\w:.+-]+)\}(.*))?"
)
_DROPPED_FENCES = frozenset({"toctree", "include", "literalinclude", "raw", "index"})
# Directives of MyST whose content is Markdown.
_TEXT_FENCES = frozenset(
    list_words(
        """admonition attention caution danger error hint important note seealso tip warning todo
        versionadded versionchanged deprecated margin sidebar topic aside dropdown card div
        tab-set tab-item grid grid-item grid-item-card epigraph container image figure"""
    )
)
_IMAGE_FENCES = frozenset({"image", "figure"})
"""Those whose argument is a file."""
_DIRECTIVE_OPTION = re.compile(r"[ \t]*:(?:alt:[ \t]*(.*)|[\w-]{1,40}:(?:[ \t]|$))")
# mkdocstrings and others: "::: package.module" stands for text from source code; options of it
# are indented by four spaces.
_SOURCE_NAME = re.compile(r":{3,}[ \t]*(?:[\w-]+(?:\.[\w-]+)+|mkdocs-\w+)[ \t]*")
_INDENTED_OPTION = re.compile(r" {4,}\S()")
_LETTER = re.compile(r"[^\W\d_]")
# MkDocs: "!!! note "Title"", "??? tip", "=== "Tab""; what belongs to it is indented by four spaces.
_ADMONITION = re.compile(
    r"( *)(?:(?:!!!|\?\?\?\+?)(?: *[\w-]+(?: +[\w-]+)*)?(?: *\"(.*)\")?"
    r"|===[!+]{0,2} *(?:\"(.*)\"|'(.*)'))[ \t]*$"
)
_ADMONITION_MARKS = ("!!!", "???", "===")
# Pandoc, Quarto, MyST, Docusaurus and VuePress: ":::" around a part. After it stand a name or
# attributes in braces, and perhaps a title.
_DIV = re.compile(
    r"(?:\{(?P<directive>[\w:-]+)\}|\{[^{}]*\}|[\w:.+-]+)?[ \t]*(?:\{[^{}]*\})?[ \t]*(?P<title>.*)"
)
_DIV_TITLE = re.compile(r"\btitle=\"([^\"{}]*)\"")
_ATTRIBUTE = r"(?:(?:[#.][\w:-]+)+|[\w:-]+=(?:\"[^\"{}]*\"|'[^'{}]*'|[^\s{}\"']+))"
_ATTRIBUTES = rf"[ \t]*{_ATTRIBUTE}(?:[ \t]+{_ATTRIBUTE})*[ \t]*\}}"
_INLINE_EXTENSION = re.compile(
    r"(?<!`)(?P<code>(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))"  # kept
    r"|\{\{[<%][^{}]*[>%]\}\}|\{%[^{}]*%\}"  # shortcodes of Hugo and Quarto, tags of Jekyll
    rf"|\{{:{_ATTRIBUTES}|\{{:[ \t]*toc\b[^{{}}]*\}}"  # attributes of kramdown and Python-Markdown
    rf"|(?<=[)\]`])\{{{_ATTRIBUTES}"  # those of Pandoc, after a link, an image or code
    r"|\{[\w:.+-]{1,40}\}(?=`[^`])"  # roles of MyST
    r"|\[\^(?P<note>[^\]\s]{1,50})\](?:,[ \t]?(?=\[\^))?"  # marks of notes
    # 2^32^ and H~2~O of Pandoc
    r"|(?<=[\w)])(?:\^(?P<sup>[^\s^`\[\]]{1,30})\^(?![\w(^])|(?<!~)~(?P<sub>[\w+-]{1,3})~(?!~))"
)
NOTE_TEXT = re.compile(r"(?m)^ {0,3}\[\^([^\]\s]{1,50})\]:")
_LINE_ATTRIBUTES = re.compile(rf"\{{:?[ \t]*(?=[#.]){_ATTRIBUTES}")
_HEADING_ATTRIBUTES = re.compile(rf"\{{:?(?:{_ATTRIBUTES}|[ \t]*-[ \t]*\}})")
_MYST_TARGET = re.compile(r"\([^()\s]{1,200}\)=")


def strip_extensions(text: str) -> str:
    """Removes what generators of sites add to Markdown, outside of code; see ``read_markdown``."""
    lines: list[str] = []
    fence: re.Match[str] | None = None  # the first line of the enclosing code block
    is_dropped = False  # whether that block is left out
    frames: list[re.Match[str]] = []  # the first lines of the enclosing directives of MyST
    option: re.Pattern[str] | None = None  # what an option of the directive before looks like
    indents: list[int] = []  # columns of the enclosing admonitions and tabs
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if line.strip():
            while indents and indent < indents[-1] + 4:
                indents.pop()
        line = line[min(indent, 4 * len(indents)) :]
        match = FENCE.match(line)
        if fence:
            if match and ends_fence(match, fence):
                fence = None
            if not is_dropped:
                lines.append(line)
            continue
        if option and (option_match := option.match(line)):
            if option_match[1]:
                lines += ["", line[: line.index(":")] + option_match[1], ""]
            continue
        option = None
        stripped = line.strip()
        if match and frames and ends_fence(match, frames[-1]):
            frames.pop()
            lines.append("")
        elif match and match[3] in _TEXT_FENCES:
            frames.append(match)
            option = _DIRECTIVE_OPTION
            is_title = match[3] not in _IMAGE_FENCES and _LETTER.search(match[4])
            lines += ["", match[1] + (match[4].strip() if is_title else ""), ""]
        elif match:
            fence, is_dropped = match, match[3] in _DROPPED_FENCES
            if not is_dropped:
                lines.append(line)
        elif (
            stripped[:3] in _ADMONITION_MARKS
            and len(indents) < MAX_NESTING
            and (admonition := _ADMONITION.match(line))
        ):
            indents.append(indent)
            title = admonition[2] or admonition[3] or admonition[4] or ""
            lines += ["", admonition[1] + title, ""]
        elif stripped.startswith(":::"):
            is_source = len(stripped) < 200 and _SOURCE_NAME.fullmatch(stripped)
            option = _INDENTED_OPTION if is_source else _DIRECTIVE_OPTION if "{" in line else None
            lines += ["", line[: line.index(":")] + _get_div_title(stripped), ""]
        elif note := NOTE_TEXT.match(line):
            lines += ["", strip_inline_extensions(line[note.end() :].lstrip())]
        elif stripped.startswith(("{", "(")) and (
            _LINE_ATTRIBUTES.fullmatch(stripped) or _MYST_TARGET.fullmatch(stripped)
        ):
            continue
        else:
            # A line that is indented further may be code; see `_strip_markup`.
            lines.append(line if line.startswith("    ") else strip_inline_extensions(line))
    return "\n".join(lines)


def ends_fence(match: re.Match[str], opening: re.Match[str]) -> bool:
    """Whether a line with a fence ends the code block that begins with the line ``opening``."""
    is_alone = not match.string[match.end(2) :].strip()
    is_marked = match[1].strip(" \t>")
    # A fence that is indented further is a line of the code.
    is_indented = len(match[1].expandtabs(4)) > len(opening[1].expandtabs(4)) + 3
    return is_alone and not is_marked and not is_indented and match[2].startswith(opening[2])


def _get_div_title(line: str) -> str:
    """Returns the title in the first line of a division; empty if there is none."""
    line = line.strip(":").strip()[:MAX_INLINE_LENGTH]
    attribute = _DIV_TITLE.search(line)
    match = _DIV.match(line)
    directive = match["directive"] if match else None
    if directive and (directive not in _TEXT_FENCES or directive in _IMAGE_FENCES):
        return ""
    title = attribute[1] if attribute else match["title"] if match else ""
    return title.removeprefix("[").removesuffix("]")


def strip_inline_extensions(text: str, notes: frozenset[str] = frozenset()) -> str:
    """Removes what generators add to a line or paragraph.

    Args:
        text: on any number of lines.
        notes: names of the document's notes, whose marks are removed.
    """

    def replace_extension(match: re.Match[str]) -> str:
        if match["sup"]:
            return format_superscript(match["sup"], text[match.start() - 1])
        if match["note"]:
            return "" if match["note"] in notes else match[0]
        return match["code"] or match["sub"] or ""

    if len(text) > MAX_INLINE_LENGTH:
        return text
    return _INLINE_EXTENSION.sub(replace_extension, text)


def strip_heading_attributes(text: str) -> str:
    """Removes attributes at the end of a heading: ``{#id .class}``, ``{: #id}``, ``{-}``."""
    start = text.rfind("{")
    if start > 0 and _HEADING_ATTRIBUTES.fullmatch(text, start):
        return text[:start].rstrip()
    return text
