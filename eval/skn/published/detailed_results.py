"""Reads answers and verdicts from ``detailed_results.json`` of this or the published benchmark.

The file has one object per sample and, for each pipeline P, the keys ``P_answer``,
``P_confidence``, ``P_reasoning``, ``P_correct``, ``P_hallucination`` and ``P_groundedness``. Ours
adds ``P_outcome``, ``P_stage`` and ``P_error``, and who answered and judged. The published one
lacks the questions, which ``search_results.json`` beside it has; ``extractions.json`` has what the
agent was given.

An answer or a verdict that is missing or unreadable is counted as such and named; it is never
replaced by a value.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET

from eval.harness.predictions.reader import MAX_REPEATS, read_repeat
from eval.harness.predictions.rows import iter_rows, list_names
from eval.harness.reply import Reply, Vote
from eval.skn.agent import Response
from eval.skn.files import DETAILS, EXTRACTIONS, SEARCHES
from eval.skn.formats.extraction import Extraction, Validity
from eval.skn.formats.forms import parse_content, to_plain_values
from eval.skn.formats.pipelines import PIPELINES
from eval.skn.items import NO_ANSWER, Sample, read_id, sample_from_json
from eval.skn.published.wide_reader import FAILED_REASONING
from eval.skn.published.wide_rows import NOBODY
from eval.skn.published.wide_verdicts import read_verdicts
from eval.skn.retention.retention import measure_retention
from eval.skn.search_source import Source
from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import to_json_bytes
from kg.base.plain_text import clean_text

NOT_RECORDED: Final = "(not recorded)"
"""Stands for a question or a right answer that the file does not have."""
_NO_SEARCH: Final = "the file does not have the search results"
_MAX_PIPELINES: Final = 100
_MAX_PROBLEMS: Final = 5
_ANSWERED_BY, _JUDGED_BY = "answered_by", "judged_by"
_NO_JUDGES: Final = (NOBODY, "rules")
"""Names of judges whose verdicts are none; in earlier versions, rules could judge."""


@dataclass(kw_only=True)
class DetailedResults:
    """What a file of detailed results contains.

    Attributes:
        path: the file.
        samples: its samples, or those of the data set.
        sources: the search results of each.
        pipelines: names, in the order of the file.
        replies: the answers, at most one per sample, pipeline and repeat.
        votes: the verdicts on them.
        answered_by, judged_by: the model, or ``NOBODY``; empty if the file does not say so.
        problems: what is missing or unreadable → the places where it is.
        default_verdicts: how often a verdict has exactly the values that the published code writes
            if it cannot read a judgement.
    """

    path: Path
    samples: list[Sample]
    sources: list[Source] = field(default_factory=list)
    pipelines: tuple[str, ...] = ()
    replies: list[Reply] = field(default_factory=list)
    votes: list[Vote] = field(default_factory=list)
    answered_by: str = ""
    judged_by: str = ""
    problems: dict[str, list[str]] = field(default_factory=dict)
    default_verdicts: Counter[str] = field(default_factory=Counter)

    def list_warnings(self) -> list[str]:
        """Returns a warning for each kind of problem, with the first of its places."""
        warnings = []
        for problem, places in self.problems.items():
            more = ", …" if len(places) > _MAX_PROBLEMS else ""
            shown = ", ".join(places[:_MAX_PROBLEMS])
            warnings.append(f"{problem}: {len(places)} rows ({shown}{more})")
        return warnings


def find_results_file(path: Path) -> Path:
    """Returns the file of detailed results that a path names: itself, or the one in the folder.

    Raises:
        RecordError: the folder has none.
    """
    if not path.is_dir():
        return path
    for name in (DETAILS, f"{DETAILS}.gz", DETAILS.replace(".json", ".jsonl")):
        if (path / name).is_file():
            return path / name
    raise RecordError(
        f"the folder has no {DETAILS}",
        where=str(path),
        hint="Give the folder that a run of the benchmark wrote, or the file itself.",
    )


def read_detailed_results(path: Path, dataset: Sequence[Sample] | None) -> DetailedResults:
    """Reads a file of detailed results, and the searches and extractions beside it, if any.

    Args:
        path: the file, or the folder that contains it.
        dataset: the samples; None to take them from the file.

    Raises:
        MissingFileError: there is no such file.
        RecordError: it is not a file of detailed results, or a row has no usable id.
        DuplicateIdError: two rows are on the same sample and repeat.
    """
    file = find_results_file(path)
    rows = list(iter_rows(file, "result"))
    names = _find_pipelines(file, [row for _, row in rows])
    questions = _read_beside(file.parent / SEARCHES)
    extractions = _read_beside(file.parent / EXTRACTIONS)
    results = DetailedResults(path=file, samples=list(dataset or ()), pipelines=names)
    known = {sample.id: sample for sample in results.samples}
    places: dict[tuple[str, int], str] = {}
    sources: dict[str, Source] = {}
    for where, row in rows:
        id_, repeat = _read_key(row, where)
        if (id_, repeat) in places:
            raise DuplicateIdError(
                f"two rows on sample {id_!r}, here and at {places[id_, repeat]}",
                where=where,
                hint="Keep one of them, or number them with a key `repeat`.",
            )
        places[id_, repeat] = where
        if id_ not in known:
            if dataset is not None:
                _add_problem(results, "no such sample in the data set, left out", where)
                continue
            known[id_] = _read_sample(row, where, names, _find_row(questions, id_, repeat))
            results.samples.append(known[id_])
        sample = known[id_]
        _check_answerable(row, sample, where)
        sources.setdefault(id_, _read_source(row, sample))
        results.answered_by = results.answered_by or _read_name(row.get(_ANSWERED_BY))
        results.judged_by = results.judged_by or _read_judge(row)
        for name in names:
            extraction = _find_row(extractions, id_, repeat)
            reply = _read_reply(row, name, extraction, sources[id_].text)
            reply = msgspec.structs.replace(reply, id=id_, system=name, repeat=repeat)
            results.replies.append(reply)
            if reply.status == "invalid" and reply.problem:
                _add_problem(results, f"unusable answer, {reply.problem}", where)
            elif reply.status == "ok":
                stated = row.get(f"{name}_confidence")
                if stated is not None and reply.confidence is None:
                    problem = f"{name}_confidence is no number from 0 to 1, left out"
                    _add_problem(results, problem, where)
            if results.judged_by != NOBODY:
                _read_vote(results, row, reply, sample, where)
    results.sources = [
        sources.get(sample.id) or Source(id=sample.id, question=sample.question, error=_NO_SEARCH)
        for sample in results.samples
    ]
    return results


def _find_pipelines(file: Path, rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Returns the names of the pipelines, which begin the keys that end in ``_answer``."""
    keys = dict.fromkeys(key for row in rows for key in row)
    names = tuple(
        name for key in keys if key.endswith("_answer") and (name := key.removesuffix("_answer"))
    )
    if not names:
        shown = f"The rows have {list_names(keys)}. " if keys else ""
        raise RecordError(
            "not detailed results: no key ends in _answer" if keys else "the file has no rows",
            where=str(file),
            hint=f"{shown}Give the {DETAILS} of a run; answers without verdicts are judged with "
            "--predictions.",
        )
    bad = next((name for name in names if name != clean_text(name, 60)), None)
    if bad is not None or len(names) > _MAX_PIPELINES:
        raise RecordError(
            f"the key {clean_text(bad, 60)!r}… names no pipeline"
            if bad is not None
            else f"more than {_MAX_PIPELINES} pipelines",
            where=str(file),
            hint="A pipeline's name is printable and has at most 60 characters.",
        )
    return names


