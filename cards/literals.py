"""Numbers in term text."""

from __future__ import annotations

import math


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
