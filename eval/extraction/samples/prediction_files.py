"""Reads predictions for scoring: files of rows, and folders with one JSON file per document.

Predictions are matched with samples by id or, where that is unambiguous, by the name of the
document. An extraction is taken out of the record in which a service or benchmark stores it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from eval.extraction.samples.column_names import ID_KEYS, find_names
from eval.extraction.samples.documents import iter_names, list_files, read_document, strip_markers
from eval.extraction.samples.envelopes import VALUE_KEYS
from eval.extraction.samples.opened_records import PredictedSystem, open_records
from eval.extraction.samples.prediction_rows import (
    are_extractions,
    choose_id_field,
    make_record,
    mark_failed_row,
    move_gold,
)
from eval.extraction.samples.sample_names import SampleNames
from eval.extraction.schemas.schema_wrappers import is_schema, unwrap_schema
from eval.extraction.view import ENCODED_TWICE
from eval.harness.predictions.reader import (
    CONFIDENCES,
    PredictionFile,
    PredictionFormat,
    Predictions,
    read_predictions,
    show_text,
)
from eval.harness.predictions.rows import (
    WORKBOOK_ENDING,
    find_delimiter,
    iter_rows,
    read_header,
)
from eval.harness.reply import Reply
from kg.base.errors import DuplicateIdError, MissingFileError, RecordError
from kg.base.files import require_file, sha256_bytes, sha256_file
from kg.base.plain_text import clean_text, format_count, join_list

PREDICTION_NAMES: Final = frozenset({"predictions", "prediction", "outputs", "output"})
"""Names that tell the folder with extractions from others with documents of the same stems."""

MAX_PREDICTION_BYTES: Final = 8 * 2**20
"""Maximum size of a file with one prediction; a larger one is an unreadable reply."""

_MAX_SHOWN = 5
_ROW_ENDINGS: Final = (".jsonl", ".ndjson", ".csv", ".tsv", WORKBOOK_ENDING)
_REQUEST_KEYS: Final = ("custom_id", "key", "recordId")
"""Keys under which batches of OpenAI, Anthropic, Gemini and Bedrock give the id of a request."""
FAILED_REQUEST: Final = "Need Retry"
"""What the scripts of DeepJSONEval write as the output of a request that failed."""


def expand_folders(texts: Sequence[str], names: SampleNames) -> list[str]:
    """Replaces a folder of several systems that has no name by ``NAME=FOLDER`` of each.

    It has one folder per system if documents of the same name are in several of its subfolders. If
    none of its files is named like a document, each is a system's.
    """
    expanded: list[str] = []
    for text in texts:
        path = Path(text)
        if "=" in path.name or not path.is_dir():
            expanded.append(text)
            continue
        systems: dict[str, set[str]] = defaultdict(set)
        counts: Counter[str] = Counter()
        for file in list_files(path):
            parts = file.relative_to(path).parts
            id_ = _find_id(file, path, names)
            if id_ is None or len(parts) == 1 or id_ in systems[parts[0]]:
                continue
            systems[parts[0]].add(id_)
            counts[id_] += 1
        if not systems and not _has_prediction(path, names):
            # A file per system, of rows or, if there is only one document, with its extraction.
            endings = (*_ROW_ENDINGS, ".json") if names.only_id else _ROW_ENDINGS
            files = [file for file in sorted(path.iterdir()) if file.suffix.lower() in endings]
            expanded += [f"{file.stem}={file}" for file in files] or [text]
            continue
        found = [name for name, ids in systems.items() if ids]
        if len(found) > 1 and max(counts.values(), default=0) > 1:
            expanded += [f"{name}={path / name}" for name in found]
        else:
            expanded.append(text)
    return expanded


def read_system(
    file: PredictionFile, names: SampleNames, form: PredictionFormat
) -> PredictedSystem:
    """Reads the predictions of one system.

    Args:
        file: the file or folder, and the name of the system.
        names: the samples.
        form: how rows are read.

    Raises:
        EpocheError: see ``read_predictions``; a folder has no prediction on a sample, or it is
            unclear which of its folders has the predictions.
    """
    is_gold = names.is_source(file.path)
    if file.path.is_dir():
        rows = [one for one in sorted(file.path.iterdir()) if one.suffix.lower() in _ROW_ENDINGS]
        if len(rows) != 1 or _has_prediction(file.path, names):
            return open_records(_read_folder(file, names), names, is_gold=is_gold)
        file = replace(file, path=rows[0])
    found, notes = _read_file(file, names, form, is_gold=is_gold)
    return open_records(found, names, notes, is_gold=is_gold)


def describe_system(file: PredictionFile) -> dict[str, Any]:
    """Returns what a manifest says about predictions: the name of the file, and a hash."""
    path = file.path
    if not path.is_dir():
        return {"predictions": path.name, "sha256": sha256_file(path)}
    hashes = []
    for member in list_files(path):
        if member.suffix.lower() in (*_ROW_ENDINGS, ".json"):
            require_file(member, "prediction")
            hashes.append(f"{member.relative_to(path).as_posix()} {sha256_file(member)}\n")
    return {"predictions": path.name, "sha256": sha256_bytes("".join(hashes).encode())}


def _find_id(file: Path, folder: Path, names: SampleNames) -> str | None:
    """Returns the sample that a file is on; none for a schema, unless a sample has its name."""
    if file.suffix.lower() != ".json":
        return None
    if file.stem.lower().endswith("schema") and file.stem not in names:
        return None
    found = (names.get_id(name) for name in iter_names(file, folder))
    return next((id_ for id_ in found if id_ is not None), None)


def _is_companion(file: Path, names: SampleNames) -> bool:
    """Returns whether a file is no prediction: "a.raw.json", "_errors.json", "my-schema.json"."""
    stem = file.stem
    while "." in stem:
        stem = stem.rpartition(".")[0]
        if stem in names:
            return True
    return stem.startswith("_") or stem.lower().endswith("schema")


def _has_prediction(folder: Path, names: SampleNames) -> bool:
    return any(_find_id(file, folder, names) is not None for file in list_files(folder))


def _read_folder(file: PredictionFile, names: SampleNames) -> Predictions:
    folder = file.path
    groups: dict[Path, dict[str, Path]] = defaultdict(dict)
    unknown: dict[Path, list[str]] = defaultdict(list)
    for path in list_files(folder):
        if path.suffix.lower() != ".json":
            continue
        id_ = _find_id(path, folder, names)
        if id_ is None:
            if not _is_companion(path, names):
                unknown[path.parent].append(strip_markers(path))
        elif id_ in groups[path.parent]:
            raise RecordError(
                f"two files are predictions on {clean_text(id_, 60)!r}: "
                f"{groups[path.parent][id_].name} and {path.name}",
                where=str(path.parent),
                hint="Keep one of them.",
            )
        else:
            groups[path.parent][id_] = path
    groups = {path: group for path, group in groups.items() if group}
    if not groups:
        found = join_list([f"{name}.json" for one in unknown.values() for name in one][:_MAX_SHOWN])
        raise MissingFileError(
            "the folder has no prediction on a sample of this data set",
            where=str(folder),
            hint=f"Predictions are JSON files named like the samples' ids, as {names.example}.json"
            + (f"; here are {clean_text(found, 200)}." if found else "."),
        )
    chosen = _choose_groups(folder, groups)
    paths = {id_: path for group in chosen.values() for id_, path in group.items()}
    extra = [name for parent in chosen for name in unknown[parent]]
    replies = [_read_reply(id_, path, file.name, names) for id_, path in paths.items()]
    return Predictions(tuple(replies), len(extra), tuple(extra[:_MAX_SHOWN]))


def _choose_groups(
    folder: Path, groups: Mapping[Path, Mapping[str, Path]]
) -> Mapping[Path, Mapping[str, Path]]:
    """Returns the folders with the predictions: all, unless several are on the same sample."""
    counts = Counter(id_ for group in groups.values() for id_ in group)
    if max(counts.values()) == 1:
        return groups
    others = {path: group for path, group in groups.items() if not _are_schemas(group.values())}
    if others and len(others) < len(groups):
        return _choose_groups(folder, others)
    preferred = {
        path: group
        for path, group in groups.items()
        if path != folder and path.name.lower() in PREDICTION_NAMES
    }
    if len(preferred) == 1:
        return preferred
    if folder in groups:
        return {folder: groups[folder]}
    shown = [path.relative_to(folder).as_posix() for path in groups]
    raise RecordError(
        f"the same samples are in several folders: {join_list(shown[:8])}",
        where=str(folder),
        hint="Name one of them, or give the folder without NAME= if each is a system.",
    )


def _are_schemas(paths: Iterable[Path]) -> bool:
    return all(is_schema(unwrap_schema(read_document(path).value)[0]) for path in paths)


def _read_reply(id_: str, path: Path, system: str, names: SampleNames) -> Reply:
    if path.stat().st_size > MAX_PREDICTION_BYTES:
        problem = f"the file is larger than {MAX_PREDICTION_BYTES:,} bytes"
        return Reply(id=id_, system=system, status="invalid", problem=problem)
    document = read_document(path)
    if document.problem:
        # A reply that is not JSON alone may still be JSON in a fence.
        reply = names.read_value(id_, path.read_bytes().decode(errors="replace"))
    else:
        reply = names.read_value(id_, document.value)
        if isinstance(document.value, str) and reply.status == "ok":
            reply = msgspec.structs.replace(reply, notes=(ENCODED_TWICE,))
    return msgspec.structs.replace(reply, id=id_, system=system)


def _read_file(
    file: PredictionFile, names: SampleNames, form: PredictionFormat, *, is_gold: bool
) -> tuple[Predictions, tuple[str, ...]]:
    """Reads a file of rows or one object; also returns notes on how it was read."""
    if file.path.suffix.lower() == ".json":
        document = read_document(file.path)
        if isinstance(document.value, dict):
            return _read_object(document.value, file, names), ()
    rows = list(iter_rows(file.path))
    header = read_header(file.path).names if rows else ()
    columns = dict.fromkeys((*header, *(key for _, row in rows for key in row)))
    field_map = dict(form.field_map)
    notes: tuple[str, ...] = ()
    if "id" not in field_map:
        found_keys = find_names(columns, (form.id, *ID_KEYS, *_REQUEST_KEYS))
        if id_field := choose_id_field(rows, found_keys, names):
            field_map["id"] = id_field
    reads_gold = False
    if "value" not in field_map and form.value not in columns:
        found_keys = find_names(columns, (*VALUE_KEYS, form.name_field("raw")))
        reads_gold = is_gold and not found_keys
        for key in found_keys[:1]:
            field_map["value"] = key
            notes += (f"extractions are read from the field {key!r}",)
    own_rows, id_name = rows, field_map.get("id", form.id)
    if CONFIDENCES not in columns:
        rows = [(where, _move_confidences(row, id_name, names)) for where, row in rows]
    if rows != own_rows:
        notes += ("confidences of fields are read from the field 'confidence'",)
    mapped = replace(form, field_map=field_map)
    id_field = mapped.name_field("id")

    def read_value(row: dict[str, Any]) -> Reply:
        value = row[form.value]
        if value == FAILED_REQUEST:
            return Reply(id="", system="", status="error", problem="the request failed")
        return names.read_value(names.get_id(str(row.get(id_field))), value)

    mapped = replace(mapped, parts=(id_field,), read_value=read_value)
    if names.rows_are_numbered and id_field not in columns:
        rows = list(_number_rows(rows, id_field, file.path, names))
    if reads_gold:
        rows, key = move_gold(rows, mapped, names)
        notes += (f"extractions are read from the field {key!r}",) if key else ()
    if "value" not in form.field_map and are_extractions(rows, mapped, names):
        notes = (f"rows are extractions themselves; their ids are in {clean_text(id_field, 60)!r}",)
        nested = [key for key in header if names.splits_column(key, header)]
        if nested:
            notes += (f"columns are read as fields of objects: {join_list(nested[:_MAX_SHOWN])}",)
        rows = [(where, make_record(row, mapped, names, bool(header))) for where, row in rows]
    elif not header and mapped.name_field("value") in columns:
        rows = [(where, mark_failed_row(row, mapped)) for where, row in rows]
    found = read_predictions(file, names, mapped, rows)
    return replace(found, replies=_name_samples(found.replies, names, file.path)), notes


def _move_confidences(row: dict[str, Any], id_name: str, names: SampleNames) -> dict[str, Any]:
    """Returns a row with an object of confidences, in the shape of the extraction, under its name.

    A number beside such objects is the confidence of the reply; a field of the schema stays.
    """
    if not isinstance(row.get("confidence"), dict):
        return row
    if names.has_field(row.get(id_name), "confidence"):
        return row
    others = {key: value for key, value in row.items() if key != "confidence"}
    return {**others, CONFIDENCES: row["confidence"]}


def _name_samples(replies: Iterable[Reply], names: SampleNames, path: Path) -> tuple[Reply, ...]:
    """Replaces the names under which predictions refer to samples by the samples' ids.

    Raises:
        DuplicateIdError: two names mean one sample, in one repeat.
    """
    found: dict[tuple[str, int], Reply] = {}
    given: dict[tuple[str, int], str] = {}
    for reply in replies:
        id_ = names.get_id(reply.id) or reply.id
        key = (id_, reply.repeat)
        if key in found:
            raise DuplicateIdError(
                f"{show_text(given[key])} and {show_text(reply.id)} are both predictions on "
                f"{show_text(id_)}",
                where=str(path),
                hint="Keep one of them.",
            )
        found[key], given[key] = msgspec.structs.replace(reply, id=id_), reply.id
    return tuple(found.values())


def _number_rows(
    rows: Sequence[tuple[str, dict[str, Any]]], name: str, path: Path, names: SampleNames
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Numbers rows without ids: samples without ids are numbered in the same way.

    Raises:
        RecordError: there are fewer or more of them than samples, or empty lines between them, so
            that it is not clear which is on which sample.
    """
    n_rows = sum(name not in row for _, row in rows)
    if n_rows != names.n_samples and not (names.is_limited and n_rows > names.n_samples):
        raise RecordError(
            f"{format_count(n_rows, 'row')} without ids for "
            f"{format_count(names.n_samples, 'sample')}: give ids",
            where=str(path),
            hint=f"Write the id of its sample in each row, as {name!r}.",
        )
    # The header of a workbook is its first row; cells of CSV may have several lines.
    offset = 1 if path.suffix.lower() == WORKBOOK_ENDING else 0
    has_lines = find_delimiter(path) is None
    for number, (where, row) in enumerate(rows, start=1):
        line = where.rpartition(":")[2]
        if has_lines and line.isdigit() and int(line) != number + offset:
            raise RecordError(
                "rows without ids are numbered by line, and a line before this one is empty: "
                "give ids",
                where=where,
                hint=f"Write the id of its sample in each row, as {name!r}, or delete the line.",
            )
        yield where, {name: str(number), **row}


def _read_object(value: dict[str, Any], file: PredictionFile, names: SampleNames) -> Predictions:
    """Reads a file with one JSON object: of id → prediction, or the prediction on one sample."""
    known = [key for key in value if key in names]
    id_ = names.get_id(strip_markers(file.path))
    if not known:
        id_ = id_ or names.only_id
        if id_ is None:
            raise RecordError(
                "an object whose keys are no ids of samples",
                where=str(file.path),
                hint="A file of predictions is JSON lines, an array, CSV, or an object of id → "
                "extraction.",
            )
        return Predictions((_make_reply(id_, value, file.name, names),), 0, ())
    # Replies are read with the schema of their sample, and named afterwards.
    replies = _name_samples(
        (
            msgspec.structs.replace(
                _make_reply(names.get_id(key) or key, value[key], file.name, names), id=key
            )
            for key in known
        ),
        names,
        file.path,
    )
    unknown = [clean_text(key, 60) for key in value if key not in names]
    return Predictions(replies, len(unknown), tuple(unknown[:_MAX_SHOWN]))


def _make_reply(id_: str, value: Any, system: str, names: SampleNames) -> Reply:
    return msgspec.structs.replace(names.read_value(id_, value), id=id_, system=system)
