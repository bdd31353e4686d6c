"""Takes gold out of records with metadata, and out of objects of id → gold.

For example ``{"doc_id": "a1", "category": "bill", "expected": {…}}``. Where there is a schema, it
decides; without one, the names of the keys do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from eval.extraction.matchers.schema_nodes import get_schema_plan
from eval.extraction.samples.envelopes import count_declared_keys, open_record
from eval.extraction.samples.sample import DOMAIN_KEYS, EXPECTED_KEYS, ID_KEYS, SCHEMA_KEYS
from eval.extraction.schemas.schema_validator import SchemaValidator
from eval.extraction.schemas.schema_wrappers import unwrap_schema
from eval.extraction.verdicts.quotes import QUOTES
from kg.base.errors import SchemaError
from kg.base.plain_text import clean_text, format_count

DOCUMENT_PATH_KEYS: Final = ("pdf", "doc_path", "file", "file_path", "path", "source_file_path")
"""Columns with the path of the document that was read."""
_FIELD_LIKE: Final = ("expected", "gold", "item", "label", "json")
"""Names of the column with gold that a field may have too; they need an id or a path beside them,
or to stand alone."""
_OFTEN_FIELDS: Final = ("item", "label", "json")
"""Those of them that are fields beside an id too, so that only columns may stand beside them."""
_COLUMNS: Final = frozenset(
    (*ID_KEYS, *DOCUMENT_PATH_KEYS, *DOMAIN_KEYS, *SCHEMA_KEYS, *EXPECTED_KEYS)
) | {"text", "language", "meta"}
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
    if not keys and isinstance(expected, dict):
        keys = tuple(expected)
    return frozenset(keys)


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
    for key in EXPECTED_KEYS:
        if _has_gold(value, key, declared):
            others = {name: part for name, part in value.items() if name not in EXPECTED_KEYS}
            return GoldRows(
                [{**others, **_make_row(name, value[key])}], f"under {key!r} of its record"
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


def _has_gold(record: dict[str, Any], key: str, declared: Collection[str]) -> bool:
    gold = record.get(key)
    if not isinstance(gold, dict) or not gold or key in declared:
        return False
    if declared:
        return count_declared_keys(gold, declared) > count_declared_keys(record, declared)
    if key not in _FIELD_LIKE or len(record) == 1:
        return True
    has_name = any(name in record for name in (*ID_KEYS, *DOCUMENT_PATH_KEYS))
    return has_name and (key not in _OFTEN_FIELDS or record.keys() <= _COLUMNS)


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
