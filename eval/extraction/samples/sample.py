"""One item of the benchmark: a text, the schema to fill from it, and what is right.

A row is read in the seed's shape (``text``, ``schema``, ``expected_output``) and in that of
``paraloq/json_data_extraction`` (``text``, ``schema``, ``item``, ``topic``, ``medium``, ``title``),
where schema and item are JSON texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from eval.extraction.matchers.fields import check_matchers
from eval.extraction.schemas.schema_check import SchemaCheck
from kg.base.errors import SchemaError
from kg.base.strict_json import NotJsonError, parse_json

MAX_TEXT = 1_000_000
"""Characters a text may have: it goes into a prompt whole."""

EXPECTED_KEYS = ("expected_output", "item")
DOMAIN_KEYS = ("domain", "topic")
"""Names of one and the same column, the first that a row has being read."""

_EMPTY_NAMES = ("", None)


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One text to extract from."""

    id: str
    text: str
    schema: dict[str, Any]
    """May be shared with other samples that have the same; never to be changed."""
    expected: Any
    """What is to be extracted: a valid instance of ``schema``."""
    domain: str = ""
    language: str = "en"
    meta: dict[str, Any] = {}
    """What else the row held, as it stood there."""


class RowError(ValueError):
    """A row is no sample; the message says why in one clause."""


def sample_from_row(row: Mapping[str, Any], default_id: str, *, formats: bool = True) -> Sample:
    """Reads one row.

    Args:
        row: ``text``, ``schema`` and ``expected_output`` (or ``item``); ``id``, ``domain`` (or
            ``topic``), ``language`` and ``meta`` as they are there. Schema and expected output may
            be JSON texts.
        default_id: the sample's id if the row has none.
        formats: whether the expected output must keep the schema's formats.

    Raises:
        RowError: a column is missing or of the wrong kind, the schema cannot be used, or the
            expected output is no valid instance of it.
    """
    text = row.get("text")
    if not isinstance(text, str) or not text.strip():
        raise RowError("its text is missing, empty or no text")
    if len(text) > MAX_TEXT:
        raise RowError(f"its text is longer than {MAX_TEXT:,} characters")
    check = _check_of(row.get("schema"), formats)
    key = next((key for key in EXPECTED_KEYS if key in row), EXPECTED_KEYS[0])
    expected = _expected_of(row, key, check)
    domain_key = next((key for key in DOMAIN_KEYS if row.get(key) not in _EMPTY_NAMES), "domain")
    taken = {"id", "text", "schema", "language", "meta", key, domain_key}
    return Sample(
        id=_id_of(row.get("id"), default_id),
        text=text,
        schema=check.schema,
        expected=expected,
        domain=_word_of(row, domain_key, ""),
        language=_word_of(row, "language", "en"),
        meta={**_meta_of(row.get("meta")), **{k: v for k, v in row.items() if k not in taken}},
    )


def _check_of(schema: Any, formats: bool) -> SchemaCheck:
    if isinstance(schema, str):
        schema = _parsed(schema, "its schema")
    if schema is None:
        raise RowError("its schema is missing")
    try:
        check = SchemaCheck.of(schema, formats=formats)
        check_matchers(check.schema)
    except SchemaError as error:
        raise RowError(f"its schema cannot be used: {error.one_line()}") from error
    return check


def _expected_of(row: Mapping[str, Any], key: str, check: SchemaCheck) -> Any:
    """The expected output: parsed where it is a JSON text, unless the schema wants that text."""
    expected = row.get(key)
    if expected is None and key not in row:
        raise RowError(f"its {EXPECTED_KEYS[0]} is missing")
    if isinstance(expected, str):
        if check.valid(expected) and not check.valid(_parsed_or_none(expected)):
            return expected
        expected = _parsed(expected, f"its {key}")
    found = check.errors(expected, most=1)
    if found:
        raise RowError(f"its {key} is not valid under its schema: {found[0]}")
    return expected


def _parsed(text: str, what: str) -> Any:
    try:
        return parse_json(text)
    except NotJsonError as error:
        raise RowError(f"{what} is no JSON: {error}") from error


def _parsed_or_none(text: str) -> Any:
    try:
        return _parsed(text, "")
    except RowError:
        return None


def _id_of(value: Any, default: str) -> str:
    if value in _EMPTY_NAMES:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RowError("its id is neither a text nor a whole number")
    return str(value)


def _word_of(row: Mapping[str, Any], key: str, default: str) -> str:
    value = row.get(key)
    if value in _EMPTY_NAMES:
        return default
    if not isinstance(value, str):
        raise RowError(f"its {key} is no text")
    return value


def _meta_of(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, str):
        value = _parsed(value, "its meta")
    if not isinstance(value, dict):
        raise RowError("its meta is no object")
    return value
