"""How the parts of a JSON Schema lead to each other, without ever leaving the document.

A schema is a graph: keywords such as ``properties`` lead to subschemas for a *part* of the value,
keywords such as ``anyOf`` and ``$ref`` to subschemas for the *same* value. Only the second kind can
go round for ever or multiply without the value growing, so that is what is counted here, before a
validator is built. Names are resolved as JSON Schema does (``$id``, ``$anchor``, JSON Pointer); a
name that is nowhere in the document is an error, and nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin

import msgspec

from kg.base.errors import SchemaError
from kg.words.plain_text import plain

SAME_VALUE_ONE: Final = frozenset({"not", "if", "then", "else"})
SAME_VALUE_LIST: Final = frozenset({"allOf", "anyOf", "oneOf"})
SAME_VALUE_MAP: Final = frozenset({"dependentSchemas", "dependencies"})
PART_ONE: Final = frozenset(
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
ASIDE_MAP: Final = frozenset({"$defs", "definitions"})
"""Keywords by what they hold and what it applies to: the value itself, a part of it, or nothing."""

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")

MAX_WAYS: Final = 2**14
"""Most ways in which one value may be led through a schema; each may cost one check."""

Path = tuple[str, ...]
"""Where a subschema stands: the keys and indexes that lead to it from the root."""


class Subschema(msgspec.Struct):
    """One subschema, with the paths of those it leads to."""

    node: dict[str, Any]
    base: str
    """URI against which its references are resolved."""
    same: list[Path]
    """Subschemas for the same value."""
    parts: list[Path]
    """Subschemas for parts of the value."""


class SchemaGraph:
    """The subschemas of one schema that can be reached from its root, by path.

    Args:
        schema: an object that is JSON, not nested deeper than the interpreter's stack bears.

    Raises:
        SchemaError: a reference leads out of the document, nowhere, or back to itself without
            going into the value; or the same value is led through in more than ``MAX_WAYS`` ways.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        self._root = schema
        self._resources: dict[str, Path] = {"": ()}
        self._anchors: dict[tuple[str, str], list[Path]] = {}
        self.subschemas: dict[Path, Subschema] = {}
        self._add((), schema, "")
        self._follow_references()
        self.ways: Final = self._most(_counts_itself)
        """Checks that one value may cost before any of its parts is looked at."""
        self.descents: Final = max(1, self._most(_has_parts))
        """Times that one part of a value may be looked at for each time the value is."""

    def target(self, path: Path) -> Path | None:
        """Where the ``$ref`` of the subschema at ``path`` leads; ``None`` if it has none.

        Raises:
            SchemaError: out of the document, or nowhere.
        """
        at = self.subschemas[path]
        reference = at.node.get("$ref")
        return self._resolve(reference, at.base)[0] if isinstance(reference, str) else None

    def _add(self, path: Path, node: dict[str, Any], base: str) -> None:
        """Enters ``node`` and, with a stack of its own, every subschema that stands in it."""
        waiting = [(path, node, base)]
        while waiting:
            path, node, base = waiting.pop()
            if path in self.subschemas:
                continue
            base = self._named(path, node, base)
            same, parts, aside = _children(node)
            self.subschemas[path] = Subschema(
                node, base, [(*path, *to) for to, _ in same], [(*path, *to) for to, _ in parts]
            )
            waiting += [((*path, *to), child, base) for to, child in (*same, *parts, *aside)]

    def _named(self, path: Path, node: dict[str, Any], base: str) -> str:
        """Notes the names a subschema gives itself; returns the base URI inside it."""
        name = node.get("$id")
        if isinstance(name, str):
            address, fragment = urldefrag(name)
            if address:
                base = _joined(base, address)
                self._resources.setdefault(base, path)
            if fragment and not fragment.startswith("/"):  # Draft-07 names anchors so
                self._anchors.setdefault((base, fragment), []).append(path)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := node.get(keyword), str):
                self._anchors.setdefault((base, anchor), []).append(path)
        return base

    def _follow_references(self) -> None:
        """Adds to every subschema those its references lead to, which may be entered only now."""
        done = 0
        while done < len(self.subschemas):
            for path in list(self.subschemas)[done:]:
                at = self.subschemas[path]
                for keyword in REFERENCES:
                    if isinstance(reference := at.node.get(keyword), str):
                        at.same += self._resolve(reference, at.base, keyword)
                done += 1

    def _resolve(self, reference: str, base: str, keyword: str = "$ref") -> list[Path]:
        """The subschemas a reference may lead to; several only for a dynamic one."""
        address, fragment = urldefrag(_joined(base, reference))
        start = self._resources.get(address)
        if start is None:
            raise SchemaError(
                f"{keyword} {plain(reference)!r} leads out of the schema",
                hint="References are never fetched; put what it names under $defs.",
            )
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            found = self._anchors.get((address, fragment), [])
            if keyword == "$dynamicRef":
                found = [
                    path
                    for (_, name), paths in self._anchors.items()
                    if name == fragment
                    for path in paths
                ]
        else:
            found = self._pointed_at(start, fragment)
            if keyword == "$recursiveRef":
                found = list(dict.fromkeys([*found, *self._resources.values()]))
        if not found:
            raise SchemaError(
                f"{keyword} {plain(reference)!r} leads nowhere",
                hint="It must name a part of the same schema, such as #/$defs/address.",
            )
        return found

    def _pointed_at(self, start: Path, pointer: str) -> list[Path]:
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
        if isinstance(node, bool):  # accepts all or nothing, and leads nowhere
            node = {}
        if not isinstance(node, dict):
            return []
        self._add(path, node, base)
        return [path]

    def _most(self, counts: Callable[[Subschema], bool]) -> int:
        """Most ways, over all subschemas, to one that ``counts`` and applies to the same value.

        Raises:
            SchemaError: the ways are too many, or go round.
        """
        ways: dict[Path, int] = {}
        for path in _bottom_up(self.subschemas):
            at = self.subschemas[path]
            ways[path] = counts(at) + sum(ways[to] for to in at.same)
            if ways[path] > MAX_WAYS:
                raise SchemaError(
                    f"the schema leads one value through itself in more than {MAX_WAYS:,} ways",
                    where=pointer_of(path),
                    hint="Name each alternative once.",
                )
        return max(ways.values())

    def checks(self, depth: int) -> float:
        """Bound on the checks each spot of a value may cost that is nested ``depth`` levels."""
        return self.ways * float(self.descents) ** min(depth, 128)


