"""Fuzz tests of the notation with random documents, random texts and damaged documents."""

from __future__ import annotations

import json
import re

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from skn_documents import HOSTILE_PIECES, REDIS, documents, mutated_text, plain_documents

from eval.skn.grammar.document import SECTIONS, Document, drop_sections
from eval.skn.grammar.lexical import MAX_CHARACTERS
from eval.skn.grammar.parse_result import MAX_PROBLEMS, ParseResult
from eval.skn.grammar.typed_json import from_json, read_json, to_json
from eval.skn.notation import parse, serialize, try_parse
from kg.base.files import to_json_bytes
from kg.base.plain_text import escape_json_for_terminal

# The grammar of docs/reference/skn-notation.md as one regular expression, independent of the
# parser.
FORBIDDEN = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
NEWLINE = r"\r?\n"
HEX = "[0-9a-fA-F]"
ESCAPE = (
    rf'\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F]){HEX}{{4}}'
    rf"|u[dD][89abAB]{HEX}{{2}}\\u[dD][c-fC-F]{HEX}{{2}})"
)
SPACE = (
    r"(?:\s|\\(?:[fnrt]|u(?:00(?:09|0[a-dA-D]|1[c-fC-F]|20|85|[aA]0)|1680"
    r"|20(?:0[0-9aA]|2[89fF]|5[fF])|3000)))"
)
STRING = rf'"(?!{SPACE}*")(?:[^"\\{FORBIDDEN}]|{ESCAPE})+"'
SCORE = r"(?:0(?:\.[0-9]{1,400})?|1(?:\.0{1,400})?)"
LEVEL = "(?:high|medium|low)"


def build_unquoted_pattern(excluded: str) -> str:
    """Returns a pattern for unquoted text without ``excluded`` and without surrounding space."""
    allowed = rf"(?!{excluded})[^{FORBIDDEN}]"
    return rf'(?![" ])(?=(?:{allowed})*?(?!{excluded})\S)(?:{allowed})+(?<! )'


SOURCE = (
    rf"@src (?:{STRING}|{build_unquoted_pattern('[|]')})"
    rf" \| fresh:{LEVEL} \| reliability:{SCORE}{NEWLINE}"
)
FACTS = rf"@facts{NEWLINE}(?:  [!.~] {STRING} \[{SCORE}\]{NEWLINE})*"
TERM = rf"(?:{STRING}|{build_unquoted_pattern('->')})"
CAUSAL = (
    rf"@causal{NEWLINE}(?:  {TERM} -> (?!\s+ \[{SCORE}\]{NEWLINE}){TERM} \[{SCORE}\]{NEWLINE})*"
)
GAPS = rf"@gaps{NEWLINE}(?:  - (?:{STRING}|{build_unquoted_pattern('$^')}){NEWLINE})*"
RISK = rf"@risk misdirection:{LEVEL} \| missing_context:{LEVEL}{NEWLINE}"
BLANK = f"(?:{NEWLINE})*"
GRAMMAR = re.compile(
    rf"\[SKN\]{NEWLINE}{SOURCE}{BLANK}{FACTS}{BLANK}(?:{CAUSAL}{BLANK})?(?:{GAPS}{BLANK})?(?:{RISK}{BLANK})?"
    rf"\[/SKN\](?:{NEWLINE})?"
)


def check_parse(text: str, parsed: ParseResult, *, strict: bool) -> None:
    """Checks conditions that hold for the parse result of any text."""
    document, problems, lossless, loss = parsed
    assert (document is None) <= bool(problems)
    assert lossless <= (document is not None and loss is None)
    assert strict or lossless == (document is not None and loss is None)
    assert loss is None or loss in problems or len(problems) > MAX_PROBLEMS
    assert list(problems) == sorted(problems, key=lambda problem: problem[:2])
    lines = text.split("\n" if strict or "\n" in text else "\r")
    for line, column, what in problems:
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1
        assert what
    if strict:
        assert (document is not None) == (not problems) == lossless
    if document is not None:
        assert parse(serialize(document)) == document
        assert from_json(to_json(document)) == document


