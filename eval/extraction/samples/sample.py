"""Defines one item of the benchmark: a text, the schema to fill from it, and the expected output.

Rows are read in the specification's format (``text``, ``schema``, ``expected_output``), in that of
``paraloq/json_data_extraction`` (``text``, ``schema``, ``item``, ``topic``, ``medium``, ``title``),
where schema and item are JSON texts, and with the names of columns that other benchmarks use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from eval.extraction.matchers.schema_nodes import (
    ALTERNATIVES,
    check_matchers,
    get_schema_plan,
)
from eval.extraction.samples.column_names import (
    DOMAIN_KEYS,
    EXPECTED_KEYS,
    ID_KEYS,
    SCHEMA_KEYS,
    drop_metadata,
    find_gold_key,
    list_rivals,
    open_gold,
)
from eval.extraction.schemas.schema_validator import MAX_VALUE_DEPTH, SchemaValidator
from eval.extraction.schemas.schema_wrappers import unwrap_schema
from kg.base.errors import SchemaError
from kg.base.plain_text import clean_text
from kg.base.strict_json import NotJsonError, parse_json

MAX_TEXT_LENGTH = 1_000_000
"""Maximum length of a text in characters: the whole text is put into a prompt."""

MARKS = "marks"
"""Key in ``meta`` under which a sample that is kept although something is wrong with it says what:
``schema`` (why it cannot be used), ``gold`` (why it is invalid), ``text`` (why there is none).
``metadata`` lists the keys of its gold that are no fields and were left out. ``columns`` names
columns that could be the gold as well."""
UNNAMED = "(none)"
"""Name of the group of samples without a domain, and of fields without a type."""

_EMPTY_VALUES = ("", None)
"""Values of an optional column that count as if the column were missing."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One text to extract from."""

    id: str
    text: str
    schema: dict[str, Any]
    """May be shared with other samples that have the same schema; must not be modified."""
    expected: Any
    """The expected output: a valid instance of ``schema``, except that properties may be null, and
    that ``{"$any": [...]}`` may list several right values of a place."""
    domain: str = ""
    language: str = "en"
    meta: dict[str, Any] = {}
    """Other columns of the row, unchanged."""


class RowError(ValueError):
    """A row is not a valid sample; the message gives the reason in one clause."""


def sample_from_row(
    row: Mapping[str, Any], default_id: str, *, formats: bool = True, keep: bool = False
) -> Sample:
    """Reads one row.

    Args:
        row: ``text``, ``schema`` and ``expected_output`` (or ``item``); optionally ``id``,
            ``domain`` (or ``topic``), ``language`` and ``meta``. Schema and expected output may be
            JSON texts. A schema is taken out of its wrapper.
        default_id: the sample's id if the row has none.
        formats: whether the expected output must satisfy the schema's formats.
        keep: whether to keep a sample without a text, with an unusable schema or an invalid
            expected output, and to mark it in ``meta``; enough to score predictions. An unusable
            schema is replaced by one that allows anything.

    Raises:
        RowError: a column is missing or of the wrong kind, the schema cannot be used, or the
            expected output is not valid under it.
    """
    marks: dict[str, Any] = {}
    text = _read_sample_text(row, marks, keep=keep)
    schema_key = next((key for key in SCHEMA_KEYS if key in row), SCHEMA_KEYS[0])
    try:
        validator = _compile_row_schema(row.get(schema_key), formats, marks)
    except RowError as error:
        if not keep:
            raise
        marks["schema"] = str(error)
        validator = SchemaValidator.from_schema({})
    root = None if "schema" in marks else get_schema_plan(validator.schema).root
    key = find_gold_key(row, root) or EXPECTED_KEYS[0]
    if rivals := list_rivals(row, key):
        marks["columns"] = f"{key} is read, and {', '.join(rivals)} is not"
    expected = _read_expected(row, key, validator, marks, keep=keep)
    domain_key = next((key for key in DOMAIN_KEYS if row.get(key) not in _EMPTY_VALUES), "domain")
    id_key = next((key for key in ID_KEYS if row.get(key) not in _EMPTY_VALUES), "id")
    used_keys = {id_key, "text", schema_key, "language", "meta", key, domain_key}
    meta = {
        **_read_meta(row.get("meta")),
        **{k: v for k, v in row.items() if k not in used_keys},
    }
    if marks:
        known = meta.get(MARKS)
        meta[MARKS] = {**marks, **(known if isinstance(known, dict) else {})}
    return Sample(
        id=_read_id(row.get(id_key), default_id),
        text=text,
        schema=validator.schema,
        expected=expected,
        domain=_read_text(row, domain_key, ""),
        language=_read_text(row, "language", "en"),
        meta=meta,
    )


