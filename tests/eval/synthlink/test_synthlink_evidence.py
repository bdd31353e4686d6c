"""Tests pages as evidence: they license only their own statements and contradict none."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec
import pytest
from synthlink_adaptive_attacks import ADAPTIVE_ATTACKS
from synthlink_attacks import (
    honest_predictions,
    make_prediction,
    make_predictions,
    read_six_questions,
)

from eval.synthlink.catalog import read_catalog
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.evidence import SourcePages, collect_pieces
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import common, names, sentences
from eval.synthlink.items import Question, Source, Step
from eval.synthlink.metrics import JudgedClaim
from eval.synthlink.scoring.scores import score_predictions
from kg.words.normaliser import extract_content_words
from retrieval.corpus import Corpus, CorpusPage, read_corpus

THRESHOLDS = Thresholds()
QUESTIONS = read_catalog().questions
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


def judge_answer(answer: str, question: Question = QUESTION) -> list[JudgedClaim]:
    return list(judge_claims(answer, question, None, THRESHOLDS, SourcePages(CORPUS)))


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
        ("Barges carry coal and oil to Basel.", "licensed", "pages"),
        ("Barges of the Rhine carry oil to Basel.", "licensed", "pages"),
        ("Barges carry coal and oil to Mainz.", "unknown", "nothing"),
        ("Barges carry 40 loads of oil to Basel.", "unknown", "nothing"),
        ("Barges never carry coal and oil to Basel.", "unknown", "nothing"),
        ("Salmon came back in 1990.", "unknown", "nothing"),
        ("Ferries cross it.", "unknown", "nothing"),
        ("Johann Tulla began the work in 1817.", "licensed", "facts"),
        ("Johann Tulla began it in 1819.", "contradicted", "facts"),
    ],
)
def test_page_licenses_its_own_statements(claim: str, verdict: str, by: str) -> None:
    assert [(judged.verdict, judged.by) for judged in judge_answer(claim)] == [(verdict, by)]


def test_claims_are_unknown_without_pages() -> None:
    claim = "Barges carry coal and oil to Basel."
    assert [item.by for item in judge_claims(claim, QUESTION, None, THRESHOLDS)] == ["nothing"]
    assert {item.kind for item in collect_pieces(QUESTION)} == {"facts"}


def test_names_are_numbers_and_capitalised_words_within_the_sentence() -> None:
    assert names("Barges of Basel carried 1,200 tons in 1817.") == {"basel", "1200", "1817"}
    assert names("") == frozenset()


def list_page_sentences(question: Question) -> list[str]:
    return [
        text for page in shipped_pages().find_pages(question) for _, text in sentences(page.text)
    ]


def compute_licensed_share(claims: list[tuple[str, Question]]) -> float:
    outcomes = [
        judged.verdict == "licensed"
        for text, question in claims
        for judged in judge_claims(text, question, None, THRESHOLDS, shipped_pages())
    ]
    return sum(outcomes) / len(outcomes)


def test_only_sentences_of_the_sources_are_licensed() -> None:
    questions = QUESTIONS[::7]
    own_sentences = [
        (text, question) for question in questions for text in list_page_sentences(question)
    ]
    assert compute_licensed_share(own_sentences) > 0.98
    other_sentences = [
        (text, question)
        for question, other in zip(questions, questions[1:] + questions[:1], strict=True)
        for text in list_page_sentences(other)
    ]
    assert compute_licensed_share(other_sentences) < 0.01


def test_sentences_with_other_numbers_are_not_licensed() -> None:
    changed_sentences = [
        (re.sub(r"\d{2,}", lambda number: str(int(number[0]) + 7), text), question)
        for question in QUESTIONS[::4]
        for text in list_page_sentences(question)
        if re.search(r"(?<![.,\d])\d{2,}", text)
    ]
    assert len(changed_sentences) > 50
    assert compute_licensed_share(changed_sentences) < 0.02


def find_closest_text(fact: str, texts: list[str]) -> str:
    """Returns the text with the highest word F1 with a fact."""
    fact_words = extract_content_words(fact)

    def compute_half_f1(text: str) -> float:
        text_words = extract_content_words(text)
        return common(fact_words, text_words) / (len(fact_words) + len(text_words))

    return max(texts, key=compute_half_f1)


def test_copying_pages_scores_less_than_one_sentence_per_fact() -> None:
    catalog = msgspec.structs.replace(read_catalog(), questions=QUESTIONS[::5])
    copied_rows: list[dict[str, Any]] = []
    chosen_rows: list[dict[str, Any]] = []
    for question in catalog.questions:
        texts = [text.strip() for text in list_page_sentences(question)]
        facts = [find_closest_text(step.fact, texts) for step in question.steps]
        for rows, used_texts in ((copied_rows, texts), (chosen_rows, facts)):
            docs = [source.url for source in question.sources]
            rows.append(make_prediction(question, " ".join(dict.fromkeys(used_texts)), docs))
    copied_parts, chosen_parts = (
        [
            row.parts
            for row in score_predictions(rows, catalog, pages=read_corpus(), resamples=10)
            .modes["corrected"]
            .questions
        ]
        for rows in (copied_rows, chosen_rows)
    )
    assert all(part.brevity == 1 for part in chosen_parts)
    assert max(part.brevity or 1 for part in copied_parts) < 0.6
    copied_total, chosen_total = (
        sum(part.aggregate or 0 for part in parts) for parts in (copied_parts, chosen_parts)
    )
    assert copied_total < 0.75 * chosen_total


def test_pages_are_recorded_and_barely_help_attacks() -> None:
    catalog = read_six_questions()
    corpus = read_corpus()
    all_predictions = [make_predictions(attack, catalog) for attack in ADAPTIVE_ATTACKS.values()]
    for predictions in (*all_predictions, honest_predictions(catalog)):
        without_pages, with_pages = (
            score_predictions(predictions, catalog, pages=pages, resamples=10)
            for pages in (None, corpus)
        )
        assert (without_pages.pages, with_pages.pages) == ("", corpus.name)
        aggregates = [
            report.modes["corrected"].overall.measures["aggregate"].value or 0
            for report in (without_pages, with_pages)
        ]
        assert 0 <= aggregates[1] - aggregates[0] < 0.03


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
