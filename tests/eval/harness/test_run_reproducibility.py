"""Tests that a run writes the same bytes if it is sharded, crashes or gets replies out of order."""

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
from eval.abstention.manifest import read_manifest, write_manifest
from eval.abstention.result import Answer
from eval.abstention.runner import run
from eval.abstention.shard_merger import merge_shards
from eval.abstention.system import AnySystem
from eval.harness.journals.row_layout import Shard
from eval.harness.session import RunLimits
from kg.base.provenance import manifest_path
from kg.claims import Claim

CARDS = 11
REPLIES: tuple[Any, ...] = ("YES", "NO", "UNKNOWN", "perhaps", Answer(pred="ERROR", error="down"))
VARYING_FIELDS = {
    *("results", "started", "ended", "resumed", "content_sha256"),
    *("line_digests", "statistics_sha256"),
}
"""Manifest fields that may differ between runs with equal rows: files have other names, and only
shards have statistics."""


class PlainSystem:
    """Answers from the question, without waiting."""

    def __init__(self, name: str) -> None:
        self.name = name

    def params(self) -> dict[str, Any]:
        return {"of": self.name}

    def answer(self, card: CardView) -> Any:
        # The questions are "is0?", "is1?" and so on.
        return REPLIES[(len(self.name) + int(card.question.rstrip("?")[2:])) % len(REPLIES)]


class WaitingSystem(PlainSystem):
    """Answers like ``PlainSystem``, after a random number of event loop turns.

    Raises ``KeyboardInterrupt`` after ``crash_after`` answers, to simulate a crash of the process.
    """

    def __init__(self, name: str, rng: random.Random, crash_after: int | None = None) -> None:
        super().__init__(name)
        self._rng = rng
        self._answers_before_crash = crash_after

    async def answer(self, card: CardView) -> Any:
        for _ in range(self._rng.randrange(6)):
            await asyncio.sleep(0)
        if self._answers_before_crash is not None:
            self._answers_before_crash -= 1
            if self._answers_before_crash < 0:
                raise KeyboardInterrupt
        return super().answer(card)


def write_card_file(folder: Path) -> Path:
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


def read_stable_manifest(manifest: Path) -> dict[str, Any]:
    """Reads a manifest without the ``VARYING_FIELDS``."""
    fields: dict[str, Any] = msgspec.to_builtins(read_manifest(manifest))
    return {key: value for key, value in fields.items() if key not in VARYING_FIELDS}


@pytest.fixture(scope="module")
def references(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[tuple[int, int], tuple[bytes, Any]]:
    """Results file and manifest of sequential, uninterrupted runs, by (repeats, limit)."""
    folder = tmp_path_factory.mktemp("references")
    cards = write_card_file(folder)
    reference_outputs = {}
    for repeats in (1, 3):
        for limit in (7, CARDS):
            out = folder / f"{repeats}-{limit}.jsonl"
            run(
                cards,
                [PlainSystem("a"), PlainSystem("bb")],
                out,
                system_name="x",
                repeats=repeats,
                limit=limit,
            )
            reference_outputs[repeats, limit] = (
                out.read_bytes(),
                read_stable_manifest(manifest_path(out)),
            )
    return reference_outputs


@pytest.mark.slow
@given(
    shards=st.integers(1, 4),
    repeats=st.sampled_from([1, 3]),
    limit=st.sampled_from([7, CARDS]),
    concurrency=st.integers(1, 9),
    first_is_sync=st.booleans(),
    crashes=st.lists(st.tuples(st.integers(0, 12), st.floats(0, 1)), max_size=3),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=80)
def test_bytes_do_not_depend_on_shards_crashes_order_or_concurrency(
    references: dict[tuple[int, int], tuple[bytes, Any]],
    shards: int,
    repeats: int,
    limit: int,
    concurrency: int,
    first_is_sync: bool,
    crashes: list[tuple[int, float]],
    seed: int,
) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cards = write_card_file(folder)

        def run_shard(shard: Shard, out: Path, crash_after: int | None = None) -> None:
            first_system: AnySystem = PlainSystem("a") if first_is_sync else WaitingSystem("a", rng)
            run(
                cards,
                [first_system, WaitingSystem("bb", rng, crash_after)],
                out,
                system_name="x",
                repeats=repeats,
                limit=limit,
                shard=shard,
                limits=RunLimits(concurrency=concurrency, max_consecutive_errors=0),
            )

        shard_files = []
        for number in range(1, shards + 1):
            shard, out = Shard(number, shards), folder / f"shard{number}.jsonl"
            shard_files.append(out)
            for answers_before_crash, kept_fraction in crashes:
                try:
                    run_shard(shard, out, answers_before_crash)
                except KeyboardInterrupt:
                    # Simulate a power failure, which may also cut off the end of the file.
                    rows = out.read_bytes()
                    out.write_bytes(rows[: round(len(rows) * kept_fraction)])
                    manifest_file = manifest_path(out)
                    interrupted = replace(
                        read_manifest(manifest_file), status="running", ended=None, counts={}
                    )
                    write_manifest(manifest_file, interrupted)
            run_shard(shard, out)
        rng.shuffle(shard_files)
        merged = shard_files[0]
        if shards > 1:
            merged = folder / "merged.jsonl"
            merge_shards(shard_files, merged)
        expected_rows, expected_manifest = references[repeats, limit]
        assert merged.read_bytes() == expected_rows
        assert read_stable_manifest(manifest_path(merged)) == expected_manifest
