"""Tests how replies that follow a JSON schema are requested and parsed."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers import behaviours
from servers.behaviours import ChatRequest, normal_reply
from servers.scripted_server import ScriptedServer

from eval.model.calls import CallLog, record_calls
from eval.model.client import ClientOptions, ModelClient, Reply, SchemaForm
from eval.model.environment import read_variables
from eval.model.providers import find_endpoint
from eval.model.replies.schema_form import allows_strict, remove_extensions
from kg.base.errors import ModelAccessError, ModelCallError

STRICT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "x-b": {"type": ["string", "null"]}},
    "required": ["a", "x-b"],
    "additionalProperties": False,
}
LOOSE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer", "x-match": "exact"}},
}
QUESTION = [{"role": "user", "content": "Fill it."}]


def edit_strict_schema(**change: object) -> dict[str, Any]:
    return {**STRICT_SCHEMA, **change}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (STRICT_SCHEMA, True),
        (LOOSE_SCHEMA, False),
        (edit_strict_schema(required=["a"]), False),
        (edit_strict_schema(additionalProperties=True), False),
        (edit_strict_schema(anyOf=[{"type": "object"}]), False),
        (edit_strict_schema(minProperties=1), False),
        (edit_strict_schema(**{"$defs": {"d": {"type": "object"}}}), False),
        ({"type": "array", "items": STRICT_SCHEMA}, False),
        (
            edit_strict_schema(
                properties={"a": {"type": "array", "items": STRICT_SCHEMA}, "x-b": {}}
            ),
            True,
        ),
        (edit_strict_schema(properties={"a": {"items": [STRICT_SCHEMA]}, "x-b": {}}), False),
        ({}, False),
    ],
)
def test_strict_mode_is_requested_only_for_suitable_schemas(
    schema: dict[str, Any], strict: bool
) -> None:
    assert allows_strict(schema) is strict
    # The part begins with a comma, because it is inserted into a request body.
    request_part = json.loads(b"{" + SchemaForm(schema).render_body_part("json_schema")[1:] + b"}")
    assert request_part["response_format"]["json_schema"]["strict"] is strict


def test_nesting_beyond_ten_levels_is_not_strict() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(6):
        schema = edit_strict_schema(properties={"a": schema, "x-b": {"type": "null"}})
    assert allows_strict(schema)
    for _ in range(6):
        schema = edit_strict_schema(properties={"a": schema, "x-b": {"type": "null"}})
    assert not allows_strict(schema)


def test_scorer_hints_are_removed_but_properties_of_such_names_stay() -> None:
    schema = {**STRICT_SCHEMA, "x-match": "set", "enum": [{"x-keep": 1}]}
    original = copy.deepcopy(schema)
    sent_schema = remove_extensions(schema)
    assert schema == original, "the sample's schema must not be modified"
    assert "x-match" not in sent_schema
    assert set(sent_schema["properties"]) == {"a", "x-b"}
    assert sent_schema["enum"] == [{"x-keep": 1}]
    assert "x-match" not in SchemaForm(LOOSE_SCHEMA).render_body_part("guided_json").decode()


def test_each_mode_sets_its_request_field() -> None:
    form = SchemaForm(LOOSE_SCHEMA)
    assert form.render_body_part("text") == b""
    assert json.loads(b"{" + form.render_body_part("json_object")[1:] + b"}") == {
        "response_format": {"type": "json_object"}
    }
    guided_part = json.loads(b"{" + form.render_body_part("guided_json")[1:] + b"}")
    assert guided_part == {"guided_json": remove_extensions(LOOSE_SCHEMA)}


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
def test_valid_replies_are_parsed(text: str, value: Any, exact: bool) -> None:
    parsed_reply = SchemaForm(LOOSE_SCHEMA).read_reply(text)
    assert (parsed_reply.value, parsed_reply.problem, parsed_reply.exact) == (value, None, exact)


@pytest.mark.parametrize(
    ("text", "reason"),
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
def test_invalid_replies_are_refused_with_a_reason(text: str, reason: str) -> None:
    parsed_reply = SchemaForm(LOOSE_SCHEMA).read_reply(text)
    assert parsed_reply.value is None
    assert parsed_reply.problem is not None
    assert reason in parsed_reply.problem


@given(st.text(alphabet='{}[]"`:,\\ntrue01.e-<think>/ \n'))
def test_any_text_is_parsed_to_writable_json_or_refused(text: str) -> None:
    parsed_reply = SchemaForm(LOOSE_SCHEMA).read_reply(text)
    if parsed_reply.problem is None:
        encoded = json.dumps(parsed_reply.value, ensure_ascii=False, allow_nan=False).encode()
        assert json.loads(encoded) == parsed_reply.value


@pytest.fixture
def ask_schema(
    scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Reply[Any], CallLog, ModelClient]]:
    """Returns a function that asks the scripted server the same question one or more times.

    Its further arguments are settings of the client or arguments of ``ModelClient.ask_schema``.
    """
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)

    def ask_question(
        schema: dict[str, Any] = STRICT_SCHEMA,
        *,
        times: int = 1,
        options: Any = None,
        **arguments: Any,
    ) -> tuple[Reply[Any], CallLog, ModelClient]:
        client_settings = {
            key: arguments.pop(key) for key in ("structured", "logprobs") if key in arguments
        }
        client_settings.setdefault("logprobs", False)
        given_options = {"max_retries": 2, "backoff_s": 0.01, **(options or {})}

        async def run_client() -> tuple[Reply[Any], CallLog, ModelClient]:
            client = ModelClient.open(
                ClientOptions(model="custom/m", **given_options), **client_settings
            )
            async with client:
                with record_calls() as log:
                    for _ in range(times):
                        reply = await client.ask_schema(QUESTION, SchemaForm(schema), **arguments)  # type: ignore[arg-type]
            return reply, log, client

        return asyncio.run(run_client())

    return ask_question


def reply_with_text(text: str) -> behaviours.Behaviour:
    return normal_reply(lambda _: text)


def test_schema_is_sent_without_changing_the_messages(
    ask_schema: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(reply_with_text('{"a": 1}'))
    reply, log, _ = ask_schema()
    assert (reply.value, reply.problem, log.fallbacks) == ({"a": 1}, None, [])
    (request,) = scripted_server.requests
    assert request.body["messages"] == QUESTION
    json_schema = request.body["response_format"]["json_schema"]
    assert json_schema == {"name": "extraction_result", "strict": True, "schema": STRICT_SCHEMA}
    assert reply.completion.at_s > 1_600_000_000


def test_refused_schema_does_not_affect_other_schemas(
    ask_schema: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    def choose_reply(request: ChatRequest) -> behaviours.Behaviour:
        response_format = request.body.get("response_format", {})
        if "json_schema" in response_format and not response_format["json_schema"]["strict"]:
            return behaviours.http_error(400, "Invalid schema for response_format: unsupported")
        return reply_with_text('{"a": 1}')

    scripted_server.behave_with(choose_reply)
    reply, log, client = ask_schema(LOOSE_SCHEMA, times=2)
    assert reply.value == {"a": 1}
    assert log.fallbacks == ["json_object instead of json_schema"]
    modes = [call.response_format for call in scripted_server.requests]
    assert modes == ["json_schema", "json_object", "json_object"], (
        "a refused mode should not be tried again"
    )
    assert client.observed()["fallbacks"] == {"json_object instead of json_schema": 2}
    scripted_server.clear_log()
    reply, log, _ = ask_schema(STRICT_SCHEMA)
    assert [call.response_format for call in scripted_server.requests] == ["json_schema"]
    assert log.fallbacks == []


def test_server_without_structured_output_gets_the_schema_as_text(
    ask_schema: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(
        behaviours.reject_structured_output(
            lambda _: '{"a": 2}', rejected_formats=("json_schema", "json_object")
        )
    )
    reply, log, _ = ask_schema()
    assert reply.value == {"a": 2}
    assert log.fallbacks == ["text instead of json_schema"]


def test_guided_json_is_sent_where_required(
    ask_schema: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(reply_with_text("```json\n{}\n```"))
    reply, log, _ = ask_schema(structured="guided_json")
    assert reply.value == {}
    assert scripted_server.requests[0].body["guided_json"] == STRICT_SCHEMA
    assert "response_format" not in scripted_server.requests[0].body
    assert log.fallbacks == ["guided_json not followed"], (
        "a server that ignores guided_json should be noted"
    )


def test_refused_required_mode_fails_the_call(
    ask_schema: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(behaviours.http_error(400, "response_format: schema too complex"))
    with pytest.raises(ModelCallError, match="structured=json_schema"):
        ask_schema(structured="json_schema")


def test_invalid_replies_are_repaired_only_on_request(
    ask_schema: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave([reply_with_text("no"), reply_with_text('{"a": 3}')])
    reply, log, _ = ask_schema()
    assert (reply.value, reply.problem, log.repairs) == (None, "not JSON: Expecting value", 0)
    scripted_server.behave([reply_with_text("no"), reply_with_text('{"a": 3}')])
    reply, log, _ = ask_schema(repair=True)
    assert (reply.value, reply.repaired, log.repairs) == ({"a": 3}, True, 1)
    assert reply.earlier.text == "no"


def test_streamed_replies_record_the_first_token_time(
    ask_schema: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    scripted_server.behave(normal_reply(lambda _: '{"a": 4}', delay=0.05))
    reply, _, _ = ask_schema(streamed=True, logprobs=True)
    assert scripted_server.requests[0].body["stream"] is True
    assert reply.value == {"a": 4}
    assert 0.05 <= reply.completion.ttft_s <= reply.completion.latency_s
    reply, _, _ = ask_schema()
    assert reply.completion.ttft_s is None, "without a stream there is no first-token time"


def test_generation_time_from_the_server_is_used(
    ask_schema: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    def reply_with_timing(milliseconds: object) -> behaviours.Behaviour:
        return behaviours.edited_reply(
            lambda body: body.update(timings={"predicted_ms": milliseconds}), lambda _: "{}"
        )

    for generation_ms in (0.0, 1e9, -1, "soon", None):
        scripted_server.behave(reply_with_timing(generation_ms))
        completion = ask_schema()[0].completion
        # With a generation time of 0 the first token came at the end; the other values are
        # implausible and ignored.
        expected = completion.latency_s if generation_ms == 0.0 else None
        assert completion.ttft_s == expected, generation_ms


def test_failed_attempts_are_recorded_with_the_reply(
    ask_schema: Callable[..., Any], scripted_server: ScriptedServer, tmp_path: Any
) -> None:
    options = {"cache": tmp_path / "c.sqlite", "timeout_s": 0.3}
    scripted_server.behave(
        [behaviours.never_reply(), behaviours.http_error(500), reply_with_text('{"a": 5}')]
    )
    first_reply, log, _ = ask_schema(options=options)
    assert (first_reply.completion.retries, first_reply.completion.timeouts, log.timeouts) == (
        2,
        1,
        1,
    )
    cached_reply, log, _ = ask_schema(options=options)
    assert cached_reply.completion.cached
    assert (cached_reply.completion.retries, cached_reply.completion.timeouts) == (2, 1)
    assert cached_reply.completion.at_s == first_reply.completion.at_s
    assert len(scripted_server.requests) == 3
    scripted_server.behave(behaviours.never_reply())
    with pytest.raises(ModelCallError, match="in time"):
        ask_schema(LOOSE_SCHEMA, options=options)


def stream_chunks(*events: dict[str, Any]) -> behaviours.Behaviour:
    """Returns a server behaviour that streams these chunks and then ends the reply."""
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return behaviours.reply_with_bytes(lambda _: "".join(lines).encode(), "text/event-stream")


def make_chunk(**choice: Any) -> dict[str, Any]:
    common_fields = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    return {
        **common_fields,
        "choices": [{"index": 0, "delta": {}, "finish_reason": None, **choice}],
    }


def test_interrupted_stream_is_retried_and_never_complete(
    ask_schema: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    unfinished_stream = stream_chunks(make_chunk(delta={"content": '{"a": '}))
    failed_stream = stream_chunks(make_chunk(delta={"content": "{}"}, finish_reason="error"))
    scripted_server.behave([unfinished_stream, failed_stream, reply_with_text('{"a": 6}')])
    reply, _, _ = ask_schema(streamed=True)
    assert (reply.value, reply.completion.retries) == ({"a": 6}, 2)
    scripted_server.behave(unfinished_stream)
    with pytest.raises(ModelCallError, match="cut off"):
        ask_schema(streamed=True)


def test_error_in_a_stream_is_classified(
    ask_schema: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    error = {"code": 500, "message": "The model produced output that does not match the format"}
    scripted_server.behave(stream_chunks(make_chunk(delta={"content": "{"}), {"error": error}))
    reply, log, _ = ask_schema(streamed=True)
    assert reply.problem == "the server could not read what its model wrote"
    assert log.retries == 0
    scripted_server.behave(stream_chunks({"error": {"message": "overloaded"}}))
    with pytest.raises(ModelCallError, match="after 2 retries: overloaded"):
        ask_schema(streamed=True)


def test_usage_refusal_and_finish_reason_are_read_from_a_stream(
    ask_schema: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    scripted_server.behave(
        stream_chunks(
            make_chunk(delta={"content": '{"a"'}),
            make_chunk(delta={"content": ": 1}"}, finish_reason="length"),
            {**make_chunk(), "choices": [], "usage": usage},
        )
    )
    reply, _, _ = ask_schema(streamed=True)
    assert reply.value == {"a": 1}
    assert reply.completion.finish_reason == "length"
    assert (reply.completion.usage.prompt_tokens, reply.completion.usage.completion_tokens) == (
        7,
        3,
    )
    scripted_server.behave(
        stream_chunks(make_chunk(delta={"refusal": "No."}), make_chunk(finish_reason="stop"))
    )
    reply, _, _ = ask_schema(streamed=True)
    assert (reply.problem, reply.completion.refusal) == ("refused", "No.")
    assert reply.completion.ttft_s is None, "no token arrived"


def test_a_stream_of_lists_of_parts_is_joined(
    ask_schema: Callable[..., Any], scripted_server: ScriptedServer
) -> None:
    """So do models of Mistral that think, in parts of another type."""
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    scripted_server.behave(
        stream_chunks(
            make_chunk(delta={"content": [thought]}),
            make_chunk(delta={"content": [{"type": "text", "text": '{"a"'}]}),
            make_chunk(delta={"content": ": 1}"}, finish_reason="stop"),
        )
    )
    reply, _, _ = ask_schema(streamed=True)
    assert reply.value == {"a": 1}


@pytest.mark.parametrize("provider", ["vllm", "custom"])
def test_dotenv_address_gets_a_key_only_if_the_environment_allows_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, provider: str
) -> None:
    prefix = {"vllm": "VLLM", "custom": "EPOCHE"}[provider]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(f"{prefix}_API_KEY", "sk-loopback-4711")
    monkeypatch.delenv(f"{prefix}_BASE_URL", raising=False)

    def find_endpoint_for(address: str) -> Any:
        return find_endpoint(f"{provider}/m", read_variables(), address)

    assert find_endpoint_for("http://127.0.0.1:1/v1").key == "sk-loopback-4711"
    assert find_endpoint_for("http://localhost:1").base_url == "http://localhost:1/v1"
    with pytest.raises(ModelAccessError, match="the key comes from the environment"):
        find_endpoint_for("http://example.org/v1")
    monkeypatch.setenv(f"{prefix}_BASE_URL", "http://example.org")
    assert find_endpoint_for("http://example.org/v1").key == "sk-loopback-4711"
    monkeypatch.delenv(f"{prefix}_BASE_URL")
    (tmp_path / ".env").write_text(f"{prefix}_BASE_URL=http://example.org/v1\n")
    with pytest.raises(ModelAccessError, match="the key comes from the environment"):
        find_endpoint_for("http://example.org/v1")
    monkeypatch.delenv(f"{prefix}_API_KEY")
    assert find_endpoint_for("http://example.net/v1").key == "", (
        "without a key, any address should be allowed"
    )
    with pytest.raises(ModelAccessError, match="credentials"):
        find_endpoint_for("http://user:secret@localhost/v1")
