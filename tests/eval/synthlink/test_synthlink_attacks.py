"""Attacks on the corrected scores: which pay, which do not, and their documentation."""

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
    found_pages,
    honest_predictions,
    make_prediction,
    predict_with,
    read_six_questions,
)
from synthlink_paraphrases import LATER_PARAPHRASES, PARAPHRASES

from eval.synthlink.catalog import Catalog, read_catalog
from eval.synthlink.corrected.answer_match import match_answer
from eval.synthlink.corrected.answer_scores import score_corrected
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.metrics import Mode
from eval.synthlink.predictions import Prediction
from eval.synthlink.scores import score_predictions

BAR = Thresholds()
DOCS = Path(__file__).parents[3] / "docs" / "synthlink.md"


def mean_aggregates(mode: Mode, rows: list[dict[str, object]]) -> float:
    report = score_predictions(rows, read_six_questions(), mode, resamples=10)
    value = report.modes[mode].overall.measures["aggregate"].value
    assert value is not None
    return value


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_attacks_score_less_than_an_average_honest_answer(name: str) -> None:
    six = read_six_questions()
    assert mean_aggregates("corrected", attack_predictions(name, six)) < 0.9 * mean_aggregates(
        "corrected", honest_predictions(six)
    )


@pytest.mark.parametrize("name", ADAPTIVE_ATTACKS)
def test_keyword_attacks_do_not_pay(name: str) -> None:
    six = read_six_questions()
    rows = predict_with(ADAPTIVE_ATTACKS[name], six)
    assert mean_aggregates("corrected", rows) < 0.9 * mean_aggregates(
        "corrected", honest_predictions(six)
    )


@cache
def paraphrased_catalog() -> Catalog:
    """Questions with paraphrases; all but one were not used to develop the rules."""
    catalog = read_catalog()
    asked = tuple(one for one in catalog.questions if one.id in PARAPHRASES | LATER_PARAPHRASES)
    return msgspec.structs.replace(catalog, questions=asked)


def aggregate_on_paraphrased(rows: list[dict[str, object]]) -> float:
    report = score_predictions(rows, paraphrased_catalog(), resamples=10)
    value = report.modes["corrected"].overall.measures["aggregate"].value
    assert value is not None
    return value


@cache
def honest_on_paraphrased() -> float:
    """Returns paraphrases whose third round contains the whole answer."""
    rows = []
    for question in paraphrased_catalog().questions:
        text = (PARAPHRASES | LATER_PARAPHRASES)[question.id]
        first = f"{text.split('. ')[0]}."
        rows.append(
            make_prediction(question, text, found_pages(question), rounds=["", first, text])
        )
    return aggregate_on_paraphrased(rows)


@pytest.mark.parametrize("name", ATTACKS | ADAPTIVE_ATTACKS)
def test_attacks_do_not_pay_on_held_out_questions(name: str) -> None:
    attacked = aggregate_on_paraphrased(
        predict_with((ATTACKS | ADAPTIVE_ATTACKS)[name], paraphrased_catalog())
    )
    # As documented: it contains the answer itself, and short texts cannot be detected.
    pays = name == "answer, neighbours exchanged"
    assert (attacked >= 0.9 * honest_on_paraphrased()) == pays


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_answers_lose_most_of_their_f1(seed: int) -> None:
    chance, found = random.Random(seed), []
    for question in read_catalog().questions:
        words = question.answer.split()
        chance.shuffle(words)
        found.append(match_answer(" ".join(words), question, BAR).f1)
    assert sum(found) / len(found) < 0.4


def test_repeating_or_padding_an_honest_answer_never_pays() -> None:
    six = read_six_questions()
    for row, question in zip(honest_predictions(six), six.questions, strict=True):
        answer = str(row["predicted_answer"])
        before = match_answer(answer, question, BAR).f1
        words = " ".join(dict.fromkeys(" ".join(one.answer for one in six.questions).split()))
        assert match_answer(f"{answer} {answer}", question, BAR).f1 < before
        assert match_answer(f"{answer} {words}", question, BAR).f1 < before


def test_documentation_shows_the_attack_scores() -> None:
    six = read_six_questions()
    rows = {"honest, middling": honest_predictions(six)} | {
        name: attack_predictions(name, six) for name in ATTACK_NAMES
    }
    rows |= {
        name: predict_with(make, six)
        for name, make in (ADAPTIVE_ATTACKS | REWARDED_ATTACKS).items()
    }
    expected = {
        name: f"{mean_aggregates('literal', made):.3f} | {mean_aggregates('corrected', made):.3f}"
        for name, made in rows.items()
    }
    shown = dict(
        re.findall(
            r"^\| ([^|]+?) \| (0\.\d{3} \| 0\.\d{3}) \|$", DOCS.read_text(encoding="utf-8"), re.M
        )
    )
    assert shown == expected


def test_skipping_unanswered_questions_would_pay() -> None:
    report = score_predictions(
        attack_predictions("only the easy question", read_six_questions()),
        read_six_questions(),
        "both",
    )
    only = {
        mode: scores.overall.answered_only["aggregate"] for mode, scores in report.modes.items()
    }
    assert only == {"corrected": 0.925, "literal": 0.96}
    assert "it would be .96 and .925" in DOCS.read_text(encoding="utf-8")


def test_documentation_names_attacks_that_still_pay() -> None:
    six = read_six_questions()
    paying = DOCS.read_text(encoding="utf-8").split("These still pay")[1].split("\n\n")[1]
    assert re.findall(r"^\| ([a-z][^|]+?) \| 0", paying, re.M) == list(REWARDED_ATTACKS)
    for make in REWARDED_ATTACKS.values():
        rows = predict_with(make, six)
        assert mean_aggregates("corrected", rows) > mean_aggregates(
            "corrected", honest_predictions(six)
        )


def test_fact_order_does_not_change_the_steps() -> None:
    for question in read_six_questions().questions:
        facts = [step.fact for step in question.steps]
        forward, backward = (
            score_corrected(Prediction(question.id, " ".join(told)), question, None, BAR)
            for told in (facts, facts[::-1])
        )
        assert forward.rqs == backward.rqs == 1
