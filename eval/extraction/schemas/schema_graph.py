"""Builds the graph of a JSON Schema's subschemas and bounds the cost of validating with it.

Keywords such as ``properties`` lead to subschemas for a *part* of the value, keywords such as
``anyOf`` and ``$ref`` to subschemas for the *same* value. Only the second kind can recurse
infinitely or multiply without the value getting larger, so these are counted here, before a
validator is built. References are resolved as in JSON Schema (``$id``, ``$anchor``, JSON Pointer);
a reference to another document is an error and is not fetched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin

import msgspec

from kg.base.errors import SchemaError
from kg.base.plain_text import clean_text

# Keywords that contain subschemas. The first part of a name says what these apply to: SAME_VALUE,
# the value of the schema itself; PART, a part of that value; DEFINITION, only where referenced. The
# last part says what the keyword contains: a SINGLE subschema, a LIST or a MAP of subschemas.
SAME_VALUE_SINGLE: Final = frozenset({"not", "if", "then", "else"})
SAME_VALUE_LIST: Final = frozenset({"allOf", "anyOf", "oneOf"})
SAME_VALUE_MAP: Final = frozenset({"dependentSchemas", "dependencies"})
PART_SINGLE: Final = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "items",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
PART_LIST: Final = frozenset({"items", "prefixItems"})
PART_MAP: Final = frozenset({"patternProperties", "properties"})
DEFINITION_MAP: Final = frozenset({"$defs", "definitions"})

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")

MAX_CHECKS_PER_VALUE: Final = 2**14
"""Maximum number of subschemas that may apply to one value. A subschema that is reached in several
ways counts several times, since each may cost one check."""

Path = tuple[str, ...]
"""Path of a subschema: the keys and indexes that lead to it from the root."""


class Subschema(msgspec.Struct):
    """One subschema, with the paths of the subschemas it leads to."""

    node: dict[str, Any]
    base: str
    """Base URI against which its references are resolved."""
    same_value: list[Path]
    """Subschemas for the same value."""
    parts: list[Path]
    """Subschemas for parts of the value."""


class SchemaGraph:
    """All subschemas of one schema that are reachable from its root, by path.

    Args:
        schema: a JSON object that is not nested deeper than Python's recursion limit.
        name_keyword: the keyword that names a subschema: ``$id``, or ``id`` in Draft-04.

    Raises:
        SchemaError: a reference has no target in the document, or leads back to itself without
            descending into the value; or more than ``MAX_CHECKS_PER_VALUE`` subschemas apply to
            one value.
    """

    def __init__(self, schema: dict[str, Any], *, name_keyword: str = "$id") -> None:
        self._root = schema
        self._name_keyword = name_keyword
        self._resources: dict[str, Path] = {"": ()}
        self._anchors: dict[tuple[str, str], list[Path]] = {}
        self.subschemas: dict[Path, Subschema] = {}
        self._add_subschemas((), schema, "")
        self._follow_references()
        self.checks_per_value: Final = self._max_same_value_count(_is_any_subschema)
        """Maximum number of checks of one value, without those of its parts."""
        self.checks_per_part: Final = max(1, self._max_same_value_count(_has_parts))
        """Maximum number of times that a part is checked when its parent is checked once."""

    def resolve_ref(self, path: Path) -> Path | None:
        """Returns the path that the ``$ref`` of a subschema leads to; ``None`` if it has none.

        Raises:
            SchemaError: the reference has no target in the document.
        """
        subschema = self.subschemas[path]
        reference = subschema.node.get("$ref")
        return (
            self._resolve_reference(reference, subschema.base)[0]
            if isinstance(reference, str)
            else None
        )

    def _add_subschemas(self, path: Path, node: dict[str, Any], base: str) -> None:
        """Adds ``node`` and all subschemas inside it, with an explicit stack, not recursively."""
        stack = [(path, node, base)]
        while stack:
            path, node, base = stack.pop()
            if path in self.subschemas:
                continue
            base = self._register_names(path, node, base)
            same_value, parts, definitions = _child_subschemas(node)
            self.subschemas[path] = Subschema(
                node,
                base,
                [(*path, *suffix) for suffix, _ in same_value],
                [(*path, *suffix) for suffix, _ in parts],
            )
            stack += [
                ((*path, *suffix), child, base)
                for suffix, child in (*same_value, *parts, *definitions)
            ]

    def _register_names(self, path: Path, node: dict[str, Any], base: str) -> str:
        """Records a subschema's ``$id`` and anchors; returns the base URI inside it."""
        name = node.get(self._name_keyword)
        if isinstance(name, str):
            address, fragment = urldefrag(name)
            if address:
                base = _join_uri(base, address)
                self._resources.setdefault(base, path)
            if fragment and not fragment.startswith("/"):  # Draft-07 anchor: {"$id": "#a"}
                self._anchors.setdefault((base, fragment), []).append(path)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := node.get(keyword), str):
                self._anchors.setdefault((base, anchor), []).append(path)
        return base

    def _follow_references(self) -> None:
        """Links every subschema with the targets of its references.

        A target may be added to ``subschemas`` only now (a JSON Pointer can lead anywhere), so this
        repeats until no new subschema appears.
        """
        n_followed = 0
        while n_followed < len(self.subschemas):
            for path in list(self.subschemas)[n_followed:]:
                subschema = self.subschemas[path]
                for keyword in REFERENCES:
                    if isinstance(reference := subschema.node.get(keyword), str):
                        subschema.same_value += self._resolve_reference(
                            reference, subschema.base, keyword
                        )
                n_followed += 1

    def _resolve_reference(self, reference: str, base: str, keyword: str = "$ref") -> list[Path]:
        """Returns the paths a reference may lead to; several only for a dynamic reference."""
        address, fragment = urldefrag(_join_uri(base, reference))
        start = self._resources.get(address)
        if start is None:
            raise SchemaError(
                f"{keyword} {clean_text(reference)!r} leads out of the schema",
                hint="References are never fetched; put the referenced schema under $defs.",
            )
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            targets = self._anchors.get((address, fragment), [])
            if keyword == "$dynamicRef":
                targets = [
                    path
                    for (_, name), paths in self._anchors.items()
                    if name == fragment
                    for path in paths
                ]
        else:
            targets = self._resolve_pointer(start, fragment)
            if keyword == "$recursiveRef":
                targets = list(dict.fromkeys([*targets, *self._resources.values()]))
        if not targets:
            raise SchemaError(
                f"{keyword} {clean_text(reference)!r} leads nowhere",
                hint="It must name a part of the same schema, such as #/$defs/address.",
            )
        return targets

    def _resolve_pointer(self, start: Path, pointer: str) -> list[Path]:
        node: Any = self._root
        path = start
        for step in start:
            node = node[int(step)] if isinstance(node, list) else node[step]
        base = self.subschemas[start].base
        for escaped_step in pointer.split("/")[1:]:
            step = escaped_step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and step.isascii() and step.isdigit():
                if int(step) >= len(node):
                    return []
                node = node[int(step)]
            elif isinstance(node, dict) and step in node:
                node = node[step]
            else:
                return []
            path = (*path, step)
            if path in self.subschemas:
                base = self.subschemas[path].base
        # A boolean schema accepts or rejects every value; it has no subschemas.
        if isinstance(node, bool):
            node = {}
        if not isinstance(node, dict):
            return []
        self._add_subschemas(path, node, base)
        return [path]

    def _max_same_value_count(self, is_counted: Callable[[Subschema], bool]) -> int:
        """Returns the maximum number of counted subschemas that apply to one value.

        Args:
            is_counted: decides whether a subschema is counted.

        Raises:
            SchemaError: there are too many, or they form a cycle.
        """
        check_counts: dict[Path, int] = {}
        for path in _iter_postorder(self.subschemas):
            subschema = self.subschemas[path]
            check_counts[path] = is_counted(subschema) + sum(
                check_counts[target] for target in subschema.same_value
            )
            if check_counts[path] > MAX_CHECKS_PER_VALUE:
                raise SchemaError(
                    f"more than {MAX_CHECKS_PER_VALUE:,} subschemas apply to one and the same "
                    "value",
                    where=json_pointer(path),
                    hint="List each alternative once.",
                )
        return max(check_counts.values())

    def bound_checks(self, depth: int) -> float:
        """Returns an upper bound of the checks of each part of a value; may be infinite.

        Args:
            depth: number of levels of objects and arrays in the value.
        """
        try:
            return self.checks_per_value * float(self.checks_per_part) ** depth
        except OverflowError:  # floats reach 1e308: 600 alternatives on 112 levels exceed it
            return math.inf


