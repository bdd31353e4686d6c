"""Tests the runner: after any interruption, the result file equals that of a complete run."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cards.card import CardView, hash_card_set, read_cards
from eval.abstention.manifest import read_manifest, write_manifest
from eval.abstention.result import Answer, read_results
from eval.abstention.row_statistics.record import read_statistics, statistics_path
from eval.abstention.runner import Run, run
from eval.abstention.system import AnySystem
from eval.harness.journals.row_layout import Shard
from kg.base.errors import (
    CardSetMismatchError,
    MissingFileError,
    RecordError,
    SystemNotFoundError,
    WriteError,
)
from kg.base.provenance import manifest_path
from kg.claims import Claim

CardFile = Callable[..., Path]


class EchoSystem:
    """Answers from the question and counts its calls."""

    def __init__(self, name: str = "echo", **params: Any) -> None:
        self.name = name
        self.call_count = 0
        self._params = params

    def params(self) -> dict[str, Any]:
        return self._params

    def answer(self, card: CardView) -> Answer | str:
        self.call_count += 1
        digit = int(card.question.rstrip("?")[-1])
        return ("YES", "NO", "UNKNOWN")[digit % 3]


class FlakySystem(EchoSystem):
    """Fails on some cards until it is fixed."""

    def __init__(self) -> None:
        super().__init__("flaky")
        self.broken = True

    def answer(self, card: CardView) -> Answer | str:
        if self.broken and card.question.rstrip("?")[-1] in "147":
            raise ConnectionError("the line is down")
        return super().answer(card)


class ClaimOracleStub:
    """Answers from the claim, which only an oracle receives."""

    name = "oracle"

    def params(self) -> dict[str, Any]:
        return {}

    def answer_claim(self, claim: Claim) -> Answer:
        return Answer(pred="YES" if claim.obj.endswith("0") else "NO", raw=claim.subj)


def run_cards(cards: Path, out: Path, *systems: AnySystem, **options: Any) -> Run:
    return run(cards, systems, out, system_name=systems[0].name, **options)


def test_rows_are_in_card_order_and_complete(card_file: CardFile, tmp_path: Path) -> None:
    cards = card_file(7)
    finished_run = run_cards(cards, tmp_path / "r.jsonl", EchoSystem())
    rows = list(read_results(tmp_path / "r.jsonl"))
    expected_cards = read_cards(cards)
    assert [row.id for row in rows] == [card.id for card in expected_cards]
    for row, card in zip(rows, expected_cards, strict=True):
        assert (row.kind, row.cluster, row.difficulty) == (card.kind, card.cluster, "easy")
        assert (row.gold, row.label, row.system) == (card.gold, card.label, "echo")
        assert row.passed == (row.pred == card.gold)
        assert row.cards == hash_card_set(expected_cards)[:12]
        assert row.latency_s is None
    assert finished_run.asked == 7
    assert finished_run.manifest == read_manifest(tmp_path / "r.manifest.json")
    assert finished_run.manifest.status == "complete"
    assert sum(finished_run.manifest.counts.values()) == finished_run.manifest.rows_expected == 7


def test_oracle_gets_the_claim_and_is_declared(card_file: CardFile, tmp_path: Path) -> None:
    finished_run = run_cards(card_file(3), tmp_path / "r.jsonl", ClaimOracleStub())
    rows = list(read_results(tmp_path / "r.jsonl"))
    assert [row.raw for row in rows] == [f"urn:hidden:s{number}" for number in range(3)]
    assert finished_run.manifest.oracles == ("oracle",)
    assert run_cards(card_file(3), tmp_path / "e.jsonl", EchoSystem()).manifest.oracles == ()


def test_only_remote_systems_get_a_latency(card_file: CardFile, tmp_path: Path) -> None:
    remote_system = EchoSystem()
    remote_system.remote = True  # type: ignore[attr-defined]  # an adapter may declare it
    run_cards(card_file(2), tmp_path / "r.jsonl", remote_system)
    assert all(row.latency_s is not None for row in read_results(tmp_path / "r.jsonl"))


def test_file_cut_at_any_byte_resumes_to_identical_bytes(
    card_file: CardFile, tmp_path: Path
) -> None:
    cards, out = card_file(12), tmp_path / "r.jsonl"
    run_cards(cards, out, EchoSystem(), EchoSystem("second"))
    full_bytes = out.read_bytes()
    for cut in [0, 1, len(full_bytes) - 1, *random.Random(5).sample(range(len(full_bytes)), 40)]:
        out.write_bytes(full_bytes[:cut])
        manifest = read_manifest(manifest_path(out))
        write_manifest(manifest_path(out), msgspec.structs.replace(manifest, status="running"))
        first, second = EchoSystem(), EchoSystem("second")
        resumed_run = run_cards(cards, out, first, second)
        assert out.read_bytes() == full_bytes, cut
        assert resumed_run.already_answered == full_bytes[:cut].count(b"\n")
        assert (
            first.call_count + second.call_count
            == resumed_run.asked
            == 24 - resumed_run.already_answered
        )


def test_a_finished_run_asks_nothing_again(card_file: CardFile, tmp_path: Path) -> None:
    cards, out, system = card_file(5), tmp_path / "r.jsonl", EchoSystem()
    started = run_cards(cards, out, system).manifest.started
    second_run = run_cards(cards, out, system)
    assert (system.call_count, second_run.asked, second_run.already_answered) == (5, 0, 5)
    assert (second_run.manifest.started, second_run.manifest.resumed) == (started, 1)


def test_interrupted_retry_neither_duplicates_nor_loses_rows(
    card_file: CardFile, tmp_path: Path
) -> None:
    cards, out, flaky_system = card_file(20), tmp_path / "r.jsonl", FlakySystem()
    run_cards(cards, out, flaky_system)
    flaky_system.broken = False  # It answers from now on.

    class InterruptedSystem(EchoSystem):
        def answer(self, card: CardView) -> Answer | str:
            if self.call_count == 3:
                raise KeyboardInterrupt
            return super().answer(card)

    with pytest.raises(KeyboardInterrupt):
        run_cards(cards, out, InterruptedSystem("flaky"), retry_errors=True)
    ids = [row.id for row in read_results(out)]
    assert len(ids) == len(set(ids)) == 17
    assert ids == sorted(ids)
    assert read_manifest(manifest_path(out)).status == "interrupted"
    run_cards(cards, out, flaky_system)
    run_cards(cards, tmp_path / "m.jsonl", flaky_system)
    assert out.read_bytes() == (tmp_path / "m.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"system": EchoSystem("other")}, "another system"),
        ({"system": EchoSystem(top_k=3)}, r"another params: top_k \S+ now 3 "),
        ({"seed": 1}, "another seed"),
        ({"cards": 6}, "other cards"),
    ],
)
def test_results_of_another_run_are_refused_and_unchanged(
    card_file: CardFile, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    out = tmp_path / "r.jsonl"
    run_cards(card_file(5), out, EchoSystem())
    before = out.read_bytes(), manifest_path(out).read_bytes()
    cards = card_file(change.pop("cards", 5))
    with pytest.raises(CardSetMismatchError, match=message) as error:
        run_cards(cards, out, change.pop("system", EchoSystem()), **change)
    assert "--overwrite" in error.value.format_line()
    assert (out.read_bytes(), manifest_path(out).read_bytes()) == before


def test_stale_results_are_renamed_on_request(card_file: CardFile, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    run_cards(card_file(5), out, EchoSystem())
    before = out.read_bytes()
    run_cards(card_file(6), out, EchoSystem(), set_aside=True)
    (stale_file,) = tmp_path.glob("r.stale-*.jsonl")
    assert stale_file.read_bytes() == before
    assert manifest_path(stale_file).is_file()
    assert sum(1 for _ in read_results(out)) == 6
    # A run of the same kind is resumed, not renamed.
    run_cards(card_file(6), out, EchoSystem(), set_aside=True)
    assert len([*tmp_path.glob("r.stale-*")]) == 2


def test_statistics_are_renamed_with_their_rows(card_file: CardFile, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    run_cards(card_file(5), out, EchoSystem(), shard=Shard(1, 2))
    before = statistics_path(out).read_bytes()
    run_cards(card_file(6), out, EchoSystem(), set_aside=True)
    (stale_file,) = tmp_path.glob("r.stale-*.jsonl")
    assert statistics_path(stale_file).read_bytes() == before
    assert read_statistics(stale_file) is not None
    assert not statistics_path(out).exists()


def test_renamed_results_are_never_replaced(card_file: CardFile, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    for top_k in (1, 2, 3):  # The cards are the same, so every stale file would get one name.
        run_cards(card_file(5), out, EchoSystem(top_k=top_k), set_aside=True)
    stale_files = list(tmp_path.glob("r.stale-*.jsonl"))
    assert len(stale_files) == 2
    assert sorted(read_manifest(manifest_path(path)).params["top_k"] for path in stale_files) == [
        1,
        2,
    ]


def test_changes_in_hidden_card_fields_are_detected(card_file: CardFile, tmp_path: Path) -> None:
    cards, out = card_file(5), tmp_path / "r.jsonl"
    run_cards(cards, out, EchoSystem())
    cards.write_text(cards.read_text().replace("hiddenkind1", "hiddenkind9"))
    with pytest.raises(CardSetMismatchError):
        run_cards(cards, out, EchoSystem())


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [*lines[:2], lines[2][:30] + b"\n", *lines[3:]],
        lambda lines: [*lines[:2], b"\n", *lines[2:]],
        lambda lines: [b"river,mouth\n", *lines],
        lambda lines: [*lines, b'{"id":"x"}\n'],
        lambda lines: [*lines[:1], b"\xff\xfe\x00\n", *lines[1:]],
        lambda lines: [lines[0].replace(b"id00000", b"strange"), *lines[1:]],
        lambda lines: [line.replace(b'"cards":"', b'"cards":"0') for line in lines],
    ],
)
def test_damaged_or_foreign_file_is_named_and_unchanged(
    card_file: CardFile, tmp_path: Path, damage: Callable[[list[bytes]], list[bytes]]
) -> None:
    cards, out = card_file(5), tmp_path / "r.jsonl"
    run_cards(cards, out, EchoSystem())
    damaged = b"".join(damage(out.read_bytes().splitlines(keepends=True)))
    out.write_bytes(damaged + b'{"torn')
    with pytest.raises(RecordError, match=r"r\.jsonl:\d"):
        run_cards(cards, out, EchoSystem())
    assert out.read_bytes() == damaged + b'{"torn'


def test_missing_cards_leave_no_results_behind(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        run_cards(tmp_path / "none.jsonl", tmp_path / "r.jsonl", EchoSystem())
    assert list(tmp_path.iterdir()) == []


def test_output_folder_that_is_a_file_is_a_write_error(card_file: CardFile, tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("")
    with pytest.raises(WriteError):
        run_cards(card_file(3), tmp_path / "folder" / "r.jsonl", EchoSystem())
    with pytest.raises(WriteError, match="ordinary file"):
        run_cards(card_file(3), tmp_path, EchoSystem())


def test_params_that_are_not_json_are_refused_before_writing(
    card_file: CardFile, tmp_path: Path
) -> None:
    with pytest.raises(SystemNotFoundError, match="not JSON"):
        run_cards(card_file(2), tmp_path / "r.jsonl", EchoSystem(model=object()))
    mistaken_system = EchoSystem()
    mistaken_system.params = lambda: ["k", 1]  # type: ignore[method-assign,assignment]  # a mistaken adapter
    with pytest.raises(SystemNotFoundError, match="not a dict"):
        run_cards(card_file(2), tmp_path / "r.jsonl", mistaken_system)
    assert not (tmp_path / "r.jsonl").exists()


def test_journal_refuses_damaging_rows(tmp_path: Path) -> None:
    from eval.harness.journals.journal import Journal

    path = tmp_path / "r.jsonl"
    with Journal(path, 1) as journal:  # The journal has one position, 0; the outcome code is 1.
        journal.append(0, 1, b"{}\n")
        with pytest.raises(RuntimeError, match="it has a row"):
            journal.append(0, 1, b"{}\n")
    before = path.read_bytes()
    # Rows must not be appended before those in the file have been read.
    with Journal(path, 1) as journal, pytest.raises(RuntimeError, match="file was not read"):
        journal.append(0, 1, b"{}\n")
    assert path.read_bytes() == before


def test_secrets_in_params_never_reach_the_manifest(card_file: CardFile, tmp_path: Path) -> None:
    run_cards(
        card_file(2),
        tmp_path / "r.jsonl",
        EchoSystem(nested={"api_key": "hush-hush"}, max_tokens=9),
    )
    text = (tmp_path / "r.manifest.json").read_text()
    assert "hush-hush" not in text
    assert '"max_tokens": 9' in text


def test_manifest_finds_its_cards_after_a_move(card_file: CardFile, tmp_path: Path) -> None:
    from eval.abstention.manifest import find_card_file

    cards = card_file(2)
    (tmp_path / "results").mkdir()
    run_cards(cards, tmp_path / "results" / "r.jsonl", EchoSystem())
    text = (tmp_path / "results" / "r.manifest.json").read_text()
    assert str(tmp_path) not in text
    moved_folder = tmp_path / "elsewhere"
    moved_folder.mkdir()
    shutil.move(cards, moved_folder / "cards.jsonl")
    shutil.move(tmp_path / "results", moved_folder / "results")
    card_path = find_card_file(moved_folder / "results" / "r.manifest.json")
    assert card_path is not None
    assert card_path.resolve() == (moved_folder / "cards.jsonl").resolve()
    shutil.move(moved_folder / "cards.jsonl", moved_folder / "results" / "cards.jsonl")
    assert (
        find_card_file(moved_folder / "results" / "r.manifest.json")
        == moved_folder / "results" / "cards.jsonl"
    )
    (moved_folder / "results" / "cards.jsonl").unlink()
    assert find_card_file(moved_folder / "results" / "r.manifest.json") is None


def test_resuming_costs_no_more_than_reading(tmp_path: Path, card_file: CardFile) -> None:
    small_cards, large_cards = card_file(500, "small.jsonl"), card_file(5_000, "large.jsonl")
    seconds = {}
    for cards in (small_cards, large_cards):
        out = tmp_path / f"{cards.stem}.out.jsonl"
        run_cards(cards, out, EchoSystem())
        best_seconds = float("inf")
        for _ in range(3):
            start = time.process_time()
            run_cards(cards, out, EchoSystem())
            best_seconds = min(best_seconds, time.process_time() - start)
        seconds[cards] = best_seconds
    # Ten times the cards take 10 times as long if growth is linear, 100 times if it is quadratic.
    # The limit of 40 allows for a busy machine.
    assert seconds[large_cards] < 40 * seconds[small_cards]
    assert seconds[large_cards] < 5


@pytest.mark.parametrize("name", ["cards.jsonl", "cards", "cards.manifest.json", "./cards.jsonl"])
def test_cards_are_never_overwritten(card_file: CardFile, tmp_path: Path, name: str) -> None:
    cards = card_file(3)
    before = cards.read_bytes()
    with pytest.raises(WriteError, match="overwrite a file it is made from"):
        run_cards(cards, tmp_path / name, EchoSystem(), overwrite=True)
    assert cards.read_bytes() == before
    assert list(tmp_path.iterdir()) == [cards]
