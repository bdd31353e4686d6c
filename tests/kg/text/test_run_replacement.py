"""Replacing a run: the run and its link exist at every moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kg.text.run import replacement
from kg.text.run.replacement import point_link, replace_folder

TURNS, LOOKS = 500, 5_000
"""Minimum number of replacements and of looks in between: enough to notice a gap."""


def observe_while(replace: Callable[[int], None], look: Callable[[], object]) -> set[object]:
    """Everything ``look`` returns or raises while ``replace`` is called with 0, 1, 2, …

    Runs until there were enough replacements and looks, however busy the machine is.
    """
    seen: set[object] = set()
    looks, stop = 0, threading.Event()

    def watch_folder() -> None:
        nonlocal looks
        while not stop.is_set():
            try:
                seen.add(look())
            except OSError as error:
                seen.add(type(error))
            looks += 1

    watcher = threading.Thread(target=watch_folder)
    watcher.start()
    try:
        turn = 0
        while turn < TURNS or looks < LOOKS:
            replace(turn)
            turn += 1
    finally:
        stop.set()
        watcher.join()
    return seen


def test_latest_is_switched_in_one_step(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    point_link(tmp_path / "latest", "one")
    seen = observe_while(
        lambda turn: point_link(tmp_path / "latest", ("two", "one")[turn % 2]),
        (tmp_path / "latest" / "file").read_text,
    )
    assert seen == {"one", "two"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "one", "two"]


def test_a_run_is_replaced_in_one_step(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    if not replacement._exchange_folders(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this system cannot exchange two folders")

    def write_turn(turn: int) -> None:
        with replace_folder(tmp_path / "run", ("file",)) as folder:
            (folder / "file").write_text(("two", "one")[turn % 2])

    write_turn(1)
    assert observe_while(write_turn, (tmp_path / "run" / "file").read_text) == {"one", "two"}
