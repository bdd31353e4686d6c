"""Reads files of graded answers: one row per question, with an outcome in any usual spelling.

| field | what it is |
|---|---|
| ``id`` | id of the question; ``--map id=a+b`` joins two fields |
| ``outcome`` | right, wrong, abstained or unusable, in a spelling of ``grades.py`` |
| ``answerable`` | whether the question has an answer, optional |
| ``unanswerable`` | the opposite; only if ``field_map`` names it |
| ``confidence`` | probability in [0, 1] that the answer is right, or in per cent; optional |
| ``repeat`` | number of the repeat, such as its seed, optional |
| ``cluster`` | what is resampled together, optional; by default the question |
| ``question`` | text of the question, optional; it shows whether an id means the same |
| ``system`` | name of the system, optional; by default the name of the file |
"""

from __future__ import annotations

import gzip
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from eval.harness.predictions.confidence_scale import find_system_scales
from eval.harness.predictions.reader import (
    describe_unreadable_confidences,
    parse_number,
    parse_prediction_files,
    read_repeat,
    show_text,
)
from eval.harness.predictions.rows import (
    MAX_FILE_BYTES,
    list_names,
    read_header,
)
from eval.harness.predictions.table_form import TableHeader
from eval.model.foreign_values import check_confidence, make_storable
from eval.outcomes.evaluation_logs import read_log
from eval.outcomes.grades import (
    OUTCOMES,
    check_letters,
    check_score_name,
    is_empty,
    read_grades,
)
from eval.outcomes.log_content import LocatedRow, LogContent, find_nested
from eval.outcomes.question_texts import hash_question_text
from kg.base.errors import DuplicateIdError, EpocheError, RecordError
from kg.base.files import require_file
from kg.base.plain_text import clean_text, join_list

FIELDS: Final = (
    *("id", "outcome", "answerable", "confidence", "repeat", "cluster", "system"),
    *("unanswerable", "question"),
)

SQUAD_SCORES: Final = ("exact", "F1")
"""The official scores of SQuAD 2.0: exact match, and F1 of the words."""

_YES = frozenset(("true", "1", "1.0", "yes", "ja", "wahr", "richtig", "oui", "vrai"))
_NO = frozenset(("false", "0", "0.0", "no", "nein", "falsch", "non", "faux"))
_MAX_SHOWN_CHARS = 60


class Answer(NamedTuple):
    """One graded answer."""

    system: str
    id: str
    outcome: str
    answerable: bool | None = None
    repeat: int = 0
    cluster: str = ""
    confidence: float | None = None
    content: str = ""
    """Hash of the question's text; empty if it is not known."""
    scores: tuple[float, ...] = ()
    """Scores of a data set's own, in the order of ``SQUAD_SCORES``; empty for graded answers."""


@dataclass
class GradedAnswers:
    """The answers of all files.

    Attributes:
        answers: in the order of the files.
        notes: how grades were read, and what is left out.
        places: system, id and repeat of an answer → its file and row; empty for SQuAD.
        expected: system → the numbers of questions and of repeats that its log was to have.
    """

    answers: list[Answer] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    places: dict[tuple[str, str, int], str] = field(default_factory=dict)
    expected: dict[str, tuple[int, int]] = field(default_factory=dict)


