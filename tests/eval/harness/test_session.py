"""Runs of asynchronous systems: concurrency, cost limits, errors, interruption and resumption."""

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

from eval.abstention.manifest import read_manifest
from eval.abstention.result import Answer, read_results
from eval.abstention.runner import Run, run
from eval.harness.session import RunLimits
from eval.harness.totals import CallTotals
from eval.model.usage import Usage
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
SystemFactory = Callable[..., Any]
CallRecorder = Callable[..., Awaitable[None]]


def run_systems(cards: Path, out: Path, *systems: Any, **options: Any) -> Run:
    limits = RunLimits(
        **{key: options.pop(key) for key in list(options) if key in RunLimits.__dataclass_fields__}
    )
    return run(cards, systems, out, system_name=systems[0].name, limits=limits, **options)


def read_rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()]


async def answer_after_delay(number: int) -> Any:
    await asyncio.sleep(0.001 * (number % 3))
    return "YES"


@pytest.mark.parametrize("concurrency", [1, 4, 50])
def test_concurrency_limit_is_reached_and_not_exceeded(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory, concurrency: int
) -> None:
    system = make_system(answer_after_delay)
    finished_run = run_systems(card_file(20), tmp_path / "r.jsonl", system, concurrency=concurrency)
    assert system.max_concurrent == min(concurrency, 20)
    assert [row.id for row in read_results(tmp_path / "r.jsonl")] == [
        f"id{number:05d}" for number in range(20)
    ]
    assert (finished_run.asked, finished_run.manifest.status, system.closed) == (20, "complete", 1)
    idle_system = make_system(answer_after_delay)
    assert run_systems(card_file(20), tmp_path / "r.jsonl", idle_system).asked == 0
    assert (idle_system.asked_numbers, idle_system.closed) == ([], 1)


