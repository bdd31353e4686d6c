"""Tests that simple questions are rephrased as statements and other questions are framed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.questions.declarative import (
    MAX_QUESTION_LENGTH,
    convert_to_statement,
    to_third_person,
)
from kg.base.plain_text import to_one_line


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Does the Main flow into the Rhine?", "The Main flows into the Rhine."),
        ("Does Lake Chad directly receive the Chari?", "Lake Chad directly receives the Chari."),
        ("Does the water of Rondout Creek reach the Wallkill River?",
         "The water of Rondout Creek reaches the Wallkill River."),
        ("Does the Volta carry 41 m³/s of water on average?",
         "The Volta carries 41 m³/s of water on average."),
        ("Does the Enns have its source in the Apennines?",
         "The Enns has its source in the Apennines."),
        ("Does the Oka (Volga) flow through Russia?", "The Oka (Volga) flows through Russia."),
        ("Is the mean discharge of the Rovuma 24 m³/s?",
         "The mean discharge of the Rovuma is 24 m³/s."),
        ("Is 1,134 m the elevation of the mouth of the Scheldt?",
         "1,134 m is the elevation of the mouth of the Scheldt."),
        ("Is the Jordan river system (Middle East) the system that the Volkhov belongs to?",
         "The Jordan river system (Middle East) is the system that the Volkhov belongs to."),
        ("Is the Vesle downstream of the Aisne?", "The Vesle is downstream of the Aisne."),
        ("Is Bosnia and Herzegovina a country?", "Bosnia and Herzegovina is a country."),
        ("Is the source of the Mondego in the Serra da Estrela?",
         "The source of the Mondego is in the Serra da Estrela."),
        ("Is the Rhine's source in Switzerland?", "The Rhine's source is in Switzerland."),
        ("Was Sadiq Khan the mayor of London on 1 January 2020?",
         "Sadiq Khan was the mayor of London on 1 January 2020."),
        ("Did London have Sadiq Khan as its mayor?", "London did have Sadiq Khan as its mayor."),
        ("Does the Rhine not flow into the Elbe?", "The Rhine does not flow into the Elbe."),
        ("Can the Rhine flow into the Elbe?", "The Rhine can flow into the Elbe."),
        ("Does the river Main flow into the Rhine?", "The river Main flows into the Rhine."),
    ],
)  # fmt: skip
def test_plain_question_becomes_a_statement(question: str, statement: str) -> None:
    assert convert_to_statement(question) == (statement, True)


@pytest.mark.parametrize(
    "question",
    [
        "Fließt der Rhein in die Nordsee?",
        "Which river flows into the Rhine?",
        "Is it true that the Rhine flows into the North Sea?",
        "On 1 January 2020, was the mayor of London Sadiq Khan?",
        "Is the capital of France Paris?",
        "Does it flow?",
        "Do rivers flow?",
        "The Rhine flows into the North Sea.",
        "Does the Rhine flow? Does the Main?",
        "莱茵河流入北海吗？",
        "Is?",
        "?",
        "",
    ],
)
def test_complex_question_is_quoted_in_a_frame(question: str) -> None:
    text, is_rephrased = convert_to_statement(question)
    assert not is_rephrased
    assert text == f"The answer to the question “{question}” is yes."


@given(st.text(max_size=60) | st.from_regex(r"(Does|Is|Did) [A-Za-z .,'()?0-9]{0,50}\?"))
def test_statement_keeps_all_words_of_the_question(question: str) -> None:
    text, is_rephrased = convert_to_statement(question)
    assert text == to_one_line(text)
    if not is_rephrased:
        assert to_one_line(question) in text
        return
    # The auxiliary verb comes first ("Does …?"); the last character is the question mark.
    _, *question_words = to_one_line(question)[:-1].lower().split()
    statement_words = text[:-1].lower().split()
    shared_words = [word for word in statement_words if word in question_words]
    assert set(question_words) - set(statement_words) <= {
        word for word in question_words if to_third_person(word) in statement_words
    }
    # Only the verb may change (flow → flows), and the auxiliary may be inserted (is, was).
    assert len(shared_words) >= len(question_words) - 1
    assert len(statement_words) - len(question_words) in (0, 1)


def test_very_long_question_is_truncated() -> None:
    text, is_rephrased = convert_to_statement(f"Does the Main flow into {'Rhine ' * 200_000}?")
    assert not is_rephrased
    assert len(text) < MAX_QUESTION_LENGTH + 100


def test_third_person_verb_forms() -> None:
    verbs = ["flow", "reach", "carry", "have", "lie", "go", "border", "pass", "play", "mix"]
    assert " ".join(map(to_third_person, verbs)) == (
        "flows reaches carries has lies goes borders passes plays mixes"
    )