def read_graded_answers(
    files: Sequence[str],
    field_map: Mapping[str, str],
    values: Mapping[str, str],
    filter_name: str = "",
    *,
    threshold: float | None = None,
    system: str = "",
) -> GradedAnswers:
    """Reads files of graded answers.

    Args:
        files: ``[NAME=]FILE`` each: JSON lines, a JSON array or CSV, possibly with ``.gz``.
        field_map: our name of a field → the files' name.
        values: spelling of an outcome in lower case → the outcome; before those of ``grades.py``.
        filter_name: the filter of logs of lm-evaluation-harness; empty if they have only one.
        threshold: numbers from this on are right, and lower ones wrong.
        system: read the answers of this system only; empty for all.

    Raises:
        MissingFileError: a file does not exist.
        RecordError: a row is malformed, an outcome is not known, or no answer is usable.
        DuplicateIdError: a system has two answers to a question in one repeat.
    """
    graded = GradedAnswers()
    all_columns: dict[str, None] = {}
    all_systems: dict[str, None] = {}
    for file in parse_prediction_files(files):
        # "model" of "model.csv.gz", unless it was given another name.
        is_unnamed = file.path.suffix.lower() == ".gz" and not file.is_named
        name = Path(file.name).stem if is_unnamed else file.name
        constants: set[str] = set()
        log, columns = _read_file(
            file.path, field_map.get("outcome", "outcome"), filter_name, constants
        )
        rows = log.rows
        _add_nested_fields(rows, columns, field_map)
        graded.notes += (f"{file.path}: {note}" for note in log.notes)
        if constants:
            graded.notes.append(f"{file.path}: {join_list(sorted(constants))} is read as null")
        all_columns |= columns
        names = _find_fields(columns, field_map)
        given_names = [_read_text(row, names["system"]) or name for _, row in rows]
        # A name that the user gives is the system's, unless the file has several.
        if file.is_named and len(set(given_names)) <= 1 and system == name:
            given_names = [name] * len(rows)
        all_systems |= dict.fromkeys(given_names)
        if system:
            rows = [row for row, given in zip(rows, given_names, strict=True) if given == system]
            given_names = [system] * len(rows)
            if log.rows and not rows:
                continue
        grades = _collect_grades(rows, names["outcome"], columns)
        # The only score of a log stands under `outcome`, too.
        is_score = len(log.scores) == 1 and "outcome" not in field_map
        check_score_name(
            log.scores[0] if is_score else names["outcome"],
            {text for _, text in grades},
            file.path,
            values,
            list(dict.fromkeys((*log.scores, *columns))),
            has_threshold=threshold is not None,
        )
        outcomes = read_grades(grades, file.path, values, threshold)
        unused = [column for column in columns if column not in names.values()]
        check_letters(
            outcomes.letters, names["outcome"], (row for _, row in rows), unused, file.path
        )
        if outcomes.note:
            graded.notes.append(f"{file.path}: {outcomes.note}")
        header = read_header(file.path)
        systems = {_read_text(row, names["system"]) for _, row in rows} - {""}
        is_named = file.is_named and len(systems) <= 1
        unreadable: list[str] = []
        n_before = len(graded.answers)
        confidences = [_parse_confidence(row, names["confidence"], header) for _, row in rows]
        scales = find_system_scales(confidences, given_names)
        for given_name, scale in scales.items():
            of = f", {given_name}" if len(scales) > 1 else ""
            graded.notes += [f"{file.path}{of}: {scale.note}"] if scale.note else []
        columns_of_rows = zip(rows, outcomes.outcomes, confidences, given_names, strict=True)
        for (where, row), outcome, given, given_name in columns_of_rows:
            scale = scales[given_name]
            answer = _read_answer(row, where, outcome, name, names, columns)
            confidence = scale.convert(given)
            answer = answer._replace(confidence=check_confidence(confidence, []))
            if is_named:
                answer = answer._replace(system=name)
            is_unreadable = answer.confidence is None and confidence is not None
            if is_unreadable and scale.divisor is not None:
                unreadable.append(show_text(str(confidence)))
            key = answer.system, answer.id, answer.repeat
            if key in graded.places:
                raise DuplicateIdError(
                    f"{show_text(answer.id)} has two answers, here and at {graded.places[key]}",
                    where=where,
                    hint="Keep one, number them with a field `repeat`, or name another field with "
                    "--map id=…; --map id=question+target joins two.",
                )
            graded.places[key] = where
            graded.answers.append(answer)
        if not rows:
            raise RecordError("the file has no answers", where=str(file.path))
        _note_missing(graded, log, file.path, {a.system for a in graded.answers[n_before:]})
        if unreadable:
            graded.notes.append(
                f"{file.path}: {describe_unreadable_confidences(len(unreadable), unreadable[0])}"
            )
    if not graded.answers:
        raise RecordError(
            f"there is no system {show_text(system)}",
            where="--system",
            hint=f"The files have {list_names(all_systems)}.",
        )
    for name, theirs in _find_fields(all_columns, field_map).items():
        if name in field_map and not set(_split_name(theirs, all_columns)) <= all_columns.keys():
            raise RecordError(
                f"there is no field {show_text(theirs)}",
                where=f"--map {name}={theirs}",
                hint=f"The files have the fields {list_names(all_columns)}.",
            )
    return graded


