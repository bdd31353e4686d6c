"""Tests ``epoche synthlink run`` with the offline agents on shipped questions, pages and graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stage_calls import check_error_line, run_epoche
from synthlink_run_parts import check_finished, read_manifest

LIMIT = 4


def make_run_command(out: Path, system: str, *flags: object) -> list[object]:
    return ["synthlink", "run", "--system", system, "--limit", LIMIT, "--out", out, *flags]


@pytest.mark.parametrize("system", ["graph_walk", "extractive"])
def test_offline_agent_gets_scores_and_a_report(tmp_path: Path, system: str) -> None:
    out = tmp_path / "out"
    result = run_epoche(*make_run_command(out, system, "--resamples", 100))
    rows = check_finished(result, out)
    assert {row["outcome"] for row in rows} <= {"ANSWERED", "ABSTAINED"}
    assert any(row["outcome"] == "ANSWERED" for row in rows)
    for row in rows:
        trail = row["trail"]
        assert 1 <= len(trail["rounds"]) <= 5
        assert trail["docs"]
        assert all(
            search_round["found"] for search_round in trail["rounds"] if search_round["query"]
        )
    manifest = read_manifest(out)
    assert (manifest["dataset"], manifest["name"], manifest["offline"]) == ("shipped", system, True)
    assert manifest["params"]
    assert "corrected: " in result.out
    assert "4 questions" in result.out
    report = json.loads((out / "synthlink_scores.json").read_bytes())["report"]
    assert report["n_questions"] == 4, "questions after the limit were not asked"
    assert "the first 4 of 60 questions are scored (--limit)" in report["notes"]
    scores_manifest = json.loads((out / "manifest.json").read_bytes())
    assert (scores_manifest["questions"], scores_manifest["limit"]) == (60, 4)
    assert (out / "report.html").stat().st_size > 10_000
    assert str(tmp_path) not in (out / "run_manifest.json").read_text()


@pytest.mark.parametrize(
    ("compared_file", "code", "message"),
    [
        ("nowhere.json", 3, "does not exist"),
        ("none.json", 12, "not a JSON list"),
        ("out/predictions.json", 15, "would overwrite a file it is made from"),
    ],
)
def test_unusable_comparison_file_is_refused_at_the_start(
    tmp_path: Path, compared_file: str, code: int, message: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "none.json").write_text("{}")
    (out / "predictions.json").write_text("[]")
    line = check_error_line(
        run_epoche(*make_run_command(out, "graph_walk", "--compare", tmp_path / compared_file)),
        code,
    )
    assert message in line
    assert [path.name for path in out.iterdir()] == ["predictions.json"]
    assert (out / "predictions.json").read_text() == "[]"
