"""What the rules find in a text: statements, and what makes them matter, unsure or disputed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.skn.rules.analysis import DISPUTED, HEDGED, PLAIN, analyse
from eval.skn.rules.causes import Cause, cause_in
from eval.skn.rules.statements import MAX_STATEMENTS, asking, names_written, statements, titles
from kg.text.normaliser import words

RESULTS = """\
[Result 1]
Title: Why is the cache slow? - Forum
URL: https://example.org/a?b=1.2
Content: Autovacuum, e.g. on big tables, falls behind. It needs Node.js v1.2 by default! "Quoted." \
So it may fail... J. Smith said no; then he left. Is it so? Yes.

[Result 2]
Title: Redis
URL: https://example.org/c
Content: Redis 7 is fast. Redis 7 is FAST!
"""


# --- statements -----------------------------------------------------------------------------


def test_statements_are_sentences_without_frames_and_questions() -> None:
    assert statements(RESULTS) == [
        "Autovacuum, e.g. on big tables, falls behind.",
        "It needs Node.js v1.2 by default!",
        '"Quoted."',
        "So it may fail...",
        "J. Smith said no; then he left.",
        "Yes.",
        "Redis 7 is fast.",
    ]
    assert titles(RESULTS) == ["Why is the cache slow? - Forum", "Redis"]


def test_a_text_that_is_no_search_result_has_no_frame() -> None:
    text = "Title: the king of Acme.\nURL: an address."
    assert statements(text) == text.splitlines()
    assert titles(text) == []


def test_only_so_many_statements_are_given() -> None:
    assert len(statements("\n".join(f"Number {n} is odd." for n in range(3 * MAX_STATEMENTS)))) == (
        MAX_STATEMENTS
    )


@given(st.text(alphabet="aB1 .…;?!\"'\n(", max_size=80))
@settings(deadline=None)
def test_statements_hold_the_text_in_order_and_nothing_else(text: str) -> None:
    every = words(text)
    for statement in statements(text):
        assert "\n" not in statement
        assert not statement.endswith("?")
        run = words(statement)
        assert any(every[at : at + len(run)] == run for at in range(len(every)))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Why does PostgreSQL 15 slow down?", ["PostgreSQL 15"]),
        ("PostgreSQL slows down.", ["PostgreSQL"]),
        ("Caches slow down on the Acme Zephyr.", ["Acme Zephyr"]),
        ("Is Acme down? Is Acme up?", ["Acme"]),
        ("12 pods of it", ["12"]),
        ("why is it so?", []),
        ("", []),
    ],
)
def test_names_are_words_with_a_capital_or_digit_but_not_for_starting(
    text: str, names: list[str]
) -> None:
    assert names_written(text) == names


def test_only_the_sentences_with_a_question_mark_ask() -> None:
    assert asking("Acme runs Redis. It leaks. Why? And since when?") == "Why? And since when?"
    assert asking("Tell me about Redis.") == "Tell me about Redis."


# --- analysis -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("Long transactions cause table bloat.", Cause("Long transactions", "table bloat")),
        ("A full disk may lead to a crash.", Cause("A full disk", "a crash")),
        ("The crash was caused by a full disk.", Cause("a full disk", "The crash")),
        ("It fails because of the lock.", Cause("the lock", "It fails")),
        ("Because of the lock, it fails.", Cause("the lock", "it fails")),
        ("A full disk does not cause a crash.", None),
        ("It fails because.", None),
        ("The Main flows into the Rhine.", None),
        ("Rain leads to " + "very " * 30 + "much water.", None),
    ],
)
def test_causes_are_read_from_plain_words(sentence: str, found: Cause | None) -> None:
    assert cause_in(sentence) == found


def test_hedged_and_disputed_statements_are_less_sure() -> None:
    found = analyse("The gate is open. The gate is not open. It may rain. Ice is cold.", "")
    sure = {one.text: one.confidence for one in found.statements}
    assert sure == {
        "The gate is open.": DISPUTED,
        "The gate is not open.": DISPUTED,
        "It may rain.": HEDGED,
        "Ice is cold.": PLAIN,
    }
    assert found.reliability == 0.25
    assert found.misdirection == "high"


def test_gaps_are_what_the_question_asks_about_and_nothing_names() -> None:
    text = "[Result 1]\nTitle: Redis\nURL: u\nContent: The cache is fast.\n"
    asked = "Acme runs Redis. Is the Zephyr cache of Redis 7 fast?"
    assert analyse(text, asked).gaps == ("Zephyr", "Redis 7")
    assert analyse(text, "").gaps == ()


def test_risk_is_read_from_the_statements() -> None:
    asked = "Does the Main flow into the Rhine?"
    assert analyse("The Main flows into the Rhine.", asked).misdirection == "low"
    assert analyse("The Main does not flow into the Rhine.", asked).misdirection == "medium"
    both = "The Main flows into the Rhine. The Main does not flow into the Rhine."
    assert analyse(both, asked).misdirection == "high"
    apart = "The Main flows into the Rhine. Ice is cold. Ice is never cold."
    assert analyse(apart, asked).misdirection == "medium"
    assert analyse("The Main flows into the Rhine.", asked).missing_context == "low"
    assert analyse("Ice is cold.", asked).missing_context == "high"
