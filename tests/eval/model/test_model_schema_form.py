"""Replies under a schema given as data: how they are asked for, and what is read of them."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers import behaviours as does
from servers.behaviours import Asked, reply
from servers.scripted_server import ScriptedServer

from eval.llm import ClientOptions, ModelClient, Reply, SchemaForm
from eval.model.calls import CallLog, recording
from eval.model.environment import read_variables
from eval.model.providers import find_endpoint
from eval.model.schema_form import allows_strict, without_extensions
from kg.base.errors import ModelAccessError, ModelCallError

STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "x-b": {"type": ["string", "null"]}},
    "required": ["a", "x-b"],
    "additionalProperties": False,
}
LOOSE: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer", "x-match": "exact"}},
}
ASKED = [{"role": "user", "content": "Fill it."}]


def edited(**change: object) -> dict[str, Any]:
    return {**STRICT, **change}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (STRICT, True),
        (LOOSE, False),
        (edited(required=["a"]), False),
        (edited(additionalProperties=True), False),
        (edited(anyOf=[{"type": "object"}]), False),
        (edited(minProperties=1), False),
        (edited(**{"$defs": {"d": {"type": "object"}}}), False),
        ({"type": "array", "items": STRICT}, False),
        (edited(properties={"a": {"type": "array", "items": STRICT}, "x-b": {}}), True),
        (edited(properties={"a": {"items": [STRICT]}, "x-b": {}}), False),
        ({}, False),
    ],
)
def test_strict_is_asked_for_only_where_a_strict_server_takes_it(
    schema: dict[str, Any], strict: bool
) -> None:
    assert allows_strict(schema) is strict
    wish = json.loads(b"{" + SchemaForm(schema).body_part("json_schema")[1:] + b"}")
    assert wish["response_format"]["json_schema"]["strict"] is strict


def test_nesting_beyond_ten_levels_is_not_strict() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(6):
        schema = edited(properties={"a": schema, "x-b": {"type": "null"}})
    assert allows_strict(schema)
    for _ in range(6):
        schema = edited(properties={"a": schema, "x-b": {"type": "null"}})
    assert not allows_strict(schema)


def test_hints_for_the_scorer_are_shown_to_nobody_but_properties_of_such_names_stay() -> None:
    schema = {**STRICT, "x-match": "set", "enum": [{"x-keep": 1}]}
    before = copy.deepcopy(schema)
    shown = without_extensions(schema)
    assert schema == before, "it belongs to the sample"
    assert "x-match" not in shown
    assert set(shown["properties"]) == {"a", "x-b"}
    assert shown["enum"] == [{"x-keep": 1}]
    assert "x-match" not in SchemaForm(LOOSE).body_part("guided_json").decode()


def test_each_mode_has_its_place_in_the_request() -> None:
    form = SchemaForm(LOOSE)
    assert form.body_part("text") == b""
    assert json.loads(b"{" + form.body_part("json_object")[1:] + b"}") == {
        "response_format": {"type": "json_object"}
    }
    guided = json.loads(b"{" + form.body_part("guided_json")[1:] + b"}")
    assert guided == {"guided_json": without_extensions(LOOSE)}


@pytest.mark.parametrize(
    ("text", "value", "exact"),
    [
        ('{"a": 1}', {"a": 1}, True),
        ("null", None, True),
        ("[1, 2]", [1, 2], True),
        ('```json\n{"a": 1}\n```', {"a": 1}, False),
        ('Here: {"a": 1} as asked', {"a": 1}, False),
        ('Here: [{"a": 1}] as asked', [{"a": 1}], False),
        ('As in [1], {"a": [2]} is it', {"a": [2]}, False),
        ('<think>{"a": 9}</think>{"a": 1}', {"a": 1}, False),
        ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890.0}, True),
        ("{}", {}, True),
    ],
)
def test_what_is_read(text: str, value: Any, exact: bool) -> None:
    read = SchemaForm(LOOSE).read(text)
    assert (read.value, read.problem, read.exact) == (value, None, exact)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("I do not know.", "not JSON"),
        ('{"a": 1', "not JSON"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "too large"),
        ('{"a": "\\ud800"}', "half a character"),
        ("[" * 300 + "]" * 300, "too deeply"),
        ("[" * 100_000, "too deeply"),
        ('{"a": 1} or {"a": 2}', "not JSON"),
        ('{"a": "' + "x" * 2_000_000 + '"}', "longer"),
        ('{"a": ' + "9" * 5000 + "}", "too large"),
    ],
)
def test_what_is_refused_and_why(text: str, why: str) -> None:
    read = SchemaForm(LOOSE).read(text)
    assert read.value is None
    assert read.problem is not None
    assert why in read.problem


@given(st.text(alphabet='{}[]"`:,\\ntrue01.e-<think>/ \n'))
def test_no_text_breaks_the_reader_and_what_it_reads_can_be_written(text: str) -> None:
    read = SchemaForm(LOOSE).read(text)
    if read.problem is None:
        written = json.dumps(read.value, ensure_ascii=False, allow_nan=False).encode()
        assert json.loads(written) == read.value


@pytest.fixture
def filled(
    scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Reply[Any], CallLog, ModelClient]]:
    """One question to the scripted server."""
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)

    def ask(
        schema: dict[str, Any] = STRICT, *, times: int = 1, options: Any = None, **how: Any
    ) -> tuple[Reply[Any], CallLog, ModelClient]:
        named = {key: how.pop(key) for key in ("structured", "logprobs") if key in how}
        named.setdefault("logprobs", False)
        given_options = {"max_retries": 2, "backoff_s": 0.01, **(options or {})}

        async def asking() -> tuple[Reply[Any], CallLog, ModelClient]:
            client = ModelClient.open(ClientOptions(model="custom/m", **given_options), **named)
            async with client:
                with recording() as log:
                    for _ in range(times):
                        found = await client.fill(ASKED, SchemaForm(schema), **how)  # type: ignore[arg-type]
            return found, log, client

        return asyncio.run(asking())

    return ask


def said(text: str) -> does.Behaviour:
    return reply(lambda _: text)


def test_the_schema_is_sent_and_nothing_is_added_to_the_messages(
    filled: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(said('{"a": 1}'))
    found, log, _ = filled()
    assert (found.value, found.problem, log.fallbacks) == ({"a": 1}, None, [])
    (asked,) = scripted_server.requests
    assert asked.body["messages"] == ASKED
    wish = asked.body["response_format"]["json_schema"]
    assert wish == {"name": "extraction_result", "strict": True, "schema": STRICT}
    assert found.completion.at_s > 1_600_000_000


def test_a_server_that_refuses_one_schema_is_asked_for_others_as_before(
    filled: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    def pick(asked: Asked) -> does.Behaviour:
        wish = asked.body.get("response_format", {})
        if "json_schema" in wish and not wish["json_schema"]["strict"]:
            return does.status(400, "Invalid schema for response_format: unsupported")
        return said('{"a": 1}')

    scripted_server.behave_by(pick)
    found, log, client = filled(LOOSE, times=2)
    assert found.value == {"a": 1}
    assert log.fallbacks == ["json_object instead of json_schema"]
    modes = [asked.response_format for asked in scripted_server.requests]
    assert modes == ["json_schema", "json_object", "json_object"], "refused once, remembered"
    assert client.observed()["fallbacks"] == {"json_object instead of json_schema": 2}
    scripted_server.forget()
    found, log, _ = filled(STRICT)
    assert [asked.response_format for asked in scripted_server.requests] == ["json_schema"]
    assert log.fallbacks == []


def test_a_server_without_any_structure_is_asked_in_words(
    filled: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(
        does.without_structure(lambda _: '{"a": 2}', refuses=("json_schema", "json_object"))
    )
    found, log, _ = filled()
    assert found.value == {"a": 2}
    assert log.fallbacks == ["text instead of json_schema"]


def test_guided_json_goes_along_where_it_is_demanded(
    filled: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(said("```json\n{}\n```"))
    found, log, _ = filled(structured="guided_json")
    assert found.value == {}
    assert scripted_server.requests[0].body["guided_json"] == STRICT
    assert "response_format" not in scripted_server.requests[0].body
    assert log.fallbacks == ["guided_json not followed"], "whoever ignores it cannot hide it"


def test_a_demanded_way_that_is_refused_fails_this_call(
    filled: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(does.status(400, "response_format: schema too complex"))
    with pytest.raises(ModelCallError, match="structured=json_schema"):
        filled(structured="json_schema")


def test_unreadable_replies_are_asked_again_only_if_told_to(
    filled: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave([said("no"), said('{"a": 3}')])
    found, log, _ = filled()
    assert (found.value, found.problem, log.repairs) == (None, "not JSON: Expecting value", 0)
    scripted_server.behave([said("no"), said('{"a": 3}')])
    found, log, _ = filled(repair=True)
    assert (found.value, found.repaired, log.repairs) == ({"a": 3}, True, 1)
    assert found.earlier.text == "no"


def test_streamed_replies_tell_when_the_first_token_came(
    filled: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(reply(lambda _: '{"a": 4}', delay=0.05))
    found, _, _ = filled(streamed=True, logprobs=True)
    assert scripted_server.requests[0].body["stream"] is True
    assert found.value == {"a": 4}
    assert 0.05 <= found.completion.ttft_s <= found.completion.latency_s
    found, _, _ = filled()
    assert found.completion.ttft_s is None, "nobody measured it"


def test_a_server_that_tells_how_long_it_wrote_is_believed(
    filled: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    def telling(milliseconds: object) -> does.Behaviour:
        return does.edited(
            lambda body: body.update(timings={"predicted_ms": milliseconds}), lambda _: "{}"
        )

    for told in (0.0, 1e9, -1, "soon", None):
        scripted_server.behave(telling(told))
        completion = filled()[0].completion
        expected = completion.latency_s if told == 0.0 else None
        assert completion.ttft_s == expected, told


def test_attempts_that_failed_are_told_with_the_reply_cached_or_not(
    filled: Callable[..., Any], scripted_server: ScriptedServer, tmp_path: Any
) -> None:
    options = {"cache": tmp_path / "c.sqlite", "timeout_s": 0.3}
    scripted_server.behave([does.hang(), does.status(500), said('{"a": 5}')])
    first, log, _ = filled(options=options)
    assert (first.completion.retries, first.completion.timeouts, log.timeouts) == (2, 1, 1)
    again, log, _ = filled(options=options)
    assert again.completion.cached
    assert (again.completion.retries, again.completion.timeouts) == (2, 1)
    assert again.completion.at_s == first.completion.at_s
    assert len(scripted_server.requests) == 3
    scripted_server.behave(does.hang())
    with pytest.raises(ModelCallError, match="in time"):
        filled(LOOSE, options=options)


def streamed_bytes(*events: dict[str, Any]) -> does.Behaviour:
    """A stream of these chunks, which then just ends."""
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return does.raw_body(lambda _: "".join(lines).encode(), "text/event-stream")


def piece(**choice: Any) -> dict[str, Any]:
    shared = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    return {**shared, "choices": [{"index": 0, "delta": {}, "finish_reason": None, **choice}]}


def test_a_stream_that_breaks_off_is_asked_for_again_and_never_taken_for_whole(
    filled: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    half = streamed_bytes(piece(delta={"content": '{"a": '}))
    broken = streamed_bytes(piece(delta={"content": "{}"}, finish_reason="error"))
    scripted_server.behave([half, broken, said('{"a": 6}')])
    found, _, _ = filled(streamed=True)
    assert (found.value, found.completion.retries) == ({"a": 6}, 2)
    scripted_server.behave(half)
    with pytest.raises(ModelCallError, match="cut off"):
        filled(streamed=True)


def test_a_stream_with_an_error_in_it_means_what_the_error_says(
    filled: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    told = {"code": 500, "message": "The model produced output that does not match the format"}
    scripted_server.behave(streamed_bytes(piece(delta={"content": "{"}), {"error": told}))
    found, log, _ = filled(streamed=True)
    assert found.problem == "the server could not read what its model wrote"
    assert log.retries == 0
    scripted_server.behave(streamed_bytes({"error": {"message": "overloaded"}}))
    with pytest.raises(ModelCallError, match="after 2 retries: overloaded"):
        filled(streamed=True)


def test_usage_refusals_and_reasons_are_read_from_a_stream(
    filled: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    scripted_server.behave(
        streamed_bytes(
            piece(delta={"content": '{"a"'}),
            piece(delta={"content": ": 1}"}, finish_reason="length"),
            {**piece(), "choices": [], "usage": usage},
        )
    )
    found, _, _ = filled(streamed=True)
    assert found.value == {"a": 1}
    assert found.completion.finish_reason == "length"
    assert (found.completion.usage.prompt_tokens, found.completion.usage.completion_tokens) == (
        7,
        3,
    )
    scripted_server.behave(
        streamed_bytes(piece(delta={"refusal": "No."}), piece(finish_reason="stop"))
    )
    found, _, _ = filled(streamed=True)
    assert (found.problem, found.completion.refusal) == ("refused", "No.")
    assert found.completion.ttft_s is None, "no token of a reply ever came"


@pytest.mark.parametrize("provider", ["vllm", "custom"])
def test_an_address_in_a_file_gets_a_key_only_where_the_environment_trusts_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, provider: str
) -> None:
    name = {"vllm": "VLLM", "custom": "EPOCHE"}[provider]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(f"{name}_API_KEY", "sk-loopback-4711")
    monkeypatch.delenv(f"{name}_BASE_URL", raising=False)

    def found(address: str) -> Any:
        return find_endpoint(f"{provider}/m", read_variables(), address)

    assert found("http://127.0.0.1:1/v1").key == "sk-loopback-4711"
    assert found("http://localhost:1").base_url == "http://localhost:1/v1"
    with pytest.raises(ModelAccessError, match="the key comes from the environment"):
        found("http://example.org/v1")
    monkeypatch.setenv(f"{name}_BASE_URL", "http://example.org")
    assert found("http://example.org/v1").key == "sk-loopback-4711"
    monkeypatch.delenv(f"{name}_BASE_URL")
    (tmp_path / ".env").write_text(f"{name}_BASE_URL=http://example.org/v1\n")
    with pytest.raises(ModelAccessError, match="the key comes from the environment"):
        found("http://example.org/v1")
    monkeypatch.delenv(f"{name}_API_KEY")
    assert found("http://example.net/v1").key == "", "without a key there is none to lose"
    with pytest.raises(ModelAccessError, match="credentials"):
        found("http://user:secret@localhost/v1")
