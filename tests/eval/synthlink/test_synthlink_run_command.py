"""The shipped questions, pages and graph, put to the agents that need no model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stage_calls import call, command, epoche, error_line
from synthlink_run_parts import ended, files_of, manifest_of, predictions_of

from eval.synthlink.catalog import read_catalog

LIMIT = 4


def asked(out: Path, system: str, *more: object) -> list[object]:
    return ["synthlink", "run", "--system", system, "--limit", LIMIT, "--out", out, *more]


@pytest.mark.parametrize("system", ["graph_walk", "extractive"])
def test_an_offline_agent_comes_to_scores_and_a_page(tmp_path: Path, system: str) -> None:
    out = tmp_path / "out"
    done = epoche(*asked(out, system, "--resamples", 100))
    rows = ended(done, out)
    assert {row["outcome"] for row in rows} <= {"ANSWERED", "ABSTAINED"}
    assert any(row["outcome"] == "ANSWERED" for row in rows)
    for row in rows:
        trail = row["trail"]
        assert 1 <= len(trail["rounds"]) <= 5
        assert trail["docs"]
        assert all(one["found"] for one in trail["rounds"] if one["query"])
    manifest = manifest_of(out)
    assert (manifest["dataset"], manifest["name"], manifest["offline"]) == ("shipped", system, True)
    assert manifest["params"]
    assert "corrected: " in done.out
    assert "4 questions" in done.out
    report = json.loads((out / "synthlink_scores.json").read_bytes())["report"]
    assert report["n_questions"] == len(read_catalog().questions), "all count, asked or not"
    assert (out / "report.html").stat().st_size > 10_000
    assert str(tmp_path) not in (out / "run_manifest.json").read_text()


def test_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    how = ("--no-score", "--rounds", 2)
    ended(epoche(*asked(tmp_path / "one", "graph_walk", *how)), tmp_path / "one")
    done = call(
        command(*asked(tmp_path / "two", "graph_walk", *how)), tmp_path, PYTHONHASHSEED="11"
    )
    assert done.code == 0, done.err
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    assert all(len(one["iterations"]) <= 2 for one in predictions_of(tmp_path / "one"))


@pytest.mark.parametrize(
    ("other", "code", "said"),
    [
        ("nowhere.json", 3, "does not exist"),
        ("none.json", 12, "not a JSON list"),
        ("out/predictions.json", 15, "take the place"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_asked(
    tmp_path: Path, other: str, code: int, said: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "none.json").write_text("{}")
    (out / "predictions.json").write_text("[]")
    line = error_line(epoche(*asked(out, "graph_walk", "--compare", tmp_path / other)), code)
    assert said in line
    assert [path.name for path in out.iterdir()] == ["predictions.json"]
    assert (out / "predictions.json").read_text() == "[]"
