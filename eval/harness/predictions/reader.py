"""Reads predictions that were made elsewhere and converts them to replies, for every benchmark.

A row of a file has these fields; ``--map`` gives other names for them:

| field | what it is |
|---|---|
| ``id`` | id of the item |
| ``value`` | the answer in the benchmark's own form |
| ``raw`` | the system's reply as text, optional |
| ``confidence`` | probability in [0, 1] that the answer is right, or per cent; optional |
| ``error`` | why there is no answer, optional |
| ``repeat`` | number of the repeat, from 0, from 1 or its seed, optional |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from eval.harness.predictions.confidence_scale import PerCent, find_confidence_scale
from eval.harness.predictions.rows import iter_rows, list_names, read_header
from eval.harness.predictions.table_form import TableHeader
from eval.harness.reply import Reply
from eval.harness.systems.system_call import MAX_REPLY_BYTES
from eval.model.foreign_values import MAX_ERROR_CHARS, check_confidence, make_storable
from eval.model.redaction import hide_secrets
from kg.base.errors import DuplicateIdError, RecordError, SettingError
from kg.base.files import sha256_file
from kg.base.plain_text import clean_text

MAX_REPEATS: Final = 1_000
CONFIDENCES: Final = "confidences"
"""Field of a row, and part of a reply, with the confidences of the parts of a value."""
FIELDS: Final = ("id", "value", "raw", "confidence", "error", "repeat")

_MAX_REPEAT = 999_999_999
_MAX_SHOWN_IDS = 5
_MAX_SHOWN_CHARS = 60
_NAMED_FILE = re.compile(r"(?P<name>[^=/\\]+)=(?P<file>.+)", re.DOTALL)


@dataclass(frozen=True)
class PredictionFile:
    """A file of predictions of one system.

    Attributes:
        name: name of the system.
        path: the file.
        is_named: whether the user gave the name; else it is that of the file.
    """

    name: str
    path: Path
    is_named: bool = field(default=True, compare=False)


@dataclass(frozen=True)
class Predictions:
    """The replies of one file.

    Attributes:
        replies: at most one per item and repeat, in the order of the file.
        n_unknown: number of rows on items that do not exist; they are left out.
        unknown_ids: the first of their ids.
        bad_confidences: number of rows whose confidence is no probability; it is left out.
        bad_confidence: the first of them, as text.
        scale_note: says that confidences are per cent, or that none is used; else empty.
        renumbered: the file's number of a repeat → the number that it has now, if it is another.
    """

    replies: tuple[Reply, ...]
    n_unknown: int
    unknown_ids: tuple[str, ...]
    bad_confidences: int = 0
    bad_confidence: str = ""
    scale_note: str = ""
    renumbered: Mapping[int, int] = field(default_factory=dict)

    def list_warnings(self, n_items: int, repeats: int, noun: str) -> list[str]:
        """Returns warnings about what is left out, and about items without a prediction.

        Args:
            n_items: number of items of the data set.
            repeats: number of repeats of the run.
            noun: what messages call an item.
        """
        warnings = []
        if self.n_unknown:
            total = len(self.replies) + self.n_unknown
            more = ", …" if self.n_unknown > len(self.unknown_ids) else ""
            warnings.append(
                f"{self.n_unknown} of {total} predictions are left out, because there is no such "
                f"{noun}: {', '.join(map(repr, self.unknown_ids))}{more}"
            )
        if self.scale_note:
            warnings.append(self.scale_note)
        if self.bad_confidences:
            warnings.append(
                describe_unreadable_confidences(self.bad_confidences, self.bad_confidence)
            )
        if self.renumbered:
            shown = list(self.renumbered.items())[:_MAX_SHOWN_IDS]
            pairs = ", ".join(f"{given} is {number}" for given, number in shown)
            more = ", …" if len(self.renumbered) > len(shown) else ""
            warnings.append(f"its repeats are numbered from 0: {pairs}{more}")
        if missing := n_items * repeats - len(self.replies):
            warnings.append(
                f"{missing} of {n_items * repeats} predictions are missing and count as errors"
            )
        return warnings


@dataclass(frozen=True, kw_only=True)
class PredictionFormat:
    """How the predictions of a benchmark are read.

    Attributes:
        value: the benchmark's usual name of the field ``value``.
        field_map: our name of a field → the file's name.
        noun: what messages call an item.
        read_value: converts a value to a reply; raises nothing.
        id: the benchmark's usual name of the field ``id``.
        parts: further fields of the benchmark. If there are any, ``read_value`` is given an object
            with the value and those of them that the row has, under the benchmark's names.
        has_confidences: whether rows may give the confidences of the parts of a value, in the field
            ``confidences``.
        id_hint: what else to do if no id is known.
    """

    value: str
    noun: str
    read_value: Callable[[Any], Reply]
    field_map: Mapping[str, str] = field(default_factory=dict)
    id: str = "id"
    parts: tuple[str, ...] = ()
    has_confidences: bool = False
    id_hint: str = ""

    def name_field(self, field: str) -> str:
        """Returns the file's name of a field."""
        usual = {"value": self.value, "id": self.id}.get(field, field)
        return self.field_map.get(field, usual)


