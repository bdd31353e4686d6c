"""The baseline itself: walks the schema and fills what the text has a candidate for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from eval.extraction.baseline import BASELINE
from eval.extraction.baseline.leaves import Leaf, cues_of, listed, value_of
from eval.extraction.baseline.reading import Reading
from eval.extraction.schemas.schema_check import SchemaCheck
from eval.extraction.schemas.schema_fields import OTHER_NAME, Merged
from eval.extraction.schemas.schema_graph import Path

VERSION: Final = 1
"""Raised when the rules change, so that rows of other rules are not taken up."""

MAX_FIELDS: Final = 2_000
"""Fields that are looked for; a schema with more gets the first ones."""
MAX_LEVELS: Final = 12
MAX_ELEMENTS: Final = 100

_RULES = ("pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength")
_RULES_OF_TEXT = (*_RULES[:1], "maxLength")
_COLUMNS = re.compile(r"\t|\s{2,}|\s\|\s|^\||\|$")
_BULLET = re.compile(r"\s*(?:[-*\u2022\u00b7\u2013]|\d{1,3}[.)])\s+")


class Baseline:
    """Rules that need no model; deterministic.

    Attributes:
        name: of the system.
    """

    name = BASELINE

    def params(self) -> dict[str, Any]:
        """What decides what it extracts."""
        return {"rules": "surface cues of names, types, formats and enums", "version": VERSION}

    def extract(self, text: str, schema: Mapping[str, Any]) -> Any:
        """What the text says, in the shape of the schema; no field that nothing points at.

        Args:
            text: the first 50,000 characters are read.
            schema: a usable schema.
        """
        filling = _Filling(SchemaCheck.of(dict(schema)))
        found = filling.value(Reading(text), ((),), "", (), 0)
        return {} if found is None else found


class _Filling:
    def __init__(self, check: SchemaCheck) -> None:
        self._graph = check.graph
        self._left = MAX_FIELDS

    def value(
        self,
        reading: Reading,
        starts: tuple[Path, ...],
        name: str,
        around: tuple[str, ...],
        level: int,
        required: bool = False,
    ) -> Any:
        """What the text says of one place of the schema; null if nothing."""
        self._left -= 1
        if self._left < 0 or level > MAX_LEVELS:
            return None
        merged = Merged(self._graph, starts)
        if merged.properties:
            return self._object(reading, merged, name, around, level)
        if merged.items:
            return self._array(reading, merged, name, around, level)
        return value_of(self._leaf(merged, name, around, required=required), reading)

    def _object(
        self, reading: Reading, merged: Merged, name: str, around: tuple[str, ...], level: int
    ) -> dict[str, Any] | None:
        found: dict[str, Any] = {}
        inner = (*around[-2:], name) if name else around
        for key, places in merged.properties.items():
            if key == OTHER_NAME:
                continue
            required = key in merged.required
            said = self.value(reading, tuple(places), key, inner, level + 1, required)
            if said is not None:
                found[key] = said
        return found or None

    def _array(
        self, reading: Reading, merged: Merged, name: str, around: tuple[str, ...], level: int
    ) -> list[Any] | None:
        element = Merged(self._graph, tuple(merged.items))
        if not element.properties:
            if element.items:
                return None
            leaf = self._leaf(element, name, around, self._described(merged))
            return listed(leaf, reading)[:MAX_ELEMENTS] or None
        found: list[Any] = []
        for line in _entries(reading)[:MAX_ELEMENTS]:
            one = self._object(Reading(line), element, name, around, level + 1)
            if one is not None and element.required <= one.keys():
                found.append(one)
        return found or None

    def _leaf(
        self,
        merged: Merged,
        name: str,
        around: tuple[str, ...],
        description: str = "",
        *,
        required: bool = False,
    ) -> Leaf:
        said = " ".join(part for part in (self._described(merged), description) if part)
        choices: list[Any] = []
        rule: dict[str, Any] = {}
        for node in self._nodes(merged):
            choices += [one for one in node.get("enum", ()) if one is not None]
            choices += [node["const"]] if node.get("const") is not None else []
            rule.update({key: node[key] for key in (*_RULES, *_RULES_OF_TEXT) if key in node})
        return Leaf(
            name=name,
            cues=cues_of(name, said, around),
            types=merged.said_types,
            formats=tuple(sorted(merged.formats)),
            choices=tuple(choices),
            rule=rule,
            required=required,
        )

    def _described(self, merged: Merged) -> str:
        said = [node.get(key) for node in self._nodes(merged) for key in ("title", "description")]
        return " ".join(text for text in said if isinstance(text, str))

    def _nodes(self, merged: Merged) -> list[dict[str, Any]]:
        return [self._graph.subschemas[path].node for path in sorted(merged.origins)]


def _entries(reading: Reading) -> list[str]:
    """The lines of a text that look like entries of a list or rows of a table.

    A table's first row, if no figure stands in it, names the columns; its words are put before
    the cells, so that they point at them.
    """
    bullets = [line for line in reading.lines if _BULLET.match(line)]
    rows = [[cell for cell in _COLUMNS.split(line.strip()) if cell] for line in reading.lines]
    rows = [row for row in rows if len(row) >= 3]
    if len(rows) >= 2:
        head, *body = rows
        if any(any(char.isdigit() for char in cell) for cell in head):
            return ["; ".join(row) for row in rows]
        return [
            "\n".join(
                f"{head[place]}: {cell}" if place < len(head) else cell
                for place, cell in enumerate(row)
            )
            for row in body
        ]
    return bullets
