"""Tests that commands given the run folder of another benchmark say what it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmark_runs import FOLDER_COMMANDS, run_benchmark
from stage_calls import check_failure, read_folder_bytes, run_epoche

from eval.harness.benchmarks import find_benchmark, find_other_benchmark
from eval.synthlink.scoring.manifest import SynthLinkManifest

NAMES = tuple(FOLDER_COMMANDS)
DAMAGED = 12


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the first shard of a run of each benchmark, named after the benchmark."""
    folder = tmp_path_factory.mktemp("runs")
    for name in NAMES:
        done = run_benchmark(name, folder / name, "--shard", "1/2")
        assert done.code == 0, done.err
    return folder


@pytest.mark.parametrize("own", NAMES)
@pytest.mark.parametrize("other", NAMES)
def test_shards_of_two_benchmarks_are_not_merged(runs: Path, own: str, other: str) -> None:
    if own == other:
        assert not find_other_benchmark(runs / own, find_benchmark(runs / own).manifest_type)
        return
    shards = (runs / own, runs / other)
    line = check_failure(runs, DAMAGED, "merge", *shards, "--out", runs / "merged")
    assert f"({shards[1]})" in line
    assert f"a run of {other}, which `{find_benchmark(shards[0]).command}` did not write" in line


@pytest.mark.parametrize("own", NAMES)
@pytest.mark.parametrize("other", NAMES)
def test_a_run_of_another_benchmark_is_not_resumed(runs: Path, own: str, other: str) -> None:
    if own == other:
        return
    old = read_folder_bytes(runs / other)
    done = run_benchmark(own, runs / other)
    assert done.code == DAMAGED, done.err
    assert f"a run of {other}, which `{find_benchmark(runs / own).command}` did not" in done.err
    assert "for --out, choose another folder" in done.err
    assert "--overwrite" not in done.err
    assert read_folder_bytes(runs / other) == old


@pytest.mark.parametrize("other", [name for name in NAMES if name != "skn"])
def test_a_run_of_another_benchmark_is_not_judged(runs: Path, other: str) -> None:
    out = runs / "judged"
    done = run_epoche("skn", "judge", runs / other, "--judge-model", "a/b", "--out", out)
    assert done.code == DAMAGED, done.err
    assert f"a run of {other}, which `epoche skn run` did not write" in done.err
    assert not out.exists()


def test_a_run_without_scores_is_not_called_another_benchmark(runs: Path) -> None:
    assert not find_other_benchmark(runs / "synthlink", SynthLinkManifest)


def test_a_manifest_of_no_known_kind_is_named_by_it(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"kind": "knitting"}')
    assert find_other_benchmark(tmp_path, SynthLinkManifest) == "knitting"
