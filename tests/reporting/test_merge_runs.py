"""Tests that a merged run has the report and scores that an unsharded run writes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmark_runs import CHANGING_KEYS
from extraction_reader import READER
from skn_run_parts import REPLAY
from stage_calls import run_epoche, write_edited_manifest
from synthlink_run_parts import make_run_command, write_inputs

from eval.synthlink.merged_scores import build_score_options
from eval.synthlink.scoring.options import ScoreOptions

SHARDS = ("shard1", "shard2")
# Tables name predictions by their folder, so both have the same name.
WHOLE, MERGED = "whole/run", "merged/run"
COMMANDS = {
    "extraction": ("extract", "run", *READER, "--resamples", 100, "--limit", 6),
    "skn": ("skn", "run", *REPLAY, "--resamples", 100, "--limit", 4),
}


def run_in_shards(folder: Path, make_command: Sequence[object]) -> None:
    """Runs a command as a whole and in two shards."""
    for name, flags in (
        (WHOLE, ()),
        ("shard1", ("--shard", "1/2")),
        ("shard2", ("--shard", "2/2")),
    ):
        done = run_epoche(*make_command, *flags, "--out", folder / name)
        assert done.code == 0, done.err
        assert f"report → {folder / name / 'report.html'}" in done.out


def merge(folder: Path, *, out: str = MERGED) -> str:
    shards = [folder / name for name in SHARDS]
    done = run_epoche("merge", *shards, "--out", folder / out)
    assert done.code == 0, done.err
    return done.out


def read_outputs(folder: Path) -> dict[str, Any]:
    """Reads all files; of pages only that they exist, of manifests no times."""
    contents: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            contents[name] = None if name.startswith("report.") else path.read_bytes()
            if name in ("manifest.json", "run_manifest.json"):
                manifest = json.loads(path.read_bytes())
                fields = manifest.keys() - set(CHANGING_KEYS)
                contents[name] = {key: manifest[key] for key in fields}
    return contents


@pytest.mark.parametrize("name", COMMANDS)
def test_a_merged_run_has_the_files_of_a_whole_one(name: str, tmp_path: Path) -> None:
    run_in_shards(tmp_path, COMMANDS[name])
    merge(tmp_path)
    whole = read_outputs(tmp_path / WHOLE)
    assert "report.html" in whole
    page = (tmp_path / WHOLE / "report.md").read_text("utf-8")
    is_replayed = "--model" in COMMANDS[name]
    assert ("were recorded earlier: no model ran here" in page) == is_replayed
    if calls := whole["manifest.json"]["calls"]:
        # Each shard calls its model once before the first question.
        calls |= {name: calls[name] + 1 for name in ("replies", "cached")}
    assert read_outputs(tmp_path / MERGED) == whole
    # Whoever wants no page of the shards gets none of the merged run.
    for shard in SHARDS:
        for path in (tmp_path / shard).glob("report.*"):
            path.unlink()
    merge(tmp_path, out="plain")
    assert not list((tmp_path / "plain").glob("report.*"))
    assert read_outputs(tmp_path / "plain").keys() < whole.keys()


@pytest.fixture(scope="module")
def synthlink(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a SynthLink run, whole and in shards, all scored."""
    folder = write_inputs(tmp_path_factory.mktemp("synthlink"), 6)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        command = make_run_command(folder, "--resamples", 150, "--seed", 7, "--repeat", 2)
        assert run_epoche(*command, "--out", folder / "other").code == 0
        run_in_shards(folder, (*command, "--compare", folder / "other" / "predictions.json"))
    return folder


def test_a_merged_synthlink_run_is_scored_like_its_shards(synthlink: Path) -> None:
    printed = merge(synthlink)
    assert "not scored" not in printed
    whole = read_outputs(synthlink / WHOLE)
    assert {"report.html", "synthlink_scores.json", "synthlink_comparison.md"} <= whole.keys()
    assert read_outputs(synthlink / MERGED) == whole
    measured = run_epoche("metrics", synthlink / MERGED, "--out", synthlink / "metrics.json")
    assert measured.code == 0, measured.err


def test_settings_are_those_of_the_shards(synthlink: Path, tmp_path: Path) -> None:
    shards = [synthlink / name for name in SHARDS]
    options = build_score_options(shards, tmp_path)
    assert isinstance(options, ScoreOptions)
    assert (options.resamples, options.seed, options.mode) == (150, 7, "both")
    assert (options.domain, options.correct) == ("none", 0.5)
    assert options.catalog is not None
    assert options.catalog.resolve() == (synthlink / "catalog.jsonl").resolve()
    assert Path(options.pages or "").resolve() == (synthlink / "pages.jsonl").resolve()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (None, "has no scores"),
        ({"resamples": 200}, "were scored with another resamples"),
        ({"judge": {"models": ["m"]}}, "were scored with another judge"),
    ],
)
def test_a_run_whose_shards_differ_in_scores_is_not_scored(
    synthlink: Path, tmp_path: Path, change: dict[str, object] | None, reason: str
) -> None:
    for name in SHARDS:
        shutil.copytree(synthlink / name, tmp_path / name)
    for name in ("catalog.jsonl", "pages.jsonl"):
        shutil.copy(synthlink / name, tmp_path)
    path = tmp_path / "shard2" / "manifest.json"
    if change is None:
        path.unlink()
    else:
        path.write_text(json.dumps(json.loads(path.read_bytes()) | change))
    printed = merge(tmp_path)
    assert "note: the merged run is not scored" in printed
    assert reason in printed
    assert not (tmp_path / MERGED / "synthlink_scores.json").exists()
    assert (tmp_path / MERGED / "predictions.json").is_file()


def test_a_run_that_was_judged_by_a_model_is_not_scored_without_it(
    synthlink: Path, tmp_path: Path
) -> None:
    for name in SHARDS:
        shutil.copytree(synthlink / name, tmp_path / name)
        path = tmp_path / name / "manifest.json"
        manifest = json.loads(path.read_bytes())
        write_edited_manifest(path, manifest | {"judge": {"models": ["m"]}})
    reason = build_score_options([tmp_path / name for name in SHARDS], tmp_path / MERGED)
    assert isinstance(reason, str)
    assert "--judge-model" in reason
