"""Takes gold out of records with metadata, and out of objects of id → gold.

For example ``{"doc_id": "a1", "category": "bill", "expected": {…}}``. Where there is a schema, it
decides; without one, the names of the keys do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from eval.extraction.matchers.schema_nodes import ALTERNATIVES, get_schema_plan
from eval.extraction.samples.column_names import (
    COLUMNS,
    DOCUMENT_PATH_KEYS,
    EXPECTED_KEYS,
    FIELD_LIKE_KEYS,
    GOLD_PATH_KEYS,
    ID_KEYS,
    OFTEN_FIELD_KEYS,
    PARSE_KEY,
    SCHEMA_KEYS,
    SURE_KEYS,
    has_gold_column,
    has_parse,
    is_of_kind,
    open_gold,
    read_json_text,
    rename_columns,
)
from eval.extraction.samples.envelopes import count_declared_keys, open_record
from eval.extraction.schemas.schema_validator import SchemaValidator
from eval.extraction.schemas.schema_wrappers import is_schema, unwrap_schema
from eval.extraction.verdicts.quotes import QUOTES
from kg.base.errors import SchemaError
from kg.base.plain_text import clean_text, format_count

_MIN_ENTRIES: Final = 3
"""Minimum number of objects with the same keys that are samples of their own without a schema."""


class GoldRows(msgspec.Struct, frozen=True):
    """The rows of one JSON value with gold."""

    rows: list[dict[str, Any]]
    """With ``id`` and ``expected_output``, and the other keys of a record."""
    place: str = ""
    """Where gold was found, in words; empty if the value is the gold."""


def list_declared_keys(schema: Any, expected: Any = None) -> frozenset[str]:
    """Returns the top-level keys that a schema declares.

    Args:
        schema: a schema, also in a wrapper.
        expected: a value whose keys count instead if the schema declares none.
    """
    schema, _ = unwrap_schema(schema)
    keys: tuple[str, ...] = ()
    if isinstance(schema, dict):
        with suppress(SchemaError):
            keys = tuple(get_schema_plan(SchemaValidator.from_schema(schema).schema).root.keys)
    if keys:
        return frozenset(keys)
    parts = expected if schema is None and is_single_object(expected) else [expected]
    if isinstance(expected, dict) and ALTERNATIVES in expected:
        parts = expected[ALTERNATIVES]
    return frozenset(key for part in parts if isinstance(part, dict) for key in part)


def list_item_keys(schema: Any) -> frozenset[str]:
    """Returns the keys that a schema declares for the elements of an array at the top."""
    schema, _ = unwrap_schema(schema)
    if isinstance(schema, dict):
        with suppress(SchemaError):
            root = get_schema_plan(SchemaValidator.from_schema(schema).schema).root
            return frozenset(root.get_element().keys)
    return frozenset()


def is_single_object(value: Any) -> bool:
    """Returns whether a JSON value is an array of one object."""
    return isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict)


def read_case(value: Any, declared: Collection[str] = ()) -> dict[str, Any] | None:
    """Returns the row of a JSON value that has schema and gold together; ``None`` for others.

    Args:
        value: the value.
        declared: the keys that the common schema has at the top: they are no columns.
    """
    if not isinstance(value, dict):
        return None
    row = rename_columns(value, declared)
    return row if _has_schema(row, declared) and has_gold_column(row) else None


def _has_schema(row: Mapping[str, Any], declared: Collection[str]) -> bool:
    """Returns whether a row has a schema, also as a text of JSON."""
    found = (read_json_text(row[key]) for key in SCHEMA_KEYS if key in row and key not in declared)
    return any(is_schema(unwrap_schema(schema)[0]) for schema in found)


def is_gold_row(row: Mapping[str, Any] | None, *, has_schema: bool) -> bool:
    """Returns whether a row has a gold value and a schema or a text, or the path of a gold file.

    Args:
        row: the row; ``None`` if it could not be read.
        has_schema: whether there is a common schema, so that gold values are enough.
    """
    if row is None:
        return False
    if any(isinstance(row.get(key), str) for key in GOLD_PATH_KEYS):
        return True
    is_complete = has_schema or any(key in row for key in (*SCHEMA_KEYS, "text"))
    return is_complete and has_gold_column(row)


def is_array_row(row: Mapping[str, Any], declared: Collection[str], *, is_complete: bool) -> bool:
    """Returns whether an element of an array is a row with gold, and no part of a document.

    Args:
        row: the element.
        declared: the keys that a schema has for elements.
        is_complete: whether a schema or a text is at hand; otherwise an id or a path must be.
    """
    if any(isinstance(row.get(key), str) for key in GOLD_PATH_KEYS):
        return True
    found = [
        key
        for key in EXPECTED_KEYS
        if key in row and key not in declared and isinstance(row[key], str | dict | list | None)
    ]
    if _has_any(row, (*ID_KEYS, *DOCUMENT_PATH_KEYS), declared):
        return bool(found)
    if _has_schema(row, declared) or _has_any(row, ("text",), declared):
        return is_complete and bool(found)
    return is_complete and any(key in SURE_KEYS and row[key] for key in found)


def _has_any(
    record: Mapping[str, Any], names: Collection[str], declared: Collection[str] = ()
) -> bool:
    """Returns whether a record has one of some columns, with a value of its kind."""
    return any(
        name in record and name not in declared and is_of_kind(name, record[name]) for name in names
    )


def list_gold_rows(
    value: Any, name: str, declared: Collection[str], *, is_only: bool = True
) -> GoldRows:
    """Lists the samples of one JSON value with gold.

    Args:
        value: the gold, a record with it, or an object of id → either.
        name: id of the sample, unless the value has several.
        declared: the keys that the schema has at the top; none if there is no schema.
        is_only: whether no other document is gold by itself. Beside one, an object of id → gold
            has most of the declared keys in each entry; without a schema, it cannot be told.
    """
    found = _read_record(value, name, declared)
    if found is not None:
        return found
    rows = _read_entries(value, declared, is_only=is_only)
    if rows is not None:
        return GoldRows(rows, "an object of id → gold")
    return GoldRows([_make_row(name, value)])


def fits_schema(value: Any, schema: Any, *, is_only: bool) -> bool:
    """Returns whether a JSON value can be meant for a schema: it has one of its keys, or none.

    Args:
        value: the value.
        schema: the schema.
        is_only: see ``list_gold_rows``.
    """
    declared = list_declared_keys(schema)
    if not declared:
        return isinstance(value, dict | list)
    if not isinstance(value, dict):
        return False
    rows = list_gold_rows(value, "", declared, is_only=is_only).rows
    return not value or any(count_declared_keys(row["expected_output"], declared) for row in rows)


def describe_places(places: Mapping[str, int], n_documents: int) -> Iterator[str]:
    """Yields a note for each place where the gold of documents was found.

    Args:
        places: words for the place → number of documents.
        n_documents: number of all documents with gold.
    """
    for place, count in sorted(places.items()):
        yield f"gold of {format_count(count, 'document')} of {n_documents:,} is taken from {place}"


def _make_row(name: str, gold: Any) -> dict[str, Any]:
    return {"id": name, "expected_output": gold}


def _read_record(value: Any, name: str, declared: Collection[str]) -> GoldRows | None:
    """Reads a record with gold and, where a schema can tell, one with an extraction."""
    if not isinstance(value, dict):
        return None
    known = rename_columns(value, declared)
    for key in EXPECTED_KEYS:
        gold = open_gold(known, key, declared)
        if _is_gold(gold, known, key, declared, is_exact=key in value):
            others = {
                name: part
                for name, part in known.items()
                if name not in EXPECTED_KEYS and (name not in COLUMNS or is_of_kind(name, part))
            }
            own_key = next(name for name, part in value.items() if part is known[key])
            return GoldRows(
                [{**others, **_make_row(name, gold)}], f"under {own_key!r} of its record"
            )
    if not declared:
        return None
    record = open_record(value, declared)
    if not record.keys:
        return None
    row = _make_row(name, record.value)
    if record.quotes:
        row[QUOTES] = record.quotes
    return GoldRows([row], f"under {clean_text(record.keys, 100)!r} of {record.form}")


def _is_gold(
    gold: Any, record: dict[str, Any], key: str, declared: Collection[str], *, is_exact: bool
) -> bool:
    """Returns whether the value of a key, opened, is the gold of its record.

    Args:
        gold: the value.
        record: the record, its columns under the names that are read here.
        key: the key.
        declared: the keys that the schema has at the top; none if there is no schema.
        is_exact: whether the record has the key in this spelling.
    """
    if not isinstance(gold, dict | list) or not gold or key in declared:
        return False
    if declared:
        return count_declared_keys(gold, declared) > count_declared_keys(record, declared)
    has_name = _has_any(record, (*ID_KEYS, *DOCUMENT_PATH_KEYS))
    if key == PARSE_KEY:
        return has_name or has_parse(record)
    if key not in FIELD_LIKE_KEYS:
        return has_name or (is_exact and isinstance(gold, dict))
    if isinstance(gold, list):
        return False
    if is_exact and key in SURE_KEYS and len(record) == 1:
        return True
    return has_name and (
        key not in OFTEN_FIELD_KEYS
        or all(name in COLUMNS and is_of_kind(name, part) for name, part in record.items())
    )


def _read_entries(
    value: Any, declared: Collection[str], *, is_only: bool
) -> list[dict[str, Any]] | None:
    """Reads an object of id → gold: its ids are no fields, but the keys of each entry are.

    Without a schema, there must be several with the same fields.
    """
    if not isinstance(value, dict) or not value:
        return None
    if not all(isinstance(entry, dict) and entry for entry in value.values()):
        return None
    keys = {frozenset(entry) for entry in value.values()}
    are_alike = len(value) >= _MIN_ENTRIES and len(keys) == 1 and len(*keys) > 1
    if count_declared_keys(value, declared) or not (declared or (is_only and are_alike)):
        return None
    entries = [
        _read_record(entry, id_, declared) or GoldRows([_make_row(id_, entry)])
        for id_, entry in value.items()
    ]
    rows = [row for entry in entries for row in entry.rows]
    # One key in common is too little to tell gold from a file of settings beside it.
    most = 0 if is_only else max(1, len(declared) / 2)
    if declared and any(
        count_declared_keys(row["expected_output"], declared) <= most for row in rows
    ):
        return None
    return rows
