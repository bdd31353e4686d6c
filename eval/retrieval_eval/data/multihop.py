"""Reads MuSiQue and HotpotQA in their published formats.

Each question has paragraphs of its own. The paragraphs of all questions together are the corpus, as
in B. J. Gutiérrez et al., HippoRAG, NeurIPS 2024.

* MuSiQue (H. Trivedi et al., TACL 2022): ``paragraphs`` with ``title``, ``paragraph_text`` and
  ``is_supporting``.
* HotpotQA (Z. Yang et al., EMNLP 2018), and 2WikiMultihopQA: ``context`` is a list of
  ``[title, sentences]``, ``supporting_facts`` a list of ``[title, sentence number]``; or the two
  are objects of columns, as on the hub.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import field

from eval.retrieval_eval.data.imported_set import ImportedSet, iter_json_records
from eval.retrieval_eval.questions import Question
from kg.base.errors import RecordError


class _Paragraph(msgspec.Struct):
    title: str = ""
    paragraph_text: str = ""
    text: str = ""
    is_supporting: bool = False


class _MusiqueQuestion(msgspec.Struct):
    id: str
    question: str
    paragraphs: list[_Paragraph]
    answer: str | list[str] = ""
    answerable: bool = True


class _Context(msgspec.Struct):
    """The columns of ``context`` on the hub."""

    title: list[str]
    sentences: list[list[str]]


class _SupportingFacts(msgspec.Struct):
    """The columns of ``supporting_facts`` on the hub."""

    title: list[str]


class _HotpotQuestion(msgspec.Struct):
    question: str
    context: Any
    supporting_facts: Any
    id: str = ""
    hotpot_id: str = field(default="", name="_id")
    answer: str = ""


def add_corpus(path: Path, imported: ImportedSet) -> None:
    """Adds passages that no question names, as a file of objects with ``title`` and ``text``.

    Raises:
        MissingFileError: there is no such file.
        RecordError: it is not in this format.
    """
    for _, passage in iter_json_records(path, _Paragraph, "passage"):
        imported.add_passage(passage.title, passage.text or passage.paragraph_text)


def read_musique(path: Path) -> ImportedSet:
    """Reads a file of MuSiQue.

    Questions that are marked as not answerable are left out: that holds for their own paragraphs
    only, and another question's paragraphs may have the answer.

    Args:
        path: ``musique_ans_v1.0_dev.jsonl`` or the like.

    Raises:
        MissingFileError: there is no such file.
        RecordError: it is not in this format.
    """
    imported = ImportedSet()
    for where, row in iter_json_records(path, _MusiqueQuestion, "question"):
        gold = []
        for paragraph in row.paragraphs:
            passage_id = imported.add_passage(
                paragraph.title, paragraph.paragraph_text or paragraph.text
            )
            if paragraph.is_supporting and passage_id:
                gold.append(passage_id)
        if not row.answerable:
            imported.notes["questions marked as not answerable left out"] += 1
            continue
        answer = row.answer if isinstance(row.answer, str) else "; ".join(row.answer)
        _add_question(imported, (row.id, row.question, answer), gold, where)
    return imported


def read_hotpotqa(path: Path) -> ImportedSet:
    """Reads a file of HotpotQA or of 2WikiMultihopQA.

    Questions one of whose supporting paragraphs is not in their context are left out; in the
    "fullwiki" files there are many.

    Args:
        path: ``hotpot_dev_distractor_v1.json`` or the like.

    Raises:
        MissingFileError: there is no such file.
        RecordError: it is not in this format.
    """
    imported = ImportedSet()
    for where, row in iter_json_records(path, _HotpotQuestion, "question"):
        context, titles = _read_columns(row, where)
        passages = {
            title: imported.add_passage(title, "".join(sentences)) for title, sentences in context
        }
        if not all(passages.get(title) for title in titles):
            imported.notes["questions without their supporting paragraphs left out"] += 1
            continue
        gold = [passages[title] for title in titles]
        question = (row.hotpot_id or row.id, row.question, row.answer)
        _add_question(imported, question, gold, where)
    return imported


def _read_columns(
    row: _HotpotQuestion, where: str
) -> tuple[list[tuple[str, list[str]]], Collection[str]]:
    """Returns the context as (title, sentences), and the supporting titles, each once."""
    try:
        if isinstance(row.context, dict):
            columns = msgspec.convert(row.context, _Context)
            context = list(zip(columns.title, columns.sentences, strict=True))
        else:
            context = msgspec.convert(row.context, list[tuple[str, list[str]]])
        titles: Iterable[str]
        if isinstance(row.supporting_facts, dict):
            titles = msgspec.convert(row.supporting_facts, _SupportingFacts).title
        else:
            facts = msgspec.convert(row.supporting_facts, list[tuple[str, int]])
            titles = (title for title, _ in facts)
    except ValueError as error:
        raise RecordError(
            f"not a question of HotpotQA: {error}",
            where=where,
            hint="Its context must be [[title, [sentence, …]], …].",
        ) from error
    return context, dict.fromkeys(titles)


def _add_question(
    imported: ImportedSet,
    texts: tuple[str, str, str],
    gold: Iterable[str],
    where: str,
) -> None:
    """Adds a question with id, text and answer, unless it has no gold."""
    question_id, question, answer = texts
    unique_gold = tuple(dict.fromkeys(gold))
    if not unique_gold:
        imported.notes["questions without gold left out"] += 1
        return
    imported.add_question(
        Question(
            id=question_id,
            question=question,
            kind="multi-hop",
            split="test",
            gold=unique_gold,
            answer=answer,
        ),
        where,
    )
