"""Tests that replies as models write them are parsed, and that any loss is reported."""

from __future__ import annotations

import pytest
from skn_documents import REDIS

from eval.skn.grammar.document import CausalLink, Document, Fact, Risk, Source
from eval.skn.notation import parse, serialize, try_parse
from kg.base.errors import NotationError

REPLY = """\
Sure! Here is the extraction:

```skn
[SKN]
@src web search | fresh: High | reliability: 80%

@Facts:
! "Redis is single-threaded" [0.9]
\t. KEYS scans all keys [85%]
- ~ “SCAN would not block” (confidence: 0.4)
  ! "He said "slow" to us" [.7]
  . "a text that goes
     on" [0.5]

**@gaps**
* the version

@causal
  KEYS → latency [0.8]
  - "many keys" => slow KEYS (9/10)
@risk
  missing context: medium
  misdirection = LOW
[/SKN]
```

Let me know if you need more."""


def make_reply_with_facts(*lines: str, after: str = "") -> str:
    body = "\n".join(lines)
    return f"[SKN]\n@src web | fresh:low | reliability:0.5\n@facts\n{body}\n{after}[/SKN]"


def test_many_deviations_are_parsed_without_loss() -> None:
    parsed = try_parse(REPLY, strict=False)
    assert parsed.document == Document(
        Source("web search", "high", 0.8),
        (
            Fact("!", "Redis is single-threaded", 0.9),
            Fact(".", "KEYS scans all keys", 0.85),
            Fact("~", "SCAN would not block", 0.4),
            Fact("!", 'He said "slow" to us', 0.7),
            Fact(".", "a text that goes on", 0.5),
        ),
        (CausalLink("KEYS", "latency", 0.8), CausalLink("many keys", "slow KEYS", 0.9)),
        ("the version",),
        Risk("low", "medium"),
    )
    assert parsed.lossless
    assert parsed.loss is None
    # These are all the lines of ``REPLY`` that deviate from the grammar.
    lines = [1, 5, 7, 8, 9, 10, 11, 12, 15, 16, 18, 19, 20, 21, 22, 23, 25]
    assert sorted({problem.line for problem in parsed.problems}) == lines
    assert parse(REPLY, strict=False) == parsed.document
    with pytest.raises(NotationError):
        parse(REPLY)


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ('  ! "x" [90%]', Fact("!", "x", 0.9)),
        ('  ! "x" [29 %]', Fact("!", "x", 0.29)),
        ('  ! "x" [0,9]', Fact("!", "x", 0.9)),
        ('  ! "x" [<0.9>]', Fact("!", "x", 0.9)),
        ('  ! "x" [confidence 0.9]', Fact("!", "x", 0.9)),
        ('  ! "x" [Conf: .9]', Fact("!", "x", 0.9)),
        ('  ! "x" [7/10]', Fact("!", "x", 0.7)),
        ('  ! "x" 0.9', Fact("!", "x", 0.9)),
        ('  ! "x" - 0.9', Fact("!", "x", 0.9)),
        ('  ! "x" | confidence: 0.9', Fact("!", "x", 0.9)),
        ('  ! "x" (0.9)', Fact("!", "x", 0.9)),
        ('  ! "x" [0.9].', Fact("!", "x", 0.9)),
        ('!"x" [0.9]', Fact("!", "x", 0.9)),
        ('* ! "x" [0.9]', Fact("!", "x", 0.9)),
        ('2. ! "x" [0.9]', Fact("!", "x", 0.9)),
        ("  ! 'x' [0.9]", Fact("!", "x", 0.9)),
        ("  ! it's x [0.9]", Fact("!", "it's x", 0.9)),
        ("  ! costs rose (50%) [0.9]", Fact("!", "costs rose (50%)", 0.9)),
        ("  ! x [1] and y [0.9]", Fact("!", "x [1] and y", 0.9)),
        ('  ! "x" (source A) [0.9]', Fact("!", '"x" (source A)', 0.9)),
        ('  ! "a "b" c" [0.9]', Fact("!", 'a "b" c', 0.9)),
        ('  ! "a" and "b" [0.9]', Fact("!", '"a" and "b"', 0.9)),
        ('  ! "tab\there" [0.9]', Fact("!", "tab\there", 0.9)),
        ("  ！ x [0.9]", Fact("!", "x", 0.9)),
    ],
)
def test_facts_in_other_spellings_are_lossless(line: str, fact: Fact) -> None:
    parsed = try_parse(make_reply_with_facts(line), strict=False)
    assert parsed.document is not None
    assert parsed.document.facts == (fact,)
    assert parsed.lossless, parsed.problems
    assert parsed.problems