def _read_beside(path: Path) -> dict[tuple[str, int], Mapping[str, Any]]:
    """Returns sample id and repeat → row of a file beside the results; empty if there is none."""
    if not path.is_file():
        return {}
    return {_read_key(row, where): row for where, row in iter_rows(path, "result")}


def _find_row(
    rows: Mapping[tuple[str, int], Mapping[str, Any]], id_: str, repeat: int
) -> Mapping[str, Any]:
    """Finds the row of a repeat, or of the first one, which the others may share."""
    return rows.get((id_, repeat)) or rows.get((id_, 0)) or {}


def _read_key(row: Mapping[str, Any], where: str) -> tuple[str, int]:
    try:
        id_ = read_id(row.get("id"))
    except msgspec.ValidationError as error:
        raise RecordError(
            f"not a result: {error}", where=where, hint=f"The row has {list_names(row)}."
        ) from error
    return id_, read_repeat(row.get("repeat") or 0, where, MAX_REPEATS - 1)


def _read_sample(
    row: Mapping[str, Any], where: str, names: Iterable[str], search: Mapping[str, Any]
) -> Sample:
    prefixes = tuple(f"{name}_" for name in names)
    others = ("raw_text", "repeat", _ANSWERED_BY, _JUDGED_BY)
    fields = {
        "question": search.get("question") or NOT_RECORDED,
        "ground_truth": NO_ANSWER if row.get("answerable") is False else NOT_RECORDED,
        **{
            key: value
            for key, value in row.items()
            if value not in (None, "") and key not in others and not key.startswith(prefixes)
        },
    }
    try:
        return sample_from_json(fields)
    except (msgspec.ValidationError, ValueError) as error:
        raise RecordError(
            f"not a result: {error}",
            where=where,
            hint=f"Correct the row, or name the data set with --dataset. It has {list_names(row)}.",
        ) from error


