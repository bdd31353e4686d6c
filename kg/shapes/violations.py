"""Builds ``Violation`` records from validation results, with shape names and messages."""

from __future__ import annotations

from functools import lru_cache

from kg.claims import Violation
from kg.shapes.model import Shape, choose_message

_DEFAULT_MESSAGES = {
    "MinCount": "fewer than {n} values",
    "MaxCount": "more than {n} value{s}",
    "QualifiedMinCount": "fewer than {n} values of the required kind",
    "QualifiedMaxCount": "more than {n} value{s} of the restricted kind",
    "MinLength": "shorter than {n} characters",
    "MaxLength": "longer than {n} characters",
    "Class": "not an instance of {t}",
    "Datatype": "not a literal of datatype {t}",
    "NodeKind": "not of node kind {t}",
    "MinExclusive": "not greater than {t}",
    "MinInclusive": "less than {t}",
    "MaxExclusive": "not less than {t}",
    "MaxInclusive": "greater than {t}",
    "Pattern": "does not match the pattern {x}",
    "LanguageIn": "not in one of the languages {t}",
    "UniqueLang": "two values in one language",
    "Equals": "not the same values as {t}",
    "Disjoint": "also a value of {t}",
    "LessThan": "not less than the value of {t}",
    "LessThanOrEquals": "greater than the value of {t}",
    "Not": "conforms to a shape it must not conform to",
    "And": "does not conform to all of the shapes required",
    "Or": "conforms to none of the shapes of which one is required",
    "Xone": "does not conform to exactly one of the shapes given",
    "Node": "does not conform to the shape required",
    "Closed": "a property that is not allowed here",
    "HasValue": "lacks the value {t}",
    "In": "not one of the values allowed",
    "SPARQL": "violates a SPARQL constraint",
}
"""Component → message for shapes without ``sh:message``. ``{n}`` is the count or length, ``{s}``
the plural ending, ``{t}`` the terms and ``{x}`` the pattern of the constraint."""
_COMPONENT_SUFFIX = "ConstraintComponent"


def make_violation(shape: Shape, component: str, focus: str, path: str, value: str) -> Violation:
    """Returns the record of one validation result.

    Args:
        shape: the source shape.
        component: local name of the constraint component.
        focus: the focus node.
        path: the result path.
        value: the value; empty if there is none.
    """
    return Violation(
        shape=shape.name,
        component=component,
        focus_node=focus,
        path=path,
        value=value,
        message=_render_message(
            shape, component.removesuffix(_COMPONENT_SUFFIX), focus, path, value
        ),
    )


def _render_message(shape: Shape, kind: str, focus: str, path: str, value: str) -> str:
    text = _choose_template(shape, kind)
    # ``{$this}``, ``{$path}`` and ``{$value}`` are the placeholders SHACL allows in messages.
    if "{" in text:
        for name, term in (("this", focus), ("path", path), ("value", value)):
            text = text.replace(f"{{${name}}}", term).replace(f"{{?{name}}}", term)
    return text


@lru_cache(maxsize=4096)
def _choose_template(shape: Shape, kind: str) -> str:
    parameters = [p for p in shape.parameters if p.component == kind]
    messages = shape.messages
    for parameter in parameters:
        if parameter.query is not None and parameter.query.messages:
            messages = parameter.query.messages
    text = choose_message(messages)
    if text or not parameters or kind not in _DEFAULT_MESSAGES:
        return text or kind
    number = parameters[0].number
    return _DEFAULT_MESSAGES[kind].format(
        n=number,
        s="" if number == 1 else "s",
        t=", ".join(parameters[0].terms),
        x=parameters[0].text,
    )
