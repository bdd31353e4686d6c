"""Completes rows with gold: by the files that they name, a common schema, and gold quotes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eval.extraction.matchers.schema_nodes import get_schema_plan
from eval.extraction.samples.column_names import (
    COLUMNS,
    DOCUMENT_PATH_KEYS,
    GOLD_PATH_KEYS,
    ID_KEYS,
    RULE_KEYS,
    SCHEMA_KEYS,
    find_gold_key,
    find_names,
    is_of_kind,
)
from eval.extraction.samples.documents import TEXT_ENDINGS, read_document
from eval.extraction.samples.envelopes import list_gold_quotes
from eval.extraction.samples.gold_records import list_declared_keys
from eval.extraction.samples.row_files import Row
from eval.extraction.schemas.schema_wrappers import unwrap_schema
from eval.extraction.verdicts.quotes import QUOTES


def complete_rows(
    rows: Iterator[Row], folder: Path, schema: Any, *, names_gold: bool = False
) -> Iterator[Row]:
    """Yields rows as ``complete_row`` returns them, and those that could not be read."""
    for row in rows:
        is_read = row.values is not None
        yield complete_row(row, folder, schema, names_gold=names_gold) if is_read else row


def complete_row(row: Row, folder: Path, schema: Any, *, names_gold: bool = False) -> Row:
    """Adds gold and text from the files that a row names, the common schema and gold quotes.

    Args:
        row: the row, with values.
        folder: folder in which the files are; a path that leads out of it is refused.
        schema: schema of rows without one; ``None`` if there is none.
        names_gold: whether the columns are known, as those of a document are, so that the schema
            says nothing about them.
    """
    values = dict(row.values or {})
    declared = frozenset[str]() if names_gold else list_declared_keys(schema)
    if any(values.get(key) for key in SCHEMA_KEYS if key not in declared):
        schema, declared = None, frozenset()
    gold_key, has_gold = _find_gold_column(values, schema, declared)
    if gold_key:
        path = _resolve_inside(folder, values[gold_key])
        if path is None:
            return Row(row.number, None, f"its {gold_key} names no file in the folder of the data")
        document = read_document(path)
        if document.problem:
            return Row(row.number, None, f"its {gold_key}: {document.problem}")
        values["expected_output"] = document.value
    elif not has_gold and not declared.isdisjoint(values):
        values = _take_fields(values, declared)
    if schema is not None:
        values = {key: value for key, value in values.items() if key not in SCHEMA_KEYS}
        values["schema"] = schema
    document_path = next(
        (values[key] for key in DOCUMENT_PATH_KEYS if isinstance(values.get(key), str)), ""
    )
    if "text" not in values and document_path.lower().endswith(TEXT_ENDINGS):
        text_file = _resolve_inside(folder, document_path)
        if text_file is not None:
            values["text"] = read_text(text_file)
    for key in RULE_KEYS:
        rules = values.pop(key, None)
        if quotes := list_gold_quotes(rules):
            values[QUOTES] = [*values.get(QUOTES, ()), *quotes]
    return Row(row.number, values)


def _find_gold_column(
    values: dict[str, Any], schema: Any, declared: frozenset[str]
) -> tuple[str, bool]:
    """Returns the column with the path of the gold, or whether a column has the gold itself.

    That column is renamed if others that the schema declares could be taken for it.
    """
    root = get_schema_plan(unwrap_schema(schema)[0]).root if declared else None
    key = find_gold_key(values, root, declared)
    if key is not None:
        if not declared.isdisjoint(values):
            gold = values.pop(key)
            others = dict(values)
            values.clear()
            values |= {"expected_output": gold, **others}
        return "", True
    paths = (name for name in GOLD_PATH_KEYS if name not in declared)
    return next((name for name in paths if isinstance(values.get(name), str)), ""), False


def _take_fields(values: dict[str, Any], declared: frozenset[str]) -> dict[str, Any]:
    """Returns a row that has the fields of the schema itself with these in one column.

    A field that is named like an id is the id too.
    """
    fields = {key: values[key] for key in values if key in declared or key not in COLUMNS}
    row = {key: value for key, value in values.items() if key not in fields}
    for key in ID_KEYS:
        for name in find_names(values, [key]):
            if is_of_kind(key, values[name]):
                row.setdefault(key, values[name])
    return {**row, "expected_output": fields}


def _resolve_inside(folder: Path, name: str) -> Path | None:
    """Returns a file in a folder; ``None`` if there is none or its path leads out of the folder."""
    try:
        path = (folder / name).resolve()
        is_file = path.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):
        return None
    return path if is_file else None


def read_text(path: Path) -> str:
    """Reads a text file, up to a size that no text of a sample exceeds."""
    with path.open("rb") as handle:
        return handle.read(4_000_001).decode(errors="replace")
