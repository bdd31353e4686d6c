"""Compiles sentence templates to Python functions, which render seven times as fast as Jinja2.

The compiler supports names, constants, ``x if y else z``, ``and``, ``or``, ``not``, single
comparisons, ``~``, methods with positional arguments, and items by constant index, with the
semantics of Jinja2. A template with any other construct is rendered by Jinja2.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from jinja2 import nodes

Values: TypeAlias = Mapping[str, str]
Expression: TypeAlias = Callable[[Values], Any]
"""Computes a value from a template's variables; a missing variable is a ``KeyError``."""

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "lteq": operator.le,
    "gt": operator.gt,
    "gteq": operator.ge,
    "in": lambda left, right: left in right,
    "notin": lambda left, right: left not in right,
}


def compile_output(tree: nodes.Template) -> Callable[[Values], str] | None:
    """Compiles a checked template to a function that renders it.

    Returns:
        The function, whose text the caller must still clean; None if the template needs Jinja2.
    """
    parts: list[Expression] = []
    for output in tree.body:
        if not isinstance(output, nodes.Output):
            return None
        for node in output.nodes:
            part = _compile_node(node)
            if part is None:
                return None
            parts.append(part)
    return lambda values: "".join([str(part(values)) for part in parts])


def _compile_node(node: nodes.Node) -> Expression | None:
    """Compiles one expression; None if it needs Jinja2."""
    match node:
        case nodes.TemplateData(data=constant) | nodes.Const(value=constant):
            return _make_constant(constant)
        case nodes.Name(name=name):
            return operator.itemgetter(name)
        case nodes.Tuple(items=items) | nodes.List(items=items):
            constants = [item.value for item in items if isinstance(item, nodes.Const)]
            # Some items are not constant; or there are none: a letter that a name does not have is
            # not in an empty list in Jinja2, and an error otherwise.
            if len(constants) < len(items) or not items:
                return None
            return _make_constant(constants if isinstance(node, nodes.List) else tuple(constants))
        case nodes.CondExpr(test=test, expr1=yes, expr2=no) if no is not None:
            return _combine_parts((test, yes, no), _make_conditional)
        case nodes.And(left=left, right=right):
            return _combine_parts(
                (left, right), lambda a, b: lambda values: a(values) and b(values)
            )
        case nodes.Or(left=left, right=right):
            return _combine_parts((left, right), lambda a, b: lambda values: a(values) or b(values))
        case nodes.Not(node=inner):
            return _combine_parts((inner,), lambda a: lambda values: not a(values))
        case nodes.Compare(expr=left, ops=[nodes.Operand(op=name, expr=right)]):
            return _combine_parts((left, right), _make_comparison(_COMPARISONS[name]))
        case nodes.Concat(nodes=inner):
            return _combine_parts(inner, _make_concatenation)
        case nodes.Getitem(node=inner, arg=nodes.Const(value=int(index))):
            return _combine_parts((inner,), lambda a: lambda values: a(values)[index])
        case nodes.Call(
            node=nodes.Getattr(node=inner, attr=method),
            args=arguments,
            kwargs=[],
            dyn_args=None,
            dyn_kwargs=None,
        ):
            return _combine_parts((inner, *arguments), _make_method_call(method))
    return None


def _combine_parts(
    parts: Iterable[nodes.Node], combine: Callable[..., Expression]
) -> Expression | None:
    compiled: list[Expression] = []
    for node in parts:
        part = _compile_node(node)
        if part is None:
            return None
        compiled.append(part)
    return combine(*compiled)


def _make_constant(value: object) -> Expression:
    return lambda _: value


def _make_conditional(test: Expression, yes: Expression, no: Expression) -> Expression:
    return lambda values: yes(values) if test(values) else no(values)


def _make_comparison(compare: Callable[[Any, Any], bool]) -> Callable[..., Expression]:
    return lambda left, right: lambda values: compare(left(values), right(values))


def _make_concatenation(*parts: Expression) -> Expression:
    return lambda values: "".join([str(part(values)) for part in parts])


def _make_method_call(name: str) -> Callable[..., Expression]:
    def make_call(receiver: Expression, *arguments: Expression) -> Expression:
        # ``templates`` has checked that the method is one of a few harmless string methods.
        return lambda values: getattr(receiver(values), name)(
            *[argument(values) for argument in arguments]
        )

    return make_call
