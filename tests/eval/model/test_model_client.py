"""The client over a server that answers, refuses, falls silent and lies."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
import pytest
from servers import behaviours
from servers.behaviours import FAULTS, Asked, reply
from servers.scripted_server import ScriptedServer, first

from eval.llm import Completion, Message, ModelClient, Reply
from eval.model.calls import CallLog, recording
from kg.base.errors import ModelAccessError, ModelCallError

Opener = Callable[..., ModelClient]


class Verdict(msgspec.Struct):
    answer: Literal["YES", "NO", "UNKNOWN"]
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    reason: str


def question(text: str = "Does it?") -> list[Message]:
    return [{"role": "system", "content": "Answer."}, {"role": "user", "content": text}]


def ask(client: ModelClient, text: str = "Does it?", repeat: int = 0) -> tuple[Reply[Any], CallLog]:
    """One structured question, and what it cost."""

    async def run() -> tuple[Reply[Any], CallLog]:
        async with client:
            with recording(repeat) as log:
                return await client.ask(question(text), Verdict), log

    return asyncio.run(run())


def complete(client: ModelClient, text: str = "Does it?") -> tuple[Completion, CallLog]:
    async def run() -> tuple[Completion, CallLog]:
        async with client:
            with recording() as log:
                return await client.complete(question(text)), log

    return asyncio.run(run())


def test_a_structured_reply_comes_back_typed(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    reply, log = ask(open_client(temperature=0.5, max_tokens=77, top_p=0.9, seed=5))
    assert isinstance(reply.value, Verdict)
    assert reply.problem is None
    assert not reply.repaired
    assert reply.completion.mode == "json_schema"
    assert reply.completion.logprobs
    assert (log.calls, log.retries, log.repairs, log.fallbacks) == (1, 0, 0, [])
    assert log.prompt_tokens > 0
    assert 0 < reply.completion.latency_s == log.latency_s
    (sent,) = (asked.body for asked in scripted_server.requests)
    assert sent["model"] == scripted_server.model
    assert (sent["temperature"], sent["top_p"], sent["seed"]) == (0.5, 0.9, 5)
    assert sent["max_tokens"] == 77
    assert sent["logprobs"] is True
    assert sent["response_format"]["json_schema"]["name"] == "Verdict"
    assert sent["messages"][1] == {"role": "user", "content": "Does it?"}


def test_a_plain_completion_asks_for_no_structure(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    completion, _ = complete(open_client(logprobs=False, temperature=None))
    assert completion.mode is None
    assert completion.logprobs is None
    assert completion.finish_reason == "stop"
    (sent,) = (asked.body for asked in scripted_server.requests)
    assert {"response_format", "logprobs", "temperature", "seed", "top_p"}.isdisjoint(sent)


@pytest.mark.parametrize(
    ("refuses", "mode", "requests"),
    [(("json_schema",), "json_object", 2), (("json_schema", "json_object"), "text", 3)],
)
def test_a_refused_mode_is_left_visibly_and_not_tried_again(
    open_client: Opener,
    scripted_server: ScriptedServer,
    refuses: tuple[str, ...],
    mode: str,
    requests: int,
) -> None:
    scripted_server.behave(behaviours.without_structure(refuses=refuses))

    async def run() -> None:
        async with open_client() as client:
            for number in range(3):
                with recording() as log:
                    reply = await client.ask(question(str(number)), Verdict)
                assert reply.value is not None
                assert reply.completion.mode == mode
                # Every call says so, not only the one that found out.
                assert log.fallbacks == [f"{mode} instead of json_schema"]
                assert log.retries == log.repairs == 0
            assert client.observed()["structured"] == mode
            assert client.observed()["fallbacks"] == {f"{mode} instead of json_schema": 3}
            assert client.params()["structured"] == "auto"

    asyncio.run(run())
    assert len(scripted_server.requests) == requests + 2


def test_a_demanded_mode_is_not_left(open_client: Opener, scripted_server: ScriptedServer) -> None:
    scripted_server.behave(behaviours.without_structure())
    with pytest.raises(ModelAccessError, match="json_schema"):
        ask(open_client(structured="json_schema"))
    assert ask(open_client(structured="json_object"))[1].fallbacks == []
    assert ask(open_client(structured="text"))[0].completion.mode == "text"


def test_refused_logprobs_are_done_without(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    refused = behaviours.status(400, "logprobs are not supported by this model")
    scripted_server.behave_by(lambda asked: refused if asked.body.get("logprobs") else reply())
    found, log = ask(open_client())
    assert found.value is not None
    assert found.completion.logprobs is None
    assert log.fallbacks == ["no log-probabilities"]


def test_an_error_about_what_was_not_asked_for_ends_the_call(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(behaviours.status(400, "response_format and logprobs are odd"))
    with pytest.raises(ModelCallError):
        complete(open_client(logprobs=False))
    scripted_server.behave(behaviours.status(400, "logprobs are odd"))
    with pytest.raises(ModelCallError):
        complete(open_client(logprobs=True))


def test_an_unreadable_reply_gets_one_repair_turn(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave([reply(behaviours.prose), reply()])
    found, log = ask(open_client())
    assert found.value is not None
    assert found.repaired
    assert (log.calls, log.repairs) == (2, 1)
    assert log.fallbacks == ["json_schema not followed"]
    turns = scripted_server.requests[1].body["messages"]
    assert [turn["role"] for turn in turns] == ["system", "user", "assistant", "user"]
    assert "not JSON" in turns[3]["content"]


def test_a_schema_that_is_ignored_is_noted_of_servers_that_give_no_finish_reason(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    silent = behaviours.edited(
        lambda body: body["choices"][0].pop("finish_reason"), behaviours.prose
    )
    scripted_server.behave(silent)
    found, log = ask(open_client())
    assert found.value is None
    assert log.fallbacks == ["json_schema not followed"]


def test_there_is_no_second_repair_turn(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(reply(behaviours.prose))
    found, log = ask(open_client())
    assert found.value is None
    assert found.problem
    assert "That follows" in found.text
    assert (log.calls, log.repairs, len(scripted_server.requests)) == (2, 1, 2)


@pytest.mark.parametrize("fault", ["refusal", "content filter"])
def test_a_refusal_is_no_answer_and_not_repaired(
    open_client: Opener, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave(FAULTS[fault]())
    found, log = ask(open_client())
    assert found.value is None
    assert found.problem == "refused"
    assert found.completion.refused
    assert (log.calls, log.repairs) == (1, 0)


def test_a_question_that_a_filter_refuses_is_a_refusal(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    message = "The response was filtered"
    scripted_server.behave(behaviours.status(400, message, error_code="content_filter"))
    assert ask(open_client())[0].problem == "refused"


PASSING = [
    "429 without Retry-After",
    "429 with Retry-After in seconds",
    "408",
    "500",
    "502",
    "503",
    "reset",
    "truncated",
    "half JSON",
    "invalid JSON",
    "web page",
    "latin-1",
    "invalid UTF-8",
    "no choices",
]


@pytest.mark.parametrize("fault", PASSING)
def test_what_may_pass_is_tried_again_and_counted(
    open_client: Opener, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave_by(first(2, FAULTS[fault]()))
    found, log = ask(open_client())
    assert found.value is not None
    assert (log.calls, log.retries, log.repairs) == (1, 2, 0)
    scripted_server.behave(FAULTS[fault]())
    with pytest.raises(ModelCallError, match="after 3 retries"):
        ask(open_client())


@pytest.mark.parametrize("fault", ["hang", "slow drip"])
def test_an_attempt_has_a_time_for_its_whole_reply(
    open_client: Opener, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave_by(first(1, FAULTS[fault]()))
    found, log = ask(open_client(timeout_s=0.3))
    assert found.value is not None
    assert log.retries == 1
    assert found.completion.latency_s < 0.3


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("401", "401"),
        ("404", "404"),
        ("429 for good", "quota"),
    ],
)
def test_what_concerns_every_call_is_said_at_once(
    open_client: Opener, scripted_server: ScriptedServer, fault: str, said: str
) -> None:
    scripted_server.behave(FAULTS[fault]())
    with pytest.raises(ModelAccessError, match=said):
        ask(open_client())
    assert len(scripted_server.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308, 402, 403])
def test_other_statuses_that_concern_every_call(
    open_client: Opener, scripted_server: ScriptedServer, status: int
) -> None:
    scripted_server.behave(
        behaviours.status(status, "no", headers={"Location": "http://127.0.0.1:9/stolen"})
    )
    with pytest.raises(ModelAccessError, match=str(status)):
        ask(open_client())


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (400, "gpt-9 is not a valid model ID", ModelAccessError),
        (400, "model 'x' not found, try pulling it first", ModelAccessError),
        (400, "This model's maximum context length is 4096 tokens.", ModelCallError),
        (413, "too large", ModelCallError),
        (422, "bad temperature", ModelCallError),
    ],
)
def test_bad_requests_are_told_apart(
    open_client: Opener, scripted_server: ScriptedServer, status: int, words: str, kind: type
) -> None:
    scripted_server.behave(behaviours.status(status, words))
    with pytest.raises(kind):
        ask(open_client())
    assert len(scripted_server.requests) == 1


def test_an_error_in_a_body_of_status_200_is_one(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    def body(code: object) -> behaviours.Behaviour:
        error = {"error": {"message": "provider down", "code": code}}
        return behaviours.raw_body(lambda asked: msgspec.json.encode(error))

    scripted_server.behave([body(502), body("odd"), reply()])
    assert ask(open_client())[1].retries == 2
    scripted_server.behave(body(402))
    with pytest.raises(ModelAccessError, match="provider down"):
        ask(open_client())


@pytest.mark.parametrize("fault", ["10 MB", "10 MB unannounced", "packed"])
def test_a_reply_that_is_too_long_is_not_read(
    open_client: Opener, scripted_server: ScriptedServer, fault: str
) -> None:
    async def unannounced(asked: Asked) -> Any:
        from aiohttp import web

        response = web.StreamResponse()
        await response.prepare(asked.web)
        with contextlib.suppress(ConnectionError):
            for _ in range(100_000):
                await response.write(b" " * 100_000)
        return response

    async def packed(asked: Asked) -> Any:
        import gzip

        from aiohttp import web

        body = gzip.compress(b" " * 100_000_000)
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    ours = {"10 MB unannounced": unannounced, "packed": packed}
    scripted_server.behave(ours.get(fault) or FAULTS[fault]())
    with pytest.raises(ModelCallError, match=r"longer than|packed"):
        ask(open_client(logprobs=False))
    assert len(scripted_server.requests) == 1


def test_an_error_page_that_is_too_long_is_not_read_either(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(behaviours.status(500, "x" * 10_000_000))
    with pytest.raises(ModelCallError, match="longer than") as caught:
        ask(open_client())
    assert len(caught.value.one_line()) < 2_000


@pytest.mark.parametrize("fault", ["null text", "empty text"])
def test_an_empty_reply_is_unreadable_after_its_repair(
    open_client: Opener, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave(FAULTS[fault]())
    found, log = ask(open_client())
    assert (found.value, found.text, found.problem) == (None, "", "empty")
    assert log.repairs == 1


def test_a_reply_in_parts_is_put_together(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(FAULTS["list of parts"]())
    assert ask(open_client())[0].value is not None


def test_a_server_without_a_count_gives_no_usage(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(behaviours.without_usage())
    found, log = ask(open_client())
    assert found.completion.usage is None
    assert log.cost_usd is None


def test_samples_and_repeats_have_seeds_of_their_own(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    async def run() -> None:
        async with open_client(seed=7) as client:
            for repeat in range(3):
                with recording(repeat):
                    for sample in range(3):
                        await client.complete(question(), sample=sample)

    asyncio.run(run())
    seeds = [asked.body["seed"] for asked in scripted_server.requests]
    assert len(set(seeds)) == 9
    assert seeds[0] == 7


def test_no_more_are_in_flight_than_asked(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(reply(delay=0.02))

    async def run() -> None:
        async with open_client(concurrency=5) as client:
            await asyncio.gather(*(client.complete(question(str(n))) for n in range(40)))

    asyncio.run(run())
    assert len(scripted_server.requests) == 40
    assert 2 <= scripted_server.most_in_flight <= 5


def test_one_retry_after_holds_back_everyone(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_by(
        lambda asked: behaviours.rate_limited(0.4) if asked.number == 0 else reply()
    )

    async def run() -> None:
        async with open_client(concurrency=1) as client:
            await asyncio.gather(*(client.complete(question(str(n))) for n in range(5)))

    asyncio.run(run())
    times = [asked.at for asked in scripted_server.requests]
    assert times[1] - times[0] >= 0.39


def test_latency_leaves_out_waits_and_failures(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_by(first(1, behaviours.rate_limited(0.5)))
    found, log = ask(open_client())
    assert log.retries == 1
    assert found.completion.latency_s < 0.45


def test_a_stream_comes_in_pieces_with_its_usage(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_by(first(1, behaviours.status(503), reply(lambda asked: "a b c d")))

    async def run() -> tuple[list[str], CallLog]:
        async with open_client() as client:
            with recording() as log:
                return [piece async for piece in client.stream(question())], log

    pieces, log = asyncio.run(run())
    assert len(pieces) > 1
    assert "".join(pieces) == "a b c d"
    assert (log.calls, log.retries) == (1, 1)


def test_a_reader_that_stops_early_gives_its_place_back(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(reply(lambda asked: "word " * 1000))

    async def run() -> CallLog:
        async with open_client(concurrency=1) as client:
            with recording() as log:
                for _ in range(2):
                    async with contextlib.aclosing(client.stream(question())) as pieces:
                        async for _piece in pieces:
                            break
                assert (await client.complete(question())).text
            return log

    log = asyncio.run(run())
    assert log.calls == 3
    assert log.cost_usd is None


def test_a_stream_that_breaks_off_is_an_error(
    open_client: Opener, scripted_server: ScriptedServer
) -> None:
    async def broken(asked: Asked) -> Any:
        from aiohttp import web

        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(asked.web)
        chunk = {"choices": [{"index": 0, "delta": {"content": "It does"}}]}
        await response.write(b"data: " + msgspec.json.encode(chunk) + b"\n\n")
        if asked.number:
            asked.web.transport.close()  # type: ignore[union-attr]
        return response

    scripted_server.behave(broken)

    async def run() -> None:
        async with open_client() as client:
            async for piece in client.stream(question()):
                assert piece == "It does"

    for _ in range(2):  # first a clean end without a finish reason, then a broken connection
        with pytest.raises(ModelCallError):
            asyncio.run(run())


def test_clients_with_equal_options_share_one_connection(open_client: Opener) -> None:
    async def run() -> None:
        one, two = open_client(), open_client(temperature=1.0)
        other = open_client(concurrency=3)
        assert one._caller is two._caller is not other._caller
        await one.aclose()
        await one.aclose()
        assert (await two.complete(question())).text
        await two.aclose()
        await other.aclose()

    asyncio.run(run())


def test_a_client_may_go_on_in_another_loop_after_it_was_closed(open_client: Opener) -> None:
    for _ in range(2):
        assert ask(open_client())[0].value is not None


def test_nobody_listening_is_said_after_a_few_tries(
    open_client: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host in ("127.0.0.1", "localhost"):
        monkeypatch.setenv("EPOCHE_BASE_URL", f"http://{host}:9")
        with pytest.raises(ModelAccessError, match="refused"):
            ask(open_client())
    monkeypatch.setenv("EPOCHE_BASE_URL", "http://nobody.invalid")
    with pytest.raises(ModelAccessError, match="name"):
        ask(open_client(max_retries=1))


def test_a_server_without_tls_is_not_spoken_to_in_https(
    open_client: Opener, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url.replace("http:", "https:"))
    with pytest.raises(ModelAccessError, match="no secure connection"):
        ask(open_client())


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_no_proxy_stands_before_a_server_on_this_machine(
    open_client: Opener, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert ask(open_client())[0].value is not None