@given(documents)
@settings(max_examples=100)
def test_every_document_survives_a_text_round_trip(document: Document) -> None:
    text = serialize(document)
    assert try_parse(text) == (document, (), True, None)
    assert try_parse(text, strict=False) == try_parse(text)
    assert serialize(parse(text)) == text
    assert escape_json_for_terminal(text) == text
    assert text.encode("utf-8").decode("utf-8").splitlines() == text.split("\n")


@given(documents)
@settings(max_examples=100)
def test_every_document_survives_a_json_round_trip(document: Document) -> None:
    assert from_json(to_json(document)) == document
    for raw in (to_json_bytes(document), to_json_bytes(document, indent=2)):
        reread = read_json(raw.decode()).document
        assert reread == document
        assert reread is not None
        assert serialize(reread) == serialize(document)
    assert from_json(json.loads(json.dumps(to_json(document)))) == document


@given(documents, st.lists(st.sampled_from(SECTIONS)))
@settings(max_examples=50)
def test_removing_sections_keeps_the_others(document: Document, sections: list) -> None:
    reduced = drop_sections(document, *sections)
    assert parse(serialize(reduced)) == reduced
    for name in (*SECTIONS, "source", "facts"):
        expected = None if name in sections else getattr(document, name)
        assert getattr(reduced, name) == expected


@given(st.one_of(st.text(), st.lists(st.sampled_from(HOSTILE_PIECES)).map("".join)), st.booleans())
@settings(max_examples=100)
@example("", True)
@example("[SKN]", False)
@example("[SKN]\n[/SKN]", False)
@example("@facts", False)
@example("[/SKN]", False)
@example("@facts ! x", False)
@example("\ud800", False)
@example("@src\r@facts\r! a [1]", False)
def test_any_text_is_read_or_refused_consistently(text: str, strict: bool) -> None:
    check_parse(text, try_parse(text, strict=strict), strict=strict)


@given(st.data(), st.one_of(documents, st.just(REDIS)))
@settings(max_examples=150)
def test_damaged_documents_are_handled(data: st.DataObject, document: Document) -> None:
    text = data.draw(mutated_text(serialize(document)))
    strict_result = try_parse(text)
    tolerant_result = try_parse(text, strict=False)
    check_parse(text, strict_result, strict=True)
    check_parse(text, tolerant_result, strict=False)
    if strict_result.document is not None:
        assert tolerant_result == strict_result
    else:
        assert tolerant_result.problems
    assert (strict_result.document is not None) == (GRAMMAR.fullmatch(text) is not None)


# Where a block starts if its [SKN] line is missing. Words before it are prose and may be lost.
FIRST_SECTION = re.compile(
    r"^[\s*#>`_]*(?:\\?\[\W*)?@\s?(?:src|source|facts?|caus|gaps?|risk)", re.MULTILINE
)


@given(plain_documents.map(serialize).flatmap(mutated_text))
@settings(max_examples=150)
@example("[@srcSKN]\n@src bb | fresh:high | reliability:0.5\n@facts\n[/SKN]")
@example("[@src aa | fresh:high\n@src bb | fresh:high | reliability:0.5\n@facts\n[/SKN]")
@example("[@notesSKN]\n@src bb | fresh:high | reliability:0.5\n@facts\n[/SKN]")
def test_lost_words_are_reported(text: str) -> None:
    tolerant_result = try_parse(text, strict=False)
    assume(tolerant_result.lossless and tolerant_result.document is not None)
    assert tolerant_result.document is not None
    kept_text = str(to_json(tolerant_result.document)).casefold()
    parts = re.split(r"\[/?skn\]", text, flags=re.IGNORECASE)
    block = max(parts, key=lambda part: part.count("@")).casefold()
    if "[skn]" not in text.casefold():
        start = FIRST_SECTION.search(block)
        assert start is not None
        block = block[start.start() :]
    structure = (
        "src fresh reliability facts fact causal gaps risk misdirection missing context "
        "missing_context skn high medium low"
    )
    input_words = set(re.findall(r"[a-z_]{2,}", re.sub(r"\\u[0-9a-f]{4}", " ", block)))
    missing = {word for word in input_words - set(structure.split()) if word not in kept_text}
    assert not missing


