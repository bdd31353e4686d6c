"""Runs of the baseline, interrupted and resumed: they end in the same bytes."""

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

COUNT = 40
LARGE = 1500


def offline_command(data: object, out: Path, *more: object) -> list[object]:
    how = ("--offline", "--resamples", 100, "--no-report")
    return ["extract", "run", *how, "--dataset", data, "--out", out, *more]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and an uninterrupted run."""
    folder = tmp_path_factory.mktemp("reference")
    done = run_epoche(*offline_command(write_samples(folder, COUNT), folder / "out"))
    assert done.code == 0, done.err
    return folder


def test_shipped_samples_are_extracted_by_the_baseline(tmp_path: Path) -> None:
    done = run_epoche(*offline_command("shipped", tmp_path / "out", "--limit", 24))
    assert done.code == 0, done.err
    assert "No model was called" in done.out
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
    kept = (tmp_path / "out" / "samples.jsonl").read_bytes().splitlines()
    asked = load_samples(tmp_path / "out" / "samples.jsonl").samples
    assert len(kept) == len(asked) == 24, "the samples beside the rows can be read again"


def test_thousand_samples_take_less_than_100_megabytes(tmp_path: Path) -> None:
    out, count = tmp_path / "out", 12
    how = ("--offline", "--resamples", 100, "--dataset", "shipped", "--limit", count)
    done = run_epoche("extract", "run", *how, "--out", out)
    assert done.code == 0, done.err
    sizes = {path.name: path.stat().st_size for path in out.iterdir()}
    assert sizes["report.html"]
    # These have a line per sample; the other files have figures, tables and a page of samples.
    of_samples = {"rows.jsonl", "samples.jsonl", "predictions.jsonl", "per_sample.csv"}
    of_samples |= {"report.samples.csv", "report.samples.parquet"}
    assert of_samples <= sizes.keys()
    growing = sum(sizes[name] for name in of_samples) * 1000 / count
    assert growing + sum(sizes.values()) < 20e6


def test_two_runs_give_the_same_bytes_whatever_the_hash_seed(
    reference: Path, tmp_path: Path
) -> None:
    data = shutil.copy(reference / "data.jsonl", tmp_path)
    arguments = command_line(*offline_command(data, tmp_path / "out"))
    done = run_process(arguments, tmp_path, PYTHONHASHSEED="4711")
    assert done.code == 0, done.err
    assert read_output_files(tmp_path / "out") == read_output_files(reference / "out")


def test_limit_and_repeats_can_be_raised(reference: Path, tmp_path: Path) -> None:
    data, out = shutil.copy(reference / "data.jsonl", tmp_path), tmp_path / "out"
    assert run_epoche(*offline_command(data, out, "--limit", 5)).code == 0
    assert len(read_rows(out)) == 5
    done = run_epoche(*offline_command(data, out, "--limit", 9, "--repeat", 2))
    assert done.code == 0, done.err
    assert list(read_rows(out)) == [
        (f"s{number:02}", "baseline", repeat) for number in range(9) for repeat in range(2)
    ]
    fewer = run_epoche(*offline_command(data, out, "--limit", 8, "--repeat", 2))
    assert "more than --limit 8" in check_error_line(fewer, 14)
    done = run_epoche(*offline_command(data, out, "--overwrite"))
    assert done.code == 0
    assert read_output_files(out) == read_output_files(reference / "out")


def test_random_sample_depends_only_on_the_seed(reference: Path, tmp_path: Path) -> None:
    data = reference / "data.jsonl"
    drawn = []
    for number, seed in enumerate((1, 1, 2)):
        out = tmp_path / str(number)
        assert run_epoche(*offline_command(data, out, "--sample", 6, "--seed", seed)).code == 0
        drawn.append(list(read_rows(out)))
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 6


def test_malformed_rows_are_skipped_with_a_note_or_refused(tmp_path: Path) -> None:
    data = write_samples(tmp_path, 4)
    data.write_text(data.read_text() + '{"text": "x"}\nno json\n')
    done = run_epoche(*offline_command(data, tmp_path / "out"))
    assert done.code == 0, done.err
    assert "2 rows were left out as malformed" in done.out
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["rejected"] == 2
    assert manifest["dataset"] == "../data.jsonl"
    check_error_line(run_epoche(*offline_command(data, tmp_path / "strict", "--strict")), 12)


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)]
)
def test_interrupted_run_resumes_to_the_same_bytes(
    tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    data, out = write_samples(tmp_path, LARGE), tmp_path / "out"
    rows = out / "rows.jsonl"
    with subprocess.Popen(
        command_line(*offline_command(data, out)),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        wait_for_condition(lambda: rows.exists() and rows.read_bytes().count(b"\n") >= 60, process)
        process.send_signal(sent)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == code, stderr
    whole = [line for line in rows.read_bytes().splitlines(keepends=True) if line[-1:] == b"\n"]
    assert 60 <= len(whole) < LARGE
    assert not (out / "metrics.json").exists(), "an incomplete run has no final outputs"
    if sent == signal.SIGINT:
        manifest = json.loads((out / "manifest.json").read_bytes())
        assert manifest["status"] == "interrupted"
        assert sum(manifest["counts"].values()) == len(whole)
    with rows.open("ab") as handle:
        handle.write(b'{"id": "torn')
    assert run_epoche(*offline_command(data, out)).code == 0
    other = tmp_path / "uninterrupted"
    assert run_epoche(*offline_command(data, other)).code == 0
    assert read_output_files(out) == read_output_files(other)


def test_a_full_disk_loses_no_row(reference: Path, tmp_path: Path) -> None:
    data, out = shutil.copy(reference / "data.jsonl", tmp_path), tmp_path / "out"
    done = run_process(limit_file_size(command_line(*offline_command(data, out)), 30_000), tmp_path)
    check_error_line(done, 15)
    kept = (out / "rows.jsonl").read_bytes()
    assert kept.endswith(b"\n")
    assert 0 < kept.count(b"\n") < COUNT
    assert run_epoche(*offline_command(data, out)).code == 0
    assert read_output_files(out) == read_output_files(reference / "out")


@pytest.mark.parametrize(
    ("damage", "code", "why"),
    [
        (lambda text: text.replace('"id":"s03"', '"id":"x"', 1), 12, "does not belong to this run"),
        (lambda text: "no json\n" + text, 12, "rows.jsonl:1"),
        (lambda text: text + text.splitlines()[0] + "\n", 13, "answered twice"),
    ],
)
def test_rows_of_another_run_are_left_unchanged(
    reference: Path, tmp_path: Path, damage: object, code: int, why: str
) -> None:
    shutil.copytree(reference, tmp_path / "copy")
    rows = tmp_path / "copy" / "out" / "rows.jsonl"
    assert callable(damage)
    rows.write_text(damage(rows.read_text()))
    before = rows.read_bytes()
    done = run_epoche(*offline_command(tmp_path / "copy" / "data.jsonl", tmp_path / "copy" / "out"))
    assert why in check_error_line(done, code)
    assert rows.read_bytes() == before


def test_protected_files_are_not_overwritten(reference: Path, tmp_path: Path) -> None:
    data, out = shutil.copy(reference / "data.jsonl", tmp_path), tmp_path / "out"
    Path(data).rename(tmp_path / "rows.jsonl")
    check_error_line(run_epoche(*offline_command(tmp_path / "rows.jsonl", tmp_path)), 15)
    shutil.copytree(reference / "out", out)
    data = reference / "data.jsonl"
    assert "--no-resume" in check_error_line(
        run_epoche(*offline_command(data, out, "--no-resume")), 15
    )
    (out / "manifest.json").unlink()
    assert "manifest.json is missing" in check_error_line(
        run_epoche(*offline_command(data, out)), 12
    )
