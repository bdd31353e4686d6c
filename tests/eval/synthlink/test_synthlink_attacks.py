"""Tests which attacks raise the corrected scores, and that the documentation names them."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import msgspec
import pytest
from synthlink_adaptive_attacks import ADAPTIVE_ATTACKS, REWARDED_ATTACKS
from synthlink_attacks import (
    ATTACK_NAMES,
    ATTACKS,
    attack_predictions,
    honest_predictions,
    list_found_pages,
    make_prediction,
    make_predictions,
    read_six_questions,
)
from synthlink_paraphrases import LATER_PARAPHRASES, PARAPHRASES

from eval.synthlink.catalog import Catalog, read_catalog
from eval.synthlink.corrected.answer_match import match_answer
from eval.synthlink.corrected.answer_scores import score_corrected
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.metrics import Mode
from eval.synthlink.predictions import Prediction
from eval.synthlink.scoring.scores import score_predictions

THRESHOLDS = Thresholds()
DOCUMENTATION = Path(__file__).parents[3] / "docs" / "synthlink.md"


def compute_mean_aggregate(mode: Mode, rows: list[dict[str, object]]) -> float:
    report = score_predictions(rows, read_six_questions(), mode, resamples=10)
    value = report.modes[mode].overall.measures["aggregate"].value
    assert value is not None
    return value


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_attacks_score_less_than_an_average_honest_answer(name: str) -> None:
    catalog = read_six_questions()
    attack_score = compute_mean_aggregate("corrected", attack_predictions(name, catalog))
    honest_score = compute_mean_aggregate("corrected", honest_predictions(catalog))
    assert attack_score < 0.9 * honest_score


@pytest.mark.parametrize("name", ADAPTIVE_ATTACKS)
def test_keyword_attacks_do_not_pay(name: str) -> None:
    catalog = read_six_questions()
    rows = make_predictions(ADAPTIVE_ATTACKS[name], catalog)
    honest_score = compute_mean_aggregate("corrected", honest_predictions(catalog))
    assert compute_mean_aggregate("corrected", rows) < 0.9 * honest_score


@cache
def read_paraphrased_catalog() -> Catalog:
    """Reads the questions with paraphrases; all but one were not used to develop the rules."""
    catalog = read_catalog()
    questions = tuple(
        question for question in catalog.questions if question.id in PARAPHRASES | LATER_PARAPHRASES
    )
    return msgspec.structs.replace(catalog, questions=questions)


def score_paraphrased_questions(rows: list[dict[str, object]]) -> float:
    report = score_predictions(rows, read_paraphrased_catalog(), resamples=10)
    value = report.modes["corrected"].overall.measures["aggregate"].value
    assert value is not None
    return value


@cache
def score_honest_paraphrases() -> float:
    """Returns the score of paraphrases that are complete in the third round."""
    rows = []
    for question in read_paraphrased_catalog().questions:
        text = (PARAPHRASES | LATER_PARAPHRASES)[question.id]
        first_sentence = f"{text.split('. ')[0]}."
        rows.append(
            make_prediction(
                question, text, list_found_pages(question), rounds=["", first_sentence, text]
            )
        )
    return score_paraphrased_questions(rows)


@pytest.mark.parametrize("name", ATTACKS | ADAPTIVE_ATTACKS)
def test_attacks_do_not_pay_on_held_out_questions(name: str) -> None:
    attack_score = score_paraphrased_questions(
        make_predictions((ATTACKS | ADAPTIVE_ATTACKS)[name], read_paraphrased_catalog())
    )
    # The documentation names this attack: it contains the answer itself, and in short sentences
    # the changed word order cannot be detected.
    is_rewarded = name == "answer, neighbours exchanged"
    assert (attack_score >= 0.9 * score_honest_paraphrases()) == is_rewarded


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_answers_lose_most_of_their_f1(seed: int) -> None:
    rng, f1_scores = random.Random(seed), []
    for question in read_catalog().questions:
        words = question.answer.split()
        rng.shuffle(words)
        f1_scores.append(match_answer(" ".join(words), question, THRESHOLDS).f1)
    assert sum(f1_scores) / len(f1_scores) < 0.4


def test_repeating_or_padding_an_honest_answer_never_pays() -> None:
    catalog = read_six_questions()
    for row, question in zip(honest_predictions(catalog), catalog.questions, strict=True):
        answer = str(row["predicted_answer"])
        honest_f1 = match_answer(answer, question, THRESHOLDS).f1
        words_of_all_answers = " ".join(
            dict.fromkeys(" ".join(other.answer for other in catalog.questions).split())
        )
        assert match_answer(f"{answer} {answer}", question, THRESHOLDS).f1 < honest_f1
        assert match_answer(f"{answer} {words_of_all_answers}", question, THRESHOLDS).f1 < honest_f1


def test_documentation_shows_the_attack_scores() -> None:
    catalog = read_six_questions()
    rows = {"honest, middling": honest_predictions(catalog)} | {
        name: attack_predictions(name, catalog) for name in ATTACK_NAMES
    }
    rows |= {
        name: make_predictions(attack, catalog)
        for name, attack in (ADAPTIVE_ATTACKS | REWARDED_ATTACKS).items()
    }
    expected = {}
    for name, predictions in rows.items():
        literal = compute_mean_aggregate("literal", predictions)
        corrected = compute_mean_aggregate("corrected", predictions)
        expected[name] = f"{literal:.3f} | {corrected:.3f}"
    documented = dict(
        re.findall(
            r"^\| ([^|]+?) \| (0\.\d{3} \| 0\.\d{3}) \|$",
            DOCUMENTATION.read_text(encoding="utf-8"),
            re.M,
        )
    )
    assert documented == expected


def test_skipping_unanswered_questions_would_pay() -> None:
    report = score_predictions(
        attack_predictions("only the easy question", read_six_questions()),
        read_six_questions(),
        "both",
    )
    aggregates = {
        mode: scores.overall.answered_only["aggregate"] for mode, scores in report.modes.items()
    }
    assert aggregates == {"corrected": 0.925, "literal": 0.96}
    assert "it would be .96 and .925" in DOCUMENTATION.read_text(encoding="utf-8")


def test_documentation_names_attacks_that_still_pay() -> None:
    catalog = read_six_questions()
    section = DOCUMENTATION.read_text(encoding="utf-8").split("These still pay")[1].split("\n\n")[1]
    assert re.findall(r"^\| ([a-z][^|]+?) \| 0", section, re.M) == list(REWARDED_ATTACKS)
    honest_score = compute_mean_aggregate("corrected", honest_predictions(catalog))
    for attack in REWARDED_ATTACKS.values():
        rows = make_predictions(attack, catalog)
        assert compute_mean_aggregate("corrected", rows) > honest_score


def test_fact_order_does_not_change_the_steps() -> None:
    for question in read_six_questions().questions:
        facts = [step.fact for step in question.steps]
        in_order, reversed_order = (
            score_corrected(
                Prediction(question.id, " ".join(ordered_facts)), question, None, THRESHOLDS
            )
            for ordered_facts in (facts, facts[::-1])
        )
        assert in_order.rqs == reversed_order.rqs == 1
