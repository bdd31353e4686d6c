"""Flattens a JSON Schema into the paths and fields that it declares.

A *field* is a leaf: a scalar, an array of scalars, or an object that declares no properties. An
object with properties, or an array of such objects, is a path but not a field (a *holder*). The
alternatives of ``anyOf`` and similar keywords are merged, since a value may have fields of any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from eval.extraction.schemas.schema_graph import Path, SchemaGraph
from eval.extraction.schemas.schema_validator import SchemaValidator

MAX_PATHS: Final = 10_000
"""Number of paths after which flattening stops; such a schema is maximally complex anyway."""
MAX_LEVELS: Final = 64
"""Object nesting after which deeper levels are ignored."""

TYPES: Final = ("string", "integer", "number", "boolean", "object", "array", "null")

_ALTERNATIVE_KEYWORDS = ("allOf", "anyOf", "oneOf")
_CONDITIONAL_KEYWORDS = ("then", "else")
_DEPENDENT_KEYWORDS = ("dependentSchemas", "dependencies")
OTHER_NAME: Final = "*"
"""Placeholder for property names that the schema does not list (``additionalProperties`` etc.)."""


class SchemaField(msgspec.Struct, frozen=True):
    """One path of a value."""

    path: str
    """For example ``orders[].item``; empty for the root of a value that is not an object."""
    kind: Literal["field", "holder"]
    depth: int
    """Number of enclosing objects, not counting the outermost: 0 at the top level."""
    required: bool
    """Whether the enclosing object must have it."""
    types: tuple[str, ...]
    """JSON types it may have, without null, in the order of ``TYPES``; empty if unspecified."""
    nullable: bool
    enumerated: bool
    """Whether its value, or each of its elements, must be one of a list of values."""
    formats: tuple[str, ...]
    """Formats that its value, or each of its elements, must have; sorted."""


def list_schema_fields(validator: SchemaValidator) -> tuple[SchemaField, ...]:
    """Returns all paths that a schema declares, in its order, at most ``MAX_PATHS``.

    A recursive subschema is expanded once; where it recurs, it counts as one field.
    """
    return tuple(_iter_fields(validator.graph))


class MergedSchema:
    """All subschemas that may apply to the same part of a value, merged into one.

    Args:
        graph: graph of the schema.
        starts: paths of the subschemas to start from; their references and alternatives are
            followed.

    Attributes:
        origins: paths of all merged subschemas.
        types: types that ``type`` names, or the types of the ``enum``/``const`` values.
        formats: values of ``format``.
        enumerated: whether ``enum`` or ``const`` is used.
        properties: property name → paths of its subschemas; names that the schema does not list
            are under ``OTHER_NAME``.
        required: names that are required by any of the alternatives.
        items: paths of the subschemas of an array's elements.
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
            self._merge_subschema(path, node)
            waiting += reversed(list(_same_value_paths(path, node)))
            if (target := graph.resolve_ref(path)) is not None:
                waiting.append(target)

    def _merge_subschema(self, path: Path, node: dict[str, Any]) -> None:
        named = node.get("type")
        self.types.update([named] if isinstance(named, str) else named or [])
        values = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
        if values:
            self.enumerated = True
            if named is None:
                self.types.update(map(_json_type_name, values))
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
            child = node.get(keyword)
            if isinstance(child, dict):
                self.items.append((*path, keyword))
            elif isinstance(child, list):
                self.items += [(*path, keyword, str(index)) for index in range(len(child))]

    @property
    def declared_types(self) -> tuple[str, ...]:
        """Declared types except null; derived from other keywords if there is no ``type``."""
        types = self.types - {"null"}
        if not types:
            types = {"object"} if self.properties else {"array"} if self.items else set()
        return tuple(name for name in TYPES if name in types)


def _same_value_paths(path: Path, node: dict[str, Any]) -> Iterator[Path]:
    """Yields the paths of subschemas inside ``node`` that apply to the same value."""
    for keyword in _ALTERNATIVE_KEYWORDS:
        for index in range(len(node.get(keyword, ()))):
            yield (*path, keyword, str(index))
    for keyword in _CONDITIONAL_KEYWORDS:
        yield (*path, keyword)
    for keyword in _DEPENDENT_KEYWORDS:
        for name in node.get(keyword, {}):
            yield (*path, keyword, name)


class _PendingPath(msgspec.Struct, frozen=True):
    starts: tuple[Path, ...]
    path: str
    objects: int
    """Number of enclosing objects."""
    required: bool
    above: tuple[frozenset[Path], ...]
    """Subschemas of the enclosing objects and arrays; used to detect recursion."""


def _iter_fields(graph: SchemaGraph) -> Iterator[SchemaField]:
    waiting = [_PendingPath(((),), "", 0, True, ())]
    given = 0
    while waiting and given < MAX_PATHS:
        pending = waiting.pop()
        merged = MergedSchema(graph, pending.starts)
        inner, array = merged, False
        path = pending.path
        above = pending.above
        # Descend to the element type of an array; nested arrays are handled in the same step.
        while inner.items and not inner.properties and path.count("[]") < MAX_LEVELS:
            above = (*above, frozenset(inner.origins))
            inner = MergedSchema(graph, tuple(inner.items))
            path += "[]"
            array = True
        is_recursive = any(inner.origins & origins for origins in above)
        opened = bool(inner.properties) and not is_recursive and pending.objects < MAX_LEVELS
        if pending.path or not opened or array:
            given += 1
            yield SchemaField(
                path=pending.path,
                kind="holder" if opened else "field",
                depth=max(pending.objects - 1, 0),
                required=pending.required,
                types=merged.declared_types,
                nullable="null" in merged.types,
                enumerated=merged.enumerated or inner.enumerated,
                formats=tuple(sorted(merged.formats | inner.formats)),
            )
        if opened:
            above = (*above, frozenset(inner.origins))
            children = [
                _PendingPath(
                    tuple(places),
                    f"{path}.{name}" if path else name,
                    pending.objects + 1,
                    name in inner.required,
                    above,
                )
                for name, places in inner.properties.items()
            ]
            waiting += reversed(children)


def _json_type_name(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return names.get(type(value), "object")
