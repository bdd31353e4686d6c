"""Schemas as strict servers want them, and replies read strictly whatever the server promised."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eval.model.structured import form_of, strict_schema


class Verdict(msgspec.Struct):
    answer: Literal["YES", "NO", "UNKNOWN"]
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    reason: str = ""


class Part(msgspec.Struct):
    default: int = 3
    properties: str = "x"


class Whole(msgspec.Struct):
    parts: list[Part]
    title: str | None = None


GOOD = '{"answer": "UNKNOWN", "confidence": 0.5, "reason": "no fact"}'


def objects(node: Any) -> list[dict[str, Any]]:
    """All object schemas, however deep."""
    if isinstance(node, list):
        return [found for child in node for found in objects(child)]
    if not isinstance(node, dict):
        return []
    own = [node] if node.get("type") == "object" else []
    return own + [found for child in node.values() for found in objects(child)]


@pytest.mark.parametrize("reply", [Verdict, Whole])
def test_schemas_are_strict_at_every_depth(reply: type) -> None:
    schema = strict_schema(reply)
    assert schema["type"] == "object"
    found = objects(schema)
    assert len(found) == (1 if reply is Verdict else 2)
    for each in found:
        assert each["additionalProperties"] is False
        assert set(each["required"]) == set(each["properties"])


def test_properties_that_are_named_like_keywords_stay() -> None:
    (part,) = (s for s in objects(strict_schema(Whole)) if "default" in s["properties"])
    assert set(part["properties"]) == {"default", "properties"}
    assert "default" not in part["properties"]["default"]


def test_the_form_is_in_the_prompt_in_the_same_words_for_every_mode() -> None:
    form = form_of(Verdict)
    plain = form.instruct([{"role": "user", "content": "q"}])
    assert [turn["role"] for turn in plain] == ["system", "user"]
    ordered = form.instruct([{"role": "system", "content": "s"}, {"role": "user", "content": "q"}])
    assert ordered[0]["content"] == f"s\n\n{plain[0]['content']}"
    assert "JSON" in plain[0]["content"]
    assert form.response_format("text") == b""
    wish = json.loads(form.response_format("json_schema"))
    assert wish["json_schema"]["strict"] is True
    assert wish["json_schema"]["schema"] == strict_schema(Verdict)


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}```",
        f"Sure! Here it is:\n```JSON \n{GOOD}\n```\nAnything else?",
        f"The answer is {GOOD} as asked.",
        f"<think>Is {{it}} YES? ```json``` no</think>\n{GOOD}",
    ],
)
def test_wrapped_json_is_read_but_told_from_exact_json(text: str) -> None:
    form = form_of(Verdict)
    assert form.read(GOOD) == (Verdict("UNKNOWN", 0.5, "no fact"), None, True)
    assert form.read(f"\n{GOOD}\n").exact
    read = form.read(text)
    assert read.value == Verdict("UNKNOWN", 0.5, "no fact")
    assert not read.exact


@pytest.mark.parametrize(
    ("text", "why"),
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
        (f"{GOOD} or rather {GOOD}", "not JSON"),
        (f"```json\n{GOOD}\n```\n```json\n{GOOD}\n```", ""),
        ("[" * 100_000, "nested too deeply"),
        ('{"answer":' * 50_000, ""),
        ("9" * 10_000, ""),
        (f'{{"answer": "YES", "confidence": {"9" * 5000}}}', ""),
        (GOOD + " " * 200_000, "longer"),
        ("```" * 40_000, "longer"),
    ],
)
def test_what_is_not_as_asked_is_unreadable_with_the_reason(text: str, why: str) -> None:
    read = form_of(Verdict).read(text)
    assert read.value is None
    assert read.problem
    assert why in read.problem


@given(st.text() | st.text(alphabet='{}[]"`:,\\ntruefalsYESNO01.e-<think>/ \n'))
@example("```json\n```")
@example("<think>")
@example('{"\ud800": 1}')
def test_reading_never_raises_and_always_gives_value_or_reason(text: str) -> None:
    value, problem, exact = form_of(Verdict).read(text)
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
def test_whatever_can_be_said_is_read_back(verdict: Verdict) -> None:
    text = msgspec.json.encode(verdict).decode()
    assert form_of(Verdict).read(text).value == verdict
    assert form_of(Verdict).read(f"```json\n{text}\n```").value == verdict or "```" in text
