"""Tests that statistics beside shards give the numbers of their rows, and are never stale."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from servers import behaviours
from servers.scripted_server import ScriptedServer
from stage_calls import check_error_line, run_epoche, write_edited_manifest

from eval.abstention.metrics.reader import ResultReader
from eval.abstention.row_statistics.columns import compute_statistics
from eval.abstention.row_statistics.record import RowStatistics, read_statistics, statistics_path
from kg.base.files import sha256_file
from kg.base.packed_strings import PackedStrings

CHANGED, DIFFERS = 40, 39
N_SHARDS = 3
FEW = ("--resamples", 100)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with cards, shards of runs of one and of several systems, and what they merge to."""
    folder = tmp_path_factory.mktemp("shards")
    cards = folder / "cards.jsonl"
    made = run_epoche("cards", "--domain", "rivers", "--num-per-type", 5, "--out", cards)
    assert made.code == 0, made.err
    for name, flags in {"rag": (), "controls": ("--repeat", 2)}.items():
        shards = [folder / f"{name}.{number}.jsonl" for number in range(1, N_SHARDS + 1)]
        for number, shard in enumerate(shards, start=1):
            part = ("--shard", f"{number}/{N_SHARDS}", "--out", shard)
            done = run_epoche("eval", "--cards", cards, "--system", name, *flags, *part)
            assert done.code == 0, done.err
        merged = run_epoche("merge", *shards, "--out", folder / f"{name}.jsonl")
        assert merged.code == 0, merged.err
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / "copy")


def measure(folder: Path, *names: str) -> Any:
    """Returns the metrics of result files, without their digest and paths."""
    out = folder / "metrics.json"
    paths = [folder / f"{name}.jsonl" for name in names]
    done = run_epoche("metrics", *paths, *FEW, "--out", out)
    assert done.code == 0, done.err
    metrics = json.loads(out.read_bytes())
    del metrics["content_sha256"]
    for source in metrics["sources"]:
        source["manifest"].pop("content_sha256")
        source["manifest"].pop("statistics_sha256", None)
    return metrics


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_file(_self: ResultReader, path: Path, **_: object) -> None:
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(ResultReader, "read_file", read_file)


def list_shards(name: str) -> list[str]:
    return [f"{name}.{number}" for number in range(1, N_SHARDS + 1)]


FILES = [
    ("rag",),
    ("controls",),
    ("rag", "controls"),
    ("controls", "rag"),
    tuple(list_shards("rag")),
    (*list_shards("controls"), *list_shards("rag")),
]