@pytest.mark.parametrize(
    ("line", "fact", "loss"),
    [
        ('  ! "x"', Fact("!", "x", 0.5), "no score"),
        ('  ! "x" [n/a]', Fact("!", '"x" [n/a]', 0.5), "no score"),
        ('  ! "x" [nan]', Fact("!", '"x" [nan]', 0.5), "no score"),
        ('  ! "x" [-0.5]', Fact("!", '"x" [-0.5]', 0.5), "no score"),
        ('  ! "x" [1.5]', Fact("!", '"x" [1.5]', 0.5), "no score"),
        (f'  ! "x" [{"9" * 5000}]', None, "no score"),
        ("  ! costs rose by 0.9", Fact("!", "costs rose by 0.9", 0.5), "no score"),
        ('  ! "x" [90]', Fact("!", "x", 0.9), "means is a guess"),
        ('  ! "x" [high]', Fact("!", "x", 0.9), "means is a guess"),
        ('  ! "x" [0.9] (from A)', Fact("!", "x", 0.9), "beside the score"),
        ('  "x" [0.9]', Fact(".", "x", 0.9), "no priority"),
        ('  - "x" [0.9]', Fact(".", "x", 0.9), "no priority"),
        ('  ! "x [0.9]', Fact("!", "x", 0.9), "does not end"),
        ('  ! "C:\\dir" [0.9]', Fact("!", "C:\\dir", 0.9), "escape"),
        ('  ! "a\\nb "c" d" [0.9]', Fact("!", 'a\nb "c" d', 0.9), "a guess"),
        ("  ! [0.9]", None, "without words"),
        ("  and so on", None, "no fact"),
        ('  ! "\ud800" [0.9]', Fact("!", "\ufffd", 0.9), "half a character"),
    ],
)
def test_facts_that_need_guessing_are_lossy(line: str, fact: Fact | None, loss: str) -> None:
    parsed = try_parse(make_reply_with_facts('  ! "known" [1.0]', line), strict=False)
    assert parsed.document is not None
    assert parsed.document.facts[0] == Fact("!", "known", 1.0)
    if fact is not None:
        assert parsed.document.facts[1:] == (fact,)
    assert not parsed.lossless
    assert parsed.loss is not None
    assert loss in parsed.loss.what
    assert parsed.loss.line == 5


@pytest.mark.parametrize(
    ("line", "links", "lossless"),
    [
        ("a → b [0.5]", [("a", "b", 0.5)], True),
        ("  - a --> b (0.5)", [("a", "b", 0.5)], True),
        ('  "a -> b" => "c" [strength: 50%]', [("a -> b", "c", 0.5)], True),
        ('  5" disk → 3" disk [0.50]', [('5" disk', '3" disk', 0.5)], True),
        ("  a->b [0.5]", [("a", "b", 0.5)], True),
        ("  std::a->b -> c [0.5]", [("std::a->b", "c", 0.5)], False),
        ("  a -> b", [("a", "b", 0.5)], False),
        ("  a -> b -> c [0.7]", [("a", "b", 0.7), ("b", "c", 0.7)], False),
        ("  a leads to b [0.7]", [], False),
        ("  -> b [0.7]", [], False),
    ],
)
def test_causal_links_are_parsed_tolerantly(
    line: str, links: list[tuple[str, str, float]], lossless: bool
) -> None:
    parsed = try_parse(make_reply_with_facts(after=f"@causal\n{line}\n"), strict=False)
    assert parsed.document is not None
    assert parsed.document.causal == tuple(CausalLink(*link) for link in links)
    assert parsed.lossless == lossless
    assert parsed.problems


@pytest.mark.parametrize(
    ("line", "gaps"),
    [
        ("the version", ("the version",)),
        ("  * the version", ("the version",)),
        ("  1. the version", ("the version",)),
        ('  - "a" and "b"', ('"a" and "b"',)),
        ("  • “the version”", ("the version",)),
        ("  - @mention of it\n- x", ("@mention of it", "x")),
    ],
)
def test_gaps_are_parsed_tolerantly(line: str, gaps: tuple[str, ...]) -> None:
    parsed = try_parse(make_reply_with_facts(after=f"@gaps\n{line}\n"), strict=False)
    assert parsed.document is not None
    assert parsed.document.gaps == gaps
    assert parsed.lossless


