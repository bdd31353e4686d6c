"""Loads gold for scoring predictions made elsewhere, in any layout of ``gold_folder``.

Other than for a run, samples are kept where they can: without a text, without a usable schema, and
with an expected output that its schema forbids. They are marked, and notes count them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from eval.extraction.matchers.schema_nodes import check_matchers
from eval.extraction.samples.column_names import rename_columns
from eval.extraction.samples.documents import read_document
from eval.extraction.samples.gold_columns import complete_row
from eval.extraction.samples.gold_folder import read_gold_folder
from eval.extraction.samples.gold_records import (
    describe_places,
    is_gold_row,
    is_single_object,
    list_declared_keys,
    list_gold_rows,
    read_case,
)
from eval.extraction.samples.loader import (
    SHIPPED,
    LoadedSamples,
    SampleReader,
    describe_marks,
    load_samples,
)
from eval.extraction.samples.row_files import Row, iter_file_rows
from eval.extraction.schemas.schema_wrappers import unwrap_schema
from kg.base.errors import MissingFileError, RecordError, SchemaError
from kg.base.files import require_file

_HINT = "See docs/reference/extraction.md for the layouts of gold."


def load_gold(
    source: str,
    *,
    split: str = "test",
    limit: int | None = None,
    schema: Path | None = None,
    predictions: Collection[Path] = (),
) -> LoadedSamples:
    """Loads gold.

    Args:
        source: a file or folder; also ``shipped``, or ``owner/name`` on the hub.
        split: split of a data set on the hub.
        limit: read only this many samples.
        schema: file with the schema of samples without their own.
        predictions: files and folders that are predictions, and so not gold.

    Returns:
        At least one sample, with notes on those that are marked.

    Raises:
        MissingFileError: there is no such file, or a folder without gold.
        SchemaError: ``schema`` has no schema.
        RecordError: a file is damaged or too large, no row is usable, or it is unclear which folder
            has the gold.
    """
    path = Path(source)
    if source == SHIPPED or not path.exists():
        return load_samples(source, split=split, limit=limit)
    common = None if schema is None else read_schema_file(schema)
    reader = SampleReader(source, strict=False, formats=True, limit=limit, keep=True)
    notes: list[str] = []
    for name, rows in _iter_rows(path, common, predictions, notes):
        reader.read_rows(name, rows)
        if reader.is_full:
            break
    if not reader.samples:
        first = f"; {reader.rejected[0]}" if reader.rejected else ""
        raise RecordError(f"no usable gold{first}", where=source, hint=_HINT)
    return LoadedSamples(reader.samples, reader.rejected, [*notes, *describe_marks(reader.samples)])


def _iter_rows(
    path: Path, schema: Any, predictions: Collection[Path], notes: list[str]
) -> Iterator[tuple[str, Iterator[Row]]]:
    if path.is_dir():
        try:
            yield from read_gold_folder(path, schema, predictions, notes)
        except MissingFileError as error:
            if path.resolve() in {one.resolve() for one in predictions}:
                raise
            if not any(one.resolve().is_relative_to(path.resolve()) for one in predictions):
                raise
            raise MissingFileError(
                "the folder has no gold beside the predictions",
                where=str(path),
                hint="To score gold against itself, give --gold and --predictions the same path.",
            ) from error
        return
    if path.suffix.lower() == ".json":
        document = read_document(path)
        value = document.value
        if isinstance(value, dict) or (schema is None and _is_gold_in_array(value)):
            case = read_case(value, list_declared_keys(schema))
            rows = [] if case is None else [case]
            if case is None:
                found = list_gold_rows(value, path.stem, list_declared_keys(schema))
                notes += describe_places({found.place: 1} if found.place else {}, 1)
                rows = found.rows
            numbered = (Row(number, row) for number, row in enumerate(rows, start=1))
            yield "", (complete_row(row, path.parent, schema, names_gold=True) for row in numbered)
            return
    # omni-extract-bench has further manifests in a folder of the data set.
    folder = path.parent.parent if path.resolve().parent.name == "manifests" else path.parent
    yield (
        "",
        (
            row if row.values is None else complete_row(row, folder, schema)
            for row in iter_file_rows(path, list_declared_keys(schema))
        ),
    )


def _is_gold_in_array(value: Any) -> bool:
    """Returns whether a JSON value is an array of one object that is gold, and no row with it."""
    return is_single_object(value) and not is_gold_row(rename_columns(value[0]), has_schema=True)


def read_schema_file(path: Path) -> dict[str, Any]:
    """Reads the schema in a file, out of its wrapper if it has one.

    Raises:
        MissingFileError: there is no such file.
        SchemaError: it is not JSON, or no usable schema.
    """
    document = read_document(require_file(path, "schema file"))
    if document.problem:
        raise SchemaError(f"the schema is {document.problem}", where=str(path))
    schema, _ = unwrap_schema(document.value)
    try:
        check_matchers(schema)
    except SchemaError as error:
        where = f"{path}: {error.where}" if error.where else str(path)
        raise SchemaError(error.what, where=where, hint=error.hint) from error
    return dict(schema)
