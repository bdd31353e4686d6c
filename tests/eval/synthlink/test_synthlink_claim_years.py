"""Tests that a year contradicts only a claim with the verb of that year, and of other true claims.

"Mary Shelley began Frankenstein in 1816" is true, though she published it in 1818.
"""

from __future__ import annotations

from functools import cache

import pytest

from eval.guard.stream import Guard
from eval.synthlink.catalog import read_catalog
from eval.synthlink.claims.claim_decider import ClaimDecider
from eval.synthlink.claims.splitter import split_claims
from eval.synthlink.claims.words import is_same_event
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.evidence import SourcePages
from kg.knowledge import KnowledgeBase
from retrieval.corpus import read_corpus

QUESTIONS = {question.id: question for question in read_catalog().questions}


@cache
def get_pages() -> SourcePages:
    return SourcePages(read_corpus())


@cache
def get_decider(question_id: str, *, with_pages: bool = False) -> ClaimDecider:
    return ClaimDecider(QUESTIONS[question_id], get_pages() if with_pages else None)


@cache
def get_guard() -> Guard:
    return Guard(KnowledgeBase.open_cached("synthlink"))


def judge(question_id: str, text: str, *, with_pages: bool = False) -> list[str]:
    decider = get_decider(question_id, with_pages=with_pages)
    pages = get_pages() if with_pages else None
    judged = judge_claims(text, QUESTIONS[question_id], get_guard(), pages, decider)
    return [claim.verdict for claim in judged]


@pytest.mark.parametrize("with_pages", [False, True])
@pytest.mark.parametrize(
    ("question_id", "claim"),
    [
        ("HIA-03", "Mary Shelley began Frankenstein in 1816."),
        ("HIA-03", "Frankenstein was begun in 1816."),
        ("EIS-10", "The Erie Canal was begun in 1817."),
        ("EIS-10", "The Erie Canal was started in 1817."),
        ("STE-03", "Photo 51 was published in 1953."),
        ("STE-03", "Photo 51 appeared in 1953."),
        ("STE-03", "Photo 51 was not published in 1952."),
        ("STE-10", "The polymerase chain reaction was published in 1985."),
        ("STE-07", "The World Wide Web was introduced in 1991."),
        ("HIA-08", "The Treaty of Nanking was ratified in 1843."),
    ],
)
def test_year_of_another_event_decides_nothing(
    question_id: str, claim: str, *, with_pages: bool
) -> None:
    assert judge(question_id, claim, with_pages=with_pages) == ["unjudged"]


@pytest.mark.parametrize(
    ("question_id", "claim"),
    [
        ("HIA-03", "Mary Shelley published Frankenstein in 1819."),
        ("HIA-03", "Frankenstein was published in 1819."),
        ("EIS-10", "The Erie Canal opened in 1817."),
        ("STE-03", "Photo 51 was taken in 1951."),
        ("STE-10", "The polymerase chain reaction was devised in 1985."),
        ("STE-10", "The polymerase chain reaction was invented in 1985."),
        ("HIA-08", "The Treaty of Nanking was signed in 1843."),
        ("HIA-07", "The British Raj began in 1859."),
        ("HIA-08", "The Treaty of Nanking was not signed in 1842."),
    ],
)
def test_another_year_of_the_same_event_is_contradicted(question_id: str, claim: str) -> None:
    assert judge(question_id, claim) == ["contradicted"]


@pytest.mark.parametrize(
    ("question_id", "claim"),
    [
        ("STE-03", "Photo 51 was published in 1952."),
        ("STE-10", "The polymerase chain reaction was published in 1983."),
        ("EIS-10", "The Erie Canal was begun in 1825."),
        ("STE-02", "Alexander Fleming was discovered in 1928 by penicillin."),
        ("SFT-03", "John Moult had been founded by CASP in 1994."),
        ("HIA-08", "Lin Zexu had been destroyed by opium at Humen in 1839."),
        ("HIA-07", "The British Raj lasted in 1947."),
        ("HIA-07", "The British Raj lasted from 1947."),
        ("HIA-07", "The British Raj lasted until 1858."),
        ("HIA-08", "Later, the Treaty of Nanking ceded five ports in 1842."),
    ],
)
def test_year_of_another_event_supports_nothing(question_id: str, claim: str) -> None:
    assert "supported" not in judge(question_id, claim)


@pytest.mark.parametrize(
    ("question_id", "claim"),
    [
        ("HIA-08", "Later, the Treaty of Nanking was signed in 1842."),
        (
            "HIA-08",
            "Lin Zexu had opium destroyed at Humen in 1839. Later, the Treaty of Nanking was "
            "signed in 1842.",
        ),
        ("HIA-07", "The British Raj, which began in 1858, lasted until 1947."),
        ("STE-02", "Penicillin was discovered in 1928 by Alexander Fleming."),
        ("SFT-03", "CASP had been founded by John Moult and colleagues in 1994."),
        ("STE-01", "The 4004 had been the first commercial microprocessor."),
        ("HIA-03", "Frankenstein was published in 1818."),
        ("EIS-10", "The Erie Canal was opened in 1825."),
    ],
)
def test_true_claims_in_these_forms_are_supported(question_id: str, claim: str) -> None:
    assert {*judge(question_id, claim)} == {"supported"}


def test_later_needs_an_earlier_year() -> None:
    for text in (
        "The Treaty of Nanking was signed in 1842. Later, Lin Zexu had opium destroyed in 1839.",
        "Lin Zexu had opium destroyed at Humen. Later, the Treaty of Nanking was signed in 1842.",
        "Hong Kong fell in 1842. Later, the Treaty of Nanking was signed in 1842.",
    ):
        assert judge("HIA-08", text)[-1] != "supported", text


def test_which_stands_for_a_name_before_it() -> None:
    first, _ = split_claims("The British Raj, which began in 1858, lasted until 1947.")
    assert first.resolved == "The British Raj began in 1858"
    first, _ = split_claims("The ruler of France, who sold Louisiana, was Napoleon.")
    assert first.resolved == ""


@pytest.mark.parametrize(
    ("question_id", "claim"),
    [
        ("STE-01", "The 4004 was the first."),
        ("STE-01", "The 4004 was the first commercial."),
        ("EIS-03", "The Seiko Astron was the first."),
        ("EIS-05", "Synthetic indigo displaced natural."),
        ("EIS-06", "A strong guilder made Dutch manufacturing less."),
        ("HIA-08", "Britain answered the destruction of opium with the First."),
    ],
)
def test_claim_without_its_last_noun_is_not_supported(question_id: str, claim: str) -> None:
    assert judge(question_id, claim) == ["unjudged"]


def test_verbs_of_one_event() -> None:
    for first, second in (
        ("began", "begun"),
        ("began", "started"),
        ("opened", "opening"),
        ("devised", "invented"),
        ("signed", "unterzeichnet"),
        ("reported", "reports"),
    ):
        assert is_same_event(first, second), (first, second)
    for first, second in (
        ("began", "opened"),
        ("began", "published"),
        ("found", "founded"),
        ("built", "developed"),
        ("passed", "signed"),
    ):
        assert not is_same_event(first, second), (first, second)
