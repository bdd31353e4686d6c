"""Reads logs of Inspect: an archive, or one JSON object with all samples.

A log that was cancelled, or failed, has fewer samples than its header announces.
"""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from eval.harness.predictions.rows import MAX_ARRAY_BYTES
from eval.outcomes.log_content import (
    MAX_SAMPLES,
    NOT_SCORED,
    LocatedRow,
    LogContent,
    flatten,
    get_object,
    read_count,
)
from eval.outcomes.question_texts import cluster_copies, write_text
from kg.base.errors import RecordError
from kg.base.plain_text import clean_text
from kg.base.strict_json import NotJsonError, parse_json

_SAMPLE_NAME: Final = re.compile(r"samples/[^/]+\.json")
_HEADERS: Final = ("header.json", "_journal/start.json")
"""The second one is written first, and is all that a log has whose process ended early."""
_GRADES: Final = {"C": "correct", "I": "incorrect", "N": "abstained"}
_MAX_SHOWN_CHARS: Final = 60


def read_inspect_archive(path: Path, constants: set[str] | None) -> LogContent:
    """Reads a log that is an archive, ``.eval``.

    Raises:
        RecordError: it is damaged, too large, or in a compression that Python cannot read.
    """
    header, samples = _read_archive(path, constants)
    return convert_inspect_log(header, samples, path)


def convert_inspect_log(
    header: Mapping[str, Any], samples: Sequence[tuple[str, Any]], path: Path
) -> LogContent:
    """Converts the samples of a log to rows.

    Args:
        header: the object with status, ``eval`` and results.
        samples: each with its place.
        path: the file.

    Raises:
        RecordError: a sample is no object, or none has a score.
    """
    rows, scores = _convert_samples(samples, path)
    n_repeats = read_count(get_object(get_object(header, "eval"), "config").get("epochs")) or 1
    status = header.get("status")
    notes = []
    if header and status != "success":
        shown = clean_text(str(status), _MAX_SHOWN_CHARS)
        notes.append(f"the status of the log is {shown!r}, so that it may not be complete")
    return LogContent(rows, scores, _count_questions(header, n_repeats), n_repeats, tuple(notes))


def _count_questions(header: Mapping[str, Any], n_repeats: int) -> int:
    """Returns the number of questions that a log was to have; 0 if it does not say it."""
    spec = get_object(header, "eval")
    dataset, config = get_object(spec, "dataset"), get_object(spec, "config")
    ids, chosen, limit = dataset.get("sample_ids"), config.get("sample_id"), config.get("limit")
    counts = [len(ids)] if isinstance(ids, list) and ids else []
    if not counts:
        total = read_count(get_object(header, "results").get("total_samples"))
        # The data set is counted before the limit is applied.
        counts = [-(-total // n_repeats) or read_count(dataset.get("samples"))]
    if isinstance(chosen, list) and chosen:
        counts.append(len(chosen))
    if isinstance(limit, list) and len(limit) == 2:
        first, last = (n if isinstance(n, int) else 0 for n in limit)
        limit = last - first
    if read_count(limit):
        counts.append(read_count(limit))
    return read_count(min(counts))


def _read_archive(
    path: Path, constants: set[str] | None
) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    """Reads the header of an archive, and its samples with their places."""
    header: dict[str, Any] = {}
    samples: list[tuple[str, Any]] = []
    n_bytes = 0
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if _SAMPLE_NAME.fullmatch(name))
            if len(names) > MAX_SAMPLES:
                raise RecordError(f"more than {MAX_SAMPLES:,} samples", where=str(path))
            # The first one that there is.
            headers = [name for name in _HEADERS if name in archive.namelist()][:1]
            for name in (*headers, *names):
                with archive.open(name) as handle:
                    content = handle.read(MAX_ARRAY_BYTES - n_bytes + 1)
                n_bytes += len(content)
                if n_bytes > MAX_ARRAY_BYTES:
                    raise RecordError(f"larger than {MAX_ARRAY_BYTES:,} bytes", where=str(path))
                value = parse_json(content, constants if name in names else None)
                if name in names:
                    samples.append((f"{path}:{name}", value))
                elif isinstance(value, dict):
                    header = {"status": "started", **value}
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
        raise RecordError(f"a part of the log is not JSON: {error}", where=str(path)) from error
    return header, samples


def _convert_samples(
    samples: Sequence[tuple[str, Any]], path: Path
) -> tuple[list[LocatedRow], list[str]]:
    """Converts the samples of a log; also returns the names of the scores."""
    scored = []
    score_names: dict[str, None] = {}
    for where, sample in samples:
        if not isinstance(sample, dict):
            raise RecordError("a sample is no object", where=where)
        scores = _collect_scores(sample)
        score_names.update(dict.fromkeys(scores))
        scored.append((where, sample, scores))
    if scored and not score_names:
        raise RecordError(
            "no sample has a score",
            where=str(path),
            hint="Score the log: inspect score LOG, or give a log that has scores.",
        )
    rows: list[LocatedRow] = []
    for where, sample, scores in scored:
        metadata = sample.get("metadata")
        epoch = sample.get("epoch", 1)
        row = {
            **(flatten("metadata", metadata) if isinstance(metadata, dict) else {}),
            **{name: scores.get(name, NOT_SCORED) for name in score_names},
            "id": sample.get("id"),
            "question": _write_question(sample),
            "repeat": epoch - 1 if isinstance(epoch, int) else epoch,
        }
        rows.append((where, row))
    cluster_copies(rows, [_write_content(sample) for _, sample, _ in scored])
    return rows, list(score_names)


def _collect_scores(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of the scores; of a scorer with several values ``scorer.value``."""
    scores = sample.get("scores") or {}
    found: dict[str, Any] = {}
    for scorer, score in scores.items() if isinstance(scores, dict) else ():
        value = score.get("value") if isinstance(score, dict) else None
        if isinstance(value, dict):
            found |= flatten(scorer, value)
        elif value is not None:
            found[scorer] = value
    # Spelt out, because a file of letters alone could be of another tool.
    return {name: _GRADES.get(str(value), value) for name, value in found.items()}


def _write_input(sample: Mapping[str, Any]) -> str:
    """Writes the input of a sample; of messages without their ids, which are random."""
    given = sample.get("input")
    if isinstance(given, list):
        given = [
            [message.get("role"), message.get("content")] if isinstance(message, dict) else message
            for message in given
        ]
    return write_text(given)


def _write_question(sample: Mapping[str, Any]) -> str:
    """Writes what tells a question from others: its input, and its target if it has no options.

    Options may be shuffled, and with them the letter of the right one.
    """
    text = _write_input(sample)
    if not text or sample.get("choices"):
        return text
    return f"{text}\n{write_text(sample.get('target'))}"


def _write_content(sample: Mapping[str, Any]) -> str:
    """Writes all that a sample is answered from; empty if its input is not known."""
    text, choices = _write_question(sample), sample.get("choices")
    if not text or not isinstance(choices, list):
        return text
    return "\n".join((text, *sorted(map(str, choices))))
