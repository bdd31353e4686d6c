"""Full disks, Ctrl-C, SIGTERM, readers that go away: what stood stays, nothing is left over."""

from __future__ import annotations

import os
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
    call,
    command,
    cpu_seconds,
    epoche,
    error_line,
    held_at_fsync,
    snapshot,
    starved,
    wait_for,
)

from eval.manifest import read_manifest

MAYORS = ("--domain", "mayors")
REPORT = ("report", "--results", "kg.jsonl", "--metrics", "metrics.json")
WRITERS: dict[str, tuple[object, ...]] = {
    "cards": ("cards", *MAYORS, "--num-per-type", 6, "--out", "cards.jsonl"),
    "near-miss": ("near-miss", *MAYORS, "--num", 6, "--out", "cards.jsonl"),
    "join": ("join", "near.jsonl", "cards.jsonl", "--out", "other.jsonl"),
    "metrics": ("metrics", "--results", "kg.jsonl", "--resamples", 100, "--out", "metrics.json"),
    "compare": ("compare", "kg.jsonl", "controls.jsonl", "--out", "report.json"),
    "report": (*REPORT, "--out", "report.html"),
    "inspect": ("kg", "inspect", *MAYORS, "--out", "report.html"),
}
"""A command per stage that writes all or nothing, over a file that is there already."""


@pytest.mark.parametrize("stage", WRITERS)
def test_a_full_disk_while_writing(shop: Path, stage: str) -> None:
    before = snapshot(shop)
    limit = 1_000
    line = error_line(call(starved(command(*WRITERS[stage]), limit), shop), 15)
    assert "cannot write" in line
    assert str(WRITERS[stage][-1]) in line
    assert "free space or choose another --out" in line
    assert snapshot(shop) == before


def test_cards_and_their_manifest_change_together(shop: Path) -> None:
    manifest = shop / "cards.manifest.json"
    manifest.unlink()
    manifest.mkdir()
    (manifest / "in the way").touch()
    before = snapshot(shop)
    for stage in ("cards", "near-miss"):
        assert "cards.manifest.json" in error_line(epoche(*WRITERS[stage]), 15)
    (shop / "report.json").unlink()
    (shop / "report.json").mkdir()
    page = (shop / "report.html").read_bytes()
    error_line(epoche(*WRITERS["report"]), 15)
    assert (shop / "report.html").read_bytes() == page
    del before["report.json"]
    assert snapshot(shop) == before


def test_a_full_disk_while_answers_come(shop: Path) -> None:
    asked = ("eval", "--cards", "cards.jsonl", "--system", "kg", *MAYORS, "--out", "new.jsonl")
    line = error_line(call(starved(command(*asked), 2_500), shop), 15)
    assert "new.jsonl" in line
    rows = (shop / "new.jsonl").read_bytes()
    assert rows.endswith(b"\n")
    assert 0 < len(rows) <= 2_500
    assert call(command(*asked), shop).code == 0
    whole = (shop / "new.jsonl").read_bytes()
    assert whole.startswith(rows)
    assert whole == (shop / "kg.jsonl").read_bytes()


def test_a_file_system_with_no_room(shop: Path) -> None:
    room = shop / "room"
    room.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(room)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can make a file system this small")
    try:
        (room / "cards.jsonl").write_text("old\n")
        for stage in ("cards", "report"):
            out = room / Path(str(WRITERS[stage][-1])).name
            line = error_line(epoche(*WRITERS[stage][:-1], out), 15)
            assert "No space left on device" in line
        assert snapshot(room) == {"cards.jsonl": b"old\n"}
    finally:
        subprocess.run(["umount", str(room)], check=True)


def test_standard_output_to_a_full_device(shop: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command("kg", "inspect", *MAYORS), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 15
    assert done.stderr.decode().count("\n") == 1
    assert b"standard output" in done.stderr


FOLDERS = {
    "a folder": (".", "it is a folder"),
    "nothing": ("", "it is a folder"),
    "a device": ("/dev/null", "not an ordinary file"),
    "below a file": ("kg.jsonl/new.json", "a part of its path is a file"),
    "no folder to be made": ("/proc/epoche/new.json", "No such file"),
    "too long": ("n" * 300, "File name too long"),
}


@pytest.mark.parametrize("where", FOLDERS)
@pytest.mark.parametrize("stage", [*WRITERS, "eval"])
def test_an_output_that_cannot_be_written(shop: Path, stage: str, where: str) -> None:
    out, said = FOLDERS[where]
    asked = ("eval", "--cards", "cards.jsonl", "--system", "always-NO", "--out", "")
    before = snapshot(shop)
    line = error_line(epoche(*(WRITERS.get(stage) or asked)[:-1], out), 15)
    assert said in line
    assert snapshot(shop) == before
    assert Path("/dev/null").is_char_device()


@pytest.fixture
def nobody(made: Path) -> Iterator[Path]:
    """A folder, and the rights of a user whom permissions bind (root's pass over them).

    ``made`` has imported what the stages need: that user may not even read the libraries.
    """
    folder = Path(tempfile.mkdtemp(prefix="epoche-", dir="/tmp"))
    root = os.geteuid() == 0
    if root:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o700)
        shutil.rmtree(folder)


