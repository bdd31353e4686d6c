"""Tests what the word-overlap reader can and cannot decide."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.questions.lexical_answerer import (
    Reader,
    WordWeights,
    compute_coverage,
    find_names,
    is_negated,
)

RIVERS = ["Rhine", "Main", "Elbe", "Weser", "Ems", "Oder", "Neisse", "Saale", "Mosel", "Lahn"]
CORPUS = [
    *[f"The {name} is a river." for name in RIVERS],
    *[f"The {name} flows into the North Sea." for name in ("Rhine", "Elbe", "Weser", "Ems")],
    "The Main flows into the Rhine.",
    "The Mosel flows into the Rhine.",
    "The Lahn flows into the Rhine.",
    "The Oder flows into the Baltic Sea.",
    "The Elbe does not flow through Denmark.",
    "The Main is part of the Main system.",
    "The length of the Rhine is 1,233 km.",
    "The Rhine flows through Germany.",
]
WEIGHTS = WordWeights(CORPUS)


def answer_from_sentences(question: str, sentences: list[str] | None = None) -> str:
    return (
        Reader().answer_question(question, CORPUS if sentences is None else sentences, WEIGHTS).pred
    )


@pytest.mark.parametrize(
    ("question", "pred"),
    [
        ("Does the Main flow into the Rhine?", "YES"),
        ("Does the Main empty into the Rhine?", "YES"),
        ("Is the Rhine the stream that the Main empties into?", "YES"),
        ("Is the length of the Rhine 1233 km?", "YES"),
        ("Is the length of the Rhine 1,234 km?", "UNKNOWN"),
        ("Does the Elbe flow through Denmark?", "NO"),
        ("Does the Elbe not flow through Denmark?", "YES"),
        ("Doesn't the Main flow into the Rhine?", "NO"),
        ("Does the Saale flow into the Elbe?", "UNKNOWN"),
        ("Does the Main flow into the Zambezi?", "UNKNOWN"),
        ("Does the Zambezi flow into the Rhine?", "UNKNOWN"),
        ("Is the Rhine part of the Rhine system?", "UNKNOWN"),
    ],
)
def test_answers_decided_by_word_overlap(question: str, pred: str) -> None:
    assert answer_from_sentences(question) == pred


def test_word_overlap_ignores_direction_and_cannot_combine_sentences() -> None:
    assert answer_from_sentences("Does the Rhine flow into the Main?") == "YES", (
        "word overlap ignores the direction"
    )
    # This needs two sentences: the Main flows into the Rhine, and the Rhine into the North Sea.
    assert answer_from_sentences("Does the Main reach the North Sea?") == "UNKNOWN"
    # This needs the knowledge that a river has only one mouth.
    assert answer_from_sentences("Does the Main flow into the Baltic Sea?") == "UNKNOWN"


def test_contradictory_text_gives_unknown() -> None:
    sentences = ["The Main flows into the Rhine.", "The Main does not flow into the Rhine."]
    assert answer_from_sentences("Does the Main flow into the Rhine?", sentences) == "UNKNOWN"


@pytest.mark.parametrize("question", ["", "?", "Is it?", "\x00"])
def test_question_without_content_words(question: str) -> None:
    assert answer_from_sentences(question) == "UNKNOWN"
    assert answer_from_sentences("Does the Main flow into the Rhine?", []) == "UNKNOWN"


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("It does not flow.", True),
        ("It doesn't flow.", True),
        ("It flows neither here nor there.", True),
        ("Notre Dame is a knot.", False),
        ("The Nore flows.", False),
    ],
)
def test_negation_is_recognised(text: str, negated: bool) -> None:
    assert is_negated(text) == negated


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=5), st.randoms())
@settings(deadline=None, max_examples=150)
def test_any_text_is_read_and_order_does_not_matter(question, sentences, rng) -> None:
    weights = WordWeights(sentences)
    reading = Reader().answer_question(question, sentences, weights)
    assert 0 <= reading.coverage <= 1
    shuffled = list(sentences)
    rng.shuffle(shuffled)
    assert Reader().answer_question(question, shuffled, weights).pred == reading.pred


def test_answer_needs_coverage_of_at_least_the_threshold() -> None:
    question = "Does the water of the Main ever reach the Rhine by any length?"
    coverage = Reader().answer_question(question, CORPUS, WEIGHTS).coverage
    assert 0 < coverage < 1
    assert Reader(coverage).answer_question(question, CORPUS, WEIGHTS).pred == "YES"
    assert Reader(coverage + 1e-6).answer_question(question, CORPUS, WEIGHTS).pred == "UNKNOWN"


def test_sentence_missing_a_name_or_number_is_no_evidence() -> None:
    lenient = Reader(0.0)
    for question in (
        "Does the Saale flow into the North Sea?",
        "Is the length of the Rhine 1,234 km?",
        "Is the Rhine part of the Rhine system?",
    ):
        assert lenient.answer_question(question, CORPUS, WEIGHTS).sentence == ""
    assert find_names("Is the 1,233 km Rhine not Doesn't-ish?") == {"1233", "rhine", "doesn"}


def test_coverage_is_the_share_of_weight() -> None:
    question_words, weights = Counter("aab"), {"a": 2.0, "b": 4.0}
    assert compute_coverage(question_words, weights, Counter("aab")) == 1.0
    assert compute_coverage(question_words, weights, Counter("ab")) == 0.75
    assert compute_coverage(question_words, weights, Counter("b")) == 0.5
    assert compute_coverage(question_words, weights, Counter("zzz")) == 0.0
    assert compute_coverage(question_words, {}, Counter("aab")) == 0.0
