"""Tests pages as evidence: they license only their own statements and contradict none."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest
from synthlink_six_answers import read_six_questions

from eval.synthlink.catalog import read_catalog
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.evidence import SourcePages, collect_sentences
from eval.synthlink.items import CATEGORIES, Question, Source, Step
from eval.synthlink.scoring.scores import score_predictions
from eval.synthlink.sentences import split_sentences
from retrieval.corpus import Corpus, CorpusPage, read_corpus

QUESTIONS = sorted(
    read_catalog().questions, key=lambda q: (list(CATEGORIES).index(q.category), q.id)
)
RHINE = CorpusPage(
    "https://en.wikipedia.org/wiki/Rhine",
    "Rhine",
    "Johann Tulla straightened the upper river from 1817.\n\nNo salmon came back until 1990. "
    "Barges carry coal, ore and oil from Rotterdam to Basel.",
)
CORPUS = Corpus((RHINE, CorpusPage("https://a.example/x", "Elbe", "Ferries cross it.")), "two")
QUESTION = Question(
    id="EEC-01",
    category="EEC",
    question="Why was a river straightened?",
    answer="Floods had ruined villages.",
    sources=(Source("Rhine", "http://en.m.wikipedia.org/wiki/Rhine#Course"),),
    steps=(Step("x", "Tulla began in 1817.", ("Tulla", "1817")),),
)


@cache
def shipped_pages() -> SourcePages:
    return SourcePages(read_corpus())


def test_page_is_found_by_any_address_form_or_title() -> None:
    pages = SourcePages(CORPUS)
    assert pages.find_pages(QUESTION) == (RHINE,)
    by_title = msgspec.structs.replace(QUESTION, sources=(Source("rhine"), Source("Rhine")))
    assert pages.find_pages(by_title) == (RHINE,)
    other = msgspec.structs.replace(
        QUESTION, sources=(Source("Rhine", "https://de.wikipedia.org/wiki/Rhine"), Source("Oder"))
    )
    assert pages.find_pages(other) == ()
    assert pages.count_missing([QUESTION, other]) == 2


def test_pages_are_found_for_every_shipped_source() -> None:
    assert shipped_pages().count_missing(QUESTIONS) == 0
    for question in QUESTIONS:
        assert len(shipped_pages().find_pages(question)) == len(question.sources)


@pytest.mark.parametrize(
    ("claim", "verdict", "by"),
    [
        ("Barges carry coal, ore and oil from Rotterdam to Basel.", "supported", "pages"),
        ("barges carry coal ore and oil from Rotterdam to Basel", "supported", "pages"),
        ("Barges carry coal and oil to Basel.", "unjudged", "nothing"),
        ("Barges never carry coal, ore and oil from Rotterdam to Basel.", "contradicted", "pages"),
        ("Ferries cross it.", "unjudged", "nothing"),
        ("Tulla began in 1817.", "supported", "facts"),
        ("Tulla began in 1819.", "contradicted", "facts"),
    ],
)
def test_pages_license_their_own_sentences(claim: str, verdict: str, by: str) -> None:
    claims = judge_claims(claim, QUESTION, None, SourcePages(CORPUS))
    assert [(judged.verdict, judged.by) for judged in claims] == [(verdict, by)]


def test_without_pages_their_claims_are_not_found() -> None:
    claim = "Barges carry coal, ore and oil from Rotterdam to Basel."
    assert [item.verdict for item in judge_claims(claim, QUESTION, None)] == ["not_found"]
    assert set(collect_sentences(QUESTION).values()) == {"facts"}
    assert set(collect_sentences(QUESTION, SourcePages(CORPUS)).values()) == {"facts", "pages"}


def list_page_sentences(question: Question) -> list[str]:
    return [
        text
        for page in shipped_pages().find_pages(question)
        for _, text in split_sentences(page.text)
    ]


def test_shipped_pages_license_their_sentences_for_their_questions_only() -> None:
    questions = QUESTIONS[::7]
    for question, other in zip(questions, questions[1:] + questions[:1], strict=True):
        sentences = list_page_sentences(question)
        for asked, expected in ((question, {"supported"}), (other, {"unjudged", "not_found"})):
            claims = judge_claims(" ".join(sentences), asked, None, shipped_pages())
            assert len(claims) > len(sentences) / 2
            assert {claim.verdict for claim in claims} <= expected


def test_notes_name_the_evidence_for_claims() -> None:
    catalog = read_six_questions()
    corpus = Corpus((RHINE,), "few")
    notes = score_predictions([], catalog, pages=corpus, resamples=10).notes
    source_count = len({source for question in catalog.questions for source in question.sources})
    assert f"{source_count} sources have no page in the corpus" in notes
    assert any("expected answers and pages of the sources only" in note for note in notes)


def test_evidence_is_noted_for_corrected_scores_only() -> None:
    for mode, noted in (("literal", False), ("corrected", True), ("both", True)):
        notes = score_predictions([], read_catalog(), mode).notes
        assert any("claims are checked against" in note for note in notes) is noted, mode
