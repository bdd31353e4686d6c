"""Compiles the sentence templates of ``domain.toml``: sandboxed Jinja2 that always ends quickly.

Jinja2's sandbox keeps a template away from Python's internals, but does not keep it from looping
or multiplying strings. So the syntax tree is checked too: a template may use ``if``, comparisons,
tests, filters, ``~`` and ``+``, and call harmless string methods. Loops, other calls and other
arithmetic are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from jinja2 import StrictUndefined, TemplateError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kg.base.errors import DomainError
from kg.base.expressions import compile_output
from kg.base.plain_text import add_article, clean_text, list_words

MAX_TEMPLATE_LENGTH = 2_000
"""Maximum length of a template, in characters."""
MAX_SENTENCE_LENGTH = 2_000
"""Maximum length of a rendered sentence, in characters; two names of maximum length take 400."""

MAX_EXPRESSION_LENGTH = 100_000
"""Maximum length that any expression of a template could have, in characters. Without it, twenty
lines that double a text would fill the memory."""
_MAX_VARIABLE_LENGTH = 1_000
"""Assumed maximum length of the value of a variable, in characters."""
_CASE_FACTOR = 3
"""How many times longer a text can become in upper, lower or title case."""

_SIMPLE_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}", re.ASCII)
_MAX_SIMPLE_VARIABLES = 10
"""So many variables of maximum length stay far below ``MAX_EXPRESSION_LENGTH``."""

Renderer = Callable[..., str]
"""Renders a template: takes its variables as keywords, returns one line of plain text."""

_METHODS = frozenset(
    list_words(
        "startswith endswith lower upper split strip lstrip rstrip title capitalize "
        "removeprefix removesuffix isupper islower"
    )
)
_FILTERS = frozenset(list_words("lower upper title capitalize trim length first last an"))
_ALLOWED = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Const,
    nodes.List,
    nodes.Tuple,
    nodes.If,
    nodes.CondExpr,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.Add,
    nodes.Concat,
    nodes.Test,
    nodes.Filter,
    nodes.Getitem,
    nodes.Slice,
    nodes.Neg,
    nodes.Assign,
    nodes.Call,
    nodes.Getattr,
)


def _make_environment() -> ImmutableSandboxedEnvironment:
    # No autoescape: these are sentences in plain text, and HTML pages escape them on output.
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    environment.globals.clear()
    environment.filters = {
        name: filter_ for name, filter_ in environment.filters.items() if name in _FILTERS
    }
    environment.filters["an"] = add_article
    return environment


_ENVIRONMENT = _make_environment()


def compile_template(source: str, variables: Mapping[str, str], where: str) -> Renderer:
    """Compiles a template, and checks it by rendering it once with sample values.

    Args:
        source: the Jinja2 text.
        variables: every variable it may use, with a sample value.
        where: file and key, for error messages.

    Raises:
        DomainError: the template is too long, does not parse, uses a construct or variable it
            may not use, or does not render with the sample values.
    """
    if len(source) > MAX_TEMPLATE_LENGTH:
        raise DomainError(
            f"template is {len(source)} characters long",
            where=where,
            hint="At most 2,000 are allowed.",
        )
    parts = _split_simple_source(source, variables)
    if parts is not None:
        render_simple = _make_simple_renderer(parts)
        if render_simple(**variables):
            return render_simple
    try:
        tree = _ENVIRONMENT.parse(source)
        _check_nodes(tree, where)
        _check_lengths(tree, where)
        unknown = sorted(meta.find_undeclared_variables(tree) - variables.keys())
        if unknown:
            raise DomainError(
                f"template uses unknown variable {unknown[0]!r}",
                where=where,
                hint=f"It may use {', '.join(variables)}.",
            )
        # Jinja2 is tried last, because it generates and compiles a Python module per template.
        render = compile_output(tree) or _ENVIRONMENT.from_string(tree).render
        if not clean_text(render(variables), MAX_SENTENCE_LENGTH):
            raise DomainError("template renders to empty text", where=where)
    except TemplateError as error:
        raise DomainError(f"template does not parse: {error}", where=where) from error
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise DomainError(f"template does not render: {error}", where=where) from error

    def render_template(**values: str) -> str:
        try:
            return clean_text(render(values), MAX_SENTENCE_LENGTH)
        except (TemplateError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise DomainError(f"template does not render: {error}", where=where) from error

    return render_template


def _split_simple_source(
    source: str, variables: Mapping[str, str]
) -> list[tuple[str, bool]] | None:
    """Splits a source that is nothing but texts and at most ten ``{{ name }}``, without Jinja2.

    Parsing is most of the time that a domain takes to load, and nearly all templates are such.

    Returns:
        (text or variable name, whether it is a variable) of each part; None for any other source,
        also one with a mistake.
    """
    parts = _SIMPLE_VARIABLE.split(source)
    texts, names = parts[::2], parts[1::2]
    if not 0 < len(names) <= _MAX_SIMPLE_VARIABLES or not variables.keys() >= set(names):
        return None
    if any("{" in text or "}" in text for text in texts):
        return None
    return [(part, number % 2 == 1) for number, part in enumerate(parts) if part]


def _make_simple_renderer(parts: list[tuple[str, bool]]) -> Renderer:
    """Returns a renderer for a template of texts and variables, ten times as fast as Jinja2."""
    pattern = "".join(
        "%s" if is_variable else text.replace("%", "%%") for text, is_variable in parts
    )
    names = [text for text, is_variable in parts if is_variable]

    def render_template(**values: str) -> str:
        return clean_text(pattern % tuple([values[name] for name in names]), MAX_SENTENCE_LENGTH)

    return render_template


def escape_template(text: str) -> str:
    """Returns template source that renders to exactly ``text``."""
    return "{{ " + ascii(text) + " }}" if "{" in text else text


def _check_nodes(tree: nodes.Template, where: str) -> None:
    for node in tree.find_all(nodes.Node):
        if isinstance(node, nodes.Call):
            method = node.node
            if not isinstance(method, nodes.Getattr) or method.attr not in _METHODS:
                raise _make_error("a call", node, where)
        elif isinstance(node, nodes.Getattr):
            if node.attr not in _METHODS:
                raise _make_error(f"attribute {node.attr!r}", node, where)
        elif isinstance(node, nodes.Name) and node.name == "self":
            raise _make_error("self", node, where)  # Jinja2 declares it in every template.
        elif not isinstance(node, _ALLOWED):
            raise _make_error(type(node).__name__, node, where)


def _check_lengths(tree: nodes.Template, where: str) -> None:
    """Checks that no expression can become too long, whatever the names in it."""
    bounds: dict[str, int] = {}

    def bound_length(node: nodes.Node) -> int:
        """Returns how many characters the value of an expression can have at most."""
        if isinstance(node, nodes.Name):
            return bounds.get(node.name, _MAX_VARIABLE_LENGTH)
        if isinstance(node, nodes.Const | nodes.TemplateData):
            return len(str(node.value if isinstance(node, nodes.Const) else node.data))
        length = sum(map(bound_length, node.iter_child_nodes()))
        if isinstance(node, nodes.Filter | nodes.Call):
            length = _CASE_FACTOR * length + len("an ")
        if length > MAX_EXPRESSION_LENGTH:
            raise DomainError(
                f"template may become longer than {MAX_EXPRESSION_LENGTH:,} characters (template "
                f"line {node.lineno})",
                where=where,
                hint="Join fewer texts, and do not double one again and again.",
            )
        if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name):
            # A branch may not be taken, so the old value is possible, too.
            bounds[node.target.name] = max(bounds.get(node.target.name, 0), bound_length(node.node))
        return length

    bound_length(tree)


def _make_error(construct: str, node: nodes.Node, where: str) -> DomainError:
    return DomainError(
        f"template may not use {construct} (template line {node.lineno})",
        where=where,
        hint="Allowed: text, variables, if, comparisons, tests, filters, simple string methods.",
    )
