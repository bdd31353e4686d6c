"""Reads pairs of evidence and claim with human labels, to measure the errors of a judge."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from eval.judges.rng import rng_for
from kg.base.errors import MissingFileError, RecordError
from kg.base.plain_text import clean_text

XSUM_FILE: Final = "factuality_annotations_xsum_summaries.csv"
FRANK_FILE: Final = "human_annotations.json"
FRANK_TEXTS: Final = "benchmark_data.json"
_MAX_BYTES: Final = 512 * 1024 * 1024
_IS_TRUE: Final = {
    **dict.fromkeys(("supported", "supports", "true", "entailment", "entailed", "yes"), True),
    **dict.fromkeys(
        (
            "not supported", "not_supported", "unsupported", "refuted", "refutes", "false",
            "contradiction", "contradicts", "contradicted", "neutral", "not_entailment",
            "not entailed",
            "not enough info", "not_enough_info", "nei", "wrong", "no",
        ),
        False,
    ),
}  # fmt: skip
"""Label in lower case → whether the evidence tells the claim. Whole numbers are no labels: 0 is
entailment in some data, and false in others."""
_HINT: Final = "docs/how-to/synthlink.md describes the files."


class LabelledPair(NamedTuple):
    """A claim that people found to be told by the evidence, or not."""

    evidence: str
    claim: str
    is_true: bool


def read_labelled_pairs(path: Path) -> list[LabelledPair]:
    """Reads pairs from a folder of XSum factuality or FRANK, or from a JSONL file.

    Raises:
        MissingFileError: there is no such file, or texts are missing.
        RecordError: a file does not have its published form.
    """
    if not path.is_dir():
        return list(_read_jsonl(path))
    for name, read in ((XSUM_FILE, _read_xsum), (FRANK_FILE, _read_frank)):
        if _find(path, name) is not None:
            try:
                return list(read(path))
            except (KeyError, TypeError, ValueError) as error:
                raise RecordError(f"not the published form: {error}", where=str(path)) from error
    raise MissingFileError(
        f"neither {XSUM_FILE} nor {FRANK_FILE} in the folder", where=str(path), hint=_HINT
    )


def select_pairs(pairs: Sequence[LabelledPair], limit: int, key: str) -> list[LabelledPair]:
    """Selects up to ``limit`` true and as many wrong pairs at random; ``key`` is the seed."""
    chosen = []
    for is_true in (True, False):
        group = [pair for pair in pairs if pair.is_true == is_true]
        rng_for(f"{key}|{is_true}").shuffle(group)
        chosen += group[:limit]
    return chosen


def _read_xsum(folder: Path) -> Iterator[LabelledPair]:
    """Yields pairs of summaries of one article on which all annotators agree.

    The articles are not part of the data. The evidence is therefore a summary that is true: it
    cannot entail a wrong one. It need not entail another true one, so the judge's share of true
    claims not supported is an upper limit here.
    """
    votes: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in csv.DictReader(io.StringIO(_read_text(folder, XSUM_FILE))):
        votes[row["bbcid"]][row["summary"]].append(row["is_factual"])
    for summaries in votes.values():
        labels = {
            summary: found[0]
            for summary, found in summaries.items()
            if len(found) > 1 and len(set(found)) == 1
        }
        evidence = next((summary for summary, label in labels.items() if label == "yes"), None)
        if evidence is not None:
            for summary, label in labels.items():
                if summary != evidence and label in ("yes", "no"):
                    yield LabelledPair(evidence, summary, label == "yes")


def _read_frank(folder: Path) -> Iterator[LabelledPair]:
    """Yields articles with summaries that all annotators call factual, or in which no sentence is.

    Raises:
        MissingFileError: the texts are not in the folder.
    """
    if _find(folder, FRANK_TEXTS) is None:
        raise MissingFileError(
            f"{FRANK_FILE} has labels only; the articles and summaries are in {FRANK_TEXTS}",
            where=str(folder),
            hint=f"Put data/{FRANK_TEXTS} of github.com/artidoro/frank next to it.",
        )
    texts = {
        (row["hash"], row["model_name"]): (row["article"], row["summary"])
        for row in json.loads(_read_text(folder, FRANK_TEXTS))
    }
    for row in json.loads(_read_text(folder, FRANK_FILE)):
        text = texts.get((row["hash"], row["model_name"]))
        if text is not None and row["Factuality"] in (0.0, 1.0):
            yield LabelledPair(*text, row["Factuality"] == 1.0)


def _read_jsonl(path: Path) -> Iterator[LabelledPair]:
    if not path.is_file():
        raise MissingFileError("no such file or folder of pairs", where=str(path), hint=_HINT)
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            if not line.strip():
                continue
            where = f"{path}:{number}"
            try:
                row: dict[str, Any] = json.loads(line)
                evidence, claim, label = str(row["evidence"]), str(row["claim"]), row["label"]
            except (ValueError, KeyError, TypeError) as error:
                raise RecordError(
                    "not an object with evidence, claim and label", where=where, hint=_HINT
                ) from error
            is_true = _IS_TRUE.get(str(label).strip().casefold())
            if is_true is None:
                raise RecordError(
                    f"the label {clean_text(str(label), 60)!r} is not known",
                    where=where,
                    hint="Write 'supported' or 'not supported'.",
                )
            yield LabelledPair(evidence, claim, is_true)


def _find(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _read_text(folder: Path, name: str) -> str:
    path = _find(folder, name)
    if path is None:
        raise MissingFileError(f"no {name} in the folder", where=str(folder), hint=_HINT)
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as handle:
        content = handle.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise RecordError(f"larger than {_MAX_BYTES:,} bytes", where=str(path))
    return content.decode("utf-8")