def _add_nested_fields(
    rows: Sequence[LocatedRow], columns: dict[str, None], field_map: Mapping[str, str]
) -> None:
    """Adds the fields of objects within rows that the user names, as ``data.correct``."""
    for path in (part for theirs in field_map.values() for part in theirs.split("+")):
        for _, row in rows if "." in path and path not in columns else ():
            if (value := find_nested(row, path)) is not None:
                row[path] = value
        if any(path in row for _, row in rows):
            columns[path] = None


def _note_missing(graded: GradedAnswers, log: LogContent, path: Path, systems: set[str]) -> None:
    """Notes that a log lacks answers that it was to have."""
    n_expected = log.n_questions * log.n_repeats
    for system in sorted(systems):
        n_given = sum(answer.system == system for answer in graded.answers)
        if n_given < n_expected:
            graded.expected[system] = log.n_questions, log.n_repeats
            graded.notes.append(
                f"{path}: {show_text(system)} has {n_given:,} of the {n_expected:,} answers that "
                "the log was to have; the others count as unusable"
            )


def _read_file(
    path: Path,
    outcome: str,
    filter_name: str,
    constants: set[str],
    folder: Path | None = None,
) -> tuple[LogContent, dict[str, None]]:
    """Reads a file, which may be compressed, and the names of its fields.

    ``folder`` is that of the user's file, if ``path`` is an unpacked copy.
    """
    path = require_file(path, "file of graded answers")
    if path.suffix.lower() != ".gz":
        log = read_log(
            path, outcome=outcome, filter_name=filter_name, constants=constants, folder=folder
        )
        # The header is read because a column of empty cells is in no row.
        names = [*read_header(path).names, *(name for _, row in log.rows for name in row)]
        return log, dict.fromkeys(names)
    with tempfile.TemporaryDirectory() as temporary:
        plain = Path(temporary) / path.stem
        try:
            with gzip.open(path) as source, plain.open("wb") as target:
                while block := source.read(1 << 20):
                    target.write(block)
                    if target.tell() > MAX_FILE_BYTES:
                        raise RecordError(f"larger than {MAX_FILE_BYTES:,} bytes", where=str(path))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise RecordError(f"not a gzip file: {error}", where=str(path)) from error
        try:
            log, columns = _read_file(plain, outcome, filter_name, constants, path.parent)
        except EpocheError as error:
            # The user knows only the compressed file.
            error.where = error.where.replace(str(plain), str(path), 1)
            raise
        rows = [(where.replace(str(plain), str(path), 1), row) for where, row in log.rows]
        return log._replace(rows=rows), columns


def _find_fields(columns: Mapping[str, None], field_map: Mapping[str, str]) -> dict[str, str]:
    """Finds the file's name of each of our fields: its case and spaces around it do not matter."""
    by_plain_name: dict[str, list[str]] = {}
    for column in columns:
        by_plain_name.setdefault(column.strip().casefold(), []).append(column)
    found = {}
    for name in FIELDS:
        if name == "unanswerable" and name not in field_map:
            continue
        parts = _split_name(field_map.get(name, name), columns)
        similar = [by_plain_name.get(part.strip().casefold(), []) for part in parts]
        found[name] = "+".join(
            same[0] if part not in columns and len(same) == 1 else part
            for part, same in zip(parts, similar, strict=True)
        )
    return found


def _split_name(name: str, columns: Mapping[str, None]) -> list[str]:
    """Splits the name of joined fields, ``a+b``, if it is not itself that of a field."""
    return [name] if name in columns else name.split("+")


