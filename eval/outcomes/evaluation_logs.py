"""Reads logs of evaluation tools as rows of graded answers: Inspect, lm-evaluation-harness, HELM.

Each score stands in the row under its own name, and under ``outcome`` if there is only one; else
``--map outcome=NAME`` chooses.

| log | file | id | repeat |
|---|---|---|---|
| Inspect | ``.eval``, or ``.json`` of the same content | ``id`` of the sample | epoch |
| lm-evaluation-harness | ``samples_….jsonl`` of ``--log_samples`` | ``doc_id`` | |
| HELM | ``per_instance_stats.json`` | ``instance_id``, perturbation | ``train_trial_index`` |
"""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from eval.harness.predictions.rows import MAX_ARRAY_BYTES, iter_rows
from kg.base.errors import RecordError
from kg.base.files import require_file
from kg.base.strict_json import NotJsonError, parse_json

_SAMPLE_NAME: Final = re.compile(r"samples/[^/]+\.json")
_MAX_SAMPLES: Final = 1_000_000
_NOT_SCORED: Final = "error"
"""Outcome of a sample that failed or has no score."""
_INSPECT_GRADES: Final = {"C": "correct", "I": "incorrect", "N": "abstained"}
_HELM_SCORE: Final = "exact_match"


def iter_log_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the rows of a file, of a log or any other, with file and line or sample.

    Raises:
        MissingFileError: there is no such file.
        RecordError: the file is damaged or too large, or its samples have no scores.
    """
    path = require_file(path, "file of graded answers")
    samples = _read_inspect_samples(path)
    if samples is not None:
        yield from _convert_inspect_samples(samples, path)
        return
    for where, row in iter_rows(path):
        yield where, _convert_row(row)


def _read_inspect_samples(path: Path) -> list[tuple[str, dict[str, Any]]] | None:
    """Reads the samples of an Inspect log; ``None`` if the file is none."""
    suffix = path.suffix.lower()
    if suffix == ".eval":
        return _read_archive(path)
    if suffix != ".json" or path.stat().st_size > MAX_ARRAY_BYTES:
        return None
    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf").lstrip()
    if not content.startswith(b"{"):
        return None
    try:
        log = parse_json(content)
    except NotJsonError:
        return None  # JSON lines
    if not isinstance(log, dict) or not {"eval", "status"} <= log.keys():
        return None
    samples = log.get("samples") or []
    if not isinstance(samples, list):
        raise RecordError("the samples of the log are no list", where=str(path))
    return [(f"{path}:sample {n}", sample) for n, sample in enumerate(samples, start=1)]


def _read_archive(path: Path) -> list[tuple[str, dict[str, Any]]]:
    samples: list[tuple[str, dict[str, Any]]] = []
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
                samples.append((f"{path}:{name}", parse_json(content)))
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
    samples: Sequence[tuple[str, dict[str, Any]]], path: Path
) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = []
    score_names: dict[str, None] = {}
    for where, sample in samples:
        if not isinstance(sample, dict):
            raise RecordError("a sample is no object", where=where)
        scores = _collect_inspect_scores(sample)
        score_names.update(dict.fromkeys(scores))
        rows.append((where, sample, scores))
    if rows and not score_names:
        raise RecordError(
            "no sample has a score",
            where=str(path),
            hint="Score the log: inspect score LOG, or give a log that has scores.",
        )
    for where, sample, scores in rows:
        metadata = sample.get("metadata")
        epoch = sample.get("epoch", 1)
        row = {
            **(_flatten("metadata", metadata) if isinstance(metadata, dict) else {}),
            **{name: scores.get(name, _NOT_SCORED) for name in score_names},
            "id": sample.get("id"),
            "repeat": epoch - 1 if isinstance(epoch, int) else epoch,
        }
        yield where, _add_single_outcome(row, list(score_names))


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


def _convert_row(row: dict[str, Any]) -> dict[str, Any]:
    """Converts a row of lm-evaluation-harness or HELM; any other stays as it is."""
    if "doc_id" in row and "doc_hash" in row:
        metrics = row.get("metrics")
        names = [n for n in metrics if n in row] if isinstance(metrics, list) else []
        return _add_single_outcome({"id": row["doc_id"], **row}, names)
    stats = row.get("stats")
    if "instance_id" in row and isinstance(stats, list):
        perturbation = row.get("perturbation")
        changed = f" + {perturbation.get('name')}" if isinstance(perturbation, dict) else ""
        scores = {
            stat["name"].get("name"): stat.get("mean")
            for stat in stats
            if isinstance(stat, dict) and isinstance(stat.get("name"), dict)
        }
        converted = {
            **scores,
            "id": f"{row['instance_id']}{changed}",
            "repeat": row.get("train_trial_index", 0),
        }
        return _add_single_outcome(converted, [name for name in scores if name == _HELM_SCORE])
    return row


def _add_single_outcome(row: dict[str, Any], score_names: Sequence[str]) -> dict[str, Any]:
    """Adds the outcome if there is one score only."""
    if len(score_names) == 1:
        row.setdefault("outcome", row[score_names[0]])
    return row
