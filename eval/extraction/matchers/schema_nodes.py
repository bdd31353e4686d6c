"""Builds the tree of schema nodes: name, types and matchers of each part of a value.

A *field* is a leaf: a scalar, or an array of scalars. Objects and arrays of objects consist of
fields. In a field's path, ``[]`` stands for any element of an array. A field's depth is the number
of enclosing objects, not counting the outermost.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterator
from itertools import islice
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
from eval.extraction.settings import DEFAULT_MATCHING, Matching
from kg.base.errors import SchemaError
from kg.base.plain_text import clean_text

MAX_LEVELS: Final = 200
"""Maximum nesting; any value below it counts as one field. Each level takes two stack frames, so
deeper recursion could exceed Python's recursion limit."""

ALTERNATIVES: Final = "$any"
"""Only key of an object in the expected output that lists several right values of one field."""

MAX_LEAF_LEVELS: Final = 3
"""Number of levels of objects in which the fields of a missing object are counted."""

MAX_LEAVES: Final = 200
"""Number of these fields that are counted."""

MAX_CACHED: Final = 1_000
"""Maximum number of cached schemas, and of cached child nodes of a node, unless the schema itself
names more keys."""

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
        objects: number of enclosing objects.
        level: number of enclosing objects and arrays.
        required: whether the enclosing object must have the part.
        declared: whether the schema declares the part.
        types: JSON types that the schema allows, without null; empty if unspecified.
        nullable: whether the schema allows null.
        allowed: the allowed values (enum, const) as canonical JSON; ``None`` if unrestricted.
        has_pattern: whether the schema says by a pattern what a text looks like.
        has_twins: whether two of the allowed texts differ only in case or spacing.
        formats: formats that the schema requires.
        ignored: whether the schema excludes the part from all comparisons.
        is_literal: whether the schema asks for the strict reading of the part.
        text_matcher: name of the matcher for texts.
        number_matcher: name of the matcher for numbers.
        array_matcher: name of the matcher for arrays; empty if the schema does not decide it.
        is_element: whether the part is an element of an array.
        identical_text: result of comparing a text with itself.
        tolerance: value of ``x-tolerance``, else ``None``.
        keys: keys of an object that the schema names, in the schema's order (a dict as an ordered
            set).
    """

    def __init__(
        self,
        graph: SchemaGraph,
        subschema_paths: tuple[Path, ...],
        path: str,
        name: str,
        **position: int,
    ) -> None:
        """Merges the subschemas that apply to the part.

        Args:
            graph: the schema.
            subschema_paths: paths of the subschemas; empty if the schema does not declare the part.
            path: as the attribute.
            name: as the attribute.
            **position: the attributes ``objects``, ``level``, ``required`` and ``is_element``.
        """
        merged = MergedSchema(graph, subschema_paths)
        # Sorted, since the iteration order of a set of strings differs between processes.
        nodes = [graph.subschemas[origin].node for origin in sorted(merged.origins)]
        self.path: Final = path
        self.name: Final = name
        self.objects: Final = position.get("objects", 0)
        self.level: Final = position.get("level", 0)
        self.depth: Final = max(self.objects - 1, 0)
        self.required: Final = bool(position.get("required", True))
        self.is_element: Final = bool(position.get("is_element", False))
        self.declared: Final = bool(subschema_paths)
        self.types: Final = merged.declared_types if subschema_paths else ()
        self.nullable: Final = "null" in merged.types
        self.formats: Final = tuple(sorted(merged.formats))
        self.allowed: Final = _collect_allowed_values(nodes)
        self.has_pattern: Final = _find_keyword(nodes, "pattern") is not None
        self.has_twins: Final = self.allowed is not None and _have_twins(self.allowed)
        x_match = str(_find_keyword(nodes, "x-match") or "")
        tolerance = _find_keyword(nodes, "x-tolerance")
        self.tolerance: Final = None if tolerance is None else float(tolerance)
        self.ignored: Final = x_match == "ignore"
        self.is_literal: Final = x_match == "literal"
        self.text_matcher: Final = self._select_text_matcher(x_match)
        self.number_matcher: Final = self._select_number_matcher(x_match)
        self.identical_text: Final = TEXT_MATCHERS[self.text_matcher](
            "", "", DEFAULT_MATCHING, None
        )
        self.array_matcher: Final = (
            x_match if x_match in LIST_MATCHERS else _find_array_matcher(nodes)
        )
        self._graph: Final = graph
        self._merged: Final = merged
        self._children: Final[dict[str, SchemaNode]] = {}
        self._element: SchemaNode | None = None
        self._members: tuple[tuple[str, SchemaNode], ...] | None = None
        self._leaves: tuple[SchemaNode, ...] | None = None
        self.keys: Final = dict.fromkeys(key for key in merged.properties if key != OTHER_NAME)

    def get_child(self, key: str) -> SchemaNode:
        """Returns the node of ``key`` in an object."""
        child = self._children.get(key)
        if child is not None:
            return child
        declared = self._merged.properties
        subschema_paths = declared.get(key) or declared.get(OTHER_NAME) or []
        child = SchemaNode(
            self._graph,
            tuple(subschema_paths),
            f"{self.path}{_format_path_step(key, first=not self.path)}",
            _make_printable(key),
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
                is_element=True,
            )
        return self._element

    @property
    def leaves(self) -> tuple[SchemaNode, ...]:
        """The declared fields of this part that a missing value lacks.

        An array is one field, and so is what lies deeper than ``MAX_LEAF_LEVELS`` objects.
        """
        if self._leaves is None:
            self._leaves = tuple(islice(self._iter_leaves(MAX_LEAF_LEVELS), MAX_LEAVES))
        return self._leaves

    def _iter_leaves(self, levels: int) -> Iterator[SchemaNode]:
        if self.ignored:
            return
        if not self.keys or not levels:
            yield self
            return
        for _, child in self.members:
            yield from child._iter_leaves(levels - 1)

    def get_array_matcher(self, matching: Matching, *values: Any) -> str:
        """Returns the matcher for an array: the schema's, else ``list`` where positions matter.

        They do for rows of a table, which are elements of an array themselves, for numbers
        (coordinates, series), and everywhere if the settings say so.

        Args:
            matching: the settings.
            *values: the array, of one side or both.
        """
        if self.array_matcher:
            return self.array_matcher
        is_list = matching.ordered_arrays or self.is_element or any(map(_has_only_numbers, values))
        return "list" if is_list else "bag"

    def has_choice(self, value: Any) -> bool:
        """Returns whether ``value`` is one of the values that the schema allows (enum, const)."""
        return self.allowed is not None and encode_json(value) in self.allowed

    def are_two_choices(self, first: Any, second: Any) -> bool:
        """Returns whether two scalars are two of the allowed values.

        Values of an enum that differ in case or type are meant to be different.
        """
        return (
            self.allowed is not None
            and not isinstance(first, list | dict)
            and not isinstance(second, list | dict)
            and self.has_choice(first)
            and self.has_choice(second)
            and encode_json(first) != encode_json(second)
        )

    def _select_text_matcher(self, x_match: str) -> str:
        if x_match in TEXT_MATCHERS:
            return x_match
        if self.allowed is not None:
            return "exact"
        return next(
            (_FORMAT_MATCHERS[name] for name in self.formats if name in _FORMAT_MATCHERS), "partial"
        )

    def _select_number_matcher(self, x_match: str) -> str:
        if x_match in NUMBER_MATCHERS:
            return x_match
        if self.tolerance is not None and self.allowed is None:
            return "numeric"
        needs_integer = "integer" in self.types and "number" not in self.types
        return "exact" if needs_integer or self.allowed is not None else "number"


class SchemaPlan(msgspec.Struct, frozen=True):
    """Everything that scoring needs to know about a schema."""

    validator: SchemaValidator
    root: SchemaNode
    complexity: Complexity


_plans_by_schema_id: dict[int, tuple[dict[str, Any], SchemaPlan]] = {}


def get_schema_plan(schema: dict[str, Any]) -> SchemaPlan:
    """Returns the plan of a schema; schemas with equal content share one plan.

    Plans are cached by the identity of the schema object, so it must not be modified afterwards.

    Raises:
        SchemaError: the schema cannot be used, or names a matcher that does not exist.
    """
    cache_entry = _plans_by_schema_id.get(id(schema))
    if cache_entry is not None and cache_entry[0] is schema:
        return cache_entry[1]
    validator = SchemaValidator.from_schema(schema)
    # Equal schemas share one validator, and so one plan.
    cache_entry = _plans_by_schema_id.get(id(validator.schema))
    if cache_entry is not None and cache_entry[0] is validator.schema:
        plan = cache_entry[1]
    else:
        _check_extensions(validator.graph)
        plan = SchemaPlan(
            validator,
            SchemaNode(validator.graph, ((),), "", ""),
            compute_complexity(validator.schema),
        )
    n_subschemas = sum(
        len(entry.validator.graph.subschemas) for _, entry in _plans_by_schema_id.values()
    )
    if len(_plans_by_schema_id) >= MAX_CACHED or n_subschemas > MAX_CACHED_SUBSCHEMAS:
        _plans_by_schema_id.clear()
    _plans_by_schema_id[id(schema)] = (schema, plan)
    _plans_by_schema_id[id(validator.schema)] = (validator.schema, plan)
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
        x_match = subschema.node.get("x-match", "partial")
        if not isinstance(x_match, str) or x_match not in MATCH_NAMES:
            suggestions = difflib.get_close_matches(str(x_match)[:MAX_NAME_LENGTH], MATCH_NAMES, 1)
            raise SchemaError(
                f"x-match {clean_text(str(x_match))!r} names an unknown matcher",
                where=json_pointer(path),
                hint=f"Did you mean {suggestions[0]}?"
                if suggestions
                else f"Use {', '.join(MATCH_NAMES)}.",
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
    """Encodes a value as canonical JSON.

    The result is equal for 1 and 1.0, but different for 1, true and "1".
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)