def _collect_grades(
    rows: Sequence[LocatedRow], name: str, columns: Mapping[str, None]
) -> list[tuple[str, str]]:
    """Collects file and line, and grade in lower case, of each row."""
    for where, row in rows:
        if is_empty(row.get(name)):
            n_more = sum(is_empty(other.get(name)) for _, other in rows) - 1
            raise _make_field_error("outcome", name, row, where, columns, n_more)
    return [(where, str(row[name]).strip().casefold()) for where, row in rows]


def _read_answer(
    row: Mapping[str, Any],
    where: str,
    outcome: str,
    name: str,
    names: Mapping[str, str],
    columns: Mapping[str, None],
) -> Answer:
    item = _read_id(row, names["id"])
    if not item:
        raise _make_field_error("id", names["id"], row, where, columns)
    return Answer(
        system=clean_text(_read_text(row, names["system"]), _MAX_SHOWN_CHARS) or name,
        id=make_storable(item),
        outcome=outcome,
        answerable=_read_answerable(row, names, where),
        repeat=read_repeat(_read_text(row, names["repeat"]) or "0", where),
        cluster=_read_text(row, names["cluster"]),
        content=hash_question_text(_read_text(row, names["question"])),
    )


def _read_text(row: Mapping[str, Any], name: str) -> str:
    """Returns a field as text without spaces around it; empty if it is not given."""
    value = row.get(name)
    return "" if is_empty(value) else make_storable(str(value).strip())


def _make_field_error(
    field: str,
    name: str,
    row: Mapping[str, Any],
    where: str,
    columns: Mapping[str, None],
    n_more: int = 0,
) -> RecordError:
    """Makes the error of a row without an outcome or id, and of ``n_more`` rows like it."""
    parts = _split_name(name, columns)
    absent = [part for part in parts if part not in columns]
    if absent:
        return RecordError(
            f"a row has no {absent[0]!r}",
            where=where,
            hint=f"It has the fields {list_names(row)}; name the right one with --map {field}=….",
        )
    more = f", and in {n_more:,} more rows" if n_more > 1 else ", and in 1 more row" * n_more
    empty = next((part for part in parts if is_empty(row.get(part))), "")
    if not empty:
        return RecordError(
            f"a row has no {name!r} that is a text or a whole number",
            where=where,
            hint="Name another field with --map id=….",
        )
    hint = "Write the id of the question there, or delete the row."
    if field == "outcome":
        hint = (
            f"Write {join_list(OUTCOMES, 'or')} there; a question without an answer that can be "
            "graded is unusable."
        )
    return RecordError(f"{empty!r} is empty in this row{more}", where=where, hint=hint)


def _read_id(row: Mapping[str, Any], name: str) -> str:
    """Returns the id of a row; empty if a field is missing or neither a text nor a number."""
    names = [name] if name in row else name.split("+")
    parts = [row.get(part) for part in names]
    is_text = [isinstance(part, str | int) and not isinstance(part, bool) for part in parts]
    texts = [str(part).strip() for part in parts]
    if not all(is_text) or "" in texts:
        return ""
    return " + ".join(texts)


def _parse_confidence(row: Mapping[str, Any], name: str, header: TableHeader) -> Any:
    """Returns a confidence as a number if it is one, and None if there is none."""
    value = header.write_decimal_point(row, name).get(name)
    if is_empty(value):
        return None
    return parse_number(value) if isinstance(value, str) else value


def _read_answerable(row: Mapping[str, Any], names: Mapping[str, str], where: str) -> bool | None:
    field = "unanswerable" if "unanswerable" in names else "answerable"
    value = row.get(names[field])
    text = str(value).strip().casefold()
    if value is None or text == "":
        return None
    if text not in _YES | _NO:
        raise RecordError(
            f"{field} is {show_text(str(value))}, neither true nor false",
            where=where,
            hint="Write true or false, or yes or no, also in German or French.",
        )
    return (text in _YES) == (field == "answerable")
