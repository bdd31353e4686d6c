"""Reads rows of predictions that are extractions themselves, or that have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eval.extraction.samples.column_names import DOCUMENT_PATH_KEYS, find_names
from eval.extraction.samples.envelopes import find_error
from eval.extraction.samples.sample_names import SampleNames
from eval.harness.predictions.reader import PredictionFormat


def choose_id_field(
    rows: Sequence[tuple[str, dict[str, Any]]], fields: Sequence[str], names: SampleNames
) -> str:
    """Returns the field whose values are ids of samples in most rows; the first of several.

    A line of a batch has an id of its own beside that of the sample. Where none is an id, the
    path of the document is one if it names a sample.
    """
    paths = find_names((key for _, row in rows for key in row), DOCUMENT_PATH_KEYS)
    candidates = [*fields, *paths]
    counts = {field: sum(str(row.get(field)) in names for _, row in rows) for field in candidates}
    best = max(candidates, key=counts.__getitem__, default="")
    return best if best in fields or counts.get(best) else next(iter(fields), "")


def are_extractions(
    rows: Sequence[tuple[str, dict[str, Any]]], form: PredictionFormat, names: SampleNames
) -> bool:
    """Returns whether rows have the fields of the schema themselves: ``id,name,total``.

    Then the field that might contain an extraction is one of the schema, or there is none, and the
    rows have others of it.
    """
    id_field, value_field = form.name_field("id"), form.name_field("value")
    n_rows = 0
    for _, row in rows:
        id_ = names.get_id(str(row.get(id_field)))
        if id_ is None:
            continue
        declared = names.get_declared_keys(id_)
        value = row.get(value_field)
        if value is not None and (
            value_field not in declared
            or (isinstance(value, dict) and not declared.isdisjoint(value))
        ):
            return False
        n_rows += not declared.isdisjoint(row.keys() - {id_field, value_field})
    return n_rows > 0


def make_record(
    row: dict[str, Any], form: PredictionFormat, names: SampleNames, is_table: bool
) -> dict[str, Any]:
    """Puts the fields of a row that is an extraction into one field."""
    id_field = form.name_field("id")
    id_ = names.get_id(str(row.get(id_field)))
    declared = names.get_declared_keys(id_) if id_ else frozenset[str]()
    about = {form.name_field(name) for name in ("id", "repeat", "confidence", "error", "raw")}
    outside = about - declared
    record = {key: value for key, value in row.items() if key in outside | {id_field}}
    fields = {key: value for key, value in row.items() if key not in outside}
    if is_table and id_:
        fields = names.read_cells(id_, fields)
    return {**record, form.name_field("value"): fields}


def move_gold(
    rows: Sequence[tuple[str, dict[str, Any]]], form: PredictionFormat, names: SampleNames
) -> tuple[list[tuple[str, dict[str, Any]]], str]:
    """Puts the gold of rows that have it into the field of extractions.

    Returns:
        The rows, and the first column that has gold; empty if none has.
    """
    moved: list[tuple[str, dict[str, Any]]] = []
    first = ""
    for where, row in rows:
        id_ = names.get_id(str(row.get(form.name_field("id"))))
        key = names.find_gold_column(id_, row)
        if key is not None:
            row = {**row, form.name_field("value"): row[key]}
            first = first or key
        moved.append((where, row))
    return moved, first


def mark_failed_row(row: dict[str, Any], form: PredictionFormat) -> dict[str, Any]:
    """Adds an error to a row without the field that has the extractions of other rows."""
    value_field, error_field = form.name_field("value"), form.name_field("error")
    if value_field in row or row.get(error_field):
        return row
    return {**row, error_field: find_error(row) or f"it has no {value_field!r}"}