def _collect_allowed_values(nodes: list[dict[str, Any]]) -> frozenset[str] | None:
    values = [
        value
        for node in nodes
        for value in (*node.get("enum", ()), *([node["const"]] if "const" in node else ()))
    ]
    return frozenset(map(encode_json, values)) if values else None


def _have_twins(allowed: frozenset[str]) -> bool:
    texts = [json.loads(value) for value in allowed if value.startswith('"')]
    return len({" ".join(text.casefold().split()) for text in texts}) < len(texts)


def _find_array_matcher(nodes: list[dict[str, Any]]) -> str:
    """Returns ``set`` for unique items, ``list`` where the schema gives each position a meaning."""
    for node in nodes:
        if node.get("uniqueItems") is True:
            return "set"
        if "prefixItems" in node or isinstance(node.get("items"), list):
            return "list"
        length = node.get("minItems")
        if isinstance(length, int) and length > 1 and length == node.get("maxItems"):
            return "list"
    return ""


def _has_only_numbers(value: Any) -> bool:
    """Returns whether a value is an array of numbers or booleans, some of which may be null."""
    return isinstance(value, list) and bool(value) and _NUMBER_TYPES.issuperset(map(type, value))


_NUMBER_TYPES: Final = frozenset((int, float, bool, type(None)))


def _find_keyword(nodes: list[dict[str, Any]], keyword: str) -> Any:
    """Returns the value of a keyword in the first subschema that has it."""
    return next((node[keyword] for node in nodes if keyword in node), None)


def _make_printable(key: str) -> str:
    """Makes a key printable: cut to the maximum length, without control characters."""
    if len(key) > MAX_NAME_LENGTH:
        key = key[: MAX_NAME_LENGTH - 1] + "…"
    return key if key.isprintable() else clean_text(key, MAX_NAME_LENGTH)


def _format_path_step(key: str, *, first: bool) -> str:
    """Formats a key as a step of a path, in brackets and quotes if it would be ambiguous."""
    if key and key.isprintable() and not _SPECIAL_CHARACTERS.intersection(key):
        return _make_printable(key) if first else f".{_make_printable(key)}"
    return f"[{json.dumps(key[:MAX_NAME_LENGTH])}]"
