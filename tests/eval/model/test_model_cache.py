"""The response cache: what its keys tell apart, what it never keeps, and how it is damaged."""

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
from servers.behaviours import FAULTS, Asked, reply
from servers.scripted_server import ScriptedServer

from eval.llm import Completion, ModelClient
from eval.model.cache import ReplyCache, reply_key
from eval.model.calls import recording
from eval.model.wire import Received
from kg.base.errors import ModelAccessError, ModelCallError, WriteError

Opener = Callable[..., ModelClient]


class Verdict(msgspec.Struct):
    answer: str


class Other(msgspec.Struct):
    answer: str
    reason: str


def complete(
    client: ModelClient,
    text: str = "q",
    *,
    repeat: int = 0,
    sample: int = 0,
    schema: type | None = None,
) -> Completion:
    async def run() -> Completion:
        async with client:
            with recording(repeat):
                turns = [{"role": "user", "content": text}]
                return await client.complete(turns, schema=schema, sample=sample)

    return asyncio.run(run())


def counting(asked: Asked) -> str:
    """A different reply each time, as from a model that samples."""
    return f"reply {asked.number}"


def test_the_second_time_is_free_and_the_same(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(reply(counting, delay=0.02))
    file = tmp_path / "new" / "c.sqlite"
    one = complete(open_client(cache=file))
    two = complete(open_client(cache=file))
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


def test_any_change_of_what_decides_a_reply_is_another_entry(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(reply(counting))
    file = tmp_path / "c.sqlite"
    said: dict[str, str] = {}
    for _ in range(2):
        for name, change in {"base": {}, **CHANGES}.items():
            settings = dict(change)
            asked = {
                k: settings.pop(k) for k in ("text", "repeat", "sample", "schema") if k in settings
            }
            found = complete(open_client(cache=file, **settings), **asked)
            assert said.setdefault(name, found.text) == found.text, name
    assert len(set(said.values())) == len(said) == len(scripted_server.requests)


def test_how_calls_are_made_is_not_part_of_the_key(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    file = tmp_path / "c.sqlite"
    for settings in ({}, {"concurrency": 3}, {"timeout_s": 9.0}, {"requests_per_minute": 1e6}):
        complete(open_client(cache=file, **settings))
    assert len(scripted_server.requests) == 1


parts = st.tuples(
    st.text(max_size=8), st.binary(max_size=8), st.integers(0, 20), st.integers(0, 20)
)


@given(parts, parts)
def test_keys_are_equal_only_where_all_parts_are(one: tuple, two: tuple) -> None:
    def key(p: tuple) -> bytes:
        return reply_key(p[0].replace("\n", ""), p[1], p[2], p[3])

    same = (one[0].replace("\n", ""), *one[1:]) == (two[0].replace("\n", ""), *two[1:])
    assert (key(one) == key(two)) == same


@pytest.mark.parametrize("fault", ["empty text", "null text", "refusal", "content filter"])
def test_what_is_no_answer_is_not_kept(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path, fault: str
) -> None:
    scripted_server.behave([FAULTS[fault](), reply(counting)])
    file = tmp_path / "c.sqlite"
    assert not complete(open_client(cache=file)).text
    assert complete(open_client(cache=file)).text == "reply 1"


@pytest.mark.parametrize("fault", ["400", "401", "500", "no choices", "10 MB"])
def test_errors_are_not_kept(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path, fault: str
) -> None:
    file = tmp_path / "c.sqlite"
    scripted_server.behave(FAULTS[fault]())
    with pytest.raises((ModelAccessError, ModelCallError)):
        complete(open_client(cache=file, logprobs=False))
    scripted_server.behave(reply(counting))
    assert complete(open_client(cache=file, logprobs=False)).text.startswith("reply")


def test_a_reply_cut_off_by_max_tokens_is_kept(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(FAULTS["cut off"]())
    file = tmp_path / "c.sqlite"
    complete(open_client(cache=file))
    found = complete(open_client(cache=file))
    assert (found.cached, found.finish_reason) == (True, "length")


def test_the_same_request_under_way_twice_is_sent_once(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(reply(counting, delay=0.05))

    async def run() -> list[Completion]:
        async with open_client(cache=tmp_path / "c.sqlite") as client:
            turns = [{"role": "user", "content": "q"}]
            first = asyncio.ensure_future(client.complete(turns))
            await asyncio.sleep(0.01)
            rest = [asyncio.ensure_future(client.complete(turns)) for _ in range(5)]
            await asyncio.sleep(0.01)
            first.cancel()  # the others must not wait for ever for one that was given up
            return list(await asyncio.gather(*rest))

    found = asyncio.run(run())
    assert len({completion.text for completion in found}) == 1
    assert sum(not completion.cached for completion in found) == 1
    assert len(scripted_server.requests) == 2


def test_what_a_server_refused_is_known_to_the_next_run(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    scripted_server.behave(behaviours.without_structure())
    file = tmp_path / "c.sqlite"
    complete(open_client(cache=file), schema=Verdict)
    scripted_server.behave(behaviours.status(503))  # the whole run must come from the cache
    found = complete(open_client(cache=file), schema=Verdict)
    assert (found.cached, found.mode) == (True, "json_object")
    assert len(scripted_server.requests) == 2


def tamper(file: Path, statement: str) -> None:
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
def test_a_damaged_entry_is_dropped_and_fetched_again(
    open_client: Opener,
    scripted_server: ScriptedServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: str,
) -> None:
    scripted_server.behave(reply(counting))
    file = tmp_path / "c.sqlite"
    complete(open_client(cache=file))
    tamper(file, damage)
    assert complete(open_client(cache=file)).text == "reply 1"
    assert "damaged" in capsys.readouterr().err
    assert complete(open_client(cache=file)).cached
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "content", [b"not a database, but a long enough text " * 99, b"x" * 600, "cut"]
)
def test_a_damaged_file_is_set_aside(
    open_client: Opener,
    scripted_server: ScriptedServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | str,
) -> None:
    file = tmp_path / "c.sqlite"
    complete(open_client(cache=file))
    before = file.read_bytes()
    damaged = content if isinstance(content, bytes) else before[:5000] + b"\xff" * 4000
    file.write_bytes(damaged)
    assert not complete(open_client(cache=file)).cached
    assert "damaged-1" in capsys.readouterr().err
    assert (tmp_path / "c.sqlite.damaged-1").read_bytes() == damaged
    assert complete(open_client(cache=file)).cached


def test_a_cache_that_cannot_be_made_is_said_before_any_call(
    open_client: Opener, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "c.sqlite"):
        with pytest.raises(WriteError):
            open_client(cache=place)
    assert not scripted_server.requests


def test_a_full_disk_costs_the_copies_but_no_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = ReplyCache(tmp_path / "c.sqlite")
    cache._database.execute("PRAGMA max_page_count = 8")
    for number in range(50):
        stored = cache.put(b"%d" % number, Received("x" * 1000))
        assert stored.text == "x" * 1000
    assert cache.get(b"0") is not None
    cache.close()
    assert capsys.readouterr().err.count("warning") == 1


def write_many(file: Path, name: str, barrier: Any, results: Any) -> None:
    """Stores 200 replies under the same keys as everyone else, and says what was stored."""
    cache = ReplyCache(file)
    barrier.wait()
    stored = [cache.put(b"%d" % n, Received(f"{name} {n}")).text for n in range(200)]
    cache.close()
    results.put(stored)


def test_two_processes_share_one_file_and_agree(tmp_path: Path) -> None:
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


def foreign_database(file: Path) -> None:
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE bookmarks(address TEXT)")
    database.close()


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("cards.jsonl", lambda file: file.write_text('{"id": "1"}\n')),
        ("prices.json", lambda file: file.write_text("{}")),
        ("places.sqlite", foreign_database),
        ("pipe", os.mkfifo),
    ],
)
def test_a_file_that_is_somebody_elses_is_refused_and_stays(
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
