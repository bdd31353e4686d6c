"""Tests that a run and its link exist at every moment while they are replaced."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kg.text.run import replacement
from kg.text.run.replacement import point_link, replace_folder

MIN_REPLACEMENTS, MIN_READS = 500, 5_000
"""Minimum numbers of replacements and of reads meanwhile; enough to notice a missing folder."""


def observe_during(
    replace: Callable[[int], None], read_content: Callable[[], object]
) -> set[object]:
    """Returns everything that ``read_content`` returns or raises during replacements.

    ``replace`` is called with 0, 1, 2, … until there were enough replacements and reads, however
    busy the machine is.
    """
    observations: set[object] = set()
    n_reads, stop = 0, threading.Event()

    def watch_folder() -> None:
        nonlocal n_reads
        while not stop.is_set():
            try:
                observations.add(read_content())
            except OSError as error:
                observations.add(type(error))
            n_reads += 1

    watcher = threading.Thread(target=watch_folder)
    watcher.start()
    try:
        turn_number = 0
        while turn_number < MIN_REPLACEMENTS or n_reads < MIN_READS:
            replace(turn_number)
            turn_number += 1
    finally:
        stop.set()
        watcher.join()
    return observations


def test_latest_is_switched_in_one_step(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    point_link(tmp_path / "latest", "one")
    observations = observe_during(
        lambda turn: point_link(tmp_path / "latest", ("two", "one")[turn % 2]),
        (tmp_path / "latest" / "file").read_text,
    )
    assert observations == {"one", "two"}
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
    assert observe_during(write_turn, (tmp_path / "run" / "file").read_text) == {"one", "two"}
