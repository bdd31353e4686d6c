"""Runs of systems that wait: how many at once, what they cost, and every way to end early."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from eval.manifest import read_manifest
from eval.result import Answer, Usage, read_results
from eval.runner import Run, run
from eval.running.session import Limits
from eval.running.totals import CallTotals
from kg.base.errors import (
    CardSetMismatchError,
    CostLimitError,
    ModelAccessError,
    SettingError,
    TooManyErrorsError,
    WriteError,
)
from kg.base.provenance import manifest_path

CardFile = Callable[..., Path]
Scripted = Callable[..., Any]
Pay = Callable[..., Awaitable[None]]


def go(cards: Path, out: Path, *systems: Any, **options: Any) -> Run:
    limits = Limits(
        **{key: options.pop(key) for key in list(options) if key in Limits.__dataclass_fields__}
    )
    return run(cards, systems, out, asked_as=systems[0].name, limits=limits, **options)


def rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()]


async def soon(number: int) -> Any:
    await asyncio.sleep(0.001 * (number % 3))
    return "YES"


@pytest.mark.parametrize("concurrency", [1, 4, 50])
def test_so_many_are_asked_at_once_and_no_more(
    card_file: CardFile, tmp_path: Path, scripted: Scripted, concurrency: int
) -> None:
    system = scripted(soon)
    done = go(card_file(20), tmp_path / "r.jsonl", system, concurrency=concurrency)
    assert system.most == min(concurrency, 20)
    assert [row.id for row in read_results(tmp_path / "r.jsonl")] == [
        f"id{number:05d}" for number in range(20)
    ]
    assert (done.asked, done.manifest.status, system.closed) == (20, "complete", 1)
    idle = scripted(soon)
    assert go(card_file(20), tmp_path / "r.jsonl", idle).asked == 0
    assert (idle.asked, idle.closed) == ([], 1)


def test_questions_are_drawn_only_when_a_worker_is_free(
    card_file: CardFile, tmp_path: Path, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    from eval.card_file import CardFile as Opened

    read: list[int] = []
    original = Opened.__getitem__
    monkeypatch.setattr(
        Opened, "__getitem__", lambda self, item: (read.append(item), original(self, item))[1]
    )
    ahead: list[int] = []

    async def look(_number: int) -> str:
        await asyncio.sleep(0)
        ahead.append(len(read) - len(ahead))
        return "NO"

    go(card_file(40), tmp_path / "r.jsonl", scripted(look), concurrency=3)
    assert max(ahead) <= 3
    assert len(read) == 40


def test_systems_that_wait_and_those_that_do_not_share_a_run(
    card_file: CardFile, tmp_path: Path, scripted: Scripted
) -> None:
    class Busy:
        """Takes its time without waiting."""

        name = "busy"
        inside = 0

        def params(self) -> dict[str, Any]:
            return {}

        def answer(self, _card: object) -> str:
            assert threading.current_thread() is threading.main_thread()
            Busy.inside += 1
            assert Busy.inside == 1
            time.sleep(0.003)
            Busy.inside -= 1
            return "NO"

    turns = 0

    async def count(_number: int) -> str:
        nonlocal turns
        for _ in range(3):
            await asyncio.sleep(0)
            turns += 1
        return "YES"

    waiting = scripted(count)
    go(card_file(30), tmp_path / "r.jsonl", Busy(), waiting, concurrency=8)
    written = rows(tmp_path / "r.jsonl")
    assert [row["system"] for row in written] == ["busy", "scripted"] * 30
    assert {row["pred"] for row in written} == {"YES", "NO"}
    assert waiting.most > 1
    assert turns == 90


def test_what_a_model_cost_is_in_rows_and_manifest(
    card_file: CardFile, tmp_path: Path, scripted: Scripted, pay: Pay
) -> None:
    from eval.model.calls import current_calls

    async def call(number: int) -> Answer:
        await pay(0.1, cached=number == 2)
        await pay(0.2, cached=number == 2)
        if number == 1:
            current_calls().retries += 3
            current_calls().repairs += 1
            current_calls().fallbacks.append("json_object instead of json_schema")
        return Answer(pred="YES", usage=Usage(9, 9, 9.0))

    out = tmp_path / "r.jsonl"
    done = go(card_file(4), out, scripted(call))
    calls = done.manifest.calls
    assert calls is not None
    assert (calls.replies, calls.cached, calls.retries, calls.repairs) == (8, 2, 3, 1)
    assert (calls.prompt_tokens, calls.completion_tokens) == (80, 40)
    assert (calls.cost_usd, calls.spent_usd) == (1.2, 0.9)
    assert calls.fallbacks == {"json_object instead of json_schema": 1}
    written = rows(out)
    usage = {"prompt_tokens": 20, "completion_tokens": 10, "cost_usd": 0.3}
    assert all(row["usage"] == usage and row["latency_s"] == 0.5 for row in written)
    assert written[1]["calls"] == {
        "repairs": 1,
        "fallbacks": ["json_object instead of json_schema"],
    }
    assert not any("calls" in row for row in (written[0], *written[2:]))
    assert "0.9000 paid" in calls.in_words()


def test_a_run_stops_at_its_cost_and_goes_on_with_more(
    card_file: CardFile, tmp_path: Path, scripted: Scripted, pay: Pay
) -> None:
    async def call(_number: int) -> str:
        await pay(0.01)
        return "YES"

    cards, out, whole = card_file(30), tmp_path / "r.jsonl", tmp_path / "whole.jsonl"
    go(cards, whole, scripted(call))
    system = scripted(call)
    with pytest.raises(CostLimitError, match="--max-cost") as caught:
        go(cards, out, system, max_cost=0.1, concurrency=4)
    assert caught.value.exit_code == 26
    # Ten were paid for, and what was being asked then is kept, not thrown away.
    assert 10 <= len(rows(out)) == len(system.asked) <= 13
    manifest = read_manifest(manifest_path(out))
    assert manifest.status == "interrupted"
    assert manifest.calls is not None
    assert manifest.calls.spent_usd == pytest.approx(0.01 * len(rows(out)))
    with pytest.raises(CostLimitError):
        go(cards, out, scripted(call), max_cost=0.2, concurrency=1)
    assert len(rows(out)) == 20
    go(cards, out, scripted(call), max_cost=5)
    assert out.read_bytes() == whole.read_bytes()
    assert read_manifest(manifest_path(out)).calls == read_manifest(manifest_path(whole)).calls


def test_what_is_spent_already_is_not_overrun_again(
    card_file: CardFile, tmp_path: Path, scripted: Scripted, pay: Pay
) -> None:
    async def call(_number: int) -> str:
        await pay(0.01)
        return "YES"

    cards, out = card_file(30), tmp_path / "r.jsonl"
    with pytest.raises(CostLimitError):
        go(cards, out, scripted(call), max_cost=0.1, concurrency=4)
    before, again = out.read_bytes(), scripted(call)
    with pytest.raises(CostLimitError, match="--max-cost"):
        go(cards, out, again, max_cost=0.1, concurrency=4)
    assert not again.asked
    assert out.read_bytes() == before
    assert read_manifest(manifest_path(out)).status == "interrupted"


def test_the_last_cent_may_be_spent(
    card_file: CardFile, tmp_path: Path, scripted: Scripted, pay: Pay
) -> None:
    async def call(_number: int) -> str:
        await pay(0.01)
        return "YES"

    done = go(card_file(5), tmp_path / "r.jsonl", scripted(call), max_cost=0.05, concurrency=1)
    assert done.manifest.status == "complete"


def test_what_the_cache_answers_costs_nothing(
    card_file: CardFile, tmp_path: Path, scripted: Scripted, pay: Pay
) -> None:
    async def call(_number: int) -> str:
        await pay(0.01, cached=True)
        return "YES"

    done = go(card_file(5), tmp_path / "r.jsonl", scripted(call), max_cost=0.02)
    assert done.manifest.calls is not None
    assert (done.manifest.calls.cost_usd, done.manifest.calls.spent_usd) == (0.05, 0.0)


def test_after_a_kill_the_rows_say_what_was_spent(
    card_file: CardFile, tmp_path: Path, scripted: Scripted, pay: Pay
) -> None:
    from msgspec.structs import replace

    from eval.manifest import write_manifest

    async def call(_number: int) -> str:
        await pay(0.01)
        return "YES"

    cards, out = card_file(10), tmp_path / "r.jsonl"
    go(cards, out, scripted(call), limit=6)
    beside = manifest_path(out)
    write_manifest(beside, replace(read_manifest(beside), status="running", calls=None))
    with pytest.raises(CostLimitError, match=r"0\.0700 USD"):
        go(cards, out, scripted(call), max_cost=0.065, concurrency=1)


def test_a_cost_that_cannot_be_known_cannot_be_limited(
    card_file: CardFile, tmp_path: Path, scripted: Scripted, pay: Pay
) -> None:
    async def call(_number: int) -> str:
        await pay(None)
        return "YES"

    with pytest.raises(SettingError, match="--prices"):
        go(card_file(5), tmp_path / "r.jsonl", scripted(call), max_cost=1, concurrency=1)
    assert len(rows(tmp_path / "r.jsonl")) == 1
    with pytest.raises(SettingError, match="finite"):
        go(card_file(5), tmp_path / "s.jsonl", scripted(call), max_cost=float("nan"))


def test_too_many_errors_in_a_row_end_a_run(
    card_file: CardFile, tmp_path: Path, scripted: Scripted
) -> None:
    down = True

    async def call(number: int) -> str:
        await asyncio.sleep(0)
        if down and number >= 4:
            raise ConnectionError("refused")
        return "NO"

    cards, out = card_file(40), tmp_path / "r.jsonl"
    with pytest.raises(TooManyErrorsError, match="5 questions in a row") as caught:
        go(cards, out, scripted(call), max_consecutive_errors=5, concurrency=2)
    assert caught.value.exit_code == 27
    assert [row["pred"] for row in rows(out)] == ["NO"] * 4 + ["ERROR"] * 5
    assert read_manifest(manifest_path(out)).status == "failed"
    down = False
    go(cards, out, scripted(call), retry_errors=True)
    go(cards, tmp_path / "calm.jsonl", scripted(call))
    assert out.read_bytes() == (tmp_path / "calm.jsonl").read_bytes()


def test_errors_with_answers_between_them_do_not_end_a_run(
    card_file: CardFile, tmp_path: Path, scripted: Scripted
) -> None:
    async def call(number: int) -> str:
        if number % 3:
            raise ConnectionError
        return "NO"

    cards = card_file(30)
    system = scripted(call)
    go(cards, tmp_path / "r.jsonl", system, max_consecutive_errors=3, concurrency=1)

    async def never(_number: int) -> str:
        raise ConnectionError

    go(cards, tmp_path / "s.jsonl", scripted(never), max_consecutive_errors=0)
    # When everything was asked there is nothing left to stop.
    go(cards, tmp_path / "t.jsonl", scripted(never), max_consecutive_errors=30)
    for name in "rst":
        assert (tmp_path / f"{name}.jsonl").read_bytes().count(b"\n") == 30


@pytest.mark.parametrize("waits", [True, False])
def test_a_model_nobody_can_use_ends_a_run_without_a_row_for_it(
    card_file: CardFile, tmp_path: Path, scripted: Scripted, waits: bool
) -> None:
    def refuse(number: int) -> str:
        if number == 6:
            raise ModelAccessError("the key is refused", where="api")
        return "YES"

    async def call(number: int) -> str:
        await asyncio.sleep(0 if number <= 6 else 60)
        return refuse(number)

    class Plain:
        name = "plain"

        def params(self) -> dict[str, Any]:
            return {}

        def answer(self, card: Any) -> str:
            return refuse(int(card.question.split()[2]))

    out = tmp_path / "r.jsonl"
    system = scripted(call) if waits else Plain()
    began = time.monotonic()
    with pytest.raises(ModelAccessError):
        go(card_file(20), out, system, concurrency=3)
    assert time.monotonic() - began < 30, "what was being asked is not waited for"
    assert [row["id"] for row in rows(out)] == [f"id{number:05d}" for number in range(6)]
    assert read_manifest(manifest_path(out)).status == "failed"
    if waits:
        assert system.closed == 1


def test_ctrl_c_cancels_what_is_being_asked_and_keeps_the_rest(
    card_file: CardFile, tmp_path: Path, scripted: Scripted
) -> None:
    cancelled: list[int] = []

    async def call(number: int) -> str:
        if number < 5:
            return "YES"
        if number == 7:
            signal.raise_signal(signal.SIGINT)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(number)
            if number == 6:  # A careless system makes an answer or a failure of it.
                return "NO"
            if number == 5:
                raise ValueError("cancelled") from None
            raise
        return "NO"

    cards, out = card_file(12), tmp_path / "r.jsonl"
    system = scripted(call)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        go(cards, out, system, concurrency=3)
    assert time.monotonic() - began < 30
    assert sorted(cancelled) == [5, 6, 7]
    assert len(rows(out)) == 5
    assert {row["pred"] for row in rows(out)} == {"YES"}
    assert read_manifest(manifest_path(out)).status == "interrupted"
    assert system.closed == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("end", [asyncio.CancelledError, GeneratorExit])
def test_a_system_that_ends_itself_is_an_error_row(
    card_file: CardFile, tmp_path: Path, scripted: Scripted, end: type[BaseException]
) -> None:
    async def call(number: int) -> str:
        if number == 1:
            raise end
        return "YES"

    go(card_file(3), tmp_path / "r.jsonl", scripted(call))
    assert [row["pred"] for row in rows(tmp_path / "r.jsonl")] == ["YES", "ERROR", "YES"]


def test_a_coroutine_from_a_plain_answer_is_unreadable(
    card_file: CardFile, tmp_path: Path, scripted: Scripted
) -> None:
    async def never() -> str:
        return "YES"

    class Careless:
        name = "careless"

        def params(self) -> dict[str, Any]:
            return {}

        def answer(self, _card: object) -> Any:
            return never()

    go(card_file(2), tmp_path / "r.jsonl", Careless())
    (row, _) = rows(tmp_path / "r.jsonl")
    assert row["pred"] == "INVALID"
    assert "coroutine" in row["note"]


def test_closing_that_fails_is_said_and_no_more(
    card_file: CardFile, tmp_path: Path, scripted: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    system = scripted(soon)

    async def broken() -> None:
        raise OSError("already gone")

    system.aclose = broken
    assert go(card_file(2), tmp_path / "r.jsonl", system).manifest.status == "complete"
    assert "could not be closed: OSError: already gone" in capsys.readouterr().err


def test_a_run_within_an_event_loop(
    card_file: CardFile, tmp_path: Path, scripted: Scripted
) -> None:
    cards = card_file(4)

    async def notebook() -> Run:
        return go(cards, tmp_path / "r.jsonl", scripted(soon))

    assert asyncio.run(notebook()).manifest.status == "complete"


def test_repeats_stand_side_by_side_and_may_be_raised(
    card_file: CardFile, tmp_path: Path, scripted: Scripted
) -> None:
    from eval.model.calls import current_calls

    async def call(_number: int) -> str:
        return ("YES", "NO", "UNKNOWN")[current_calls().repeat]

    cards, out, once = card_file(3), tmp_path / "r.jsonl", tmp_path / "once.jsonl"
    go(cards, out, scripted(call), repeats=3)
    assert [row.get("repeat") for row in rows(out)] == [None, 1, 2] * 3
    assert [row.pred for row in read_results(out)] == ["YES", "NO", "UNKNOWN"] * 3
    manifest = read_manifest(manifest_path(out))
    assert (manifest.repeats, manifest.rows_expected) == (3, 9)
    go(cards, once, scripted(call))
    go(cards, once, scripted(call), repeats=3)
    assert once.read_bytes() == out.read_bytes()
    with pytest.raises(CardSetMismatchError, match="beyond --repeat 2"):
        go(cards, out, scripted(call), repeats=2)


def test_without_resuming_a_file_with_rows_is_refused(
    card_file: CardFile, tmp_path: Path, scripted: Scripted
) -> None:
    cards, out = card_file(3), tmp_path / "r.jsonl"
    out.touch()
    go(cards, out, scripted(soon), resume=False)
    before = out.read_bytes()
    with pytest.raises(WriteError, match="--no-resume"):
        go(cards, out, scripted(soon), resume=False)
    assert out.read_bytes() == before
    go(cards, out, scripted(soon), resume=False, overwrite=True)


def test_cards_that_change_while_they_are_asked_end_the_run(
    card_file: CardFile, tmp_path: Path, scripted: Scripted
) -> None:
    cards, out = card_file(9), tmp_path / "r.jsonl"

    async def call(number: int) -> str:
        if number == 3:
            with cards.open("a") as handle:
                handle.write("\n")
        return "YES"

    with pytest.raises(CardSetMismatchError, match="while they were being asked"):
        go(cards, out, scripted(call), concurrency=1)
    assert len(rows(out)) == 4


def test_the_model_and_what_it_turned_out_to_do_are_recorded(
    card_file: CardFile, tmp_path: Path, scripted: Scripted
) -> None:
    class Client:
        model = "custom/m"

        def observed(self) -> dict[str, Any]:
            return {"fallbacks": {"text": 2}, "served": ["m-1"], "api_key": "hush-hush"}

    cards, out = card_file(6), tmp_path / "r.jsonl"
    for limit in (3, 6):
        system = scripted(soon)
        system.client = Client()
        go(cards, out, system, limit=limit)
    manifest = read_manifest(manifest_path(out))
    assert manifest.model == "custom/m"
    assert manifest.observed["scripted"]["fallbacks"] == {"text": 4}
    assert manifest.observed["scripted"]["served"] == ["m-1"]
    assert "hush-hush" not in manifest_path(out).read_text()


def test_what_two_observed_is_what_one_would_have_observed() -> None:
    from eval.described import combined

    first = {"z": {"served": ["b", "a"], "fallbacks": {"text": 2}, "logprobs": True}}
    second = {"z": {"served": ["a", "c"], "fallbacks": {"other": 1, "text": 1}, "logprobs": False}}
    both = {
        "z": {"fallbacks": {"other": 1, "text": 3}, "logprobs": False, "served": ["a", "b", "c"]}
    }
    assert json.dumps(combined(first, second)) == json.dumps(both)
    assert json.dumps(combined({}, both)) == json.dumps(combined(both, {})) == json.dumps(both)


def test_tokens_that_nobody_counted_are_not_called_none() -> None:
    uncounted = CallTotals(replies=2, cost_usd=0.0).in_words()
    assert uncounted == "2 replies, tokens not counted by the server, cost not known"
    counted = CallTotals(replies=2, prompt_tokens=7, completion_tokens=1, cost_usd=0.0).in_words()
    assert counted == "2 replies, 7 + 1 tokens, 0.0000 USD"
