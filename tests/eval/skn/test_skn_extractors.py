"""Extraction by a model over a real connection: repair of unreadable replies, and costs."""

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

from eval.llm import ClientOptions, ModelClient
from eval.model.calls import record_calls
from eval.skn.extractors import EXTRACTORS, extract_json, extract_skn
from eval.skn.formats.extraction import Extraction, ModelExtractor
from eval.skn.formats.forms import build_example, parse_content, write_content
from eval.skn.formats.published_prompts import PUBLISHED_EXTRACTION
from eval.skn.formats.reply_schemas import get_reply_schema
from eval.skn.pipelines import ABLATION_PIPELINES, PIPELINES
from eval.skn.run_settings import Setting, open_client
from kg.base.errors import ModelAccessError, ModelCallError, NotationError, SettingError

TEXT = "[Result 1]\nTitle: Pods & <limits>\nContent: A pod restarts when it is out of memory."
QUESTION = "Why does the pod restart?"

Open = Callable[[Setting], ModelClient]


def reply_in_turn(*texts: str) -> list[behaviours.Behaviour]:
    """Replies with these texts in turn, repeating the last."""
    return [normal_reply(lambda asked, text=text: text) for text in texts]


def cut_reply(text: str) -> behaviours.Behaviour:
    """Replies with a text that the token limit ended."""
    return edited_reply(
        lambda body: body["choices"][0].update(finish_reason="length"), lambda request: text
    )


def run_extractor(opened: Open, name: str, setting: Setting | None = None) -> Extraction:
    setting = setting or Setting()

    async def run_client() -> Extraction:
        async with opened(setting) as client:
            return await ModelExtractor(PIPELINES[name], client, setting).extract(TEXT, QUESTION)

    return asyncio.run(run_client())


