"""Reads logs of evaluation tools as rows of graded answers.

Each score stands in the row under its own name, and under ``outcome`` if there is only one; else
``--map outcome=NAME`` chooses.

| log | file | id | repeat |
|---|---|---|---|
| Inspect | ``.eval``, or ``.json`` of the same content | ``id`` of the sample | epoch |
| lm-evaluation-harness | ``samples_….jsonl`` of ``--log_samples`` | ``doc_id`` | |
| HELM | ``per_instance_stats.json`` | ``instance_id``, perturbation | ``train_trial_index`` |
| promptfoo | ``.json`` of ``--output`` | ``testIdx`` | |

lm-evaluation-harness writes a row for each filter of a task, such as ``strict-match`` and
``flexible-extract``; ``--filter`` chooses one.
"""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from eval.harness.predictions.reader import show_text
from eval.harness.predictions.rows import CSV_DELIMITERS, MAX_ARRAY_BYTES, iter_rows, list_names
from kg.base.errors import RecordError
from kg.base.files import MAX_LINE_BYTES, require_file
from kg.base.strict_json import NotJsonError, parse_json

LocatedRow = tuple[str, dict[str, Any]]
"""A row with its file and line, or sample."""

_SAMPLE_NAME: Final = re.compile(r"samples/[^/]+\.json")
_MAX_SAMPLES: Final = 1_000_000
_NOT_SCORED: Final = "error"
"""Outcome of a sample that failed or has no score."""
_INSPECT_GRADES: Final = {"C": "correct", "I": "incorrect", "N": "abstained"}
_HELM_SCORE: Final = "exact_match"
_HELM_HINT: Final = "Give per_instance_stats.json of the same folder."


_LM_EVAL_FIELDS: Final = frozenset(
    (
        *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
        *("doc_hash", "prompt_hash", "target_hash"),
    )
)
"""The fields of a sample of lm-evaluation-harness that are no scores."""
_LOOK_AHEAD: Final = 4096
"""Number of bytes after the first line that tell whether there is a second one."""
_MAX_ROW_FIELDS: Final = 100
"""An object of more fields than this is no row."""
_PROMPTFOO_ERROR: Final = 2
"""The ``failureReason`` of a test whose call failed; 1 is a failed assertion."""


def read_log_rows(
    path: Path,
    *,
    outcome: str = "outcome",
    filter_name: str = "",
    constants: set[str] | None = None,
) -> list[LocatedRow]:
    """Reads the rows of a file, of a log or any other.

    Args:
        path: the file.
        outcome: the field that will be read as the outcome.
        filter_name: of lm-evaluation-harness, the filter whose rows are meant; empty if there is
            only one.
        constants: as in ``parse_json``.

    Raises:
        MissingFileError: there is no such file.
        RecordError: the file is damaged or too large, its samples have no scores or several, it has
            not the filter or several, or it is another file of a tool than that of its samples.
    """
    path = require_file(path, "file of graded answers")
    rows, scores = _read_rows(path, constants)
    rows = _select_filter(rows, path, filter_name)
    if len(scores) == 1:
        for _, row in rows:
            value = row.get(scores[0])
            row.setdefault("outcome", _NOT_SCORED if value is None else value)
    elif scores and not any(outcome in row for _, row in rows):
        raise RecordError(
            f"the log has several scores: {list_names(scores)}",
            where=str(path),
            hint="Choose one with --map outcome=NAME.",
        )
    return rows


def _read_rows(path: Path, constants: set[str] | None) -> tuple[list[LocatedRow], list[str]]:
    """Reads the rows of a file, and the names of the scores if it is a log."""
    if path.suffix.lower() == ".eval":
        return _convert_inspect_samples(_read_archive(path, constants), path)
    document, is_line = _read_document(path, constants)
    if document is not None:
        converted = _convert_document(document, path, is_line=is_line)
        if converted is not None:
            return converted
    rows = list(iter_rows(path, constants=constants))
    scores: dict[str, None] = {}
    return [(where, _convert_row(row, scores, where)) for where, row in rows], list(scores)


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
) -> tuple[list[LocatedRow], list[str]] | None:
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
        return _convert_inspect_samples(located, path)
    if isinstance(results, dict) and isinstance(results.get("results"), list):
        return list(_iter_promptfoo_rows(results["results"], path)), ["success"]
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


