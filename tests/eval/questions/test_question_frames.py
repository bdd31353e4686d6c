"""Frames around a statement come off, and turn the answer round when they say "false"."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.questions.frames import frame_of
from eval.questions.linking import tokens_of

SAID = "the rhine flows into the north sea"


def unframed(text: str) -> tuple[str, bool]:
    keys = [token.key for token in tokens_of(text)]
    frame = frame_of(keys)
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
def test_frames_come_off(frame: str) -> None:
    assert unframed(frame.format(SAID)) == (SAID, False)


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
def test_false_turns_the_answer_round(frame: str) -> None:
    assert unframed(frame.format(SAID)) == (SAID, True)


@pytest.mark.parametrize(
    "text",
    ["Does the Rhine flow into the North Sea", "Isn't it true that the Rhine flows", "Is it true"],
)
def test_what_is_no_frame_stays(text: str) -> None:
    keys = [token.key for token in tokens_of(text)]
    assert frame_of(keys) == (0, len(keys), False)


def test_two_turns_are_none() -> None:
    assert unframed(f"Is it false that is it untrue that {SAID}?") == (SAID, False)


@given(
    st.lists(
        st.sampled_from(
            [*["is", "it", "true", "that", "false", "right", "or", "the", "claim", "x"], "⟨⟩"]
        )
    )
)
def test_any_words_leave_a_range_inside_them(keys: list[str]) -> None:
    frame = frame_of(keys)
    assert 0 <= frame.start <= frame.end <= len(keys)
