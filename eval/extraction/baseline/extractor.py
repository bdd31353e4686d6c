"""Fills a schema by rules: finds the best candidate in the text for each field of the schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from eval.extraction.baseline import BASELINE
from eval.extraction.baseline.leaves import Leaf, build_cues, find_listed_values, find_value
from eval.extraction.baseline.text_index import TextIndex
from eval.extraction.schemas.schema_fields import OTHER_NAME, MergedSchema
from eval.extraction.schemas.schema_graph import Path
from eval.extraction.schemas.schema_validator import SchemaValidator
from eval.extraction.view import ExtractionView, read_extraction
from eval.harness.reply import Reply

VERSION: Final = 1
"""Must be increased when the rules change, so that runs with older rules are not resumed."""

MAX_FIELDS: Final = 2_000
"""Maximum number of fields to fill; of a larger schema only the first ones are filled."""
MAX_NESTING_LEVELS: Final = 12
"""Parts of the schema below this level are not filled."""
MAX_ELEMENTS: Final = 100
"""Maximum number of elements of an array."""

_RULE_KEYWORDS = (
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
)
# Matches the gap between two columns of a table, or the bar at the start or end of a row.
_COLUMNS = re.compile(r"\t|\s{2,}|\s\|\s|^\||\|$")
# Matches the mark of a list item: a bullet, a dash or a number.
_BULLET = re.compile(r"\s*(?:[-*\u2022\u00b7\u2013]|\d{1,3}[.)])\s+")


class Baseline:
    """Deterministic rules that need no model.

    Attributes:
        name: name of the system.
    """

    name = BASELINE

    returns_valid_replies = True

    def params(self) -> dict[str, Any]:
        """Returns the parameters that determine the baseline's output."""
        return {"rules": "surface cues of names, types, formats and enums", "version": VERSION}

    def answer(self, view: ExtractionView, /) -> Reply:
        """Extracts JSON for the schema of a sample."""
        reply = read_extraction(self.extract(view.text, view.schema))
        return msgspec.structs.replace(reply, input_chars=len(view.text))

    def extract(self, text: str, schema: Mapping[str, Any]) -> Any:
        """Extracts JSON for a schema; fields without a candidate in the text are omitted.

        Args:
            text: the text; only the first 50,000 characters are read.
            schema: a valid schema.
        """
        filler = _SchemaFiller(SchemaValidator.from_schema(dict(schema)))
        prediction = filler.fill_value(TextIndex(text), ((),), "", (), 0)
        return {} if prediction is None else prediction


class _SchemaFiller:
    """Fills one schema; counts the fields to stop at ``MAX_FIELDS``."""

    def __init__(self, validator: SchemaValidator) -> None:
        self._graph = validator.graph
        self._fields_left = MAX_FIELDS

    def fill_value(
        self,
        text_index: TextIndex,
        subschema_paths: tuple[Path, ...],
        name: str,
        ancestors: tuple[str, ...],
        level: int,
        required: bool = False,
    ) -> Any:
        """Fills one part of the schema; returns ``None`` if the text has no candidate.

        Args:
            text_index: the text, or the part of it in which to search.
            subschema_paths: paths of the subschemas that apply to this part.
            name: key of this part in its object.
            ancestors: names of the enclosing objects.
            level: nesting level of this part.
            required: whether the enclosing object must have this part.
        """
        self._fields_left -= 1
        if self._fields_left < 0 or level > MAX_NESTING_LEVELS:
            return None
        schema = MergedSchema(self._graph, subschema_paths)
        if schema.properties:
            return self._fill_object(text_index, schema, name, ancestors, level)
        if schema.items:
            return self._fill_array(text_index, schema, name, ancestors, level)
        return find_value(self._build_leaf(schema, name, ancestors, required=required), text_index)

    def _fill_object(
        self,
        text_index: TextIndex,
        schema: MergedSchema,
        name: str,
        ancestors: tuple[str, ...],
        level: int,
    ) -> dict[str, Any] | None:
        fields: dict[str, Any] = {}
        inner_ancestors = (*ancestors[-2:], name) if name else ancestors
        for key, subschema_paths in schema.properties.items():
            if key == OTHER_NAME:  # It stands for the fields that the schema does not name.
                continue
            required = key in schema.required
            value = self.fill_value(
                text_index, tuple(subschema_paths), key, inner_ancestors, level + 1, required
            )
            if value is not None:
                fields[key] = value
        return fields or None

    def _fill_array(
        self,
        text_index: TextIndex,
        schema: MergedSchema,
        name: str,
        ancestors: tuple[str, ...],
        level: int,
    ) -> list[Any] | None:
        element = MergedSchema(self._graph, tuple(schema.items))
        if not element.properties:
            if element.items:
                return None
            leaf = self._build_leaf(element, name, ancestors, self._collect_descriptions(schema))
            return find_listed_values(leaf, text_index)[:MAX_ELEMENTS] or None
        elements: list[Any] = []
        for line in _list_entries(text_index)[:MAX_ELEMENTS]:
            element_fields = self._fill_object(TextIndex(line), element, name, ancestors, level + 1)
            if element_fields is not None and element.required <= element_fields.keys():
                elements.append(element_fields)
        return elements or None

    def _build_leaf(
        self,
        schema: MergedSchema,
        name: str,
        ancestors: tuple[str, ...],
        description: str = "",
        *,
        required: bool = False,
    ) -> Leaf:
        description = " ".join(
            part for part in (self._collect_descriptions(schema), description) if part
        )
        choices: list[Any] = []
        rules: dict[str, Any] = {}
        for node in self._list_subschemas(schema):
            choices += [choice for choice in node.get("enum", ()) if choice is not None]
            choices += [node["const"]] if node.get("const") is not None else []
            rules.update({key: node[key] for key in _RULE_KEYWORDS if key in node})
        return Leaf(
            name=name,
            cues=build_cues(name, description, ancestors),
            types=schema.declared_types,
            formats=tuple(sorted(schema.formats)),
            choices=tuple(choices),
            rules=rules,
            required=required,
        )

    def _collect_descriptions(self, schema: MergedSchema) -> str:
        texts = [
            node.get(key)
            for node in self._list_subschemas(schema)
            for key in ("title", "description")
        ]
        return " ".join(text for text in texts if isinstance(text, str))

    def _list_subschemas(self, schema: MergedSchema) -> list[dict[str, Any]]:
        return [self._graph.subschemas[path].node for path in sorted(schema.origins)]


def _list_entries(text_index: TextIndex) -> list[str]:
    """Returns the lines of a text that look like table rows, else those that look like list items.

    If the first row of a table has no digits, it is used as the header, and each cell is prefixed
    with its column name as a label.
    """
    bullets = [line for line in text_index.lines if _BULLET.match(line)]
    rows = [[cell for cell in _COLUMNS.split(line.strip()) if cell] for line in text_index.lines]
    rows = [row for row in rows if len(row) >= 3]
    if len(rows) >= 2:
        header, *body_rows = rows
        if any(any(char.isdigit() for char in cell) for cell in header):
            return ["; ".join(row) for row in rows]
        return [
            "\n".join(
                f"{header[column]}: {cell}" if column < len(header) else cell
                for column, cell in enumerate(row)
            )
            for row in body_rows
        ]
    return bullets
