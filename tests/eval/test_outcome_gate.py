"""Tests gates and reports of graded answers, and their risk-coverage curves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from stage_calls import check_error_line, run_epoche

from eval.metrics.measurement import ResamplingPlan
from eval.outcomes.reader import Answer, GradedAnswers
from eval.outcomes.record import read_outcomes
from eval.outcomes.report import measure_outcomes
from kg.base.errors import RecordError

ROWS = [
    ("right", "yes", 0.9),
    ("right", "yes", 0.8),
    ("wrong", "yes", 0.4),
    ("abstained", "no", None),
    ("wrong", "no", 0.2),
    ("unusable", "yes", None),
]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A record of two systems; the second abstains where the first is wrong."""
    files = []
    for name in ("bold", "careful"):
        rows: list[dict[str, Any]] = [
            {
                "id": f"q{n}",
                "outcome": "abstained" if name == "careful" and outcome == "wrong" else outcome,
                "answerable": answerable,
                "confidence": confidence,
            }
            for n, (outcome, answerable, confidence) in enumerate(ROWS * 5)
        ]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        files.append(path)
    out = tmp_path / "outcomes.json"
    done = run_epoche("outcomes", *files, "--out", out)
    assert done.code == 0, done.err
    return out


def test_conditions_are_checked(record: Path) -> None:
    done = run_epoche(
        *("gate", record, "--max-failures", "1"),
        *("--metric", "skill@.5>=0.5", "--metric", "careful:right-if-attempted.low>=0.7"),
    )
    assert done.code == 100
    lines = done.out.splitlines()
    # Answerable: 2 right, 1 wrong, 1 unusable of 4; unanswerable: 1 abstained, 1 wrong of 2.
    assert [line for line in lines if line.startswith("FAIL")] == [
        line for line in lines if line.startswith("FAIL  bold  skill@.5 >= 0.5: -0.750")
    ]
    assert sum(line.startswith("ok    careful") for line in lines) == 2


def test_notes_of_a_record_are_printed(tmp_path: Path) -> None:
    path, out = tmp_path / "t.csv", tmp_path / "out.json"
    path.write_text("id,outcome,answerable\na,right,yes\nb,right,no\nc,wrong,no\n")
    assert run_epoche("outcomes", path, "--out", out).code == 0
    done = run_epoche("gate", out, "--metric", "accuracy>=0.1")
    assert done.code == 0
    assert "note: 1 row of t is right although its question" in done.out


def test_unusable_answers_are_limited(record: Path) -> None:
    done = run_epoche("gate", record, "--metric", "accuracy>=0.1")
    assert done.code == 100
    # Wilson's interval of 5 of 30.
    assert "FAIL  bold  unusable <= 0.05: 0.167 (interval 0.073 to 0.336, of 30)" in done.out
    assert run_epoche("gate", record, "--metric", "unusable<=0.2").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--metric", "skil@.5>=0"), "no metric"),
        (("--metric", "accuracy>=2"), "out of range"),
        (("--metric", "nobody:accuracy>=0"), "nobody"),
        (("--metric", "accuracy>=0", "--policy", "published"), "only for results of cards"),
        (("--metric", "accuracy>=0", "--baseline", "x"), "does not exist"),
        (("--max-drop", "0.1", "--metric", "accuracy>=0"), "--max-drop needs --baseline"),
    ],
)
def test_what_a_gate_cannot_check_is_said(
    record: Path, arguments: tuple[str, ...], message: str
) -> None:
    assert message in check_error_line(run_epoche("gate", record, *arguments), 1)


def test_a_damaged_record_is_refused(record: Path) -> None:
    data = json.loads(record.read_text())
    del data["systems"]["bold"]["counts"]
    record.write_text(json.dumps(data))
    done = run_epoche("gate", record, "--metric", "accuracy>=0")
    assert "not a record of graded answers" in check_error_line(done, 1)


