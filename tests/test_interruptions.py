"""Tests that full disks, Ctrl-C, SIGTERM and closed pipes leave old files as they were.

No temporary file may be left behind either. docs/reference/exit-codes.md lists the exit codes.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from stage_calls import (
    GRAPH,
    block_at_fsync,
    check_error_line,
    command_line,
    limit_file_size,
    read_cpu_seconds,
    read_folder_bytes,
    run_epoche,
    run_process,
    wait_for_condition,
)

from eval.abstention.manifest import read_manifest

MAYORS_DOMAIN = ("--domain", "mayors")
REPORT_COMMAND = ("report", "--results", "kg.jsonl", "--metrics", "metrics.json")
STAGE_COMMANDS: dict[str, tuple[object, ...]] = {
    "cards": ("cards", *MAYORS_DOMAIN, "--num-per-type", 6, "--out", "cards.jsonl"),
    "near-miss": ("near-miss", *MAYORS_DOMAIN, "--num", 6, "--out", "cards.jsonl"),
    "join": ("join", "near.jsonl", "cards.jsonl", "--out", "other.jsonl"),
    "metrics": ("metrics", "--results", "kg.jsonl", "--resamples", 100, "--out", "metrics.json"),
    "compare": ("compare", "kg.jsonl", "controls.jsonl", "--out", "report.json"),
    "report": (*REPORT_COMMAND, "--out", "report.html"),
    "inspect": ("kg", "inspect", *MAYORS_DOMAIN, "--out", "report.html"),
}
"""For each stage that writes all its output at the end, a command that replaces a file.