def _counts_itself(_: Subschema) -> bool:
    return True


def _has_parts(at: Subschema) -> bool:
    return bool(at.parts)


def _bottom_up(subschemas: dict[Path, Subschema]) -> Iterator[Path]:
    """All paths, each after those it leads to for the same value."""
    state: dict[Path, bool] = {}
    for start in subschemas:
        if start in state:
            continue
        state[start] = True
        stack = [(start, iter(subschemas[start].same))]
        while stack:
            path, following = stack[-1]
            to = next(following, None)
            if to is None:
                state[path] = False
                stack.pop()
                yield path
            elif to not in state:
                state[to] = True
                stack.append((to, iter(subschemas[to].same)))
            elif state[to]:
                raise SchemaError(
                    "a $ref leads back to itself without going into the value",
                    where=pointer_of(path),
                    hint="Recursion must pass through properties or items.",
                )


Child = tuple[Path, dict[str, Any]]


def _children(node: dict[str, Any]) -> tuple[list[Child], list[Child], list[Child]]:
    """Subschemas that stand in ``node``: for the same value, for parts of it, for references."""
    same: list[Child] = []
    parts: list[Child] = []
    aside: list[Child] = []
    for keyword, held in node.items():
        if isinstance(held, dict):
            if keyword in SAME_VALUE_ONE:
                same.append(((keyword,), held))
            elif keyword in PART_ONE:
                parts.append(((keyword,), held))
            else:
                into = (
                    same
                    if keyword in SAME_VALUE_MAP
                    else parts
                    if keyword in PART_MAP
                    else aside
                    if keyword in ASIDE_MAP
                    else None
                )
                if into is not None:
                    into += [
                        ((keyword, name), child)
                        for name, child in held.items()
                        if isinstance(child, dict)
                    ]
        elif isinstance(held, list) and keyword in SAME_VALUE_LIST | PART_LIST:
            into = same if keyword in SAME_VALUE_LIST else parts
            into += [
                ((keyword, str(index)), child)
                for index, child in enumerate(held)
                if isinstance(child, dict)
            ]
    return same, parts, aside


def _joined(base: str, reference: str) -> str:
    # urljoin knows neither urn: nor made-up schemes, against which only a fragment can be relative.
    if reference.startswith("#"):
        return base + reference
    try:
        return urljoin(base, reference)
    except ValueError as error:
        raise SchemaError(
            f"{plain(reference)!r} is no URI reference", hint="Write it as RFC 3986 has it."
        ) from error


def pointer_of(path: Path) -> str:
    """``path`` as a JSON Pointer (RFC 6901); the root is the empty text."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)
