"""Removes what generators of sites add to Markdown: directives, tabs, attributes, shortcodes."""

from __future__ import annotations

import re

from kg.text.documents.inline_text import format_superscript
from kg.text.documents.markup.directives import (
    DirectiveKind,
    find_directive_kind,
    is_language,
    read_argument,
    split_version,
)
from kg.text.documents.markup.roles import SUBSCRIPT_ROLES, SUPERSCRIPT_ROLES, read_role

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
# The same with colons, for code; its content is no Markdown.
_COLON_FENCE = re.compile(r"([ \t>]*)(:{3,})[ \t]*\{(\w[\w:.+-]*)\}(.*)")
_TILDES = "~" * 30
_VERBATIM_KINDS = frozenset(
    {
        DirectiveKind.DROPPED,
        DirectiveKind.DRAWN,
        DirectiveKind.CODE,
        DirectiveKind.TABLE,
        DirectiveKind.TASK,
    }
)
"""Directives whose content is no Markdown: code, tables that the parser of reStructuredText reads,
and tasks, which state nothing, as code."""
_DIRECTIVE_OPTION = re.compile(r"[ \t]*:(?:alt:[ \t]*(.*)|[\w-]{1,40}:(?:[ \t]|$))")
# mkdocstrings and others: "::: package.module" stands for text from source code; options of it
# are indented by four spaces.
_SOURCE_NAME = re.compile(r":{3,}[ \t]*(?:[\w-]+(?:\.[\w-]+)+|mkdocs-\w+)[ \t]*")
_INDENTED_OPTION = re.compile(r" {4,}\S()")
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
_VERSION_TITLE = re.compile(r"[ \t>*+-]*(?:Added|Changed|Deprecated|Removed)(?: \w+ \S+)?:")
_DIV_TITLE = re.compile(r"\btitle=\"([^\"{}]*)\"")
_ATTRIBUTE = r"(?:(?:[#.][\w:-]+)+|[\w:-]+=(?:\"[^\"{}]*\"|'[^'{}]*'|[^\s{}\"']+))"
_ATTRIBUTES = rf"[ \t]*{_ATTRIBUTE}(?:[ \t]+{_ATTRIBUTE})*[ \t]*\}}"
_INLINE_EXTENSION = re.compile(
    r"(?<!`)(?P<code>(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))"  # kept
    r"|\{\{[<%][^{}]*[>%]\}\}|\{%[^{}]*%\}"  # shortcodes of Hugo and Quarto, tags of Jekyll
    rf"|\{{:{_ATTRIBUTES}|\{{:[ \t]*toc\b[^{{}}]*\}}"  # attributes of kramdown and Python-Markdown
    rf"|(?<=[)\]`])\{{{_ATTRIBUTES}"  # those of Pandoc, after a link, an image or code
    # roles of MyST
    r"|\{(?P<role>[\w:.+-]{1,40})\}(?P<marks>`{1,2})(?!`)(?P<text>[^`]{1,500})(?P=marks)(?!`)"
    r"|\[\^(?P<note>[^\]\s]{1,50})\](?:,[ \t]?(?=\[\^))?"  # marks of notes
    # 2^32^ and H~2~O of Pandoc
    r"|(?<=[\w)])(?:\^(?P<sup>[^\s^`\[\]]{1,30})\^(?![\w(^])|(?<!~)~(?P<sub>[\w+-]{1,3})~(?!~))"
)
# "Term", and below ": what it means"; what belongs to it is indented by four spaces.
_DEFINITION = re.compile(r" {0,3}:[ \t]+(?=\S)")
NOTE_TEXT = re.compile(r"(?m)^ {0,3}\[\^([^\]\s]{1,50})\]:")
_LINE_ATTRIBUTES = re.compile(rf"\{{:?[ \t]*(?=[#.]){_ATTRIBUTES}")
_HEADING_ATTRIBUTES = re.compile(rf"\{{:?(?:{_ATTRIBUTES}|[ \t]*-[ \t]*\}})")
_MYST_TARGET = re.compile(r"\([^()\s]{1,200}\)=")


