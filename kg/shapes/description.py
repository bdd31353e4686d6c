"""Lists the constraints of a shape in a flat form, for English rules and coverage counts."""

from __future__ import annotations

from collections.abc import Iterator

from kg.shapes.model import Constraint, Parameter, Shape, choose_message
from kg.shapes.paths import group_path_text

_NUMBER_PARAMETERS = {
    "MinCount": "minCount",
    "MaxCount": "maxCount",
    "MinLength": "minLength",
    "MaxLength": "maxLength",
    "QualifiedMinCount": "qualifiedMinCount",
    "QualifiedMaxCount": "qualifiedMaxCount",
}
_LIST_PARAMETERS = {"In": "in", "LanguageIn": "languageIn", "Closed": "allowedProperties"}


def describe_constraints(shapes: dict[str, Shape], node: str) -> Iterator[Constraint]:
    """Yields all constraints on the focus nodes of the targeted shape ``node``."""
    shape = shapes[node]
    yield from _iter_constraints(shapes, shape, shape.targets.list_pairs(), "", shape.name)


def _iter_constraints(
    shapes: dict[str, Shape],
    shape: Shape,
    target: tuple[tuple[str, str], ...],
    prefix: str,
    name: str,
) -> Iterator[Constraint]:
    """Yields the constraints of a shape and of its property shapes.

    Args:
        shapes: all shapes, by node.
        shape: the shape.
        target: targets of the outermost shape.
        prefix: path from the focus node to the values that the shape is applied to.
        name: IRI of the nearest enclosing shape that has one.
    """
    if shape.deactivated:
        return
    if not shape.node.startswith("_:"):
        name = shape.node
    path = prefix
    if shape.path is not None:
        path = shape.path_text
        if prefix:
            path = f"{group_path_text(prefix)}/{group_path_text(shape.path_text)}"
    for parameter in shape.parameters:
        if parameter.component == "Property":
            yield from _iter_constraints(shapes, shapes[parameter.shapes[0]], target, path, name)
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
            parameters=_get_parameters(parameter),
            message=choose_message(messages),
            severity=shape.severity,
            inner=tuple(
                tuple(_iter_constraints(shapes, shapes[nested_node], (), "", name))
                for nested_node in parameter.shapes
            ),
        )


def _get_parameters(parameter: Parameter) -> dict[str, str | tuple[str, ...]]:
    name = parameter.component
    if name in _NUMBER_PARAMETERS:
        return {_NUMBER_PARAMETERS[name]: str(parameter.number)}
    if name in _LIST_PARAMETERS:
        return {_LIST_PARAMETERS[name]: parameter.terms}
    if name == "Pattern":
        return {"pattern": parameter.text, "flags": parameter.flags}
    if parameter.query is not None:
        return {"select": parameter.query.select}
    if parameter.terms:
        return {name[0].lower() + name[1:]: parameter.terms[0]}
    return {}
