"""Parses numbers in term text, and finds the properties whose values the shapes compare."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kg.shapes import Shapes


def parse_number(term: str) -> float | None:
    """Returns the value of a literal that is a finite number of any datatype, else None.

    Unlike ``kg.literals.parse_number`` this accepts years and plain strings of digits, because
    numbers are only compared with each other here.

    >>> parse_number('"12.5"^^<http://www.w3.org/2001/XMLSchema#decimal>')
    12.5
    """
    if not term.startswith('"'):
        return None
    try:
        value = float(term[1:].rpartition('"')[0])
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def find_compared_predicates(pred: str, shapes: Shapes) -> Iterator[tuple[str, bool]]:
    """Finds the properties whose values the shapes compare with those of ``pred``.

    Yields:
        Each property, with True if its values must be above those of ``pred``, False if below.
    """
    for constraint in shapes.list_constraints():
        parameters = constraint.parameters
        compared_predicate = parameters.get("lessThan") or parameters.get("lessThanOrEquals")
        if compared_predicate and constraint.path == pred:
            yield str(compared_predicate), True
        elif compared_predicate and str(compared_predicate) == pred:
            yield constraint.path, False
