"""Tests reply forms: the schema and instruction sent to servers, and the strict parsing."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eval.model.replies.reply_form import build_strict_schema, get_form
from eval.model.replies.schema_form import SchemaForm, read_json_reply
from kg.base.strict_json import parse_json


class Verdict(msgspec.Struct):
    answer: Literal["YES", "NO", "UNKNOWN"]
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    reason: str = ""


class Section(msgspec.Struct):
    default: int = 3
    properties: str = "x"


class Document(msgspec.Struct):
    parts: list[Section]
    title: str | None = None


VALID_REPLY = '{"answer": "UNKNOWN", "confidence": 0.5, "reason": "no fact"}'


def list_object_schemas(node: Any) -> list[dict[str, Any]]:
    """Returns all object schemas at any depth."""
    if isinstance(node, list):
        return [schema for child in node for schema in list_object_schemas(child)]
    if not isinstance(node, dict):
        return []
    own = [node] if node.get("type") == "object" else []
    return own + [schema for child in node.values() for schema in list_object_schemas(child)]


@pytest.mark.parametrize("reply_class", [Verdict, Document])
def test_schemas_are_strict_at_every_depth(reply_class: type) -> None:
    schema = build_strict_schema(reply_class)
    assert schema["type"] == "object"
    object_schemas = list_object_schemas(schema)
    assert len(object_schemas) == (1 if reply_class is Verdict else 2)
    for object_schema in object_schemas:
        assert object_schema["additionalProperties"] is False
        assert set(object_schema["required"]) == set(object_schema["properties"])


def test_properties_named_like_keywords_are_kept() -> None:
    (section_schema,) = (
        schema
        for schema in list_object_schemas(build_strict_schema(Document))
        if "default" in schema["properties"]
    )
    assert set(section_schema["properties"]) == {"default", "properties"}
    assert "default" not in section_schema["properties"]["default"]


def test_prompt_describes_the_form_equally_in_every_mode() -> None:
    form = get_form(Verdict)
    instructed = form.add_instruction([{"role": "user", "content": "q"}])
    assert [turn["role"] for turn in instructed] == ["system", "user"]
    with_system_turn = form.add_instruction(
        [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    )
    assert with_system_turn[0]["content"] == f"s\n\n{instructed[0]['content']}"
    assert "JSON" in instructed[0]["content"]
    assert form.render_body_part("text") == b""
    body = json.loads(b'{"n":1' + form.render_body_part("json_schema") + b"}")
    json_schema = body["response_format"]["json_schema"]
    assert json_schema["strict"] is True
    assert json_schema["schema"] == build_strict_schema(Verdict)


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{VALID_REPLY}\n```",
        f"```\n{VALID_REPLY}```",
        f"Sure! Here it is:\n```JSON \n{VALID_REPLY}\n```\nAnything else?",
        f"The answer is {VALID_REPLY} as asked.",
        f"<think>Is {{it}} YES? ```json``` no</think>\n{VALID_REPLY}",
    ],
)
def test_wrapped_json_is_parsed_but_marked_as_inexact(text: str) -> None:
    form = get_form(Verdict)
    assert form.read_reply(VALID_REPLY) == (Verdict("UNKNOWN", 0.5, "no fact"), None, True)
    assert form.read_reply(f"\n{VALID_REPLY}\n").exact
    parsed_reply = form.read_reply(text)
    assert parsed_reply.value == Verdict("UNKNOWN", 0.5, "no fact")
    assert not parsed_reply.exact


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("I do not know.", "not JSON"),
        ('{"answer": "YES"', "not JSON"),
        ('["YES", 1]', "not an object"),
        ('"YES"', "not an object"),
        ('{"answer": "YES", "confidence": "0.5"}', "confidence"),
        ('{"answer": "yes", "confidence": 0.5}', "answer"),
        ('{"answer": ["YES"], "confidence": 0.5}', "answer"),
        ('{"answer": "YES", "confidence": 1.01}', "confidence"),
        ('{"answer": "YES", "confidence": NaN}', "NaN"),
        ('{"answer": "YES", "confidence": Infinity}', "Infinity"),
        ('{"answer": "YES", "confidence": 1e999}', "too large"),
        ('{"answer": "YES", "confidence": 0.5, "answer": "NO"}', "twice"),
        ('{"confidence": 0.5}', "answer"),
        ('{"answer": "YES", "confidence": 0.5, "reason": "\\ud800"}', "half a character"),
        (f"{VALID_REPLY} or rather {VALID_REPLY}", "not JSON"),
        (f"```json\n{VALID_REPLY}\n```\n```json\n{VALID_REPLY}\n```", ""),
        ("[" * 100_000, "nested too deeply"),
        ('{"answer":' * 50_000, ""),
        ("9" * 10_000, ""),
        (f'{{"answer": "YES", "confidence": {"9" * 5000}}}', ""),
        (VALID_REPLY + " " * 200_000, "longer"),
        ("```" * 40_000, "longer"),
    ],
)
def test_nonconforming_reply_is_invalid_with_a_reason(text: str, reason: str) -> None:
    parsed_reply = get_form(Verdict).read_reply(text)
    assert parsed_reply.value is None
    assert parsed_reply.problem
    assert reason in parsed_reply.problem


class Opinion(msgspec.Struct):
    answer: Literal["YES", "NO", "UNKNOWN"]
    claims: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    score: int | msgspec.UnsetType = msgspec.UNSET


@given(st.sampled_from(["YES", "NO", "UNKNOWN"]), st.lists(st.text()), st.integers(), st.data())
def test_a_cut_reply_gives_nothing_that_the_whole_one_does_not(
    answer: str, claims: list[str], score: int, data: st.DataObject
) -> None:
    """However a reply is cut, each member read is that of the whole reply."""
    text = json.dumps(
        {"answer": answer, "claims": claims, "score": score},
        indent=data.draw(st.sampled_from([None, 2])),
        ensure_ascii=data.draw(st.booleans()),
    )
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    form = get_form(Opinion)
    assert form.read_reply(cut).value is None
    opinion = form.read_reply(cut, is_cut_off=True).value
    is_answer_complete = f'"{answer}"' in cut
    assert (opinion is not None) == is_answer_complete
    if opinion is not None:
        assert opinion.answer == answer
        assert opinion.claims is msgspec.UNSET or list(opinion.claims) == claims
        assert opinion.score is msgspec.UNSET


def test_only_a_cut_reply_may_lack_members() -> None:
    form = get_form(Opinion)
    problem = form.read_reply('{"answer": "NO", "score": 1}').problem
    assert problem == "not as asked: Object missing required field `claims`"
    assert form.read_reply('{"answer": "NO", "score": 1, "x', is_cut_off=True).value == Opinion(
        "NO", score=1
    )
    assert form.read_reply('{"answer": "NO", "score": 1.5, "x', is_cut_off=True).value is None


DRAFT = '{"answer": "NO", "confidence": 0.4, "reason": "a draft"}'


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("<reasoning>", "</reasoning>"),
        ("<THINK>\n", "\n</THINK>"),
        ("[THINK]", "[/THINK]"),
        (
            "<|channel|>analysis<|message|>",
            "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
        ),
    ],
)
def test_a_draft_in_a_thought_is_never_the_reply(start: str, end: str) -> None:
    form = get_form(Verdict)
    assert form.read_reply(f"{start}Perhaps {DRAFT}?{end}{VALID_REPLY}").value == Verdict(
        "UNKNOWN", 0.5, "no fact"
    )
    for text in (f"{start}Perhaps {DRAFT}?{end}I cannot say.", f"{start}Perhaps {DRAFT}? Let me"):
        for is_cut_off in (False, True):
            assert form.read_reply(text, is_cut_off=is_cut_off).value is None


@given(st.text() | st.text(alphabet='{}[]"`:,\\ntruefalsYESNO01.e-<think>/ \n'))
@example("```json\n```")
@example("<think>")
@example('{"\ud800": 1}')
def test_parsing_always_gives_a_value_or_a_reason(text: str) -> None:
    value, problem, exact = get_form(Verdict).read_reply(text)
    cut_off_value = get_form(Verdict).read_reply(text, is_cut_off=True).value
    assert value is None or cut_off_value == value
    assert (value is None) == (problem is not None)
    assert value is not None or not exact
    if value is not None:
        msgspec.json.encode(value)


@given(
    st.builds(
        Verdict,
        answer=st.sampled_from(["YES", "NO", "UNKNOWN"]),
        confidence=st.floats(0, 1),
        reason=st.text(st.characters(exclude_categories=["Cs"])),
    )
)
def test_any_verdict_survives_a_round_trip(verdict: Verdict) -> None:
    text = msgspec.json.encode(verdict).decode()
    # A reason that contains a fence makes a fenced reply ambiguous, so it may be refused.
    assert get_form(Verdict).read_reply(text).value == verdict
    assert get_form(Verdict).read_reply(f"```json\n{text}\n```").value == verdict or "```" in text


# JSON in a reply that is more than JSON.

_TEXTS = st.text("ab{}[]\",:\\'`\n</think> 1é") | st.sampled_from(
    ["</think>", "<think>", "```json\n{}\n```", '{"a": 1}', '", "b": {"c": 1}']
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXTS,
    lambda child: st.lists(child, max_size=3) | st.dictionaries(_TEXTS, child, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(_TEXTS, _VALUES, min_size=1, max_size=4)
_OBJECT_LISTS = st.lists(_OBJECTS, min_size=1, max_size=3)
_LAYOUTS = st.sampled_from(
    ["%s", "```json\n%s\n```", "```json\n%s", "As in [1] {see page 2}: %s", "Hm </think>\n%s"]
)


@given(
    value=_OBJECTS | _OBJECT_LISTS,
    layout=_LAYOUTS,
    indent=st.sampled_from([None, 1]),
    is_ascii=st.booleans(),
    data=st.data(),
)
def test_no_part_of_unfinished_json_is_read_as_the_reply(
    value: Any, layout: str, indent: int | None, is_ascii: bool, data: st.DataObject
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    end = data.draw(st.integers(1, len(text) - 1))
    before = layout.partition("%s")[0]
    for array_root in (False, True):
        for reply in (before + text[:end], layout % text[:end]):
            read = read_json_reply(reply, array_root=array_root)
            assert read.problem is not None, (reply, read.value)


@given(value=_OBJECTS | _OBJECT_LISTS, layout=_LAYOUTS, indent=st.sampled_from([None, 1]))
def test_whole_json_is_found_in_fences_and_after_prose(
    value: Any, layout: str, indent: int | None
) -> None:
    text = json.dumps(value, indent=indent)
    for array_root in (False, True):
        read = read_json_reply(layout % text, array_root=array_root)
        assert read.value == parse_json(text)  # integers beyond 64 bits become floats


@pytest.mark.parametrize(
    "text",
    [
        *('{"id": 1, "tags": ["x"],}', '{"id": 1, // one\n"tags": ["x"]}', "{'id': {\"a\": 1}"),
        *('{"a": NaN, "b": {"c": 1}}', '{"a": 1, "a": 2, "b": [{"c": 1}]}', '{{"a": {"b": 1}}}'),
        *('{"a": {"b": 1}]', '[{"a": ["x"]},]', '[{"a": 1}, {"b": ', '"a": {"b": 1}}'),
        *('{"a": 1,}\n{"a": 1}', '{"a": 1}\n{"a": 2', '{"a": 1}\n[{"a": 2}]', '{see {"a": 1}}'),
        *("Sorry, not in [1].", 'The tags ["x"].', "[1] or [2]", "[]?", "It is null."),
        *('<think>{"a": 1}</think>', '<think>{"a": 1} or', '{"a": 1} maybe </think> I do not know'),
        *('```json\n{"a": {"b": 1},\n```', '```json\n{"a": 1,}\n```\nor {"a": 1}'),
        "{" * 100_000,
        "[1]" * 100_000,
        "```\n{" * 100_000,
        '{"' * 100_000,
    ],
)
def test_replies_without_one_whole_value_are_unreadable(text: str) -> None:
    read = read_json_reply(text)
    assert read.value is None
    assert read.problem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('The id is in {see page 2}. {"a": 1}', {"a": 1}),
        ('<think>[1, {"a": </think>{"a": 1}', {"a": 1}),
        ('first {"a": 2} or [\n</think>\n\n{"a": 1}', {"a": 1}),
        ('From [1] and [2]:\n{"a": 1}\nSource: [1]', {"a": 1}),
        ('The range [0, 1) gives\n```json\n{"a": 1}\n```', {"a": 1}),
        ('```text\nAda\n```\n```json\n{"a": 1}\n```', {"a": 1}),
        ('```json\n["x"]\n```', ["x"]),
        ("```\nnull\n```", None),
        ('```{"a": "}"}```', {"a": "}"}),
        ("Nothing is said: {}", {}),
    ],
)
def test_the_only_value_amid_prose_and_drafts_is_found(text: str, value: Any) -> None:
    read = read_json_reply(text)
    assert (read.value, read.problem) == (value, None)


@pytest.mark.parametrize(
    ("schema", "is_found"),
    [
        ({"type": "array"}, True),
        ({"type": ["null", "array"]}, True),
        ({"items": {"type": "string"}}, True),
        ({"$ref": "#/$defs/list", "$defs": {"list": {"type": "array"}}}, True),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, False),
        ({"$ref": "#/$defs/none"}, False),
        ({"type": "object", "properties": {"items": {"type": "array"}}}, False),
        ({}, False),
    ],
)
def test_an_array_of_scalars_amid_prose_is_read_where_the_schema_asks_for_one(
    schema: dict[str, Any], is_found: bool
) -> None:
    read = SchemaForm(schema).read_reply('The tags are ["x", "y"].')
    assert read.value == (["x", "y"] if is_found else None)
    assert SchemaForm(schema).read_reply('["x"] or ["y"]').problem
