"""A run removes what was made of its rows, and nothing that is of something else."""

from pathlib import Path

import pytest
from stage_calls import epoche

from eval.running.made_files import forget_with_page, page_in, refuse_page_of_others
from kg.base.errors import WriteError

PAGE = ("report.html", "report.md", "report.json", "report.cards.csv", "report.rows.parquet")


def test_the_page_goes_with_what_it_shows_and_nothing_else_does(tmp_path: Path) -> None:
    for name in (*PAGE, "metrics.json", "report.txt", "notes.md"):
        (tmp_path / name).touch()
    assert sorted(page_in(tmp_path)) == sorted(PAGE)
    forget_with_page(tmp_path, ["metrics.json", "absent.json"])
    assert {path.name for path in tmp_path.iterdir()} == {"report.txt", "notes.md"}


def test_a_page_beside_a_run_is_the_runs(tmp_path: Path) -> None:
    refuse_page_of_others(tmp_path, ["rows.jsonl"])
    (tmp_path / "report.html").touch()
    with pytest.raises(WriteError, match="which no run made"):
        refuse_page_of_others(tmp_path, ["rows.jsonl"])
    (tmp_path / "rows.jsonl").touch()
    refuse_page_of_others(tmp_path, ["rows.jsonl"])


@pytest.mark.parametrize(
    "command",
    [
        ["skn", "run", "--offline", "--limit", "1"],
        ["extract", "run", "--offline", "--limit", "1"],
        ["synthlink", "run", "--limit", "1"],
    ],
)
def test_no_run_takes_the_place_of_another_report(tmp_path: Path, command: list[str]) -> None:
    for name in PAGE:
        (tmp_path / name).write_text("of the cards", encoding="utf-8")
    done = epoche(*command, "--out", tmp_path)
    assert done.code == 15, done.err
    assert "report.html, which no run made" in done.err
    assert all((tmp_path / name).read_text(encoding="utf-8") == "of the cards" for name in PAGE)