def describe_unreadable_confidences(count: int, example: str) -> str:
    """Says that some confidences are left out."""
    they = "confidences are left out, because they are no numbers"
    return (
        f"{count:,} {they if count > 1 else 'confidence is left out, because it is no number'} in "
        f"[0, 1], for example {example}; divide per cent by 100, and write a decimal point"
    )


def parse_prediction_files(texts: Sequence[str]) -> tuple[PredictionFile, ...]:
    """Parses ``NAME=FILE``; without a name, the system is called like the file without its suffix.

    Raises:
        SettingError: two files have the same name, or a name is empty.
    """
    files: list[PredictionFile] = []
    for text in texts:
        match = _NAMED_FILE.fullmatch(text)
        path = Path(match["file"] if match else text)
        name = make_storable((match["name"] if match else path.stem).strip())
        # Names become names of folders and keys of tables.
        if name.strip(".") == "" or name != clean_text(name, _MAX_SHOWN_CHARS):
            raise SettingError(
                "the predictions have no usable name",
                where=f"--predictions {text}",
                hint=f"Give them as NAME=FILE, with a name of at most {_MAX_SHOWN_CHARS} letters.",
            )
        if name in {file.name for file in files}:
            raise SettingError(
                f"two files of predictions are called {name!r}",
                where=f"--predictions {text}",
                hint="Give each its own name, as NAME=FILE.",
            )
        files.append(PredictionFile(name, path, is_named=match is not None))
    return tuple(files)


def parse_field_map(texts: Sequence[str], *, value: str, id: str = "id") -> dict[str, str]:
    """Parses ``field=theirs,field=theirs``.

    Args:
        texts: the pairs.
        value: the benchmark's usual name of the field ``value``, which may be given instead.
        id: the same for ``id``.

    Returns:
        Our name of a field, one of ``FIELDS`` → the file's name.

    Raises:
        SettingError: a pair has no ``=``, or does not begin with a field, or a field is given
            twice.
    """
    names = {name: name for name in FIELDS} | {value: "value", id: "id"}
    field_map: dict[str, str] = {}
    for pair in (pair for text in texts for pair in text.split(",")):
        name, _, theirs = (part.strip() for part in pair.partition("="))
        field = names.get(name, "")
        if not field or not theirs or field in field_map:
            raise SettingError(
                "not a pair of one of our fields and its name in the file",
                where=f"--map {pair}",
                hint=f"Give FIELD=THEIRS once per field; the fields are {_list_fields(value, id)}.",
            )
        field_map[field] = theirs
    return field_map


def _list_fields(value: str, id: str) -> str:
    """Returns all names of fields of a benchmark, with ours where it has another."""
    usual = {"value": value, "id": id}
    names = [(usual.get(name, name), name) for name in FIELDS]
    return ", ".join(own if own == name else f"{own} (or {name})" for own, name in names)


def read_predictions(
    file: PredictionFile,
    ids: Container[str],
    form: PredictionFormat,
    rows: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
) -> Predictions:
    """Reads the predictions of one system.

    Args:
        file: the file, and the name of the system.
        ids: ids of the items.
        form: how rows are read.
        rows: the rows with their places, if they are not to be read from the file as they are.

    Raises:
        MissingFileError: there is no such file.
        RecordError: the file is empty or too large, a row is malformed or has no id or value, no
            row is on an item, or no row has a field that the map names.
        DuplicateIdError: two rows are on the same item.
    """
    lines_by_key: dict[tuple[str, int], str] = {}
    replies: list[Reply] = []
    unknown_ids: list[str] = []
    n_unknown = 0
    columns: dict[str, None] = {}
    confidences: list[object] = []
    header: TableHeader | None = None
    for where, row in iter_rows(file.path) if rows is None else rows:
        if header is None:
            header = read_header(file.path)
        columns |= dict.fromkeys(row)
        name = form.name_field("confidence")
        row = header.write_decimal_point(row, name)
        reply = _read_row(row, where, form, header.names)
        confidence = row.get(name) if reply.status != "error" else None
        if isinstance(confidence, str) and header.names:
            confidence = parse_number(confidence)
        key = (reply.id, reply.repeat)
        if key in lines_by_key:
            raise DuplicateIdError(
                f"{show_text(reply.id)} has two predictions, here and at {lines_by_key[key]}",
                where=where,
                hint="Keep one of them, or number them with a field `repeat`.",
            )
        lines_by_key[key] = where.rpartition(":")[2]
        if reply.id in ids:
            replies.append(msgspec.structs.replace(reply, system=file.name))
            confidences.append(confidence)
        else:
            n_unknown += 1
            if len(unknown_ids) < _MAX_SHOWN_IDS:
                unknown_ids.append(clean_text(reply.id, _MAX_SHOWN_CHARS))
    if not columns:
        raise RecordError(
            "the file has no predictions",
            where=str(file.path),
            hint=f"Each is an object or a row with {form.name_field('id')!r} and "
            f"{form.name_field('value')!r}.",
        )
    # The header counts because a column of empty cells is in no row.
    _check_columns({**columns, **dict.fromkeys(header.names if header else ())}, file, form)
    if not replies:
        shown = f", for example {', '.join(map(repr, unknown_ids))}" if unknown_ids else ""
        raise RecordError(
            f"none of the {n_unknown} predictions is on a {form.noun} of this data set{shown}",
            where=str(file.path),
            hint=f"The field {form.name_field('id')!r} must have the ids of the {form.noun}s."
            f"{form.id_hint}",
        )
    scale = find_confidence_scale(confidences)
    bad_confidences = []
    for number, confidence in enumerate(map(scale.convert, confidences)):
        notes = list(replies[number].notes)
        probability = check_confidence(confidence, notes)
        replies[number] = msgspec.structs.replace(
            replies[number], confidence=probability, notes=tuple(notes)
        )
        if confidence is not None and probability is None and scale.divisor is not None:
            bad_confidences.append(clean_text(str(confidence), _MAX_SHOWN_CHARS))
    return Predictions(
        tuple(replies),
        n_unknown,
        tuple(unknown_ids),
        len(bad_confidences),
        next(iter(bad_confidences), ""),
        scale.note,
    )