def _iter_promptfoo_rows(results: Sequence[Any], path: Path) -> Iterator[LocatedRow]:
    """Yields the rows of promptfoo's results; each provider and prompt is a system."""
    systems: set[tuple[str, str]] = set()
    rows: list[tuple[str, dict[str, Any], str]] = []
    for number, result in enumerate(results, start=1):
        where = f"{path}:result {number}"
        if not isinstance(result, dict) or not {"testIdx", "success"} <= result.keys():
            raise RecordError(
                "a result of promptfoo has no 'testIdx' or 'success'",
                where=where,
                hint="Write the file with promptfoo eval --output FILE.json.",
            )
        provider = result.get("provider")
        name = provider.get("label") or provider.get("id") if isinstance(provider, dict) else None
        system, prompt = str(name or "system"), str(result.get("promptIdx"))
        systems.add((system, prompt))
        failed = result.get("failureReason") == _PROMPTFOO_ERROR
        named = result.get("namedScores")
        variables = result.get("vars")
        row = {
            **(_flatten("vars", variables) if isinstance(variables, dict) else {}),
            **(_flatten("namedScores", named) if isinstance(named, dict) else {}),
            "id": result["testIdx"],
            "system": system,
            "success": _NOT_SCORED if failed else result["success"],
        }
        rows.append((where, row, prompt))
    has_prompts = len({prompt for _, prompt in systems}) > 1
    for where, row, prompt in rows:
        if len(systems) == 1:
            del row["system"]  # The file's own name is that of the system.
        elif has_prompts:
            row["system"] += f", prompt {prompt}"
        yield where, row


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


def _read_archive(path: Path, constants: set[str] | None) -> list[tuple[str, Any]]:
    samples: list[tuple[str, Any]] = []
    n_bytes = 0
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if _SAMPLE_NAME.fullmatch(name))
            if len(names) > _MAX_SAMPLES:
                raise RecordError(f"more than {_MAX_SAMPLES:,} samples", where=str(path))
            for name in names:
                with archive.open(name) as handle:
                    content = handle.read(MAX_ARRAY_BYTES - n_bytes + 1)
                n_bytes += len(content)
                if n_bytes > MAX_ARRAY_BYTES:
                    raise RecordError(f"larger than {MAX_ARRAY_BYTES:,} bytes", where=str(path))
                samples.append((f"{path}:{name}", parse_json(content, constants)))
    except NotImplementedError as error:
        raise RecordError(
            "the log is compressed in a way that Python cannot read",
            where=str(path),
            hint="Convert it: inspect log convert --to json --output-dir FOLDER LOG.",
        ) from error
    except (
        zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError
    ) as error:  # fmt: skip
        raise RecordError(f"not an Inspect log: {error}", where=str(path)) from error
    except NotJsonError as error:
        raise RecordError(f"a sample is not JSON: {error}", where=str(path)) from error
    return samples


def _convert_inspect_samples(
    samples: Sequence[tuple[str, Any]], path: Path
) -> tuple[list[LocatedRow], list[str]]:
    """Converts the samples of a log; also returns the names of the scores."""
    scored = []
    score_names: dict[str, None] = {}
    for where, sample in samples:
        if not isinstance(sample, dict):
            raise RecordError("a sample is no object", where=where)
        scores = _collect_inspect_scores(sample)
        score_names.update(dict.fromkeys(scores))
        scored.append((where, sample, scores))
    if scored and not score_names:
        raise RecordError(
            "no sample has a score",
            where=str(path),
            hint="Score the log: inspect score LOG, or give a log that has scores.",
        )
    rows = []
    for where, sample, scores in scored:
        metadata = sample.get("metadata")
        epoch = sample.get("epoch", 1)
        row = {
            **(_flatten("metadata", metadata) if isinstance(metadata, dict) else {}),
            **{name: scores.get(name, _NOT_SCORED) for name in score_names},
            "id": sample.get("id"),
            "repeat": epoch - 1 if isinstance(epoch, int) else epoch,
        }
        rows.append((where, row))
    return rows, list(score_names)


def _collect_inspect_scores(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of the scores; of a scorer with several values ``scorer.value``."""
    scores = sample.get("scores") or {}
    found: dict[str, Any] = {}
    for scorer, score in scores.items() if isinstance(scores, dict) else ():
        value = score.get("value") if isinstance(score, dict) else None
        if isinstance(value, dict):
            found |= _flatten(scorer, value)
        elif value is not None:
            found[scorer] = value
    # Spelt out, because a file of letters alone could be of another tool.
    return {name: _INSPECT_GRADES.get(str(value), value) for name, value in found.items()}


def _flatten(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the texts and numbers of an object, as ``prefix.name``."""
    return {
        f"{prefix}.{name}": value
        for name, value in values.items()
        if isinstance(value, str | int | float)
    }


def _is_lm_eval_row(row: Mapping[str, Any]) -> bool:
    return "doc_id" in row and ("doc_hash" in row or "filtered_resps" in row)


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
        return {"id": row["doc_id"], **row}
    stats = row.get("stats")
    if "instance_id" in row and isinstance(stats, list):
        perturbation = row.get("perturbation")
        changed = f" + {perturbation.get('name')}" if isinstance(perturbation, dict) else ""
        values = {
            str(stat["name"].get("name")): stat.get("mean")
            for stat in stats
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
