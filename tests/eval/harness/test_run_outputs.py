"""Tests that a run deletes its own outputs and report, and no other files."""

from pathlib import Path

import pytest
from extraction_reader import REPLAY
from skn_reader import READER as SKN_READER
from stage_calls import run_epoche

from eval.harness.outputs import delete_outputs_and_report, find_report_files, require_owned_folder
from kg.base.errors import WriteError

REPORT_FILES = (
    "report.html",
    "report.md",
    "report.json",
    "report.cards.csv",
    "report.rows.parquet",
)


def test_report_is_deleted_with_its_outputs(tmp_path: Path) -> None:
    for name in (*REPORT_FILES, "metrics.json", "report.txt", "notes.md"):
        (tmp_path / name).touch()
    assert sorted(find_report_files(tmp_path)) == sorted(REPORT_FILES)
    delete_outputs_and_report(tmp_path, ["metrics.json", "absent.json"])
    assert {path.name for path in tmp_path.iterdir()} == {"report.txt", "notes.md"}


def test_report_next_to_rows_belongs_to_the_run(tmp_path: Path) -> None:
    require_owned_folder(tmp_path, ["rows.jsonl"])
    (tmp_path / "report.html").touch()
    with pytest.raises(WriteError, match="which was not written by such a run"):
        require_owned_folder(tmp_path, ["rows.jsonl"])
    (tmp_path / "rows.jsonl").touch()
    require_owned_folder(tmp_path, ["rows.jsonl"])


@pytest.mark.parametrize(
    "command",
    [
        ["skn", "run", *SKN_READER, "--limit", "1"],
        ["extract", "run", *map(str, REPLAY), "--limit", "1"],
        ["synthlink", "run", "--limit", "1"],
    ],
)
def test_run_does_not_replace_a_foreign_report(tmp_path: Path, command: list[str]) -> None:
    for name in REPORT_FILES:
        (tmp_path / name).write_text("of the cards", encoding="utf-8")
    result = run_epoche(*command, "--out", tmp_path)
    assert result.code == 15, result.err
    assert "report.html, which was not written by such a run" in result.err
    assert all(
        (tmp_path / name).read_text(encoding="utf-8") == "of the cards" for name in REPORT_FILES
    )
