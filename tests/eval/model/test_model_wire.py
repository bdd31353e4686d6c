"""Tests that response bodies of different servers are parsed and unusable bodies are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.model.wire import ReportedError, UnreadableBodyError, read_body


def make_body(**changes: Any) -> bytes:
    message = {"role": "assistant", "content": "hello"}
    body: dict[str, Any] = {
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
        "model": "m-2026",
    }
    return json.dumps({**body, **changes}).encode()


def test_usual_reply_is_parsed_completely() -> None:
    reply = read_body(make_body(), 0.12345678)
    assert (reply.text, reply.finish_reason, reply.refusal) == ("hello", "stop", None)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost_usd) == (3, 4, None)
    assert (reply.served, reply.latency_s, reply.logprobs) == ("m-2026", 0.123457, None)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        [],
        "3",
        {"prompt_tokens": None},
        {"prompt_tokens": "3"},
        {"prompt_tokens": -1},
        {"prompt_tokens": 3, "completion_tokens": -4},
        {"prompt_tokens": 1.5},
    ],
)
def test_implausible_token_count_is_none(usage: Any) -> None:
    reply = read_body(make_body(usage=usage), 0.0)
    assert (reply.prompt_tokens, reply.completion_tokens) == (None, None)
    assert reply.text == "hello"


@pytest.mark.parametrize(("cost", "expected"), [(0.5, 0.5), (0, 0.0), (None, None), (-1, None)])
def test_cost_from_the_server_is_read(cost: Any, expected: float | None) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "cost": cost}
    assert read_body(make_body(usage=usage), 0.0).cost_usd == expected


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        {},
        [],
        {"content": None},
        {"content": []},
        {"content": [{"token": "x"}]},
        {"content": [{"token": "x", "logprob": 0.1}]},
        {"content": [{"token": 1, "logprob": -0.1}]},
        {"tokens": ["a"], "token_logprobs": [-1]},
    ],
)
def test_logprobs_in_an_unknown_format_are_none(logprobs: Any) -> None:
    choice = {"message": {"content": "hello"}, "logprobs": logprobs}
    assert read_body(make_body(choices=[choice]), 0.0).logprobs is None


def test_logprobs_are_read() -> None:
    tokens = [{"token": "he", "logprob": -0.5, "top_logprobs": []}, {"token": "llo", "logprob": 0}]
    choice = {"message": {"content": "hello"}, "logprobs": {"content": tokens}}
    assert read_body(make_body(choices=[choice]), 0.0).logprobs == (("he", -0.5), ("llo", 0.0))


@pytest.mark.parametrize(
    "content",
    ["a", ["a", 1, {"text": 2}, {"type": "text", "text": "a"}, None], [{"text": "a"}]],
)
def test_content_in_parts_is_joined(content: Any) -> None:
    assert read_body(make_body(choices=[{"message": {"content": content}}]), 0.0).text == "a"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b"<html>",
        b"{}",
        make_body(choices=None),
        make_body(choices=[]),
        make_body(choices=[{}]),
        make_body(choices=[{"message": None}]),
        make_body(choices=[{"message": {"content": 5}}]),
        make_body(choices=[{"message": {"content": "a"}, "finish_reason": "error"}]),
        make_body()[:-9],
        make_body() + b"}",
        b"[" * 100_000,
        b'{"choices":' * 10_000,
        make_body().replace(b"hello", b"\xff\xfe"),
        make_body().replace(b"hello", b"\\ud800"),
    ],
)
def test_invalid_body_is_unreadable(raw: bytes) -> None:
    with pytest.raises(UnreadableBodyError):
        read_body(raw, 0.0)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 429, "message": "slow"}, 429),
        ({"code": "429"}, 0),
        ({"code": 7}, 0),
        ("down", 0),
        ([], 0),
        ({}, 0),
    ],
)
def test_error_in_the_body_is_reported(error: Any, status: int) -> None:
    with pytest.raises(ReportedError) as caught:
        read_body(make_body(error=error), 0.0)
    assert caught.value.status == status


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.binary()
    | st.builds(
        lambda changes: make_body(**changes),
        st.dictionaries(
            st.sampled_from(["choices", "usage", "model", "error", "id"]), json_values, max_size=3
        ),
    )
    | st.builds(
        lambda message, reason, logprobs: make_body(
            choices=[{"message": message, "finish_reason": reason, "logprobs": logprobs}]
        ),
        json_values | st.fixed_dictionaries({"content": json_values, "refusal": json_values}),
        json_values,
        json_values | st.fixed_dictionaries({"content": json_values}),
    )
)
def test_any_bytes_give_a_reply_or_a_named_error(raw: bytes) -> None:
    try:
        reply = read_body(raw, 0.0)
    except (UnreadableBodyError, ReportedError):
        return
    assert isinstance(reply.text, str)
    assert reply.logprobs is None or all(value <= 0 for _, value in reply.logprobs)
    assert reply.prompt_tokens is None or reply.prompt_tokens >= 0
