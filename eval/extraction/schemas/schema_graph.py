"""Builds the graph of a JSON Schema's subschemas and bounds the cost of validating with it.

Keywords such as ``properties`` lead to subschemas for a *part* of the value, keywords such as
``anyOf`` and ``$ref`` to subschemas for the *same* value. Only the second kind can recurse
infinitely or multiply without the value getting larger, so these are counted here, before a
validator is built. References are resolved as in JSON Schema (``$id``, ``$anchor``, JSON Pointer);
a reference to another document is an error and is not fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin

import msgspec

from kg.base.errors import SchemaError
from kg.words.plain_text import clean_text

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
"""Keywords by content (one subschema, a list, a map) and by the value that it applies to: the same
value or a part of it. Definitions apply only where they are referenced."""

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")

MAX_CHECKS_PER_VALUE: Final = 2**14
"""Maximum number of subschemas that may apply to one value, counting repetitions; each may cost one
check."""

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

    Raises:
        SchemaError: a reference has no target in the document, or leads back to itself without
            descending into the value; or more than ``MAX_CHECKS_PER_VALUE`` subschemas apply to
            one value.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        self._root = schema
        self._resources: dict[str, Path] = {"": ()}
        self._anchors: dict[tuple[str, str], list[Path]] = {}
        self.subschemas: dict[Path, Subschema] = {}
        self._add_subschemas((), schema, "")
        self._follow_references()
        self.checks_per_value: Final = self._max_same_value_count(_is_any_subschema)
        """Maximum number of checks for one value, not counting its parts."""
        self.checks_per_part: Final = max(1, self._max_same_value_count(_has_parts))
        """Maximum number of times a part is checked for each time its parent is."""

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
        waiting = [(path, node, base)]
        while waiting:
            path, node, base = waiting.pop()
            if path in self.subschemas:
                continue
            base = self._register_names(path, node, base)
            same, parts, aside = _child_subschemas(node)
            self.subschemas[path] = Subschema(
                node, base, [(*path, *to) for to, _ in same], [(*path, *to) for to, _ in parts]
            )
            waiting += [((*path, *to), child, base) for to, child in (*same, *parts, *aside)]

    def _register_names(self, path: Path, node: dict[str, Any], base: str) -> str:
        """Records a subschema's ``$id`` and anchors; returns the base URI inside it."""
        name = node.get("$id")
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
        done = 0
        while done < len(self.subschemas):
            for path in list(self.subschemas)[done:]:
                subschema = self.subschemas[path]
                for keyword in REFERENCES:
                    if isinstance(reference := subschema.node.get(keyword), str):
                        subschema.same_value += self._resolve_reference(
                            reference, subschema.base, keyword
                        )
                done += 1

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
        for raw in pointer.split("/")[1:]:
            step = raw.replace("~1", "/").replace("~0", "~")
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
        if isinstance(
            node, bool
        ):  # a boolean schema accepts or rejects every value; it has no subschemas
            node = {}
        if not isinstance(node, dict):
            return []
        self._add_subschemas(path, node, base)
        return [path]

    def _max_same_value_count(self, is_counted: Callable[[Subschema], bool]) -> int:
        """Returns the maximum number of subschemas that apply to one value and that ``is_counted``.

        Raises:
            SchemaError: there are too many, or they form a cycle.
        """
        ways: dict[Path, int] = {}
        for path in _iter_postorder(self.subschemas):
            subschema = self.subschemas[path]
            ways[path] = is_counted(subschema) + sum(ways[to] for to in subschema.same_value)
            if ways[path] > MAX_CHECKS_PER_VALUE:
                raise SchemaError(
                    f"more than {MAX_CHECKS_PER_VALUE:,} subschemas apply to one and the same "
                    "value",
                    where=json_pointer(path),
                    hint="List each alternative once.",
                )
        return max(ways.values())

    def bound_checks(self, depth: int) -> float:
        """Returns an upper bound of the checks per part of a value nested ``depth`` levels deep."""
        return self.checks_per_value * float(self.checks_per_part) ** min(depth, 128)


def _is_any_subschema(_: Subschema) -> bool:
    return True


def _has_parts(at: Subschema) -> bool:
    return bool(at.parts)


def _iter_postorder(subschemas: dict[Path, Subschema]) -> Iterator[Path]:
    """Yields all paths, each after the paths it leads to for the same value (postorder)."""
    state: dict[Path, bool] = {}
    for start in subschemas:
        if start in state:
            continue
        state[start] = True
        stack = [(start, iter(subschemas[start].same_value))]
        while stack:
            path, following = stack[-1]
            to = next(following, None)
            if to is None:
                state[path] = False
                stack.pop()
                yield path
            elif to not in state:
                state[to] = True
                stack.append((to, iter(subschemas[to].same_value)))
            elif state[to]:
                raise SchemaError(
                    "a $ref leads back to itself without descending into the value",
                    where=json_pointer(path),
                    hint="Recursion must pass through properties or items.",
                )


Child = tuple[Path, dict[str, Any]]


def _child_subschemas(node: dict[str, Any]) -> tuple[list[Child], list[Child], list[Child]]:
    """Returns the direct subschemas: for the same value, for parts of it, and definitions."""
    same: list[Child] = []
    parts: list[Child] = []
    aside: list[Child] = []
    for keyword, value in node.items():
        if isinstance(value, dict):
            if keyword in SAME_VALUE_SINGLE:
                same.append(((keyword,), value))
            elif keyword in PART_SINGLE:
                parts.append(((keyword,), value))
            else:
                group = (
                    same
                    if keyword in SAME_VALUE_MAP
                    else parts
                    if keyword in PART_MAP
                    else aside
                    if keyword in DEFINITION_MAP
                    else None
                )
                if group is not None:
                    group += [
                        ((keyword, name), child)
                        for name, child in value.items()
                        if isinstance(child, dict)
                    ]
        elif isinstance(value, list) and keyword in SAME_VALUE_LIST | PART_LIST:
            group = same if keyword in SAME_VALUE_LIST else parts
            group += [
                ((keyword, str(index)), child)
                for index, child in enumerate(value)
                if isinstance(child, dict)
            ]
    return same, parts, aside


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
