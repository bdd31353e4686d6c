"""What a shapes graph says, read once and checked: shapes, their targets, their constraints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from kg.shapes.paths import Path

SH_VIOLATION = "http://www.w3.org/ns/shacl#Violation"


@dataclass(frozen=True)
class Query:
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
    """One constraint of a shape: a component and what it is told.

    Which fields are used depends on the component: ``terms`` holds classes, datatypes, bounds,
    listed values or compared predicates; ``shapes`` the nodes of nested shapes (for ``and``,
    ``or`` and ``xone`` one ``Parameter`` per list); ``number`` counts and lengths.
    """

    component: str
    """Local name without ``ConstraintComponent``: ``MinCount``, ``Class``, ``Xone`` …"""
    terms: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    number: int = 0
    text: str = ""
    flags: str = ""
    query: Query | None = None
    siblings: tuple[str, ...] = ()
    """Qualified counts with disjoint value shapes: the sibling value shapes."""


@dataclass(frozen=True)
class Targets:
    """Where a shape says its focus nodes are."""

    nodes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    subjects_of: tuple[str, ...] = ()
    objects_of: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.classes or self.subjects_of or self.objects_of)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All targets as (kind, term)."""
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
    """Term text of its node in the shapes graph."""
    name: str
    """Its IRI; for a blank one the nearest IRI above it, then its path."""
    path: Path | None
    """None for node shapes."""
    path_text: str
    """The path as ``sh:resultPath`` is written in records; empty for node shapes."""
    parameters: tuple[Parameter, ...]
    targets: Targets
    severity: str = SH_VIOLATION
    deactivated: bool = False
    messages: tuple[tuple[str, str], ...] = field(default=())


class Raw(NamedTuple):
    """One ``sh:ValidationResult`` of severity ``sh:Violation``, before it is read.

    Two results are the same result if all five agree; a graph's results are a multiset.
    """

    shape: str
    """Node of ``sh:sourceShape`` in the shapes graph, as term text."""
    component: str
    """Local name of ``sh:sourceConstraintComponent``."""
    focus: str
    path: str
    value: str


class Constraint(msgspec.Struct, frozen=True):
    """One constraint as others need it: to put a rule in words, or to count what is covered."""

    shape: str
    """IRI of the shape it stands in, or the nearest IRI above."""
    target: tuple[tuple[str, str], ...]
    """Targets of the outermost shape: (``class``|``node``|``subjects-of``|``objects-of``, term)."""
    path: str
    """Path from the focus node, as a SPARQL property path; a lone predicate as its bare IRI;
    empty for the focus node itself."""
    component: str
    """Local name of the component, e.g. ``MaxCountConstraintComponent``."""
    parameters: dict[str, str | tuple[str, ...]]
    """Parameter names without prefix; counts and lengths in digits, lists as tuples."""
    message: str = ""
    """``sh:message``, English first; empty where none is given."""
    severity: str = SH_VIOLATION
    inner: tuple[tuple[Constraint, ...], ...] = ()
    """Constraints of the nested shapes (``not``, ``or``, ``node`` …), one tuple per shape."""


def choose_message(messages: tuple[tuple[str, str], ...]) -> str:
    """The message to show: English, else without language, else the first in order."""
    if not messages:
        return ""
    rank = {"en": 0, "": 1}
    return min(messages, key=lambda m: (rank.get(m[1].split("-")[0], 2), m[1], m[0]))[0]
