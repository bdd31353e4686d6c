"""Reads sets in the format of BEIR (N. Thakur et al., NeurIPS 2021), and qrels in that of TREC.

A folder has ``corpus.jsonl`` (``_id``, ``title``, ``text``), ``queries.jsonl`` (``_id``, ``text``)
and ``qrels/test.tsv`` (``query-id``, ``corpus-id``, ``score``, after a header), each also as
``.gz``. Qrels of TREC have four columns without a header: query, 0, document, grade.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import field

from eval.retrieval_eval.data.imported_set import ImportedSet, iter_json_records, iter_text_lines
from eval.retrieval_eval.questions import MAX_GRADE, Question, Split
from kg.base.errors import MissingFileError, RecordError

_SPLITS: Final[dict[str, Split]] = {"dev": "dev", "test": "test"}
"""Names of the files of qrels, without their endings → split."""

Grades = dict[str, dict[str, int]]
"""Question id → passage id → grade, in the order of the file."""


class _Document(msgspec.Struct):
    id: str = field(name="_id")
    text: str
    title: str = ""


class _Query(msgspec.Struct):
    id: str = field(name="_id")
    text: str


def read_beir(folder: Path, qrels: Sequence[Path] = ()) -> ImportedSet:
    """Reads a set of BEIR.

    Passages with a grade of 0 or less are not gold. A question without gold is left out. The
    document with a question's id is left out of its ranking, as in BEIR's own evaluation.

    Args:
        folder: the folder of the set.
        qrels: files of qrels, in BEIR's format or TREC's, whose questions are the ``test`` split;
            by default those of the folder, for the splits ``dev`` and ``test``.

    Raises:
        MissingFileError: a file is missing.
        RecordError: a file is not in its format, or an id occurs twice.
    """
    imported = ImportedSet()
    id_of_document: dict[str, str] = {}
    for where, document in iter_json_records(
        _find_file(folder / "corpus.jsonl"), _Document, "document"
    ):
        if document.id in id_of_document:
            raise RecordError(
                f"document {document.id!r} occurs twice", where=where, hint="Ids must be unique."
            )
        # A document without an id is given its title.
        id_of_document[document.id] = imported.add_passage(
            document.title, document.text, document.id
        )
    texts: dict[str, tuple[str, str]] = {}
    for where, query in iter_json_records(_find_file(folder / "queries.jsonl"), _Query, "query"):
        texts.setdefault(query.id, (where, query.text))
    for path, split in _list_qrels(folder, qrels):
        for query_id, grades in read_qrels(path).items():
            gold: dict[str, int] = {}
            for document_id, grade in grades.items():
                if passage_id := id_of_document.get(document_id):
                    gold[passage_id] = grade
                else:
                    imported.notes["judgements of missing documents left out"] += 1
            if query_id not in texts or not gold:
                imported.notes["questions without text or gold left out"] += 1
            elif query_id in imported.questions:
                imported.notes["questions of two splits kept in the first"] += 1
            else:
                where, text = texts[query_id]
                own = id_of_document.get(query_id, "")
                excluded = (own,) if own and own not in gold else ()
                if excluded:
                    # Its own text, as in ArguAna.
                    imported.notes["documents with a question's id left out of its ranking"] += 1
                question = _make_question(query_id, text, split, gold, excluded)
                imported.add_question(question, where)
    return imported


def read_qrels(path: Path) -> Grades:
    """Reads judgements of relevance.

    Args:
        path: a file with three columns separated by tabs, and a header; or with the four columns of
            TREC, separated by white space.

    Returns:
        The grades above 0.

    Raises:
        MissingFileError: there is no such file.
        RecordError: a line has other columns, its grade is no whole number or too large, or a pair
            occurs twice with different grades.
    """
    grades: Grades = {}
    judged: dict[tuple[str, str], int] = {}
    for number, (where, line) in enumerate(iter_text_lines(path, "qrels")):
        columns = line.split("\t") if line.count("\t") == 2 else line.split()
        if number == 0 and columns[0] == "query-id":
            continue
        query_id, document_id, text = _pick_columns(columns, where)
        try:
            grade = int(text)
        except ValueError:
            grade = MAX_GRADE + 1
        if grade > MAX_GRADE:
            raise RecordError(
                f"{text[:40]!r} is not a grade of relevance",
                where=where,
                hint=f"A grade is a whole number of at most {MAX_GRADE:,}.",
            )
        if judged.setdefault((query_id, document_id), grade) != grade:
            raise RecordError(
                f"{document_id[:80]!r} has two grades for the query {query_id[:80]!r}",
                where=where,
                hint="Judge each pair once.",
            )
        if grade > 0:
            grades.setdefault(query_id, {})[document_id] = grade
    return grades


def _pick_columns(columns: Sequence[str], where: str) -> tuple[str, str, str]:
    if len(columns) == 3:
        return columns[0], columns[1], columns[2]
    if len(columns) == 4:
        return columns[0], columns[2], columns[3]
    raise RecordError(
        f"{len(columns)} columns, not 3 or 4",
        where=where,
        hint="A line is query, document, grade (BEIR) or query, 0, document, grade (TREC).",
    )


def _list_qrels(folder: Path, qrels: Sequence[Path]) -> list[tuple[Path, Split]]:
    if qrels:
        return [(path, "test") for path in qrels]
    paths = [(folder / "qrels" / f"{name}.tsv", split) for name, split in _SPLITS.items()]
    found = [(path, split) for path, split in paths if path.is_file()]
    if not found:
        raise MissingFileError(
            "there are no qrels: neither test.tsv nor dev.tsv",
            where=str(folder / "qrels"),
            hint="Name a file of qrels with --qrels.",
        )
    return found


def _find_file(path: Path) -> Path:
    """Returns the path, or that with ``.gz`` if only this exists."""
    packed = path.with_name(f"{path.name}.gz")
    return packed if packed.is_file() and not path.is_file() else path


def _make_question(
    query_id: str, text: str, split: Split, gold: dict[str, int], excluded: tuple[str, ...]
) -> Question:
    is_graded = any(grade != 1 for grade in gold.values())
    return Question(
        id=query_id,
        question=text,
        kind="single-hop",
        split=split,
        gold=tuple(gold),
        grades=gold if is_graded else msgspec.UNSET,
        excluded=excluded or msgspec.UNSET,
    )
