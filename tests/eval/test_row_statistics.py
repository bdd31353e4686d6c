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
from eval.abstention.row_statistics.record import (
    RowStatistics,
    Strings,
    read_statistics,
    statistics_path,
)
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


def read_content(folder: Path) -> RowStatistics:
    path = statistics_path(folder / "rag.jsonl")
    return msgspec.msgpack.decode(path.read_bytes(), type=RowStatistics)


def rewrite_statistics(folder: Path, *, forge: bool = True, **changes: object) -> None:
    """Changes fields of the statistics; ``forge`` enters their new hash in the manifest."""
    path = statistics_path(folder / "rag.jsonl")
    statistics = msgspec.structs.replace(read_content(folder), **changes)
    path.write_bytes(msgspec.msgpack.encode(statistics))
    if forge:
        edit_manifest(folder, statistics_sha256=sha256_file(path))


def edit_manifest(folder: Path, **changes: object) -> None:
    """Changes fields of the manifest; removes those that are None."""
    path = folder / "rag.manifest.json"
    fields = {**json.loads(path.read_bytes()), **changes}
    removed = {name for name, value in changes.items() if value is None}
    write_edited_manifest(path, {name: fields[name] for name in fields if name not in removed})


def use_other_statistics(folder: Path) -> None:
    path = statistics_path(folder / "rag.jsonl")
    path.write_bytes(statistics_path(folder / "rag.1.jsonl").read_bytes())
    edit_manifest(folder, statistics_sha256=sha256_file(path))


def pack_ends(*ends: int) -> bytes:
    return np.array(ends, "<u8").tobytes()


def change_column(folder: Path, name: str, number: int) -> None:
    """Changes the number of the second card in a column."""
    column = np.frombuffer(read_content(folder).__getattribute__(name), "<i4").copy()
    column[1] = number
    rewrite_statistics(folder, **{name: column.tobytes()})


def change_ends(folder: Path, change: Callable[[list[int]], object]) -> None:
    ids = read_content(folder).ids
    ends = np.frombuffer(ids.ends, "<u8").tolist()
    change(ends)
    rewrite_statistics(folder, ids=msgspec.structs.replace(ids, ends=pack_ends(*ends)))


def change_ids(folder: Path, content: bytes, *ends: int) -> None:
    """Replaces the first id; the others keep their content."""
    ids = read_content(folder).ids
    old_ends = np.frombuffer(ids.ends, "<u8").tolist()
    n_more = len(content) - old_ends[0]
    moved = (*ends, *(end + n_more for end in old_ends[len(ends) :]))
    content += ids.content[old_ends[0] :]
    rewrite_statistics(folder, ids=Strings(content, pack_ends(*moved)))


def repeat_first_id(folder: Path) -> None:
    strings = read_content(folder).ids.unpack()
    packed = PackedStrings([strings[0], *strings[1:-1], strings[0]])
    rewrite_statistics(folder, ids=Strings(*packed.to_bytes()))


def change_answers(folder: Path, **changes: object) -> None:
    (answers,) = read_content(folder).answers
    rewrite_statistics(folder, answers=[msgspec.structs.replace(answers, **changes)])


def replace_first(column: bytes, value: int) -> bytes:
    return bytes([value]) + column[1:]


def write_confidences(folder: Path, confidence: float) -> None:
    n = len(read_content(folder).ids)
    change_answers(folder, confidences=np.full(n, confidence, "<f8").tobytes())


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
    "with half an end": lambda folder: rewrite_statistics(
        folder, ids=msgspec.structs.replace(ids := read_content(folder).ids, ends=ids.ends + b"1")
    ),
    "with ends that descend": lambda folder: change_ends(folder, list.reverse),
    "with an end in between": lambda folder: change_ends(
        folder, lambda ends: ends.__setitem__(1, 0)
    ),
    "with ends beyond the ids": lambda folder: change_ends(
        folder, lambda ends: ends.__setitem__(-1, ends[-1] + 9)
    ),
    "with a huge end": lambda folder: change_ends(
        folder, lambda ends: ends.__setitem__(0, (1 << 64) - 1)
    ),
    "with ids that are no text": lambda folder: change_ids(folder, b"\xff\xff", 2),
    "with an id that ends in a character": lambda folder: change_ids(folder, "é".encode(), 1),
    "with ids that occur twice": repeat_first_id,
    "with negative traits": lambda folder: change_column(folder, "traits", -1),
    "with negative triplets": lambda folder: change_column(folder, "triplets", -5),
    "with negative clusters": lambda folder: change_column(folder, "clusters", -2),
    "with an unknown label": lambda folder: rewrite_statistics(
        folder, labels=replace_first(read_content(folder).labels, 3)
    ),
    "with an unknown gold": lambda folder: rewrite_statistics(
        folder, golds=replace_first(read_content(folder).golds, 255)
    ),
    "with an unknown prediction": lambda folder: change_answers(
        folder, preds=replace_first(read_content(folder).answers[0].preds, 5)
    ),
    "with a missing answer": lambda folder: change_answers(
        folder, preds=replace_first(read_content(folder).answers[0].preds, 255)
    ),
    "with a negative repeat": lambda folder: change_answers(folder, repeat=-1),
    "with answers that occur twice": lambda folder: rewrite_statistics(
        folder, answers=2 * read_content(folder).answers
    ),
    "with a confidence of 7": lambda folder: write_confidences(folder, 7.0),
    "with an infinite confidence": lambda folder: write_confidences(folder, float("inf")),
    "with a damaged digest": lambda folder: rewrite_statistics(folder, rows_digest="²"),
}