def _check_columns(
    columns: Mapping[str, None], file: PredictionFile, form: PredictionFormat
) -> None:
    """Raises a ``RecordError`` if the map names a field that no row has."""
    for name, theirs in form.field_map.items():
        if theirs not in columns:
            raise RecordError(
                f"no prediction has a field {theirs!r}",
                where=f"{file.path}, --map {name}={theirs}",
                hint=f"The file has the fields {list_names(columns)}.",
            )


def _read_row(
    row: Mapping[str, Any], where: str, form: PredictionFormat, header: Sequence[str]
) -> Reply:
    """Converts a row to a reply, without the name of its system and its confidence.

    Args:
        row: the row.
        where: its place, for messages.
        form: how rows are read.
        header: names of the columns of a CSV file, of which a row lacks those with empty cells;
            empty for other files.
    """
    item = row.get(form.name_field("id"))
    if isinstance(item, int) and not isinstance(item, bool):
        item = str(item)
    if not isinstance(item, str) or not item:
        raise _make_field_error("id", row, where, form)
    item = make_storable(item)
    repeat = read_repeat(row.get(form.name_field("repeat"), 0), where)
    error = row.get(form.name_field("error"))
    if error:
        problem = clean_text(hide_secrets(make_storable(str(error))), MAX_ERROR_CHARS)
        return Reply(id=item, repeat=repeat, status="error", problem=problem)
    name = form.name_field("value")
    if name not in row and name not in header:
        raise _make_field_error("value", row, where, form)
    value = row.get(name, "")
    if form.parts:
        value = {form.value: value, **{part: row[part] for part in form.parts if part in row}}
    reply = form.read_value(value)
    raw = row.get(form.name_field("raw"))
    confidences = row.get(CONFIDENCES) if form.has_confidences else None
    reply = msgspec.structs.replace(
        reply,
        id=item,
        repeat=repeat,
        parts=reply.parts if confidences is None else reply.parts | {CONFIDENCES: confidences},
        raw=reply.raw if raw is None else make_storable(str(raw)),
    )
    if len(msgspec.json.encode(reply)) > MAX_REPLY_BYTES:
        raise RecordError(f"a prediction of more than {MAX_REPLY_BYTES:,} bytes", where=where)
    return reply


def read_repeat(value: Any, where: str, highest: int = _MAX_REPEAT) -> int:
    """Reads the number of a repeat, which may be its seed.

    Raises:
        RecordError: it is no whole number from 0 to ``highest``.
    """
    text = str(value).removesuffix(".0")  # tables of numbers
    is_number = not isinstance(value, bool) and text.isascii() and text.isdigit()
    if not is_number or len(text) > len(str(highest)) or int(text) > highest:
        raise RecordError(
            f"the repeat {show_text(text)} is not a whole number from 0 to {highest:,}", where=where
        )
    return int(text)


def parse_number(text: str) -> float | str:
    """Returns a number such as ``0.85`` or ``85%``; the text itself if it is none."""
    plain = text.strip()
    try:
        return PerCent(float(plain[:-1]) / 100) if plain.endswith("%") else float(plain)
    except ValueError:
        return text


def _make_field_error(
    field: str, row: Mapping[str, Any], where: str, form: PredictionFormat
) -> RecordError:
    name = form.name_field(field)
    return RecordError(
        f"a prediction has no {name!r}" + (" that is a text" if field == "id" else ""),
        where=where,
        hint=f"It has the fields {list_names(row)}; name the right one with --map {field}=….",
    )


def show_text(text: str) -> str:
    """Returns a text as a message shows it: quoted, on one line, not too long."""
    return repr(clean_text(text, _MAX_SHOWN_CHARS))


def describe_files(files: Iterable[PredictionFile], field_map: Mapping[str, str]) -> dict[str, Any]:
    """Returns what a manifest says about predictions: name → file, hash and names of fields."""
    return {
        file.name: {
            "predictions": file.path.name,
            "sha256": sha256_file(file.path),
            **({"map": dict(field_map)} if field_map else {}),
        }
        for file in files
    }
