"""Runs of the baseline, stopped and taken up: the same bytes in the end, whatever happened."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from extraction_run_parts import data_of, files_of, rows_of
from stage_calls import call, command, epoche, error_line, starved, wait_for

from eval.extraction.samples.loading import load, shipped

COUNT = 40
LARGE = 1500


def offline(data: object, out: Path, *more: object) -> list[object]:
    how = ("--offline", "--resamples", 100, "--no-report")
    return ["extract", "run", *how, "--dataset", data, "--out", out, *more]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and the run that nothing happened to."""
    folder = tmp_path_factory.mktemp("reference")
    done = epoche(*offline(data_of(folder, COUNT), folder / "out"))
    assert done.code == 0, done.err
    return folder


def test_the_shipped_samples_are_extracted_by_rules_that_say_so(tmp_path: Path) -> None:
    done = epoche(*offline("shipped", tmp_path / "out", "--limit", 24))
    assert done.code == 0, done.err
    assert "No model was called" in done.out
    rows = rows_of(tmp_path / "out")
    assert len(rows) == 24
    for (_, system, repeat), row in rows.items():
        assert (system, repeat) == ("baseline", 0)
        assert row["outcome"] in {"OK", "INVALID"}
        assert row["latency_s"] is row["usage"] is row["ttft_s"] is row["at_s"] is None
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["offline"] is True
    assert manifest["dataset"] == "shipped"
    assert manifest["prompts"] == {}
    assert manifest["sample_count"] == len(load(shipped()).samples) > 24
    assert str(tmp_path) not in (tmp_path / "out" / "manifest.json").read_text()
    kept = (tmp_path / "out" / "samples.jsonl").read_bytes().splitlines()
    asked = load(tmp_path / "out" / "samples.jsonl").samples
    assert len(kept) == len(asked) == 24, "the samples beside the rows can be read again"


def test_a_thousand_samples_take_far_less_than_a_hundred_megabytes(tmp_path: Path) -> None:
    out, count = tmp_path / "out", 12
    how = ("--offline", "--resamples", 100, "--dataset", "shipped", "--limit", count)
    done = epoche("extract", "run", *how, "--out", out)
    assert done.code == 0, done.err
    sizes = {path.name: path.stat().st_size for path in out.iterdir()}
    assert sizes["report.html"]
    # These have a line for each sample; the others hold figures, tables and a page of samples.
    of_samples = {"rows.jsonl", "samples.jsonl", "predictions.jsonl", "per_sample.csv"}
    of_samples |= {"report.samples.csv", "report.samples.parquet"}
    assert of_samples <= sizes.keys()
    growing = sum(sizes[name] for name in of_samples) * 1000 / count
    assert growing + sum(sizes.values()) < 20e6


def test_two_runs_give_the_same_bytes_whatever_the_hash_seed(
    reference: Path, tmp_path: Path
) -> None:
    data = shutil.copy(reference / "data.jsonl", tmp_path)
    arguments = command(*offline(data, tmp_path / "out"))
    done = call(arguments, tmp_path, PYTHONHASHSEED="4711")
    assert done.code == 0, done.err
    assert files_of(tmp_path / "out") == files_of(reference / "out")


def test_limits_grow_and_repeats_too(reference: Path, tmp_path: Path) -> None:
    data, out = shutil.copy(reference / "data.jsonl", tmp_path), tmp_path / "out"
    assert epoche(*offline(data, out, "--limit", 5)).code == 0
    assert len(rows_of(out)) == 5
    done = epoche(*offline(data, out, "--limit", 9, "--repeat", 2))
    assert done.code == 0, done.err
    assert list(rows_of(out)) == [
        (f"s{number:02}", "baseline", repeat) for number in range(9) for repeat in range(2)
    ]
    fewer = epoche(*offline(data, out, "--limit", 8, "--repeat", 2))
    assert "beyond --limit 8" in error_line(fewer, 14)
    done = epoche(*offline(data, out, "--overwrite"))
    assert done.code == 0
    assert files_of(out) == files_of(reference / "out")