@pytest.mark.parametrize(
    ("line", "source", "lossless"),
    [
        ("@src web | reliability:0.8 | fresh:low", Source("web", "low", 0.8), True),
        ("@source: web, fresh=low, reliability=0.8", Source("web", "low", 0.8), True),
        ("@src <web> | freshness: LOW | reliability: .8", Source("web", "low", 0.8), True),
        ("@src domain: web | fresh:low | reliability:80%", Source("web", "low", 0.8), True),
        ("@src\n  web\n  fresh: low\n  reliability: 0.8", Source("web", "low", 0.8), True),
        (
            '@src "a | fresh:b" | fresh:low | reliability:.8',
            Source("a | fresh:b", "low", 0.8),
            True,
        ),
        ("@src web", Source("web", "medium", 0.5), False),
        ("@src | fresh:low | reliability:0.8", Source("unknown", "low", 0.8), False),
        ("@src web | fresh:stale | reliability:0.8", Source("web", "medium", 0.8), False),
        ("@src web | fresh:low (2019) | reliability:0.8", Source("web", "low", 0.8), False),
        ("@src web | fresh:low|medium|high | reliability:1.0", Source("web", "medium", 1), False),
        ("@src web | fresh:low | reliability:0.8 | lang:en", Source("web", "low", 0.8), False),
        ("@src web | fresh:low | reliability:good", Source("web", "low", 0.5), False),
        ("", Source("unknown", "medium", 0.5), False),
    ],
)
def test_sources_are_parsed_tolerantly(line: str, source: Source, lossless: bool) -> None:
    parsed = try_parse(f"[SKN]\n{line}\n@facts\n[/SKN]", strict=False)
    assert parsed.document == Document(source, ())
    assert parsed.lossless == lossless, parsed.problems
    assert parsed.problems


@pytest.mark.parametrize(
    ("line", "risk", "lossless"),
    [
        ("@risk misdirection: low, missing context: high", Risk("low", "high"), True),
        ("@risks: missing-context=HIGH | misdirection=low", Risk("low", "high"), True),
        ("Risk misdirection:low | missing_context:high", Risk("low", "high"), True),
        ("@risk misdirection:none | missing_context:high", Risk("medium", "high"), False),
        ("@risk misdirection:low", Risk("low", "medium"), False),
        ("@risk missing_context:very high | misdirection:low", Risk("low", "high"), False),
        ("@risk low | high", Risk("medium", "medium"), False),
    ],
)
def test_risks_are_parsed_tolerantly(line: str, risk: Risk, lossless: bool) -> None:
    parsed = try_parse(make_reply_with_facts(after=f"{line}\n"), strict=False)
    assert parsed.document is not None
    assert parsed.document.risk == risk
    assert parsed.lossless == lossless, parsed.problems


BLOCK = serialize(REDIS)


@pytest.mark.parametrize(
    ("text", "lossless"),
    [
        (BLOCK + "\n\n\n", True),
        (BLOCK.removeprefix("[SKN]\n"), True),
        (f"```\n{BLOCK.removeprefix('[SKN]').removesuffix('[/SKN]')}```\nDone.", True),
        (BLOCK.replace("\n", "\r"), True),
        (BLOCK.replace("[SKN]\n", "[SKN] "), True),
        (BLOCK.replace("\n[/SKN]", " [/SKN]"), True),
        (BLOCK.replace("@gaps", "## Gaps"), True),
        (f"I will write a [SKN] block.\n{BLOCK}", True),
        (f"{BLOCK}\n{BLOCK}", False),
        (f"[SKN]\n@src draft\n@facts\n\n{BLOCK}", False),
        (f"{BLOCK}\n@gaps\n  - another", False),
        (BLOCK.removesuffix("[/SKN]"), False),
        (BLOCK.replace("@risk", "@notes\n  - hm\n@risk"), False),
        (BLOCK.replace("@risk", "@risk misdirection:low | missing_context:medium\n@risk"), True),
        (BLOCK.replace("[/SKN]", "@risk misdirection:high | missing_context:low\n[/SKN]"), False),
    ],
)
def test_blocks_are_found(text: str, lossless: bool) -> None:
    parsed = try_parse(text, strict=False)
    assert parsed.document == REDIS
    assert parsed.lossless == lossless, parsed.problems
    assert parsed.problems


@pytest.mark.parametrize("line_count", range(1, len(BLOCK.split("\n")) - 1))
def test_truncated_block_is_never_complete(line_count: int) -> None:
    # The last line that is kept loses its last three characters.
    text = "\n".join(BLOCK.split("\n")[:line_count])[:-3]
    parsed = try_parse(text, strict=False)
    assert not parsed.lossless
    if parsed.document is not None:
        assert set(parsed.document.facts[:-1]) <= set(REDIS.facts)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot do that.",
        "[SKN]\n[/SKN]",
        "[SKN]\n@src a | fresh:low | reliability:1\n[/SKN]",
        "@notes\n - x",
        '{"facts": []}',
        "me@facts.org wrote",
    ],
)
def test_text_without_a_block_gives_no_document(text: str) -> None:
    parsed = try_parse(text, strict=False)
    assert parsed.document is None
    assert not parsed.lossless
    assert parsed.problems
