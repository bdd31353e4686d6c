"""Sentences are cut where they end and nowhere else, however the text arrives."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eval.guard.cutting import LOOKAHEAD, MAX_PIECE, Cutter, Piece


def cut(text: str, *sizes: int) -> list[Piece]:
    """The pieces of a text fed in chunks of these sizes, over and over."""
    cutter, pieces, at, turn = Cutter(), [], 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)] if sizes else len(text)
        pieces += cutter.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    return [*pieces, *cutter.close()]


@pytest.mark.parametrize(
    "whole",
    [
        "It is 3.14 or 1,000.5 km long.",
        "Dr. Smith and Prof. Meyer met St. Nicholas, cf. vol. 3, no. 7.",
        "The U.S. Army built it, e.g. at Mt. Hood.",
        "J. R. R. Tolkien wrote it.",
        "See https://example.org/a.b?c=d&e=f! for more.",
        "Wait... it goes on … and on.",
        "1. The Rhine is a river.",
        "He said “It rains. It pours.” and left.",
        'He said "It rains. It pours." and left.',
        "Wrapped\nover lines.",
        "At 9 a.m. we left.",
        "The version 2.0.1 is in file.txt here.",
        "He lived ca. 1900 in the city.",
    ],
)
def test_this_is_one_sentence(whole: str) -> None:
    assert [piece.text for piece in cut(whole)] == [whole]
    assert [piece.text for piece in cut(whole + " The end.")] == [whole, " The end."]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("One. Two! Three? Four", ["One.", " Two!", " Three?", " Four"]),
        ("It is 5 km. The Elbe is long.", ["It is 5 km.", " The Elbe is long."]),
        ("It lies at 193 m. Elbe is long.", ["It lies at 193 m.", " Elbe is long."]),
        ("It is in the U.S. The Elbe is not.", ["It is in the U.S.", " The Elbe is not."]),
        ("He said “No.” She left.", ["He said “No.”", " She left."]),
        ("Really?! Yes.", ["Really?!", " Yes."]),
        ("- a\n- b\n", ["- a\n", "- b\n"]),
        ("# Rivers\nThe Rhine", ["# Rivers\n", "The Rhine"]),
        ("One\n\nTwo", ["One\n", "\nTwo"]),
        ("一。二！三", ["一。", "二！", "三"]),
    ],
)
def test_these_are_several(text: str, pieces: list[str]) -> None:
    assert [piece.text for piece in cut(text)] == pieces


FRAGMENTS = [
    *("The Rhine", " flows", ".", ". ", "...", "…", "!", "? ", "\n", "\n\n", "- ", "1. ", "3.14"),
    *(" e.g. ", "Dr. ", '"', "“", "”", " and ", "km. ", "(", ")", " ", "a", "A", "。", "#", "J. "),
    *("U.S.", "\u202e", "x" * 300, " " * 200, "word " * 50),
]
TEXTS = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=5)), max_size=60).map(
    "".join
)


@given(TEXTS, st.lists(st.integers(1, 50), min_size=1, max_size=8))
@example("x" * (MAX_PIECE + LOOKAHEAD) + ". End.", [1])
@example("x" * (MAX_PIECE + LOOKAHEAD - 1), [1])
@example(("x" * 499 + " ") * 5, [7])
@settings(max_examples=200)
def test_chunks_decide_nothing_and_nothing_is_lost(text: str, sizes: list[int]) -> None:
    whole = cut(text)
    assert "".join(piece.text for piece in whole) == text
    assert cut(text, *sizes) == whole
    at = 0
    for piece in whole:
        assert piece.start == at
        assert 0 < len(piece.text) <= MAX_PIECE + LOOKAHEAD
        at += len(piece.text)


def test_what_is_held_stays_bounded() -> None:
    cutter, given_out = Cutter(), 0
    for number in range(1, 201):
        given_out += sum(len(piece.text) for piece in cutter.feed("x" * 10_000))
        assert number * 10_000 - given_out <= MAX_PIECE + LOOKAHEAD


def test_both_sides_of_a_forced_cut_say_so() -> None:
    pieces = cut("y" * (5 * MAX_PIECE // 2) + ". Then it ends. And goes on.")
    assert [piece.forced for piece in pieces][-3:] == [True, False, False]
    assert all(piece.forced for piece in pieces[:-2])
