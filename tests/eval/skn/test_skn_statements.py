"""Tests how a text is split into statements, and which names it has."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.skn.retention.statements import (
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