@pytest.mark.parametrize("change", STALE)
def test_stale_statistics_are_not_used(folder: Path, change: str) -> None:
    assert read_statistics(folder / "rag.jsonl") is not None
    before = measure(folder, "rag")
    STALE[change](folder)
    assert read_statistics(folder / "rag.jsonl") is None
    if change != "of a run that goes on":
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


def test_statistics_of_another_version_are_no_difference(folder: Path) -> None:
    rewrite_statistics(folder, version="0.0.1")
    verified = run_epoche("verify", folder / "rag.jsonl")
    assert verified.code == 0, verified.out
    assert "version 0.0.1 of Epoché wrote it" in verified.out
    assert "rows in statistics" not in verified.out


def test_statistics_that_the_manifest_does_not_name_are_no_difference(folder: Path) -> None:
    shutil.copy(statistics_path(folder / "rag.1.jsonl"), statistics_path(folder / "rag.jsonl"))
    verified = run_epoche("verify", folder / "rag.jsonl")
    assert verified.code == DIFFERS
    assert "rag.statistics.msgpack: content is " in verified.out
    edit_manifest(folder, statistics_sha256=None)
    verified = run_epoche("verify", folder / "rag.jsonl")
    assert verified.code == 0, verified.out


def test_statistics_are_deleted_with_their_rows(folder: Path) -> None:
    out = folder / "rag.1.jsonl"
    flags = ("--cards", folder / "cards.jsonl", "--system", "rag", "--out", out, "--overwrite")
    stopped = run_epoche("eval", *flags, "--limit", 0)
    assert stopped.code, "refused before anything was deleted"
    assert statistics_path(out).is_file()
    assert run_epoche("eval", *flags).code == 0
    assert not statistics_path(out).exists()
    assert run_epoche("verify", out).code == 0


def test_a_merge_without_statistics_deletes_older_ones(folder: Path) -> None:
    statistics_path(folder / "rag.2.jsonl").unlink()
    (folder / "rag.jsonl").unlink()
    shards = [folder / f"{name}.jsonl" for name in list_shards("rag")]
    assert run_epoche("merge", *shards, "--out", folder / "rag.jsonl").code == 0
    assert not statistics_path(folder / "rag.jsonl").exists()


def test_a_shard_without_cards_has_no_statistics(folder: Path) -> None:
    shards = [folder / f"few.{number}.jsonl" for number in range(1, 4)]
    for number, out in enumerate(shards, start=1):
        flags = ("--system", "rag", "--limit", 2, "--shard", f"{number}/3", "--out", out)
        done = run_epoche("eval", "--cards", folder / "cards.jsonl", *flags)
        assert done.code == 0, done.err
    assert [statistics_path(out).exists() for out in shards] == [True, True, False]
    merged = folder / "few.jsonl"
    assert run_epoche("merge", *shards, "--out", merged).code == 0
    assert read_statistics(merged) == compute_statistics(merged, ResultReader())
    assert run_epoche("verify", merged).code == 0


def test_strings_are_the_same_after_they_were_packed() -> None:
    strings = PackedStrings(["", "a\nb", "é\0", "\ud800", "a"])
    content, ends = strings.to_bytes()
    assert list(PackedStrings.from_bytes(content, np.frombuffer(ends, "<u8"))) == list(strings)
