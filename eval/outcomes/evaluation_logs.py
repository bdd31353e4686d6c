"""Reads logs of evaluation tools as rows of graded answers.

Each score stands in the row under its own name, and under ``outcome`` if there is only one; else
``--map outcome=NAME`` chooses.

| log | file | id | repeat |
|---|---|---|---|
| Inspect | ``.eval``, or ``.json`` of the same content | ``id`` of the sample | epoch |
| lm-evaluation-harness | ``samples_….jsonl`` of ``--log_samples`` | ``doc_id`` | |
| HELM | ``per_instance_stats.json`` | ``instance_id``, perturbation | ``train_trial_index`` |
| promptfoo | ``.json`` of ``--output`` | ``testIdx`` | copy of a test |
| OpenAI evals | ``.jsonl`` of ``--record_path`` | ``sample_id`` | |

lm-evaluation-harness writes a row for each filter of a task, such as ``strict-match`` and
``flexible-extract``; ``--filter`` chooses one.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from eval.harness.predictions.reader import show_text
from eval.harness.predictions.rows import CSV_DELIMITERS, MAX_ARRAY_BYTES, iter_rows, list_names
from eval.outcomes.inspect_logs import convert_inspect_log, read_inspect_archive
from eval.outcomes.log_content import NOT_SCORED, LocatedRow, LogContent, get_object
from eval.outcomes.promptfoo_logs import read_promptfoo_results
from eval.outcomes.question_texts import cluster_copies, write_text
from kg.base.errors import RecordError
from kg.base.files import MAX_LINE_BYTES, require_file
from kg.base.plain_text import format_count
from kg.base.strict_json import NotJsonError, parse_json

_HELM_SCORE: Final = "exact_match"
_HELM_RUN: Final = "run_spec.json"
"""The file beside a log of HELM that says of which scenario it is."""
_HELM_HINT: Final = "Give per_instance_stats.json of the same folder."
_LM_EVAL_FIELDS: Final = frozenset(
    (
        *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
        *("doc_hash", "prompt_hash", "target_hash"),
    )
)
"""The fields of a sample of lm-evaluation-harness that are no scores."""
_LM_EVAL_QUESTIONS: Final = ("question", "problem", "query", "input", "prompt")
"""The fields of its documents that have the question, without options that may be shuffled."""
_NO_WRAPPERS: Final = frozenset(
    ("eval", "request_states", "adapter_spec", "configs", "content_sha256", "n_questions")
)
"""Keys of logs and of our own records, whose lists are no rows of graded answers."""
_NO_MATCH: Final = {"outcome": NOT_SCORED, "data": {"correct": NOT_SCORED}}
"""What a sample of OpenAI's evals that failed has instead of its grade."""
_LOOK_AHEAD: Final = 4096
"""Number of bytes after the first line that tell whether there is a second one."""
_MAX_ROW_FIELDS: Final = 100
"""An object of more fields than this is no row."""


def read_log(
    path: Path,
    *,
    outcome: str = "outcome",
    filter_name: str = "",
    constants: set[str] | None = None,
    folder: Path | None = None,
) -> LogContent:
    """Reads the rows of a file, of a log or any other.

    Args:
        path: the file.
        outcome: the field that will be read as the outcome.
        filter_name: of lm-evaluation-harness, the filter whose rows are meant; empty if there is
            only one.
        constants: as in ``parse_json``.
        folder: the folder of the user's file, if ``path`` is an unpacked copy.

    Raises:
        MissingFileError: there is no such file.
        RecordError: the file is damaged or too large, its samples have no scores or several, it has
            not the filter or several, or it is another file of a tool than that of its samples.
    """
    path = require_file(path, "file of graded answers")
    log = _read_rows(path, constants, folder or path.parent, outcome)
    rows, scores = _select_filter(log.rows, path, filter_name), log.scores
    if len(scores) == 1:
        for _, row in rows:
            value = row.get(scores[0])
            row.setdefault("outcome", NOT_SCORED if value is None else value)
    elif scores and not any(outcome in row for _, row in rows):
        raise RecordError(
            f"the log has several scores: {list_names(scores)}",
            where=str(path),
            hint="Choose one with --map outcome=NAME.",
        )
    return log._replace(rows=rows)


