"""Tests the rule-based text analysis: statements, names, causes, confidence, gaps and risk."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.skn.rules.analysis import (
    DISPUTED_CONFIDENCE,
    HEDGED_CONFIDENCE,
    PLAIN_CONFIDENCE,
    analyse_text,
)
from eval.skn.rules.causes import Cause, find_cause
from eval.skn.rules.statements import (
    MAX_STATEMENTS,
    find_titles,
    find_written_names,
    select_asking_sentences,
    split_statements,
)
from kg.words.normaliser import split_words

SEARCH_RESULTS = """\
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


def test_statements_exclude_result_headers_and_questions() -> None:
    assert split_statements(SEARCH_RESULTS) == [
        "Autovacuum, e.g. on big tables, falls behind.",
        "It needs Node.js v1.2 by default!",
        '"Quoted."',
        "So it may fail...",
        "J. Smith said no; then he left.",
        "Yes.",
        "Redis 7 is fast.",
    ]
    assert find_titles(SEARCH_RESULTS) == ["Why is the cache slow? - Forum", "Redis"]


def test_title_lines_outside_search_results_are_statements() -> None:
    text = "Title: the king of Acme.\nURL: an address."
    assert split_statements(text) == text.splitlines()
    assert find_titles(text) == []


def test_number_of_statements_is_limited() -> None:
    text = "\n".join(f"Number {n} is odd." for n in range(3 * MAX_STATEMENTS))
    assert len(split_statements(text)) == MAX_STATEMENTS


@given(st.text(alphabet="aB1 .…;?!\"'\n(", max_size=80))
@settings(deadline=None)
def test_statements_contain_only_the_text_in_order(text: str) -> None:
    text_words = split_words(text)
    for statement in split_statements(text):
        assert "\n" not in statement
        assert not statement.endswith("?")
        statement_words = split_words(statement)
        assert any(
            text_words[start : start + len(statement_words)] == statement_words
            for start in range(len(text_words))
        )


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
def test_names_have_a_capital_or_digit_within_the_sentence(text: str, names: list[str]) -> None:
    assert find_written_names(text) == names


def test_question_is_the_sentences_with_a_question_mark() -> None:
    assert (
        select_asking_sentences("Acme runs Redis. It leaks. Why? And since when?")
        == "Why? And since when?"
    )
    assert select_asking_sentences("Tell me about Redis.") == "Tell me about Redis."


# --- analysis -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "expected"),
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
def test_causes_are_read_from_plain_words(sentence: str, expected: Cause | None) -> None:
    assert find_cause(sentence) == expected


def test_hedged_and_disputed_statements_have_less_confidence() -> None:
    analysis = analyse_text("The gate is open. The gate is not open. It may rain. Ice is cold.", "")
    confidences = {statement.text: statement.confidence for statement in analysis.statements}
    assert confidences == {
        "The gate is open.": DISPUTED_CONFIDENCE,
        "The gate is not open.": DISPUTED_CONFIDENCE,
        "It may rain.": HEDGED_CONFIDENCE,
        "Ice is cold.": PLAIN_CONFIDENCE,
    }
    assert analysis.reliability == 0.25, "one of four statements is neither hedged nor disputed"
    assert analysis.misdirection == "high"


def test_gaps_are_question_names_missing_from_the_text() -> None:
    text = "[Result 1]\nTitle: Redis\nURL: u\nContent: The cache is fast.\n"
    question = "Acme runs Redis. Is the Zephyr cache of Redis 7 fast?"
    assert analyse_text(text, question).gaps == ("Zephyr", "Redis 7")
    assert analyse_text(text, "").gaps == ()


def test_risk_is_derived_from_the_statements() -> None:
    question = "Does the Main flow into the Rhine?"
    assert analyse_text("The Main flows into the Rhine.", question).misdirection == "low"
    assert analyse_text("The Main does not flow into the Rhine.", question).misdirection == "medium"
    contradiction = "The Main flows into the Rhine. The Main does not flow into the Rhine."
    assert analyse_text(contradiction, question).misdirection == "high"
    other_contradiction = "The Main flows into the Rhine. Ice is cold. Ice is never cold."
    assert analyse_text(other_contradiction, question).misdirection == "medium"
    assert analyse_text("The Main flows into the Rhine.", question).missing_context == "low"
    assert analyse_text("Ice is cold.", question).missing_context == "high"
