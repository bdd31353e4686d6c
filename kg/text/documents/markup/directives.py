"""What the directives of docutils, Sphinx and their extensions hold: text, code, or neither."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from enum import Enum, auto

from kg.base.plain_text import list_words

RUN_DIRECTIVES = frozenset(
    list_words(
        """attention caution danger error hint important note tip warning admonition
        epigraph highlights pull-quote compound container topic sidebar rubric
        table list-table csv-table replace unicode"""
    )
)
"""Directives of docutils that run; they read no files with ``file_insertion_enabled`` off."""
DROPPED_DIRECTIVES = frozenset(
    list_words(
        """toctree index raw include literalinclude highlight highlightlang currentmodule
        py:currentmodule program meta contents sectnum section-numbering tabularcolumns
        autosummary todolist default-domain default-role
        role title testsetup testcleanup sectionauthor moduleauthor codeauthor target-notes date
        bibliography nbgallery nblinkgallery minigallery youtube video"""
    )
)
"""Directives whose content is no text for readers, and those that would read files."""
_DRAWN_DIRECTIVES = frozenset(list_words("graphviz digraph graph plot mermaid math"))
_CONTENT_DIRECTIVES = frozenset(
    list_words("only ifconfig module py:module rst-class cssclass image figure thumbnail")
)
"""Directives whose argument is no text for readers: a condition, a class of styles, a file."""
_CODE_DIRECTIVES = frozenset(
    list_words(
        """code code-block sourcecode parsed-literal doctest testcode testoutput prompt console
        jupyter-execute productionlist pycon"""
    )
)
_TABLE_DIRECTIVES = frozenset({"list-table", "csv-table"})
_TASK_DIRECTIVES = frozenset({"todo", "fixme"})
_LANGUAGES = frozenset(
    list_words(
        """apl asis asy awk bash block bugs c cat clojure coffee comment cpp css cuda d3 dot elixir
        embed erlang exec fortran fortran95 fsharp go groovy haskell highlight html jags java
        javascript js json julia kotlin latex lean lisp lua matlab maxima nim node nix ocaml octave
        ojs perl php powershell psql pyodide python python3 r rcpp ruby rust sas sass sage scala
        scheme scss sed sh shell sql stan stata swift tcl tex tikz toml ts typescript verbatim webr
        xml yaml zig zsh"""
    )
)
"""Languages that Quarto, R Markdown and Jupyter Book run, in lower case."""
# Extensions that run or show a program name their directives so: click:run, command-output, ….
_CODE_PART = re.compile(
    r"(?:^|[:._-])(?:run|exec|execute|output|snippet|terminal|repl|ipython\d?|doctest|prompt)"
    r"(?=[:._-]|$)|^code[_-]|[:_-](?:examples?|cli)$"
)
_MATHEMATICAL = ("prf:", "proof:")
"""Domains whose examples are text."""
_DRAWN_PART = re.compile(r"(?:^|[:._-])(?:\w*uml|\w*diagram|\w*diag|ditaa|wavedrom)(?=[:._-]|$)")
_VERSION_LABELS = {
    "versionadded": "Added in", "versionchanged": "Changed in",
    "deprecated": "Deprecated since", "versionremoved": "Removed in",
}  # fmt: skip
_VERSION = re.compile(r"\S*\d\S*|next\b|NEXT\b")
_LETTER = re.compile(r"[^\W\d_]")
_PATH = re.compile(r"[^\s()/]*/[^\s()]*\.\w{1,8}\Z")
MAX_CODE_LENGTH = 20_000
"""Maximum length of a text that may turn out to be code, in characters."""


class DirectiveKind(Enum):
    """What is read of a directive."""

    DROPPED = auto()
    """Nothing."""
    DRAWN = auto()
    """The source of a drawing or formula."""
    CODE = auto()
    """The content, as it is written."""
    TABLE = auto()
    """A table in a markup of its own."""
    TASK = auto()
    """The argument and content, as a task that is not done."""
    CONTENT = auto()
    """The content alone."""
    GENERATED = auto()
    """The argument and content, if there is content: other text is taken from source code."""
    TEXT = auto()
    """The argument and content. Directives that are unknown are of this kind."""


def find_directive_kind(name: str) -> DirectiveKind:
    """Returns what is read of a directive, by its name or a part of it."""
    name = name.lower()
    is_example = name.startswith(_MATHEMATICAL)
    if name in DROPPED_DIRECTIVES:
        return DirectiveKind.DROPPED
    if name in _DRAWN_DIRECTIVES or _DRAWN_PART.search(name):
        return DirectiveKind.DRAWN
    if name in _CODE_DIRECTIVES or (_CODE_PART.search(name) and not is_example):
        return DirectiveKind.CODE
    if name in _TABLE_DIRECTIVES:
        return DirectiveKind.TABLE
    if name in _TASK_DIRECTIVES:
        return DirectiveKind.TASK
    if name in _CONTENT_DIRECTIVES:
        return DirectiveKind.CONTENT
    return DirectiveKind.GENERATED if name.startswith("auto") else DirectiveKind.TEXT


def is_language(name: str) -> bool:
    """Whether the name in braces after a fence is that of a language, and not of a directive."""
    return name.startswith(".") or name.lower().split("-")[0] in _LANGUAGES


def read_argument(name: str, argument: str) -> str:
    """Returns the argument of a directive, if it is text: no path of a file, no condition."""
    kinds = (DirectiveKind.TEXT, DirectiveKind.TASK, DirectiveKind.GENERATED)
    if find_directive_kind(name) not in kinds:
        return ""
    # The path of a file is no text; that of a resource is (`http:get`).
    is_path = ":" not in name and _PATH.match(argument)
    return argument if _LETTER.search(argument) and not is_path else ""


def split_version(name: str, argument: str) -> tuple[str, str] | None:
    """Returns what a directive says of a version ("Added in 3.2"), and the text after the version.

    None if it is no such directive.
    """
    label = _VERSION_LABELS.get(name.lower())
    if label is None:
        return None
    match = _VERSION.match(argument)
    if match is None:
        return label.split()[0], argument
    return f"{label} {match[0].rstrip(':.,')}", argument[match.end() :].strip()


def looks_like_code(text: str) -> bool:
    """Whether a text of two or more lines is Python that calls, defines or assigns something."""
    if len(text) > MAX_CODE_LENGTH or "\n" not in text.strip() or not re.search("[(=]", text):
        return False
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return any(
        isinstance(node, ast.Call | ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AugAssign)
        for statement in tree.body
        for node in (statement, getattr(statement, "value", None))
    )
