"""Tests what every benchmark promises of a run: resuming, repeats, damaged files, full disks."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import extraction_reader
import pytest
import skn_reader
from benchmark_runs import (
    COMMANDS,
    LIMIT,
    RunFiles,
    find_files,
    make_command,
    read_folder,
    run_benchmark,
    run_with_judge,
)
from benchmark_runs import slow_command_line as make_slow
from stage_calls import (
    check_error_line,
    command_line,
    limit_file_size,
    run_process,
    wait_for_condition,
    write_edited_manifest,
)

from eval.harness.reply import VOTES

pytestmark = pytest.mark.usefixtures("kept_readers")

# Exit codes in these tests: 12 invalid record, 13 duplicate id, 14 mismatch with the earlier run,
# 15 file cannot be written, 130 interrupted by SIGINT, 143 by SIGTERM.


@pytest.fixture(scope="module", params=COMMANDS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run."""
    folder = tmp_path_factory.mktemp(request.param) / "whole"
    done = run_benchmark(request.param, folder)
    assert done.code == 0, done.err
    return folder


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path) -> None:
    """Puts the systems of tests where processes find them: in their working folder."""
    shutil.copy(extraction_reader.__file__, tmp_path)
    shutil.copy(skn_reader.__file__, tmp_path)


@pytest.fixture
def files(whole: Path) -> RunFiles:
    """The files of the run ``whole``."""
    return find_files(whole)


def count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def write_checkpoint(folder: Path) -> None:
    """Makes the manifest of a finished run the one that ``kill -9`` leaves.

    It was last written at a checkpoint, before some of the lines, so it counts no calls yet.
    """
    path = folder / find_files(folder).manifest
    manifest = json.loads(path.read_bytes())
    changes: dict[str, Any] = {"status": "running", "ended": None, "counts": {}, "calls": None}
    write_edited_manifest(path, {**manifest, **changes})