def _check_answerable(row: Mapping[str, Any], sample: Sample, where: str) -> None:
    stated = row.get("answerable")
    if stated is not None and stated is not sample.answerable:
        raise RecordError(
            f"its answerable is {_show(stated)}, that of sample {sample.id!r} in the data set is "
            f"{_show(sample.answerable)}",
            where=where,
            hint="Name the data set of these results with --dataset.",
        )


def _read_source(row: Mapping[str, Any], sample: Sample) -> Source:
    text = row.get("raw_text")
    if not isinstance(text, str):
        return Source(id=sample.id, question=sample.question, error=_NO_SEARCH)
    return Source(id=sample.id, question=sample.question, raw_text=text or UNSET)


def _read_judge(row: Mapping[str, Any]) -> str:
    name = _read_name(row.get(_JUDGED_BY))
    return NOBODY if name in _NO_JUDGES else name


def _read_name(value: object) -> str:
    return clean_text(value, 200) if isinstance(value, str) else ""


def _add_problem(results: DetailedResults, problem: str, where: str) -> None:
    results.problems.setdefault(problem, []).append(where.rpartition(":")[2])


def _read_reply(
    row: Mapping[str, Any], name: str, extractions: Mapping[str, Any], text: str
) -> Reply:
    """Reads the answer of a pipeline; an unusable one has the status ``invalid`` and says why."""
    parts: dict[str, Any] = {}
    extraction = _read_extraction(extractions, name)
    if extraction is not None:
        parts = {"extraction": extraction, "retention": measure_retention(text, extraction)}
    stated = row.get(f"{name}_outcome")
    answer = row.get(f"{name}_answer")
    stage = row.get(f"{name}_stage")
    stage = stage if isinstance(stage, str) and stage else "agent"
    error = row.get(f"{name}_error")
    if stated == "ERROR" or (answer == "" and row.get(f"{name}_reasoning") == FAILED_REASONING):
        problem = clean_text(error, 300) if isinstance(error, str) else "the call failed"
        return Reply(status="error", stage=stage, problem=problem, parts=parts)
    is_blank = not isinstance(answer, str) or not answer.strip()
    if stated == "INVALID" or (is_blank and stated != "ABSTAINED") or not isinstance(answer, str):
        problem = "" if stated == "INVALID" else _describe_answer(row, f"{name}_answer")
        return Reply(status="invalid", stage=stage, problem=problem, parts=parts)
    confidence = row.get(f"{name}_confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        confidence = None
    if confidence is not None and not 0 <= confidence <= 1:
        confidence = None
    reasoning = row.get(f"{name}_reasoning")
    response = Response(
        answer=answer,
        confidence=confidence,
        reasoning=reasoning if isinstance(reasoning, str) else "",
        abstained=stated == "ABSTAINED" if isinstance(stated, str) else None,
        readable=True,
    )
    return Reply(value=response, confidence=confidence, parts=parts)


def _describe_answer(row: Mapping[str, Any], key: str) -> str:
    if row.get(key) is None:
        return f"{key} is missing"
    return f"{key} is empty" if isinstance(row[key], str) else f"{key} is not a text"


def _read_extraction(row: Mapping[str, Any], name: str) -> Extraction | None:
    """Reads what the agent was given, if the file beside the results has it."""
    value = row.get(f"{name}_extraction")
    if name not in PIPELINES or not isinstance(value, str | dict):
        return None
    if isinstance(value, str):
        text = value
    elif f"{name}_validity" in row:
        text = to_json_bytes(value).decode()
    else:
        text = json.dumps(value, indent=2)  # as the published code passes it on
    readings: tuple[tuple[bool, Validity], ...] = ((True, "strict"), (False, "tolerant"))
    for strict, validity in readings:
        content = parse_content(text, PIPELINES[name], strict=strict)[0]
        if content is not None:
            plain = to_plain_values(content)
            return Extraction(pipeline=name, context=text, validity=validity, content=plain)
    return Extraction(pipeline=name, context=text, validity="unreadable")


def _read_vote(
    results: DetailedResults, row: Mapping[str, Any], reply: Reply, sample: Sample, where: str
) -> None:
    """Reads the verdicts on an answer, and counts those that are missing or unreadable."""
    verdicts, is_default = read_verdicts(row, reply.system, answerable=sample.answerable)
    if reply.status == "ok" and reply.value.answer.strip():
        for failure in verdicts.problems:
            _add_problem(results, f"no verdict, {failure.problem}", where)
        if f"{reply.system}_outcome" not in row:
            results.default_verdicts.update(is_default)
    elif verdicts.problems:
        return  # only the published code has verdicts on answers that do not exist
    vote = Vote(id=reply.id, system=reply.system, repeat=reply.repeat, verdict=verdicts)
    results.votes.append(vote)


def _show(value: object) -> str:
    return clean_text(msgspec.json.encode(value).decode(), 60)
