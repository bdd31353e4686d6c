"""Builds the tree of schema nodes: name, types and matchers of each part of a value.

A *field* is a leaf: a scalar, or an array of scalars. Objects and arrays of objects consist of
fields. A field's path has ``[]`` for array elements; its depth is the number of enclosing objects,
not counting the outermost.
"""

from __future__ import annotations

import difflib
import json
import math
from typing import Any, Final

import msgspec

from eval.extraction.matchers.registry import (
    LIST_MATCHERS,
    MATCH_NAMES,
    NUMBER_MATCHERS,
    TEXT_MATCHERS,
)
from eval.extraction.schemas.complexity import Complexity, compute_complexity
from eval.extraction.schemas.schema_fields import OTHER_NAME, MergedSchema
from eval.extraction.schemas.schema_graph import Path, SchemaGraph, json_pointer
from eval.extraction.schemas.schema_validator import SchemaValidator
from eval.extraction.settings import DEFAULT_MATCHING
from kg.base.errors import SchemaError
from kg.words.plain_text import clean_text

MAX_LEVELS: Final = 200
"""Nesting below which any value counts as one field: each level takes two stack frames, so deeper
recursion could exceed Python's recursion limit."""

MAX_CACHED: Final = 1_000
"""Maximum number of cached child nodes that the schema does not name, and of cached schemas."""

MAX_CACHED_SUBSCHEMAS: Final = 200_000
"""Maximum number of subschemas of all cached schemas together."""

MAX_NAME_LENGTH: Final = 200
"""Maximum length of a key in a path; longer keys are cut."""

_FORMAT_MATCHERS = {
    **dict.fromkeys(("date", "date-time"), "date"),
    **dict.fromkeys(("email", "idn-email"), "email"),
    **dict.fromkeys(("uri", "iri", "uri-reference", "iri-reference"), "url"),
    **dict.fromkeys(("hostname", "idn-hostname", "ipv4", "ipv6", "duration"), "exact"),
    "time": "time",
    "uuid": "uuid",
}
"""Text matcher by format of the schema; texts of other formats are matched as plain text."""

_SPECIAL_CHARACTERS = frozenset('.[]"')


class SchemaNode:
    """What a schema says about one part of a value.

    Attributes:
        path: path of the part, as described in the module's docstring.
        name: the last key of the path.
        depth: depth of a field at this path.
        level: number of enclosing objects and arrays.
        required: whether the enclosing object must have it.
        declared: whether the schema declares it.
        types: JSON types the schema allows, without null; empty if unspecified.
        nullable: whether the schema allows null.
        allowed: the values it must be one of, as canonical JSON; ``None`` if unrestricted.
        formats: formats it must have.
        ignored: whether the schema excludes it from all comparison.
        text_matcher: name of the matcher for texts.
        number_matcher: name of the matcher for numbers.
        array_matcher: name of the matcher for arrays; empty if the settings decide.
        identical_text: result of comparing a text with itself.
        tolerance: the field's own tolerance, else ``None``.
        keys: keys of an object that the schema names, in its order (a dict as an ordered set).
    """

    def __init__(
        self, graph: SchemaGraph, starts: tuple[Path, ...], path: str, name: str, **around: int
    ) -> None:
        """Merges the subschemas at ``starts``, which is empty if the schema does not declare it."""
        merged = MergedSchema(graph, starts)
        # Sorted, since the iteration order of a set of strings differs between processes.
        nodes = [graph.subschemas[origin].node for origin in sorted(merged.origins)]
        self.path: Final = path
        self.name: Final = name
        self.objects: Final = around.get("objects", 0)
        self.level: Final = around.get("level", 0)
        self.depth: Final = max(self.objects - 1, 0)
        self.required: Final = bool(around.get("required", True))
        self.declared: Final = bool(starts)
        self.types: Final = merged.declared_types if starts else ()
        self.nullable: Final = "null" in merged.types
        self.formats: Final = tuple(sorted(merged.formats))
        self.allowed: Final = _allowed_values(nodes)
        match = str(_first_keyword(nodes, "x-match") or "")
        tolerance = _first_keyword(nodes, "x-tolerance")
        self.tolerance: Final = None if tolerance is None else float(tolerance)
        self.ignored: Final = match == "ignore"
        self.text_matcher: Final = self._select_text_matcher(match)
        self.number_matcher: Final = self._select_number_matcher(match)
        self.identical_text: Final = TEXT_MATCHERS[self.text_matcher](
            "", "", DEFAULT_MATCHING, None
        )
        unique = any(node.get("uniqueItems") is True for node in nodes)
        self.array_matcher: Final = match if match in LIST_MATCHERS else "set" if unique else ""
        self._graph: Final = graph
        self._merged: Final = merged
        self._children: Final[dict[str, SchemaNode]] = {}
        self._element: SchemaNode | None = None
        self._members: tuple[tuple[str, SchemaNode], ...] | None = None
        self.keys: Final = dict.fromkeys(key for key in merged.properties if key != OTHER_NAME)

    def get_child(self, key: str) -> SchemaNode:
        """Returns the node of ``key`` in an object."""
        child = self._children.get(key)
        if child is not None:
            return child
        named = self._merged.properties
        starts = named.get(key) or named.get(OTHER_NAME) or []
        child = SchemaNode(
            self._graph,
            tuple(starts),
            f"{self.path}{_path_step(key, first=not self.path)}",
            _printable_key(key),
            objects=self.objects + 1,
            level=self.level + 1,
            required=key in self._merged.required,
        )
        if len(self._children) < max(MAX_CACHED, len(self.keys)):
            self._children[key] = child
        return child

    @property
    def members(self) -> tuple[tuple[str, SchemaNode], ...]:
        """The keys that the schema names, with their nodes."""
        if self._members is None:
            self._members = tuple((key, self.get_child(key)) for key in self.keys)
        return self._members

    def get_element(self) -> SchemaNode:
        """Returns the node of the elements of an array."""
        if self._element is None:
            self._element = SchemaNode(
                self._graph,
                tuple(self._merged.items),
                f"{self.path}[]",
                self.name,
                objects=self.objects,
                level=self.level + 1,
                required=self.required,
            )
        return self._element

    def has_choice(self, value: Any) -> bool:
        """Returns whether ``value`` is one of the values that the schema allows (enum, const)."""
        return self.allowed is not None and encode_json(value) in self.allowed

    def _select_text_matcher(self, match: str) -> str:
        if match in TEXT_MATCHERS:
            return match
        if self.allowed is not None:
            return "exact"
        return next(
            (_FORMAT_MATCHERS[name] for name in self.formats if name in _FORMAT_MATCHERS), "partial"
        )

    def _select_number_matcher(self, match: str) -> str:
        if match in NUMBER_MATCHERS:
            return match
        if self.tolerance is not None and self.allowed is None:
            return "numeric"
        is_whole = "integer" in self.types and "number" not in self.types
        return "exact" if is_whole or self.allowed is not None else "numeric"


