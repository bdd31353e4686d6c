"""Tests that only all complete shards of one run are merged, and that errors name the reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cards.card import CardView
from eval.abstention.manifest import read_manifest, write_manifest
from eval.abstention.runner import run
from eval.abstention.shard_merger import merge_shards
from eval.harness.journals.row_layout import Shard
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


class QuestionLengthSystem:
    """Answers YES or NO by the length of the question, so that rows differ."""

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
    return [run_shard(cards, tmp_path / f"s{number}.jsonl", number) for number in (1, 2, 3)]


def run_shard(cards: Path, out: Path, number: int, count: int = 3, **options: Any) -> Path:
    system = options.pop("system", None) or QuestionLengthSystem()
    shard = Shard(number, count)
    run(cards, [system], out, system_name="echo", shard=shard, overwrite=True, **options)
    return out


def test_shard_manifest_names_its_shard(shards: list[Path], tmp_path: Path) -> None:
    manifest = read_manifest(manifest_path(shards[1]))
    assert (manifest.shard, manifest.rows_expected, sum(manifest.counts.values())) == ("2/3", 3, 3)
    with pytest.raises(CardSetMismatchError, match="another shard: '2/3', now '1/3'"):
        run(
            tmp_path / "cards.jsonl",
            [QuestionLengthSystem()],
            shards[1],
            system_name="echo",
            shard=Shard(1, 3),
        )


def get_merge_error(shards: list[Path], out: Path, error_type: type[EpocheError]) -> str:
    with pytest.raises(error_type) as caught:
        merge_shards(shards, out)
    assert not out.exists()
    assert not manifest_path(out).exists()
    return caught.value.format_line()


def test_missing_shards_and_answers_are_listed(shards: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "m.jsonl"
    assert "missing: 1/3, 3/3" in get_merge_error([shards[1]], out, IncompleteRunError)
    lines = shards[0].read_bytes().splitlines(keepends=True)
    shards[0].write_bytes(b"".join(lines[:2]) + lines[2][:20])
    shards[2].write_bytes(b"")
    message = get_merge_error(shards, out, IncompleteRunError)
    missing_cards = "card 'id00006' of echo, card 'id00009' of echo;"
    assert f"2 answers are missing from shard 1/3: {missing_cards}" in message
    missing_cards = "card 'id00002' of echo, card 'id00005' of echo"
    assert f"3 answers are missing from shard 3/3: {missing_cards}" in message


def test_only_shards_of_one_run_are_merged(
    shards: list[Path], card_file: CardFile, tmp_path: Path
) -> None:
    out, cards = tmp_path / "m.jsonl", tmp_path / "cards.jsonl"
    assert "are both shard 1/3" in get_merge_error([*shards, shards[0]], out, CardSetMismatchError)
    other_shard = run_shard(cards, tmp_path / "o.jsonl", 3, system=QuestionLengthSystem(top_k=2))
    message = get_merge_error([*shards[:2], other_shard], out, CardSetMismatchError)
    assert "differ in params: top_k 2, there None" in message
    other_shard = run_shard(cards, tmp_path / "o.jsonl", 3, count=4)
    assert "is shard 3/4" in get_merge_error([*shards[:2], other_shard], out, CardSetMismatchError)
    other_shard = run_shard(cards, tmp_path / "o.jsonl", 3, limit=8)
    assert "differ in limit: 8, there None" in get_merge_error(
        [*shards[:2], other_shard], out, CardSetMismatchError
    )
    other_shard = run_shard(card_file(11, "more.jsonl"), tmp_path / "o.jsonl", 3)
    assert "differ in cards_sha256" in get_merge_error(
        [*shards[:2], other_shard], out, CardSetMismatchError
    )


def test_unexpected_rows_are_named(shards: list[Path], tmp_path: Path) -> None:
    out, first_rows = tmp_path / "m.jsonl", shards[0].read_bytes()
    shards[0].write_bytes(first_rows + shards[1].read_bytes().splitlines(keepends=True)[0])
    assert "not in shard 1/3" in get_merge_error(shards, out, CardSetMismatchError)
    shards[0].write_bytes(first_rows + first_rows.splitlines(keepends=True)[0])
    assert "answered twice" in get_merge_error(shards, out, DuplicateIdError)
    shards[0].write_bytes(first_rows.replace(b"id00003", b"strange"))
    assert "s1.jsonl:2" in get_merge_error(shards, out, RecordError)


def test_missing_card_file_is_named(shards: list[Path], tmp_path: Path) -> None:
    out, cards = tmp_path / "m.jsonl", tmp_path / "cards.jsonl"
    moved = cards.rename(tmp_path / "moved.jsonl")
    assert "--cards" in get_merge_error(shards, out, MissingFileError)
    moved.write_text(moved.read_text() + "\n")
    with pytest.raises(CardSetMismatchError, match="not the cards"):
        merge_shards(shards, out, moved)
    moved.write_text(moved.read_text()[:-1])
    assert merge_shards(shards, out, moved).cards_file == "moved.jsonl"


def test_shard_is_never_overwritten(shards: list[Path], tmp_path: Path) -> None:
    before = shards[0].read_bytes()
    for out in (shards[0], tmp_path / "cards.jsonl"):
        with pytest.raises(WriteError, match="would overwrite"):
            merge_shards(shards, out)
    assert shards[0].read_bytes() == before


def test_different_library_versions_are_reported(
    shards: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest_file = manifest_path(shards[2])
    write_manifest(manifest_file, replace(read_manifest(manifest_file), versions={"python": "9"}))
    merge_shards(shards, tmp_path / "m.jsonl")
    assert "other library versions" in capsys.readouterr().err
