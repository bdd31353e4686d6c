"""However a run goes — at once, in shards, killed, out of order — it ends in the same bytes."""

from __future__ import annotations

import asyncio
import random
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cards.card import Card, CardView, write_cards
from eval.manifest import read_manifest, write_manifest
from eval.merging import merge
from eval.registry import AnySystem
from eval.result import Answer
from eval.runner import run
from eval.running.places import Shard
from eval.running.session import Limits
from kg.base.provenance import manifest_path
from kg.claims import Claim

CARDS = 11
REPLIES: tuple[Any, ...] = ("YES", "NO", "UNKNOWN", "perhaps", Answer(pred="ERROR", error="down"))
TIMES = {"results", "started", "ended", "resumed"}


class Plain:
    """Answers from the question alone, at once."""

    def __init__(self, name: str) -> None:
        self.name = name

    def params(self) -> dict[str, Any]:
        return {"of": self.name}

    def answer(self, card: CardView) -> Any:
        return REPLIES[(len(self.name) + int(card.question.rstrip("?")[2:])) % len(REPLIES)]


class Waiting(Plain):
    """The same answers, after as many turns of the loop as a die says; dies at a given question."""

    def __init__(self, name: str, dice: random.Random, dies_at: int | None = None) -> None:
        super().__init__(name)
        self._dice = dice
        self._left = dies_at

    async def answer(self, card: CardView) -> Any:
        for _ in range(self._dice.randrange(6)):
            await asyncio.sleep(0)
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise KeyboardInterrupt
        return super().answer(card)


def cards_at(folder: Path) -> Path:
    cards = folder / "cards.jsonl"
    claim = Claim("urn:s", "urn:p", "urn:o")
    write_cards(
        cards,
        (
            Card(
                id=f"c{number}",
                facts=(),
                question=f"is{number}?",
                gold="NO",
                label="C",
                claim=claim,
            )
            for number in range(CARDS)
        ),
    )
    return cards


def stable(manifest: Path) -> dict[str, Any]:
    """A manifest without times and names."""
    whole: dict[str, Any] = msgspec.to_builtins(read_manifest(manifest))
    return {key: value for key, value in whole.items() if key not in TIMES}


@pytest.fixture(scope="module")
def references(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[tuple[int, int], tuple[bytes, Any]]:
    """Sequential, uninterrupted runs by repeats and limit."""
    folder = tmp_path_factory.mktemp("references")
    cards = cards_at(folder)
    made = {}
    for repeats in (1, 3):
        for limit in (7, CARDS):
            out = folder / f"{repeats}-{limit}.jsonl"
            run(cards, [Plain("a"), Plain("bb")], out, asked_as="x", repeats=repeats, limit=limit)
            made[repeats, limit] = out.read_bytes(), stable(manifest_path(out))
    return made


@given(
    shards=st.integers(1, 4),
    repeats=st.sampled_from([1, 3]),
    limit=st.sampled_from([7, CARDS]),
    concurrency=st.integers(1, 9),
    mixed=st.booleans(),
    deaths=st.lists(st.tuples(st.integers(0, 12), st.floats(0, 1)), max_size=3),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=80)
def test_any_split_any_death_any_order_any_concurrency(
    references: dict[tuple[int, int], tuple[bytes, Any]],
    shards: int,
    repeats: int,
    limit: int,
    concurrency: int,
    mixed: bool,
    deaths: list[tuple[int, float]],
    seed: int,
) -> None:
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cards = cards_at(folder)

        def go(shard: Shard, out: Path, dies_at: int | None = None) -> None:
            first: AnySystem = Plain("a") if mixed else Waiting("a", dice)
            run(
                cards,
                [first, Waiting("bb", dice, dies_at)],
                out,
                asked_as="x",
                repeats=repeats,
                limit=limit,
                shard=shard,
                limits=Limits(concurrency=concurrency, max_consecutive_errors=0),
            )

        outs = []
        for number in range(1, shards + 1):
            shard, out = Shard(number, shards), folder / f"shard{number}.jsonl"
            outs.append(out)
            for dies_at, kept in deaths:
                try:
                    go(shard, out, dies_at)
                except KeyboardInterrupt:
                    # And then the machine goes down: any end of the file may be lost.
                    rows = out.read_bytes()
                    out.write_bytes(rows[: round(len(rows) * kept)])
                    beside = manifest_path(out)
                    left = replace(read_manifest(beside), status="running", ended=None, counts={})
                    write_manifest(beside, left)
            go(shard, out)
        dice.shuffle(outs)
        merged = outs[0]
        if shards > 1:
            merged = folder / "merged.jsonl"
            merge(outs, merged)
        whole, manifest = references[repeats, limit]
        assert merged.read_bytes() == whole
        assert stable(manifest_path(merged)) == manifest
