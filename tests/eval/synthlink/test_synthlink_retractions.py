"""Tests that an answer is not scored for claims that it says are not true, in whatever sentence."""

from __future__ import annotations

import csv
import gzip
import io
import json
import time
from pathlib import Path

import pytest

from eval.synthlink.catalog import read_catalog
from eval.synthlink.claims.claim_decider import ClaimDecider
from eval.synthlink.claims.splitter import split_claims
from eval.synthlink.corrected.claims import judge_claims

QUESTION = read_catalog().questions[0]
DECIDER = ClaimDecider(QUESTION, None)
FIRST = "Eli Whitney patented the cotton gin in 1794."
SECOND = "The cotton gin made inland growing of short-staple cotton profitable."
TEXTS = [f"{FIRST} {SECOND}", f"* {FIRST}\n* {SECOND}"]


def list_verdicts(answer: str) -> dict[str, str]:
    """Returns the verdicts on the two facts, as far as they are claims of their own."""
    verdicts = {}
    for claim in judge_claims(answer, QUESTION, None, decider=DECIDER):
        for fact in (FIRST, SECOND):
            if claim.text.rstrip(" .*\n").endswith(fact.rstrip(".")):
                verdicts[fact] = claim.verdict
    return verdicts


def test_the_facts_are_supported_by_themselves() -> None:
    for text in TEXTS:
        assert list_verdicts(text) == {FIRST: "supported", SECOND: "supported"}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "before",
    [
        "Not one of the following sentences is correct.",
        "Every statement below is a fabrication.",
        "What follows is pure fiction!",
        "All of these claims are untrue.",
        "I am about to tell you lies: I lied about everything that follows.",
        "Please do not trust the following:",
        "Debunked:",
        "# Legends",
        "### Widespread misconceptions about the cotton gin",
        "**Fallacies**",
        "Misconceptions\n--------------",
        "Old myths",
        "Myth 2:",
        "Supposedly:",
        "Many people believe:",
        "Let me begin. Neither of these statements is accurate.",
        "Keine der nachstehenden Aussagen stimmt.",
        "Die folgenden Sätze sind gelogen:",
        "## Irrtümer",
        "Was folgt, ist frei erfunden.",
    ],
)
def test_what_is_announced_as_false_is_not_supported(before: str, text: str) -> None:
    for gap in ("\n\n", "\n" if text.startswith("*") or before[-1] in ".!:" else "\n\n"):
        assert "supported" not in list_verdicts(f"{before}{gap}{text}").values()


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "after",
    [
        "Neither claim is true.",
        "Scholars have long since debunked both statements.",
        "None of the above assertions about the cotton gin holds up.",
        "Please ignore the statements above.",
        "I invented everything.",
        "I have made it all up.",
        "Not a word of that is true.",
        "Assessment: the statements are false.",
        "Ruling: mostly false.",
        "Fact check: fake news!",
        "Untrue.",
        "Only joking!",
        "*(This whole answer is made up.)*",
        "Is any of that accurate? Not at all.",
        "Keine dieser Behauptungen ist wahr.",
        "Ich habe mir das nur ausgedacht.",
        "Beides ist falsch: Die Forschung hat diese Aussagen widerlegt.",
        "Bewertung: falsch.",
    ],
)
def test_what_is_taken_back_afterwards_is_not_supported(after: str, text: str) -> None:
    for gap in (" ", "\n\n"):
        assert "supported" not in list_verdicts(f"{text}{gap}{after}").values()


def test_only_what_a_sentence_points_at_is_taken_back() -> None:
    third = "Ships carried the cotton to Liverpool."

    def list_retracted(answer: str) -> list[str]:
        return [
            claim.text
            for claim in split_claims(answer, {"eli", "cotton"})
            if claim.is_retracted and claim.text in (FIRST, SECOND, third)
        ]

    assert list_retracted(f"{FIRST} {SECOND} This claim is false. {third}") == [SECOND]
    assert list_retracted(f"{FIRST} {SECOND} Both claims are false. {third}") == [FIRST, SECOND]
    assert list_retracted(f"{FIRST} The following claim is a lie. {SECOND}") == [SECOND]
    # Titles deny what is below them, up to the next title that does not.
    assert list_retracted(f"{FIRST}\n\n## Myths\n\n{SECOND}\n\n## Trade\n\n{third}") == [SECOND]
    assert list_retracted(f"## Myths\n\n### Gins\n\n{SECOND}\n\n# Trade\n\n{third}") == [SECOND]
    assert list_retracted(f"Common myths:\n\n{SECOND}\n\nThe facts:\n\n{third}") == [SECOND]


@pytest.mark.parametrize(
    "before",
    [
        "In short:\n\n",
        "Answer:\n\n",
        "Here is what the sources say:\n\n",
        "The following facts explain it.",
        "Both of the following statements are true.",
        "## What went wrong\n\n",
        "The causes lie in the following:\n\n",
        "## Why the old ways failed\n\n",
        "## Religious beliefs\n\n",
        "No tools, no trade:\n\n",
        "Zusammengefasst:\n\n",
        "Folgendes sagen die Quellen:\n\n",
    ],
)
def test_ordinary_beginnings_take_nothing_back(before: str) -> None:
    for text in TEXTS:
        found = list_verdicts(f"{before} {text}" if before[-1] != "\n" else before + text)
        assert found == {FIRST: "supported", SECOND: "supported"}


@pytest.mark.parametrize(
    "after",
    [
        "These statements are well documented.",
        "Both claims are supported by the sources.",
        "Thus the answer is confirmed.",
        "The army was made up of farmers.",
        "There was no proof of it in Georgia.",
        "In the following years, false reports spread.",
        "Congress rejected the claims of Miller in 1797.",
        "Diese Aussagen sind belegt.",
    ],
)
def test_ordinary_ends_take_nothing_back(after: str) -> None:
    for text in TEXTS:
        found = list_verdicts(f"{text}\n\n{after}")
        assert found == {FIRST: "supported", SECOND: "supported"}


def test_no_expected_answer_and_no_fact_is_taken_back() -> None:
    for question in read_catalog().questions:
        texts = [question.answer, *question.aliases, " ".join(step.fact for step in question.steps)]
        claims = [claim for text in texts for claim in split_claims(text)]
        assert not [claim.text for claim in claims if claim.is_retracted]


def test_no_summary_of_the_public_data_is_taken_back(public_data: Path) -> None:
    file = public_data / "foreign/claims/xsum-factuality/factuality_annotations_xsum_summaries.csv"
    with gzip.open(f"{file}.gz") as stream:
        rows = csv.DictReader(io.TextIOWrapper(stream, errors="replace"))
        summaries = sorted({row["summary"] for row in rows})
    claims = [claim for summary in summaries for claim in split_claims(summary)]
    assert len(claims) == 1905
    assert not [claim.text for claim in claims if claim.is_retracted]


@pytest.mark.parametrize(
    "part",
    ["False. ", "all " * 50, "what " * 50, "made " * 9, "::", "#", "# a\n", "\n**\n", "**a:"],
)
def test_hostile_answers_are_read_in_bounded_time(part: str) -> None:
    start = time.process_time()
    assert json.dumps([claim.is_retracted for claim in split_claims(part * (40_000 // len(part)))])
    assert time.process_time() - start < 5
