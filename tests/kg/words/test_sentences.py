"""Tests that texts are split into sentences: prose, lists, tables, wrapped lines, other scripts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.words.sentences import split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ("It ended in 1999.", "Then Mr. Poe left."),
        (
            "He met Dr. No in St. Louis.",
            '"Why?" she asked.',
            "In 1999 it ended!",
            "J. S. Bach won.",
        ),
        ("She lives in the UK.", "Karl does not."),
        ("He wrote it (in 1999).", "“It works.”", "So he said…", "Nobody knew."),
        ("Use a tree, e.g. B-trees.", "See Fig. 3 of the U.S. Army.", "No. 5 is alive."),
        ("She lived in the U.S.", "In 1900 she left it for Room C.", "He died with H. T. Kung."),
        ("Type SELECT … FOR UPDATE.", "Give it a, b ... Z."),
        ("Er kam am 5. Mai 1900 an.", "Sie blieb."),
        ("Анна родилась в Москве.", "Карл родился в Париже."),
        ("安娜生于柏林。", "卡尔生于巴黎。", "他们结婚了！"),
        ("अन्ना का जन्म बर्लिन में हुआ।", "कार्ल पेरिस में रहता है।"),
    ],
)
def test_prose_is_split_at_its_stops(sentences: tuple[str, ...]) -> None:
    separator = "" if "。" in sentences[0] else " "
    assert [part.strip() for part in split_sentences(separator.join(sentences))] == [*sentences]


@pytest.mark.parametrize(
    "lines",
    [
        ("- Oslo: Norway", "- Bern: Switzerland"),
        ("Town | Country", "Oslo | Norway", "Bern | Switzerland"),
        ("1. Open the file", "2. Read it", "10. Close it."),
        ("Capitals", "", "Oslo is the capital of Norway", "", "Bern is that of Switzerland"),
        ("The columns of this table of capitals are:", "town", "country"),
        ("* It has wings, feathers and so on, etc.", "* it flies"),
    ],
)
def test_lines_of_lists_and_tables_are_apart(lines: tuple[str, ...]) -> None:
    text = "\n".join(lines)
    assert [part.strip() for part in split_sentences(text)] == [line for line in lines if line]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Anna Berg was born in a small house by the river and later", "moved to Berlin."),
        ("Anna Berg was born in a small house by the river and moved to", "Berlin in 1900."),
        (
            "Anna Berg was born in a small house by the river, in 1900,",
            "Karl Wolf ten years later.",
        ),
    ],
)
def test_wrapped_lines_are_one_sentence(first: str, second: str) -> None:
    assert split_sentences(f"{first}\n{second}\nThe end") == [f"{first}\n{second}\n", "The end"]


@given(st.text(alphabet=st.sampled_from('aA1 \n\t.!?。…)"’-|,é\u2028ж中'), max_size=60))
def test_sentences_joined_are_the_text(text: str) -> None:
    sentences = split_sentences(text)
    assert "".join(sentences) == (text if text.strip() else "")
    assert not any(sentence.isspace() for sentence in sentences)


def test_long_runs_of_signs_take_no_time() -> None:
    for text in ("." * 200_000, "\n" * 200_000, " " * 200_000 + "x", ".)" * 100_000):
        assert "".join(split_sentences(text)) in (text, "")
