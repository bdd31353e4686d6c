"""Tests offline runs of the baseline: same bytes in every run, also after an interruption."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from extraction_run_parts import read_output_files, read_rows, write_samples
from stage_calls import (
    check_error_line,
    command_line,
    limit_file_size,
    run_epoche,
    run_process,
    wait_for_condition,
)

from eval.extraction.samples.loader import load_samples, shipped_folder

SAMPLE_COUNT = 40
LARGE_SAMPLE_COUNT = 1500
"""So many samples that a run can be interrupted before it ends."""

# Exit codes in these tests: 12 invalid record, 13 duplicate id, 14 mismatch with the earlier run,
# 15 file cannot be written, 130 interrupted by SIGINT.


def make_offline_command(data: object, out: Path, *extra_arguments: object) -> list[object]:
    options = ("--offline", "--resamples", 100, "--no-report")
    return ["extract", "run", *options, "--dataset", data, "--out", out, *extra_arguments]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with samples and the outputs of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("reference")
    result = run_epoche(*make_offline_command(write_samples(folder, SAMPLE_COUNT), folder / "out"))
    assert result.code == 0, result.err
    return folder


def test_shipped_samples_are_extracted_by_the_baseline(tmp_path: Path) -> None:
    result = run_epoche(*make_offline_command("shipped", tmp_path / "out", "--limit", 24))
    assert result.code == 0, result.err
    assert "No model was called" in result.out
    rows = read_rows(tmp_path / "out")
    assert len(rows) == 24
    for (_, system, repeat), row in rows.items():
        assert (system, repeat) == ("baseline", 0)
        assert row["outcome"] in {"OK", "INVALID"}
        assert row["latency_s"] is row["usage"] is row["ttft_s"] is row["at_s"] is None
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["offline"] is True
    assert manifest["dataset"] == "shipped"
    assert manifest["prompts"] == {}
    assert manifest["sample_count"] == len(load_samples(shipped_folder()).samples) > 24
    assert str(tmp_path) not in (tmp_path / "out" / "manifest.json").read_text()
    sample_lines = (tmp_path / "out" / "samples.jsonl").read_bytes().splitlines()
    samples = load_samples(tmp_path / "out" / "samples.jsonl").samples
    assert len(sample_lines) == len(samples) == 24, (
        "the samples of the run folder should be readable"
    )


def test_thousand_samples_take_less_than_20_megabytes(tmp_path: Path) -> None:
    out, count = tmp_path / "out", 12
    options = ("--offline", "--resamples", 100, "--dataset", "shipped", "--limit", count)
    result = run_epoche("extract", "run", *options, "--out", out)
    assert result.code == 0, result.err
    sizes = {path.name: path.stat().st_size for path in out.iterdir()}
    assert sizes["report.html"]
    # These files have a line per sample; the size of the other files does not depend on the count.
    per_sample_files = {"rows.jsonl", "samples.jsonl", "predictions.jsonl", "per_sample.csv"}
    per_sample_files |= {"report.samples.csv", "report.samples.parquet"}
    assert per_sample_files <= sizes.keys()
    size_of_1000_samples = sum(sizes[name] for name in per_sample_files) * 1000 / count
    assert size_of_1000_samples + sum(sizes.values()) < 20e6


def test_two_runs_give_the_same_bytes_whatever_the_hash_seed(
    reference: Path, tmp_path: Path
) -> None:
    data = shutil.copy(reference / "data.jsonl", tmp_path)
    arguments = command_line(*make_offline_command(data, tmp_path / "out"))
    result = run_process(arguments, tmp_path, PYTHONHASHSEED="4711")
    assert result.code == 0, result.err
    assert read_output_files(tmp_path / "out") == read_output_files(reference / "out")


def test_limit_and_repeats_can_be_raised(reference: Path, tmp_path: Path) -> None:
    data, out = shutil.copy(reference / "data.jsonl", tmp_path), tmp_path / "out"
    assert run_epoche(*make_offline_command(data, out, "--limit", 5)).code == 0
    assert len(read_rows(out)) == 5
    result = run_epoche(*make_offline_command(data, out, "--limit", 9, "--repeat", 2))
    assert result.code == 0, result.err
    assert list(read_rows(out)) == [
        (f"s{number:02}", "baseline", repeat) for number in range(9) for repeat in range(2)
    ]
    lower_limit = run_epoche(*make_offline_command(data, out, "--limit", 8, "--repeat", 2))
    assert "more than --limit 8" in check_error_line(lower_limit, 14)
    result = run_epoche(*make_offline_command(data, out, "--overwrite"))
    assert result.code == 0
    assert read_output_files(out) == read_output_files(reference / "out")


def test_random_sample_depends_only_on_the_seed(reference: Path, tmp_path: Path) -> None:
    data = reference / "data.jsonl"
    row_keys = []
    for number, seed in enumerate((1, 1, 2)):
        out = tmp_path / str(number)
        assert run_epoche(*make_offline_command(data, out, "--sample", 6, "--seed", seed)).code == 0
        row_keys.append(list(read_rows(out)))
    assert row_keys[0] == row_keys[1] != row_keys[2]
    assert len(row_keys[0]) == 6


def test_malformed_rows_are_skipped_with_a_note_or_refused(tmp_path: Path) -> None:
    data = write_samples(tmp_path, 4)
    data.write_text(data.read_text() + '{"text": "x"}\nno json\n')
    result = run_epoche(*make_offline_command(data, tmp_path / "out"))
    assert result.code == 0, result.err
    assert "2 rows were left out as malformed" in result.out
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["rejected"] == 2
    assert manifest["dataset"] == "../data.jsonl"
    check_error_line(run_epoche(*make_offline_command(data, tmp_path / "strict", "--strict")), 12)


@pytest.mark.parametrize(
    ("stop_signal", "exit_code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)]
)
def test_interrupted_run_resumes_to_the_same_bytes(
    tmp_path: Path, stop_signal: signal.Signals, exit_code: int
) -> None:
    data, out = write_samples(tmp_path, LARGE_SAMPLE_COUNT), tmp_path / "out"
    rows = out / "rows.jsonl"
    with subprocess.Popen(
        command_line(*make_offline_command(data, out)),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        wait_for_condition(lambda: rows.exists() and rows.read_bytes().count(b"\n") >= 60, process)
        process.send_signal(stop_signal)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == exit_code, stderr
    complete_lines = [
        line for line in rows.read_bytes().splitlines(keepends=True) if line[-1:] == b"\n"
    ]
    assert 60 <= len(complete_lines) < LARGE_SAMPLE_COUNT
    assert not (out / "metrics.json").exists(), "an incomplete run should have no final outputs"
    if stop_signal == signal.SIGINT:
        manifest = json.loads((out / "manifest.json").read_bytes())
        assert manifest["status"] == "interrupted"
        assert sum(manifest["counts"].values()) == len(complete_lines)
    with rows.open("ab") as handle:
        handle.write(b'{"id": "torn')
    assert run_epoche(*make_offline_command(data, out)).code == 0
    uninterrupted_out = tmp_path / "uninterrupted"
    assert run_epoche(*make_offline_command(data, uninterrupted_out)).code == 0
    assert read_output_files(out) == read_output_files(uninterrupted_out)


def test_a_full_disk_loses_no_row(reference: Path, tmp_path: Path) -> None:
    data, out = shutil.copy(reference / "data.jsonl", tmp_path), tmp_path / "out"
    # The limit on file size stands for a full disk; not all rows fit into 30,000 bytes.
    result = run_process(
        limit_file_size(command_line(*make_offline_command(data, out)), 30_000), tmp_path
    )
    check_error_line(result, 15)
    journal = (out / "rows.jsonl").read_bytes()
    assert journal.endswith(b"\n")
    assert 0 < journal.count(b"\n") < SAMPLE_COUNT
    assert run_epoche(*make_offline_command(data, out)).code == 0
    assert read_output_files(out) == read_output_files(reference / "out")


@pytest.mark.parametrize(
    ("damage", "exit_code", "message"),
    [
        (lambda text: text.replace('"id":"s03"', '"id":"x"', 1), 12, "does not belong to this run"),
        (lambda text: "no json\n" + text, 12, "rows.jsonl:1"),
        (lambda text: text + text.splitlines()[0] + "\n", 13, "answered twice"),
    ],
)
def test_rows_of_another_run_are_left_unchanged(
    reference: Path, tmp_path: Path, damage: object, exit_code: int, message: str
) -> None:
    shutil.copytree(reference, tmp_path / "copy")
    rows = tmp_path / "copy" / "out" / "rows.jsonl"
    assert callable(damage)
    rows.write_text(damage(rows.read_text()))
    old_bytes = rows.read_bytes()
    result = run_epoche(
        *make_offline_command(tmp_path / "copy" / "data.jsonl", tmp_path / "copy" / "out")
    )
    assert message in check_error_line(result, exit_code)
    assert rows.read_bytes() == old_bytes


def test_protected_files_are_not_overwritten(reference: Path, tmp_path: Path) -> None:
    data, out = shutil.copy(reference / "data.jsonl", tmp_path), tmp_path / "out"
    Path(data).rename(tmp_path / "rows.jsonl")
    check_error_line(run_epoche(*make_offline_command(tmp_path / "rows.jsonl", tmp_path)), 15)
    shutil.copytree(reference / "out", out)
    data = reference / "data.jsonl"
    assert "--no-resume" in check_error_line(
        run_epoche(*make_offline_command(data, out, "--no-resume")), 15
    )
    (out / "manifest.json").unlink()
    assert "manifest.json is missing" in check_error_line(
        run_epoche(*make_offline_command(data, out)), 12
    )
