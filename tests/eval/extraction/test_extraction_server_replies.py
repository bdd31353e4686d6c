"""Tests replies of model servers whose own keys are also in the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eval.extraction.samples.envelopes import open_record

EXTRACTIONS: dict[str, dict[str, Any]] = {
    "name of a tool": {"name": "Ada", "city": "Bonn", "age": 36},
    "keys of a part": {"id": "X1", "type": "invoice", "text": "hello", "data": {"value": 5}},
    "keys of a response": {"items": [{"input": 1}], "output": "z", "error": None, "result": "ok"},
    "keys of a failure": {"error": "E42 overheated", "message": "fan stuck", "code": 7},
    "keys of a message": {"content": "milk", "role": "food", "usage": "daily"},
    "keys of a batch": {"status": "open", "model": "T4", "body": "steel", "response": "none"},
}


def write_replies(value: Any) -> dict[str, Any]:
    """Writes an extraction as servers and their batches return it."""
    text = json.dumps(value)
    tool_use = {"type": "tool_use", "id": "toolu_1", "name": "extract", "input": value}
    call = {"id": "c", "type": "function", "function": {"name": "extract", "arguments": text}}
    texts = [{"type": "text", "text": text}]
    return {
        "chat": {"choices": [{"message": {"role": "assistant", "content": text}}]},
        "chat with a tool": {"choices": [{"message": {"content": None, "tool_calls": [call]}}]},
        "batch": {
            "status_code": 200,
            "body": {"choices": [{"message": {"tool_calls": [call]}}], "model": "m"},
        },
        "message": {"id": "m", "type": "message", "role": "assistant", "content": [tool_use]},
        "message after words": {
            **{"id": "m", "type": "message", "role": "assistant", "model": "m"},
            "content": [{"type": "text", "text": "I extract."}, tool_use],
        },
        "batch of messages": {"type": "succeeded", "message": {"content": texts}},
        "response": {
            "output": [
                {"type": "reasoning", "summary": []},
                {"type": "message", "content": [{"type": "output_text", "text": text}]},
            ]
        },
        "response with a tool": {
            "output": [{"type": "function_call", "name": "extract", "arguments": text}]
        },
        "candidates": {"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}}]},
        "candidates with a tool": {
            "candidates": [
                {"content": {"parts": [{"functionCall": {"name": "extract", "args": value}}]}}
            ]
        },
        "local message": {
            **{"model": "llama3", "done": True},
            "message": {"role": "assistant", "content": text},
        },
        "converse": {
            "output": {
                "message": {"role": "assistant", "content": [{"toolUse": {"input": value}}]}
            },
            "stopReason": "tool_use",
        },
        "tool call": tool_use,
    }


@pytest.mark.parametrize("form", write_replies({}))
@pytest.mark.parametrize("fields", EXTRACTIONS)
def test_a_reply_of_a_server_is_opened_whatever_keys_the_schema_has(fields: str, form: str) -> None:
    value = EXTRACTIONS[fields]
    opened = open_record(write_replies(value)[form], frozenset(value))
    assert (opened.value, opened.error) == (value, "")
    assert opened.keys
    assert opened.form != "its record"


@pytest.mark.parametrize("key", ["choices", "candidates", "output", "content", "message", "body"])
@pytest.mark.parametrize("fields", EXTRACTIONS)
def test_a_part_of_a_reply_is_opened_where_a_row_is_a_reply(fields: str, key: str) -> None:
    """Of ``{"id": "a1", "content": […]}``, the field ``content`` is the prediction."""
    value = EXTRACTIONS[fields]
    replies = [reply for reply in write_replies(value).values() if key in reply]
    assert replies
    for reply in replies:
        assert open_record(reply[key], frozenset(value)).value == value


@pytest.mark.parametrize(
    "value",
    [
        [{"type": "text", "text": "hello"}],
        [{"name": "f", "arguments": {"x": 1}}, {"name": "g"}],
        [{"message": "hello", "role": "x"}],
        [{"other": 1}],
        [],
        ["content"],
    ],
)
def test_a_list_that_looks_like_a_part_stays_one(value: list[Any]) -> None:
    declared = {"type", "text", "name", "arguments", "message", "role"}
    opened = open_record(value, declared)
    assert opened.form == "its record"


@pytest.mark.parametrize(
    "value",
    [
        *EXTRACTIONS.values(),
        {"role": "assistant", "content": "hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
        {"question": "Which?", "choices": [{"text": "this"}, {"text": "that"}]},
        {"name": "f", "arguments": {"x": 1}},
        {"type": "function_call", "name": "f", "arguments": "x"},
        {"title": "A", "output": [{"type": "message", "content": [{"text": "b"}]}]},
    ],
)
def test_an_extraction_that_looks_like_a_reply_stays_one(value: dict[str, Any]) -> None:
    opened = open_record(value, frozenset(value))
    assert (opened.value, opened.keys) == (value, "")


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ({"type": "errored", "error": {"type": "error", "error": {"message": "busy"}}}, "busy"),
        ({"type": "expired"}, "the request is expired"),
        ({"status_code": 429, "body": {"error": {"message": "slow"}}}, "status 429: slow"),
        ({"object": "response", "status": "failed", "error": {"message": "bad"}}, "bad"),
    ],
)
def test_a_failed_request_of_a_batch_is_a_failed_call(record: Any, error: str) -> None:
    opened = open_record(record, {"error", "message", "code"})
    assert (opened.value, opened.error) == (None, error)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (
            {"choices": [{"message": {"content": '{"name": "A'}, "finish_reason": "length"}]},
            "the reply was cut off (length)",
        ),
        (
            {"content": [{"type": "text", "text": "{"}], "stop_reason": "max_tokens"},
            "the reply was cut off (max_tokens)",
        ),
        (
            {"candidates": [{"content": {"parts": [{"text": "{"}]}, "finishReason": "MAX_TOKENS"}]},
            "the reply was cut off (MAX_TOKENS)",
        ),
        ({"choices": [{"message": {"content": None, "refusal": "No."}}]}, "the model refused"),
        (
            {"message": {"role": "assistant", "content": '{"name": "A'}, "done_reason": "length"},
            "the reply was cut off (length)",
        ),
    ],
)
def test_a_reply_says_how_it_ended(record: Any, reason: str) -> None:
    assert open_record(record, {"name"}).reason == reason


def test_of_several_calls_the_one_with_most_fields_is_the_extraction() -> None:
    calls = [
        {"type": "tool_use", "name": "look up", "input": {"query": "Ada"}},
        {"type": "tool_use", "name": "extract", "input": {"name": "Ada", "age": 36}},
    ]
    record = {"role": "assistant", "content": calls, "stop_reason": "tool_use"}
    assert open_record(record, {"name", "age"}).value == {"name": "Ada", "age": 36}


NO_CONTENT: list[tuple[dict[str, Any], str]] = [
    ({"choices": [], "model": "m"}, ""),
    (
        {"choices": [{"message": None, "finish_reason": "content_filter"}]},
        "the model refused (content_filter)",
    ),
    ({"choices": [{"text": "", "finish_reason": "length"}]}, "the reply was cut off (length)"),
    *(
        (
            {"choices": [{"message": {"content": json.loads(content)}, "finish_reason": "length"}]},
            "the reply was cut off (length)",
        )
        for content in ("null", '""', "[]")
    ),
    (
        {"type": "message", "role": "assistant", "content": [], "stop_reason": "refusal"},
        "the model refused (refusal)",
    ),
    (
        {"promptFeedback": {"blockReason": "OTHER"}, "modelVersion": "g"},
        "the model refused (OTHER)",
    ),
    *(
        ({"candidates": [{"finishReason": end}]}, f"the model refused ({end})")
        for end in ("SAFETY", "RECITATION", "BLOCKLIST", "SPII", "PROHIBITED_CONTENT")
    ),
    (
        {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]},
        "the reply was cut off (MAX_TOKENS)",
    ),
    (
        {
            **{"object": "response", "status": "incomplete"},
            "incomplete_details": {"reason": "max_output_tokens"},
            "output": [{"type": "reasoning", "summary": []}],
        },
        "the reply was cut off (max_output_tokens)",
    ),
    (
        {
            "choices": [{"message": {"content": None}, "finish_reason": "content_filter"}],
            "error": {"message": "filtered"},
        },
        "the model refused (content_filter)",
    ),
    (
        {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": "max_tokens"},
        "the reply was cut off (max_tokens)",
    ),
]


@pytest.mark.parametrize("around", ["", "body", "response"])
@pytest.mark.parametrize(("record", "reason"), NO_CONTENT)
def test_a_reply_without_content_is_no_extraction(record: Any, reason: str, around: str) -> None:
    opened = open_record({around: record} if around else record, {"name"})
    assert (opened.value, opened.reason, opened.error) == ("", reason, "")


def test_an_error_beside_a_reply_without_content_is_a_failed_call() -> None:
    message = {"role": "assistant", "content": None}
    record = {"choices": [{"message": message}], "error": {"message": "busy"}}
    assert open_record(record, {"name"}).error == "busy"


@pytest.mark.parametrize(
    "record",
    [
        {"message": {"role": "assistant", "content": ""}, "data": {"name": "Ada"}},
        {"role": "assistant", "content": {"name": "Ada"}},
        {"output": [{"type": "custom_tool_call", "input": '{"name": "Ada"}'}]},
    ],
)
def test_an_extraction_elsewhere_in_a_reply_is_found(record: Any) -> None:
    assert open_record(record, {"name"}).value == {"name": "Ada"}


@pytest.mark.parametrize("value", [{"role": "assistant", "content": ""}, {"content": [], "x": 1}])
def test_an_extraction_without_content_stays_one(value: dict[str, Any]) -> None:
    assert open_record(value, frozenset(value)).value == value


@pytest.mark.parametrize("text", ['{"name": "Ada"}', 'Here:\n```json\n{"name": "Ada"}\n```'])
def test_the_text_is_read_if_it_has_more_fields_than_a_tool_call(text: str) -> None:
    call = {"type": "function", "function": {"name": "look_up", "arguments": '{"q": 1}'}}
    part = {"type": "tool_use", "name": "look_up", "input": {"q": 1}}
    output = {"type": "function_call", "name": "look_up", "arguments": '{"q": 1}'}
    for record in (
        {"choices": [{"message": {"role": "assistant", "content": text, "tool_calls": [call]}}]},
        {"role": "assistant", "content": [{"type": "text", "text": text}, part]},
        {"output": [output, {"type": "message", "content": [{"text": text}]}]},
    ):
        assert open_record(record, {"name"}).value in (text, {"name": "Ada"})
        assert open_record(record, {"q"}).value == {"q": 1}
