"""Tests the literal scores, which follow the formulas of the SynthLink specification word by word.

Where the specification can be read in several ways, each reading is tested by manual values.
"""

from __future__ import annotations

import pytest

from eval.synthlink.items import Question, Source, Step
from eval.synthlink.predictions import Iteration, Prediction
from eval.synthlink.scoring.literal_scores import (
    SpecReadings,
    fact_checking_score,
    iteration_efficiency,
    precision_at_5,
    reasoning_quality,
    score_literal,
    token_f1,
)

DEFAULT_READINGS = SpecReadings()

SPRING_QUESTION = Question(
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
    scores = score_literal(
        Prediction(
            "PSM-01",
            SPRING_QUESTION.answer,
            ("Silent Spring", "https://e.example/move"),
            (Iteration(("no",)), Iteration(("wrong", SPRING_QUESTION.answer))),
            (SPRING_QUESTION.answer,),
        ),
        SPRING_QUESTION,
    )
    assert (scores.f1, scores.p_at_5, scores.fcs, scores.ie) == (1, 0.4, 1, 0.5)
    assert scores.rqs == pytest.approx(2 / 5)
    expected = 0.3 * 1 + 0.2 * 0.4 + 0.3 * 0.4 + 0.1 * 1 + 0.1 * 0.5
    assert scores.aggregate == pytest.approx(expected)
    assert scores.recall_at_5 is None


def test_f1_uses_sets_or_counts() -> None:
    # Sets: {the, cat, sat} and {the, cat} share two words, of 3 and of 2.
    assert token_f1("The cat the cat sat", "the cat", DEFAULT_READINGS) == pytest.approx(2 * 2 / 5)
    multiset_readings = SpecReadings(tokens="multiset")
    assert token_f1("The cat the cat sat", "the cat", multiset_readings) == pytest.approx(2 * 2 / 7)
    assert token_f1("", "the cat", DEFAULT_READINGS) == 0
    assert token_f1("cat the", "The cat!", DEFAULT_READINGS) == 1, "word order does not matter"


def test_precision_always_divides_by_five() -> None:
    documents = ("https://en.wikipedia.org/wiki/Silent_Spring", "https://e.example/move")
    assert precision_at_5(documents, SPRING_QUESTION.sources, DEFAULT_READINGS) == pytest.approx(
        2 / 5
    )
    assert precision_at_5(("x",) * 5 + documents, SPRING_QUESTION.sources, DEFAULT_READINGS) == 0
    assert precision_at_5((), SPRING_QUESTION.sources, DEFAULT_READINGS) == 0
    exact_readings = SpecReadings(relevant="exact")
    assert precision_at_5(documents, SPRING_QUESTION.sources, exact_readings) == pytest.approx(
        1 / 5
    )
    assert precision_at_5(("silent spring",), SPRING_QUESTION.sources, exact_readings) == 0
    repeated_document = ("Silent Spring",) * 5
    assert precision_at_5(
        repeated_document, SPRING_QUESTION.sources, DEFAULT_READINGS
    ) == pytest.approx(1 / 5)
    assert (
        precision_at_5(repeated_document, SPRING_QUESTION.sources, SpecReadings(documents="list"))
        == 1
    )


def test_reasoning_score_counts_substrings_of_the_answer() -> None:
    # Five keywords: Carson, 1962, DDT, and from the step without keywords impact and law.
    assert reasoning_quality("Carson on DDT", SPRING_QUESTION, DEFAULT_READINGS) == pytest.approx(
        2 / 5
    )
    assert reasoning_quality(
        "The lawn, an impact crater", SPRING_QUESTION, DEFAULT_READINGS
    ) == pytest.approx(2 / 5)
    step_readings = SpecReadings(keywords="steps")
    assert reasoning_quality("Carson on DDT", SPRING_QUESTION, step_readings) == pytest.approx(
        2 / 3
    )
    # Splitting at full stops gives six keywords: "1", "Confirm the book", "2",
    # "Research DDT bans", "3", "Synthesize impact on law."
    split_readings = SpecReadings(keywords="split")
    assert reasoning_quality("in 1213", SPRING_QUESTION, split_readings) == pytest.approx(3 / 6)
    assert reasoning_quality("synthesize impact on law", SPRING_QUESTION, split_readings) == 0, (
        "the keyword ends with a full stop"
    )


def test_specified_three_step_example_is_reproduced() -> None:
    answer = "Carson wrote against DDT."
    assert (
        round(reasoning_quality(answer, SPRING_QUESTION, SpecReadings(keywords="steps")), 2) == 0.67
    )


def test_answer_given_as_its_own_source_counts_as_verified() -> None:
    answer = "Nixon wrote it. Nobody read it."
    assert fact_checking_score(answer, (answer,), DEFAULT_READINGS) == 1
    assert fact_checking_score(answer, ("NIXON WROTE IT. So there",), DEFAULT_READINGS) == 0.5
    assert fact_checking_score(answer, ("It was Nixon that wrote",), DEFAULT_READINGS) == 0
    assert (
        fact_checking_score(answer, ("It was Nixon that wrote",), SpecReadings(claims="words"))
        == 0.5
    )
    assert fact_checking_score("", (answer,), DEFAULT_READINGS) == 0


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
