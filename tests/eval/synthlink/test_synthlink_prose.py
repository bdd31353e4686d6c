"""Tests that the word-class table is derived from the textbook and honest texts count as prose."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthlink_attacks import HONEST_ANSWERS, read_six_questions

from eval.synthlink.catalog import read_catalog
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.english import build_counts
from eval.synthlink.corrected.english.classes import lexicon, sentence_classes
from eval.synthlink.corrected.english.counts import TABLE, as_table, count, from_table, shipped
from eval.synthlink.corrected.english.likelihood import DOUBT, English, english
from eval.synthlink.corrected.prose import is_prose, least, prose, signs
from eval.synthlink.corrected.steps import find_steps_taken
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.items import Question, Step
from kg.base.errors import RecordError
from retrieval.corpus import read_corpus

THRESHOLDS = Thresholds()
QUESTIONS = read_catalog().questions
HELD_OUT = Path(__file__).parents[2] / "data" / "synthlink_prose.txt"
"""Terse answers and learners' English; none of these texts was used to develop the measure."""


def test_table_matches_the_textbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_counts.main(check=True)
    assert TABLE.stat().st_size < 100_000
    stale = tmp_path / "counts.tsv"
    stale.write_text(TABLE.read_text("utf-8").replace("\ts 1", "\ts 2", 1), "utf-8")
    monkeypatch.setattr(build_counts, "TABLE", stale)
    with pytest.raises(RecordError):
        build_counts.main(check=True)
    build_counts.main()
    assert stale.read_bytes() == TABLE.read_bytes()


def test_table_survives_a_round_trip() -> None:
    assert from_table(as_table(shipped())) == shipped()
    assert from_table(as_table(Counter())) == Counter()


def test_words_are_classified() -> None:
    text = "In 1794, Whitney's gin quickly changed the farms' prices; it didn't rain. (Yes!)"
    assert list(sentence_classes(text)) == [
        ["in", "number", ",", "name", "'s", "other", "ly", "ed", "the", "s", "s", ",", "it", "do",
         "other"],
        ["other"],
    ]  # fmt: skip
    assert list(sentence_classes("")) == []
    assert list(sentence_classes("?! ... —")) == []


def test_table_classes_are_in_the_lexicon() -> None:
    known_classes = {*lexicon().of_word.values(), *lexicon().content, "^", "$", ",", "'s"}
    assert {class_name for trigram in shipped() for class_name in trigram} <= known_classes


def test_both_models_are_probability_distributions() -> None:
    # One model is of prose, the other of keywords that are glued together with small words.
    model = english()
    classes = sorted({class_name for _, _, class_name in shipped()})
    # The sum is below 1 because unseen classes keep some probability.
    for before, last in [("^", "^"), ("of", "the"), ("the", "other"), ("ly", "been")]:
        for total in (
            sum(model.prose(before, last, class_name) for class_name in classes),
            sum(model.glued(last, class_name) for class_name in classes),
        ):
            assert 0.98 < total <= 1


def test_advantage_is_the_mean_log_ratio() -> None:
    model = English(count(["The cat sat. The dog sat.", "A cat saw the dog."]))
    total = sum(
        math.log(model.prose(*trigram) / model.glued(*trigram[1:]))
        for trigram in [("^", "^", "the"), ("^", "the", "other"), ("the", "other", "$")]
    )
    assert model.advantage("The cow.") == pytest.approx(total / (3 + DOUBT))
    assert model.advantage("") == 0


def read_honest_texts() -> dict[str, list[str]]:
    """Reads texts by kind; none of them was used for the table."""
    rows = [line for line in HELD_OUT.read_text("utf-8").splitlines() if line[:1] not in ("", "#")]
    kinds: dict[str, list[str]] = {}
    for kind, text in (row.split("\t") for row in rows):
        kinds.setdefault(kind, []).append(text)
    return kinds | {
        "answers": [question.answer for question in QUESTIONS],
        "facts": [" ".join(step.fact for step in question.steps) for question in QUESTIONS],
        "honest": list(HONEST_ANSWERS.values()),
        "pages": [part for page in read_corpus().pages for part in page.text.split("\n\n")],
    }


@pytest.mark.parametrize(("kind", "texts"), read_honest_texts().items())
def test_honest_texts_are_prose(kind: str, texts: list[str]) -> None:
    reference = QUESTIONS[0].answer
    are_prose = [prose(text, reference, THRESHOLDS) == 1 for text in texts]
    assert are_prose.count(False) <= max(1, 0.03 * len(are_prose)), "at most 3 % are misjudged"


def test_answers_are_prose_by_their_own_questions() -> None:
    for question in (*QUESTIONS, *read_six_questions().questions):
        assert prose(question.answer, question.answer, THRESHOLDS) == 1
    for question in read_six_questions().questions:
        assert prose(HONEST_ANSWERS[question.id], question.answer, THRESHOLDS) == 1


def test_verbatim_facts_are_steps_and_licensed() -> None:
    for question in QUESTIONS:
        facts = " ".join(step.fact for step in question.steps)
        assert find_steps_taken(facts, question, THRESHOLDS) == tuple(range(len(question.steps)))
        claims = judge_claims(facts, question, None, THRESHOLDS)
        assert {claim.verdict for claim in claims} == {"licensed"}


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_answers_are_not_prose(seed: int) -> None:
    rng = random.Random(seed)
    scores = []
    for question in QUESTIONS:
        words = question.answer.split()
        rng.shuffle(words)
        scores.append(prose(" ".join(words), question.answer, THRESHOLDS))
    assert sum(scores) / len(scores) < 0.5


def test_answer_as_terse_as_its_reference_is_prose() -> None:
    terse = "Whitney cotton gin 1794 cheap inland cotton plantations slavery growth South"
    # ``small`` is the share of small words, such as "the" and "of".
    assert signs(terse).small < THRESHOLDS.prose / 2
    assert prose(terse, QUESTIONS[0].answer, THRESHOLDS) == 0
    assert prose(terse, terse, THRESHOLDS) == 1


def test_other_language_answer_is_compared_to_its_reference() -> None:
    fact = (
        "Die Zahl der Sklaven stieg bis 1860 auf fast vier Millionen Menschen, weil der Anbau "
        "kurzfaseriger Baumwolle im Binnenland lohnte."
    )
    german_question = Question(
        "HIA-01", "HIA", "Warum?", f"{fact} Pflanzer zogen nach Süden.", (), (Step("x", fact),)
    )
    assert signs(fact).small < THRESHOLDS.sentence
    assert find_steps_taken(fact, german_question, THRESHOLDS) == (0,)
    assert [claim.verdict for claim in judge_claims(fact, german_question, None, THRESHOLDS)] == [
        "licensed"
    ]
    keywords = " ".join(word for word in fact.split() if word[0].isupper() or len(word) > 7)
    english_question = msgspec.structs.replace(QUESTIONS[0], question="Why?")
    assert least(english_question, THRESHOLDS).small == THRESHOLDS.sentence
    assert not is_prose(keywords, signs(keywords), least(english_question, THRESHOLDS))


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=300), st.text(max_size=100))
def test_measures_of_any_text_are_in_range(text: str, reference: str) -> None:
    measured = signs(text)
    assert 0 <= measured.small <= 1
    assert math.isfinite(measured.english)
    assert 0 <= prose(text, reference, THRESHOLDS) <= 1