@pytest.mark.parametrize("names", FILES)
def test_statistics_give_the_metrics_of_the_rows(
    folder: Path, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        forbid_reading(patch)
        from_statistics = measure(folder, *names)
    for name in names:
        statistics_path(folder / f"{name}.jsonl").unlink()
    assert measure(folder, *names) == from_statistics


def test_confidences_are_kept(
    folder: Path,
    scripted_server: ScriptedServer,
    scripted_model: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers = iter(range(1000))

    def reply(_request: behaviours.ChatRequest) -> str:
        number = next(numbers)
        answer = ("YES", "NO", "UNKNOWN")[number % 3]
        return json.dumps({"answer": answer, "confidence": (number % 7) / 7})

    scripted_server.behave(behaviours.normal_reply(reply))
    flags = ("--system", "raw", "--model", scripted_model, "--no-cache", "--concurrency", 1)
    for number in range(1, 3):
        part = ("--shard", f"{number}/2", "--out", folder / f"raw.{number}.jsonl")
        done = run_epoche("eval", "--cards", folder / "cards.jsonl", *flags, *part)
        assert done.code == 0, done.err
    shards = [folder / f"raw.{number}.jsonl" for number in range(1, 3)]
    merged = run_epoche("merge", *shards, "--out", folder / "raw.jsonl")
    assert merged.code == 0, merged.err
    with monkeypatch.context() as patch:
        forbid_reading(patch)
        from_statistics = measure(folder, "raw")
    statistics_path(folder / "raw.jsonl").unlink()
    assert measure(folder, "raw") == from_statistics
    assert '"brier"' in json.dumps(from_statistics)


@pytest.mark.parametrize("name", ["rag", "controls"])
def test_added_statistics_are_those_of_the_merged_rows(folder: Path, name: str) -> None:
    for path in [folder / f"{name}.jsonl", *(folder / f"{one}.jsonl" for one in list_shards(name))]:
        statistics = compute_statistics(path, ResultReader())
        assert msgspec.msgpack.encode(statistics) == statistics_path(path).read_bytes()
        assert read_statistics(path) == statistics
    verified = run_epoche("verify", folder / f"{name}.jsonl")
    assert verified.code == 0, verified.out
    assert " rows in statistics" in verified.out


def test_shards_without_statistics_are_merged(folder: Path) -> None:
    statistics_path(folder / "rag.2.jsonl").unlink()
    out = folder / "again.jsonl"
    shards = [folder / f"{name}.jsonl" for name in list_shards("rag")]
    assert run_epoche("merge", *shards, "--out", out).code == 0
    assert not statistics_path(out).exists()
    assert out.read_bytes() == (folder / "rag.jsonl").read_bytes()


def rewrite_statistics(folder: Path, *, forge: bool = True, **changes: object) -> None:
    """Changes fields of the statistics; ``forge`` enters their new hash in the manifest."""
    path = statistics_path(folder / "rag.jsonl")
    statistics = msgspec.msgpack.decode(path.read_bytes(), type=RowStatistics)
    path.write_bytes(msgspec.msgpack.encode(msgspec.structs.replace(statistics, **changes)))
    if forge:
        edit_manifest(folder, statistics_sha256=sha256_file(path))


def edit_manifest(folder: Path, **changes: object) -> None:
    path = folder / "rag.manifest.json"
    write_edited_manifest(path, {**json.loads(path.read_bytes()), **changes})


def use_other_statistics(folder: Path) -> None:
    path = statistics_path(folder / "rag.jsonl")
    path.write_bytes(statistics_path(folder / "rag.1.jsonl").read_bytes())
    edit_manifest(folder, statistics_sha256=sha256_file(path))


STALE: dict[str, Callable[[Path], object]] = {
    "edited": lambda folder: rewrite_statistics(folder, forge=False, labels=b"\0" * 15),
    "of another version": lambda folder: rewrite_statistics(folder, version="0.0.1"),
    "of another format": lambda folder: rewrite_statistics(folder, format="epoche.statistics/0"),
    "of other rows": lambda folder: rewrite_statistics(folder, rows_sha256="0" * 64),
    "of other cards": lambda folder: rewrite_statistics(folder, card_set="0" * 12),
    "of a shard": use_other_statistics,
    "with a short column": lambda folder: rewrite_statistics(folder, labels=b"\0"),
    "with an unknown number": lambda folder: rewrite_statistics(folder, distinct_traits=[]),
    "not in the manifest": lambda folder: edit_manifest(folder, statistics_sha256=None),
    "no statistics": lambda folder: statistics_path(folder / "rag.jsonl").write_bytes(b"{}"),
    "of a run that goes on": lambda folder: edit_manifest(folder, status="interrupted"),
}


@pytest.mark.parametrize("change", STALE)
def test_stale_statistics_are_not_used(folder: Path, change: str) -> None:
    assert read_statistics(folder / "rag.jsonl") is not None
    before = measure(folder, "rag")
    STALE[change](folder)
    assert read_statistics(folder / "rag.jsonl") is None
    if change not in ("not in the manifest", "of a run that goes on"):
        assert measure(folder, "rag") == before


def test_changed_rows_are_refused_all_the_same(folder: Path) -> None:
    path = folder / "rag.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"pred":"YES"', b'"pred":"NO"', 1))
    done = run_epoche("metrics", path, *FEW, "--out", folder / "m.json")
    assert "rag.jsonl:" in check_error_line(done, CHANGED)


def test_forged_statistics_are_found_by_verify(folder: Path) -> None:
    path = folder / "rag.jsonl"
    statistics = read_statistics(path)
    assert statistics is not None
    (answers,) = statistics.answers
    forged = msgspec.structs.replace(answers, preds=b"\0" * len(answers.preds))
    rewrite_statistics(folder, answers=[forged])
    verified = run_epoche("verify", path)
    assert verified.code == DIFFERS
    assert "rag.statistics.msgpack: content is others" in verified.out


def test_strings_are_the_same_after_they_were_packed() -> None:
    strings = PackedStrings(["", "a\nb", "é\0", "\ud800", "a"])
    content, ends = strings.to_bytes()
    assert list(PackedStrings.from_bytes(content, np.frombuffer(ends, "<u8"))) == list(strings)
