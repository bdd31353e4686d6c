"""Tests that every example of docs/how-to/systems.md works as printed, outside the repository."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "systems.md"
SECTIONS = ("Cards", "Extraction", "Retrieval", "SKN", "SynthLink")
MAX_LINES = 17
"""Maximum number of lines, without blank ones, of a documented system."""
_BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"`([\w.]+\.(?:py|jsonl?|csv|md))`")


class Block(NamedTuple):
    """A code block of the page.

    Attributes:
        kind: its language.
        file: name of the file that it is, from the line before it; empty for commands.
        text: its content.
    """

    kind: str
    file: str
    text: str


def read_section(name: str) -> list[Block]:
    (section,) = re.findall(
        rf"^## {name}\n(.*?)(?=^## )", DOCS.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    return list(iter_blocks(section))


def iter_blocks(text: str) -> Iterator[Block]:
    end = 0
    for match in _BLOCK.finditer(text):
        names = _FILE_NAME.findall(text[end : match.start()])
        end = match.end()
        file = "" if match["kind"] == "console" else names[-1]
        yield Block(match["kind"], file, match["text"])


def run_section(name: str, folder: Path) -> str:
    """Writes the files of a section, gives its commands in order and returns their output."""
    printed = []
    for block in read_section(name):
        if block.file:
            (folder / block.file).write_text(block.text, "utf-8")
            continue
        for line in block.text.splitlines():
            assert line.startswith("$ "), line
            program, *arguments = shlex.split(line.removeprefix("$ "))
            module = ["-m", "epoche"] if program == "epoche" else []
            assert module or program == "python", line
            result = subprocess.run(
                [sys.executable, *module, *arguments],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
            assert result.returncode == 0, (line, result.stderr)
            assert "Traceback" not in result.stderr
            printed.append(result.stdout)
    return "\n".join(printed)


def read_rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("name", SECTIONS)
def test_each_benchmark_has_a_short_system_and_predictions(name: str) -> None:
    blocks = read_section(name)
    system = next(block for block in blocks if block.kind == "python")
    assert len([line for line in system.text.splitlines() if line.strip()]) <= MAX_LINES
    commands = [line for block in blocks if block.kind == "console" for line in [block.text]]
    assert any("--system " in text for text in commands)
    assert any("--predictions " in text for text in commands)


def test_cards_example_runs(tmp_path: Path) -> None:
    printed = run_section("Cards", tmp_path)
    rows = read_rows(tmp_path / "mine.jsonl")
    assert {row["system"] for row in rows} == {"literalist"}
    assert {row["pred"] for row in rows} >= {"YES", "UNKNOWN"}
    theirs = read_rows(tmp_path / "theirs.jsonl")
    assert len(theirs) == len(rows)
    assert {row["pred"] for row in theirs} == {"UNKNOWN"}
    assert "literalist" in printed


def test_extraction_example_runs(tmp_path: Path) -> None:
    run_section("Extraction", tmp_path)
    rows = read_rows(tmp_path / "extraction" / "rows.jsonl")
    own = [row["predicted"] for row in rows if row["system"] == "labels"]
    assert own == [{"name": "Ada", "age": 36}, {"name": "Alan"}]
    assert {row["system"] for row in rows} == {"labels"}
    theirs = read_rows(tmp_path / "their_extraction" / "rows.jsonl")
    assert theirs[1]["predicted"] == {"name": "Alan Turing"}


def test_retrieval_example_runs(tmp_path: Path) -> None:
    run_section("Retrieval", tmp_path)
    rows = read_rows(tmp_path / "retrieval" / "rows.jsonl")
    assert {row["system"] for row in rows} == {"bm25", "shared words"}
    theirs = read_rows(tmp_path / "their_retrieval" / "rows.jsonl")
    assert [row["outcome"] for row in theirs] == ["OK", "OK"]
    assert [list(row["ranks"].values()) for row in theirs] == [[1], [1]]  # type: ignore[attr-defined]


def test_skn_example_runs(tmp_path: Path) -> None:
    run_section("SKN", tmp_path)
    rows = read_rows(tmp_path / "skn" / "rows.jsonl")
    assert len(rows) == 10
    assert {row["outcome"] for row in rows} == {"ANSWERED"}
    theirs = read_rows(tmp_path / "their_skn" / "rows.jsonl")
    outcomes = {row["id"]: row["outcome"] for row in theirs}
    assert (outcomes.pop("q01"), outcomes.pop("q02")) == ("ANSWERED", "ABSTAINED")
    assert len(outcomes) == 48
    assert set(outcomes.values()) == {"ERROR"}


def test_synthlink_example_runs(tmp_path: Path) -> None:
    run_section("SynthLink", tmp_path)
    rows = read_rows(tmp_path / "synthlink" / "rows.jsonl")
    assert len(rows) == 5
    assert {row["outcome"] for row in rows} == {"ANSWERED"}
    theirs = read_rows(tmp_path / "their_synthlink" / "rows.jsonl")
    outcomes = {row["id"]: row["outcome"] for row in theirs}
    assert (outcomes.pop("HIA-01"), outcomes.pop("HIA-02")) == ("ANSWERED", "ABSTAINED")
    assert len(outcomes) == 58
    assert set(outcomes.values()) == {"ERROR"}
