"""Shapes as flat lists of constraints, for rules in words and for coverage counts."""

from __future__ import annotations

from collections.abc import Iterator

from kg.shapes.model import Constraint, Parameter, Shape, choose_message
from kg.shapes.paths import sparql_group

_NUMBERS = {
    "MinCount": "minCount",
    "MaxCount": "maxCount",
    "MinLength": "minLength",
    "MaxLength": "maxLength",
    "QualifiedMinCount": "qualifiedMinCount",
    "QualifiedMaxCount": "qualifiedMaxCount",
}
_LISTS = {"In": "in", "LanguageIn": "languageIn", "Closed": "allowedProperties"}


def describe(shapes: dict[str, Shape], node: str) -> Iterator[Constraint]:
    """All constraints that hold for the focus nodes of the targeted shape ``node``."""
    shape = shapes[node]
    yield from _of(shapes, shape, shape.targets.pairs(), "", shape.name)


def _of(
    shapes: dict[str, Shape],
    shape: Shape,
    target: tuple[tuple[str, str], ...],
    prefix: str,
    name: str,
) -> Iterator[Constraint]:
    if shape.deactivated:
        return
    if not shape.node.startswith("_:"):
        name = shape.node
    path = prefix
    if shape.path is not None:
        path = shape.path_text
        if prefix:
            path = f"{sparql_group(prefix)}/{sparql_group(shape.path_text)}"
    for parameter in shape.parameters:
        if parameter.component == "Property":
            yield from _of(shapes, shapes[parameter.shapes[0]], target, path, name)
            continue
        query = parameter.query
        if query is not None and query.deactivated:
            continue
        messages = query.messages if query is not None and query.messages else shape.messages
        yield Constraint(
            shape=name,
            target=target,
            path=path,
            component=f"{parameter.component}ConstraintComponent",
            parameters=_parameters(parameter),
            message=choose_message(messages),
            severity=shape.severity,
            inner=tuple(
                tuple(_of(shapes, shapes[inner], (), "", name)) for inner in parameter.shapes
            ),
        )


def _parameters(parameter: Parameter) -> dict[str, str | tuple[str, ...]]:
    name = parameter.component
    if name in _NUMBERS:
        return {_NUMBERS[name]: str(parameter.number)}
    if name in _LISTS:
        return {_LISTS[name]: parameter.terms}
    if name == "Pattern":
        return {"pattern": parameter.text, "flags": parameter.flags}
    if parameter.query is not None:
        return {"select": parameter.query.select}
    if parameter.terms:
        return {name[0].lower() + name[1:]: parameter.terms[0]}
    return {}