class SchemaPlan(msgspec.Struct, frozen=True):
    """Everything that scoring needs to know about a schema."""

    validator: SchemaValidator
    root: SchemaNode
    complexity: Complexity


_by_identity: dict[int, tuple[dict[str, Any], SchemaPlan]] = {}


def get_schema_plan(schema: dict[str, Any]) -> SchemaPlan:
    """Returns the plan of a schema; schemas with equal content share one plan.

    Plans are cached by the identity of the schema, so the schema must not be modified.

    Raises:
        SchemaError: the schema cannot be used, or names a matcher that does not exist.
    """
    cached = _by_identity.get(id(schema))
    if cached is not None and cached[0] is schema:
        return cached[1]
    check = SchemaValidator.from_schema(schema)
    # Equal schemas share one validator, and so one plan.
    cached = _by_identity.get(id(check.schema))
    if cached is not None and cached[0] is check.schema:
        plan = cached[1]
    else:
        _check_extensions(check.graph)
        plan = SchemaPlan(
            check, SchemaNode(check.graph, ((),), "", ""), compute_complexity(check.schema)
        )
    size = sum(len(entry.validator.graph.subschemas) for _, entry in _by_identity.values())
    if len(_by_identity) >= MAX_CACHED or size > MAX_CACHED_SUBSCHEMAS:
        _by_identity.clear()
    _by_identity[id(schema)] = (schema, plan)
    _by_identity[id(check.schema)] = (check.schema, plan)
    return plan


def check_matchers(schema: dict[str, Any]) -> None:
    """Checks the keywords ``x-match`` and ``x-tolerance`` of a schema.

    Raises:
        SchemaError: ``x-match`` names an unknown matcher, ``x-tolerance`` is not a number of at
            least 0, or the schema cannot be used.
    """
    _check_extensions(SchemaValidator.from_schema(schema).graph)


def _check_extensions(graph: SchemaGraph) -> None:
    for path, subschema in graph.subschemas.items():
        match = subschema.node.get("x-match", "partial")
        if not isinstance(match, str) or match not in MATCH_NAMES:
            near = difflib.get_close_matches(str(match)[:MAX_NAME_LENGTH], MATCH_NAMES, 1)
            raise SchemaError(
                f"x-match {clean_text(str(match))!r} names an unknown matcher",
                where=json_pointer(path),
                hint=f"Did you mean {near[0]}?" if near else f"Use {', '.join(MATCH_NAMES)}.",
            )
        tolerance = subschema.node.get("x-tolerance", 0)
        if (
            isinstance(tolerance, bool)
            or not isinstance(tolerance, int | float)
            or not 0 <= tolerance <= 1e9
            or math.isnan(tolerance)
        ):
            raise SchemaError(
                "x-tolerance must be a number of at least 0",
                where=json_pointer(path),
                hint="It is a share of the expected number or, for dates, a number of days.",
            )


def encode_json(value: Any) -> str:
    """Encodes a value as JSON: equal for 1 and 1.0, different for true and 1, and for 1 and "1"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)


def _allowed_values(nodes: list[dict[str, Any]]) -> frozenset[str] | None:
    matches = [
        value
        for node in nodes
        for value in (*node.get("enum", ()), *([node["const"]] if "const" in node else ()))
    ]
    return frozenset(map(encode_json, matches)) if matches else None


def _first_keyword(nodes: list[dict[str, Any]], keyword: str) -> Any:
    """Returns the value of a keyword in the first subschema that has it."""
    return next((node[keyword] for node in nodes if keyword in node), None)


def _printable_key(key: str) -> str:
    """Makes a key printable: cut to the maximum length, without control characters."""
    if len(key) > MAX_NAME_LENGTH:
        key = key[: MAX_NAME_LENGTH - 1] + "…"
    return key if key.isprintable() else clean_text(key, MAX_NAME_LENGTH)


def _path_step(key: str, *, first: bool) -> str:
    """Formats a key as a step of a path, in brackets and quotes if it would be ambiguous."""
    if key and key.isprintable() and not _SPECIAL_CHARACTERS.intersection(key):
        return _printable_key(key) if first else f".{_printable_key(key)}"
    return f"[{json.dumps(key[:MAX_NAME_LENGTH])}]"
