"""What a schema says of each place in a value: its name, its type, and how it is compared.

A *field* is a leaf: a scalar, or an array of scalars. Objects and arrays of objects are opened
into theirs. Its path has ``[]`` for array elements, its depth is the number of objects around it
less the outermost.
"""

from __future__ import annotations

import difflib
import json
import math
from typing import Any, Final

import msgspec

from eval.extraction.matchers.choosing import (
    LIST_MATCHERS,
    MATCH_NAMES,
    NUMBER_MATCHERS,
    TEXT_MATCHERS,
)
from eval.extraction.schemas.complexity import Complexity, complexity_of
from eval.extraction.schemas.schema_check import SchemaCheck
from eval.extraction.schemas.schema_fields import OTHER_NAME, Merged
from eval.extraction.schemas.schema_graph import Path, SchemaGraph, pointer_of
from eval.extraction.settings import DEFAULT
from kg.base.errors import SchemaError
from kg.words.plain_text import plain

MAX_LEVELS: Final = 200
"""Objects and arrays around a value, after which it is a field whatever it is: each level takes
two calls of the interpreter's stack."""

MAX_REMEMBERED: Final = 1_000
"""Children of one place that are kept though the schema does not name them; schemas that are."""

MAX_SUBSCHEMAS: Final = 200_000
"""Subschemas of all schemas that are kept together."""

MAX_NAME: Final = 200
"""Characters of a key that a path has; of longer ones it has the beginning."""

_FORMATS = {
    **dict.fromkeys(("date", "date-time"), "date"),
    **dict.fromkeys(("email", "idn-email"), "email"),
    **dict.fromkeys(("uri", "iri", "uri-reference", "iri-reference"), "url"),
    **dict.fromkeys(("hostname", "idn-hostname", "ipv4", "ipv6", "duration"), "exact"),
    "time": "time",
    "uuid": "uuid",
}
"""Matchers of texts by the schema's format; any other format leaves a text a text."""

_SPECIAL = frozenset('.[]"')


class Place:
    """One place in the tree of values.

    Attributes:
        path: see the module.
        name: the last key of the path.
        depth: of a field that stands here.
        level: objects and arrays around it.
        required: whether the object around it must have it.
        declared: whether the schema knows it.
        types: JSON types the schema allows, without null; empty if it says nothing.
        nullable: whether it allows null.
        allowed: the values it must be one of, as ``json_text`` has them; null if any will do.
        formats: formats it must have.
        ignored: whether the schema leaves it out of all comparison.
        text: name of the matcher of texts here; ``number`` and ``array`` of the others. That of
            arrays is empty if the settings decide.
        same_text: what comes of comparing a text here with itself.
        tolerance: the field's own, else null.
        keys: keys of an object here that the schema names, in its order; the values mean nothing.
    """

    def __init__(
        self, graph: SchemaGraph, starts: tuple[Path, ...], path: str, name: str, **around: int
    ) -> None:
        """Reads the subschemas at ``starts``; none where the schema does not know the place."""
        merged = Merged(graph, starts)
        # Sorted, since what a set is iterated by differs between two runs.
        nodes = [graph.subschemas[origin].node for origin in sorted(merged.origins)]
        self.path: Final = path
        self.name: Final = name
        self.objects: Final = around.get("objects", 0)
        self.level: Final = around.get("level", 0)
        self.depth: Final = max(self.objects - 1, 0)
        self.required: Final = bool(around.get("required", True))
        self.declared: Final = bool(starts)
        self.types: Final = merged.said_types if starts else ()
        self.nullable: Final = "null" in merged.types
        self.formats: Final = tuple(sorted(merged.formats))
        self.allowed: Final = _allowed(nodes)
        match = str(_said(nodes, "x-match") or "")
        tolerance = _said(nodes, "x-tolerance")
        self.tolerance: Final = None if tolerance is None else float(tolerance)
        self.ignored: Final = match == "ignore"
        self.text: Final = self._text_matcher(match)
        self.number: Final = self._number_matcher(match)
        self.same_text: Final = TEXT_MATCHERS[self.text]("", "", DEFAULT, None)
        unique = any(node.get("uniqueItems") is True for node in nodes)
        self.array: Final = match if match in LIST_MATCHERS else "set" if unique else ""
        self._graph: Final = graph
        self._merged: Final = merged
        self._children: Final[dict[str, Place]] = {}
        self._element: Place | None = None
        self._members: tuple[tuple[str, Place], ...] | None = None
        self.keys: Final = dict.fromkeys(key for key in merged.properties if key != OTHER_NAME)

    def child(self, key: str) -> Place:
        """The place of ``key`` in an object here."""
        found = self._children.get(key)
        if found is not None:
            return found
        named = self._merged.properties
        starts = named.get(key) or named.get(OTHER_NAME) or []
        found = Place(
            self._graph,
            tuple(starts),
            f"{self.path}{_step(key, first=not self.path)}",
            _shown(key),
            objects=self.objects + 1,
            level=self.level + 1,
            required=key in self._merged.required,
        )
        if len(self._children) < max(MAX_REMEMBERED, len(self.keys)):
            self._children[key] = found
        return found

    @property
    def members(self) -> tuple[tuple[str, Place], ...]:
        """The keys that the schema names, with their places."""
        if self._members is None:
            self._members = tuple((key, self.child(key)) for key in self.keys)
        return self._members

    def element(self) -> Place:
        """The place of the elements of an array here."""
        if self._element is None:
            self._element = Place(
                self._graph,
                tuple(self._merged.items),
                f"{self.path}[]",
                self.name,
                objects=self.objects,
                level=self.level + 1,
                required=self.required,
            )
        return self._element

    def offers(self, value: Any) -> bool:
        """Whether the schema lists ``value`` among those to choose from."""
        return self.allowed is not None and json_text(value) in self.allowed

    def _text_matcher(self, match: str) -> str:
        if match in TEXT_MATCHERS:
            return match
        if self.allowed is not None:
            return "exact"
        return next((_FORMATS[name] for name in self.formats if name in _FORMATS), "partial")

    def _number_matcher(self, match: str) -> str:
        if match in NUMBER_MATCHERS:
            return match
        if self.tolerance is not None and self.allowed is None:
            return "numeric"
        whole = "integer" in self.types and "number" not in self.types
        return "exact" if whole or self.allowed is not None else "numeric"


