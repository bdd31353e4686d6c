"""Tests that public sets of questions are read in their published formats."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from typer.testing import CliRunner

from epoche.cli import app
from eval.harness.reply import Reply
from eval.retrieval_eval.data.beir import read_beir, read_qrels
from eval.retrieval_eval.data.multihop import read_hotpotqa, read_musique
from eval.retrieval_eval.metrics import METRIC_NAMES, score_questions
from eval.retrieval_eval.questions import Question, read_questions
from eval.retrieval_eval.row_builder import build_row
from kg.base.errors import MissingFileError, RecordError
from kg.text.chunks_file import read_chunks
from kg.text.facts.fact import read_facts

RHINE, INN = ("Rhine", "The Rhine ends in the North Sea."), ("Inn", "The Inn ends in the Danube.")
DANUBE = ("Danube", "The Danube ends in the Black Sea.")


def write_lines(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def make_musique(question_id: str, *supporting: tuple[str, str], **fields: Any) -> dict[str, Any]:
    paragraphs = [
        {"idx": n, "title": title, "paragraph_text": text, "is_supporting": passage in supporting}
        for n, passage in enumerate((RHINE, INN, DANUBE))
        for title, text in [passage]
    ]
    question = {"id": question_id, "question": "Into which sea?", "paragraphs": paragraphs}
    return {**question, "answer": "the Black Sea", "answerable": True, **fields}


def test_musique_pools_the_paragraphs_of_all_questions(tmp_path: Path) -> None:
    rows = [make_musique("a", INN, DANUBE), make_musique("b", RHINE)]
    rows.append(make_musique("c", INN, answerable=False))
    imported = read_musique(write_lines(tmp_path / "dev.jsonl", *rows))
    assert list(imported.chunks) == ["Rhine", "Inn", "Danube"]
    assert imported.chunks["Inn"].text == "Inn\nThe Inn ends in the Danube."
    assert {q.id: q.gold for q in imported.questions.values()} == {
        "a": ("Inn", "Danube"),
        "b": ("Rhine",),
    }
    assert imported.notes["questions marked as not answerable left out"] == 1
    (tmp_path / "array.json.gz").write_bytes(gzip.compress(json.dumps(rows).encode()))
    packed = read_musique(tmp_path / "array.json.gz")
    assert packed.questions == imported.questions
    assert packed.chunks == imported.chunks


def test_titles_that_occur_twice_are_told_apart(tmp_path: Path) -> None:
    question = make_musique("a", ("Inn", "A house for travellers."))
    question["paragraphs"].append(
        {"title": "Inn", "paragraph_text": "A house for travellers.", "is_supporting": True}
    )
    imported = read_musique(write_lines(tmp_path / "dev.jsonl", question))
    assert imported.questions["a"].gold == ("Inn~2",)
    assert imported.chunks["Inn~2"].text.endswith("travellers.")


def make_hotpot(**fields: Any) -> dict[str, Any]:
    context = [[title, [f"{text} ", "It is long."]] for title, text in (INN, DANUBE)]
    facts = [["Danube", 0], ["Inn", 0], ["Danube", 1]]
    question = {"_id": "q", "question": "Into which sea?", "answer": "the Black Sea"}
    return {**question, "supporting_facts": facts, "context": context, **fields}


def test_hotpotqa_is_read_as_published_and_as_on_the_hub(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_text(json.dumps([make_hotpot()]))
    published = read_hotpotqa(path)
    assert published.questions["q"].gold == ("Danube", "Inn")
    assert published.chunks["Inn"].text == "Inn\nThe Inn ends in the Danube. It is long."
    row = make_hotpot()
    row["context"] = {
        "title": [title for title, _ in row["context"]],
        "sentences": [sentences for _, sentences in row["context"]],
    }
    row["supporting_facts"] = {"title": ["Danube", "Inn", "Danube"], "sent_id": [0, 0, 1]}
    row["id"] = row.pop("_id")
    columns = read_hotpotqa(write_lines(tmp_path / "hub.jsonl", row))
    assert (columns.questions, columns.chunks) == (published.questions, published.chunks)


def test_hotpotqa_leaves_out_questions_without_their_paragraphs(tmp_path: Path) -> None:
    rows = [make_hotpot(), make_hotpot(_id="r", supporting_facts=[["Rhine", 0]])]
    imported = read_hotpotqa(write_lines(tmp_path / "fullwiki.json", *rows))
    assert list(imported.questions) == ["q"]
    assert imported.notes["questions without their supporting paragraphs left out"] == 1


def write_beir(folder: Path, *qrels: str) -> Path:
    documents = [{"_id": f"d{n}", "title": "", "text": f"Text {n}."} for n in range(4)]
    write_lines(folder / "corpus.jsonl", *documents)
    write_lines(folder / "queries.jsonl", *({"_id": f"q{n}", "text": "Which?"} for n in range(3)))
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(qrels))
    return folder


def test_beir_keeps_grades(tmp_path: Path) -> None:
    folder = write_beir(tmp_path, "q0\td1\t2", "q0\td2\t1", "q0\td3\t0", "q1\td0\t1", "q2\td9\t1")
    imported = read_beir(folder)
    assert {q.id: q.qrels for q in imported.questions.values()} == {
        "q0": {"d1": 2, "d2": 1},
        "q1": {"d0": 1},
    }
    assert imported.notes == {
        "judgements of missing documents left out": 1,
        "questions without text or gold left out": 1,
    }


def test_a_question_that_is_a_document_is_not_found(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "set", "d0\td1\t1", "d2\td2\t1", "d2\td1\t1", "q0\td3\t1")
    queries = [{"_id": id_, "text": f"Text {id_[1]}."} for id_ in ("d0", "d2", "q0")]
    write_lines(folder / "queries.jsonl", *queries)
    write_lines(
        folder / "corpus.jsonl",
        *({"_id": f"d{n}", "text": f"Text {n}. Text number {n}."} for n in range(4)),
    )
    out = tmp_path / "imported"
    command = ["retrieval", "import", str(folder), "--format", "beir", "--out", str(out)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "documents with a question's id left out of its ranking: 1" in result.output
    questions = read_questions(out / "questions.jsonl", ["d0", "d1", "d2", "d3"])
    # What is gold is found, even if it is the question.
    assert {q.id: q.is_excluded("d0") or q.is_excluded("d2") for q in questions} == {
        "d0": True,
        "d2": False,
        "q0": False,
    }
    reply = Reply(id="d0", system="bm25", status="ok", value=[["d0", 9.0], ["d1", 2.0]])
    row = build_row(questions[0], reply)
    assert (row.best_score, row.found, row.ranks) == (2.0, (("d1", 2.0),), {"d1": 1})
    assert row.measures is not None
    assert row.measures["RR"] == 1.0
    # As ir_measures has it without the document.
    values = score_questions({"d0": ["d0", "d3", "d1"]}, questions[:1])[0]
    scored = [ir_measures.ScoredDoc("d0", id_, -n) for n, id_ in enumerate(["d3", "d1"])]
    qrels = [ir_measures.Qrel("d0", "d1", 1)]
    expected = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, scored)
    assert values[METRIC_NAMES.index("nDCG@10")] == pytest.approx(next(iter(expected.values())))


def test_questions_with_too_much_gold_are_counted(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "set", *(f"q0\td{n}\t1" for n in range(11)), "q1\td0\t1")
    write_lines(folder / "corpus.jsonl", *({"_id": f"d{n}", "text": f"T{n}"} for n in range(11)))
    command = ["retrieval", "import", str(folder), "--format", "beir", "--out", str(tmp_path / "o")]
    result = CliRunner().invoke(app, command)
    assert "questions with over 10 gold passages, whose AllGold@10 is 0: 1" in result.output


def test_qrels_of_trec_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("q0 0 d1 2\nq0 0 d2 -1\nq1 0 d0 1\n")
    assert read_qrels(path) == {"q0": {"d1": 2}, "q1": {"d0": 1}}
    imported = read_beir(write_beir(tmp_path / "set", "q2\td1\t1"), [path])
    assert list(imported.questions) == ["q0", "q1"]
    judged = [q for q in ir_measures.read_trec_qrels(str(path)) if q.relevance > 0]
    assert [(q.query_id, q.doc_id, q.relevance) for q in judged] == [
        (query, document, grade)
        for query, grades in read_qrels(path).items()
        for document, grade in grades.items()
    ]


def test_ndcg_uses_the_grades(tmp_path: Path) -> None:
    imported = read_beir(write_beir(tmp_path, "q0\td1\t3", "q0\td2\t1"))
    questions = list(imported.questions.values())
    column = METRIC_NAMES.index("nDCG@10")
    right, swapped = (
        score_questions({"q0": ranking}, questions)[0, column]
        for ranking in (["d1", "d2"], ["d2", "d1"])
    )
    assert right == 1.0
    qrels = [ir_measures.Qrel("q0", "d1", 3), ir_measures.Qrel("q0", "d2", 1)]
    run = [ir_measures.ScoredDoc("q0", "d2", 2.0), ir_measures.ScoredDoc("q0", "d1", 1.0)]
    expected = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)
    assert swapped == pytest.approx(next(iter(expected.values())))
    assert swapped < 0.9


@pytest.mark.parametrize(
    "lines", [["q0\td1\tmany"], ["q0\td1"], ["q0\td1\t1", "q0\td1\t2"], ["q0\td1\t5000"]]
)
def test_damaged_qrels_are_refused(lines: list[str], tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"test\.tsv:"):
        read_beir(write_beir(tmp_path, *lines))


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"dev\.jsonl:1"):
        read_musique(write_lines(tmp_path / "dev.jsonl", make_hotpot()))
    with pytest.raises(RecordError, match="not a question"):
        read_hotpotqa(write_lines(tmp_path / "x.jsonl", make_hotpot(context=[["Inn"]])))
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(b"[" + b" " * 10_000)[:-20])
    with pytest.raises(RecordError, match="damaged"):
        read_musique(tmp_path / "cut.json.gz")
    with pytest.raises(MissingFileError):
        read_beir(tmp_path)


def test_grades_of_a_question_file_are_checked(tmp_path: Path) -> None:
    row = {"id": "q", "question": "?", "kind": "single-hop", "split": "test", "gold": ["a"]}
    path = write_lines(tmp_path / "questions.jsonl", {**row, "grades": {"b": 1}})
    with pytest.raises(RecordError, match="'b' has the grade 1"):
        read_questions(path, ["a", "b"])
    path = write_lines(tmp_path / "questions.jsonl", {**row, "grades": {"a": 2}})
    assert read_questions(path, ["a"])[0].qrels == {"a": 2}
    assert Question(id="q", question="?", kind="single-hop", split="dev", gold=("a",)).qrels == {
        "a": 1
    }


def test_command_writes_what_the_other_commands_read(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "dev.jsonl", *(make_musique(f"q{n}", INN) for n in range(40)))
    triples = [["Inn", "ends in", "Danube"], ["Inn", "flows"], ["", "is", "long"]]
    openie = tmp_path / "openie.json"
    docs = [
        {"passage": "\n".join(INN), "extracted_triples": triples},
        {"passage": "Elbe\nElsewhere.", "extracted_triples": [["a", "b", "c"]]},
    ]
    openie.write_text(json.dumps({"docs": docs, "cost": float("nan")}))
    out = tmp_path / "out"
    arguments = ["retrieval", "import", str(source), "--format", "musique", "--out", str(out)]
    result = CliRunner().invoke(
        app, [*arguments, "--openie", str(openie), "--dev-share", "0.5"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    assert "3 passages, 40 questions, 1 fact" in result.output
    assert "triples without three texts left out: 2" in result.output
    chunks = {chunk.id: chunk.text for chunk in read_chunks(out / "chunks.jsonl")}
    splits = [q.split for q in read_questions(out / "questions.jsonl", chunks)]
    assert 10 <= splits.count("dev") <= 30
    facts = read_facts(out / "facts.jsonl", chunks)
    assert [(fact.chunk_id, fact.text) for fact in facts] == [("Inn", "Inn ends in Danube")]


def test_musique_of_the_public_data(public_data: Path) -> None:
    folder = public_data / "foreign" / "retrieval" / "musique-100"
    if not folder.is_dir():
        pytest.skip("no MuSiQue in the public data")
    imported = read_musique(folder / "musique_train.json.gz")
    assert (len(imported.chunks), len(imported.questions)) == (1890, 100)
    assert sum(len(question.gold) for question in imported.questions.values()) == 237
