"""Tests that frames such as "Is it true that …?" are removed and "false" inverts the answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.questions.frames import find_frame
from eval.questions.mentions import tokenise_text

STATEMENT = "the rhine flows into the north sea"


def remove_frame(text: str) -> tuple[str, bool]:
    keys = [token.key for token in tokenise_text(text)]
    frame = find_frame(keys)
    return " ".join(keys[frame.start : frame.end]), frame.inverted


@pytest.mark.parametrize(
    "frame",
    [
        "Is it true that {}?",
        "Would it be fair to say that {}?",
        "Can you please confirm that {}?",
        "Could you tell me whether {}?",
        "Do you know if {}?",
        "Would you say {}?",
        "Am I right in thinking that {}?",
        "I've read that {}. Is that so?",
        "{}, doesn't it?",
        "{}, right?",
        "{}. True or false?",
        "True or false: {}",
        "Is the claim that {} correct?",
        "Can you confirm that {}, or not?",
    ],
)
def test_frames_are_removed(frame: str) -> None:
    assert remove_frame(frame.format(STATEMENT)) == (STATEMENT, False)


@pytest.mark.parametrize(
    "frame",
    [
        "Is it false that {}?",
        "Would it be wrong to say that {}?",
        "Is it a mistake to think that {}?",
        "Is the statement that {} untrue?",
        "Is it incorrect that {}?",
    ],
)
def test_false_inverts_the_answer(frame: str) -> None:
    assert remove_frame(frame.format(STATEMENT)) == (STATEMENT, True)


@pytest.mark.parametrize(
    "text",
    ["Does the Rhine flow into the North Sea", "Isn't it true that the Rhine flows", "Is it true"],
)
def test_text_without_a_frame_is_unchanged(text: str) -> None:
    keys = [token.key for token in tokenise_text(text)]
    assert find_frame(keys) == (0, len(keys), False)


def test_two_inversions_cancel_out() -> None:
    assert remove_frame(f"Is it false that is it untrue that {STATEMENT}?") == (STATEMENT, False)


@given(
    st.lists(
        st.sampled_from(
            [*["is", "it", "true", "that", "false", "right", "or", "the", "claim", "x"], "⟨⟩"]
        )
    )
)
def test_any_words_give_a_valid_range(keys: list[str]) -> None:
    frame = find_frame(keys)
    assert 0 <= frame.start <= frame.end <= len(keys)
