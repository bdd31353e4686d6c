"""Tests runs of a recorded model and of a system of one's own: rows, samples, sizes, refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from extraction_reader import READER, RECORDED, REPLAY, Reader
from extraction_run_parts import read_rows, write_samples
from stage_calls import check_error_line, run_epoche

from eval.extraction.samples.loader import load_samples, shipped_folder

SAMPLE_COUNT = 40

# Exit codes in these tests: 12 invalid record, 15 file cannot be written, 23 no model access.


def make_run_command(data: object, out: Path, *extra_arguments: object) -> list[object]:
    options = (*READER, "--resamples", 100, "--no-report")
    return ["extract", "run", *options, "--dataset", data, "--out", out, *extra_arguments]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with samples and the outputs of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("reference")
    result = run_epoche(*make_run_command(write_samples(folder, SAMPLE_COUNT), folder / "out"))
    assert result.code == 0, result.err
    return folder


def test_shipped_samples_are_extracted_by_a_system_without_a_model(tmp_path: Path) -> None:
    result = run_epoche(*make_run_command("shipped", tmp_path / "out", "--limit", 24))
    assert result.code == 0, result.err
    rows = read_rows(tmp_path / "out")
    assert len(rows) == 24
    for (_, system, repeat), row in rows.items():
        assert (system, repeat) == (Reader.name, 0)
        assert row["outcome"] in {"OK", "INVALID"}
        assert row["latency_s"] is row["usage"] is row["ttft_s"] is row["at_s"] is None
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["offline"] is False, "a system of one's own may call a model"
    assert manifest["calls"] is None
    assert manifest["dataset"] == "shipped"
    assert manifest["prompts"] == {}
    assert manifest["sample_count"] == len(load_samples(shipped_folder()).samples) > 24
    assert str(tmp_path) not in (tmp_path / "out" / "manifest.json").read_text()
    sample_lines = (tmp_path / "out" / "samples.jsonl").read_bytes().splitlines()
    samples = load_samples(tmp_path / "out" / "samples.jsonl").samples
    assert len(sample_lines) == len(samples) == 24, (
        "the samples of the run folder should be readable"
    )


def test_a_recorded_model_is_replayed_without_a_server(tmp_path: Path) -> None:
    contents = []
    for name in ("first", "second"):
        out = tmp_path / name
        command = ("extract", "run", *REPLAY, "--limit", 8, "--resamples", 100, "--no-report")
        result = run_epoche(*command, "--out", out)
        assert result.code == 0, result.err
        contents.append([(out / file).read_bytes() for file in ("rows.jsonl", "metrics.json")])
    assert contents[0] == contents[1]
    rows = read_rows(out)
    assert len(rows) == 8
    for (_, system, _), row in rows.items():
        assert system == RECORDED
        assert row["outcome"] in {"OK", "INVALID"}
        # Time and tokens are those of the recording.
        assert row["latency_s"] > 0.1
        assert row["usage"]["completion_tokens"] > 0
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert (manifest["offline"], manifest["sample_size"], manifest["seed"]) == (False, 60, 12345)
    assert "{text}" in manifest["prompts"]["user"]
    assert manifest["calls"]["cached"] == manifest["calls"]["replies"] == 9, "8 and a first one"
    # Samples, prompts and ways to ask that were not recorded are an error.
    for flags in (("--seed", 7), ("--sample", 61), ("--structured", "text"), ("--repeat", 2)):
        result = run_epoche("extract", "run", *REPLAY, *flags, "--out", tmp_path / "other")
        assert "was not recorded" in check_error_line(result, 23)
        shutil.rmtree(tmp_path / "other")


def test_thousand_samples_take_less_than_20_megabytes(tmp_path: Path) -> None:
    out, count = tmp_path / "out", 12
    options = (*REPLAY, "--resamples", 100, "--limit", count)
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


def test_random_sample_depends_only_on_the_seed(reference: Path, tmp_path: Path) -> None:
    data = reference / "data.jsonl"
    row_keys = []
    for number, seed in enumerate((1, 1, 2)):
        out = tmp_path / str(number)
        assert run_epoche(*make_run_command(data, out, "--sample", 6, "--seed", seed)).code == 0
        row_keys.append(list(read_rows(out)))
    assert row_keys[0] == row_keys[1] != row_keys[2]
    assert len(row_keys[0]) == 6


def test_malformed_rows_are_skipped_with_a_note_or_refused(tmp_path: Path) -> None:
    data = write_samples(tmp_path, 4)
    data.write_text(data.read_text() + '{"text": "x"}\nno json\n')
    result = run_epoche(*make_run_command(data, tmp_path / "out"))
    assert result.code == 0, result.err
    assert "2 rows were left out as malformed" in result.out
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["rejected"] == 2
    assert manifest["dataset"] == "../data.jsonl"
    check_error_line(run_epoche(*make_run_command(data, tmp_path / "strict", "--strict")), 12)


def test_protected_files_are_not_overwritten(reference: Path, tmp_path: Path) -> None:
    data = shutil.copy(reference / "data.jsonl", tmp_path)
    Path(data).rename(tmp_path / "rows.jsonl")
    check_error_line(run_epoche(*make_run_command(tmp_path / "rows.jsonl", tmp_path)), 15)