def strip_extensions(text: str) -> str:
    """Removes what generators of sites add to Markdown, outside of code; see ``read_markdown``."""
    lines: list[str] = []
    fence: re.Match[str] | None = None  # the first line of the enclosing code block
    is_dropped = False  # whether that block is left out
    fence_end = ""  # the last line of that block, if not as it is written
    frames: list[re.Match[str]] = []  # the first lines of the enclosing directives of MyST
    option: re.Pattern[str] | None = None  # what an option of the directive before looks like
    indents: list[int] = []  # columns of the enclosing admonitions, tabs, notes and definitions
    is_apart = True  # whether the line before is empty
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        # A line that is indented a little goes on with the paragraph of a note or definition.
        goes_on = 0 < indent < 4 and not is_apart and not _DEFINITION.match(line)
        is_apart = not line.strip()
        if not is_apart and not goes_on:
            while indents and indent < indents[-1] + 4:
                indents.pop()
        line = line[min(indent, 4 * len(indents)) :]
        can_indent = not fence and len(indents) < MAX_NESTING
        if can_indent and (belonging := NOTE_TEXT.match(line) or _DEFINITION.match(line)):
            indents.append(indent)
            lines.append("")
            line = line[belonging.end() :].lstrip()
        match = FENCE.match(line) or _COLON_FENCE.match(line)
        if fence:
            is_end = _ends_colons(line, fence) if fence[2][0] == ":" else False
            if is_end or (match and fence[2][0] != ":" and ends_fence(match, fence)):
                fence = option = None
                line = fence_end or line
            elif option and option.match(line):
                continue
            if not is_dropped:
                option = None
                lines.append(line)
            continue
        if option and (option_match := option.match(line)):
            if option_match[1]:
                lines += ["", line[: line.index(":")] + option_match[1], ""]
            continue
        option = None
        stripped = line.strip()
        if match and match[2][0] == ":" and (is_language(match[3]) or not _is_verbatim(match[3])):
            match = None  # a division, in which Markdown goes on
        if match and frames and ends_fence(match, frames[-1]):
            frames.pop()
            _end_directive(lines)
        elif match and match[3] and not _is_verbatim(match[3]):
            frames.append(match)
            option = _DIRECTIVE_OPTION
            _begin_directive(lines, match[1] + _make_title(match[3], match[4]))
        elif match:
            fence = match
            kind = find_directive_kind(match[3] or "")
            is_dropped = kind is DirectiveKind.DROPPED and not is_language(match[3])
            if kind in (DirectiveKind.CODE, DirectiveKind.TASK):
                option = _DIRECTIVE_OPTION
            fence_end = ""
            if match[2][0] == ":":
                fence_end = match[1] + _TILDES
                line = f"{fence_end}{{{match[3]}}}{match[4]}"
            if not is_dropped:
                lines.append(line)
        elif (
            stripped[:3] in _ADMONITION_MARKS
            and can_indent
            and (admonition := _ADMONITION.match(line))
        ):
            indents.append(indent)
            title = admonition[2] or admonition[3] or admonition[4] or ""
            lines += ["", admonition[1] + title, ""]
        elif stripped.startswith(":::"):
            is_source = len(stripped) < 200 and _SOURCE_NAME.fullmatch(stripped)
            option = _INDENTED_OPTION if is_source else _DIRECTIVE_OPTION if "{" in line else None
            if not stripped.strip(":"):
                _end_directive(lines)
            else:
                _begin_directive(lines, line[: line.index(":")] + _get_div_title(stripped))
        elif stripped.startswith(("{", "(")) and (
            _LINE_ATTRIBUTES.fullmatch(stripped) or _MYST_TARGET.fullmatch(stripped)
        ):
            continue
        else:
            # A line that is indented further may be code; see `_strip_markup`.
            lines.append(line if line.startswith("    ") else strip_inline_extensions(line))
    return "\n".join(lines)


def _is_verbatim(name: str) -> bool:
    """Whether the content after a fence with a name in braces is no Markdown."""
    kind = find_directive_kind(name)
    return kind in _VERBATIM_KINDS or name == "eval-rst" or is_language(name)


def _make_title(name: str, argument: str) -> str:
    """Returns the text in the first line of a directive of MyST; empty if there is none."""
    version = split_version(name, argument.strip())
    if version is not None:
        return f"{version[0]}: {version[1]}".rstrip()
    if find_directive_kind(name) is DirectiveKind.GENERATED:
        return ""
    title = read_argument(name, argument.strip())
    # The stars of a signature are no markup.
    return title.replace("*", r"\*") if ":" in name else title


def _begin_directive(lines: list[str], title: str) -> None:
    """Adds the title of a directive or division; its text follows what it says of a version."""
    lines += ["", title] if _VERSION_TITLE.fullmatch(title) else ["", title, ""]


def _end_directive(lines: list[str]) -> None:
    """Ends a directive or division; one about a version may have no text."""
    if lines and _VERSION_TITLE.fullmatch(lines[-1]):
        lines[-1] = lines[-1][:-1] + "."
    lines.append("")


def _ends_colons(line: str, opening: re.Match[str]) -> bool:
    colons = line.strip(" \t>")
    return colons.startswith(opening[2]) and not colons.strip(":")


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
    if match and directive:
        return _make_title(directive, match["title"])
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
        if match["role"]:
            role = match["role"].lower()
            content = read_role(role, match["text"])
            if role in SUPERSCRIPT_ROLES:
                return format_superscript(content, text[max(0, match.start() - 1) : match.start()])
            # Markup stays without effect in it.
            is_plain = not content or role in SUBSCRIPT_ROLES
            return content if is_plain else match["marks"] + content + match["marks"]
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
