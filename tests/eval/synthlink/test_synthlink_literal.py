"""The specification's formulas, with each reading of open points, against manual values."""

from __future__ import annotations

import pytest

from eval.synthlink.literal_scores import (
    SpecReadings,
    fact_checking_score,
    iteration_efficiency,
    precision_at_5,
    reasoning_quality,
    score_literal,
    token_f1,
)
from eval.synthlink.predictions import Iteration, Prediction
from eval.synthlink.question import Question, Source, Step

TAKEN = SpecReadings()

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
    found = score_literal(
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


def test_f1_uses_sets_or_counts() -> None:
    # {the, cat, sat} against {the, cat}; three of one and two of the other.
    assert token_f1("The cat the cat sat", "the cat", TAKEN) == pytest.approx(2 * 2 / 5)
    counting = SpecReadings(tokens="multiset")
    assert token_f1("The cat the cat sat", "the cat", counting) == pytest.approx(2 * 2 / 7)
    assert token_f1("", "the cat", TAKEN) == 0
    assert token_f1("cat the", "The cat!", TAKEN) == 1, "word order does not matter"


def test_precision_always_divides_by_five() -> None:
    both = ("https://en.wikipedia.org/wiki/Silent_Spring", "https://e.example/move")
    assert precision_at_5(both, SPRING.sources, TAKEN) == pytest.approx(2 / 5)
    assert precision_at_5(("x",) * 5 + both, SPRING.sources, TAKEN) == 0
    assert precision_at_5((), SPRING.sources, TAKEN) == 0
    exact = SpecReadings(relevant="exact")
    assert precision_at_5(both, SPRING.sources, exact) == pytest.approx(1 / 5)
    assert precision_at_5(("silent spring",), SPRING.sources, exact) == 0
    five = ("Silent Spring",) * 5
    assert precision_at_5(five, SPRING.sources, TAKEN) == pytest.approx(1 / 5)
    assert precision_at_5(five, SPRING.sources, SpecReadings(documents="list")) == 1


def test_reasoning_score_counts_substrings_of_the_answer() -> None:
    # Carson, 1962, DDT, and of the step without keywords: impact, law.
    assert reasoning_quality("Carson on DDT", SPRING, TAKEN) == pytest.approx(2 / 5)
    assert reasoning_quality("The lawn, an impact crater", SPRING, TAKEN) == pytest.approx(2 / 5)
    steps = SpecReadings(keywords="steps")
    assert reasoning_quality("Carson on DDT", SPRING, steps) == pytest.approx(2 / 3)
    # "1", "Confirm the book", "2", "Research DDT bans", "3", "Synthesize impact on law."
    split = SpecReadings(keywords="split")
    assert reasoning_quality("in 1213", SPRING, split) == pytest.approx(3 / 6)
    assert reasoning_quality("synthesize impact on law", SPRING, split) == 0, "its stop is missing"


def test_specified_three_step_example_is_reproduced() -> None:
    answer = "Carson wrote against DDT."
    assert round(reasoning_quality(answer, SPRING, SpecReadings(keywords="steps")), 2) == 0.67


def test_answer_given_as_its_own_source_is_checked() -> None:
    wrong = "Nixon wrote it. Nobody read it."
    assert fact_checking_score(wrong, (wrong,), TAKEN) == 1
    assert fact_checking_score(wrong, ("NIXON WROTE IT. So there",), TAKEN) == 0.5
    assert fact_checking_score(wrong, ("It was Nixon that wrote",), TAKEN) == 0
    assert (
        fact_checking_score(wrong, ("It was Nixon that wrote",), SpecReadings(claims="words"))
        == 0.5
    )
    assert fact_checking_score("", (wrong,), TAKEN) == 0


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [((0.5,), 1), ((0.1, 0.9), 0.5), ((0.1,) * 4 + (1.0,), 0.2), ((0.1,) * 8 + (1.0,), 0.2),
     ((0.4,), 0), ((), 0)],
)  # fmt: skip
def test_efficiency_is_one_over_the_first_correct_round(
    rounds: tuple[float, ...], expected: float
) -> None:
    assert iteration_efficiency(rounds, 0.5) == expected
    assert iteration_efficiency(rounds, 0.0) == (1 if rounds else 0)