LAYOUTS = (
    *("reverse", "tabs", "flat", "blank", "crlf", "arrow", "percent", "case", "colon", "bullets"),
    *("curly", "marker", "prose", "fence", "bom"),
)
"""Layouts in an order in which any of them can be applied one after another."""


def change_layout(text: str, layout: str) -> str:
    """Returns ``text`` in another layout, as models write it."""
    lines = text.split("\n")
    match layout:
        case "fence":
            return f"```skn\n{text}\n```\n"
        case "prose":
            return f"Here is the extraction:\n\n{text}\n\nI hope that this helps."
        case "tabs":
            return re.sub(r"^  ", "\t", text, flags=re.MULTILINE)
        case "flat":
            return re.sub(r"^  ", "", text, flags=re.MULTILINE)
        case "blank":
            return "\n\n".join(lines)
        case "crlf":
            return "\r\n".join(lines)
        case "bom":
            return "\ufeff" + text
        case "arrow":
            return text.replace(" -> ", " → ")
        case "percent":
            return re.sub(r"\[0\.(\d\d)\]", r"[\1%]", text)
        case "case":
            return re.sub(r"fresh:(\w+)", lambda match: f"fresh:{match[1].upper()}", text)
        case "colon":
            return re.sub(r"^@(facts|causal|gaps)", r"@\1:", text, flags=re.MULTILINE)
        case "reverse":
            source_block, remainder = text.split("\n@facts", 1)
            body = f"@facts{remainder}".removesuffix("\n[/SKN]")
            sections = re.split(r"\n(?=@)", body)
            return "\n".join([source_block, *reversed(sections), "[/SKN]"])
        case "bullets":
            return re.sub(r"^  (?=[!.~] )", "  - ", text, flags=re.MULTILINE)
        case "curly":
            return re.sub(r'"([^"\n]*)"', r"“\1”", text)
    return text.replace("[SKN]", "**[SKN]**").replace("[/SKN]", "**[/SKN]**")


@given(plain_documents, st.sets(st.sampled_from(LAYOUTS), min_size=1))
@settings(max_examples=100)
def test_other_layouts_lose_nothing(document: Document, layouts: set[str]) -> None:
    text = serialize(document)
    for layout in LAYOUTS:
        text = change_layout(text, layout) if layout in layouts else text
    tolerant_result = try_parse(text, strict=False)
    assert tolerant_result.document == document, text
    assert tolerant_result.lossless, tolerant_result.problems
    if try_parse(text).document is None:
        assert tolerant_result.problems


@given(st.one_of(st.text(), st.just(to_json_bytes(REDIS).decode()).flatmap(mutated_text)))
@settings(max_examples=100)
@example("[" * 100_000)
@example('{"a":' * 100_000)
@example('{"source":{"domain":"a","fresh":"low","reliability":1e999},"facts":[]}')
@example('{"source":{"domain":"a","fresh":"low","reliability":NaN},"facts":[]}')
@example('{"source":{"domain":"\\ud800","fresh":"low","reliability":1},"facts":[]}')
@example('{"facts":[],"facts":[]}')
@example("9" * 5000)
def test_any_text_is_valid_json_or_refused(text: str) -> None:
    parsed = read_json(text)
    assert (parsed.document is None) == bool(parsed.problems)
    assert (parsed.document is None) == (not parsed.lossless)
    if parsed.document is not None:
        assert len(text) <= MAX_CHARACTERS
        assert parse(serialize(parsed.document)) == parsed.document
