"""Defines the records that a shapes graph is read into: shapes, targets, constraints, results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from kg.shapes.paths import Path

SH_VIOLATION = "http://www.w3.org/ns/shacl#Violation"


@dataclass(frozen=True)
class SparqlQuery:
    """One ``sh:sparql`` constraint."""

    select: str
    """The query as written."""
    text: str
    """The query with prefixes declared and ``$PATH`` filled in, ready for a SPARQL engine."""
    messages: tuple[tuple[str, str], ...] = ()
    """(text, language) pairs."""
    deactivated: bool = False


@dataclass(frozen=True)
class Parameter:
    """One constraint of a shape: a component and the values of its parameters.

    It has all that validation needs; ``Constraint`` is a constraint in a form for descriptions.
    The component determines which fields are used: ``terms`` contains classes, datatypes, bounds,
    listed values or compared predicates; ``shapes`` contains the nodes of nested shapes (for
    ``and``, ``or`` and ``xone`` one ``Parameter`` per list); ``number`` is a count or length;
    ``text`` and ``flags`` are those of a ``pattern``; ``query`` is that of a ``sparql`` constraint.
    """

    component: str
    """Local name without ``ConstraintComponent``: ``MinCount``, ``Class``, ``Xone`` …"""
    terms: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    number: int = 0
    text: str = ""
    flags: str = ""
    query: SparqlQuery | None = None
    siblings: tuple[str, ...] = ()
    """For qualified counts with ``sh:qualifiedValueShapesDisjoint``: the sibling value shapes."""


@dataclass(frozen=True)
class Targets:
    """The target declarations of a shape, which select its focus nodes."""

    nodes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    subjects_of: tuple[str, ...] = ()
    objects_of: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.classes or self.subjects_of or self.objects_of)

    def list_pairs(self) -> tuple[tuple[str, str], ...]:
        """Returns all targets as (kind, term)."""
        return (
            *(("node", term) for term in self.nodes),
            *(("class", term) for term in self.classes),
            *(("subjects-of", term) for term in self.subjects_of),
            *(("objects-of", term) for term in self.objects_of),
        )


@dataclass(frozen=True, eq=False)
class Shape:
    """A node or property shape."""

    node: str
    """Term text of the shape's node in the shapes graph."""
    name: str
    """The shape's IRI; for a blank node the IRI of the nearest enclosing shape, then the path."""
    path: Path | None
    """None for node shapes."""
    path_text: str
    """The path as written for ``sh:resultPath`` in records; empty for node shapes."""
    parameters: tuple[Parameter, ...]
    targets: Targets
    severity: str = SH_VIOLATION
    deactivated: bool = False
    messages: tuple[tuple[str, str], ...] = field(default=())


class RawResult(NamedTuple):
    """One ``sh:ValidationResult`` of severity ``sh:Violation``.

    Its terms are written as term text (see ``kg.claims``).

    Two results are equal if all five fields are equal. A graph may have the same result several
    times: results are compared as multisets.
    """

    shape: str
    """Node of ``sh:sourceShape`` in the shapes graph, as term text."""
    component: str
    """Local name of ``sh:sourceConstraintComponent``."""
    focus: str
    path: str
    value: str


class Constraint(msgspec.Struct, frozen=True):
    """One constraint in a flat form, for describing rules in English and for counting coverage."""

    shape: str
    """IRI of the shape that contains it, or of the nearest enclosing shape that has an IRI."""
    target: tuple[tuple[str, str], ...]
    """Targets of the outermost shape: (``class``|``node``|``subjects-of``|``objects-of``, term)."""
    path: str
    """Path from the focus node, as a SPARQL property path; a single predicate as its bare IRI;
    empty for the focus node itself."""
    component: str
    """Local name of the component, e.g. ``MaxCountConstraintComponent``."""
    parameters: dict[str, str | tuple[str, ...]]
    """Values by parameter name without prefix; counts and lengths in digits, lists as tuples."""
    message: str = ""
    """``sh:message``, preferably in English; empty if there is none."""
    severity: str = SH_VIOLATION
    inner: tuple[tuple[Constraint, ...], ...] = ()
    """Constraints of the nested shapes (``not``, ``or``, ``node`` …), one tuple per shape."""


def choose_message(messages: tuple[tuple[str, str], ...]) -> str:
    """Returns the message in English, else without a language, else the first in sorted order."""
    if not messages:
        return ""
    rank = {"en": 0, "": 1}
    return min(messages, key=lambda m: (rank.get(m[1].split("-")[0], 2), m[1], m[0]))[0]