def test_the_page_has_the_numbers_of_the_record(record: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run_epoche("report", record, "--out", page)
    assert done.code == 0, done.err
    text, markdown = page.read_text("utf-8"), page.with_suffix(".md").read_text("utf-8")
    for part in ("Outcomes", "Measures", "Confidence", "Differences"):
        assert part in text
    assert "skill@.5 is bold −0.750" in markdown
    assert "Does confidence tell right from wrong?" in text
    system = json.loads(record.read_text())["systems"]["bold"]
    assert f"{system['confidences']['AURC']['value']:.3f}" in markdown
    lines = (tmp_path / "page.measures.csv").read_text("utf-8").splitlines()
    assert any(line.startswith("bold,measures,skill@.5,-0.75") for line in lines)


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    rows = [{"id": "q", "outcome": "right", "system": "<script>x</script>"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    out, page = tmp_path / "o.json", tmp_path / "p.html"
    assert run_epoche("outcomes", tmp_path / "a.jsonl", "--out", out).code == 0
    assert run_epoche("report", out, "--out", page).code == 0
    assert "<script>x" not in page.read_text("utf-8")


@given(st.lists(st.tuples(st.sampled_from(("right", "wrong")), st.floats(0, 1)), min_size=1))
def test_risk_and_coverage_are_those_of_counting(rows: list[tuple[str, float]]) -> None:
    answers = [
        Answer("s", f"q{n}", outcome, confidence=confidence)
        for n, (outcome, confidence) in enumerate(rows)
    ]
    report = measure_outcomes(GradedAnswers(answers), ResamplingPlan(20, 1, 0.95))
    points = report.systems["s"].risk_coverage
    assert points[-1][1] == 1.0
    for threshold, coverage, risk in points:
        accepted = [outcome for outcome, confidence in rows if confidence >= threshold]
        assert coverage == pytest.approx(len(accepted) / len(rows))
        assert risk == pytest.approx(np.mean([outcome == "wrong" for outcome in accepted]))


def write_record(folder: Path, name: str, rows: list[dict[str, Any]], system: str = "bot") -> Path:
    path, out = folder / f"{name}.jsonl", folder / f"{name}.json"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    done = run_epoche("outcomes", f"{system}={path}", "--resamples", 400, "--out", out)
    assert done.code == 0, done.err
    return out


def make_rows(right: int, n: int = 120, **more: Any) -> list[dict[str, Any]]:
    """Makes rows of which the first are right; a third of the questions is unanswerable."""
    return [
        {
            "id": f"q{number}",
            "outcome": ("right" if number % 3 else "abstained") if number < right else "wrong",
            "answerable": bool(number % 3),
            **more,
        }
        for number in range(n)
    ]


def check_gate(code: int, *arguments: object) -> list[str]:
    done = run_epoche("gate", *arguments, "--resamples", 400)
    assert done.code == code, done.out + done.err
    return done.out.splitlines()


def test_a_fall_of_skill_fails(tmp_path: Path) -> None:
    before = write_record(tmp_path, "before", make_rows(90))
    same = write_record(tmp_path, "same", make_rows(90)[::-1])
    little = write_record(tmp_path, "little", make_rows(88))
    worse = write_record(tmp_path, "worse", make_rows(60))
    lines = check_gate(0, same, "--baseline", before)
    assert len([line for line in lines if "no worse than the baseline's" in line]) == 2
    assert "difference +0.000" in lines[0]
    lines = check_gate(100, worse, "--baseline", before)
    failed = [line for line in lines if line.startswith("FAIL")]
    assert [line.split()[2] for line in failed] == ["skill@.5", "accuracy"]
    assert "-1.000 against 0.000" in failed[0]
    assert ": worse" in failed[0]
    check_gate(0, before, "--baseline", worse)
    # Two of 120 are no significant fall, but more than a tolerance of .01.
    check_gate(0, little, "--baseline", before)
    check_gate(100, little, "--baseline", before, "--max-drop", "0.01")
    check_gate(0, little, "--baseline", before, "--max-drop", "0.1")
    check_gate(0, little, "--baseline", before, "--max-drop", "0.01", "--only-significant")


def test_named_measures_are_compared_if_they_can_be(tmp_path: Path) -> None:
    rows = [{**row, "confidence": 0.5} for row in make_rows(90)]
    before = write_record(tmp_path, "before", rows)
    after = write_record(tmp_path, "after", rows)
    metrics = ("abstention-recall>=0", "ECE<=1", "attempted>=0", "abstention-recall>=0.1")
    lines = check_gate(
        0, after, "--baseline", before, *(part for m in metrics for part in ("--metric", m))
    )
    compared = [line.split()[2] for line in lines if "no worse" in line]
    assert compared == ["skill@.5", "accuracy", "abstention-recall"]
    assert "note: ECE cannot be compared with the baseline" in lines


@pytest.mark.parametrize("more", [{}, {"cluster": True}, {"repeat": True}, {"answerable": False}])
def test_the_test_is_that_of_both_files_together(more: dict[str, bool], tmp_path: Path) -> None:
    """A gate finds the difference and p that `epoche outcomes` finds between the two files."""
    rng = np.random.default_rng(1)

    def make(share: float) -> list[dict[str, Any]]:
        rows = []
        for number in range(60):
            for repeat in range(3 if "repeat" in more else 1):
                row = {"id": f"q{number}", "answerable": number % 4 > 0, "repeat": repeat}
                row["outcome"] = str(
                    rng.choice(["right", "wrong", "abstained"], p=[share, 0.8 - share, 0.2])
                )
                if not row["answerable"] and row["outcome"] == "right":
                    row["outcome"] = "wrong"
                if "cluster" in more:
                    row["cluster"] = f"c{number // 3:02}"
                if "answerable" in more:
                    del row["answerable"]
                rows.append(row)
        return rows

    new, old = make(0.5), make(0.6)
    after, before = write_record(tmp_path, "new", new), write_record(tmp_path, "old", old, "was")
    out = tmp_path / "both.json"
    files = (tmp_path / "new.jsonl", tmp_path / "old.jsonl")
    assert run_epoche("outcomes", *files, "--resamples", 2000, "--out", out).code == 0
    expected = {pair["metric"]: pair for pair in json.loads(out.read_text())["comparisons"]}
    lines = run_epoche("gate", after, "--baseline", before, "--max-drop", "1").out.splitlines()
    found = {line.split()[2]: line for line in lines if "no worse" in line}
    assert set(expected) <= set(found)
    for metric, pair in expected.items():
        assert f"difference {pair['difference']:+.3f}" in found[metric]
        # Resamples are of questions in another order.
        ends = re.search(r"\[([-+.\d]+), ([-+.\d]+)\]", found[metric])
        assert ends is not None
        assert list(map(float, ends.groups())) == pytest.approx(
            [pair["low"], pair["high"]], abs=0.06
        )


def test_only_shared_questions_are_compared(tmp_path: Path) -> None:
    before = write_record(tmp_path, "before", make_rows(90))
    fewer = write_record(tmp_path, "fewer", make_rows(80, 80))
    lines = check_gate(100, fewer, "--baseline", before)
    (failed,) = [line for line in lines if line.startswith("FAIL")]
    assert "coverage of the baseline >= 0.95: 40 of the 120 questions" in failed
    lines = check_gate(0, fewer, "--baseline", before, "--max-failures", "0.34")
    assert lines[0].startswith("note: bot is compared with the baseline on the 80 questions")
    assert "40 of the baseline's and 0 new ones are left out" in lines[0]
    # New questions do not make up for those left out, and unusable answers cannot be left out.
    new = [{**row, "id": f"new{row['id']}"} for row in make_rows(90)]
    more = write_record(tmp_path, "more", [*make_rows(80, 80), *new])
    assert any(
        "FAIL  bot  coverage" in line for line in check_gate(100, more, "--baseline", before)
    )
    rows = [{**row, "outcome": "unusable"} for row in make_rows(120)[80:]]
    spared = write_record(tmp_path, "spared", [*make_rows(80, 80), *rows])
    lines = check_gate(0, fewer, "--baseline", spared)
    assert any("0 of the 80 questions" in line for line in lines)
    other = write_record(tmp_path, "other", [{**r, "id": f"x{r['id']}"} for r in make_rows(90)])
    done = run_epoche("gate", other, "--baseline", before)
    assert "no question is also in" in check_error_line(done, 1)


def test_skill_that_only_the_baseline_has_fails(tmp_path: Path) -> None:
    """One empty cell of `answerable` takes the skill away, and the gate does not pass for it."""
    before = write_record(tmp_path, "before", make_rows(90))
    rows = make_rows(90)
    rows[7]["answerable"] = ""
    after, source = write_record(tmp_path, "after", rows), tmp_path / "after.jsonl"
    note = f"1 of 120 questions has no `answerable`: no skill; it is 'q7' ({source}:8)"
    assert json.loads(after.read_text())["notes"] == [note]
    lines = check_gate(100, after, "--baseline", before, "--max-drop", "1")
    assert lines[0] == f"note: {note}"
    assert lines[1].startswith("note: bot has no skill@.5, unlike the baseline: not all")
    failed = [line for line in lines if line.startswith("FAIL")]
    assert len(failed) == 1
    assert "skill@.5 no worse" in failed[0]
    assert "bot has no value" in failed[0]
    # The other way round nothing is lost, and it is said what is compared.
    lines = check_gate(0, before, "--baseline", after)
    assert lines[0] == f"note: of the baseline: {note}"
    assert lines[1].startswith("note: the baseline has no skill@.5")
    assert "utility@.5 of bot is compared" in lines[1]
    # Without any `answerable`, there is no note.
    none = write_record(tmp_path, "none", [{**row, "answerable": None} for row in rows])
    assert json.loads(none.read_text())["notes"] == []
    check_gate(100, none, "--baseline", before)
    check_gate(0, none, "--baseline", after)


def test_a_fall_fails_although_all_questions_are_answerable(tmp_path: Path) -> None:
    """Without an unanswerable question there is no skill, and utility falls."""

    def write(name: str, other: str, **more: Any) -> Path:
        rows = [
            {"id": f"q{n}", "answerable": True, "outcome": "right" if n < 6 else other, **more}
            for n in range(20)
        ]
        return write_record(tmp_path, name, rows)

    before, after = write("before", "abstained"), write("after", "wrong")
    lines = check_gate(100, after, "--baseline", before)
    assert lines[0].startswith("FAIL  bot  utility@.5 no worse than the baseline's: -0.400")
    # The baseline has no skill to lose.
    unknown = write("unknown", "wrong", answerable=None)
    lines = check_gate(100, unknown, "--baseline", before)
    assert [line.split()[2] for line in lines if "no worse" in line] == ["utility@.5", "accuracy"]


def test_the_shared_questions_decide_whether_there_is_skill(tmp_path: Path) -> None:
    before = write_record(tmp_path, "before", make_rows(90))
    rows = [{**row, "outcome": "wrong"} for row in make_rows(90) if row["answerable"]]
    after = write_record(tmp_path, "after", rows)
    lines = check_gate(100, after, "--baseline", before, "--max-failures", "1")
    assert lines[1] == (
        "note: all questions that both have are answerable, so that there is no skill@.5; "
        "utility@.5 of bot is compared"
    )
    assert any(line.startswith("FAIL  bot  utility@.5") for line in lines)


def test_clusters_of_the_baseline_hold_where_the_record_has_none(tmp_path: Path) -> None:
    rows = make_rows(60)
    clustered = [{**row, "cluster": n // 20} for n, row in enumerate(rows)]
    found = []
    for name, (old, new) in {"old": (clustered, rows), "new": (rows, clustered)}.items():
        better = [{**row, "outcome": "right"} if row["answerable"] else row for row in old]
        before = write_record(tmp_path, f"before-{name}", better)
        after = write_record(tmp_path, f"after-{name}", new)
        found.append(check_gate(0, after, "--baseline", before)[:2])
    assert found[0] == found[1]
    # Of six clusters three are worse: 2 / 2**3.
    assert "Holm-adjusted p 0.5" in found[0][0]


def test_a_ratio_of_few_clusters_has_no_test(tmp_path: Path) -> None:
    metric = ("--metric", "right-if-attempted>=0")
    for n, p in ((9, "no test was possible"), (12, "Holm-adjusted p")):
        old = [{"id": f"q{i}", "outcome": "wrong" if i < 2 else "right"} for i in range(n)]
        new = [{"id": f"q{i}", "outcome": "wrong" if i % 3 == 0 else "right"} for i in range(n)]
        before = write_record(tmp_path, f"before{n}", old)
        after = write_record(tmp_path, f"after{n}", new)
        lines = check_gate(0, after, "--baseline", before, *metric)
        (line,) = [line for line in lines if "right-if-attempted no worse" in line]
        assert p in line


def test_confidences_of_few_answers_fail(tmp_path: Path) -> None:
    rows = [
        {"id": f"q{n}", "outcome": "right" if n % 2 else "wrong", "confidence": n % 2 or None}
        for n in range(20)
    ]
    record = write_record(tmp_path, "some", rows)
    note, line = check_gate(100, record, "--metric", "ECE.high<=0.1")
    assert note.startswith("note: bot: 10 of 20 answers given have no confidence")
    assert (
        "ECE.high is undefined: 10 of 20 answers given have no confidence, more than "
        "--max-failures 0.05"
    ) in line
    lines = check_gate(0, record, "--metric", "ECE<=0.1", "--max-failures", "0.5")
    assert "ECE <= 0.1: 0.000 (of 10, 10 left out)" in lines[1]
    check_gate(0, record, "--metric", "accuracy>=0.1")


def test_a_majority_that_failed_calls_leave_open_is_that_of_the_record(tmp_path: Path) -> None:
    rows = [
        {"id": f"q{n}", "outcome": outcome, "answerable": n > 2, "repeat": repeat}
        for n in range(6)
        for repeat, outcome in enumerate(
            ("abstained", "error") if n == 0 else ("right" if n > 2 else "abstained",) * 2
        )
    ]
    record = write_record(tmp_path, "now", rows)
    assert read_outcomes(record).systems["bot"].majority["attempted"].value == 0.5
    check_gate(0, record, "--metric", "majority-skill@.5>=0.6", "--max-failures", "0.1")


def test_a_baseline_of_other_questions_is_refused(tmp_path: Path) -> None:
    def write(name: str, word: str) -> Path:
        rows = [{**row, "question": f"{word} {row['id']}?"} for row in make_rows(90)]
        return write_record(tmp_path, name, rows)

    now, other, same = write("now", "who"), write("other", "when"), write("same", " Who ")
    line = check_error_line(run_epoche("gate", now, "--baseline", other), 1)
    assert f"120 questions of 120 with the same id are others in {other}" in line
    assert str(now) in line
    check_gate(0, now, "--baseline", same)
    # A record without texts, as of earlier versions.
    old = write_record(tmp_path, "old", make_rows(90))
    assert json.loads(old.read_text())["questions"]["contents"] is None
    check_gate(0, now, "--baseline", old)
    check_gate(0, old, "--baseline", now)
    document = json.loads(old.read_text())
    del document["questions"]["contents"], document["content_sha256"]
    old.write_text(json.dumps(document))
    check_gate(0, now, "--baseline", old)
    assert "who" not in now.read_text()


def test_systems_are_paired_by_name(tmp_path: Path) -> None:
    def write_two(name: str, names: tuple[str, str]) -> Path:
        rows = [{**row, "system": system} for system in names for row in make_rows(90)]
        return write_record(tmp_path, name, rows)

    before, after = write_two("before", ("a", "b")), write_two("after", ("b", "c"))
    lines = check_gate(0, after, "--baseline", before)
    assert "note: c has no baseline" in lines
    assert all("ok    b" in line for line in lines if "no worse" in line)
    done = run_epoche("gate", after, "--baseline", write_two("else", ("d", "e")))
    assert "both now and in the baseline" in check_error_line(done, 1)
    assert "its own baseline" in check_error_line(run_epoche("gate", after, "--baseline", after), 1)


def test_many_tests_of_records_have_enough_resamples(tmp_path: Path) -> None:
    """Of 24 tests by 400 resamples, none of a ratio could have had a p below .12."""

    def write_eight(name: str, right: int) -> Path:
        rows = [{**row, "system": f"s{n}"} for n in range(8) for row in make_rows(right)]
        for number, row in enumerate(rows):  # some abstain, so that answers are of two kinds
            row["outcome"] = "abstained" if number % 7 == 0 else row["outcome"]
        return write_record(tmp_path, name, rows)

    paths = write_eight("now", 40), "--baseline", write_eight("then", 110)
    metric = ("--metric", "right-if-attempted>=0")
    done = run_epoche("gate", *paths, *metric)
    failed = [line for line in done.out.splitlines() if line.startswith("FAIL")]
    assert sum("right-if-attempted no worse" in line for line in failed) == 8
    assert "bootstrap test" not in done.out
    lines = check_gate(100, *paths, *metric)
    assert (
        "note: No bootstrap test of 24 by 400 resamples can have a p below 0.12 after Holm's "
        "correction, so none can show a difference: use --resamples 5000." in lines
    )


def test_records_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    before = write_record(tmp_path, "before", make_rows(90))
    after = write_record(tmp_path, "after", make_rows(90))
    good = json.loads(after.read_text())
    assert "q1" not in good["questions"]["ids"]

    def check(message: str, record: dict[str, Any]) -> None:
        after.write_text(json.dumps(record))
        done = run_epoche("gate", after, "--baseline", before)
        assert message in check_error_line(done, 1)

    old = {**good, "questions": None}
    del old["content_sha256"]
    check("an older version wrote it".capitalize(), old)
    questions = good["questions"]
    (text,) = questions["outcomes"]["bot"]
    for changed, message in (
        ({"outcomes": {"bot": [text.replace("w", "r")]}}, "counts of system 'bot'"),
        ({"outcomes": {"bot": [text[:-1]]}}, "one outcome each"),
        ({"outcomes": {"bot": [text.replace("w", "x")]}}, "unknown letters"),
        ({"outcomes": {}}, "counts of system 'bot'"),
        ({"answerable": "y"}, "one outcome each"),
        ({"ids": questions["ids"][:1] * len(questions["ids"])}, "one outcome each"),
    ):
        check(message, {**good, "questions": {**questions, **changed}})
    flipped = questions["answerable"].translate(str.maketrans("yn", "ny"))
    check("skill@.5 of system 'bot'", {**good, "questions": {**questions, "answerable": flipped}})
    rows = [
        {**row, "answerable": not row["answerable"], "outcome": "abstained"}
        for row in make_rows(90)
    ]
    done = run_epoche("gate", write_record(tmp_path, "flipped", rows), "--baseline", before)
    assert "answerable in one row" in check_error_line(done, 1)


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("answerable", [True, False])
def test_measures_that_are_not_those_of_the_outcomes_are_refused(
    tmp_path: Path, repeats: int, answerable: bool
) -> None:
    rng = np.random.default_rng(3)
    rows = [
        {
            **row,
            "repeat": repeat,
            "outcome": str(
                rng.choice(("right" if row["answerable"] else "unusable", "wrong", "abstained"))
            ),
        }
        for row in make_rows(90)
        for repeat in range(repeats)
    ]
    for row in rows:
        if not answerable:
            del row["answerable"]
    record = write_record(tmp_path, "now", rows)
    good = json.loads(record.read_text())
    read_outcomes(record)
    system = good["systems"]["bot"]
    for kind in ("measures", "majority"):
        assert bool(system[kind]) == (kind == "measures" or repeats > 1)
        for name, estimate in system[kind].items():
            for value in (estimate["value"] + 0.01, None):
                changed = {**system[kind], name: {**estimate, "value": value}}
                systems = {"bot": {**system, kind: changed}}
                record.write_text(json.dumps({**good, "systems": systems}))
                with pytest.raises(RecordError, match=re.escape(f"{name} of system 'bot")):
                    read_outcomes(record)


def test_repeats_may_be_numbered_from_1() -> None:
    def count(repeats: tuple[int, ...]) -> tuple[int, int]:
        answers = [
            Answer("s", f"q{n}", "right", repeat=repeat) for n in range(4) for repeat in repeats
        ]
        measured = measure_outcomes(GradedAnswers(answers), ResamplingPlan(20, 1, 0.95))
        return measured.systems["s"].repeats, measured.systems["s"].missing

    assert count((0, 1, 2)) == count((1, 2, 3)) == (3, 0)
    assert count((1,)) == (1, 0)
    assert count((0, 2)) == (2, 0)


def test_the_page_has_no_single_questions(record: Path, tmp_path: Path) -> None:
    assert run_epoche("report", record, "--out", tmp_path / "page.html").code == 0
    document = json.loads((tmp_path / "page.json").read_text("utf-8"))
    assert document["outcomes"]["questions"] is None