def _is_any_subschema(_: Subschema) -> bool:
    return True


def _has_parts(subschema: Subschema) -> bool:
    return bool(subschema.parts)


def _iter_postorder(subschemas: dict[Path, Subschema]) -> Iterator[Path]:
    """Yields all paths, each after the paths it leads to for the same value (postorder)."""
    is_on_stack: dict[Path, bool] = {}
    for first_path in subschemas:
        if first_path in is_on_stack:
            continue
        is_on_stack[first_path] = True
        stack = [(first_path, iter(subschemas[first_path].same_value))]
        while stack:
            path, remaining = stack[-1]
            target = next(remaining, None)
            if target is None:
                is_on_stack[path] = False
                stack.pop()
                yield path
            elif target not in is_on_stack:
                is_on_stack[target] = True
                stack.append((target, iter(subschemas[target].same_value)))
            elif is_on_stack[target]:
                raise SchemaError(
                    "a $ref leads back to itself without descending into the value",
                    where=json_pointer(path),
                    hint="Recursion must pass through properties or items.",
                )


Child = tuple[Path, dict[str, Any]]


def _child_subschemas(node: dict[str, Any]) -> tuple[list[Child], list[Child], list[Child]]:
    """Returns the direct subschemas: for the same value, for parts of it, and definitions."""
    same_value: list[Child] = []
    parts: list[Child] = []
    definitions: list[Child] = []
    for keyword, value in node.items():
        if isinstance(value, dict):
            if keyword in SAME_VALUE_SINGLE:
                same_value.append(((keyword,), value))
            elif keyword in PART_SINGLE:
                parts.append(((keyword,), value))
            elif keyword in SAME_VALUE_MAP | PART_MAP | DEFINITION_MAP:
                if keyword in SAME_VALUE_MAP:
                    group = same_value
                elif keyword in PART_MAP:
                    group = parts
                else:
                    group = definitions
                group += [
                    ((keyword, name), child)
                    for name, child in value.items()
                    if isinstance(child, dict)
                ]
        elif isinstance(value, list) and keyword in SAME_VALUE_LIST | PART_LIST:
            group = same_value if keyword in SAME_VALUE_LIST else parts
            group += [
                ((keyword, str(index)), child)
                for index, child in enumerate(value)
                if isinstance(child, dict)
            ]
    return same_value, parts, definitions


def _join_uri(base: str, reference: str) -> str:
    # urljoin does not support urn: and unknown schemes; for those only fragments can be relative.
    if reference.startswith("#"):
        return base + reference
    try:
        return urljoin(base, reference)
    except ValueError as error:
        raise SchemaError(
            f"{clean_text(reference)!r} is not a URI reference", hint="See RFC 3986 for the syntax."
        ) from error


def json_pointer(path: Path) -> str:
    """Formats ``path`` as a JSON Pointer (RFC 6901); the root is the empty string."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)
