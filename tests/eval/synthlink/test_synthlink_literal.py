"""The specification's formulas to the letter, each reading of what they leave open, by hand."""

from __future__ import annotations

import pytest

from eval.synthlink.literal import (
    Readings,
    efficiency,
    fact_checking,
    precision_at_5,
    reasoning_quality,
    score_literally,
    token_f1,
)
from eval.synthlink.predictions import Iteration, Prediction
from eval.synthlink.question import Question, Source, Step

TAKEN = Readings()

SPRING = Question(
    id="PSM-01",
    category="PSM",
    question="How did Silent Spring start a movement?",
    answer="Carson warned of DDT and a movement began.",
    sources=(Source("Silent Spring"), Source("Environmental movement", "https://e.example/move")),
    steps=(
        Step("Confirm the book.", keywords=("Carson", "1962")),
        Step("Research DDT bans.", keywords=("DDT",)),
        Step("Synthesize impact on law."),
    ),
)


def test_weights_add_up_as_specified() -> None:
    found = score_literally(
        Prediction(
            "PSM-01",
            SPRING.answer,
            ("Silent Spring", "https://e.example/move"),
            (Iteration(("no",)), Iteration(("wrong", SPRING.answer))),
            (SPRING.answer,),
        ),
        SPRING,
    )
    assert (found.f1, found.p_at_5, found.fcs, found.ie) == (1, 0.4, 1, 0.5)
    assert found.rqs == pytest.approx(2 / 5)
    expected = 0.3 * 1 + 0.2 * 0.4 + 0.3 * 0.4 + 0.1 * 1 + 0.1 * 0.5
    assert found.aggregate == pytest.approx(expected)
    assert found.recall_at_5 is None


def test_f1_is_of_sets_or_counts_repetitions() -> None:
    # {the, cat, sat} against {the, cat}; three of one and two of the other.
    assert token_f1("The cat the cat sat", "the cat", TAKEN) == pytest.approx(2 * 2 / 5)
    counting = Readings(tokens="multiset")
    assert token_f1("The cat the cat sat", "the cat", counting) == pytest.approx(2 * 2 / 7)
    assert token_f1("", "the cat", TAKEN) == 0
    assert token_f1("cat the", "The cat!", TAKEN) == 1, "order is not looked at"


def test_precision_divides_by_five_whatever_there_is_to_find() -> None:
    both = ("https://en.wikipedia.org/wiki/Silent_Spring", "https://e.example/move")
    assert precision_at_5(both, SPRING.sources, TAKEN) == pytest.approx(2 / 5)
    assert precision_at_5(("x",) * 5 + both, SPRING.sources, TAKEN) == 0
    assert precision_at_5((), SPRING.sources, TAKEN) == 0
    exact = Readings(relevant="exact")
    assert precision_at_5(both, SPRING.sources, exact) == pytest.approx(1 / 5)
    assert precision_at_5(("silent spring",), SPRING.sources, exact) == 0
    five = ("Silent Spring",) * 5
    assert precision_at_5(five, SPRING.sources, TAKEN) == pytest.approx(1 / 5)
    assert precision_at_5(five, SPRING.sources, Readings(documents="list")) == 1


def test_reasoning_is_substrings_of_the_answer() -> None:
    # Carson, 1962, DDT, and of the step without keywords: impact, law.
    assert reasoning_quality("Carson on DDT", SPRING, TAKEN) == pytest.approx(2 / 5)
    assert reasoning_quality("The lawn, an impact crater", SPRING, TAKEN) == pytest.approx(2 / 5)
    steps = Readings(keywords="steps")
    assert reasoning_quality("Carson on DDT", SPRING, steps) == pytest.approx(2 / 3)
    # "1", "Confirm the book", "2", "Research DDT bans", "3", "Synthesize impact on law."
    split = Readings(keywords="split")
    assert reasoning_quality("in 1213", SPRING, split) == pytest.approx(3 / 6)
    assert reasoning_quality("synthesize impact on law", SPRING, split) == 0, "its stop is missing"


def test_the_specifications_example_of_three_steps_is_that_of_steps() -> None:
    answer = "Carson wrote against DDT."
    assert round(reasoning_quality(answer, SPRING, Readings(keywords="steps")), 2) == 0.67


def test_an_answer_that_brings_itself_as_its_source_is_checked() -> None:
    wrong = "Nixon wrote it. Nobody read it."
    assert fact_checking(wrong, (wrong,), TAKEN) == 1
    assert fact_checking(wrong, ("NIXON WROTE IT. So there",), TAKEN) == 0.5
    assert fact_checking(wrong, ("It was Nixon that wrote",), TAKEN) == 0
    assert fact_checking(wrong, ("It was Nixon that wrote",), Readings(claims="words")) == 0.5
    assert fact_checking("", (wrong,), TAKEN) == 0


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [((0.5,), 1), ((0.1, 0.9), 0.5), ((0.1,) * 4 + (1.0,), 0.2), ((0.1,) * 8 + (1.0,), 0.2),
     ((0.4,), 0), ((), 0)],
)  # fmt: skip
def test_efficiency_is_one_by_the_first_correct_round_up_to_five(
    rounds: tuple[float, ...], expected: float
) -> None:
    assert efficiency(rounds, 0.5) == expected
    assert efficiency(rounds, 0.0) == (1 if rounds else 0)
