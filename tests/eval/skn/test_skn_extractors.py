"""Extraction by a model, over a real connection: one policy for what cannot be read, and costs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from servers import behaviours
from servers.behaviours import Asked, edited, refusal, reply, status, without_usage
from servers.llama_server import LlamaServer
from servers.scripted_server import ScriptedServer

from eval.llm import ClientOptions, ModelClient
from eval.model.calls import recording
from eval.skn.extractors import EXTRACTORS, extract_json, extract_skn
from eval.skn.formats.asked_forms import asked_form
from eval.skn.formats.extracting import Extraction, ModelExtractor
from eval.skn.formats.forms import example, read, write
from eval.skn.formats.published_prompts import PUBLISHED_EXTRACTION
from eval.skn.pipelines import ABLATION_PIPELINES, PIPELINES
from eval.skn.setting import Setting, open_client
from kg.base.errors import ModelAccessError, ModelCallError, NotationError, SettingError

TEXT = "[Result 1]\nTitle: Pods & <limits>\nContent: A pod restarts when it is out of memory."
QUESTION = "Why does the pod restart?"

Open = Callable[[Setting], ModelClient]


def says(*texts: str) -> list[behaviours.Behaviour]:
    """Says these, one after the other, the last for ever."""
    return [reply(lambda asked, text=text: text) for text in texts]


def cut(text: str) -> behaviours.Behaviour:
    """The token limit ends the reply."""
    return edited(
        lambda body: body["choices"][0].update(finish_reason="length"), lambda asked: text
    )


def extract(opened: Open, name: str, setting: Setting | None = None) -> Extraction:
    setting = setting or Setting()

    async def ask() -> Extraction:
        async with opened(setting) as client:
            return await ModelExtractor(PIPELINES[name], client, setting).extract(TEXT, QUESTION)

    return asyncio.run(ask())


@pytest.mark.parametrize("name", PIPELINES)
def test_every_format_has_the_same_course(
    name: str, scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    good = example(PIPELINES[name])
    content = read(good, PIPELINES[name], strict=True).content
    assert content is not None
    half = good[: len(good) // 2]
    courses: dict[str, tuple[list[str], int]] = {
        "strict": ([good], 1),
        "tolerant": ([f"Here you are:\n```\n{good}\n```"], 1),
        "repaired": ([half, good], 2),
        "unreadable": ([half, half], 2),
    }
    for validity, (texts, calls) in courses.items():
        scripted_server.forget()
        scripted_server.behave(says(*texts))
        found = extract(open_scripted, name)
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
            assert found.typed() is None
            assert "line" in found.problem
        else:
            assert found.context == write(content, PIPELINES[name])
            assert found.typed() == content
            assert bool(found.problem) is (validity == "repaired")
        # A row is read back as it was written.
        assert msgspec.json.decode(msgspec.json.encode(found), type=Extraction) == found


@pytest.mark.parametrize("name", PIPELINES)
def test_however_spacious_a_reply_is_it_goes_on_compact(
    name: str, scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    compact = example(PIPELINES[name])
    if name.startswith("json"):
        spacious = json.dumps(json.loads(compact), indent=4)
    else:
        spacious = compact.replace("\n@f", "\n\n@f").replace("\n[/", "\n\n[/") + "\n"
    assert len(spacious) > len(compact)
    scripted_server.behave(says(spacious))
    found = extract(open_scripted, name)
    assert (found.context, found.validity) == (compact, "strict")


@pytest.mark.parametrize("name", ["json", "skn"])
def test_the_further_turn_quotes_reply_and_place(
    name: str, scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    good = example(PIPELINES[name])
    bad = good.replace("0.9", "nine") if name == "skn" else good.replace('"fact"', '"rumour"')
    scripted_server.behave(says(bad, good))
    assert extract(open_scripted, name).validity == "repaired"
    first, second = (asked.body["messages"] for asked in scripted_server.requests)
    assert second[:2] == first
    assert [turn["role"] for turn in second] == ["system", "user", "assistant", "user"]
    assert second[2]["content"] == bad
    told = second[3]["content"]
    assert told.startswith("Your notes could not be read. On line ")
    # The same words for both, but for what is wrong and where.
    assert told.endswith("in exactly the form that was asked for and with nothing else.")
    assert scripted_server.requests[1].response_format == "text"


def test_what_goes_over_the_wire_is_the_same_for_every_format(
    scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    bodies = []
    for name, pipeline in PIPELINES.items():
        scripted_server.behave(says(example(pipeline)))
        extract(open_scripted, name)
        body = scripted_server.requests[-1].body
        assert "Pods &amp; &lt;limits>" in body["messages"][1]["content"]
        body["messages"][0] = "the system message"
        bodies.append(body)
    # No format is constrained, all may be as long, all see the question and the same text.
    assert all(body == bodies[0] for body in bodies)
    assert "response_format" not in bodies[0]
    assert bodies[0]["max_tokens"] == Setting().max_tokens
    assert bodies[0]["temperature"] == 0


def test_constrained_constrains_json_alone_and_changes_no_prompt(
    scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    for name, pipeline in PIPELINES.items():
        scripted_server.behave(says(example(pipeline)))
        prompts, formats = [], []
        for setting in (Setting(), Setting(constrained=True)):
            assert extract(open_scripted, name, setting).validity == "strict"
            prompts.append(scripted_server.requests[-1].body["messages"])
            formats.append(scripted_server.requests[-1].response_format)
        assert prompts[0] == prompts[1]
        assert formats == ["text", "json_schema" if pipeline.notation == "json" else "text"]


@pytest.mark.parametrize("name", ["json", "json_conf", "json_meta"])
def test_what_a_constrained_server_is_told_is_what_is_read(name: str) -> None:
    shown = json.loads(example(PIPELINES[name]))
    told = msgspec.convert(shown, asked_form(PIPELINES[name]))
    assert json.loads(msgspec.json.encode(told)) == shown


def test_a_refusal_is_neither_repaired_nor_an_extraction(
    scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    for name in ("json", "skn"):
        scripted_server.forget()
        scripted_server.behave(refusal())
        found = extract(open_scripted, name)
        assert (found.validity, found.context, found.problem) == ("unreadable", "", "refused")
        assert len(scripted_server.requests) == 1
        scripted_server.forget()
        scripted_server.behave([*says("no"), refusal()])
        assert extract(open_scripted, name).problem == "refused"


def test_a_reply_that_was_cut_off_is_told_so(
    scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    for name in ("json", "skn"):
        good = example(PIPELINES[name])
        scripted_server.forget()
        scripted_server.behave([cut(good[:60]), *says(good)])
        found = extract(open_scripted, name)
        assert found.validity == "repaired"
        assert "cut off" in found.problem
        assert "too long" in scripted_server.requests[1].prompt


def test_a_failed_call_raises_and_costs_are_entered_in_the_open_log(
    scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    scripted_server.behave(says("nothing", example(PIPELINES["skn"])))
    with recording() as log:
        found = extract(open_scripted, "skn")
    assert (log.calls, log.repairs) == (2, 1)
    assert found.usage == log.usage()
    scripted_server.behave(without_usage(lambda asked: example(PIPELINES["skn"])))
    assert extract(open_scripted, "skn").usage is None
    scripted_server.behave([*says("nothing"), status(500)])
    with pytest.raises(ModelCallError):
        extract(open_scripted, "skn")
    scripted_server.behave(behaviours.no_such_model())
    with pytest.raises(ModelAccessError):
        extract(open_scripted, "skn")


# --- as published ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ABLATION_PIPELINES)
def test_as_published_asks_as_the_seed_did(
    name: str, scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    scripted_server.behave(says(example(PIPELINES[name])))
    setting = Setting.as_published()
    found = extract(open_scripted, name, setting)
    asked = scripted_server.requests[-1]
    assert asked.body["messages"] == [
        {"role": "system", "content": PUBLISHED_EXTRACTION[name]},
        {"role": "user", "content": TEXT},
    ]
    assert asked.body["max_tokens"] == 4096
    assert asked.body["temperature"] == 0
    assert asked.response_format == ("json_object" if name.startswith("json") else "text")
    if name.startswith("json"):
        assert found.context == json.dumps(json.loads(example(PIPELINES[name])), indent=2)
    else:
        assert found.context == example(PIPELINES[name])


def test_as_published_nothing_is_repaired_and_nothing_hidden(
    scripted_server: ScriptedServer, open_scripted: Open
) -> None:
    setting = Setting.as_published()

    def said(name: str, text: str) -> Extraction:
        scripted_server.forget()
        scripted_server.behave(says(text))
        found = extract(open_scripted, name, setting)
        assert len(scripted_server.requests) == 1
        return found

    half = said("skn", '  [SKN]\n@facts\n  ! "half\n')
    assert (half.context, half.validity) == ('[SKN]\n@facts\n  ! "half', "unreadable")
    # Any JSON was handed on, whatever its form; its validity is measured all the same.
    assert said("json", '{"odd": [1, true, "ä"]}').context == (
        '{\n  "odd": [\n    1,\n    true,\n    "\\u00e4"\n  ]\n}'
    )
    assert said("json", '["a", null]').context == "['a', None]"
    # There, this became three empty lists without a word.
    lost = said("json", "```json\n{}\n```")
    assert (lost.context, lost.validity, lost.readable) == ("", "unreadable", False)
    assert said("json", "[" * 90_000).context == ""


def test_as_published_has_the_six_pipelines_alone(open_scripted: Open) -> None:
    setting = Setting.as_published()

    async def make(name: str) -> dict[str, Any]:
        async with open_scripted(setting) as client:
            return ModelExtractor(PIPELINES[name], client, setting).params()

    for name in ("json_meta", "skn_min"):
        with pytest.raises(SettingError, match="no such pipeline"):
            asyncio.run(make(name))
    params = asyncio.run(make("skn"))
    assert params["prompt"]["version"] == 0
    assert params["structured"] == "json_object"
    assert params["setting"]["published"] is True


def test_parameters_tell_settings_and_pipelines_apart(open_scripted: Open) -> None:
    async def make(name: str, setting: Setting) -> str:
        async with open_scripted(setting) as client:
            params = ModelExtractor(PIPELINES[name], client, setting).params()
            return msgspec.json.encode(params).decode()

    settings = (Setting(), Setting(show_question=False), Setting(words=100), Setting(max_tokens=9))
    told = {asyncio.run(make(name, setting)) for name in PIPELINES for setting in settings}
    assert len(told) == len(PIPELINES) * len(settings)


# --- as plain functions ---------------------------------------------------------------------


def test_every_extractor_can_be_called_by_its_name(
    scripted_server: ScriptedServer, scripted_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHE_MODEL", scripted_model)

    def example_asked_for(asked: Asked) -> str:
        return next(
            example(pipeline)
            for pipeline in sorted(PIPELINES.values(), key=lambda p: -len(example(p)))
            if f"\n\n{example(pipeline)}\n\n" in asked.prompt
        )

    scripted_server.behave(reply(example_asked_for))
    for name, function in EXTRACTORS.items():
        assert function.__name__ == f"extract_{name}"
        got = function(TEXT, question=QUESTION)
        whole = example(PIPELINES[name])
        assert got == (json.loads(whole) if name.startswith("json") else whole)
        assert QUESTION in scripted_server.requests[-1].prompt
        assert function(TEXT, scripted_model) == got
        assert QUESTION not in scripted_server.requests[-1].prompt


def test_an_extraction_that_cannot_be_read_is_an_error_and_not_empty(
    scripted_server: ScriptedServer, scripted_model: str
) -> None:
    scripted_server.behave(says("I cannot do that."))
    for function in (extract_json, extract_skn):
        with pytest.raises(NotationError, match="line 1, column 1"):
            function(TEXT, scripted_model)


# --- a real server --------------------------------------------------------------------------


def test_a_real_server_takes_every_form(
    llama_server: LlamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The model is noise: what is seen here is that requests are taken and replies accounted for.
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    options = ClientOptions(model=f"custom/{llama_server.model}", backoff_s=0.01)
    setting = Setting(constrained=True, max_tokens=24)

    async def run() -> None:
        async with open_client(options, setting) as client:
            for pipeline in PIPELINES.values():
                found = await ModelExtractor(pipeline, client, setting).extract(TEXT, QUESTION)
                assert found.validity == "unreadable"
                assert found.problem
                assert found.usage is not None
            # The server took every schema as it was: none had to be left.
            assert client.observed()["structured"] == "json_schema"
            assert client.observed()["fallbacks"] == {}

    asyncio.run(run())