class Plan(msgspec.Struct, frozen=True):
    """All that scoring needs to know of a schema."""

    check: SchemaCheck
    root: Place
    complexity: Complexity


_by_identity: dict[int, tuple[dict[str, Any], Plan]] = {}


def plan_of(schema: dict[str, Any]) -> Plan:
    """What scoring needs of ``schema``, made once for all schemas of the same content.

    A schema that was seen before is known by its identity, so it must not be changed.

    Raises:
        SchemaError: the schema cannot be used, or names a matcher that does not exist.
    """
    seen = _by_identity.get(id(schema))
    if seen is not None and seen[0] is schema:
        return seen[1]
    check = SchemaCheck.of(schema)
    # Equal schemas share one check, and so one plan.
    seen = _by_identity.get(id(check.schema))
    if seen is not None and seen[0] is check.schema:
        plan = seen[1]
    else:
        _check_extensions(check.graph)
        plan = Plan(check, Place(check.graph, ((),), "", ""), complexity_of(check.schema))
    size = sum(len(held.check.graph.subschemas) for _, held in _by_identity.values())
    if len(_by_identity) >= MAX_REMEMBERED or size > MAX_SUBSCHEMAS:
        _by_identity.clear()
    _by_identity[id(schema)] = (schema, plan)
    _by_identity[id(check.schema)] = (check.schema, plan)
    return plan


def check_matchers(schema: dict[str, Any]) -> None:
    """Checks what a schema says of how its fields are compared.

    Raises:
        SchemaError: ``x-match`` names no matcher, or ``x-tolerance`` is no number of at least 0;
            or the schema cannot be used at all.
    """
    _check_extensions(SchemaCheck.of(schema).graph)


def _check_extensions(graph: SchemaGraph) -> None:
    for path, at in graph.subschemas.items():
        match = at.node.get("x-match", "partial")
        if not isinstance(match, str) or match not in MATCH_NAMES:
            near = difflib.get_close_matches(str(match)[:MAX_NAME], MATCH_NAMES, 1)
            raise SchemaError(
                f"x-match {plain(str(match))!r} names no matcher",
                where=pointer_of(path),
                hint=f"Did you mean {near[0]}?" if near else f"Use {', '.join(MATCH_NAMES)}.",
            )
        tolerance = at.node.get("x-tolerance", 0)
        if (
            isinstance(tolerance, bool)
            or not isinstance(tolerance, int | float)
            or not 0 <= tolerance <= 1e9
            or math.isnan(tolerance)
        ):
            raise SchemaError(
                "x-tolerance must be a number of at least 0",
                where=pointer_of(path),
                hint="It is a share of the expected number, or of dates the days.",
            )


def json_text(value: Any) -> str:
    """A value as JSON, the same for equal values; distinct for true and 1, and for 1 and "1"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)


def _allowed(nodes: list[dict[str, Any]]) -> frozenset[str] | None:
    found = [
        value
        for node in nodes
        for value in (*node.get("enum", ()), *([node["const"]] if "const" in node else ()))
    ]
    return frozenset(map(json_text, found)) if found else None


def _said(nodes: list[dict[str, Any]], keyword: str) -> Any:
    """What the first of several subschemas that says something of ``keyword`` says."""
    return next((node[keyword] for node in nodes if keyword in node), None)


def _shown(key: str) -> str:
    """A key fit to be written anywhere: cut, and without half characters."""
    if len(key) > MAX_NAME:
        key = key[: MAX_NAME - 1] + "…"
    return key if key.isprintable() else plain(key, MAX_NAME)


def _step(key: str, *, first: bool) -> str:
    """A key as a step of a path: in brackets and quotes where it would be misread."""
    if key and key.isprintable() and not _SPECIAL.intersection(key):
        return _shown(key) if first else f".{_shown(key)}"
    return f"[{json.dumps(key[:MAX_NAME])}]"
