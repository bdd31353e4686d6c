"""Attacks on the corrected scores: which do not pay, which do, and what the documentation says."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import msgspec
import pytest
from synthlink_adaptive_attacks import ADAPTIVE, PAYING
from synthlink_attacks import (
    ATTACKS,
    NAMES,
    answered,
    attack,
    found,
    honest,
    prediction,
    six_questions,
)
from synthlink_paraphrases import LATER, PARAPHRASES

from eval.synthlink.catalog import Catalog, read_catalog
from eval.synthlink.corrected.answering import score_corrected
from eval.synthlink.corrected.answers import match
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.measures import Mode
from eval.synthlink.predictions import Prediction
from eval.synthlink.scores import score

BAR = Thresholds()
DOCS = Path(__file__).parents[3] / "docs" / "synthlink.md"


def aggregates(mode: Mode, rows: list[dict[str, object]]) -> float:
    report = score(rows, six_questions(), mode, resamples=10)
    value = report.modes[mode].overall.measures["aggregate"].value
    assert value is not None
    return value


@pytest.mark.parametrize("name", NAMES)
def test_no_attack_scores_as_much_as_a_middling_honest_answer(name: str) -> None:
    six = six_questions()
    assert aggregates("corrected", attack(name, six)) < 0.9 * aggregates("corrected", honest(six))


@pytest.mark.parametrize("name", ADAPTIVE)
def test_no_attack_by_keywords_pays_though_it_knows_the_measure(name: str) -> None:
    six = six_questions()
    rows = answered(ADAPTIVE[name], six)
    assert aggregates("corrected", rows) < 0.9 * aggregates("corrected", honest(six))


@cache
def paraphrased() -> Catalog:
    """Questions that no rule was set on, but for one, for which there are paraphrases."""
    catalog = read_catalog()
    asked = tuple(one for one in catalog.questions if one.id in PARAPHRASES | LATER)
    return msgspec.structs.replace(catalog, questions=asked)


def aggregate_there(rows: list[dict[str, object]]) -> float:
    report = score(rows, paraphrased(), resamples=10)
    value = report.modes["corrected"].overall.measures["aggregate"].value
    assert value is not None
    return value


@cache
def honest_there() -> float:
    """Paraphrases, of which the third round has the whole."""
    rows = []
    for question in paraphrased().questions:
        text = (PARAPHRASES | LATER)[question.id]
        first = f"{text.split('. ')[0]}."
        rows.append(prediction(question, text, found(question), rounds=["", first, text]))
    return aggregate_there(rows)


@pytest.mark.parametrize("name", ATTACKS | ADAPTIVE)
def test_the_same_holds_on_questions_that_no_rule_was_set_on(name: str) -> None:
    attacked = aggregate_there(answered((ATTACKS | ADAPTIVE)[name], paraphrased()))
    # The docs say so: it has the answer itself, and where words are few nothing tells.
    pays = name == "answer, neighbours exchanged"
    assert (attacked >= 0.9 * honest_there()) == pays


@pytest.mark.parametrize("seed", range(3))
def test_shuffling_answers_loses_most_of_their_f1(seed: int) -> None:
    chance, found = random.Random(seed), []
    for question in read_catalog().questions:
        words = question.answer.split()
        chance.shuffle(words)
        found.append(match(" ".join(words), question, BAR).f1)
    assert sum(found) / len(found) < 0.4


def test_repeating_or_stuffing_an_honest_answer_never_pays() -> None:
    six = six_questions()
    for row, question in zip(honest(six), six.questions, strict=True):
        answer = str(row["predicted_answer"])
        before = match(answer, question, BAR).f1
        words = " ".join(dict.fromkeys(" ".join(one.answer for one in six.questions).split()))
        assert match(f"{answer} {answer}", question, BAR).f1 < before
        assert match(f"{answer} {words}", question, BAR).f1 < before


def test_the_documentation_shows_what_attacks_score() -> None:
    six = six_questions()
    rows = {"honest, middling": honest(six)} | {name: attack(name, six) for name in NAMES}
    rows |= {name: answered(make, six) for name, make in (ADAPTIVE | PAYING).items()}
    expected = {
        name: f"{aggregates('literal', made):.3f} | {aggregates('corrected', made):.3f}"
        for name, made in rows.items()
    }
    shown = dict(
        re.findall(
            r"^\| ([^|]+?) \| (0\.\d{3} \| 0\.\d{3}) \|$", DOCS.read_text(encoding="utf-8"), re.M
        )
    )
    assert shown == expected


def test_leaving_out_what_is_not_answered_would_pay() -> None:
    report = score(attack("only the easy question", six_questions()), six_questions(), "both")
    only = {
        mode: scores.overall.answered_only["aggregate"] for mode, scores in report.modes.items()
    }
    assert only == {"corrected": 0.925, "literal": 0.96}
    assert "it would be .96 and .925" in DOCS.read_text(encoding="utf-8")


def test_the_documentation_names_what_still_pays() -> None:
    six = six_questions()
    paying = DOCS.read_text(encoding="utf-8").split("These still pay")[1].split("\n\n")[1]
    assert re.findall(r"^\| ([a-z][^|]+?) \| 0", paying, re.M) == list(PAYING)
    for make in PAYING.values():
        rows = answered(make, six)
        assert aggregates("corrected", rows) > aggregates("corrected", honest(six))


def test_facts_told_in_another_order_take_as_many_steps() -> None:
    for question in six_questions().questions:
        facts = [step.fact for step in question.steps]
        forward, backward = (
            score_corrected(Prediction(question.id, " ".join(told)), question, None, BAR)
            for told in (facts, facts[::-1])
        )
        assert forward.rqs == backward.rqs == 1