def test_a_drawn_sample_depends_on_its_seed_alone(reference: Path, tmp_path: Path) -> None:
    data = reference / "data.jsonl"
    drawn = []
    for number, seed in enumerate((1, 1, 2)):
        out = tmp_path / str(number)
        assert epoche(*offline(data, out, "--sample", 6, "--seed", seed)).code == 0
        drawn.append(list(rows_of(out)))
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 6


def test_malformed_rows_are_left_out_and_told_or_refused(tmp_path: Path) -> None:
    data = data_of(tmp_path, 4)
    data.write_text(data.read_text() + '{"text": "x"}\nno json\n')
    done = epoche(*offline(data, tmp_path / "out"))
    assert done.code == 0, done.err
    assert "2 rows were no sample and left out" in done.out
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["rejected"] == 2
    assert manifest["dataset"] == "../data.jsonl"
    error_line(epoche(*offline(data, tmp_path / "strict", "--strict")), 12)


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)]
)
def test_a_run_that_is_stopped_goes_on_to_the_same_bytes(
    tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    data, out = data_of(tmp_path, LARGE), tmp_path / "out"
    rows = out / "rows.jsonl"
    with subprocess.Popen(
        command(*offline(data, out)),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        wait_for(lambda: rows.exists() and rows.read_bytes().count(b"\n") >= 60, process)
        process.send_signal(sent)
        _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    whole = [line for line in rows.read_bytes().splitlines(keepends=True) if line[-1:] == b"\n"]
    assert 60 <= len(whole) < LARGE
    assert not (out / "metrics.json").exists(), "nothing is made of half a run"
    if sent == signal.SIGINT:
        manifest = json.loads((out / "manifest.json").read_bytes())
        assert manifest["status"] == "interrupted"
        assert sum(manifest["counts"].values()) == len(whole)
    with rows.open("ab") as handle:
        handle.write(b'{"id": "torn')
    assert epoche(*offline(data, out)).code == 0
    other = tmp_path / "uninterrupted"
    assert epoche(*offline(data, other)).code == 0
    assert files_of(out) == files_of(other)


def test_a_full_disk_loses_no_row(reference: Path, tmp_path: Path) -> None:
    data, out = shutil.copy(reference / "data.jsonl", tmp_path), tmp_path / "out"
    done = call(starved(command(*offline(data, out)), 30_000), tmp_path)
    error_line(done, 15)
    kept = (out / "rows.jsonl").read_bytes()
    assert kept.endswith(b"\n")
    assert 0 < kept.count(b"\n") < COUNT
    assert epoche(*offline(data, out)).code == 0
    assert files_of(out) == files_of(reference / "out")


@pytest.mark.parametrize(
    ("damage", "code", "why"),
    [
        (lambda text: text.replace('"id":"s03"', '"id":"x"', 1), 12, "is not of this run"),
        (lambda text: "no json\n" + text, 12, "rows.jsonl:1"),
        (lambda text: text + text.splitlines()[0] + "\n", 13, "answered twice"),
    ],
)
def test_rows_that_are_not_of_this_run_are_left_as_they_are(
    reference: Path, tmp_path: Path, damage: object, code: int, why: str
) -> None:
    shutil.copytree(reference, tmp_path / "copy")
    rows = tmp_path / "copy" / "out" / "rows.jsonl"
    assert callable(damage)
    rows.write_text(damage(rows.read_text()))
    before = rows.read_bytes()
    done = epoche(*offline(tmp_path / "copy" / "data.jsonl", tmp_path / "copy" / "out"))
    assert why in error_line(done, code)
    assert rows.read_bytes() == before


def test_what_must_not_be_written_over_is_not(reference: Path, tmp_path: Path) -> None:
    data, out = shutil.copy(reference / "data.jsonl", tmp_path), tmp_path / "out"
    Path(data).rename(tmp_path / "rows.jsonl")
    error_line(epoche(*offline(tmp_path / "rows.jsonl", tmp_path)), 15)
    shutil.copytree(reference / "out", out)
    data = reference / "data.jsonl"
    assert "--no-resume" in error_line(epoche(*offline(data, out, "--no-resume")), 15)
    (out / "manifest.json").unlink()
    assert "manifest.json is not beside it" in error_line(epoche(*offline(data, out)), 12)