def _read_rows(path: Path, constants: set[str] | None, folder: Path, outcome: str) -> LogContent:
    """Reads the rows of a file, and the names of the scores if it is a log."""
    if path.suffix.lower() == ".eval":
        return read_inspect_archive(path, constants)
    document, is_line = _read_document(path, constants)
    if document is not None:
        # JSON lines of one row may have lists, too.
        field = outcome.split(".")[0]
        wrapped = None if is_line and field in document else _unwrap(document, path, field)
        converted = wrapped or _convert_document(document, path, is_line=is_line)
        if converted is not None:
            return converted
    found, notes = _select_events(list(iter_rows(path, constants=constants)))
    scores: dict[str, None] = {}
    rows = [(where, _convert_row(row, scores, where)) for where, row in found]
    if any(_is_helm_row(row) for _, row in found) and (scenario := _read_helm_scenario(folder)):
        # Ids of instances are running numbers in each scenario.
        rows = [(where, {"question": f"{scenario}\n{row['id']}", **row}) for where, row in rows]
    hashes = [row.get("doc_hash") if _is_lm_eval_row(row) else "" for _, row in rows]
    cluster_copies(rows, [text if isinstance(text, str) else "" for text in hashes])
    return LogContent(rows, list(scores), notes=notes)


def _unwrap(document: Mapping[str, Any], path: Path, outcome: str) -> LogContent | None:
    """Returns the rows in an object around them; ``None`` if there is no single list of objects.

    An object that has the field ``outcome``, unlike those in its list, is a row itself.
    A table of MLflow has the names of its columns beside its rows.
    """
    names, data = document.get("columns"), document.get("data")
    if isinstance(names, list) and isinstance(data, list) and names and data:
        is_table = all(isinstance(row, list) for row in data)
        document = (
            {"data": _read_table(list(map(str, names)), data, path)} if is_table else document
        )
    lists = {name: value for name, value in document.items() if isinstance(value, list) and value}
    if len(lists) != 1 or document.keys() & _NO_WRAPPERS:
        return None
    ((name, rows),) = lists.items()
    if not all(isinstance(row, dict) for row in rows):
        return None
    if outcome in document and not any(outcome in row for row in rows):
        return None
    return LogContent([(f"{path}:{name} {n}", row) for n, row in enumerate(rows, start=1)], [])


def _read_table(names: list[str], rows: list[list[Any]], path: Path) -> list[dict[str, Any]]:
    """Reads the rows of a table; raises a ``RecordError`` if they do not fit its columns."""
    if doubled := [name for name in names if names.count(name) > 1]:
        raise RecordError(
            f"two columns are called {show_text(doubled[0])}",
            where=str(path),
            hint="Rename or delete one of them.",
        )
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise RecordError(
                f"{len(row):,} values in a table of {len(names):,} columns",
                where=f"{path}:data {number}",
                hint="Write one value for each of the columns, null where there is none.",
            )
    return [dict(zip(names, row, strict=True)) for row in rows]


def _select_events(rows: list[LocatedRow]) -> tuple[list[LocatedRow], tuple[str, ...]]:
    """Selects the graded answers among the events of a run of OpenAI's evals.

    Returns:
        The answers, of which those of samples that ended in an error are unusable, and notes.
    """
    if not any({"event_id", "sample_id", "type"} <= row.keys() for _, row in rows):
        return rows, ()
    matches = [(where, row) for where, row in rows if row.get("type") == "match"]
    for _, row in matches:
        row.setdefault("id", row.get("sample_id"))
        if (correct := get_object(row, "data").get("correct")) is not None:
            row.setdefault("outcome", correct)
    given = {row.get("sample_id") for _, row in matches}
    failed = {
        row["sample_id"]: (where, {**row, "id": row["sample_id"], **_NO_MATCH})
        for where, row in rows
        if row.get("type") == "error" and row.get("sample_id") not in {*given, None}
    }
    notes = (f"{format_count(len(failed), 'sample')} without a match had an error: unusable",)
    return [*matches, *failed.values()] or rows, notes if failed else ()


def _read_document(path: Path, constants: set[str] | None) -> tuple[dict[str, Any] | None, bool]:
    """Reads a file that is one JSON object; ``None`` if it is not.

    Returns:
        The object, and whether it is one line, so that it may also be JSON lines of one row.
    """
    if path.suffix.lower() in CSV_DELIMITERS or path.stat().st_size > MAX_ARRAY_BYTES:
        return None, False
    with path.open("rb") as handle:
        content = handle.readline(MAX_LINE_BYTES).removeprefix(BOM_UTF8).lstrip()
        if content and not content.startswith(b"{"):
            return None, False
        document = _parse_object(content, constants)
        if document is None:
            return _parse_object(content + handle.read(), constants), False
        is_last = not handle.read(_LOOK_AHEAD).strip()
        return (document, True) if is_last else (None, False)


def _parse_object(content: bytes, constants: set[str] | None) -> dict[str, Any] | None:
    try:
        value = parse_json(content, constants)
    except NotJsonError:
        return None
    return value if isinstance(value, dict) else None


