"""Reads reStructuredText with docutils; directives and roles of Sphinx and others are tolerated.

Only the parser of docutils runs, none of its transforms and writers. Directives that read files
(``include``, ``literalinclude``, ``csv-table`` with ``:file:``) or execute code never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Directive, Parser, directives, states, tableparser
from docutils.utils import new_document

from kg.base.errors import DocumentError
from kg.text.documents.document import (
    Block,
    CodeLine,
    DocumentContent,
    TaskLine,
    decode_text,
    make_heading,
    make_paragraphs,
)
from kg.text.documents.inline_text import SUPERSCRIPT, InlineText
from kg.text.documents.markup.directives import (
    RUN_DIRECTIVES,
    DirectiveKind,
    find_directive_kind,
    looks_like_code,
    read_argument,
    split_version,
)
from kg.text.documents.markup.roles import SUPERSCRIPT_ROLES, read_role
from kg.text.documents.markup.table_rows import Cell, TableRows

if TYPE_CHECKING:
    from docutils.nodes import Element, Node

MAX_LINES = 100_000
"""Maximum number of lines; docutils reads some ten thousand a second."""
MAX_LINE_LENGTH = 100_000
"""Maximum number of characters in a line."""
MAX_INLINE_LENGTH = 20_000
"""Maximum length of a paragraph in which inline markup is parsed, in characters. The text of a
longer one keeps its markup."""
MAX_INLINE_STEPS = 5_000_000
"""Maximum product of a paragraph's length and its number of marks, for each of which docutils may
search the whole paragraph."""
MAX_SUBSTITUTED = 1_000_000
"""Maximum number of characters that take the place of substitutions; further ones stay names."""
MAX_TABLE_STEPS = 200
"""Maximum number of steps for a character of a grid table. Tables of many columns need more, or
with many lines that lead nowhere."""

_TASK_CLASS = "epoche-task"
_DIRECTIVE_MARK = re.compile(r"\.\. [\w:.+-]+::[ \t]*")
_ERROR_LEVEL = 3
"""From this level on, messages of docutils hold text that is nowhere else in the tree."""


def read_restructured_text(data: bytes, where: str) -> DocumentContent:
    """Reads a reStructuredText file as text without markup.

    The content of unknown directives is read as text, and so are their arguments. Roles become
    their text or title. What docutils refuses, such as a malformed table, is read as it is written,
    and counted in a note. Nothing that a file refers to is read.

    Raises:
        DocumentError: the file cannot be decoded, is larger than the limits, or nested too deeply.
    """
    text = decode_text(data, where)
    lines = text.split("\n")
    longest = max(map(len, lines))
    if len(lines) > MAX_LINES or longest > MAX_LINE_LENGTH:
        raise DocumentError(
            f"the document has {len(lines):,} lines of up to {longest:,} characters; at most "
            f"{MAX_LINES:,} of {MAX_LINE_LENGTH:,} are read as reStructuredText",
            where=where,
            hint="Split it.",
        )
    settings = get_default_settings(Parser)
    settings.file_insertion_enabled = settings.raw_enabled = settings.warning_stream = False
    settings.line_length_limit = MAX_LINE_LENGTH
    settings.report_level = settings.halt_level = 5  # markup errors are not the reader's business
    settings._disable_config = True
    document = new_document(where, settings)
    try:
        _TolerantParser().parse(text, document)
        collector = _BlockCollector(document)
        blocks = list(collector.iter_blocks(document, 1))
    except RecursionError as error:
        raise DocumentError(
            "lists, quotations or directives are nested too deeply",
            where=where,
            hint="Check that it is the right file.",
        ) from error
    except (ValueError, IndexError, AttributeError, TypeError, AssertionError, KeyError) as error:
        # docutils expects well-meant input; broken tables and the like may raise any of these.
        raise DocumentError(
            f"the markup is damaged: {type(error).__name__}: {error}",
            where=where,
            hint="Check it with `rst2html`, or convert it to Markdown.",
        ) from error
    finally:
        _TolerantState.nested_sm_cache.clear()  # it would keep the whole tree in memory
    notes: tuple[str, ...] = ()
    if collector.refused:
        notes = (f"parts with damaged markup, read as they are written: {collector.refused:,}",)
    return DocumentContent(blocks, notes=notes)


class _AnyOptions(dict[str, Any]):
    """Accepts every option of a directive and keeps its text."""

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, name: str) -> Any:
        return lambda text: text


class _MoreOptions(dict[str, Any]):
    """The options of a directive of docutils; those of Sphinx and others are accepted, too."""

    def __missing__(self, name: str) -> Any:
        return lambda text: text


class _DroppedDirective(Directive):
    """A directive without text for readers."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = _AnyOptions()

    def run(self) -> list[Node]:
        return []