The last argument is the path of that file.
"""


@pytest.mark.parametrize("stage", STAGE_COMMANDS)
def test_full_disk_while_writing_leaves_files_unchanged(workspace: Path, stage: str) -> None:
    old_files = read_folder_bytes(workspace)
    limit = 1_000  # bytes, fewer than any of the outputs
    line = check_error_line(
        run_process(limit_file_size(command_line(*STAGE_COMMANDS[stage]), limit), workspace), 15
    )
    assert "cannot write" in line
    assert str(STAGE_COMMANDS[stage][-1]) in line
    assert "free space or choose another --out" in line
    assert read_folder_bytes(workspace) == old_files


def test_all_outputs_of_a_command_change_together(workspace: Path) -> None:
    manifest = workspace / "cards.manifest.json"
    manifest.unlink()
    manifest.mkdir()
    (manifest / "in the way").touch()
    old_files = read_folder_bytes(workspace)
    for stage in ("cards", "near-miss"):
        assert "cards.manifest.json" in check_error_line(run_epoche(*STAGE_COMMANDS[stage]), 15)
    assert read_folder_bytes(workspace) == old_files
    shutil.rmtree(manifest)
    (workspace / "report.json").unlink()
    (workspace / "report.json").mkdir()
    old_page = (workspace / "report.html").read_bytes()
    check_error_line(run_epoche(*STAGE_COMMANDS["report"]), 15)
    assert (workspace / "report.html").read_bytes() == old_page
    del old_files["report.json"]
    del old_files["cards.manifest.json/in the way"]
    assert read_folder_bytes(workspace) == old_files


def test_full_disk_during_a_run_keeps_answered_rows(workspace: Path) -> None:
    arguments = (
        "eval",
        "--cards",
        "cards.jsonl",
        "--system",
        "kg",
        *MAYORS_DOMAIN,
        "--out",
        "new.jsonl",
    )
    line = check_error_line(
        # 2,500 bytes are enough for some rows but not for all.
        run_process(limit_file_size(command_line(*arguments), 2_500), workspace),
        15,
    )
    assert "new.jsonl" in line
    rows = (workspace / "new.jsonl").read_bytes()
    assert rows.endswith(b"\n")
    assert 0 < len(rows) <= 2_500
    assert run_process(command_line(*arguments), workspace).code == 0
    complete = (workspace / "new.jsonl").read_bytes()
    assert complete.startswith(rows)
    assert complete == (workspace / "kg.jsonl").read_bytes()


def test_full_file_system_is_reported(workspace: Path) -> None:
    disk = workspace / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can make a file system this small")
    try:
        (disk / "cards.jsonl").write_text("old\n")
        for stage in ("cards", "report"):
            out = disk / Path(str(STAGE_COMMANDS[stage][-1])).name
            line = check_error_line(run_epoche(*STAGE_COMMANDS[stage][:-1], out), 15)
            assert "No space left on device" in line
        assert read_folder_bytes(disk) == {"cards.jsonl": b"old\n"}
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_full_device_as_standard_output_is_reported(workspace: Path) -> None:
    with Path("/dev/full").open("wb") as full_device:
        result = subprocess.run(
            command_line("kg", "inspect", *MAYORS_DOMAIN),
            stdout=full_device,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert result.returncode == 15
    assert result.stderr.decode().count("\n") == 1
    assert b"standard output" in result.stderr


UNWRITABLE_OUTPUTS = {
    "a folder": (".", "it is a folder"),
    "an empty path": ("", "it is a folder"),
    "a device": ("/dev/null", "not an ordinary file"),
    "below a file": ("kg.jsonl/new.json", "a part of its path is a file"),
    "in a folder that cannot be made": ("/proc/epoche/new.json", "No such file"),
    "too long": ("n" * 300, "File name too long"),
}


@pytest.mark.parametrize("case", UNWRITABLE_OUTPUTS)
@pytest.mark.parametrize("stage", [*STAGE_COMMANDS, "eval"])
def test_unwritable_output_is_reported(workspace: Path, stage: str, case: str) -> None:
    out, message = UNWRITABLE_OUTPUTS[case]
    eval_command = ("eval", "--cards", "cards.jsonl", "--system", "always-NO", "--out", "")
    old_files = read_folder_bytes(workspace)
    line = check_error_line(run_epoche(*(STAGE_COMMANDS.get(stage) or eval_command)[:-1], out), 15)
    assert message in line
    assert read_folder_bytes(workspace) == old_files
    assert Path("/dev/null").is_char_device()


@pytest.fixture
def unprivileged_folder(stage_outputs: Path) -> Iterator[Path]:
    """A folder of a user other than root, because file permissions do not apply to root.

    ``stage_outputs`` is requested only because it imports the libraries while the test is still
    root; the other user may not be allowed to read them.
    """
    folder = Path(tempfile.mkdtemp(prefix="epoche-", dir="/tmp"))
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, 65534, 65534)  # the user and group "nobody"
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o700)
        shutil.rmtree(folder)


def test_missing_permissions_are_reported(unprivileged_folder: Path) -> None:
    closed_folder, secret_file = (
        unprivileged_folder / "closed",
        unprivileged_folder / "secret.jsonl",
    )
    closed_folder.mkdir(mode=0o500)
    secret_file.touch(mode=0o000)
    shutil.copy(GRAPH, unprivileged_folder / "secret.ttl")
    (unprivileged_folder / "secret.ttl").chmod(0o000)
    line = check_error_line(
        run_epoche(*STAGE_COMMANDS["cards"][:-1], closed_folder / "c.jsonl"), 15
    )
    assert "Permission denied" in line
    assert "closed/c.jsonl" in line
    for arguments in (
        ("kg", "inspect", "--kg", unprivileged_folder / "secret.ttl"),
        ("audit", secret_file),
        ("metrics", "--results", secret_file, "--out", unprivileged_folder / "m.json"),
        (
            "eval",
            "--cards",
            secret_file,
            "--system",
            "always-NO",
            "--out",
            unprivileged_folder / "r.jsonl",
        ),
    ):
        line = check_error_line(run_epoche(*arguments), 3)
        assert "secret." in line
        assert "ermission" in line  # "Permission" or "permission"
    assert not list(closed_folder.iterdir())
    assert {path.name for path in unprivileged_folder.iterdir()} == {
        "closed",
        "secret.jsonl",
        "secret.ttl",
    }


@pytest.mark.parametrize(
    ("arguments", "overwritten"),
    [
        (("metrics", "--results", "kg.jsonl", "--out", "kg.jsonl"), "kg.jsonl"),
        (("compare", "kg.jsonl", "controls.jsonl", "--out", "controls.jsonl"), "controls.jsonl"),
        (("join", "near.jsonl", "cards.jsonl", "--out", "near.jsonl"), "near.jsonl"),
        (
            ("eval", "--cards", "cards.jsonl", "--system", "kg", "--out", "cards.jsonl"),
            "cards.jsonl",
        ),
    ],
    ids=["metrics", "compare", "join", "eval"],
)
def test_no_stage_overwrites_what_it_reads(
    workspace: Path, arguments: tuple[object, ...], overwritten: str
) -> None:
    old_files = read_folder_bytes(workspace)
    line = check_error_line(run_epoche(*arguments), 15)
    assert "would overwrite" in line
    assert overwritten in line
    line = check_error_line(run_epoche(*REPORT_COMMAND, "--out", "metrics.json"), 19)
    assert "overwrite" in line
    assert read_folder_bytes(workspace) == old_files


def test_symbolic_link_to_an_output_is_kept(workspace: Path) -> None:
    (workspace / "disk2").mkdir()
    (workspace / "disk2" / "m.json").write_text("old")
    (workspace / "m.json").symlink_to("disk2/m.json")
    assert run_epoche(*STAGE_COMMANDS["metrics"][:-1], "m.json").code == 0
    assert (workspace / "m.json").is_symlink()
    assert (workspace / "disk2" / "m.json").read_bytes().startswith(b"{")


@pytest.mark.parametrize(
    ("stage", "signal_number", "code"),
    [
        ("cards", signal.SIGINT, 130),
        ("near-miss", signal.SIGINT, 130),
        ("metrics", signal.SIGINT, 130),
        ("report", signal.SIGINT, 130),
        ("report", signal.SIGTERM, 143),
    ],
)
def test_signal_while_writing_leaves_files_unchanged(
    workspace: Path,
    tmp_path_factory: pytest.TempPathFactory,
    stage: str,
    signal_number: int,
    code: int,
) -> None:
    old_files = read_folder_bytes(workspace)
    ready = tmp_path_factory.mktemp("signal") / "ready"
    with subprocess.Popen(
        block_at_fsync(ready, *STAGE_COMMANDS[stage]), cwd=workspace, stderr=subprocess.PIPE
    ) as process:
        wait_for_condition(ready.exists, process)
        assert len(read_folder_bytes(workspace)) > len(old_files), "the temporary file exists"
        process.send_signal(signal_number)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == code
    interrupted = b"interrupted: what was finished is saved\n"
    assert stderr == (interrupted if signal_number == signal.SIGINT else b"")
    assert read_folder_bytes(workspace) == old_files


@pytest.mark.parametrize(
    "arguments",
    [
        ("cards", "--num-per-type", 20_000, "--out", "cards.jsonl"),
        (*STAGE_COMMANDS["metrics"], "--resamples", 400_000),
    ],
    ids=["cards", "metrics"],
)
def test_ctrl_c_during_work_leaves_files_unchanged(
    workspace: Path, arguments: tuple[object, ...]
) -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("processor time of a process is read from /proc")
    old_files = read_folder_bytes(workspace)
    with subprocess.Popen(
        command_line(*arguments), cwd=workspace, stderr=subprocess.PIPE
    ) as process:
        # After 1.5 s of CPU time the libraries are imported and the work has begun.
        wait_for_condition(lambda: read_cpu_seconds(process.pid) > 1.5, process)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr == b"interrupted: what was finished is saved\n"
    assert read_folder_bytes(workspace) == old_files


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_during_imports_prints_no_traceback(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    program = (
        "import sys, types\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer':\n"
        "            import pathlib, time\n"
        "            pathlib.Path('ready').touch()\n"
        "            time.sleep(60)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from epoche.__main__ import main\n"
        "main()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.PIPE
    ) as process:
        wait_for_condition((tmp_path / "ready").exists, process)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (code, b"interrupted\n" if code == 130 else b"")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_end_a_command(workspace: Path, closed: str) -> None:
    command = shlex.join(command_line(*STAGE_COMMANDS["metrics"]))
    result = run_process(["bash", "-c", f"{command} {closed}"], workspace)
    assert (result.code, result.err) == (0, "")
    assert (workspace / "metrics.json").read_bytes().startswith(b"{")


def test_ctrl_c_between_answers_keeps_finished_rows(workspace: Path) -> None:
    (workspace / "slow.py").write_text(
        "import pathlib, time\n"
        "from eval.abstention.result import Answer\n"
        "class Slow:\n"
        "    name = 'slow'\n"
        "    asked = 0\n"
        "    def params(self):\n"
        "        return {}\n"
        "    def answer(self, view):\n"
        "        self.asked += 1\n"
        "        if self.asked == 4:\n"
        "            pathlib.Path('ready').touch()\n"
        "            time.sleep(60)\n"
        "        return Answer(pred='NO')\n"
    )
    command = command_line(
        *("eval", "--cards", "cards.jsonl", "--system", "slow:Slow", "--out", "slow.jsonl")
    )
    with subprocess.Popen(command, cwd=workspace, stderr=subprocess.PIPE) as process:
        wait_for_condition((workspace / "ready").exists, process)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr == b"interrupted: what was finished is saved\n"
    assert (workspace / "slow.jsonl").read_bytes().count(b"\n") == 3
    assert read_manifest(workspace / "slow.manifest.json").status == "interrupted"
    assert not [name for name in read_folder_bytes(workspace) if name.startswith(".")]


@pytest.mark.parametrize(
    "arguments",
    [("kg", "inspect", "--domain", "rivers"), ("schema", "card"), ("kg", "inspect", "--json")],
    ids=" ".join,
)
def test_closed_pipe_exits_with_0(workspace: Path, arguments: tuple[str, ...]) -> None:
    with subprocess.Popen(
        command_line(*arguments), cwd=workspace, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # Closes the reading end of the pipe as `| head -1` does, but before anything is written.
        process.stdout.close()
        stderr = process.stderr.read()
    assert process.returncode == 0
    assert stderr == b""


def test_unencodable_letters_do_not_end_a_run(workspace: Path) -> None:
    result = run_process(
        command_line(*STAGE_COMMANDS["metrics"]), workspace, PYTHONIOENCODING="ascii"
    )
    assert result.code == 0, result.err
    assert "metrics.json" in result.out
    failure = run_process(
        command_line(*STAGE_COMMANDS["cards"], "--pred", "Müller"),
        workspace,
        PYTHONIOENCODING="ascii",
    )
    assert "M\\xfcller" in check_error_line(failure, 6)


_INTERRUPTED_START = """
import os, signal, sys, types

cli = types.ModuleType("epoche.cli")
cli.main = lambda: os.kill(os.getpid(), signal.SIGINT)
sys.modules["epoche.cli"] = cli
from epoche.__main__ import main
main()
"""


def test_ctrl_c_before_a_command_begins_prints_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_START], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_little_is_imported_before_ctrl_c_is_handled() -> None:
    code = (
        "import sys; old = set(sys.modules); import epoche.__main__; print(*{*sys.modules} - old)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    light_modules = {"collections", "enum", "functools", "itertools", "keyword", "operator"}
    light_modules |= {"reprlib", "signal", "types"}
    names = {name for name in done.stdout.split() if not name.startswith("_")}
    assert names - light_modules == {"epoche", "epoche.__main__"}
