"""Fills a schema by rules: walks it and takes the best candidate of the text for each field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from eval.extraction.baseline import BASELINE
from eval.extraction.baseline.leaves import Leaf, build_cues, find_listed_values, find_value
from eval.extraction.baseline.text_index import TextIndex
from eval.extraction.schemas.schema_fields import OTHER_NAME, MergedSchema
from eval.extraction.schemas.schema_graph import Path
from eval.extraction.schemas.schema_validator import SchemaValidator

VERSION: Final = 1
"""Must be increased when the rules change, so that runs with older rules are not resumed."""

MAX_FIELDS: Final = 2_000
"""Maximum number of fields to fill; only the first ones of a larger schema are filled."""
MAX_LEVELS: Final = 12
MAX_ELEMENTS: Final = 100

_RULE_KEYWORDS = (
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
)
_TEXT_RULE_KEYWORDS = (*_RULE_KEYWORDS[:1], "maxLength")
_COLUMNS = re.compile(r"\t|\s{2,}|\s\|\s|^\||\|$")
_BULLET = re.compile(r"\s*(?:[-*\u2022\u00b7\u2013]|\d{1,3}[.)])\s+")


class Baseline:
    """Deterministic rules that need no model.

    Attributes:
        name: name of the system.
    """

    name = BASELINE

    def params(self) -> dict[str, Any]:
        """Returns the parameters that determine what it extracts."""
        return {"rules": "surface cues of names, types, formats and enums", "version": VERSION}

    def extract(self, text: str, schema: Mapping[str, Any]) -> Any:
        """Extracts JSON for a schema; fields without a candidate in the text are left out.

        Args:
            text: the text; only the first 50,000 characters are read.
            schema: a valid schema.
        """
        filling = _SchemaFiller(SchemaValidator.from_schema(dict(schema)))
        prediction = filling.fill_value(TextIndex(text), ((),), "", (), 0)
        return {} if prediction is None else prediction


class _SchemaFiller:
    def __init__(self, validator: SchemaValidator) -> None:
        self._graph = validator.graph
        self._fields_left = MAX_FIELDS

    def fill_value(
        self,
        index: TextIndex,
        starts: tuple[Path, ...],
        name: str,
        ancestors: tuple[str, ...],
        level: int,
        required: bool = False,
    ) -> Any:
        """Fills one part of the schema; returns ``None`` if the text has no candidate."""
        self._fields_left -= 1
        if self._fields_left < 0 or level > MAX_LEVELS:
            return None
        merged = MergedSchema(self._graph, starts)
        if merged.properties:
            return self._fill_object(index, merged, name, ancestors, level)
        if merged.items:
            return self._fill_array(index, merged, name, ancestors, level)
        return find_value(self._build_leaf(merged, name, ancestors, required=required), index)

    def _fill_object(
        self,
        index: TextIndex,
        merged: MergedSchema,
        name: str,
        ancestors: tuple[str, ...],
        level: int,
    ) -> dict[str, Any] | None:
        fields: dict[str, Any] = {}
        inner = (*ancestors[-2:], name) if name else ancestors
        for key, places in merged.properties.items():
            if key == OTHER_NAME:
                continue
            required = key in merged.required
            value = self.fill_value(index, tuple(places), key, inner, level + 1, required)
            if value is not None:
                fields[key] = value
        return fields or None

    def _fill_array(
        self,
        index: TextIndex,
        merged: MergedSchema,
        name: str,
        ancestors: tuple[str, ...],
        level: int,
    ) -> list[Any] | None:
        element = MergedSchema(self._graph, tuple(merged.items))
        if not element.properties:
            if element.items:
                return None
            leaf = self._build_leaf(element, name, ancestors, self._description_text(merged))
            return find_listed_values(leaf, index)[:MAX_ELEMENTS] or None
        elements: list[Any] = []
        for line in _list_entries(index)[:MAX_ELEMENTS]:
            element_fields = self._fill_object(TextIndex(line), element, name, ancestors, level + 1)
            if element_fields is not None and element.required <= element_fields.keys():
                elements.append(element_fields)
        return elements or None

    def _build_leaf(
        self,
        merged: MergedSchema,
        name: str,
        ancestors: tuple[str, ...],
        description: str = "",
        *,
        required: bool = False,
    ) -> Leaf:
        description = " ".join(
            part for part in (self._description_text(merged), description) if part
        )
        choices: list[Any] = []
        rule: dict[str, Any] = {}
        for node in self._subschema_nodes(merged):
            choices += [choice for choice in node.get("enum", ()) if choice is not None]
            choices += [node["const"]] if node.get("const") is not None else []
            rule.update(
                {key: node[key] for key in (*_RULE_KEYWORDS, *_TEXT_RULE_KEYWORDS) if key in node}
            )
        return Leaf(
            name=name,
            cues=build_cues(name, description, ancestors),
            types=merged.declared_types,
            formats=tuple(sorted(merged.formats)),
            choices=tuple(choices),
            rules=rule,
            required=required,
        )

    def _description_text(self, merged: MergedSchema) -> str:
        texts = [
            node.get(key)
            for node in self._subschema_nodes(merged)
            for key in ("title", "description")
        ]
        return " ".join(text for text in texts if isinstance(text, str))

    def _subschema_nodes(self, merged: MergedSchema) -> list[dict[str, Any]]:
        return [self._graph.subschemas[path].node for path in sorted(merged.origins)]


def _list_entries(index: TextIndex) -> list[str]:
    """Returns the lines of a text that look like list items or table rows.

    If the first row of a table has no digits, it is used as the header, and each cell is prefixed
    with its column name as a label.
    """
    bullets = [line for line in index.lines if _BULLET.match(line)]
    rows = [[cell for cell in _COLUMNS.split(line.strip()) if cell] for line in index.lines]
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