class _CodeDirective(_DroppedDirective):
    """A directive whose content is shown as it is."""

    def run(self) -> list[Node]:
        text = "\n".join(self.content)
        return [nodes.literal_block(text, text)] if text.strip() else []


class _TextDirective(_DroppedDirective):
    """A directive whose argument and content are read as text."""

    def run(self) -> list[Node]:
        argument = " ".join(self.arguments)
        if (version := split_version(self.name, argument)) is not None:
            return self._parse_version(*version)
        return self._parse_text(read_argument(self.name, argument))

    def _parse_text(self, title: str) -> list[Node]:
        container = nodes.container()
        if "`" in title:
            container += self._parse_paragraph(title)
        elif title:
            # A signature, whose stars are no markup.
            container += nodes.paragraph(title, title)
        text = "\n".join(self.content)
        if looks_like_code(text):
            container += nodes.literal_block(text, text)
        else:
            self.state.nested_parse(self.content, self.content_offset, container)
        return list(container.children)

    def _parse_version(self, label: str, text: str) -> list[Node]:
        """Returns the text with what it says of a version: "Added in 3.2: …"."""
        children = self._parse_text("")
        if text:
            return [self._parse_paragraph(f"{label}: {text}"), *children]
        if children and isinstance(children[0], nodes.paragraph):
            children[0].insert(0, nodes.Text(f"{label}: "))
            return children
        return [nodes.paragraph(label, f"{label}."), *children]

    def _parse_paragraph(self, text: str) -> Node:
        return nodes.paragraph(text, "", *self.state.inline_text(text, self.lineno)[0])


class _TaskDirective(_TextDirective):
    """A directive whose text is a task that is not done."""

    def run(self) -> list[Node]:
        return [nodes.container("", *super().run(), classes=[_TASK_CLASS])]


class _ContentDirective(_TextDirective):
    """A directive whose argument is no text; the alternative text of an image is."""

    def run(self) -> list[Node]:
        text = str(self.options.get("alt") or "")
        if isinstance(self.state, states.SubstitutionDef):
            return [nodes.inline(text, text)]
        return self._parse_text(text)


class _GeneratedDirective(_TextDirective):
    """A directive whose text is taken from source code; text of its own may follow."""

    def run(self) -> list[Node]:
        return super().run() if self.content else []


_DIRECTIVES: dict[DirectiveKind, type[_DroppedDirective]] = {
    DirectiveKind.DROPPED: _DroppedDirective,
    DirectiveKind.DRAWN: _DroppedDirective,
    DirectiveKind.CODE: _CodeDirective,
    DirectiveKind.TASK: _TaskDirective,
    DirectiveKind.CONTENT: _ContentDirective,
    DirectiveKind.GENERATED: _GeneratedDirective,
}