@pytest.mark.parametrize(
    ("stop_signal", "code", "n_lines"),
    [
        (signal.SIGKILL, -signal.SIGKILL, 1),
        (signal.SIGKILL, -signal.SIGKILL, 3),
        (signal.SIGINT, 130, 2),
        (signal.SIGTERM, 143, 2),
    ],
)
def test_an_interrupted_run_resumes_to_the_same_bytes(
    whole: Path,
    files: RunFiles,
    tmp_path: Path,
    stop_signal: signal.Signals,
    code: int,
    n_lines: int,
) -> None:
    out = tmp_path / "whole"
    with subprocess.Popen(
        make_slow(make_command(files.name, out)),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        wait_for_condition(lambda: count_lines(out / files.journal) >= n_lines, process)
        process.send_signal(stop_signal)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == code, stderr
    n_replies = count_lines(out / files.journal)
    assert n_lines <= n_replies < count_lines(whole / files.journal)
    outputs = files.outputs
    assert not [file for file in outputs if any(out.glob(file))], "outputs of unfinished rows"
    if stop_signal == signal.SIGINT:
        manifest = json.loads((out / files.manifest).read_bytes())
        assert manifest["status"] == "interrupted"
        assert sum(manifest["counts"].values()) == n_replies
    with (out / files.journal).open("ab") as handle:
        handle.write(b'{"id": "torn')
    done = run_benchmark(files.name, out)
    assert done.code == 0, done.err
    assert read_folder(out) == read_folder(whole)


def test_an_interrupted_run_is_killed_at_every_reply(
    whole: Path, files: RunFiles, tmp_path: Path
) -> None:
    """Keeps each number of first lines of the journal, as ``kill -9`` would leave it."""
    lines = (whole / files.journal).read_bytes().splitlines(keepends=True)
    for n_lines in range(1, len(lines)):
        out = tmp_path / str(n_lines) / "whole"
        shutil.copytree(whole, out)
        (out / files.journal).write_bytes(b"".join(reversed(lines[-n_lines:])) + b'{"id"')
        # Judges vote only when all replies are there.
        for file in {VOTES, files.rows, *files.outputs} - {files.journal}:
            (out / file).unlink(missing_ok=True)
        write_checkpoint(out)
        done = run_benchmark(files.name, out)
        assert done.code == 0, done.err
        assert read_folder(out) == read_folder(whole)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run with votes."""
    folder = tmp_path_factory.mktemp("judged") / "whole"
    done = run_with_judge(folder)
    assert done.code == 0, done.err
    return folder


def test_a_run_is_killed_at_every_vote(judged: Path, tmp_path: Path) -> None:
    """Keeps each number of first votes, as ``kill -9`` would leave them while judges vote."""
    files = find_files(judged)
    lines = (judged / VOTES).read_bytes().splitlines(keepends=True)
    assert lines
    for n_lines in range(len(lines)):
        out = tmp_path / str(n_lines) / "whole"
        shutil.copytree(judged, out)
        (out / VOTES).write_bytes(b"".join(reversed(lines[len(lines) - n_lines :])) + b'{"id"')
        for file in (files.rows, *files.outputs):
            (out / file).unlink(missing_ok=True)
        write_checkpoint(out)
        done = run_with_judge(out)
        assert done.code == 0, done.err
        resumed, whole = read_folder(out), read_folder(judged)
        for contents in (resumed, whole):
            contents[files.manifest].pop("calls")  # ``kill -9`` loses how many there were
        assert resumed == whole


def test_damaged_votes_are_left_unchanged(judged: Path, tmp_path: Path) -> None:
    text = (judged / VOTES).read_text()
    first = text.splitlines()[0]
    for damaged, code, message in (
        ("no json\n" + text, 12, f"{VOTES}:1"),
        (_rename_item(text), 12, "has no reply in this run"),
        (re.sub('"system":"[^"]*"', '"system":"x"', text, count=1), 12, "has no reply in this run"),
        (text + first + "\n", 13, "answered twice"),
    ):
        out = tmp_path / str(len(damaged)) / "whole"
        shutil.copytree(judged, out)
        (out / VOTES).write_text(damaged)
        before = read_folder(out)
        assert message in check_error_line(run_with_judge(out), code)
        assert read_folder(out) == before


def test_a_full_disk_loses_no_reply(whole: Path, files: RunFiles, tmp_path: Path) -> None:
    out = tmp_path / "whole"
    # The limit on file size stands for a full disk: not all replies fit.
    max_bytes = (whole / files.journal).stat().st_size * 2 // 3
    arguments = command_line(*make_command(files.name, out))
    check_error_line(run_process(limit_file_size(arguments, max_bytes), tmp_path), 15)
    journal = (out / files.journal).read_bytes()
    assert journal == b"" or journal.endswith(b"\n")
    assert count_lines(out / files.journal) < count_lines(whole / files.journal)
    assert run_benchmark(files.name, out).code == 0
    assert read_folder(out) == read_folder(whole)


def test_two_runs_give_the_same_bytes_whatever_the_hash_seed(
    whole: Path, files: RunFiles, tmp_path: Path
) -> None:
    arguments = command_line(*make_command(files.name, tmp_path / "whole"))
    result = run_process(arguments, tmp_path, PYTHONHASHSEED="4711")
    assert result.code == 0, result.err
    assert read_folder(tmp_path / "whole") == read_folder(whole)


def test_limit_and_repeats_can_be_raised(whole: Path, files: RunFiles, tmp_path: Path) -> None:
    out, direct = tmp_path / "a" / "whole", tmp_path / "b" / "whole"
    assert run_benchmark(files.name, out, "--limit", 2).code == 0
    done = run_benchmark(files.name, out, "--repeat", 2)
    assert done.code == 0, done.err
    assert run_benchmark(files.name, direct, "--repeat", 2).code == 0
    assert read_folder(out) == read_folder(direct)
    assert count_lines(out / files.journal) == 2 * count_lines(whole / files.journal)
    lower = run_benchmark(files.name, out, "--limit", LIMIT - 1, "--repeat", 2)
    assert f"more than --limit {LIMIT - 1}" in check_error_line(lower, 14)
    assert "more than --repeat 1" in check_error_line(run_benchmark(files.name, out), 14)
    assert run_benchmark(files.name, out, "--overwrite").code == 0
    assert read_folder(out) == read_folder(whole)


def _rename_item(text: str) -> str:
    first = json.loads(text.splitlines()[0])["id"]
    return text.replace(f'"id":"{first}"', '"id":"x"', 1)


@pytest.mark.parametrize(
    ("damage", "exit_code", "message"),
    [
        (_rename_item, 12, "does not belong to this run"),
        (lambda text: "no json\n" + text, 12, ".jsonl:1"),
        (lambda text: "[" * 100_000 + "\n" + text, 12, ".jsonl:1"),
        (lambda text: text + text.splitlines()[0] + "\n", 13, "answered twice"),
    ],
)
def test_a_damaged_journal_is_left_unchanged(
    whole: Path,
    files: RunFiles,
    tmp_path: Path,
    damage: Callable[[str], str],
    exit_code: int,
    message: str,
) -> None:
    out = tmp_path / "whole"
    shutil.copytree(whole, out)
    (out / files.journal).write_text(damage((whole / files.journal).read_text()))
    before = read_folder(out)
    assert message in check_error_line(run_benchmark(files.name, out), exit_code)
    assert read_folder(out) == before


def test_a_finished_run_is_protected(whole: Path, files: RunFiles, tmp_path: Path) -> None:
    out = tmp_path / "whole"
    shutil.copytree(whole, out)
    assert "--no-resume" in check_error_line(run_benchmark(files.name, out, "--no-resume"), 15)
    manifest = out / files.manifest
    manifest.write_text("{")
    assert "not a run manifest" in check_error_line(run_benchmark(files.name, out), 12)
    manifest.unlink()
    assert "is missing" in check_error_line(run_benchmark(files.name, out), 12)
    assert (out / files.journal).read_bytes() == (whole / files.journal).read_bytes()


def test_a_run_of_other_data_or_settings_is_not_resumed(
    whole: Path, files: RunFiles, tmp_path: Path
) -> None:
    manifest = json.loads((whole / files.manifest).read_bytes())
    others = {files.dataset_field: "0" * 64, files.settings_field: "another"}
    for number, (field, value) in enumerate(others.items()):
        out = tmp_path / str(number) / "whole"
        shutil.copytree(whole, out)
        if not isinstance(manifest[field], str):
            value = type(manifest[field])()
        write_edited_manifest(out / files.manifest, {**manifest, field: value})
        changed = (out / files.manifest).read_bytes()
        check_error_line(run_benchmark(files.name, out, "--limit", LIMIT + 1), 14)
        assert (out / files.journal).read_bytes() == (whole / files.journal).read_bytes()
        assert (out / files.manifest).read_bytes() == changed


def test_rows_without_replies_are_never_replaced(
    whole: Path, files: RunFiles, tmp_path: Path
) -> None:
    """Earlier versions wrote no replies; their rows may have cost money."""
    if files.rows == files.journal:
        pytest.skip("the rows are the journal")
    out = tmp_path / "whole"
    shutil.copytree(whole, out)
    (out / files.journal).unlink()
    rows = out / files.rows
    assert "no replies.jsonl" in check_error_line(run_benchmark(files.name, out), 15)
    assert rows.read_bytes() == (whole / rows.name).read_bytes()
    assert run_benchmark(files.name, out, "--overwrite").code == 0
    assert read_folder(out) == read_folder(whole)


def test_a_run_that_is_being_written_is_locked(
    whole: Path, files: RunFiles, tmp_path: Path
) -> None:
    out = tmp_path / "whole"
    with subprocess.Popen(
        make_slow(make_command(files.name, out), 10),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_for_condition(lambda: count_lines(out / files.journal) >= 1, process)
        refused = run_benchmark(files.name, out)
        process.kill()
    assert "another run is writing" in check_error_line(refused, 15)
