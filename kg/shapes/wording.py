"""Violations as records: names instead of blank nodes, and a message."""

from __future__ import annotations

from functools import lru_cache

from kg.claims import Violation
from kg.shapes.model import Shape, choose_message

_GENERIC = {
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
_ENDING = "ConstraintComponent"


def violation(shape: Shape, component: str, focus: str, path: str, value: str) -> Violation:
    """A result as a record.

    Args:
        shape: its source shape.
        component: local name of its component.
        focus: its focus node.
        path: its path.
        value: its value, or empty.
    """
    return Violation(
        shape=shape.name,
        component=component,
        focus_node=focus,
        path=path,
        value=value,
        message=_message(shape, component.removesuffix(_ENDING), focus, path, value),
    )


def _message(shape: Shape, kind: str, focus: str, path: str, value: str) -> str:
    text = _template(shape, kind)
    if "{" in text:
        for name, term in (("this", focus), ("path", path), ("value", value)):
            text = text.replace(f"{{${name}}}", term).replace(f"{{?{name}}}", term)
    return text


@lru_cache(maxsize=4096)
def _template(shape: Shape, kind: str) -> str:
    found = [p for p in shape.parameters if p.component == kind]
    messages = shape.messages
    for parameter in found:
        if parameter.query is not None and parameter.query.messages:
            messages = parameter.query.messages
    text = choose_message(messages)
    if text or not found or kind not in _GENERIC:
        return text or kind
    number = found[0].number
    return _GENERIC[kind].format(
        n=number,
        s="" if number == 1 else "s",
        t=", ".join(found[0].terms),
        x=found[0].text,
    )