class _TolerantState:
    """Replaces the directives of a parser state; mixed into every state of docutils."""

    nested_sm_cache: list[Any] = []  # noqa: RUF012 - not shared with other users of docutils
    memo: Any
    run_directive: Any

    def __init__(self, state_machine: Any, debug: bool = False) -> None:
        super().__init__(state_machine, debug)  # type: ignore[call-arg]
        self.nested_sm_kwargs = {"state_classes": _STATE_CLASSES, "initial_state": "Body"}

    def directive(self, match: re.Match[str], **option_presets: Any) -> Any:
        """Runs the few directives that are safe, and replaces all others."""
        name = match[1].lower()
        if name in RUN_DIRECTIVES:
            known: Any = directives.directive(name, self.memo.language, self.memo.document)[0]
            options = {"option_spec": _MoreOptions(known.option_spec or {})}
            tolerant = type(known.__name__, (known,), options)
            return self.run_directive(tolerant, match, match[1], option_presets)
        kind = _DIRECTIVES.get(find_directive_kind(name), _TextDirective)
        return self.run_directive(kind, match, match[1], option_presets)

    def table(self, isolate_function: Any, parser_class: Any) -> Any:
        """Reads a table; a grid table with a limit on the time it takes."""
        if parser_class is tableparser.GridTableParser:
            parser_class = _LimitedTableParser
        return super().table(isolate_function, parser_class)  # type: ignore[misc]


class _LimitedTableParser(tableparser.GridTableParser):
    """A parser that gives up a grid table when it takes too many steps."""

    def setup(self, block: Any) -> None:
        super().setup(block)
        self._steps = MAX_TABLE_STEPS * len(block) * len(block[0])

    def scan_down(self, top: int, left: int, right: int) -> Any:
        result = super().scan_down(top, left, right)
        # Looking for a corner, and cutting the cell out of lines of the whole width.
        self._count_steps((result[0] - top) * self.right if result else self.bottom - top)
        return result

    def scan_left(self, top: int, left: int, bottom: int, right: int) -> Any:
        self._count_steps(right - left + bottom - top)
        return super().scan_left(top, left, bottom, right)

    def _count_steps(self, number: int) -> None:
        self._steps -= number
        if self._steps < 0:
            raise tableparser.TableMarkupError("The table has too many columns.")


class _ExplicitMarkup:
    """The patterns of explicit markup, with directives handled by ``_TolerantState``."""

    patterns = states.Body.explicit.patterns
    constructs = tuple(
        (_TolerantState.directive if method is states.Body.directive else method, pattern)
        for method, pattern in states.Body.explicit.constructs
    )


_TolerantState.explicit = _ExplicitMarkup  # type: ignore[attr-defined]

_STATE_CLASSES = tuple(
    type(state.__name__, (_TolerantState, state), {}) for state in states.state_classes
)


class _TolerantInliner(states.Inliner):
    """Replaces every role by its text, and limits the length of inline markup."""

    def parse(self, text: str, lineno: int, memo: Any, parent: Any) -> Any:
        n_marks = sum(map(text.count, "`|*"))
        if len(text) > MAX_INLINE_LENGTH or n_marks * len(text) > MAX_INLINE_STEPS:
            return [nodes.Text(text)], []
        return super().parse(text, lineno, memo, parent)

    def implicit_inline(self, text: str, _lineno: int) -> Any:
        """Returns the text: addresses are read as text, and many would exhaust the stack."""
        return [nodes.Text(text)] if text else []

    def interpreted(self, rawsource: str, text: str, role: str, _lineno: int) -> Any:
        text = read_role(role, text.replace("\0", ""))
        if role.lower() in SUPERSCRIPT_ROLES:
            return [nodes.superscript(rawsource, text)], []
        return [nodes.inline(rawsource, text)], []


# docutils looks for these patterns in the class itself, not in its bases.
for _name, _value in vars(states.Inliner).items():
    if isinstance(_value, str) and not _name.startswith("__"):
        setattr(_TolerantInliner, _name, _value)


class _TolerantParser(Parser):
    """The parser of docutils with tolerant states and roles."""

    def __init__(self) -> None:
        super().__init__(inliner=_TolerantInliner())
        self.state_classes = _STATE_CLASSES


