"""Tests that texts are cut only at sentence ends, in whatever chunks they arrive."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eval.guard.segmenter import LOOKAHEAD, MAX_SEGMENT_LENGTH, Segment, Segmenter


def cut_text(text: str, *sizes: int) -> list[Segment]:
    """Returns the pieces of a text that is fed in chunks whose sizes repeat cyclically."""
    segmenter, pieces, position, chunk_number = Segmenter(), [], 0, 0
    while position < len(text):
        size = sizes[chunk_number % len(sizes)] if sizes else len(text)
        pieces += segmenter.feed(text[position : position + size])
        position, chunk_number = position + size, chunk_number + 1
    return [*pieces, *segmenter.close()]


@pytest.mark.parametrize(
    "sentence",
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
def test_text_is_one_sentence(sentence: str) -> None:
    assert [piece.text for piece in cut_text(sentence)] == [sentence]
    assert [piece.text for piece in cut_text(sentence + " The end.")] == [sentence, " The end."]


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
def test_text_is_several_sentences(text: str, pieces: list[str]) -> None:
    assert [piece.text for piece in cut_text(text)] == pieces


FRAGMENTS = [
    *("The Rhine", " flows", ".", ". ", "...", "…", "!", "? ", "\n", "\n\n", "- ", "1. ", "3.14"),
    *(" e.g. ", "Dr. ", '"', "“", "”", " and ", "km. ", "(", ")", " ", "a", "A", "。", "#", "J. "),
    *("U.S.", "\u202e", "x" * 300, " " * 200, "word " * 50),
]
TEXTS = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=5)), max_size=60).map(
    "".join
)


@given(TEXTS, st.lists(st.integers(1, 50), min_size=1, max_size=8))
@example("x" * (MAX_SEGMENT_LENGTH + LOOKAHEAD) + ". End.", [1])
@example("x" * (MAX_SEGMENT_LENGTH + LOOKAHEAD - 1), [1])
@example(("x" * 499 + " ") * 5, [7])
@settings(max_examples=200)
def test_chunking_does_not_change_the_pieces(text: str, sizes: list[int]) -> None:
    pieces = cut_text(text)
    assert "".join(piece.text for piece in pieces) == text
    assert cut_text(text, *sizes) == pieces
    position = 0
    for piece in pieces:
        assert piece.start == position
        assert 0 < len(piece.text) <= MAX_SEGMENT_LENGTH + LOOKAHEAD
        position += len(piece.text)


def test_held_text_is_limited() -> None:
    segmenter, emitted = Segmenter(), 0
    for number in range(1, 201):
        emitted += sum(len(piece.text) for piece in segmenter.feed("x" * 10_000))
        assert number * 10_000 - emitted <= MAX_SEGMENT_LENGTH + LOOKAHEAD


def test_both_sides_of_a_forced_cut_are_marked() -> None:
    pieces = cut_text("y" * (5 * MAX_SEGMENT_LENGTH // 2) + ". Then it ends. And goes on.")
    assert [piece.forced for piece in pieces][-3:] == [True, False, False]
    assert all(piece.forced for piece in pieces[:-2])
