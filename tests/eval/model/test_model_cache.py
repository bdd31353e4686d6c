"""Tests the keys of the reply cache, what it does not store, and how it treats damaged files."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers import behaviours
from servers.behaviours import FAULTS, ChatRequest, normal_reply
from servers.scripted_server import ScriptedServer

from eval.model.cache import ReplyCache, reply_key
from eval.model.calls import record_calls
from eval.model.client import Completion, ModelClient
from eval.model.wire import ReceivedReply
from kg.base.errors import ModelAccessError, ModelCallError, WriteError

ClientFactory = Callable[..., ModelClient]


class Verdict(msgspec.Struct):
    answer: str


class VerdictWithReason(msgspec.Struct):
    answer: str
    reason: str


def complete_prompt(
    client: ModelClient,
    text: str = "q",
    *,
    repeat: int = 0,
    sample: int = 0,
    schema: type | None = None,
) -> Completion:
    async def run_client() -> Completion:
        async with client:
            with record_calls(repeat):
                turns = [{"role": "user", "content": text}]
                return await client.complete(turns, schema=schema, sample=sample)

    return asyncio.run(run_client())


def number_reply(request: ChatRequest) -> str:
    """Returns a different reply to each request, like a model with a temperature above 0."""
    return f"reply {request.number}"


def test_second_request_is_free_and_identical(
    open_client: ClientFactory, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(normal_reply(number_reply, delay=0.02))
    cache = tmp_path / "new" / "c.sqlite"
    first_completion = complete_prompt(open_client(cache=cache))
    second_completion = complete_prompt(open_client(cache=cache))
    assert len(scripted_server.requests) == 1
    assert (first_completion.cached, second_completion.cached) == (False, True)
    for name in ("text", "finish_reason", "usage", "latency_s", "logprobs"):
        assert getattr(first_completion, name) == getattr(second_completion, name), name
    assert first_completion.logprobs
    assert first_completion.latency_s >= 0.02


CHANGES: dict[str, dict[str, Any]] = {
    "temperature": {"temperature": 0.1},
    "no temperature": {"temperature": None},
    "top_p": {"top_p": 0.5},
    "max_tokens": {"max_tokens": 5},
    "seed": {"seed": 1},
    "seed 0": {"seed": 0},
    "logprobs": {"logprobs": False},
    "model": {"model": "custom/another"},
    "text": {"text": "q "},
    "repeat": {"repeat": 1},
    "sample": {"sample": 1},
    "schema": {"schema": Verdict},
    "another schema": {"schema": VerdictWithReason},
    "json_object": {"schema": VerdictWithReason, "structured": "json_object"},
}
"""Name → settings of the client, or arguments of the call, that differ from the base request."""


def test_changed_request_has_its_own_entry(
    open_client: ClientFactory, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(normal_reply(number_reply))
    file = tmp_path / "c.sqlite"
    replies: dict[str, str] = {}
    for _ in range(2):
        for name, change in {"base": {}, **CHANGES}.items():
            settings = dict(change)
            request_arguments = {
                argument: settings.pop(argument)
                for argument in ("text", "repeat", "sample", "schema")
                if argument in settings
            }
            completion = complete_prompt(open_client(cache=file, **settings), **request_arguments)
            assert replies.setdefault(name, completion.text) == completion.text, name
    assert len(set(replies.values())) == len(replies) == len(scripted_server.requests)


def test_call_settings_are_not_part_of_the_key(
    open_client: ClientFactory, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    file = tmp_path / "c.sqlite"
    for settings in ({}, {"concurrency": 3}, {"timeout_s": 9.0}, {"requests_per_minute": 1e6}):
        complete_prompt(open_client(cache=file, **settings))
    assert len(scripted_server.requests) == 1


KEY_PARTS = st.tuples(
    st.text(max_size=8), st.binary(max_size=8), st.integers(0, 20), st.integers(0, 20)
)
"""Address of the server (in which line ends are removed), request, repeat and sample."""


@given(KEY_PARTS, KEY_PARTS)
def test_keys_are_equal_only_if_all_parts_are(first_parts: tuple, second_parts: tuple) -> None:
    def build_key(parts: tuple) -> bytes:
        return reply_key(parts[0].replace("\n", ""), parts[1], parts[2], parts[3])

    are_equal = (first_parts[0].replace("\n", ""), *first_parts[1:]) == (
        second_parts[0].replace("\n", ""),
        *second_parts[1:],
    )
    assert (build_key(first_parts) == build_key(second_parts)) == are_equal


@pytest.mark.parametrize("fault", ["empty text", "null text", "refusal", "content filter"])
def test_failed_replies_are_not_cached(
    open_client: ClientFactory, scripted_server: ScriptedServer, tmp_path: Path, fault: str
) -> None:
    scripted_server.behave([FAULTS[fault](), normal_reply(number_reply)])
    file = tmp_path / "c.sqlite"
    assert not complete_prompt(open_client(cache=file)).text
    assert complete_prompt(open_client(cache=file)).text == "reply 1"


@pytest.mark.parametrize("fault", ["400", "401", "500", "no choices", "10 MB"])
def test_errors_are_not_cached(
    open_client: ClientFactory, scripted_server: ScriptedServer, tmp_path: Path, fault: str
) -> None:
    file = tmp_path / "c.sqlite"
    scripted_server.behave(FAULTS[fault]())
    with pytest.raises((ModelAccessError, ModelCallError)):
        complete_prompt(open_client(cache=file, logprobs=False))
    scripted_server.behave(normal_reply(number_reply))
    assert complete_prompt(open_client(cache=file, logprobs=False)).text.startswith("reply")


def test_reply_cut_off_by_max_tokens_is_cached(
    open_client: ClientFactory, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(FAULTS["cut off"]())
    file = tmp_path / "c.sqlite"
    complete_prompt(open_client(cache=file))
    completion = complete_prompt(open_client(cache=file))
    assert (completion.cached, completion.finish_reason) == (True, "length")


def test_concurrent_equal_requests_are_sent_once(
    open_client: ClientFactory, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    # The reply is slow, so that a busy machine can start every call before it comes.
    scripted_server.behave(normal_reply(number_reply, delay=0.5))

    async def run_client() -> list[Completion]:
        async with open_client(cache=tmp_path / "c.sqlite") as client:
            turns = [{"role": "user", "content": "q"}]
            first_call = asyncio.ensure_future(client.complete(turns))
            other_calls = [asyncio.ensure_future(client.complete(turns)) for _ in range(5)]
            while not scripted_server.requests:
                await asyncio.sleep(0.001)
            # The other calls wait for the reply to the first one; now one of them must ask again.
            first_call.cancel()
            return list(await asyncio.gather(*other_calls))

    completions = asyncio.run(run_client())
    assert len({completion.text for completion in completions}) == 1
    assert sum(not completion.cached for completion in completions) == 1
    assert len(scripted_server.requests) == 2


def test_refused_modes_are_remembered_for_the_next_run(
    open_client: ClientFactory, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(behaviours.reject_structured_output())
    file = tmp_path / "c.sqlite"
    complete_prompt(open_client(cache=file), schema=Verdict)
    # Every request now fails, so the next reply must come from the cache.
    scripted_server.behave(behaviours.http_error(503))
    completion = complete_prompt(open_client(cache=file), schema=Verdict)
    assert (completion.cached, completion.mode) == (True, "json_object")
    assert len(scripted_server.requests) == 2


def tamper_with_database(file: Path, statement: str) -> None:
    with sqlite3.connect(file) as database:
        assert database.execute(statement).rowcount == 1
    database.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE replies SET reply = CAST(replace(reply, 'reply 0', 'REPLY 0') AS BLOB)",
        "UPDATE replies SET reply = x'00ff'",
        "UPDATE replies SET reply = 'text'",
        "UPDATE replies SET reply = ''",
        "UPDATE replies SET checksum = 1",
        "UPDATE replies SET checksum = 'x'",
    ],
)
def test_damaged_entry_is_fetched_again(
    open_client: ClientFactory,
    scripted_server: ScriptedServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: str,
) -> None:
    scripted_server.behave(normal_reply(number_reply))
    file = tmp_path / "c.sqlite"
    complete_prompt(open_client(cache=file))
    tamper_with_database(file, damage)
    assert complete_prompt(open_client(cache=file)).text == "reply 1"
    assert "damaged" in capsys.readouterr().err
    assert complete_prompt(open_client(cache=file)).cached
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "content", [b"not a database, but a long enough text " * 99, b"x" * 600, "cut"]
)
def test_damaged_file_is_renamed(
    open_client: ClientFactory,
    scripted_server: ScriptedServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | str,
) -> None:
    file = tmp_path / "c.sqlite"
    complete_prompt(open_client(cache=file))
    old_bytes = file.read_bytes()
    # "cut" stands for the original file with a damaged end.
    damaged = content if isinstance(content, bytes) else old_bytes[:5000] + b"\xff" * 4000
    file.write_bytes(damaged)
    assert not complete_prompt(open_client(cache=file)).cached
    assert "damaged-1" in capsys.readouterr().err
    assert (tmp_path / "c.sqlite.damaged-1").read_bytes() == damaged
    assert complete_prompt(open_client(cache=file)).cached


def test_unusable_cache_is_reported_before_any_call(
    open_client: ClientFactory, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "c.sqlite"):
        with pytest.raises(WriteError):
            open_client(cache=path)
    assert not scripted_server.requests


def test_full_disk_loses_cache_entries_but_no_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = ReplyCache(tmp_path / "c.sqlite")
    cache._database.execute("PRAGMA max_page_count = 8")  # stands for a full disk
    for number in range(50):
        stored = cache.store_reply(b"%d" % number, ReceivedReply("x" * 1000))
        assert stored.text == "x" * 1000
    assert cache.get(b"0") is not None
    cache.close()
    assert capsys.readouterr().err.count("warning") == 1


def store_replies(file: Path, name: str, barrier: Any, results: Any) -> None:
    """Stores 200 replies under keys shared by all processes; ``results`` gets the stored texts."""
    cache = ReplyCache(file)
    barrier.wait()
    stored = [cache.store_reply(b"%d" % n, ReceivedReply(f"{name} {n}")).text for n in range(200)]
    cache.close()
    results.put(stored)


def test_two_processes_share_one_cache_file(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    writers = [
        context.Process(target=store_replies, args=(tmp_path / "c.sqlite", name, barrier, results))
        for name in ("a", "b")
    ]
    for writer in writers:
        writer.start()
    first_texts, second_texts = results.get(timeout=60), results.get(timeout=60)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert first_texts == second_texts
    assert [text.split()[1] for text in first_texts] == [str(n) for n in range(200)]


def create_bookmark_database(file: Path) -> None:
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE bookmarks(address TEXT)")
    database.close()


@pytest.mark.parametrize(
    ("name", "create_file"),
    [
        ("cards.jsonl", lambda file: file.write_text('{"id": "1"}\n')),
        ("prices.json", lambda file: file.write_text("{}")),
        ("places.sqlite", create_bookmark_database),
        ("pipe", os.mkfifo),
    ],
)
def test_foreign_file_is_refused_and_unchanged(
    open_client: ClientFactory, tmp_path: Path, name: str, create_file: Callable[[Path], object]
) -> None:
    file = tmp_path / name
    create_file(file)
    old_bytes = file.read_bytes() if file.is_file() else None
    with pytest.raises(WriteError, match="--cache"):
        open_client(cache=file)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    if old_bytes is not None:
        assert file.read_bytes() == old_bytes


def test_a_cache_that_another_process_is_making_is_opened_when_it_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SQLite fails at once, now and then, where two processes make the same file.
    connect, failures = ReplyCache._connect_database, iter([1, 2, 3])

    def connect_later(cache: ReplyCache) -> sqlite3.Connection:
        if next(failures, None):
            raise sqlite3.OperationalError("database is locked")
        return connect(cache)

    monkeypatch.setattr(ReplyCache, "_connect_database", connect_later)
    ReplyCache(tmp_path / "c.sqlite").close()
    monkeypatch.setattr("eval.model.cache._BUSY_S", -1)
    failures = iter([1])
    with pytest.raises(WriteError, match="locked"):
        ReplyCache(tmp_path / "d.sqlite")
