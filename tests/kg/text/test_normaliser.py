"""Words as retrieval sees them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.text.normaliser import content_words, stem, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The Rhine's 1,233 km", ["the", "rhine", "s", "1233", "km"]),
        ("4.5 is not 45", ["4.5", "is", "not", "45"]),
        ("Łódź Çoruh São_Tomé", ["łodz", "coruh", "sao", "tome"]),
        ("1,23 and 1,234,567", ["1,23", "and", "1234567"]),
        ("<b>{{x}}</b>", ["b", "x", "b"]),
        ("長江 flows", ["長江", "flows"]),
        ("", []),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    ("word", "cut"),
    [
        ("flows", "flow"),
        ("tributaries", "tributary"),
        ("traverses", "traverse"),
        ("thames", "thame"),
        ("mississippi", "mississippi"),
        ("columbus", "columbus"),
        ("ross", "ross"),
        ("has", "has"),
        ("sea", "sea"),
    ],
)
def test_stems(word: str, cut: str) -> None:
    assert stem(word) == cut


def test_content_words_keep_negations_and_drop_grammar() -> None:
    assert content_words("Does the Main not flow into the Rhine?") == [
        "main",
        "not",
        "flow",
        "rhine",
    ]


@given(st.text())
@settings(deadline=None, max_examples=200)
def test_any_text_gives_words_that_are_stable(text: str) -> None:
    found = words(text)
    assert words(" ".join(found)) == found
    assert all(word and not word.isspace() for word in found)
