"""Tests gates and reports of graded answers, and their risk-coverage curves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from stage_calls import check_error_line, run_epoche

from eval.metrics.measurement import ResamplingPlan
from eval.outcomes.reader import Answer, GradedAnswers
from eval.outcomes.report import measure_outcomes

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
        (("--metric", "accuracy>=0", "--baseline", "x"), "no baseline"),
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