def test_questions_are_read_only_when_a_worker_is_free(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from eval.abstention.card_file import CardFile as OpenCardFile

    read_items: list[int] = []
    original_getitem = OpenCardFile.__getitem__

    def log_and_read(cards: OpenCardFile, item: int) -> Any:
        read_items.append(item)
        return original_getitem(cards, item)

    monkeypatch.setattr(OpenCardFile, "__getitem__", log_and_read)
    read_but_unanswered: list[int] = []

    async def count_read_items(_number: int) -> str:
        await asyncio.sleep(0)
        read_but_unanswered.append(len(read_items) - len(read_but_unanswered))
        return "NO"

    system = make_system(count_read_items)
    run_systems(card_file(40), tmp_path / "r.jsonl", system, concurrency=3)
    assert max(read_but_unanswered) <= 3
    assert len(read_items) == 40


def test_async_and_sync_systems_share_a_run(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory
) -> None:
    class BlockingSystem:
        """A synchronous system that blocks, and checks that it is never called concurrently."""

        name = "busy"
        active_calls = 0

        def params(self) -> dict[str, Any]:
            return {}

        def answer(self, _card: object) -> str:
            assert threading.current_thread() is threading.main_thread()
            BlockingSystem.active_calls += 1
            assert BlockingSystem.active_calls == 1
            time.sleep(0.003)
            BlockingSystem.active_calls -= 1
            return "NO"

    turns = 0

    async def answer_after_three_turns(_number: int) -> str:
        nonlocal turns
        for _ in range(3):
            await asyncio.sleep(0)
            turns += 1
        return "YES"

    async_system = make_system(answer_after_three_turns)
    run_systems(card_file(30), tmp_path / "r.jsonl", BlockingSystem(), async_system, concurrency=8)
    rows = read_rows(tmp_path / "r.jsonl")
    assert [row["system"] for row in rows] == ["busy", "scripted"] * 30
    assert {row["pred"] for row in rows} == {"YES", "NO"}
    assert async_system.max_concurrent > 1
    assert turns == 90


def test_cost_is_recorded_in_rows_and_manifest(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory, record_call: CallRecorder
) -> None:
    from eval.model.calls import current_calls

    async def answer(number: int) -> Answer:
        await record_call(0.1, cached=number == 2)
        await record_call(0.2, cached=number == 2)
        if number == 1:
            current_calls().retries += 3
            current_calls().repairs += 1
            current_calls().fallbacks.append("json_object instead of json_schema")
        return Answer(pred="YES", usage=Usage(9, 9, 9.0))

    out = tmp_path / "r.jsonl"
    finished_run = run_systems(card_file(4), out, make_system(answer))
    calls = finished_run.manifest.calls
    assert calls is not None
    assert (calls.replies, calls.cached, calls.retries, calls.repairs) == (8, 2, 3, 1)
    assert (calls.prompt_tokens, calls.completion_tokens) == (80, 40)
    assert (calls.cost_usd, calls.spent_usd) == (1.2, 0.9)
    assert calls.fallbacks == {"json_object instead of json_schema": 1}
    rows = read_rows(out)
    usage = {"prompt_tokens": 20, "completion_tokens": 10, "cost_usd": 0.3}
    assert all(row["usage"] == usage and row["latency_s"] == 0.5 for row in rows)
    assert rows[1]["calls"] == {
        "repairs": 1,
        "fallbacks": ["json_object instead of json_schema"],
    }
    assert not any("calls" in row for row in (rows[0], *rows[2:]))
    assert "0.9000 paid" in calls.format_summary()


def test_run_stops_at_max_cost_and_resumes_with_a_higher_one(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory, record_call: CallRecorder
) -> None:
    async def answer(_number: int) -> str:
        await record_call(0.01)
        return "YES"

    cards, out, uninterrupted = card_file(30), tmp_path / "r.jsonl", tmp_path / "whole.jsonl"
    run_systems(cards, uninterrupted, make_system(answer))
    system = make_system(answer)
    with pytest.raises(CostLimitError, match="--max-cost") as caught:
        run_systems(cards, out, system, max_cost=0.1, concurrency=4)
    assert caught.value.exit_code == 26
    # Ten replies reach the limit. Up to three other questions are open then; their rows are kept.
    assert 10 <= len(read_rows(out)) == len(system.asked_numbers) <= 13
    manifest = read_manifest(manifest_path(out))
    assert manifest.status == "interrupted"
    assert manifest.calls is not None
    assert manifest.calls.spent_usd == pytest.approx(0.01 * len(read_rows(out)))
    with pytest.raises(CostLimitError):
        run_systems(cards, out, make_system(answer), max_cost=0.2, concurrency=1)
    assert len(read_rows(out)) == 20
    run_systems(cards, out, make_system(answer), max_cost=5)
    assert out.read_bytes() == uninterrupted.read_bytes()
    assert (
        read_manifest(manifest_path(out)).calls == read_manifest(manifest_path(uninterrupted)).calls
    )


def test_earlier_cost_counts_towards_max_cost(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory, record_call: CallRecorder
) -> None:
    async def answer(_number: int) -> str:
        await record_call(0.01)
        return "YES"

    cards, out = card_file(30), tmp_path / "r.jsonl"
    with pytest.raises(CostLimitError):
        run_systems(cards, out, make_system(answer), max_cost=0.1, concurrency=4)
    rows_before, idle_system = out.read_bytes(), make_system(answer)
    with pytest.raises(CostLimitError, match="--max-cost"):
        run_systems(cards, out, idle_system, max_cost=0.1, concurrency=4)
    assert not idle_system.asked_numbers
    assert out.read_bytes() == rows_before
    assert read_manifest(manifest_path(out)).status == "interrupted"


def test_max_cost_may_be_spent_completely(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory, record_call: CallRecorder
) -> None:
    async def answer(_number: int) -> str:
        await record_call(0.01)
        return "YES"

    finished_run = run_systems(
        card_file(5), tmp_path / "r.jsonl", make_system(answer), max_cost=0.05, concurrency=1
    )
    assert finished_run.manifest.status == "complete"


def test_cached_answers_cost_nothing(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory, record_call: CallRecorder
) -> None:
    async def answer(_number: int) -> str:
        await record_call(0.01, cached=True)
        return "YES"

    finished_run = run_systems(
        card_file(5), tmp_path / "r.jsonl", make_system(answer), max_cost=0.02
    )
    assert finished_run.manifest.calls is not None
    assert (finished_run.manifest.calls.cost_usd, finished_run.manifest.calls.spent_usd) == (
        0.05,
        0.0,
    )


def test_cost_is_restored_from_the_rows_after_a_kill(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory, record_call: CallRecorder
) -> None:
    from msgspec.structs import replace

    from eval.abstention.manifest import write_manifest

    async def answer(_number: int) -> str:
        await record_call(0.01)
        return "YES"

    cards, out = card_file(10), tmp_path / "r.jsonl"
    run_systems(cards, out, make_system(answer), limit=6)
    manifest = manifest_path(out)
    # A run killed with `kill -9` leaves a manifest without totals.
    write_manifest(manifest, replace(read_manifest(manifest), status="running", calls=None))
    with pytest.raises(CostLimitError, match=r"0\.0700 USD"):
        run_systems(cards, out, make_system(answer), max_cost=0.065, concurrency=1)


def test_max_cost_needs_a_known_price(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory, record_call: CallRecorder
) -> None:
    async def answer(_number: int) -> str:
        await record_call(None)
        return "YES"

    with pytest.raises(SettingError, match="--prices"):
        run_systems(
            card_file(5), tmp_path / "r.jsonl", make_system(answer), max_cost=1, concurrency=1
        )
    assert len(read_rows(tmp_path / "r.jsonl")) == 1
    with pytest.raises(SettingError, match="finite"):
        run_systems(card_file(5), tmp_path / "s.jsonl", make_system(answer), max_cost=float("nan"))


def test_too_many_consecutive_errors_end_a_run(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory
) -> None:
    is_down = True

    async def answer(number: int) -> str:
        await asyncio.sleep(0)
        if is_down and number >= 4:
            raise ConnectionError("refused")
        return "NO"

    cards, out = card_file(40), tmp_path / "r.jsonl"
    with pytest.raises(TooManyErrorsError, match="5 questions in a row") as caught:
        run_systems(cards, out, make_system(answer), max_consecutive_errors=5, concurrency=2)
    assert caught.value.exit_code == 27
    assert [row["pred"] for row in read_rows(out)] == ["NO"] * 4 + ["ERROR"] * 5
    assert read_manifest(manifest_path(out)).status == "failed"
    is_down = False
    run_systems(cards, out, make_system(answer), retry_errors=True)
    run_systems(cards, tmp_path / "undisturbed.jsonl", make_system(answer))
    assert out.read_bytes() == (tmp_path / "undisturbed.jsonl").read_bytes()


def test_non_consecutive_errors_do_not_end_a_run(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory
) -> None:
    async def answer(number: int) -> str:
        if number % 3:
            raise ConnectionError
        return "NO"

    cards = card_file(30)
    system = make_system(answer)
    run_systems(cards, tmp_path / "r.jsonl", system, max_consecutive_errors=3, concurrency=1)

    async def fail(_number: int) -> str:
        raise ConnectionError

    # 0 switches the limit off.
    run_systems(cards, tmp_path / "s.jsonl", make_system(fail), max_consecutive_errors=0)
    # The limit is reached only after the last question, so the run is complete.
    run_systems(cards, tmp_path / "t.jsonl", make_system(fail), max_consecutive_errors=30)
    for name in "rst":
        assert (tmp_path / f"{name}.jsonl").read_bytes().count(b"\n") == 30


@pytest.mark.parametrize("is_async", [True, False])
def test_unusable_model_ends_a_run_without_writing_a_row(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory, is_async: bool
) -> None:
    def answer_or_refuse(number: int) -> str:
        if number == 6:
            raise ModelAccessError("the key is refused", where="api")
        return "YES"

    async def answer_async(number: int) -> str:
        await asyncio.sleep(0 if number <= 6 else 60)
        return answer_or_refuse(number)

    class SyncSystem:
        name = "plain"

        def params(self) -> dict[str, Any]:
            return {}

        def answer(self, card: Any) -> str:
            return answer_or_refuse(int(card.question.split()[2]))

    out = tmp_path / "r.jsonl"
    system = make_system(answer_async) if is_async else SyncSystem()
    start = time.monotonic()
    with pytest.raises(ModelAccessError):
        run_systems(card_file(20), out, system, concurrency=3)
    # Open questions take 60 s, and the run must not wait for them.
    assert time.monotonic() - start < 30
    assert [row["id"] for row in read_rows(out)] == [f"id{number:05d}" for number in range(6)]
    assert read_manifest(manifest_path(out)).status == "failed"
    if is_async:
        assert system.closed == 1


def test_ctrl_c_cancels_open_questions_and_keeps_finished_rows(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory
) -> None:
    cancelled: list[int] = []

    async def answer(number: int) -> str:
        if number < 5:
            return "YES"
        if number == 7:
            signal.raise_signal(signal.SIGINT)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(number)
            # Two coroutines ignore the cancellation: one answers, the other fails.
            if number == 6:
                return "NO"
            if number == 5:
                raise ValueError("cancelled") from None
            raise
        return "NO"

    cards, out = card_file(12), tmp_path / "r.jsonl"
    system = make_system(answer)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_systems(cards, out, system, concurrency=3)
    assert time.monotonic() - start < 30
    assert sorted(cancelled) == [5, 6, 7]
    assert len(read_rows(out)) == 5
    assert {row["pred"] for row in read_rows(out)} == {"YES"}
    assert read_manifest(manifest_path(out)).status == "interrupted"
    assert system.closed == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("exception", [asyncio.CancelledError, GeneratorExit])
def test_system_that_cancels_itself_gives_an_error_row(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory, exception: type[BaseException]
) -> None:
    async def answer(number: int) -> str:
        if number == 1:
            raise exception
        return "YES"

    run_systems(card_file(3), tmp_path / "r.jsonl", make_system(answer))
    assert [row["pred"] for row in read_rows(tmp_path / "r.jsonl")] == ["YES", "ERROR", "YES"]


def test_coroutine_from_a_sync_system_is_invalid(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory
) -> None:
    async def answer_later() -> str:
        return "YES"

    class CoroutineSystem:
        name = "careless"

        def params(self) -> dict[str, Any]:
            return {}

        def answer(self, _card: object) -> Any:
            return answer_later()

    run_systems(card_file(2), tmp_path / "r.jsonl", CoroutineSystem())
    (row, _) = read_rows(tmp_path / "r.jsonl")
    assert row["pred"] == "INVALID"
    assert "coroutine" in row["note"]


def test_failing_close_is_only_reported(
    card_file: CardFile,
    tmp_path: Path,
    make_system: SystemFactory,
    capsys: pytest.CaptureFixture[str],
) -> None:
    system = make_system(answer_after_delay)

    async def fail_to_close() -> None:
        raise OSError("already gone")

    system.aclose = fail_to_close
    assert run_systems(card_file(2), tmp_path / "r.jsonl", system).manifest.status == "complete"
    assert "could not be closed: OSError: already gone" in capsys.readouterr().err


def test_run_works_inside_an_event_loop(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory
) -> None:
    cards = card_file(4)

    async def run_in_notebook() -> Run:
        return run_systems(cards, tmp_path / "r.jsonl", make_system(answer_after_delay))

    assert asyncio.run(run_in_notebook()).manifest.status == "complete"


def test_repeats_are_adjacent_and_can_be_raised(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory
) -> None:
    from eval.model.calls import current_calls

    async def answer(_number: int) -> str:
        return ("YES", "NO", "UNKNOWN")[current_calls().repeat]

    cards, out, extended = card_file(3), tmp_path / "r.jsonl", tmp_path / "once.jsonl"
    run_systems(cards, out, make_system(answer), repeats=3)
    assert [row.get("repeat") for row in read_rows(out)] == [None, 1, 2] * 3
    assert [row.pred for row in read_results(out)] == ["YES", "NO", "UNKNOWN"] * 3
    manifest = read_manifest(manifest_path(out))
    assert (manifest.repeats, manifest.rows_expected) == (3, 9)
    run_systems(cards, extended, make_system(answer))
    run_systems(cards, extended, make_system(answer), repeats=3)
    assert extended.read_bytes() == out.read_bytes()
    with pytest.raises(CardSetMismatchError, match="more than --repeat 2"):
        run_systems(cards, out, make_system(answer), repeats=2)


def test_file_with_rows_is_refused_with_no_resume(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory
) -> None:
    cards, out = card_file(3), tmp_path / "r.jsonl"
    out.touch()
    run_systems(cards, out, make_system(answer_after_delay), resume=False)
    before = out.read_bytes()
    with pytest.raises(WriteError, match="--no-resume"):
        run_systems(cards, out, make_system(answer_after_delay), resume=False)
    assert out.read_bytes() == before
    run_systems(cards, out, make_system(answer_after_delay), resume=False, overwrite=True)


def test_cards_changed_during_the_run_end_it(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory
) -> None:
    cards, out = card_file(9), tmp_path / "r.jsonl"

    async def answer(number: int) -> str:
        if number == 3:
            with cards.open("a") as handle:
                handle.write("\n")
        return "YES"

    with pytest.raises(CardSetMismatchError, match="card file was changed during the run"):
        run_systems(cards, out, make_system(answer), concurrency=1)
    assert len(read_rows(out)) == 4


def test_model_and_observed_behaviour_are_recorded(
    card_file: CardFile, tmp_path: Path, make_system: SystemFactory
) -> None:
    class FakeClient:
        model = "custom/m"

        def observed(self) -> dict[str, Any]:
            return {"fallbacks": {"text": 2}, "served": ["m-1"], "api_key": "hush-hush"}

    cards, out = card_file(6), tmp_path / "r.jsonl"
    for limit in (3, 6):
        system = make_system(answer_after_delay)
        system.client = FakeClient()
        run_systems(cards, out, system, limit=limit)
    manifest = read_manifest(manifest_path(out))
    assert manifest.model == "custom/m"
    assert manifest.observed["scripted"]["fallbacks"] == {"text": 4}
    assert manifest.observed["scripted"]["served"] == ["m-1"]
    assert "hush-hush" not in manifest_path(out).read_text()


def test_observations_are_combined_independently_of_grouping() -> None:
    from eval.harness.systems.description import merge_observed

    first = {"z": {"served": ["b", "a"], "fallbacks": {"text": 2}, "logprobs": True}}
    second = {"z": {"served": ["a", "c"], "fallbacks": {"other": 1, "text": 1}, "logprobs": False}}
    merged = {
        "z": {"fallbacks": {"other": 1, "text": 3}, "logprobs": False, "served": ["a", "b", "c"]}
    }
    assert json.dumps(merge_observed(first, second)) == json.dumps(merged)
    assert (
        json.dumps(merge_observed({}, merged))
        == json.dumps(merge_observed(merged, {}))
        == json.dumps(merged)
    )


def test_uncounted_tokens_are_described_as_not_counted() -> None:
    uncounted = CallTotals(replies=2, cost_usd=0.0).format_summary()
    assert uncounted == "2 replies, tokens not counted by the server, cost not known"
    counted = CallTotals(
        replies=2, prompt_tokens=7, completion_tokens=1, cost_usd=0.0
    ).format_summary()
    assert counted == "2 replies, 7 + 1 tokens, 0.0000 USD"
