"""Flattens a JSON Schema into the paths and fields that it declares.

A *field* is a leaf: a scalar, an array of scalars, or an object that declares no properties. An
object with properties, or an array of such objects, is a path but not a field (a *holder*). The
alternatives of ``anyOf`` and similar keywords are merged, since a value may have the fields of any
of them.
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
        types: types that ``type`` names; without ``type``, those of the ``enum``/``const`` values.
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
        pending_paths = list(reversed(starts))
        while pending_paths:
            path = pending_paths.pop()
            if path in self.origins or path not in graph.subschemas:
                continue
            self.origins.add(path)
            node = graph.subschemas[path].node
            self._merge_subschema(path, node)
            pending_paths += reversed(list(_same_value_paths(path, node)))
            if (target := graph.resolve_ref(path)) is not None:
                pending_paths.append(target)

    def _merge_subschema(self, path: Path, node: dict[str, Any]) -> None:
        declared_type = node.get("type")
        self.types.update(
            [declared_type] if isinstance(declared_type, str) else declared_type or []
        )
        values = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
        if values:
            self.enumerated = True
            if declared_type is None:
                self.types.update(map(_json_type_name, values))
        if "format" in node:
            self.formats.add(node["format"])
        self.required.update(node.get("required", ()))
        for name in node.get("properties", {}):
            self.properties.setdefault(name, []).append((*path, "properties", name))
        for pattern in node.get("patternProperties", {}):
            subschema_path = (*path, "patternProperties", pattern)
            self.properties.setdefault(OTHER_NAME, []).append(subschema_path)
        if isinstance(node.get("additionalProperties"), dict):
            subschema_path = (*path, "additionalProperties")
            self.properties.setdefault(OTHER_NAME, []).append(subschema_path)
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


class _PendingField(msgspec.Struct, frozen=True):
    """A path that is still to be flattened."""

    starts: tuple[Path, ...]
    """Paths of its subschemas."""
    path: str
    """As in ``SchemaField``."""
    objects: int
    """Number of enclosing objects."""
    required: bool
    above: tuple[frozenset[Path], ...]
    """Subschemas of the enclosing objects and arrays; used to detect recursion."""


def _iter_fields(graph: SchemaGraph) -> Iterator[SchemaField]:
    """Yields all paths depth-first, in the order of the schema; see ``list_schema_fields``."""
    stack = [_PendingField(((),), "", 0, True, ())]
    n_yielded = 0
    while stack and n_yielded < MAX_PATHS:
        pending = stack.pop()
        merged = MergedSchema(graph, pending.starts)
        element, is_array = merged, False
        path = pending.path
        above = pending.above
        # Descend to the element type of an array; nested arrays are handled in the same step.
        while element.items and not element.properties and path.count("[]") < MAX_LEVELS:
            above = (*above, frozenset(element.origins))
            element = MergedSchema(graph, tuple(element.items))
            path += "[]"
            is_array = True
        is_recursive = any(element.origins & origins for origins in above)
        has_children = (
            bool(element.properties) and not is_recursive and pending.objects < MAX_LEVELS
        )
        if pending.path or not has_children or is_array:
            n_yielded += 1
            yield SchemaField(
                path=pending.path,
                kind="holder" if has_children else "field",
                depth=max(pending.objects - 1, 0),
                required=pending.required,
                types=merged.declared_types,
                nullable="null" in merged.types,
                enumerated=merged.enumerated or element.enumerated,
                formats=tuple(sorted(merged.formats | element.formats)),
            )
        if has_children:
            above = (*above, frozenset(element.origins))
            children = [
                _PendingField(
                    tuple(subschema_paths),
                    f"{path}.{name}" if path else name,
                    pending.objects + 1,
                    name in element.required,
                    above,
                )
                for name, subschema_paths in element.properties.items()
            ]
            stack += reversed(children)


def _json_type_name(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return names.get(type(value), "object")