def _convert_document(
    document: Mapping[str, Any], path: Path, *, is_line: bool
) -> LogContent | None:
    """Converts a log that is one JSON object; ``None`` if it may be JSON lines of one row.

    Raises:
        RecordError: it is no log of samples; the hint says which file is.
    """
    results = document.get("results")
    if {"eval", "status"} <= document.keys():
        samples = document.get("samples") or []
        if not isinstance(samples, list):
            raise RecordError("the samples of the log are no list", where=str(path))
        located = [(f"{path}:sample {n}", sample) for n, sample in enumerate(samples, start=1)]
        return convert_inspect_log(document, located, path)
    if isinstance(results, dict) and isinstance(results.get("results"), list):
        return read_promptfoo_results(results, path)
    problem, hint = (
        "the file is one JSON object, and no rows of graded answers",
        (
            "Give JSON lines, a JSON array, CSV or TSV: a row for each question, with its id and "
            "outcome."
        ),
    )
    if isinstance(results, dict) and "configs" in document:
        problem = "these are the total results of lm-evaluation-harness"
        hint = "Give the file samples_….jsonl beside it, which --log_samples writes."
    elif "request_states" in document or "adapter_spec" in document:
        problem, hint = "this file of HELM has no scores", _HELM_HINT
    elif is_line and len(document) < _MAX_ROW_FIELDS:
        return None
    elif document and all(isinstance(value, str) for value in document.values()):
        hint = "If it maps questions of SQuAD 2.0 to answers, give the data set, too: --squad-gold."
    raise RecordError(problem, where=str(path), hint=hint)


def _select_filter(rows: list[LocatedRow], path: Path, filter_name: str) -> list[LocatedRow]:
    """Selects the rows of one filter of lm-evaluation-harness."""
    filters = dict.fromkeys(
        str(row["filter"]) for _, row in rows if _is_lm_eval_row(row) and "filter" in row
    )
    if filter_name and filter_name not in filters:
        found = f"It has {list_names(filters)}." if filters else ""
        raise RecordError(
            f"the log has no filter {show_text(filter_name)}",
            where=str(path),
            hint=found or "Only samples of lm-evaluation-harness have filters: leave out --filter.",
        )
    if len(filters) > 1 and not filter_name:
        raise RecordError(
            f"the log has the answers of several filters: {list_names(filters)}",
            where=str(path),
            hint="Choose one with --filter NAME.",
        )
    if not filter_name:
        return rows
    return [(where, row) for where, row in rows if str(row.get("filter")) == filter_name]


def _is_lm_eval_row(row: Mapping[str, Any]) -> bool:
    return "doc_id" in row and ("doc_hash" in row or "filtered_resps" in row)


def _find_question(row: Mapping[str, Any]) -> str:
    """Finds the text of the question of lm-evaluation-harness; else the hash of its document."""
    document = get_object(row, "doc")
    texts = [document.get(name) for name in _LM_EVAL_QUESTIONS]
    texts.append(row.get("doc_hash"))
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _is_helm_row(row: Mapping[str, Any]) -> bool:
    return "instance_id" in row and isinstance(row.get("stats"), list)


def _read_helm_scenario(folder: Path) -> str:
    """Reads of which scenario a run of HELM is; empty if nothing beside its log says so."""
    path = folder / _HELM_RUN
    if not path.is_file() or path.stat().st_size > MAX_LINE_BYTES:
        return ""
    run = _parse_object(path.read_bytes(), set())
    return write_text(get_object(run, "scenario_spec"))


def _convert_row(row: dict[str, Any], scores: dict[str, None], where: str) -> dict[str, Any]:
    """Converts a row of lm-evaluation-harness or HELM; any other stays as it is.

    Args:
        row: the row.
        scores: the names of its scores are added to it.
        where: file and line of the row.
    """
    if _is_lm_eval_row(row):
        metrics = row.get("metrics")
        listed = metrics if isinstance(metrics, list) else []
        names = {name for name in listed if isinstance(name, str) and name in row}
        # Old versions do not list the names of the scores.
        names = names or row.keys() - _LM_EVAL_FIELDS
        scores |= {n: None for n in row if n in names and isinstance(row[n], int | float)}
        return {"id": row["doc_id"], "question": _find_question(row), **row}
    if _is_helm_row(row):
        perturbation = row.get("perturbation")
        changed = f" + {perturbation.get('name')}" if isinstance(perturbation, dict) else ""
        values = {
            str(stat["name"].get("name")): stat.get("mean")
            for stat in row["stats"]
            if isinstance(stat, dict) and isinstance(stat.get("name"), dict)
        }
        # The others are of many kinds, such as numbers of tokens.
        scores |= {_HELM_SCORE: None} if _HELM_SCORE in values else dict.fromkeys(values)
        return {
            **values,
            "id": f"{row['instance_id']}{changed}",
            # Copies of an instance are no questions of their own.
            "cluster": row["instance_id"],
            "repeat": row.get("train_trial_index", 0),
        }
    if isinstance(row.get("name"), dict) and "sum_squared" in row:
        raise RecordError("these are the total results of HELM", where=where, hint=_HELM_HINT)
    return row
