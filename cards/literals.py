"""Numbers in term text, and which of them the shapes compare."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kg.shapes import Shapes


def number_of(term: str) -> float | None:
    """The value of a literal written as a finite number, whatever its datatype; else None.

    Years and plain strings of digits count too, unlike in ``kg.literals.number``: here numbers are
    only compared with one another.

    >>> number_of('"12.5"^^<http://www.w3.org/2001/XMLSchema#decimal>')
    12.5
    """
    if not term.startswith('"'):
        return None
    try:
        value = float(term[1:].rpartition('"')[0])
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def compared_with(pred: str, shapes: Shapes) -> Iterator[tuple[str, bool]]:
    """The properties whose values the shapes hold against those of ``pred``.

    Yields:
        Each with True where its values must lie above those of ``pred``, False where below.
    """
    for constraint in shapes.constraints():
        parameters = constraint.parameters
        other = parameters.get("lessThan") or parameters.get("lessThanOrEquals")
        if other and constraint.path == pred:
            yield str(other), True
        elif other and str(other) == pred:
            yield constraint.path, False
