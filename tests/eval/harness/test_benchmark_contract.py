"""Tests what every benchmark promises of shards and their merge."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from benchmark_runs import (
    COMMANDS,
    FOLDER_COMMANDS,
    LIMIT,
    find_files,
    read_folder,
    run_benchmark,
)
from stage_calls import CommandResult, run_epoche, write_edited_manifest

from eval.harness.benchmarks import list_benchmarks
from eval.harness.journals.journal import Journal


@pytest.fixture(scope="module", params=COMMANDS)
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a whole run and the same run in two shards."""
    folder = tmp_path_factory.mktemp(request.param)
    assert run_benchmark(request.param, folder / "whole").code == 0
    for number in (1, 2):
        shard = f"{number}/2"
        done = run_benchmark(request.param, folder / f"shard{number}", "--shard", shard)
        assert done.code == 0, done.err
    return folder


def merge(folder: Path, *shards: str, out: str = "merged") -> CommandResult:
    files = find_files(folder / shards[0])
    paths = [folder / shard / files.out for shard in shards]
    return run_epoche("merge", *paths, "--out", folder / out / files.out)


def test_every_built_in_benchmark_is_tested() -> None:
    assert {benchmark.name for benchmark in list_benchmarks()} == set(FOLDER_COMMANDS)


def test_merged_shards_are_the_bytes_of_a_whole_run(runs: Path) -> None:
    merged = merge(runs, "shard2", "shard1")
    assert merged.code == 0, merged.err
    assert read_folder(runs / "merged") == read_folder(runs / "whole")


def test_a_merged_run_is_resumed_like_any_other(runs: Path, tmp_path: Path) -> None:
    assert merge(runs, "shard1", "shard2", out="resumable").code == 0
    shutil.copytree(runs / "resumable", tmp_path / "run")
    files = find_files(tmp_path / "run")
    # The limit grows by one item, so only that item is asked.
    done = run_benchmark(files.name, tmp_path / "run", "--limit", LIMIT + 1)
    assert done.code == 0, done.err
    rows = files.rows
    before = (runs / "whole" / rows).read_bytes()
    after = (tmp_path / "run" / rows).read_bytes()
    assert after.startswith(before)
    n_rows_per_item = len(before.splitlines()) // LIMIT
    assert len(after.splitlines()) == (LIMIT + 1) * n_rows_per_item


def test_a_shard_is_not_resumed_as_another_shard(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "shard1", tmp_path / "run")
    done = run_benchmark(find_files(runs / "shard1").name, tmp_path / "run", "--shard", "2/2")
    assert done.code != 0
    assert "shard" in done.err
    assert read_folder(tmp_path / "run") == read_folder(runs / "shard1")


@pytest.mark.parametrize(
    ("shards", "message"),
    [
        (("shard1",), "missing: 2/2"),
        (("shard1", "shard1"), "both shard 1/2"),
        (("shard1", "whole"), " is shard 1/1"),
    ],
)
def test_incomplete_sets_of_shards_are_refused(
    runs: Path, shards: tuple[str, ...], message: str
) -> None:
    refused = merge(runs, *shards, out="refused")
    assert refused.code != 0
    assert message in refused.err
    assert not (runs / "refused").exists()


def test_a_shard_with_a_missing_row_is_refused(runs: Path, tmp_path: Path) -> None:
    for shard in ("shard1", "shard2"):
        shutil.copytree(runs / shard, tmp_path / shard)
    replies = tmp_path / "shard2" / find_files(runs / "shard2").journal
    replies.write_bytes(b"".join(replies.read_bytes().splitlines(keepends=True)[:-1]))
    refused = merge(tmp_path, "shard1", "shard2")
    assert refused.code != 0
    assert "missing" in refused.err


def test_a_shard_that_was_stopped_is_refused(runs: Path, tmp_path: Path) -> None:
    """With all replies there, judges may not have voted on all of them; cards have no judges."""
    is_refused = find_files(runs / "shard2").name != "cards"
    for shard in ("shard1", "shard2"):
        shutil.copytree(runs / shard, tmp_path / shard)
    path = tmp_path / "shard2" / find_files(runs / "shard2").manifest
    write_edited_manifest(path, {**json.loads(path.read_bytes()), "status": "running"})
    merged = merge(tmp_path, "shard1", "shard2")
    assert (merged.code != 0) == is_refused
    assert ("status running" in merged.err) == is_refused
    assert (tmp_path / "merged").exists() != is_refused
    assert is_refused or read_folder(tmp_path / "merged") == read_folder(runs / "whole")


def test_a_merge_never_overwrites_a_run(runs: Path) -> None:
    before = read_folder(runs / "whole")
    assert merge(runs, "shard1", "shard2", out="whole").code != 0
    assert merge(runs, "shard1", "shard2", out="shard1").code != 0
    assert read_folder(runs / "whole") == before


def test_a_folder_that_is_being_written_is_locked_against_a_merge(
    runs: Path, tmp_path: Path
) -> None:
    with Journal(tmp_path / "merged" / find_files(runs / "shard1").journal, 0):
        refused = merge(runs, "shard1", "shard2", out=str(tmp_path / "merged"))
        assert refused.code == 15
        assert "another run is writing" in refused.err
    merged = merge(runs, "shard1", "shard2", out=str(tmp_path / "merged"))
    assert merged.code == 0, merged.err


def test_a_shard_of_a_thousand_million_is_refused(runs: Path, tmp_path: Path) -> None:
    """The missing shards are named without a list of all of them."""
    shutil.copytree(runs / "shard1", tmp_path / "run")
    path = tmp_path / "run" / find_files(tmp_path / "run").manifest
    write_edited_manifest(path, {**json.loads(path.read_bytes()), "shard": "1/1000000000"})
    refused = merge(tmp_path, "run")
    assert refused.code == 28
    assert "missing: 2/1000000000" in refused.err
