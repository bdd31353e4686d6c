"""Tests strict and tolerant parsing of extractions, and the reported positions of errors."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.skn.formats.flat_json import Entity, FlatClaim, FlatExtraction, Relationship
from eval.skn.formats.forms import (
    ExtractionContent,
    build_example,
    parse_content,
    to_plain_values,
    write_content,
)
from eval.skn.formats.json_parser import JsonFaultError, parse_value
from eval.skn.formats.pipelines import ALL_SECTIONS, PIPELINES, Pipeline
from eval.skn.grammar.document import CausalLink, Document, Fact, Risk, Source, drop_sections

ALL_PIPELINES = tuple(PIPELINES.values())


fractions = st.floats(0, 1)
levels = st.sampled_from(["low", "medium", "high"])
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(
    lambda text: bool(text.strip())
)
documents = st.builds(
    Document,
    st.builds(Source, words, levels, fractions),
    st.lists(st.builds(Fact, st.sampled_from("!.~"), words, fractions), max_size=4).map(tuple),
    st.none() | st.lists(st.builds(CausalLink, words, words, fractions), max_size=3).map(tuple),
    st.none() | st.lists(words, max_size=3).map(tuple),
    st.none() | st.builds(Risk, levels, levels),
)
categories = st.sampled_from(["fact", "statistic", "opinion", "prediction"])
attributes = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    words | st.booleans() | st.integers(-(10**6), 10**6) | st.none(),
    max_size=2,
)


@st.composite
def generate_contents(draw: st.DrawFn, pipeline: Pipeline) -> ExtractionContent:
    if pipeline.typed:
        return drop_sections(draw(documents), *sorted(ALL_SECTIONS - pipeline.sections))
    confidence = fractions if pipeline.confidence else st.none()
    return FlatExtraction(
        tuple(draw(st.lists(st.builds(Entity, words, words, attributes), max_size=2))),
        tuple(draw(st.lists(st.builds(Relationship, words, words, words), max_size=2))),
        tuple(draw(st.lists(st.builds(FlatClaim, words, categories, confidence), max_size=3))),
    )


@pytest.mark.parametrize("pipeline", ALL_PIPELINES, ids=lambda p: p.name)
@given(data=st.data())
def test_written_content_is_parsed_strictly_to_the_same(
    pipeline: Pipeline, data: st.DataObject
) -> None:
    content = data.draw(generate_contents(pipeline))
    text = write_content(content, pipeline)
    assert parse_content(text, pipeline, strict=True) == (content, None)
    assert parse_content(text, pipeline, strict=False) == (content, None)
    # Writing the parsed content gives the same text. The journal stores equal plain values.
    reparsed = parse_content(text, pipeline, strict=True).content
    assert reparsed is not None
    assert write_content(reparsed, pipeline) == text
    kind = Document if pipeline.typed else FlatExtraction
    assert msgspec.convert(json.loads(json.dumps(to_plain_values(content))), kind) == content


@pytest.mark.parametrize("pipeline", ALL_PIPELINES, ids=lambda p: p.name)
@given(text=st.text() | st.sampled_from(["[" * 5000, '{"a":' * 5000, "\ud800", "[SKN]" * 300]))
def test_any_invalid_text_is_refused_with_its_position(pipeline: Pipeline, text: str) -> None:
    for strict in (True, False):
        content, problem = parse_content(text, pipeline, strict=strict)
        if content is None:
            assert problem is not None
            assert problem.line >= 1
            assert problem.column >= 1
            assert 0 < len(problem.what) <= 300
            problem.what.encode()


TEMPLATES = {
    "fence": "```\n{}\n```",
    "named fence": "```json\n{}\n```\n",
    "prose before": "Here are the notes:\n\n{}",
    "prose after": "{}\n\nLet me know if you need more.",
    "prose and fence": "Sure!\n```text\n{}\n```\nThat is all.",
    "thought": "<think>\nThe form has [SKN] and { in it.\n</think>\n\n{}",
}


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
@pytest.mark.parametrize("pipeline", ALL_PIPELINES, ids=lambda p: p.name)
def test_surrounding_text_is_tolerated_in_every_format(pipeline: Pipeline, template: str) -> None:
    example = build_example(pipeline)
    text = template.replace("{}", example)
    assert parse_content(text, pipeline, strict=True).content is None
    result = parse_content(text, pipeline, strict=False)
    assert result.problem is None
    assert result.content == parse_content(example, pipeline, strict=True).content


@pytest.mark.parametrize("pipeline", ALL_PIPELINES, ids=lambda p: p.name)
def test_incomplete_or_repeated_extractions_are_refused(pipeline: Pipeline) -> None:
    example = build_example(pipeline)
    for text in (
        example[: len(example) // 2],
        example[:-1],
        example[: example.rindex("\n" if "\n" in example else "}")],
        f"{example}\n\n{example}",
        f"```\n{example}\n```\nor\n```\n{example}\n```",
        "",
        "   \n",
        "I cannot extract anything from this text.",
        "null",
        "[]",
        '"eight"',
        "x" * 100_001,
    ):
        for strict in (True, False):
            result = parse_content(text, pipeline, strict=strict)
            assert result.content is None, text[-80:]
            assert result.problem is not None


@pytest.mark.parametrize("section", ["causal", "gaps", "risk"])
def test_removed_section_is_refused(section: Any) -> None:
    example, json_text = build_example(PIPELINES["skn"]), build_example(PIPELINES["json_meta"])
    for strict in (True, False):
        result = parse_content(example, PIPELINES[f"skn_no_{section}"], strict=strict)
        assert result.content is None
        assert result.problem is not None
        assert section in result.problem.what
        heading = example.split("\n")[result.problem.line - 1]
        assert heading.startswith(f"@{section}")
    # Optional sections may be missing.
    reduced = drop_sections(msgspec.convert(json.loads(json_text), Document), section)
    for name in ("skn", "json_meta"):
        pipeline = PIPELINES[name]
        assert (
            parse_content(write_content(reduced, pipeline), pipeline, strict=True).content
            == reduced
        )


INVALID_JSON: dict[str, tuple[str, str, str]] = {
    "list for text": ("json", '{"claims": [{"statement": ["a"], "category": "fact"}]}', '["a"]'),
    "null": ("json", '{"claims": null}', "null"),
    "eight": (
        "json_conf",
        '{"claims": [{"statement": "a", "category": "fact", "confidence": "eight"}]}',
        '"eight"',
    ),
    "above one": (
        "json_conf",
        '{"claims": [{"statement": "a", "category": "fact", "confidence": 85}]}',
        "85",
    ),
    "none": ("json_conf", '{"claims": [{"statement": "a", "category": "fact"}]}', '{"statement'),
    "confidence unasked": (
        "json",
        '{"claims": [\n{"statement": "a", "category": "fact", "confidence": 0.5}]}',
        '{"statement',
    ),
    "no claims": ("json", '{"entities": []}', "{"),
    "odd category": ("json", '{"claims": [{"statement": "a", "category": "rumour"}]}', '"rumour"'),
    "unknown key": ("json", '{"claims": [], "notes": 1}', "{"),
    "key twice": ("json", '{"claims": [], "claims": []}', '"claims": []}'),
    "NaN": (
        "json_conf",
        '{"claims": [{"statement": "a", "category": "fact", "confidence": NaN}]}',
        "NaN",
    ),
    "1e999": (
        "json_conf",
        '{"claims": [{"statement": "a", "category": "fact", "confidence": 1e999}]}',
        "1e999",
    ),
    "half a character": (
        "json",
        r'{"claims": [{"statement": "\ud83d", "category": "fact"}]}',
        r'"\ud83d"',
    ),
    "blank": ("json", '{"claims": [{"statement": "  ", "category": "fact"}]}', '"  "'),
    "level": (
        "json_meta",
        '{"source": {"domain": "d", "fresh": "new", "reliability": 1}, "facts": []}',
        '"new"',
    ),
    "number": (
        "json_meta",
        '{"source": {"domain": "d", "fresh": "low", "reliability": 1},\n "facts": 8}',
        "8",
    ),
    "no source": ("json_meta", '{"facts": []}', "{"),
    "cut off": ("json", '{"claims": [{"statement": "a', '"a'),
}


@pytest.mark.parametrize(
    ("pipeline_name", "text", "error_start"), INVALID_JSON.values(), ids=INVALID_JSON
)
def test_json_problems_are_reported_with_their_position(
    pipeline_name: str, text: str, error_start: str
) -> None:
    for strict in (True, False):
        content, problem = parse_content(f"\n{text}", PIPELINES[pipeline_name], strict=strict)
        assert content is None
        assert problem is not None
        line = f"\n{text}".split("\n")[problem.line - 1]
        assert line[problem.column - 1 :].startswith(error_start), problem


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)

PLAIN_DOCUMENT = {
    "source": {"domain": "operations", "fresh": "high", "reliability": 0.9},
    "facts": [{"priority": "!", "text": 'a "pod" restarts', "confidence": 0.9}],
    "gaps": ["which pod"],
    "risk": {"misdirection": "low", "missing_context": "high"},
}
NOTATION_VARIANTS: dict[str, tuple[str, str]] = {
    "percent": (
        '[SKN]\n@src operations | fresh:high | reliability:90%\n@facts\n  ! "a \\"pod\\" restarts" '
        "[90%]\n@gaps\n  - which pod\n@risk misdirection:low | missing_context:high\n[/SKN]",
        json.dumps(PLAIN_DOCUMENT).replace("0.9", '"90%"'),
    ),
    "capitals": (
        '[SKN]\n@SRC operations | fresh:High | reliability:0.9\n@FACTS\n  ! "a \\"pod\\" restarts" '
        "[0.9]\n@GAPS\n  - which pod\n@RISK misdirection:LOW | missing_context:HIGH\n[/SKN]",
        json.dumps(PLAIN_DOCUMENT)
        .replace('"facts"', '"Facts"')
        .replace('"missing_context"', '"Missing Context"')
        .replace('"low"', '"LOW"'),
    ),
    "other quotes": (
        "[SKN]\n@src operations | fresh:high | reliability:0.9\n"
        '@facts\n  ! “a "pod" restarts” [.9]\n'
        "@gaps\n  - which pod\n@risk misdirection:low | missing_context:high\n[/SKN]",
        repr(PLAIN_DOCUMENT).replace("0.9", ".9"),
    ),
    "no quotes": (
        "[SKN]\n@src operations | fresh:high | reliability:0.9\n"
        '@facts\n  ! a "pod" restarts [0.9]\n'
        "@gaps\n  - which pod\n@risk misdirection:low | missing_context:high\n[/SKN]",
        re.sub(r'"(\w+)":', r"\1:", json.dumps(PLAIN_DOCUMENT)),
    ),
    "separators": (
        '[SKN]\n\n@src operations | fresh:high | reliability:0.9\n@facts\n! "a \\"pod\\" restarts" '
        "[0.9]\n\n@risk misdirection:low | missing_context:high\n@gaps\n* which pod\n[/SKN]",
        re.sub(r'([\]}"]), "', r'\1\n"', json.dumps(PLAIN_DOCUMENT)).replace("}]", "},\n]"),
    ),
}


@pytest.mark.parametrize(("skn", "json_text"), NOTATION_VARIANTS.values(), ids=NOTATION_VARIANTS)
def test_both_notations_tolerate_the_same_variants(skn: str, json_text: str) -> None:
    expected = msgspec.convert(PLAIN_DOCUMENT, Document)
    for text, name in ((skn, "skn"), (json_text, "json_meta")):
        assert parse_content(text, PIPELINES[name], strict=True).content is None, name
        result = parse_content(text, PIPELINES[name], strict=False)
        assert result == (expected, None), name


@pytest.mark.parametrize(
    ("skn", "json_text"),
    [("[90]", "90"), ("[high]", '"high"'), ("", "null"), ("[eight]", '"eight"'), ("[1.5]", "1.5")],
)
def test_neither_notation_may_guess_a_value(skn: str, json_text: str) -> None:
    text = (
        "[SKN]\n@src operations | fresh:high | reliability:0.9\n"
        f'@facts\n  ! "a pod restarts" {skn}\n[/SKN]'
    )
    assert parse_content(text, PIPELINES["skn"], strict=False).content is None
    fact = '{"priority": "!", "text": "a pod restarts", "confidence": SCORE}'
    text = f'{{"source": {json.dumps(PLAIN_DOCUMENT["source"])}, "facts": [{fact}]}}'
    pipeline = PIPELINES["json_meta"]
    assert parse_content(text.replace("SCORE", json_text), pipeline, strict=False).content is None
    assert parse_content(text.replace("SCORE", "0.9"), pipeline, strict=True).content is not None


def test_reported_problem_is_the_unreadable_value() -> None:
    # Prose and a code fence are tolerated, so the reported line is that of the unreadable value.
    skn = build_example(PIPELINES["skn"]).replace("[0.7]", "[eight]")
    json_text = build_example(PIPELINES["json_meta"]).replace("0.7", '"eight"')
    for name, text in (("skn", skn), ("json_meta", json_text)):
        reply = f"Here they are:\n```\n{text}\n```\n"
        problem = parse_content(reply, PIPELINES[name], strict=False).problem
        assert problem is not None
        assert "eight" in reply.split("\n")[problem.line - 1], name


def test_ambiguous_keys_are_refused() -> None:
    for text in ('{"Claims": [], "CLAIMS": []}', '{"claims": [], "Claims": []}'):
        assert parse_content(text, PIPELINES["json"], strict=False).content is None
    # Keys of an entity's attributes are data and stay unchanged.
    text = '{"claims": [], "entities": [{"name": "a", "attributes": {"Type": "90%"}}]}'
    assert parse_content(text, PIPELINES["json"], strict=False) == parse_content(
        text, PIPELINES["json"], strict=True
    )


@given(json_values)
def test_valid_json_is_parsed_equally_in_both_modes(value: Any) -> None:
    text = json.dumps(value)
    try:
        strict_result = parse_value(text)
    except JsonFaultError:
        return
    assert parse_value(text, tolerant=True) == strict_result


@given(st.text(st.sampled_from("{}[],:\"'“”\\ 01.abTrueNon\n"), max_size=40))
def test_tolerant_parser_handles_any_text(text: str) -> None:
    try:
        parsed = parse_value(text, tolerant=True)
    except JsonFaultError as error:
        assert 0 <= error.offset <= len(text)  # noqa: PT017 - the text may be valid or not
    else:
        assert 0 < parsed.end <= len(text)


def test_quotes_within_a_text_do_not_split_it() -> None:
    assert parse_value('["a" "b"]', tolerant=True).value == ["a", "b"]
    with pytest.raises(JsonFaultError, match="comma"):
        parse_value('["the "" operator"]', tolerant=True)


def test_trailing_comma_is_tolerated() -> None:
    text = '{"claims": [{"statement": "a", "category": "fact",},],}'
    assert parse_content(text, PIPELINES["json"], strict=True).content is None
    result = parse_content(text, PIPELINES["json"], strict=False).content
    assert result == FlatExtraction(claims=(FlatClaim("a", "fact"),))


# --- the JSON parser compared with the standard library --------------------------------------


@given(json_values, st.sampled_from([None, 2]), st.booleans())
def test_json_is_parsed_like_the_standard_library(
    value: Any, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    if "\\ud" in text or any("\ud800" <= char <= "\udfff" for char in text):
        return  # half characters (lone surrogates) in keys are refused
    parsed = parse_value(text)
    assert parsed.value == value
    assert parsed.end == len(text)
    for path, offset in parsed.offsets.items():
        part = value
        for step in path:
            part = part[step]
        assert parse_value(text, offset).value == part


@given(st.text(st.sampled_from('{}[],:"\\ 01.e-+truefalsnu\n'), max_size=40))
def test_json_refused_by_the_standard_library_is_refused(text: str) -> None:
    try:
        expected = json.loads(text, object_pairs_hook=list)
    except ValueError:
        expected = None
    try:
        parsed = parse_value(text)
    except JsonFaultError:
        return
    if not text[parsed.end :].strip():
        assert expected is not None or text.strip() == "null"


def test_hostile_json_takes_linear_time_and_no_recursion() -> None:
    for text in (
        '{"a":' * 20_000,
        "[" * 90_000,
        '{"claims": [' + "{}," * 30_000,
        '{"claims": [' + "[]," * 30_000 + "[]]}",
        '{"' + "a" * 99_000,
        '{"claims": [' + "9" * 90_000,
    ):
        for strict in (True, False):
            assert parse_content(text, PIPELINES["json"], strict=strict).content is None