@pytest.mark.parametrize("name", PIPELINES)
def test_every_format_follows_the_same_repair_policy(
    name: str, scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    good = build_example(PIPELINES[name])
    content = parse_content(good, PIPELINES[name], strict=True).content
    assert content is not None
    half = good[: len(good) // 2]
    courses: dict[str, tuple[list[str], int]] = {
        "strict": ([good], 1),
        "tolerant": ([f"Here you are:\n```\n{good}\n```"], 1),
        "repaired": ([half, good], 2),
        "unreadable": ([half, half], 2),
    }
    for validity, (texts, calls) in courses.items():
        scripted_server.clear_log()
        scripted_server.behave(reply_in_turn(*texts))
        found = run_extractor(open_scripted, name)
        assert found.validity == validity
        assert len(scripted_server.requests) == calls
        assert found.pipeline == name
        assert found.raw == texts[-1]
        assert found.usage is not None
        assert found.usage.prompt_tokens == sum(
            len(asked.prompt.split()) for asked in scripted_server.requests
        )
        assert found.latency_s is not None
        if validity == "unreadable":
            assert not found.readable
            assert found.to_content() is None
            assert "line" in found.problem
        else:
            assert found.context == write_content(content, PIPELINES[name])
            assert found.to_content() == content
            assert bool(found.problem) is (validity == "repaired")
        # A row is read back as it was written.
        assert msgspec.json.decode(msgspec.json.encode(found), type=Extraction) == found


@pytest.mark.parametrize("name", PIPELINES)
def test_context_is_compact_for_any_reply_layout(
    name: str, scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    compact = build_example(PIPELINES[name])
    if name.startswith("json"):
        spacious = json.dumps(json.loads(compact), indent=4)
    else:
        spacious = compact.replace("\n@f", "\n\n@f").replace("\n[/", "\n\n[/") + "\n"
    assert len(spacious) > len(compact)
    scripted_server.behave(reply_in_turn(spacious))
    found = run_extractor(open_scripted, name)
    assert (found.context, found.validity) == (compact, "strict")


@pytest.mark.parametrize("name", ["json", "skn"])
def test_repair_turn_quotes_the_reply_and_the_error_position(
    name: str, scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    good = build_example(PIPELINES[name])
    bad = good.replace("0.9", "nine") if name == "skn" else good.replace('"fact"', '"rumour"')
    scripted_server.behave(reply_in_turn(bad, good))
    assert run_extractor(open_scripted, name).validity == "repaired"
    first, second = (asked.body["messages"] for asked in scripted_server.requests)
    assert second[:2] == first
    assert [turn["role"] for turn in second] == ["system", "user", "assistant", "user"]
    assert second[2]["content"] == bad
    told = second[3]["content"]
    assert told.startswith("Your notes could not be read. On line ")
    # The repair prompts differ only in the problem and its position.
    assert told.endswith("in exactly the form that was asked for and with nothing else.")
    assert scripted_server.requests[1].response_format == "text"


def test_requests_are_equal_for_every_format(
    scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    bodies = []
    for name, pipeline in PIPELINES.items():
        scripted_server.behave(reply_in_turn(build_example(pipeline)))
        run_extractor(open_scripted, name)
        body = scripted_server.requests[-1].body
        assert "Pods &amp; &lt;limits>" in body["messages"][1]["content"]
        body["messages"][0] = "the system message"
        bodies.append(body)
    # All formats: no constraint, equal token limit, same question and text.
    assert all(body == bodies[0] for body in bodies)
    assert "response_format" not in bodies[0]
    assert bodies[0]["max_tokens"] == Setting().max_tokens
    assert bodies[0]["temperature"] == 0


def test_constrained_affects_json_only_and_no_prompt(
    scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    for name, pipeline in PIPELINES.items():
        scripted_server.behave(reply_in_turn(build_example(pipeline)))
        prompts, formats = [], []
        for setting in (Setting(), Setting(constrained=True)):
            assert run_extractor(open_scripted, name, setting).validity == "strict"
            prompts.append(scripted_server.requests[-1].body["messages"])
            formats.append(scripted_server.requests[-1].response_format)
        assert prompts[0] == prompts[1]
        assert formats == ["text", "json_schema" if pipeline.notation == "json" else "text"]


@pytest.mark.parametrize("name", ["json", "json_conf", "json_meta"])
def test_constrained_schema_accepts_the_example(name: str) -> None:
    shown = json.loads(build_example(PIPELINES[name]))
    told = msgspec.convert(shown, get_reply_schema(PIPELINES[name]))
    assert json.loads(msgspec.json.encode(told)) == shown


def test_refusal_is_not_repaired_and_gives_no_extraction(
    scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    for name in ("json", "skn"):
        scripted_server.clear_log()
        scripted_server.behave(refusal_reply())
        found = run_extractor(open_scripted, name)
        assert (found.validity, found.context, found.problem) == ("unreadable", "", "refused")
        assert len(scripted_server.requests) == 1
        scripted_server.clear_log()
        scripted_server.behave([*reply_in_turn("no"), refusal_reply()])
        assert run_extractor(open_scripted, name).problem == "refused"


def test_truncated_reply_is_reported(scripted_server: ScriptedServer, open_scripted: Open) -> None:
    for name in ("json", "skn"):
        good = build_example(PIPELINES[name])
        scripted_server.clear_log()
        scripted_server.behave([cut_reply(good[:60]), *reply_in_turn(good)])
        found = run_extractor(open_scripted, name)
        assert found.validity == "repaired"
        assert "cut off" in found.problem
        assert "too long" in scripted_server.requests[1].prompt


def test_failed_call_raises_and_costs_are_logged(
    scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    scripted_server.behave(reply_in_turn("nothing", build_example(PIPELINES["skn"])))
    with record_calls() as log:
        found = run_extractor(open_scripted, "skn")
    assert (log.calls, log.repairs) == (2, 1)
    assert found.usage == log.sum_usage()
    scripted_server.behave(reply_without_usage(lambda request: build_example(PIPELINES["skn"])))
    assert run_extractor(open_scripted, "skn").usage is None
    scripted_server.behave([*reply_in_turn("nothing"), http_error(500)])
    with pytest.raises(ModelCallError):
        run_extractor(open_scripted, "skn")
    scripted_server.behave(behaviours.unknown_model_error())
    with pytest.raises(ModelAccessError):
        run_extractor(open_scripted, "skn")


# --- as published ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ABLATION_PIPELINES)
def test_as_published_uses_the_published_prompt(
    name: str, scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    scripted_server.behave(reply_in_turn(build_example(PIPELINES[name])))
    setting = Setting.as_published()
    found = run_extractor(open_scripted, name, setting)
    asked = scripted_server.requests[-1]
    assert asked.body["messages"] == [
        {"role": "system", "content": PUBLISHED_EXTRACTION[name]},
        {"role": "user", "content": TEXT},
    ]
    assert asked.body["max_tokens"] == 4096
    assert asked.body["temperature"] == 0
    assert asked.response_format == ("json_object" if name.startswith("json") else "text")
    if name.startswith("json"):
        assert found.context == json.dumps(json.loads(build_example(PIPELINES[name])), indent=2)
    else:
        assert found.context == build_example(PIPELINES[name])


def test_as_published_nothing_is_repaired(
    scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    setting = Setting.as_published()

    def extract_reply(name: str, text: str) -> Extraction:
        scripted_server.clear_log()
        scripted_server.behave(reply_in_turn(text))
        found = run_extractor(open_scripted, name, setting)
        assert len(scripted_server.requests) == 1
        return found

    half = extract_reply("skn", '  [SKN]\n@facts\n  ! "half\n')
    assert (half.context, half.validity) == ('[SKN]\n@facts\n  ! "half', "unreadable")
    # As published, any JSON is passed on; its validity is still measured.
    assert extract_reply("json", '{"odd": [1, true, "ä"]}').context == (
        '{\n  "odd": [\n    1,\n    true,\n    "\\u00e4"\n  ]\n}'
    )
    assert extract_reply("json", '["a", null]').context == "['a', None]"
    # The published code silently turned this into three empty lists.
    lost = extract_reply("json", "```json\n{}\n```")
    assert (lost.context, lost.validity, lost.readable) == ("", "unreadable", False)
    assert extract_reply("json", "[" * 90_000).context == ""


def test_as_published_allows_only_the_six_published_pipelines(open_scripted: Open) -> None:
    setting = Setting.as_published()

    async def make_extractor(name: str) -> dict[str, Any]:
        async with open_scripted(setting) as client:
            return ModelExtractor(PIPELINES[name], client, setting).params()

    for name in ("json_meta", "skn_min"):
        with pytest.raises(SettingError, match="no such pipeline"):
            asyncio.run(make_extractor(name))
    params = asyncio.run(make_extractor("skn"))
    assert params["prompt"]["version"] == 0
    assert params["structured"] == "json_object"
    assert params["setting"]["published"] is True


def test_params_differ_by_setting_and_pipeline(open_scripted: Open) -> None:
    async def make_params(name: str, setting: Setting) -> str:
        async with open_scripted(setting) as client:
            params = ModelExtractor(PIPELINES[name], client, setting).params()
            return msgspec.json.encode(params).decode()

    settings = (Setting(), Setting(show_question=False), Setting(words=100), Setting(max_tokens=9))
    told = {asyncio.run(make_params(name, setting)) for name in PIPELINES for setting in settings}
    assert len(told) == len(PIPELINES) * len(settings)


# --- as plain functions ---------------------------------------------------------------------


def test_every_extractor_is_available_by_name(
    scripted_server: ScriptedServer, scripted_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHE_MODEL", scripted_model)

    def reply_with_example(request: ChatRequest) -> str:
        return next(
            build_example(pipeline)
            for pipeline in sorted(PIPELINES.values(), key=lambda p: -len(build_example(p)))
            if f"\n\n{build_example(pipeline)}\n\n" in request.prompt
        )

    scripted_server.behave(normal_reply(reply_with_example))
    for name, function in EXTRACTORS.items():
        assert function.__name__ == f"extract_{name}"
        got = function(TEXT, question=QUESTION)
        whole = build_example(PIPELINES[name])
        assert got == (json.loads(whole) if name.startswith("json") else whole)
        assert QUESTION in scripted_server.requests[-1].prompt
        assert function(TEXT, scripted_model) == got
        assert QUESTION not in scripted_server.requests[-1].prompt


def test_unreadable_extraction_is_an_error_and_not_empty(
    scripted_server: ScriptedServer, scripted_model: str
) -> None:
    scripted_server.behave(reply_in_turn("I cannot do that."))
    for function in (extract_json, extract_skn):
        with pytest.raises(NotationError, match="line 1, column 1"):
            function(TEXT, scripted_model)


# --- a real server --------------------------------------------------------------------------


def test_real_server_accepts_every_form(
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
                found = await ModelExtractor(pipeline, client, setting).extract(TEXT, QUESTION)
                assert found.validity == "unreadable"
                assert found.problem
                assert found.usage is not None
            # The server accepted every schema, without a fallback.
            assert client.observed()["structured"] == "json_schema"
            assert client.observed()["fallbacks"] == {}

    asyncio.run(run_client())
