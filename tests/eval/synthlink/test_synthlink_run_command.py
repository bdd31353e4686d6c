"""The offline agents on the shipped questions, pages and graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stage_calls import check_error_line, command_line, run_epoche, run_process
from synthlink_run_parts import check_finished, load_predictions, read_manifest, read_output_files

from eval.synthlink.catalog import read_catalog

LIMIT = 4


def run_shipped(out: Path, system: str, *more: object) -> list[object]:
    return ["synthlink", "run", "--system", system, "--limit", LIMIT, "--out", out, *more]


@pytest.mark.parametrize("system", ["graph_walk", "extractive"])
def test_offline_agent_gets_scores_and_a_page(tmp_path: Path, system: str) -> None:
    out = tmp_path / "out"
    done = run_epoche(*run_shipped(out, system, "--resamples", 100))
    rows = check_finished(done, out)
    assert {row["outcome"] for row in rows} <= {"ANSWERED", "ABSTAINED"}
    assert any(row["outcome"] == "ANSWERED" for row in rows)
    for row in rows:
        trail = row["trail"]
        assert 1 <= len(trail["rounds"]) <= 5
        assert trail["docs"]
        assert all(one["found"] for one in trail["rounds"] if one["query"])
    manifest = read_manifest(out)
    assert (manifest["dataset"], manifest["name"], manifest["offline"]) == ("shipped", system, True)
    assert manifest["params"]
    assert "corrected: " in done.out
    assert "4 questions" in done.out
    report = json.loads((out / "synthlink_scores.json").read_bytes())["report"]
    assert report["n_questions"] == len(read_catalog().questions), "unanswered questions count too"
    assert (out / "report.html").stat().st_size > 10_000
    assert str(tmp_path) not in (out / "run_manifest.json").read_text()


def test_bytes_are_identical_in_another_process(tmp_path: Path) -> None:
    how = ("--no-score", "--rounds", 2)
    check_finished(run_epoche(*run_shipped(tmp_path / "one", "graph_walk", *how)), tmp_path / "one")
    done = run_process(
        command_line(*run_shipped(tmp_path / "two", "graph_walk", *how)),
        tmp_path,
        PYTHONHASHSEED="11",
    )
    assert done.code == 0, done.err
    assert read_output_files(tmp_path / "one") == read_output_files(tmp_path / "two")
    assert all(len(one["iterations"]) <= 2 for one in load_predictions(tmp_path / "one"))


@pytest.mark.parametrize(
    ("other", "code", "said"),
    [
        ("nowhere.json", 3, "does not exist"),
        ("none.json", 12, "not a JSON list"),
        ("out/predictions.json", 15, "would overwrite a file it is made from"),
    ],
)
def test_incomparable_runs_are_refused_at_the_start(
    tmp_path: Path, other: str, code: int, said: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "none.json").write_text("{}")
    (out / "predictions.json").write_text("[]")
    line = check_error_line(
        run_epoche(*run_shipped(out, "graph_walk", "--compare", tmp_path / other)), code
    )
    assert said in line
    assert [path.name for path in out.iterdir()] == ["predictions.json"]
    assert (out / "predictions.json").read_text() == "[]"
