"""Names the columns of rows and the keys of records, in whatever spelling others write them.

Case, "_", "-" and spaces do not count: "trueJsonOutput" and "True JSON Output" are
``true_json_output``. Rows are renamed where they are read, so that all else knows one spelling.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from eval.extraction.matchers.schema_nodes import ALTERNATIVES
from kg.base.strict_json import NotJsonError, parse_json

_GOLD_KEYS: Final = (
    *("expected_output", "gold_output", "ground_truth", "reference_output", "golden_output"),
    *("true_output", "target_output", "correct_output", "true_json_output", "true_json"),
    *("expected_json", "gold_json", "ground_truth_json", "reference_json", "target_json"),
    *("gt_json", "expected_extraction", "gold_extraction", "expected_result", "expected_fields"),
    *("expected_outputs", "expected_values", "expected_answer", "reference_outputs"),
    *("expectations", "ideal", "gold_label", "gold_labels", "gold_standard"),
    *("gt_parse", "gt_parses"),
)
FIELD_LIKE_KEYS: Final = (
    *("item", "gold", "expected", "label", "json", "golden", "gt", "labels", "target", "targets"),
    *("annotation", "annotations", "reference", "references", "outputs"),
)
"""Names of the column with gold that a field may have too; they need an id or a path beside them,
or to stand alone."""
OFTEN_FIELD_KEYS: Final = (
    *("item", "label", "json", "labels", "target", "targets", "annotation", "annotations"),
    *("reference", "references", "outputs"),
)
"""Those of them that are fields beside an id too, so that only columns may stand beside them."""
EXPECTED_KEYS: Final = (*_GOLD_KEYS, *FIELD_LIKE_KEYS)
"""Alternative names of the column with the expected output; see ``find_gold_key``."""
PARSE_KEYS: Final = ("gt_parse", "gt_parses")
"""Keys within the gold of Donut and CORD, beside what was seen on the page."""
SCHEMA_KEYS: Final = ("schema", "data_schema", "json_schema", "schema_definition")
"""Alternative names of the column with the schema; the first that a row has is read."""
ID_KEYS: Final = ("id", "doc_id", "document_id", "example_id", "sample_id", "test_id", "uid")
"""Alternative names of the column with the id; the first that is not empty is read."""
DOMAIN_KEYS: Final = ("domain", "topic", "category", "suite")
"""Alternative names of the column with the domain; the first that is not empty is read."""
DOCUMENT_PATH_KEYS: Final = (
    *("pdf", "doc_path", "file", "file_path", "path", "source_file_path", "file_name"),
    *("document_path", "pdf_path", "image_path", "image", "file_url", "pdf_url", "image_url"),
)
"""Columns with the path of the document that was read."""
GOLD_PATH_KEYS: Final = ("gt_path", "gold_path")
"""Columns with the path of the file that has the gold."""
RULE_KEYS: Final = ("_field_rules", "field_rules", "test_rules")
"""Columns with rules per field, whose evidence has quotes."""
COLUMNS: Final = frozenset(
    (*ID_KEYS, *DOCUMENT_PATH_KEYS, *DOMAIN_KEYS, *SCHEMA_KEYS, *EXPECTED_KEYS)
) | {"text", "language", "meta", "metadata"}
"""All columns of samples that a record may have beside its gold."""


def simplify_name(name: str) -> str:
    """Returns a name in lower case, without separators."""
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


_NAMES: Final = (COLUMNS - {"metadata"}).union(GOLD_PATH_KEYS, RULE_KEYS)
_KNOWN: Final = {simplify_name(name): name for name in sorted(_NAMES)}


def rename_columns(row: dict[str, Any], fields: Collection[str] = ()) -> dict[str, Any]:
    """Returns a row with its known columns under the names that are read here.

    Args:
        row: the row or record; columns that have a known name already come before others.
        fields: names that stay as they are, since the schema declares them.
    """
    renamed: dict[str, Any] = {}
    for key, value in row.items():
        known = key if key in _NAMES or key in fields else _KNOWN.get(simplify_name(key), key)
        renamed[key if known in row or known in renamed else known] = value
    return renamed


def find_names(columns: Iterable[str], names: Iterable[str]) -> list[str]:
    """Lists the columns that have one of the names, in the order of these, in any spelling."""
    known = {column: column for column in sorted(columns)}
    spellings = {simplify_name(column): column for column in known}
    found = (known.get(name) or spellings.get(simplify_name(name)) for name in names)
    return list(dict.fromkeys(filter(None, found)))


def find_gold_key(row: Mapping[str, Any]) -> str | None:
    """Returns the column with the expected output: the first whose name says nothing else.

    Of names that a field or a class may have too, the first with an object or an array.
    """
    found = [key for key in EXPECTED_KEYS if key in row]
    if not found or found[0] in _GOLD_KEYS:
        return found[0] if found else None
    return next((key for key in found if _is_container(row[key])), found[0])


def has_gold_column(row: Mapping[str, Any], *, named: bool = False) -> bool:
    """Returns whether a row has a column that can be gold, by its name or its value.

    Args:
        row: the row.
        named: whether both must be so: by its name it can be nothing else.
    """
    key = find_gold_key(row)
    if key is None:
        return False
    is_named = key in _GOLD_KEYS
    if named:
        return is_named and _is_container(row[key])
    return is_named or _is_container(row[key])


def open_gold(record: Mapping[str, Any], key: str, fields: Collection[str] = ()) -> Any:
    """Returns the gold in a record: read from a text of JSON, and from under ``gt_parse``.

    Args:
        record: the record.
        key: the key of its gold.
        fields: the keys that the schema declares at the top.
    """
    value = read_json_text(record.get(key))
    if isinstance(value, dict):
        for inner in PARSE_KEYS:
            if inner not in fields and isinstance(value.get(inner), dict | list):
                return open_gold(value, inner, fields)
    if key == "gt_parses" and isinstance(value, list):
        return value[0] if len(value) == 1 else {ALTERNATIVES: value}
    return value


def list_metadata_keys(gold: Any, fields: Collection[str]) -> list[str]:
    """Lists the keys at the top of gold that are about it and no fields: "__meta__", "$schema".

    Args:
        gold: the gold.
        fields: the keys that the schema declares at the top.
    """
    if not isinstance(gold, dict):
        return []
    found = [
        key
        for key in gold
        if key.startswith(("_", "$")) and key != ALTERNATIVES and key not in fields
    ]
    return found if len(found) < len(gold) else []


def read_json_text(value: Any) -> Any:
    """Reads an object or array that is given as a text of JSON; returns anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return parse_json(value)
    except NotJsonError:
        return value


def _is_container(value: Any) -> bool:
    return isinstance(read_json_text(value), dict | list)