class _BlockCollector:
    """Converts the tree of docutils to blocks.

    Attributes:
        refused: number of parts that docutils could not parse.
    """

    def __init__(self, document: nodes.document) -> None:
        self.refused = 0
        self._n_substituted = 0  # characters
        self._substitutions = {
            name: node.astext() for name, node in document.substitution_defs.items()
        }

    def iter_blocks(self, parent: Element, level: int) -> Iterator[Block]:
        """Yields the blocks of a document or section whose heading has a level."""
        for node in parent.children:
            if isinstance(node, nodes.section):
                yield from self.iter_blocks(node, level + 1)
            elif isinstance(node, nodes.title):
                yield from make_heading(max(1, level - 1), self._get_text(node))
            elif isinstance(node, nodes.block_quote | nodes.compound | nodes.container) and (
                _TASK_CLASS not in node["classes"]
            ):
                yield from self.iter_blocks(node, level)
            else:
                yield from make_paragraphs(self._iter_lines(node, ""))

    def _iter_lines(self, node: Node, indent: str) -> Iterator[str]:
        """Yields the lines of a paragraph, list, table or other element."""
        match node:
            case nodes.Text():
                yield indent + node.astext()
            case nodes.literal_block() | nodes.doctest_block() | nodes.literal():
                yield from (CodeLine(indent + line) for line in node.astext().split("\n"))
            case nodes.list_item():
                lines = [line for child in node.children for line in self._iter_lines(child, "")]
                for number, line in enumerate(lines):
                    # A line of code stays one.
                    yield type(line)(f"{indent}{'  ' if number else '- '}{line}")
            case nodes.thead() | nodes.tbody():
                rows = TableRows()
                for row in node.children:
                    cells = [self._read_cell(cell) for cell in row.children]
                    yield indent + " | ".join(rows.fill_row(cells))
            case nodes.field():
                lines = [line for child in node.children for line in self._iter_lines(child, "")]
                yield f"{indent}{lines[0]}: {' '.join(lines[1:])}" if lines else ""
            case nodes.container(attributes={"classes": [name]}) if name == _TASK_CLASS:
                for child in node.children:
                    for line in self._iter_lines(child, indent):
                        yield line if isinstance(line, CodeLine) else TaskLine(line)
            case nodes.comment() | nodes.Invisible() | nodes.raw():
                return
            case nodes.system_message():
                for line in self._list_refused_lines(node):
                    yield indent + line
            case nodes.TextElement():
                yield indent + " ".join(self._get_text(node).split())
            case _:
                for child in node.children:
                    yield from self._iter_lines(child, indent)

    def _read_cell(self, entry: Any) -> Cell:
        words = " ".join(self._iter_lines(entry, "")).split()
        return Cell(" ".join(words), entry.get("morecols", 0) + 1, entry.get("morerows", 0) + 1)

    def _list_refused_lines(self, message: nodes.system_message) -> list[str]:
        """Returns the source that a message of docutils is about, without lines of signs only."""
        if message["level"] < _ERROR_LEVEL:
            return []
        sources = [node.astext() for node in message if isinstance(node, nodes.literal_block)]
        text = _DIRECTIVE_MARK.sub("", "\n".join(sources), count=1)
        lines = [line.strip() for line in text.split("\n") if any(map(str.isalnum, line))]
        self.refused += bool(lines)
        return lines

    def _get_text(self, node: Node) -> str:
        if isinstance(node, nodes.Text):
            return node.astext().replace("\0", "")
        if isinstance(node, nodes.substitution_reference):
            name = node["refname"] if "refname" in node else node.astext()
            text = self._substitutions.get(name, "")
            self._n_substituted += len(text)
            return text if text and self._n_substituted <= MAX_SUBSTITUTED else node.astext()
        if isinstance(node, nodes.footnote_reference | nodes.system_message):
            return ""
        inline = InlineText()
        for child in node.children:
            if isinstance(child, nodes.superscript):
                inline.open_tag(SUPERSCRIPT)
            inline.add(self._get_text(child))
            inline.close_tag(SUPERSCRIPT)
        return inline.take()
