"""Sentence templates from ``domain.toml``: Jinja2, sandboxed, and restricted to what ends quickly.

The sandbox keeps a template away from Python's internals; it does not keep it from looping or from
multiplying strings. So the syntax tree is checked too: a template may choose (``if``), compare,
test, filter and join, but neither loop, nor call anything but harmless string methods, nor do
arithmetic other than ``+``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jinja2 import StrictUndefined, TemplateError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kg.base.errors import DomainError
from kg.words.expressions import compile_output
from kg.words.plain_text import article, plain, words_of

TEMPLATE_LIMIT = 2_000
"""Characters a template may have."""
SENTENCE_LIMIT = 2_000
"""Characters a rendered sentence may have; two names of full length leave room for the words."""

Render = Callable[..., str]
"""Called with the template's variables as keywords; returns one line of plain text."""

_METHODS = frozenset(
    words_of(
        "startswith endswith lower upper split strip lstrip rstrip title capitalize "
        "removeprefix removesuffix isupper islower"
    )
)
_FILTERS = frozenset(words_of("lower upper title capitalize trim length first last an"))
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


def _environment() -> ImmutableSandboxedEnvironment:
    # No autoescape: these are sentences in plain text. Whatever shows them in HTML escapes there.
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    environment.globals.clear()
    environment.filters = {
        name: filter_ for name, filter_ in environment.filters.items() if name in _FILTERS
    }
    environment.filters["an"] = article
    return environment


_ENVIRONMENT = _environment()


def compile_template(source: str, variables: Mapping[str, str], where: str) -> Render:
    """Compiles a template and tries it once.

    Args:
        source: the Jinja2 text.
        variables: every variable it may use, with a sample value it must render with.
        where: file and key, for the error message.

    Raises:
        DomainError: too long, a syntax error, a construct or name it may not use, or a failure
            on the sample values.
    """
    if len(source) > TEMPLATE_LIMIT:
        raise DomainError(
            f"template is {len(source)} characters long", where=where, hint="2,000 are allowed."
        )
    try:
        tree = _ENVIRONMENT.parse(source)
        _check(tree, where)
        unknown = sorted(meta.find_undeclared_variables(tree) - variables.keys())
        if unknown:
            raise DomainError(
                f"template uses unknown variable {unknown[0]!r}",
                where=where,
                hint=f"It may use {', '.join(variables)}.",
            )
        parts = _straight(tree)
        if parts is not None:
            straight = _joining(parts)
            if not straight(**variables):
                raise DomainError("template renders to nothing", where=where)
            return straight
        # Jinja2 writes and compiles a module for each template: only where nothing else will do.
        output = compile_output(tree) or _ENVIRONMENT.from_string(tree).render
        if not plain(output(variables), SENTENCE_LIMIT):
            raise DomainError("template renders to nothing", where=where)
    except TemplateError as error:
        raise DomainError(f"template does not parse: {error}", where=where) from error
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise DomainError(f"template does not render: {error}", where=where) from error

    def render(**values: str) -> str:
        try:
            return plain(output(values), SENTENCE_LIMIT)
        except (TemplateError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise DomainError(f"template does not render: {error}", where=where) from error

    return render


def _straight(tree: nodes.Template) -> list[tuple[str, bool]] | None:
    """(text or variable, whether it is a variable) of a template that holds nothing else."""
    parts: list[tuple[str, bool]] = []
    for output in tree.body:
        if not isinstance(output, nodes.Output):
            return None
        for node in output.nodes:
            if isinstance(node, nodes.TemplateData):
                parts.append((node.data, False))
            elif isinstance(node, nodes.Name):
                parts.append((node.name, True))
            else:
                return None
    return parts


def _joining(parts: list[tuple[str, bool]]) -> Render:
    """Renders a template of texts and variables in a tenth of the time Jinja2 needs."""
    pattern = "".join("%s" if named else text.replace("%", "%%") for text, named in parts)
    names = [text for text, named in parts if named]

    def render(**values: str) -> str:
        return plain(pattern % tuple([values[name] for name in names]), SENTENCE_LIMIT)

    return render


def verbatim(text: str) -> str:
    """``text`` as a piece of template source that renders to exactly ``text``."""
    return "{{ " + ascii(text) + " }}" if "{" in text else text


def _check(tree: nodes.Template, where: str) -> None:
    for node in tree.find_all(nodes.Node):
        if isinstance(node, nodes.Call):
            method = node.node
            if not isinstance(method, nodes.Getattr) or method.attr not in _METHODS:
                raise _refused("a call", node, where)
        elif isinstance(node, nodes.Getattr):
            if node.attr not in _METHODS:
                raise _refused(f"attribute {node.attr!r}", node, where)
        elif isinstance(node, nodes.Name) and node.name == "self":
            raise _refused("self", node, where)  # Jinja2 declares it in every template.
        elif not isinstance(node, _ALLOWED):
            raise _refused(type(node).__name__, node, where)


def _refused(what: str, node: nodes.Node, where: str) -> DomainError:
    return DomainError(
        f"template may not use {what} (template line {node.lineno})",
        where=where,
        hint="Allowed: text, variables, if, comparisons, tests, filters, simple string methods.",
    )
