"""Tests the model client with a server that answers, refuses, hangs and sends faulty replies."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
import pytest
from servers import behaviours
from servers.behaviours import FAULTS, ChatRequest, normal_reply
from servers.scripted_server import ScriptedServer, fail_first_attempts

from eval.model.calls import CallLog, record_calls
from eval.model.client import Completion, Message, ModelClient, Reply
from kg.base.errors import ModelAccessError, ModelCallError

ClientFactory = Callable[..., ModelClient]


class Verdict(msgspec.Struct):
    answer: Literal["YES", "NO", "UNKNOWN"]
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    reason: str


def build_question(text: str = "Does it?") -> list[Message]:
    return [{"role": "system", "content": "Answer."}, {"role": "user", "content": text}]


def ask_structured(
    client: ModelClient, text: str = "Does it?", repeat: int = 0
) -> tuple[Reply[Any], CallLog]:
    """Asks one structured question; returns the reply and the call log."""

    async def run_client() -> tuple[Reply[Any], CallLog]:
        async with client:
            with record_calls(repeat) as log:
                return await client.ask(build_question(text), Verdict), log

    return asyncio.run(run_client())


def complete_text(client: ModelClient, text: str = "Does it?") -> tuple[Completion, CallLog]:
    async def run_client() -> tuple[Completion, CallLog]:
        async with client:
            with record_calls() as log:
                return await client.complete(build_question(text)), log

    return asyncio.run(run_client())


def test_structured_reply_is_returned_typed(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    reply, log = ask_structured(open_client(temperature=0.5, max_tokens=77, top_p=0.9, seed=5))
    assert isinstance(reply.value, Verdict)
    assert reply.problem is None
    assert not reply.repaired
    assert reply.completion.mode == "json_schema"
    assert reply.completion.logprobs
    assert (log.calls, log.retries, log.repairs, log.fallbacks) == (1, 0, 0, [])
    assert log.prompt_tokens > 0
    assert 0 < reply.completion.latency_s == log.latency_s
    (request_body,) = (request.body for request in scripted_server.requests)
    assert request_body["model"] == scripted_server.model
    assert (request_body["temperature"], request_body["top_p"], request_body["seed"]) == (
        0.5,
        0.9,
        5,
    )
    assert request_body["max_tokens"] == 77
    assert request_body["logprobs"] is True
    assert request_body["response_format"]["json_schema"]["name"] == "Verdict"
    assert request_body["messages"][1] == {"role": "user", "content": "Does it?"}


def test_a_plain_completion_asks_for_no_structure(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    completion, _ = complete_text(open_client(logprobs=False, temperature=None))
    assert completion.mode is None
    assert completion.logprobs is None
    assert completion.finish_reason == "stop"
    (request_body,) = (request.body for request in scripted_server.requests)
    assert {"response_format", "logprobs", "temperature", "seed", "top_p"}.isdisjoint(request_body)


@pytest.mark.parametrize(
    ("rejected_formats", "mode", "n_requests"),
    [(("json_schema",), "json_object", 2), (("json_schema", "json_object"), "text", 3)],
)
def test_refused_mode_falls_back_once_and_is_recorded(
    open_client: ClientFactory,
    scripted_server: ScriptedServer,
    rejected_formats: tuple[str, ...],
    mode: str,
    n_requests: int,
) -> None:
    scripted_server.behave(behaviours.reject_structured_output(rejected_formats=rejected_formats))

    async def run_client() -> None:
        async with open_client() as client:
            for number in range(3):
                with record_calls() as log:
                    reply = await client.ask(build_question(str(number)), Verdict)
                assert reply.value is not None
                assert reply.completion.mode == mode
                # Every call notes the fallback, not only the first call.
                assert log.fallbacks == [f"{mode} instead of json_schema"]
                assert log.retries == log.repairs == 0
            assert client.observed()["structured"] == mode
            assert client.observed()["fallbacks"] == {f"{mode} instead of json_schema": 3}
            assert client.params()["structured"] == "auto"

    asyncio.run(run_client())
    # The first call tries the refused modes; the second and third need one request each.
    assert len(scripted_server.requests) == n_requests + 2


def test_required_mode_has_no_fallback(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(behaviours.reject_structured_output())
    with pytest.raises(ModelAccessError, match="json_schema"):
        ask_structured(open_client(structured="json_schema"))
    assert ask_structured(open_client(structured="json_object"))[1].fallbacks == []
    assert ask_structured(open_client(structured="text"))[0].completion.mode == "text"


def test_refused_logprobs_are_dropped(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    logprobs_error = behaviours.http_error(400, "logprobs are not supported by this model")
    scripted_server.behave_with(
        lambda request: logprobs_error if request.body.get("logprobs") else normal_reply()
    )
    reply, log = ask_structured(open_client())
    assert reply.value is not None
    assert reply.completion.logprobs is None
    assert log.fallbacks == ["no log-probabilities"]


def test_error_about_an_unrequested_feature_ends_the_call(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(behaviours.http_error(400, "response_format and logprobs are odd"))
    with pytest.raises(ModelCallError):
        complete_text(open_client(logprobs=False))
    scripted_server.behave(behaviours.http_error(400, "logprobs are odd"))
    with pytest.raises(ModelCallError):
        complete_text(open_client(logprobs=True))


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
        "value is supported.",
        "Unsupported parameter: 'top_p' is not supported with this model.",
        "`temperature` is deprecated for this model.",
    ],
)
def test_a_refused_temperature_stops_the_run_and_says_what_to_set(
    open_client: ClientFactory, scripted_server: ScriptedServer, message: str
) -> None:
    """As OpenAI's reasoning models refuse it: otherwise every question would be an error."""
    scripted_server.behave(behaviours.http_error(400, message))
    with pytest.raises(ModelAccessError, match="--set temperature=server"):
        complete_text(open_client())