def test_files_and_folders_without_permission(nobody: Path) -> None:
    closed, secret = nobody / "closed", nobody / "secret.jsonl"
    closed.mkdir(mode=0o500)
    secret.touch(mode=0o000)
    shutil.copy(GRAPH, nobody / "secret.ttl")
    (nobody / "secret.ttl").chmod(0o000)
    line = error_line(epoche(*WRITERS["cards"][:-1], closed / "c.jsonl"), 15)
    assert "Permission denied" in line
    assert "closed/c.jsonl" in line
    for arguments in (
        ("kg", "inspect", "--kg", nobody / "secret.ttl"),
        ("audit", secret),
        ("metrics", "--results", secret, "--out", nobody / "m.json"),
        ("eval", "--cards", secret, "--system", "always-NO", "--out", nobody / "r.jsonl"),
    ):
        line = error_line(epoche(*arguments), 3)
        assert "secret." in line
        assert "ermission" in line
    assert not list(closed.iterdir())
    assert {path.name for path in nobody.iterdir()} == {"closed", "secret.jsonl", "secret.ttl"}


@pytest.mark.parametrize(
    ("arguments", "lost"),
    [
        (("metrics", "--results", "kg.jsonl", "--out", "kg.jsonl"), "kg.jsonl"),
        (("compare", "kg.jsonl", "controls.jsonl", "--out", "controls.jsonl"), "controls.jsonl"),
        (("join", "near.jsonl", "cards.jsonl", "--out", "near.jsonl"), "near.jsonl"),
        (("eval", "--cards", "cards.jsonl", "--system", "kg", "--out", "cards.jsonl"), "cards"),
    ],
    ids=["metrics", "compare", "join", "eval"],
)
def test_no_stage_overwrites_what_it_reads(
    shop: Path, arguments: tuple[object, ...], lost: str
) -> None:
    before = snapshot(shop)
    assert "take the place" in error_line(epoche(*arguments), 15)
    line = error_line(epoche(*REPORT, "--out", "metrics.json"), 19)
    assert "overwrite" in line
    assert snapshot(shop) == before


def test_a_linked_output_stays_a_link(shop: Path) -> None:
    (shop / "disk2").mkdir()
    (shop / "disk2" / "m.json").write_text("old")
    (shop / "m.json").symlink_to("disk2/m.json")
    assert epoche(*WRITERS["metrics"][:-1], "m.json").code == 0
    assert (shop / "m.json").is_symlink()
    assert (shop / "disk2" / "m.json").read_bytes().startswith(b"{")


@pytest.mark.parametrize(
    ("stage", "sent", "code"),
    [
        ("cards", signal.SIGINT, 130),
        ("near-miss", signal.SIGINT, 130),
        ("metrics", signal.SIGINT, 130),
        ("report", signal.SIGINT, 130),
        ("report", signal.SIGTERM, 143),
    ],
)
def test_a_signal_while_the_output_is_written(
    shop: Path, tmp_path_factory: pytest.TempPathFactory, stage: str, sent: int, code: int
) -> None:
    before = snapshot(shop)
    ready = tmp_path_factory.mktemp("signal") / "ready"
    with subprocess.Popen(
        held_at_fsync(ready, *WRITERS[stage]), cwd=shop, stderr=subprocess.PIPE
    ) as process:
        wait_for(ready.exists, process)
        assert len(snapshot(shop)) > len(before), "written, not yet in its place"
        process.send_signal(sent)
        _, said = process.communicate(timeout=30)
    assert process.returncode == code
    interrupted = b"interrupted: what was finished is saved\n"
    assert said == (interrupted if sent == signal.SIGINT else b"")
    assert snapshot(shop) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("cards", "--num-per-type", 20_000, "--out", "cards.jsonl"),
        (*WRITERS["metrics"], "--resamples", 400_000),
    ],
    ids=["cards", "metrics"],
)
def test_ctrl_c_in_the_middle_of_the_work(shop: Path, arguments: tuple[object, ...]) -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("processor time of a process is read from /proc")
    before = snapshot(shop)
    with subprocess.Popen(command(*arguments), cwd=shop, stderr=subprocess.PIPE) as process:
        wait_for(lambda: cpu_seconds(process.pid) > 1.5, process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said == b"interrupted: what was finished is saved\n"
    assert snapshot(shop) == before


def test_ctrl_c_between_answers_keeps_those_given(shop: Path) -> None:
    (shop / "slow.py").write_text(
        "import pathlib, time\n"
        "from eval.result import Answer\n"
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
    asked = ("eval", "--cards", "cards.jsonl", "--system", "slow:Slow", "--out", "slow.jsonl")
    with subprocess.Popen(command(*asked), cwd=shop, stderr=subprocess.PIPE) as process:
        wait_for((shop / "ready").exists, process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said == b"interrupted: what was finished is saved\n"
    assert (shop / "slow.jsonl").read_bytes().count(b"\n") == 3
    assert read_manifest(shop / "slow.manifest.json").status == "interrupted"
    assert not [name for name in snapshot(shop) if name.startswith(".")]


@pytest.mark.parametrize(
    "arguments",
    [("kg", "inspect", "--domain", "rivers"), ("schema", "card"), ("kg", "inspect", "--json")],
    ids=" ".join,
)
def test_a_reader_that_goes_away_is_no_failure(shop: Path, arguments: tuple[str, ...]) -> None:
    with subprocess.Popen(
        command(*arguments), cwd=shop, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # What `| head -1` does, and at once: nobody reads.
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 0
    assert said == b""


def test_letters_a_console_lacks_do_not_end_a_run(shop: Path) -> None:
    done = call(command(*WRITERS["metrics"]), shop, PYTHONIOENCODING="ascii")
    assert done.code == 0, done.err
    assert "metrics.json" in done.out
    failed = call(command(*WRITERS["cards"], "--pred", "Müller"), shop, PYTHONIOENCODING="ascii")
    assert "M\\xfcller" in error_line(failed, 6)
