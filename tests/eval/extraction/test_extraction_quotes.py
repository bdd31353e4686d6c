"""Tests that quotes are found in texts and compared with the quotes of the gold."""

from __future__ import annotations

from typing import Any

import pytest

from eval.extraction.row_builder import build_row
from eval.extraction.samples.sample import Sample
from eval.extraction.settings import DEFAULT_MATCHING
from eval.extraction.verdicts.quotes import Grounding, check_quotes, iter_value_quotes
from eval.harness.reply import Reply

TEXT = "On 5 May, Ms  Ada\nLovelace paid “80 euros” – in cash."


@pytest.mark.parametrize(
    ("quote", "is_found"),
    [
        ("Ms Ada Lovelace", True),
        ('"80 euros" - in cash', True),
        ("ＭＳ ADA lovelace", True),
        ("… Ada Lovelace paid …", True),
        ("“Ms Ada”", True),
        ("Ms Ada paid", False),
        ("90 euros", False),
        ("Ada Lovelace was a mathematician", False),
    ],
)
def test_a_quote_is_found_apart_from_white_space_and_unicode(quote: str, is_found: bool) -> None:
    assert check_quotes(TEXT, [], [("", quote)]) == Grounding(quotes=1, found=int(is_found))


@pytest.mark.parametrize(
    ("quotes", "covered"),
    [
        ([("name", "Ms Ada Lovelace")], 1),
        ([("name", "On 5 May, Ms Ada Lovelace paid")], 1),
        ([("", "Ms Ada Lovelace")], 1),
        ([("paid", "Ms Ada Lovelace")], 0),
        ([("name", "Lovelace")], 0),
        ([("items[3].price", "80 euros")], 1),
        ([("/items/0/price", "80 euros"), ("name", "Countess of L.")], 2),
        ([], 0),
    ],
)
def test_a_gold_quote_is_covered_by_a_quote_of_its_field_that_contains_it(
    quotes: list[tuple[str, str]], covered: int
) -> None:
    gold = [
        ("name", "Ms Ada Lovelace"),
        ("name", "Countess of L"),
        ("items[0].price", "80 euros"),
    ]
    grounding = check_quotes(TEXT, gold, quotes)
    assert grounding is not None
    assert (grounding.gold, grounding.covered) == (2, covered)


def test_without_a_text_only_recall_is_known() -> None:
    assert check_quotes("", [("a", "x")], [("a", "x y")]) == Grounding(0, 0, 1, 1)
    assert check_quotes(TEXT, [], []) is None


@pytest.mark.parametrize(
    ("value", "quotes"),
    [
        ({"name": {"value": "Ada", "quote": "Ms Ada"}}, [("name", "Ms Ada")]),
        ({"name": "Ada", "name_evidence": "Ms Ada"}, [("name", "Ms Ada")]),
        ({"nameSourceText": ["a", {"text": "b"}]}, [("name", "a"), ("name", "b")]),
        ({"items": [{"price": 1, "citations": ["x"]}]}, [("items", "x")]),
        ({"evidence": ["Ms Ada", 7, None, ""]}, [("", "Ms Ada")]),
        ({"quote_number": "Q-1", "requote": "x", "misquote": "y"}, []),
        ([1, "quote", None], []),
    ],
)
def test_quotes_in_an_extraction_are_known_by_the_names_of_fields(
    value: Any, quotes: list[tuple[str, str]]
) -> None:
    assert list(iter_value_quotes(value)) == quotes


def test_deeply_nested_values_are_searched_without_recursion() -> None:
    value: Any = {"quote": "x"}
    for _ in range(5_000):
        value = {"a": value}
    assert list(iter_value_quotes(value)) == []


def test_rows_count_quotes_beside_and_inside_the_extraction() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    sample = Sample(
        id="1",
        text=TEXT,
        schema=schema,
        expected={"name": "Ada"},
        meta={"quotes": [["name", "Ms Ada"], "nonsense", ["a"]]},
    )
    reply = Reply(
        id="1",
        value={"name": "Ada", "name_quote": "Mr Ada"},
        parts={"quotes": [["name", "Ms Ada Lovelace"]]},
    )
    row = build_row(sample, reply, DEFAULT_MATCHING)
    assert row.grounding == Grounding(quotes=2, found=1, gold=1, covered=1)
    assert build_row(sample, Reply(id="1", status="error"), DEFAULT_MATCHING).grounding is None
