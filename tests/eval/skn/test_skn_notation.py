"""Tests that SKN documents are parsed and written, and errors are reported with positions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from skn_documents import REDIS

from eval.skn.grammar import lexical
from eval.skn.grammar.document import CausalLink, Document, Fact, Risk, Source, drop_sections
from eval.skn.grammar.parse_result import MAX_PROBLEMS
from eval.skn.notation import parse, serialize, try_parse
from kg.base.errors import NotationError

CANONICAL = """\
[SKN]
@src database documentation | fresh:high | reliability:0.85
@facts
  ! "Redis runs commands on one thread" [0.95]
  . "KEYS is O(n) and \\"blocks\\" others" [0.9]
  ~ "SCAN would not have blocked" [0.6]
@causal
  KEYS on a large keyspace -> latency of all clients [0.8]
@gaps
  - how many keys there are
@risk misdirection:low | missing_context:medium
[/SKN]"""
SMALLEST_TEXT = "[SKN]\n@src web | fresh:low | reliability:0.5\n@facts\n[/SKN]"
DOCS = Path(__file__).parents[3] / "docs" / "reference" / "skn-notation.md"


def make_document(**changes: object) -> Document:
    return Document(Source("web", "low", 0.5), **({"facts": ()} | changes))  # type: ignore[arg-type]


def test_canonical_text_is_read_and_written() -> None:
    assert serialize(REDIS) == CANONICAL
    assert parse(CANONICAL) == REDIS
    assert try_parse(CANONICAL) == (REDIS, (), True, None)


def test_every_documented_skn_block_is_valid() -> None:
    blocks = re.findall(r"^```skn\n(.*?)^```$", DOCS.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        assert try_parse(block).problems == ()


@pytest.mark.parametrize(
    "text",
    [
        SMALLEST_TEXT + "\n",
        SMALLEST_TEXT.replace("\n", "\r\n"),
        SMALLEST_TEXT.replace("\n@facts\n", "\n\n\n@facts\n\n"),
        SMALLEST_TEXT.replace("0.5", "0.500"),
        SMALLEST_TEXT.replace("web", '"web"'),
        SMALLEST_TEXT.replace("web", '"w\\u0065b"'),
    ],
)
def test_other_spellings_give_the_same_document(text: str) -> None:
    assert parse(text) == make_document()
    assert serialize(parse(text)) == SMALLEST_TEXT


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("@causal\n", "causal", ()),
        ("@gaps\n", "gaps", ()),
        ("@causal\n  a -> b [1]\n", "causal", (CausalLink("a", "b", 1.0),)),
        ("@causal\n  a -> x [0.3] [1.0]\n", "causal", (CausalLink("a", "x [0.3]", 1.0),)),
        ('@causal\n  "a -> b" -> c [0]\n', "causal", (CausalLink("a -> b", "c", 0.0),)),
        ('@causal\n  a → b -> "c" [0]\n', "causal", (CausalLink("a → b", "c", 0.0),)),
        ('@gaps\n  - its "age"\n  - - x\n', "gaps", ('its "age"', "- x")),
        ("@gaps\n  - C:\\new\n", "gaps", ("C:\\new",)),
        ('@gaps\n  - "C:\\new"\n', "gaps", ("C:\new",)),
        ("@risk misdirection:low | missing_context:high\n", "risk", Risk("low", "high")),
    ],
)
def test_optional_sections_are_parsed(section: str, field: str, value: object) -> None:
    assert parse(SMALLEST_TEXT.replace("[/SKN]", section + "[/SKN]")) == make_document(
        **{field: value}
    )


@pytest.mark.parametrize(
    ("element", "expected_line"),
    [
        (Fact("!", "two\nlines", 1), '  ! "two\\nlines" [1.0]'),
        (
            Fact(".", "\u2028\x85\u202e\u00a0é😀", 0.0),
            '  . "\\u2028\\u0085\\u202e\\u00a0é😀" [0.0]',
        ),
        (Fact("~", 'a "b" \\ c', 1e-7), '  ~ "a \\"b\\" \\\\ c" [0.0000001]'),
        (CausalLink("a->b", "c", 0.3), '  "a->b" -> c [0.3]'),
        (CausalLink("a", "b [0.3]", 0.3), '  a -> "b [0.3]" [0.3]'),
        (CausalLink('"a"', " b", 0.3), '  "\\"a\\"" -> " b" [0.3]'),
        ('say "x"', '  - say "x"'),
        ('"x" said', '  - "\\"x\\" said"'),
    ],
)
def test_text_is_quoted_only_where_necessary(
    element: Fact | CausalLink | str, expected_line: str
) -> None:
    field = {Fact: "facts", CausalLink: "causal", str: "gaps"}[type(element)]
    document = make_document(**{field: (element,)})
    assert expected_line in serialize(document).split("\n")
    assert parse(serialize(document)) == document


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "message"),
    [
        ("[SKN]\n", "", 1, 1, "first line"),
        ("[SKN]", "\ufeff[SKN]", 1, 1, "byte order mark"),
        ("[SKN]", "Here it is:\n[SKN]", 1, 1, "first line"),
        ("[SKN]\n", "[SKN]\n\n", 2, 1, "blank line before @src"),
        ("fresh:high", "fresh:High", 2, 37, "high, medium or low"),
        ("fresh:high", "fresh: high", 2, 37, "high, medium or low"),
        ("0.85", "1.5", 2, 56, "number from 0.0 to 1.0"),
        ("0.85", ".85", 2, 56, "number from 0.0 to 1.0"),
        ("0.85", "nan", 2, 56, "number from 0.0 to 1.0"),
        ("0.85", "8.5e-1", 2, 56, "number from 0.0 to 1.0"),
        ("database", "data|base", 2, 10, "'|' in a text"),
        ("@src database documentation", "@src ", 2, 6, "says something"),
        ("@facts", "@facts:", 3, 1, "expected one of @src, @facts"),
        ("@facts", "@facts ", 3, 7, "end of the line"),
        ('  ! "', '! "', 4, 1, "expected a section"),
        ('  ! "', '\t! "', 4, 1, "expected a section"),
        ('  ! "', '  "', 4, 3, "a priority"),
        ('  ! "Redis', "  ! Redis", 4, 5, "a quoted text"),
        ('thread" ', "thread ", 4, 5, "does not end"),
        ("[0.95]", "[95%]", 4, 42, "number from 0.0 to 1.0"),
        ("[0.95]", "", 4, 40, r"expected ' \['"),
        ("[0.95]", "[0.95] ", 4, 47, "end of the line"),
        ("Redis", "Re\x00dis", 4, 8, r"U\+0000"),
        ("Redis", "Re\u2028dis", 4, 8, r"U\+2028"),
        ("Redis", "Re\ud800dis", 4, 8, r"U\+D800"),
        ("Redis", "Re\\ud800dis", 4, 5, "escape"),
        ("Redis", "Re\\dis", 4, 5, "escape"),
        ("  . ", "\n  . ", 6, 1, "right below its section"),
        (" -> ", " → ", 8, 3, "a cause, ' -> ' and an effect"),
        (" -> ", " -> x -> ", 8, 33, "'->' in a text"),
        ("  - how", "  - \thow", 10, 5, r"U\+0009"),
        ("  - how", "  -  how", 10, 5, "spaces around"),
        ("  - how", '  - "x" how', 10, 8, "end of the line"),
        ("@gaps", "@notes", 9, 1, "expected one of"),
        ("@gaps", "@facts", 9, 1, "a second @facts"),
        ("misdirection:low |", "misdirection:low|", 11, 23, "missing_context"),
        ("\n[/SKN]", "", 11, 48, "torn"),
        ("[/SKN]", "[/SKN]\n\n", 13, 1, "after"),
        ("[/SKN]", "[/SKN]\r", 12, 1, "a section"),
    ],
)
def test_grammar_errors_are_refused_with_their_position(
    old: str, new: str, line: int, column: int, message: str
) -> None:
    assert old in CANONICAL
    text = CANONICAL.replace(old, new, 1)
    problem = try_parse(text).problems[0]
    assert (problem.line, problem.column) == (line, column)
    assert re.search(message, problem.what)
    with pytest.raises(NotationError, match=rf"line {line}, column {column}") as caught:
        parse(text)
    assert caught.value.exit_code == 36


@pytest.mark.parametrize("order", ["@gaps @causal", "@risk @gaps", "@causal @facts"])
def test_section_order_is_fixed(order: str) -> None:
    first, second = order.split()
    blocks = re.split(r"\n(?=@|\[/)", CANONICAL)
    names = [block.split()[0].split("\n")[0] for block in blocks]
    second_index, first_index = names.index(second), names.index(first)
    blocks[second_index], blocks[first_index] = blocks[first_index], blocks[second_index]
    problems = try_parse("\n".join(blocks)).problems
    assert any(f"{second} must stand before" in problem.what for problem in problems)


def test_number_of_reported_problems_is_limited() -> None:
    faulty = CANONICAL.replace("[0.95]", "[2]").replace("[0.6]", "[x]").replace("- how", "how")
    assert [problem.line for problem in try_parse(faulty).problems] == [4, 6, 10]
    noisy = CANONICAL.replace("@causal", "x\n" * 5000 + "@causal")
    problems = try_parse(noisy).problems
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1].what == f"and {5000 - MAX_PROBLEMS} more problems"


def test_too_long_text_is_not_read_or_written() -> None:
    long_text = "x" * (lexical.MAX_CHARACTERS + 1)
    for strict in (True, False):
        assert try_parse(long_text, strict=strict).document is None
        assert "not read" in try_parse(long_text, strict=strict).problems[0].what
    with pytest.raises(NotationError, match="too many to be parsed again"):
        serialize(make_document(gaps=(long_text,)))


def test_sections_can_be_removed() -> None:
    assert drop_sections(REDIS) == REDIS
    reduced = drop_sections(REDIS, "causal", "gaps", "risk")
    assert reduced == Document(REDIS.source, REDIS.facts)
    assert "@gaps" not in serialize(drop_sections(REDIS, "gaps"))
    assert "@causal" in serialize(drop_sections(REDIS, "gaps"))
    assert drop_sections(make_document(gaps=()), "gaps") == make_document()


@pytest.mark.parametrize(
    "make_invalid",
    [
        lambda: Source(" ", "low", 0.5),
        lambda: Source("web", "none", 0.5),  # type: ignore[arg-type]
        lambda: Source("web", "low", 1.01),
        lambda: Fact("!", "x", float("nan")),
        lambda: Fact("!", "x", float("inf")),
        lambda: Fact("!", "x", True),
        lambda: Fact("!", "x", "1"),  # type: ignore[arg-type]
        lambda: Fact("?", "x", 0.5),  # type: ignore[arg-type]
        lambda: Fact("!", "\ud800", 0.5),
        lambda: CausalLink("a", "\u2003", 0.5),
        lambda: make_document(gaps=("",)),
        lambda: Risk("low", "HIGH"),  # type: ignore[arg-type]
    ],
)
def test_values_that_cannot_be_written_are_refused(make_invalid: object) -> None:
    with pytest.raises(ValueError, match=r"must be|half a character"):
        make_invalid()  # type: ignore[operator]
