"""Tests extraction by a model over a real connection: repair of unreadable replies, and costs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from servers import behaviours
from servers.behaviours import (
    ChatRequest,
    edited_reply,
    http_error,
    normal_reply,
    refusal_reply,
    reply_without_usage,
)
from servers.llama_server import LlamaServer
from servers.scripted_server import ScriptedServer

from eval.model.calls import record_calls
from eval.model.client import ClientOptions, ModelClient
from eval.skn.formats.extraction import Extraction, ModelExtractor
from eval.skn.formats.forms import build_example, parse_content, write_content
from eval.skn.formats.pipelines import ABLATION_PIPELINES, PIPELINES
from eval.skn.formats.published_prompts import PUBLISHED_EXTRACTION
from eval.skn.formats.reply_schemas import get_reply_schema
from eval.skn.formats.settings import Setting, open_client
from eval.skn.systems.extractors import EXTRACTORS, extract_json, extract_skn
from kg.base.errors import ModelAccessError, ModelCallError, NotationError, SettingError

TEXT = "[Result 1]\nTitle: Pods & <limits>\nContent: A pod restarts when it is out of memory."
QUESTION = "Why does the pod restart?"

ClientOpener = Callable[[Setting], ModelClient]


def make_replies(*texts: str) -> list[behaviours.Behaviour]:
    """Returns server behaviours that reply with these texts in turn, repeating the last."""
    return [normal_reply(lambda request, text=text: text) for text in texts]


def make_cut_off_reply(text: str) -> behaviours.Behaviour:
    """Returns a server behaviour that replies with a text cut off by the token limit."""
    return edited_reply(
        lambda body: body["choices"][0].update(finish_reason="length"), lambda request: text
    )


def run_extractor(opener: ClientOpener, name: str, setting: Setting | None = None) -> Extraction:
    setting = setting or Setting()

    async def run_client() -> Extraction:
        async with opener(setting) as client:
            return await ModelExtractor(PIPELINES[name], client, setting).extract(TEXT, QUESTION)

    return asyncio.run(run_client())


@pytest.mark.parametrize("name", PIPELINES)
def test_every_format_follows_the_same_repair_policy(
    name: str, scripted_server: ScriptedServer, open_scripted_client: ClientOpener
) -> None:
    valid_reply = build_example(PIPELINES[name])
    content = parse_content(valid_reply, PIPELINES[name], strict=True).content
    assert content is not None
    truncated_reply = valid_reply[: len(valid_reply) // 2]
    cases: dict[str, tuple[list[str], int]] = {
        "strict": ([valid_reply], 1),
        "tolerant": ([f"Here you are:\n```\n{valid_reply}\n```"], 1),
        "repaired": ([truncated_reply, valid_reply], 2),
        "unreadable": ([truncated_reply, truncated_reply], 2),
    }
    for validity, (texts, call_count) in cases.items():
        scripted_server.clear_log()
        scripted_server.behave(make_replies(*texts))
        extraction = run_extractor(open_scripted_client, name)
        assert extraction.validity == validity
        assert len(scripted_server.requests) == call_count
        assert extraction.pipeline == name
        assert extraction.raw == texts[-1]
        assert extraction.usage is not None
        assert extraction.usage.prompt_tokens == sum(
            len(request.prompt.split()) for request in scripted_server.requests
        )
        assert extraction.latency_s is not None
        if validity == "unreadable":
            assert not extraction.readable
            assert extraction.to_content() is None
            assert "line" in extraction.problem
        else:
            assert extraction.context == write_content(content, PIPELINES[name])
            assert extraction.to_content() == content
            assert bool(extraction.problem) is (validity == "repaired")
        # An extraction is written as JSON and read again.
        assert msgspec.json.decode(msgspec.json.encode(extraction), type=Extraction) == extraction


@pytest.mark.parametrize("name", PIPELINES)
def test_context_is_compact_for_any_reply_layout(
    name: str, scripted_server: ScriptedServer, open_scripted_client: ClientOpener
) -> None:
    compact = build_example(PIPELINES[name])
    if name.startswith("json"):
        loose_reply = json.dumps(json.loads(compact), indent=4)
    else:
        loose_reply = compact.replace("\n@f", "\n\n@f").replace("\n[/", "\n\n[/") + "\n"
    assert len(loose_reply) > len(compact)
    scripted_server.behave(make_replies(loose_reply))
    extraction = run_extractor(open_scripted_client, name)
    assert (extraction.context, extraction.validity) == (compact, "strict")


@pytest.mark.parametrize("name", ["json", "skn"])
def test_repair_turn_quotes_the_reply_and_the_error_position(
    name: str, scripted_server: ScriptedServer, open_scripted_client: ClientOpener
) -> None:
    valid_reply = build_example(PIPELINES[name])
    invalid_reply = (
        valid_reply.replace("0.9", "nine")
        if name == "skn"
        else valid_reply.replace('"fact"', '"rumour"')
    )
    scripted_server.behave(make_replies(invalid_reply, valid_reply))
    assert run_extractor(open_scripted_client, name).validity == "repaired"
    first, second = (request.body["messages"] for request in scripted_server.requests)
    assert second[:2] == first
    assert [turn["role"] for turn in second] == ["system", "user", "assistant", "user"]
    assert second[2]["content"] == invalid_reply
    repair_prompt = second[3]["content"]
    assert repair_prompt.startswith("Your notes could not be read. On line ")
    # The repair prompts differ only in the problem and its position.
    assert repair_prompt.endswith("in exactly the form that was asked for and with nothing else.")
    assert scripted_server.requests[1].response_format == "text"


def test_requests_are_equal_for_every_format(
    scripted_server: ScriptedServer, open_scripted_client: ClientOpener
) -> None:
    bodies = []
    for name, pipeline in PIPELINES.items():
        scripted_server.behave(make_replies(build_example(pipeline)))
        run_extractor(open_scripted_client, name)
        body = scripted_server.requests[-1].body
        assert "Pods &amp; &lt;limits>" in body["messages"][1]["content"]
        body["messages"][0] = "the system message"
        bodies.append(body)
    # The requests of all formats are equal, apart from the system message.
    assert all(body == bodies[0] for body in bodies)
    assert "response_format" not in bodies[0]
    assert bodies[0]["max_tokens"] == Setting().max_tokens
    assert bodies[0]["temperature"] == 0


def test_constrained_setting_affects_only_json_and_changes_no_prompt(
    scripted_server: ScriptedServer, open_scripted_client: ClientOpener
) -> None:
    for name, pipeline in PIPELINES.items():
        scripted_server.behave(make_replies(build_example(pipeline)))
        prompts, formats = [], []
        for setting in (Setting(), Setting(constrained=True)):
            assert run_extractor(open_scripted_client, name, setting).validity == "strict"
            prompts.append(scripted_server.requests[-1].body["messages"])
            formats.append(scripted_server.requests[-1].response_format)
        assert prompts[0] == prompts[1]
        assert formats == ["text", "json_schema" if pipeline.notation == "json" else "text"]


@pytest.mark.parametrize("name", ["json", "json_conf", "json_meta"])
def test_constrained_schema_accepts_the_example(name: str) -> None:
    example = json.loads(build_example(PIPELINES[name]))
    reply = msgspec.convert(example, get_reply_schema(PIPELINES[name]))
    assert json.loads(msgspec.json.encode(reply)) == example


def test_refusal_is_not_repaired_and_gives_no_extraction(
    scripted_server: ScriptedServer, open_scripted_client: ClientOpener
) -> None:
    for name in ("json", "skn"):
        scripted_server.clear_log()
        scripted_server.behave(refusal_reply())
        extraction = run_extractor(open_scripted_client, name)
        assert (extraction.validity, extraction.context, extraction.problem) == (
            "unreadable",
            "",
            "refused",
        )
        assert len(scripted_server.requests) == 1
        scripted_server.clear_log()
        scripted_server.behave([*make_replies("no"), refusal_reply()])
        assert run_extractor(open_scripted_client, name).problem == "refused"


def test_truncated_reply_is_reported(
    scripted_server: ScriptedServer, open_scripted_client: ClientOpener
) -> None:
    for name in ("json", "skn"):
        valid_reply = build_example(PIPELINES[name])
        scripted_server.clear_log()
        scripted_server.behave([make_cut_off_reply(valid_reply[:60]), *make_replies(valid_reply)])
        extraction = run_extractor(open_scripted_client, name)
        assert extraction.validity == "repaired"
        assert "cut off" in extraction.problem
        assert "too long" in scripted_server.requests[1].prompt


def test_failed_call_raises_and_costs_are_logged(
    scripted_server: ScriptedServer, open_scripted_client: ClientOpener
) -> None:
    scripted_server.behave(make_replies("nothing", build_example(PIPELINES["skn"])))
    with record_calls() as log:
        extraction = run_extractor(open_scripted_client, "skn")
    assert (log.calls, log.repairs) == (2, 1)
    assert extraction.usage == log.sum_usage()
    scripted_server.behave(reply_without_usage(lambda request: build_example(PIPELINES["skn"])))
    assert run_extractor(open_scripted_client, "skn").usage is None
    scripted_server.behave([*make_replies("nothing"), http_error(500)])
    with pytest.raises(ModelCallError):
        run_extractor(open_scripted_client, "skn")
    scripted_server.behave(behaviours.unknown_model_error())
    with pytest.raises(ModelAccessError):
        run_extractor(open_scripted_client, "skn")


# --- as published: the prompts and limits of the published benchmark --------------------------


@pytest.mark.parametrize("name", ABLATION_PIPELINES)
def test_as_published_uses_the_published_prompt(
    name: str, scripted_server: ScriptedServer, open_scripted_client: ClientOpener
) -> None:
    scripted_server.behave(make_replies(build_example(PIPELINES[name])))
    setting = Setting.as_published()
    extraction = run_extractor(open_scripted_client, name, setting)
    request = scripted_server.requests[-1]
    assert request.body["messages"] == [
        {"role": "system", "content": PUBLISHED_EXTRACTION[name]},
        {"role": "user", "content": TEXT},
    ]
    assert request.body["max_tokens"] == 4096
    assert request.body["temperature"] == 0
    assert request.response_format == ("json_object" if name.startswith("json") else "text")
    if name.startswith("json"):
        assert extraction.context == json.dumps(
            json.loads(build_example(PIPELINES[name])), indent=2
        )
    else:
        assert extraction.context == build_example(PIPELINES[name])


def test_no_reply_is_repaired_as_published(
    scripted_server: ScriptedServer, open_scripted_client: ClientOpener
) -> None:
    setting = Setting.as_published()

    def extract_reply(name: str, text: str) -> Extraction:
        scripted_server.clear_log()
        scripted_server.behave(make_replies(text))
        extraction = run_extractor(open_scripted_client, name, setting)
        assert len(scripted_server.requests) == 1
        return extraction

    truncated_extraction = extract_reply("skn", '  [SKN]\n@facts\n  ! "half\n')
    assert (truncated_extraction.context, truncated_extraction.validity) == (
        '[SKN]\n@facts\n  ! "half',
        "unreadable",
    )
    # As published, any JSON is passed on; its validity is still measured.
    assert extract_reply("json", '{"odd": [1, true, "ä"]}').context == (
        '{\n  "odd": [\n    1,\n    true,\n    "\\u00e4"\n  ]\n}'
    )
    assert extract_reply("json", '["a", null]').context == "['a', None]"
    # The published code silently turned this into three empty lists.
    unreadable_extraction = extract_reply("json", "```json\n{}\n```")
    assert (
        unreadable_extraction.context,
        unreadable_extraction.validity,
        unreadable_extraction.readable,
    ) == (
        "",
        "unreadable",
        False,
    )
    assert extract_reply("json", "[" * 90_000).context == ""


def test_as_published_allows_only_the_six_published_pipelines(
    open_scripted_client: ClientOpener,
) -> None:
    setting = Setting.as_published()

    async def read_params(name: str) -> dict[str, Any]:
        async with open_scripted_client(setting) as client:
            return ModelExtractor(PIPELINES[name], client, setting).params()

    for name in ("json_meta", "skn_min"):
        with pytest.raises(SettingError, match="no such pipeline"):
            asyncio.run(read_params(name))
    params = asyncio.run(read_params("skn"))
    assert params["prompt"]["version"] == 0
    assert params["structured"] == "json_object"
    assert params["setting"]["published"] is True


def test_params_differ_by_setting_and_pipeline(open_scripted_client: ClientOpener) -> None:
    async def encode_params(name: str, setting: Setting) -> str:
        async with open_scripted_client(setting) as client:
            params = ModelExtractor(PIPELINES[name], client, setting).params()
            return msgspec.json.encode(params).decode()

    settings = (Setting(), Setting(show_question=False), Setting(words=100), Setting(max_tokens=9))
    encoded_params = {
        asyncio.run(encode_params(name, setting)) for name in PIPELINES for setting in settings
    }
    assert len(encoded_params) == len(PIPELINES) * len(settings)


# --- as plain functions ---------------------------------------------------------------------


def test_every_extractor_is_available_by_name(
    scripted_server: ScriptedServer, scripted_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHE_MODEL", scripted_model)

    def reply_with_example(request: ChatRequest) -> str:
        # The longest example comes first, because it may contain a shorter one.
        return next(
            build_example(pipeline)
            for pipeline in sorted(PIPELINES.values(), key=lambda p: -len(build_example(p)))
            if f"\n\n{build_example(pipeline)}\n\n" in request.prompt
        )

    scripted_server.behave(normal_reply(reply_with_example))
    for name, function in EXTRACTORS.items():
        assert function.__name__ == f"extract_{name}"
        extraction = function(TEXT, question=QUESTION)
        example = build_example(PIPELINES[name])
        assert extraction == (json.loads(example) if name.startswith("json") else example)
        assert QUESTION in scripted_server.requests[-1].prompt
        assert function(TEXT, scripted_model) == extraction
        assert QUESTION not in scripted_server.requests[-1].prompt


def test_unreadable_extraction_is_an_error_and_not_empty(
    scripted_server: ScriptedServer, scripted_model: str
) -> None:
    scripted_server.behave(make_replies("I cannot do that."))
    for function in (extract_json, extract_skn):
        with pytest.raises(NotationError, match="line 1, column 1"):
            function(TEXT, scripted_model)


# --- a real server --------------------------------------------------------------------------


def test_real_server_accepts_the_requests_of_every_pipeline(
    llama_server: LlamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The model is random: this tests that requests are accepted and replies recorded.
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    options = ClientOptions(model=f"custom/{llama_server.model}", backoff_s=0.01)
    setting = Setting(constrained=True, max_tokens=24)

    async def run_client() -> None:
        async with open_client(options, setting) as client:
            for pipeline in PIPELINES.values():
                extraction = await ModelExtractor(pipeline, client, setting).extract(TEXT, QUESTION)
                assert extraction.validity == "unreadable"
                assert extraction.problem
                assert extraction.usage is not None
            # The server accepted every schema, without a fallback.
            assert client.observed()["structured"] == "json_schema"
            assert client.observed()["fallbacks"] == {}

    asyncio.run(run_client())
