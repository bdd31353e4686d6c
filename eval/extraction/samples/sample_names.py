"""Finds the sample that a prediction made elsewhere is on, by the names it may go under."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from eval.extraction.matchers.schema_nodes import SchemaNode, get_schema_plan
from eval.extraction.samples.annotated_values import (
    PlainValues,
    list_number_places,
    list_value_places,
    split_annotations,
)
from eval.extraction.samples.column_names import (
    DOCUMENT_PATH_KEYS,
    find_gold_key,
    list_rivals,
    open_gold,
    rename_columns,
)
from eval.extraction.samples.documents import strip_markers
from eval.extraction.samples.envelopes import count_declared_keys
from eval.extraction.samples.gold_records import is_single_object, list_declared_keys
from eval.extraction.samples.sample import MARKS, Sample
from eval.extraction.view import read_extraction
from eval.harness.reply import Reply
from eval.model.replies.schema_form import asks_for_array
from kg.base.plain_text import clean_text
from kg.base.strict_json import NotJsonError, parse_json


class SampleNames:
    """The names under which predictions may refer to samples.

    Args:
        samples: the samples.
        is_limited: whether these are only the first samples of the data set.
        source: the file or folder of the samples; a path that is none, such as a hub's, is ignored.
    """

    def __init__(
        self, samples: Sequence[Sample], *, is_limited: bool = False, source: Path | None = None
    ) -> None:
        self._source: Final = source
        self.n_samples: Final = len(samples)
        self.is_limited: Final = is_limited
        self._ids = {sample.id: sample.id for sample in samples}
        others: dict[str, set[str]] = defaultdict(set)
        for sample in samples:
            others[strip_markers(Path(f"{sample.id}.json"))].add(sample.id)
            for key in DOCUMENT_PATH_KEYS:
                value = sample.meta.get(key)
                if isinstance(value, str) and value:
                    path = Path(value)
                    for name in (path.stem, path.name, value, f"{path.parent.name}/{path.stem}"):
                        others[name].add(sample.id)
        self._others = {name: min(ids) for name, ids in others.items() if len(ids) == 1}
        self._samples = {sample.id: sample for sample in samples}
        marks = {sample.id: sample.meta.get(MARKS, {}) for sample in samples}
        self._metadata_keys = {id_: mark.get("metadata", ()) for id_, mark in marks.items()}
        self._without_schema = {id_ for id_, mark in marks.items() if "schema" in mark}
        self._declared = {
            sample.id: list_declared_keys(
                None if sample.id in self._without_schema else sample.schema, sample.expected
            )
            for sample in samples
        }
        self._array_roots = {sample.id for sample in samples if asks_for_array(sample.schema)}
        self.example: Final = clean_text(samples[0].id, 60)
        self.only_id: Final = samples[0].id if len(samples) == 1 else None
        self.rows_are_numbered: Final = all(
            sample.id == str(number) for number, sample in enumerate(samples, start=1)
        )

    def __contains__(self, name: object) -> bool:
        return name in self._ids or name in self._others

    def get_id(self, name: str) -> str | None:
        """Returns the id of the sample that a name means, or ``None``."""
        return self._ids.get(name) or self._others.get(name)

    def get_declared_keys(self, id_: str) -> frozenset[str]:
        """Returns the keys that an extraction from a sample may have at the top."""
        return self._declared[id_]

    def has_field(self, name: object, key: str) -> bool:
        """Returns whether a key is a field of the sample that a name means, or else of any."""
        id_ = self.get_id(str(name))
        samples = self._declared if id_ is None else (id_,)
        return any(key in self._declared[sample] for sample in samples)

    def expects_single_object(self, id_: str) -> bool:
        """Returns whether gold is an array of one object, and no schema says that it must be."""
        return id_ in self._without_schema and is_single_object(self._samples[id_].expected)

    def is_source(self, path: Path) -> bool:
        """Returns whether predictions are the gold itself, or lie in the same file or folder."""
        return self._source is not None and path.resolve() == self._source.resolve()

    def open_gold(self, id_: str, value: Any) -> Any:
        """Takes gold that is a prediction out of its record, which is no extraction."""
        key = self.find_gold_column(id_, value) if isinstance(value, dict) else None
        if key is None:
            return value
        fields = self._declared[id_]
        gold = open_gold(value, key, fields)
        if isinstance(gold, list) and isinstance(self._samples[id_].expected, list):
            return gold
        has_more = count_declared_keys(gold, fields) > count_declared_keys(value, fields)
        return gold if has_more else value

    def find_gold_column(self, id_: str | None, row: dict[str, Any]) -> str | None:
        """Returns the column of a row or record with gold that is gold of a sample, or ``None``."""
        if id_ is None:
            return None
        fields = self._declared[id_]
        root = None if id_ in self._without_schema else self.get_root(id_)
        known = rename_columns(row, fields)
        key = find_gold_key(known, root, fields)
        if key is None:
            return None
        return next(name for name in (key, *list_rivals(row, key)) if row.get(name) is known[key])

    def fit_value(self, id_: str, value: Any) -> Any:
        """Returns an extraction in the form of its gold, as far as no schema asks for another.

        Keys about gold that are no fields are left out, and an object alone is the same as an array
        of this object.
        """
        left_out = self._metadata_keys[id_]
        if left_out and isinstance(value, list):
            value = [_drop_keys(part, left_out) for part in value]
        elif left_out:
            value = _drop_keys(value, left_out)
        if isinstance(value, dict) and self.expects_single_object(id_):
            return [value]
        return value

    def splits_column(self, column: str, columns: Collection[str]) -> bool:
        """Returns whether a column such as ``address.city`` is of a field of an object.

        It is not if another column has the object, or a part of it, as a whole.
        """
        head, dot, tail = column.partition(".")
        steps = column.split(".")
        has_whole = any(".".join(steps[:end]) in columns for end in range(1, len(steps)))
        return (
            bool(dot and tail)
            and not has_whole
            and any(
                head in declared and column not in declared for declared in self._declared.values()
            )
        )

    def read_cells(self, id_: str, cells: Mapping[str, Any]) -> dict[str, Any]:
        """Reads the cells of a row, those of columns such as ``address.city`` into objects."""
        fields: dict[str, Any] = {}
        for column, cell in cells.items():
            node, place = self.get_root(id_), fields
            steps = column.split(".") if self.splits_column(column, cells) else [column]
            for step in steps[:-1]:
                place = place.setdefault(step, {})
                node = node.get_child(step)
            place[steps[-1]] = _read_cell(node.get_child(steps[-1]), cell)
        return fields

    def split_annotations(self, id_: str, value: Any) -> PlainValues | None:
        """Takes the values of an extraction out of their annotations; ``None`` if it has none."""
        expected = self._samples[id_].expected
        return split_annotations(
            value, self.get_root(id_), list_value_places(expected), list_number_places(expected)
        )

    def get_root(self, id_: str) -> SchemaNode:
        """Returns the schema node of an extraction from a sample."""
        return get_schema_plan(self._samples[id_].schema).root

    def read_value(self, id_: str | None, value: Any) -> Reply:
        """Reads the extraction from a sample as its schema asks for it."""
        return read_extraction(value, array_root=id_ in self._array_roots)


def _drop_keys(value: Any, keys: Collection[str]) -> Any:
    """Returns an object without some keys; anything else, and one without them, as it is."""
    if not isinstance(value, dict) or value.keys().isdisjoint(keys):
        return value
    return {key: part for key, part in value.items() if key not in keys}


def _read_cell(node: SchemaNode, cell: Any) -> Any:
    """Reads a cell of a table: as JSON where the schema asks for something else than a text."""
    if not isinstance(cell, str) or not node.types or "string" in node.types:
        return cell
    try:
        return parse_json(cell)
    except NotJsonError:
        return cell
