"""The response cache: its keys, what it never stores, and damaged files."""

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

from eval.llm import Completion, ModelClient
from eval.model.cache import ReplyCache, reply_key
from eval.model.calls import record_calls
from eval.model.wire import ReceivedReply
from kg.base.errors import ModelAccessError, ModelCallError, WriteError

Opener = Callable[..., ModelClient]


class Verdict(msgspec.Struct):
    answer: str


class Other(msgspec.Struct):
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


def count_replies(request: ChatRequest) -> str:
    """Returns a different reply each time, like a sampling model."""
    return f"reply {request.number}"


def test_second_request_is_free_and_identical(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(normal_reply(count_replies, delay=0.02))
    file = tmp_path / "new" / "c.sqlite"
    one = complete_prompt(open_client(cache=file))
    two = complete_prompt(open_client(cache=file))
    assert len(scripted_server.requests) == 1
    assert (one.cached, two.cached) == (False, True)
    for name in ("text", "finish_reason", "usage", "latency_s", "logprobs"):
        assert getattr(one, name) == getattr(two, name), name
    assert one.logprobs
    assert one.latency_s >= 0.02


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
    "another schema": {"schema": Other},
    "json_object": {"schema": Other, "structured": "json_object"},
}


def test_changed_request_has_its_own_entry(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(normal_reply(count_replies))
    file = tmp_path / "c.sqlite"
    said: dict[str, str] = {}
    for _ in range(2):
        for name, change in {"base": {}, **CHANGES}.items():
            settings = dict(change)
            asked = {
                k: settings.pop(k) for k in ("text", "repeat", "sample", "schema") if k in settings
            }
            found = complete_prompt(open_client(cache=file, **settings), **asked)
            assert said.setdefault(name, found.text) == found.text, name
    assert len(set(said.values())) == len(said) == len(scripted_server.requests)


def test_call_settings_are_not_part_of_the_key(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    file = tmp_path / "c.sqlite"
    for settings in ({}, {"concurrency": 3}, {"timeout_s": 9.0}, {"requests_per_minute": 1e6}):
        complete_prompt(open_client(cache=file, **settings))
    assert len(scripted_server.requests) == 1


parts = st.tuples(
    st.text(max_size=8), st.binary(max_size=8), st.integers(0, 20), st.integers(0, 20)
)


@given(parts, parts)
def test_keys_are_equal_only_if_all_parts_are(one: tuple, two: tuple) -> None:
    def build_key(p: tuple) -> bytes:
        return reply_key(p[0].replace("\n", ""), p[1], p[2], p[3])

    same = (one[0].replace("\n", ""), *one[1:]) == (two[0].replace("\n", ""), *two[1:])
    assert (build_key(one) == build_key(two)) == same


@pytest.mark.parametrize("fault", ["empty text", "null text", "refusal", "content filter"])
def test_failed_replies_are_not_cached(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path, fault: str
) -> None:
    scripted_server.behave([FAULTS[fault](), normal_reply(count_replies)])
    file = tmp_path / "c.sqlite"
    assert not complete_prompt(open_client(cache=file)).text
    assert complete_prompt(open_client(cache=file)).text == "reply 1"


@pytest.mark.parametrize("fault", ["400", "401", "500", "no choices", "10 MB"])
def test_errors_are_not_cached(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path, fault: str
) -> None:
    file = tmp_path / "c.sqlite"
    scripted_server.behave(FAULTS[fault]())
    with pytest.raises((ModelAccessError, ModelCallError)):
        complete_prompt(open_client(cache=file, logprobs=False))
    scripted_server.behave(normal_reply(count_replies))
    assert complete_prompt(open_client(cache=file, logprobs=False)).text.startswith("reply")


def test_reply_cut_off_by_max_tokens_is_cached(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(FAULTS["cut off"]())
    file = tmp_path / "c.sqlite"
    complete_prompt(open_client(cache=file))
    found = complete_prompt(open_client(cache=file))
    assert (found.cached, found.finish_reason) == (True, "length")


def test_concurrent_equal_requests_are_sent_once(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(normal_reply(count_replies, delay=0.05))

    async def run_client() -> list[Completion]:
        async with open_client(cache=tmp_path / "c.sqlite") as client:
            turns = [{"role": "user", "content": "q"}]
            first = asyncio.ensure_future(client.complete(turns))
            await asyncio.sleep(0.01)
            rest = [asyncio.ensure_future(client.complete(turns)) for _ in range(5)]
            await asyncio.sleep(0.01)
            first.cancel()  # the others must not wait for ever for one that was given up
            return list(await asyncio.gather(*rest))

    found = asyncio.run(run_client())
    assert len({completion.text for completion in found}) == 1
    assert sum(not completion.cached for completion in found) == 1
    assert len(scripted_server.requests) == 2


def test_refused_modes_are_remembered_for_the_next_run(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(behaviours.reject_structured_output())
    file = tmp_path / "c.sqlite"
    complete_prompt(open_client(cache=file), schema=Verdict)
    scripted_server.behave(behaviours.http_error(503))  # the whole run must come from the cache
    found = complete_prompt(open_client(cache=file), schema=Verdict)
    assert (found.cached, found.mode) == (True, "json_object")
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
    open_client: Opener,
    scripted_server: ScriptedServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: str,
) -> None:
    scripted_server.behave(normal_reply(count_replies))
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
    open_client: Opener,
    scripted_server: ScriptedServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | str,
) -> None:
    file = tmp_path / "c.sqlite"
    complete_prompt(open_client(cache=file))
    before = file.read_bytes()
    damaged = content if isinstance(content, bytes) else before[:5000] + b"\xff" * 4000
    file.write_bytes(damaged)
    assert not complete_prompt(open_client(cache=file)).cached
    assert "damaged-1" in capsys.readouterr().err
    assert (tmp_path / "c.sqlite.damaged-1").read_bytes() == damaged
    assert complete_prompt(open_client(cache=file)).cached


def test_unusable_cache_is_reported_before_any_call(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "c.sqlite"):
        with pytest.raises(WriteError):
            open_client(cache=place)
    assert not scripted_server.requests


def test_full_disk_loses_cache_entries_but_no_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = ReplyCache(tmp_path / "c.sqlite")
    cache._database.execute("PRAGMA max_page_count = 8")
    for number in range(50):
        stored = cache.store_reply(b"%d" % number, ReceivedReply("x" * 1000))
        assert stored.text == "x" * 1000
    assert cache.get(b"0") is not None
    cache.close()
    assert capsys.readouterr().err.count("warning") == 1


def write_many(file: Path, name: str, barrier: Any, results: Any) -> None:
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
        context.Process(target=write_many, args=(tmp_path / "c.sqlite", name, barrier, results))
        for name in ("a", "b")
    ]
    for writer in writers:
        writer.start()
    one, two = results.get(timeout=60), results.get(timeout=60)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert one == two
    assert [text.split()[1] for text in one] == [str(n) for n in range(200)]


def create_foreign_database(file: Path) -> None:
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE bookmarks(address TEXT)")
    database.close()


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("cards.jsonl", lambda file: file.write_text('{"id": "1"}\n')),
        ("prices.json", lambda file: file.write_text("{}")),
        ("places.sqlite", create_foreign_database),
        ("pipe", os.mkfifo),
    ],
)
def test_foreign_file_is_refused_and_unchanged(
    open_client: Opener, tmp_path: Path, name: str, make: Callable[[Path], object]
) -> None:
    file = tmp_path / name
    make(file)
    before = file.read_bytes() if file.is_file() else None
    with pytest.raises(WriteError, match="--cache"):
        open_client(cache=file)
    assert [place.name for place in tmp_path.iterdir()] == [name]
    if before is not None:
        assert file.read_bytes() == before
