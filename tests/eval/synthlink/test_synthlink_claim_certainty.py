"""Tests that rules decide only what is certain, on wrong claims that resemble facts, and right ones
in other words, spellings and languages.

``claims_that_resemble_facts.json`` has 248 claims on the shipped catalogue, by kind; they were
written from the facts alone, before their author read the rules.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from eval.synthlink.catalog import read_catalog
from eval.synthlink.claims.claim_decider import ClaimDecider
from eval.synthlink.claims.completeness import judge_steps
from eval.synthlink.claims.number_readings import read_words
from eval.synthlink.claims.splitter import split_claims
from eval.synthlink.claims.words import is_other, is_same, split_text
from eval.synthlink.corrected.evidence import SourcePages
from retrieval.corpus import read_corpus

CLAIMS: dict[str, list[tuple[str, str]]] = json.loads(
    (Path(__file__).parents[2] / "data/synthlink/claims_that_resemble_facts.json").read_bytes()
)
QUESTIONS = {question.id: question for question in read_catalog().questions}


@cache
def get_decider(question_id: str) -> ClaimDecider:
    return ClaimDecider(QUESTIONS[question_id], SourcePages(read_corpus()))


@pytest.mark.parametrize("kind", [kind for kind in CLAIMS if kind.startswith("wrong")])
def test_no_wrong_claim_that_resembles_a_fact_is_supported(kind: str) -> None:
    for question_id, text in CLAIMS[kind]:
        decider, claims = get_decider(question_id), split_claims(text)
        verdicts = [decider.decide(claim).verdict for claim in claims]
        assert not all(verdict == "supported" for verdict in verdicts), text
        steps = judge_steps(text, claims, QUESTIONS[question_id], decider)
        assert "stated" not in {step.verdict for step in steps}, text


@pytest.mark.parametrize("kind", [kind for kind in CLAIMS if kind.startswith("right")])
def test_no_right_claim_in_other_words_is_decided_against(kind: str) -> None:
    """A name that no evidence has, such as that of the finder, cannot be found in it."""
    against = {"contradicted"} if kind == "right: new name" else {"contradicted", "not found"}
    for question_id, text in CLAIMS[kind]:
        decider, claims = get_decider(question_id), split_claims(text)
        assert not against & {decider.decide(claim).verdict for claim in claims}, text
        steps = judge_steps(text, claims, QUESTIONS[question_id], decider)
        assert "contradicted" not in {step.verdict for step in steps}, text


def test_facts_are_still_supported_in_certain_forms() -> None:
    """A year elsewhere, passive voice, number words, and the order of two names say the same."""
    for question_id, text in (
        ("STE-08", "In 1807 Davy isolated potassium and sodium."),
        ("STE-08", "Davy isolated sodium and potassium in 1807."),
        ("EIS-01", "The Ideal X sailed in nineteen fifty-six."),
        ("SFT-02", "Weissman and Karikó received the Nobel Prize in 2023."),
        ("EEC-03", "The Nile perch was introduced into Lake Victoria in the 1950's."),
        ("EIS-10", "The Erie Canal was opened in 1825."),
        ("PSM-07", "Lech Walesa led the strike at the Lenin Shipyard in 1980."),
    ):
        verdicts = {get_decider(question_id).decide(claim).verdict for claim in split_claims(text)}
        assert verdicts == {"supported"}, text


ALTERATIONS = {
    "a month": lambda fact: re.sub(r" in (?=\d{4}\b)", " in February ", fact),
    "a nationality": lambda fact: re.sub(r"(?<=[a-z] )(?=[A-Z])", "Peruvian ", fact, count=1),
    "another object": lambda fact: re.sub(r"(?<=[a-z])(?=\.$)", " and helium", fact),
    "an owner": lambda fact: f"Adams's {fact[:1].lower()}{fact[1:]}",
    "an owner before a name": lambda fact: re.sub(
        r"(?<=[a-z] )(?=[A-Z])", "Adams's ", fact, count=1
    ),
    "a quality": lambda fact: re.sub(r" (?=[a-z]+ed\b)", " secretly ", fact, count=1),
    "another number": lambda fact: re.sub(r"\b1[789](?=\d\d)", "16", fact),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_no_fact_with_an_added_word_is_supported(name: str) -> None:
    count = 0
    for question in QUESTIONS.values():
        decider = ClaimDecider(question, None)
        for fact in (step.fact for step in question.steps if step.fact):
            altered = ALTERATIONS[name](fact)
            if altered == fact:
                continue
            count += 1
            claims = split_claims(altered)
            verdicts = [decider.decide(claim).verdict for claim in claims]
            assert not all(verdict == "supported" for verdict in verdicts), altered
    assert count > 60


@pytest.mark.parametrize(
    ("left", "right", "relation"),
    [
        ("in the 1950s", "in the 1950's", "same"),
        ("in the 1950s", "in den 1950er Jahren", "same"),
        ("in the 1950s", "dans les années 1950", "same"),
        ("in the 1950s", "in the 1960s", "other"),
        ("in 1984", "in the 1950s", "other"),
        ("in 1954", "in the 1950s", "open"),
        ("in the 50s", "in the 1950s", "open"),
        ("in the '60s", "in the 1950s", "open"),
        ("in the 19th century", "in 1800", "open"),
        ("in 1956", "in 1957", "other"),
        ("in 1956", "by 1957", "open"),
        ("in 1960", "from 1957", "open"),
        ("about 1956", "in 1956", "same"),
        ("in 1956", "about 1956", "open"),
        ("carried fifty-eight", "carried 58", "same"),
        ("in nineteen fifty-six", "in 1956", "same"),
        ("700 000 people", "700,000 people", "same"),
        ("killed 146", "killed 164", "other"),
        ("killed 150", "killed 146", "open"),
        ("to 3.95 million", "to almost four million", "open"),
        ("for 15 million", "in 1803", "open"),
        ("4m people", "4 people", "open"),
    ],
)
def test_numbers_differ_only_if_both_cannot_be_right(left: str, right: str, relation: str) -> None:
    first, second = (
        next(word for word in split_text(text) if word.kind == "number") for text in (left, right)
    )
    found = "same" if is_same(first, second) else "other" if is_other(first, second) else "open"
    assert found == relation


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("one hundred and forty-six", 146),
        ("thirty-two thousand", 32_000),
        ("three hundred and eighty-one", 381),
        ("two million four hundred thousand", 2_400_000),
        ("eighteen thirty-nine", 1839),
        ("twenty twenty-three", 2023),
        ("five nine seven", None),
        ("thousand million", None),
    ],
)
def test_number_words_are_read(words: str, value: float | None) -> None:
    assert read_words(words).value == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Container shipping cut the cost of loading.", True),
        ("Max von Laue wrote that it was and that it had been.", True),
        ("Le transport par conteneurs a réduit le coût du chargement.", False),
        ("Davy isolierte 1807 Kalium und Natrium.", False),
        ("Francia vendió Luisiana a los Estados Unidos en 1803.", False),
        ("Kary Mullis: PCR, 1983.", False),
        ("", False),
    ],
)
def test_only_what_is_surely_english_is_english(text: str, expected: bool) -> None:
    assert get_decider("EIS-01").known.is_english(text) == expected


def test_no_fact_is_missing_from_an_answer_in_another_language() -> None:
    question, decider = QUESTIONS["EIS-01"], get_decider("EIS-01")
    for answer in (
        "Le transport par conteneurs a réduit le coût du chargement.",
        "Die Reise des Frachters machte das Verladen billiger, und die Häfen schlossen.",
    ):
        steps = judge_steps(answer, split_claims(answer), question, decider)
        assert {step.verdict for step in steps} == {"unjudged"}, answer
    answer = "The potato crop failed, and people left the country by ship."
    steps = judge_steps(answer, split_claims(answer), question, decider)
    assert [step.verdict for step in steps].count("missing") >= 4


def test_what_the_facts_leave_room_for_is_not_contradicted() -> None:
    for question_id, text in (
        ("STE-01", "Intel sold the 4004 in 1972."),
        ("EIS-01", "London's upstream docks closed in 1979."),
        ("HIA-04", "France sold Louisiana to the United States for $15 million."),
        ("PSM-08", "Women voted in the general election of November 1896."),
        ("HIA-06", "The Rosetta Stone was made in 196 BC."),
        ("EEC-01", "The Antarctic ozone hole was reported by 1990."),
        ("SFT-05", "The Transformer was introduced in Attention Is All You Need."),
    ):
        for claim in split_claims(text):
            assert get_decider(question_id).decide(claim).verdict != "contradicted", text


def test_what_reverses_a_fact_by_leaving_a_word_out_is_not_supported() -> None:
    for question_id, text in (
        ("EIS-06", "A strong guilder made Dutch manufacturing competitive abroad."),
        ("HIA-04", "The French expedition defeated Saint-Domingue."),
        ("HIA-04", "In 1803 France sold the United States to Louisiana."),
        ("STE-05", "Eddington found the bending of light in 1919."),
        ("HIA-06", "The Rosetta Stone was written in 1799."),
        ("EIS-10", "York became the leading port of the United States."),
        ("PSM-03", "Rosa Parker was arrested in 1955."),
        ("STE-01", "Jack Noyce and Robert Kilby devised the integrated circuit."),
    ):
        for claim in split_claims(text):
            assert get_decider(question_id).decide(claim).verdict != "supported", text
