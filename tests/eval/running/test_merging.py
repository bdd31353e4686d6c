"""Merging: only shards of one run, all of them, each whole; the rest is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from cards.card import CardView
from eval.manifest import read_manifest, write_manifest
from eval.merging import merge
from eval.runner import run
from eval.running.places import Shard
from kg.base.errors import (
    CardSetMismatchError,
    DuplicateIdError,
    EpocheError,
    IncompleteRunError,
    MissingFileError,
    RecordError,
    WriteError,
)
from kg.base.provenance import manifest_path

CardFile = Callable[..., Path]


class Echo:
    def __init__(self, name: str = "echo", **params: Any) -> None:
        self.name = name
        self._params = params

    def params(self) -> dict[str, Any]:
        return self._params

    def answer(self, card: CardView) -> str:
        return ("YES", "NO")[len(card.question) % 2]


@pytest.fixture
def shards(card_file: CardFile, tmp_path: Path) -> list[Path]:
    cards = card_file(10)
    return [shard_of(cards, tmp_path / f"s{number}.jsonl", number) for number in (1, 2, 3)]


def shard_of(cards: Path, out: Path, number: int, count: int = 3, **options: Any) -> Path:
    system = options.pop("system", None) or Echo()
    shard = Shard(number, count)
    run(cards, [system], out, asked_as="echo", shard=shard, overwrite=True, **options)
    return out


def test_a_shard_is_a_run_of_its_own_kind(shards: list[Path], tmp_path: Path) -> None:
    manifest = read_manifest(manifest_path(shards[1]))
    assert (manifest.shard, manifest.rows_expected, sum(manifest.counts.values())) == ("2/3", 3, 3)
    with pytest.raises(CardSetMismatchError, match="another shard: '2/3', now '1/3'"):
        run(tmp_path / "cards.jsonl", [Echo()], shards[1], asked_as="echo", shard=Shard(1, 3))


def test_merged_is_what_one_run_writes(
    shards: list[Path], card_file: CardFile, tmp_path: Path
) -> None:
    run(card_file(10), [Echo()], tmp_path / "one" / "r.jsonl", asked_as="echo")
    merged = merge([shards[2], shards[0], shards[1]], tmp_path / "all" / "r.jsonl")
    assert (tmp_path / "all" / "r.jsonl").read_bytes() == (
        tmp_path / "one" / "r.jsonl"
    ).read_bytes()
    one: dict[str, Any] = msgspec.to_builtins(read_manifest(tmp_path / "one" / "r.manifest.json"))
    assert msgspec.to_builtins(merged) == {
        **one,
        "started": merged.started,
        "ended": merged.ended,
    }
    # What was merged can be gone on with, as if it had been one run.
    more = run(card_file(10), [Echo()], tmp_path / "all" / "r.jsonl", asked_as="echo", repeats=2)
    assert (more.asked, more.kept) == (10, 10)


def refused(shards: list[Path], out: Path, kind: type[EpocheError]) -> str:
    with pytest.raises(kind) as caught:
        merge(shards, out)
    assert not out.exists()
    assert not manifest_path(out).exists()
    return caught.value.one_line()


def test_what_is_missing_is_listed(shards: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "m.jsonl"
    assert "not given: 1/3, 3/3" in refused([shards[1]], out, IncompleteRunError)
    lines = shards[0].read_bytes().splitlines(keepends=True)
    shards[0].write_bytes(b"".join(lines[:2]) + lines[2][:20])
    shards[2].write_bytes(b"")
    said = refused(shards, out, IncompleteRunError)
    assert "shard 1/3 lacks 2 answers: card 'id00006' of echo, card 'id00009' of echo;" in said
    assert "shard 3/3 lacks 3 answers: card 'id00002' of echo, card 'id00005' of echo" in said


def test_only_shards_of_one_run(shards: list[Path], card_file: CardFile, tmp_path: Path) -> None:
    out, cards = tmp_path / "m.jsonl", tmp_path / "cards.jsonl"
    assert "are both shard 1/3" in refused([*shards, shards[0]], out, CardSetMismatchError)
    other = shard_of(cards, tmp_path / "o.jsonl", 3, system=Echo(top_k=2))
    said = refused([*shards[:2], other], out, CardSetMismatchError)
    assert "differ in params: top_k 2, there None" in said
    other = shard_of(cards, tmp_path / "o.jsonl", 3, count=4)
    assert "is shard 3/4" in refused([*shards[:2], other], out, CardSetMismatchError)
    other = shard_of(cards, tmp_path / "o.jsonl", 3, limit=8)
    assert "differ in limit: 8, there None" in refused(
        [*shards[:2], other], out, CardSetMismatchError
    )
    other = shard_of(card_file(11, "more.jsonl"), tmp_path / "o.jsonl", 3)
    assert "differ in cards_sha256" in refused([*shards[:2], other], out, CardSetMismatchError)


def test_rows_that_do_not_belong_are_named(shards: list[Path], tmp_path: Path) -> None:
    out, first = tmp_path / "m.jsonl", shards[0].read_bytes()
    shards[0].write_bytes(first + shards[1].read_bytes().splitlines(keepends=True)[0])
    assert "not of shard 1/3" in refused(shards, out, CardSetMismatchError)
    shards[0].write_bytes(first + first.splitlines(keepends=True)[0])
    assert "answered twice" in refused(shards, out, DuplicateIdError)
    shards[0].write_bytes(first.replace(b"id00003", b"strange"))
    assert "s1.jsonl:2" in refused(shards, out, RecordError)


def test_the_cards_are_found_or_named(shards: list[Path], tmp_path: Path) -> None:
    out, cards = tmp_path / "m.jsonl", tmp_path / "cards.jsonl"
    moved = cards.rename(tmp_path / "moved.jsonl")
    assert "--cards" in refused(shards, out, MissingFileError)
    moved.write_text(moved.read_text() + "\n")
    with pytest.raises(CardSetMismatchError, match="not the cards"):
        merge(shards, out, moved)
    moved.write_text(moved.read_text()[:-1])
    assert merge(shards, out, moved).cards_file == "moved.jsonl"


def test_a_shard_is_never_overwritten(shards: list[Path], tmp_path: Path) -> None:
    before = shards[0].read_bytes()
    for out in (shards[0], tmp_path / "cards.jsonl"):
        with pytest.raises(WriteError, match="take the place"):
            merge(shards, out)
    assert shards[0].read_bytes() == before


def test_other_library_versions_are_said(
    shards: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beside = manifest_path(shards[2])
    write_manifest(beside, replace(read_manifest(beside), versions={"python": "9"}))
    merge(shards, tmp_path / "m.jsonl")
    assert "other library versions" in capsys.readouterr().err


def test_the_command(shards: list[Path], tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from epoche.cli import app

    out = tmp_path / "m.jsonl"
    done = CliRunner().invoke(app, ["merge", *map(str, shards), "--out", str(out)])
    assert done.exit_code == 0
    assert "3 shards" in done.stdout
    assert len([json.loads(line) for line in out.read_text().splitlines()]) == 10
    assert CliRunner().invoke(app, ["merge", str(shards[0]), "--out", str(out)]).exit_code == 28
