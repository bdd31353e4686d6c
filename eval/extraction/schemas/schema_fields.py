"""The fields a schema declares: what a value may hold, flattened into paths.

A *field* is a leaf: a scalar, an array of scalars, or an object that declares no properties. What
holds fields (an object with properties, an array of such objects) is a path, but no field. The
alternatives of ``anyOf`` and its like are put together, since a value may hold the fields of any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from eval.extraction.schemas.schema_check import SchemaCheck
from eval.extraction.schemas.schema_graph import Path, SchemaGraph

MAX_PATHS: Final = 10_000
"""Paths after which counting stops; a schema that declares more is as complex as any."""
MAX_LEVELS: Final = 64
"""Levels of objects after which a schema is taken to have no more."""

TYPES: Final = ("string", "integer", "number", "boolean", "object", "array", "null")

_ALTERNATIVES = ("allOf", "anyOf", "oneOf")
_CONDITIONAL = ("then", "else")
_DEPENDENT = ("dependentSchemas", "dependencies")
OTHER_NAME: Final = "*"
"""Stands for a name that the schema does not spell out."""


class SchemaField(msgspec.Struct, frozen=True):
    """One path of a value."""

    path: str
    """As ``orders[].item``; empty for the root of a value that is no object."""
    kind: Literal["field", "holder"]
    depth: int
    """Objects above it, less the outermost: 0 at the top."""
    required: bool
    """Whether the object that has it must have it."""
    types: tuple[str, ...]
    """JSON types it may have, without null, in the order of ``TYPES``; empty if none is said."""
    nullable: bool
    enumerated: bool
    """Whether it, or each of its elements, is one of given values."""
    formats: tuple[str, ...]
    """Formats it, or each of its elements, must have, sorted."""


def fields_of(check: SchemaCheck) -> tuple[SchemaField, ...]:
    """All paths of a schema's values, in the schema's order, at most ``MAX_PATHS``.

    A subschema that comes back inside itself is entered once; there it is one field.
    """
    return tuple(_fields(check.graph))


class Merged:
    """All subschemas that may describe one and the same part of a value, taken together.

    Args:
        graph: the schema's.
        starts: where the subschemas stand that are known to; what they refer to and the
            alternatives they name are found from there.

    Attributes:
        origins: where all of them stand.
        types: what ``type`` names, or the types of the values where only those are given.
        formats: what ``format`` names.
        enumerated: whether ``enum`` or ``const`` is used.
        properties: places of the subschemas of each property; those of names the schema does not
            spell out stand under ``OTHER_NAME``.
        required: names the value must have, by any of the alternatives.
        items: places of the subschemas of an array's elements.
    """

    def __init__(self, graph: SchemaGraph, starts: tuple[Path, ...]) -> None:
        self.origins: set[Path] = set()
        self.types: set[str] = set()
        self.formats: set[str] = set()
        self.enumerated = False
        self.properties: dict[str, list[Path]] = {}
        self.required: set[str] = set()
        self.items: list[Path] = []
        waiting = list(reversed(starts))
        while waiting:
            path = waiting.pop()
            if path in self.origins or path not in graph.subschemas:
                continue
            self.origins.add(path)
            node = graph.subschemas[path].node
            self._take(path, node)
            waiting += reversed(list(_same_value(path, node)))
            if (target := graph.target(path)) is not None:
                waiting.append(target)

    def _take(self, path: Path, node: dict[str, Any]) -> None:
        named = node.get("type")
        self.types.update([named] if isinstance(named, str) else named or [])
        values = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
        if values:
            self.enumerated = True
            if named is None:
                self.types.update(map(_type_of, values))
        if "format" in node:
            self.formats.add(node["format"])
        self.required.update(node.get("required", ()))
        for name in node.get("properties", {}):
            self.properties.setdefault(name, []).append((*path, "properties", name))
        for pattern in node.get("patternProperties", {}):
            place = (*path, "patternProperties", pattern)
            self.properties.setdefault(OTHER_NAME, []).append(place)
        if isinstance(node.get("additionalProperties"), dict):
            place = (*path, "additionalProperties")
            self.properties.setdefault(OTHER_NAME, []).append(place)
        for keyword in ("items", "prefixItems", "additionalItems", "contains"):
            held = node.get(keyword)
            if isinstance(held, dict):
                self.items.append((*path, keyword))
            elif isinstance(held, list):
                self.items += [(*path, keyword, str(index)) for index in range(len(held))]

    @property
    def said_types(self) -> tuple[str, ...]:
        """Its types but null; what its keywords speak of, where no type is named."""
        found = self.types - {"null"}
        if not found:
            found = {"object"} if self.properties else {"array"} if self.items else set()
        return tuple(name for name in TYPES if name in found)


def _same_value(path: Path, node: dict[str, Any]) -> Iterator[Path]:
    """Subschemas inside ``node`` that may declare more about the same value."""
    for keyword in _ALTERNATIVES:
        for index in range(len(node.get(keyword, ()))):
            yield (*path, keyword, str(index))
    for keyword in _CONDITIONAL:
        yield (*path, keyword)
    for keyword in _DEPENDENT:
        for name in node.get(keyword, {}):
            yield (*path, keyword, name)


class _Waiting(msgspec.Struct, frozen=True):
    starts: tuple[Path, ...]
    path: str
    objects: int
    """Objects above it."""
    required: bool
    above: tuple[frozenset[Path], ...]
    """The subschemas of the objects and arrays it stands in, by which a return is known."""


def _fields(graph: SchemaGraph) -> Iterator[SchemaField]:
    waiting = [_Waiting(((),), "", 0, True, ())]
    given = 0
    while waiting and given < MAX_PATHS:
        at = waiting.pop()
        merged = Merged(graph, at.starts)
        inner, array = merged, False
        path = at.path
        above = at.above
        # An array is opened down to what its elements are; arrays of arrays in one go.
        while inner.items and not inner.properties and path.count("[]") < MAX_LEVELS:
            above = (*above, frozenset(inner.origins))
            inner = Merged(graph, tuple(inner.items))
            path += "[]"
            array = True
        returns = any(inner.origins & origins for origins in above)
        opened = bool(inner.properties) and not returns and at.objects < MAX_LEVELS
        if at.path or not opened or array:
            given += 1
            yield SchemaField(
                path=at.path,
                kind="holder" if opened else "field",
                depth=max(at.objects - 1, 0),
                required=at.required,
                types=merged.said_types,
                nullable="null" in merged.types,
                enumerated=merged.enumerated or inner.enumerated,
                formats=tuple(sorted(merged.formats | inner.formats)),
            )
        if opened:
            above = (*above, frozenset(inner.origins))
            children = [
                _Waiting(
                    tuple(places),
                    f"{path}.{name}" if path else name,
                    at.objects + 1,
                    name in inner.required,
                    above,
                )
                for name, places in inner.properties.items()
            ]
            waiting += reversed(children)


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return names.get(type(value), "object")