def test_invalid_reply_gets_one_repair_turn(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave([normal_reply(behaviours.write_prose), normal_reply()])
    reply, log = ask_structured(open_client())
    assert reply.value is not None
    assert reply.repaired
    assert (log.calls, log.repairs) == (2, 1)
    assert log.fallbacks == ["json_schema not followed"]
    turns = scripted_server.requests[1].body["messages"]
    assert [turn["role"] for turn in turns] == ["system", "user", "assistant", "user"]
    assert "not JSON" in turns[3]["content"]


def test_ignored_schema_is_noted_without_a_finish_reason(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    reply_without_finish_reason = behaviours.edited_reply(
        lambda body: body["choices"][0].pop("finish_reason"), behaviours.write_prose
    )
    scripted_server.behave(reply_without_finish_reason)
    reply, log = ask_structured(open_client())
    assert reply.value is None
    assert log.fallbacks == ["json_schema not followed"]


def test_there_is_no_second_repair_turn(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(normal_reply(behaviours.write_prose))
    reply, log = ask_structured(open_client())
    assert reply.value is None
    assert reply.problem
    assert "That follows" in reply.text
    assert (log.calls, log.repairs, len(scripted_server.requests)) == (2, 1, 2)


@pytest.mark.parametrize("fault", ["refusal", "content filter"])
def test_refusal_is_not_repaired(
    open_client: ClientFactory, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave(FAULTS[fault]())
    reply, log = ask_structured(open_client())
    assert reply.value is None
    assert reply.problem == "refused"
    assert reply.completion.is_refused
    assert (log.calls, log.repairs) == (1, 0)


def test_question_refused_by_a_filter_is_a_refusal(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    message = "The response was filtered"
    scripted_server.behave(behaviours.http_error(400, message, error_code="content_filter"))
    assert ask_structured(open_client())[0].problem == "refused"


@pytest.mark.parametrize(
    "message",
    [
        "Your chosen model requires moderation. Your input was flagged for violence.",
        "Invalid prompt: it was flagged as potentially violating our usage policy.",
        "This request has been flagged for possible abuse.",
        "The content was rejected by moderation",
    ],
)
@pytest.mark.parametrize("status", [400, 403])
def test_a_flagged_question_is_a_refusal(
    open_client: ClientFactory, scripted_server: ScriptedServer, message: str, status: int
) -> None:
    scripted_server.behave(behaviours.http_error(status, message))
    assert ask_structured(open_client())[0].problem == "refused"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, "Your account has been flagged and suspended."),
        (403, "Your account was suspended because several of your prompts were flagged."),
        (403, "This IP address was flagged as suspicious."),
        (400, "The organization was flagged and is disabled."),
        (400, "Billing hard limit has been reached"),
        (400, "Your credit balance is too low. Please go to Plans & Billing."),
    ],
)
def test_an_account_that_cannot_be_used_stops_the_run(
    open_client: ClientFactory, scripted_server: ScriptedServer, status: int, message: str
) -> None:
    scripted_server.behave(behaviours.http_error(status, message))
    with pytest.raises(ModelAccessError, match=message[-20:-1]):
        ask_structured(open_client())
    assert len(scripted_server.requests) == 1


TRANSIENT_FAULTS = [
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


@pytest.mark.parametrize("fault", TRANSIENT_FAULTS)
def test_transient_faults_are_retried_and_counted(
    open_client: ClientFactory, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave_with(fail_first_attempts(2, FAULTS[fault]()))
    reply, log = ask_structured(open_client())
    assert reply.value is not None
    assert (log.calls, log.retries, log.repairs) == (1, 2, 0)
    scripted_server.behave(FAULTS[fault]())
    with pytest.raises(ModelCallError, match="after 3 retries"):
        ask_structured(open_client())


@pytest.mark.parametrize("fault", ["hang", "slow drip"])
def test_timeout_covers_the_whole_reply(
    open_client: ClientFactory, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave_with(fail_first_attempts(1, FAULTS[fault]()))
    reply, log = ask_structured(open_client(timeout_s=0.3))
    assert reply.value is not None
    assert log.retries == 1
    assert reply.completion.latency_s < 0.3


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("401", "401"),
        ("404", "404"),
        ("429 for good", "quota"),
    ],
)
def test_permanent_faults_are_raised_at_once(
    open_client: ClientFactory, scripted_server: ScriptedServer, fault: str, message: str
) -> None:
    scripted_server.behave(FAULTS[fault]())
    with pytest.raises(ModelAccessError, match=message):
        ask_structured(open_client())
    assert len(scripted_server.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308, 402, 403])
def test_other_permanent_statuses_are_raised_at_once(
    open_client: ClientFactory, scripted_server: ScriptedServer, status: int
) -> None:
    scripted_server.behave(
        behaviours.http_error(status, "no", headers={"Location": "http://127.0.0.1:9/stolen"})
    )
    with pytest.raises(ModelAccessError, match=str(status)):
        ask_structured(open_client())


@pytest.mark.parametrize(
    ("status", "message", "error_class"),
    [
        (400, "gpt-9 is not a valid model ID", ModelAccessError),
        (400, "model 'x' not found, try pulling it first", ModelAccessError),
        (400, "This model's maximum context length is 4096 tokens.", ModelCallError),
        (413, "too large", ModelCallError),
        (422, "bad temperature", ModelCallError),
    ],
)
def test_bad_requests_are_distinguished(
    open_client: ClientFactory,
    scripted_server: ScriptedServer,
    status: int,
    message: str,
    error_class: type,
) -> None:
    scripted_server.behave(behaviours.http_error(status, message))
    with pytest.raises(error_class):
        ask_structured(open_client())
    assert len(scripted_server.requests) == 1


def test_error_body_with_status_200_is_an_error(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    def make_error_reply(code: object) -> behaviours.Behaviour:
        error = {"error": {"message": "provider down", "code": code}}
        return behaviours.reply_with_bytes(lambda request: msgspec.json.encode(error))

    scripted_server.behave([make_error_reply(502), make_error_reply("odd"), normal_reply()])
    assert ask_structured(open_client())[1].retries == 2
    scripted_server.behave(make_error_reply(402))
    with pytest.raises(ModelAccessError, match="provider down"):
        ask_structured(open_client())


@pytest.mark.parametrize("fault", ["10 MB", "10 MB unannounced", "packed"])
def test_a_reply_that_is_too_long_is_not_read(
    open_client: ClientFactory, scripted_server: ScriptedServer, fault: str
) -> None:
    async def send_without_length(request: ChatRequest) -> Any:
        from aiohttp import web

        response = web.StreamResponse()
        await response.prepare(request.web)
        with contextlib.suppress(ConnectionError):
            for _ in range(100_000):
                await response.write(b" " * 100_000)
        return response

    async def send_compressed(request: ChatRequest) -> Any:
        import gzip

        from aiohttp import web

        body = gzip.compress(b" " * 100_000_000)
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    local_faults = {"10 MB unannounced": send_without_length, "packed": send_compressed}
    scripted_server.behave(local_faults.get(fault) or FAULTS[fault]())
    with pytest.raises(ModelCallError, match=r"longer than|compressed"):
        ask_structured(open_client(logprobs=False))
    assert len(scripted_server.requests) == 1


def test_error_page_that_is_too_long_is_not_read(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(behaviours.http_error(500, "x" * 10_000_000))
    with pytest.raises(ModelCallError, match="longer than") as error_info:
        ask_structured(open_client())
    assert len(error_info.value.format_line()) < 2_000


@pytest.mark.parametrize("fault", ["null text", "empty text"])
def test_empty_reply_is_invalid_after_its_repair(
    open_client: ClientFactory, scripted_server: ScriptedServer, fault: str
) -> None:
    scripted_server.behave(FAULTS[fault]())
    reply, log = ask_structured(open_client())
    assert (reply.value, reply.text, reply.problem) == (None, "", "empty")
    assert log.repairs == 1


def test_reply_in_parts_is_joined(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(FAULTS["list of parts"]())
    assert ask_structured(open_client())[0].value is not None


def test_server_without_token_counts_gives_no_usage(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(behaviours.reply_without_usage())
    reply, log = ask_structured(open_client())
    assert reply.completion.usage is None
    assert log.cost_usd is None


def test_samples_and_repeats_have_different_seeds(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    async def run_client() -> None:
        async with open_client(seed=7) as client:
            for repeat in range(3):
                with record_calls(repeat):
                    for sample in range(3):
                        await client.complete(build_question(), sample=sample)

    asyncio.run(run_client())
    seeds = [request.body["seed"] for request in scripted_server.requests]
    assert len(set(seeds)) == 9
    assert seeds[0] == 7


def test_concurrency_limit_is_respected(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(normal_reply(delay=0.02))

    async def run_client() -> None:
        async with open_client(concurrency=5) as client:
            await asyncio.gather(*(client.complete(build_question(str(n))) for n in range(40)))

    asyncio.run(run_client())
    assert len(scripted_server.requests) == 40
    assert 2 <= scripted_server.max_in_flight <= 5


def test_retry_after_delays_all_calls(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(
        lambda request: behaviours.rate_limit_error(0.4) if request.number == 0 else normal_reply()
    )

    async def run_client() -> None:
        async with open_client(concurrency=1) as client:
            await asyncio.gather(*(client.complete(build_question(str(n))) for n in range(5)))

    asyncio.run(run_client())
    times = [call.received_at for call in scripted_server.requests]
    # The server demands a wait of .4 s; .01 s is allowed for the clock.
    assert times[1] - times[0] >= 0.39


def test_a_call_that_waited_long_for_its_turn_is_retried(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    """The time for retries begins with the first attempt, not in the queue before it."""
    scripted_server.behave_with(
        fail_first_attempts(1, behaviours.http_error(503), normal_reply(delay=0.15))
    )

    async def run_client() -> CallLog:
        async with open_client(concurrency=1, deadline_s=0.2, max_retries=9) as client:
            with record_calls() as log:
                calls = [client.complete(build_question(str(n))) for n in range(4)]
                names = [client.list_models()]
                streams = [read_stream(client, str(n)) for n in range(2)]
                await asyncio.gather(*calls, *names, *streams)
        return log

    async def read_stream(client: ModelClient, text: str) -> None:
        async for _ in client.stream(build_question(text)):
            pass

    assert asyncio.run(run_client()).retries == 6


def test_latency_excludes_waits_and_failures(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(fail_first_attempts(1, behaviours.rate_limit_error(0.5)))
    reply, log = ask_structured(open_client())
    assert log.retries == 1
    assert reply.completion.latency_s < 0.45  # less than the demanded wait of .5 s


def test_a_stream_comes_in_pieces_with_its_usage(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave_with(
        fail_first_attempts(1, behaviours.http_error(503), normal_reply(lambda request: "a b c d"))
    )

    async def run_client() -> tuple[list[str], CallLog]:
        async with open_client() as client:
            with record_calls() as log:
                return [piece async for piece in client.stream(build_question())], log

    pieces, log = asyncio.run(run_client())
    assert len(pieces) > 1
    assert "".join(pieces) == "a b c d"
    assert (log.calls, log.retries) == (1, 1)


def test_a_stream_of_lists_of_parts_is_joined(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    async def stream_parts(request: ChatRequest) -> Any:
        contents = [[{"type": "thinking", "thinking": []}], [{"type": "text", "text": "It "}]]
        choices = [{"delta": {"content": content}} for content in (*contents, "does")]
        events = [{"choices": [choice]} for choice in (*choices, {"finish_reason": "stop"})]
        body = b"".join(b"data: " + msgspec.json.encode(event) + b"\n\n" for event in events)
        return await behaviours.reply_with_bytes(lambda _: body, "text/event-stream")(request)

    scripted_server.behave(stream_parts)

    async def run_client() -> str:
        async with open_client() as client:
            return "".join([piece async for piece in client.stream(build_question())])

    assert asyncio.run(run_client()) == "It does"


def test_stopped_stream_frees_its_concurrency_slot(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(normal_reply(lambda request: "word " * 1000))

    async def run_client() -> CallLog:
        async with open_client(concurrency=1) as client:
            with record_calls() as log:
                for _ in range(2):
                    async with contextlib.aclosing(client.stream(build_question())) as pieces:
                        async for _piece in pieces:
                            break
                assert (await client.complete(build_question())).text
            return log

    log = asyncio.run(run_client())
    assert log.calls == 3
    assert log.cost_usd is None


def test_interrupted_stream_is_an_error(
    open_client: ClientFactory, scripted_server: ScriptedServer
) -> None:
    async def end_stream_early(request: ChatRequest) -> Any:
        from aiohttp import web

        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request.web)
        chunk = {"choices": [{"index": 0, "delta": {"content": "It does"}}]}
        await response.write(b"data: " + msgspec.json.encode(chunk) + b"\n\n")
        if request.number:
            request.web.transport.close()  # type: ignore[union-attr]
        return response

    scripted_server.behave(end_stream_early)

    pieces: list[str] = []

    async def run_client() -> None:
        async with open_client() as client:
            async for piece in client.stream(build_question()):
                pieces.append(piece)

    # The first stream ends without a finish reason, the second with a broken connection.
    for n_streams in (1, 2):
        with pytest.raises(ModelCallError):
            asyncio.run(run_client())
        assert "".join(pieces) == "It does" * n_streams


@pytest.mark.parametrize(
    ("finish_reason", "message"),
    [("length", "cut off after 512 tokens"), ("content_filter", "refused")],
)
def test_a_stream_that_is_not_whole_is_an_error(
    open_client: ClientFactory, scripted_server: ScriptedServer, finish_reason: str, message: str
) -> None:
    scripted_server.behave(behaviours.ended_stream(finish_reason))
    pieces: list[str] = []

    async def run_client() -> None:
        async with open_client() as client:
            async for piece in client.stream(build_question()):
                pieces.append(piece)

    with pytest.raises(ModelCallError, match=message):
        asyncio.run(run_client())
    assert "".join(pieces) == "It does"


def test_clients_with_equal_options_share_one_connection(open_client: ClientFactory) -> None:
    async def run_client() -> None:
        first_client, second_client = open_client(), open_client(temperature=1.0)
        other_client = open_client(concurrency=3)
        assert first_client._caller is second_client._caller is not other_client._caller
        # The second close has no effect: the other client still uses the connection.
        await first_client.aclose()
        await first_client.aclose()
        assert (await second_client.complete(build_question())).text
        await second_client.aclose()
        await other_client.aclose()

    asyncio.run(run_client())


def test_closed_client_can_be_reused_in_another_loop(open_client: ClientFactory) -> None:
    for _ in range(2):
        assert ask_structured(open_client())[0].value is not None


def test_unreachable_server_is_reported_after_a_few_tries(
    open_client: ClientFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host in ("127.0.0.1", "localhost"):
        monkeypatch.setenv("EPOCHE_BASE_URL", f"http://{host}:9")  # no server listens at port 9
        with pytest.raises(ModelAccessError, match="refused"):
            ask_structured(open_client())
    monkeypatch.setenv("EPOCHE_BASE_URL", "http://nobody.invalid")
    with pytest.raises(ModelAccessError, match="name"):
        ask_structured(open_client(max_retries=1))


def test_https_to_a_server_without_tls_is_an_error(
    open_client: ClientFactory, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url.replace("http:", "https:"))
    with pytest.raises(ModelAccessError, match="no secure connection"):
        ask_structured(open_client())


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_proxies_are_ignored_for_local_servers(
    open_client: ClientFactory, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9")  # no proxy listens there
    assert ask_structured(open_client())[0].value is not None