def _read_sample_text(row: Mapping[str, Any], marks: dict[str, Any], *, keep: bool) -> str:
    text = row.get("text")
    problem = ""
    if not isinstance(text, str) or not text.strip():
        problem = "its text is missing, empty or not a string"
    elif len(text) > MAX_TEXT_LENGTH:
        problem = f"its text is longer than {MAX_TEXT_LENGTH:,} characters"
    if not problem:
        return str(text)
    if not keep:
        raise RowError(problem)
    marks["text"] = problem
    return ""


def _compile_row_schema(schema: Any, formats: bool, marks: dict[str, Any]) -> SchemaValidator:
    if isinstance(schema, str):
        schema = _parse_json_text(schema, "its schema")
    if schema is None:
        raise RowError("its schema is missing")
    schema, wrapper = unwrap_schema(schema)
    if wrapper:
        marks["wrapper"] = wrapper
    try:
        validator = SchemaValidator.from_schema(schema, formats=formats)
        check_matchers(validator.schema)
    except SchemaError as error:
        raise RowError(f"its schema cannot be used: {error.format_line()}") from error
    return validator


def _read_expected(
    row: Mapping[str, Any],
    key: str,
    validator: SchemaValidator,
    marks: dict[str, Any],
    *,
    keep: bool,
) -> Any:
    """Reads the expected output; a JSON text is parsed unless the schema requires a string.

    Args:
        row: the row.
        key: the column.
        validator: the schema.
        marks: where to note that it is invalid, and which keys are left out.
        keep: whether an invalid one is no error.
    """
    expected = row.get(key)
    if expected is None and key not in row:
        shown = clean_text(", ".join(row), 150)
        raise RowError(f"its {EXPECTED_KEYS[0]} is missing; it has the columns {shown}")
    if isinstance(expected, str):
        if validator.is_valid(expected) and not validator.is_valid(_parse_or_none(expected)):
            return expected
        expected = _parse_json_text(expected, f"its {key}")
    root = get_schema_plan(validator.schema).root
    expected = open_gold({key: expected}, key, root.keys)
    expected, left_out = drop_metadata(expected, root, has_schema="schema" not in marks)
    if left_out:
        marks["metadata"] = list(left_out)
    instance = _choose_alternatives(expected, key)
    violations = validator.list_errors(instance, max_errors=1)
    if violations:
        # A null where the schema allows none says that the text has no such value.
        violations = validator.null_validator.list_errors(instance, max_errors=1)
    if violations:
        problem = f"its {key} is not valid under its schema: {violations[0]}"
        if not keep or violations[0].keyword in ("json", "depth"):
            raise RowError(problem)
        marks["gold"] = problem
    return expected


def _choose_alternatives(value: Any, key: str, depth: int = 0) -> Any:
    """Returns the expected output with the first of several right values in their place.

    Raises:
        RowError: alternatives are no list, one is empty, or they differ in their number of fields,
            so that the number of expected fields would depend on the reply.
    """
    if depth > MAX_VALUE_DEPTH:
        return value
    if isinstance(value, list):
        return [_choose_alternatives(element, key, depth + 1) for element in value]
    if not isinstance(value, dict):
        return value
    if ALTERNATIVES not in value:
        return {name: _choose_alternatives(part, key, depth + 1) for name, part in value.items()}
    alternatives = value[ALTERNATIVES]
    if len(value) > 1 or not isinstance(alternatives, list) or not alternatives:
        raise RowError(
            f"its {key} has {ALTERNATIVES!r} with something else than a list of values, or with "
            "another key beside it"
        )
    chosen = [_choose_alternatives(one, key, depth + 1) for one in alternatives]
    counts = {_count_fields(one) for one in chosen}
    if 0 in counts or len(counts) > 1:
        raise RowError(
            f"its {key} has {ALTERNATIVES!r} with a value that is empty, or with values that have "
            "different numbers of fields"
        )
    return chosen[0]


def _count_fields(value: Any) -> int:
    """Counts the scalars and arrays of scalars of a value; empty ones do not count."""
    if isinstance(value, dict):
        return sum(map(_count_fields, value.values()))
    if isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        return sum(map(_count_fields, value))
    return int(value not in (None, "", []))


def _parse_json_text(text: str, name: str) -> Any:
    try:
        return parse_json(text)
    except NotJsonError as error:
        raise RowError(f"{name} is not JSON: {error}") from error


def _parse_or_none(text: str) -> Any:
    try:
        return _parse_json_text(text, "")
    except RowError:
        return None


def _read_id(value: Any, default: str) -> str:
    if value in _EMPTY_VALUES:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RowError("its id is neither a string nor an integer")
    return str(value)


def _read_text(row: Mapping[str, Any], key: str, default: str) -> str:
    value = row.get(key)
    if value in _EMPTY_VALUES:
        return default
    if not isinstance(value, str):
        raise RowError(f"its {key} is not a string")
    return value


def _read_meta(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, str):
        value = _parse_json_text(value, "its meta")
    if not isinstance(value, dict):
        raise RowError("its meta is not an object")
    return value
