"""Pages as evidence: they license only their own statements and contradict none."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec
import pytest
from synthlink_adaptive_attacks import ADAPTIVE_ATTACKS
from synthlink_attacks import honest_predictions, make_prediction, predict_with, read_six_questions

from eval.synthlink.catalog import read_catalog
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.evidence import SourcePages, collect_pieces
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import common, names, sentences
from eval.synthlink.metrics import JudgedClaim
from eval.synthlink.question import Question, Source, Step
from eval.synthlink.scores import score_predictions
from kg.text.normaliser import extract_content_words
from retrieval.corpus import Corpus, CorpusPage, read_corpus

BAR = Thresholds()
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
    return list(judge_claims(answer, question, None, BAR, SourcePages(CORPUS)))


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
    assert [(one.verdict, one.by) for one in judge_answer(claim)] == [(verdict, by)]


def test_claims_are_unknown_without_pages() -> None:
    claim = "Barges carry coal and oil to Basel."
    assert [one.by for one in judge_claims(claim, QUESTION, None, BAR)] == ["nothing"]
    assert {one.kind for one in collect_pieces(QUESTION)} == {"facts"}


def test_names_are_numbers_and_capitalised_words_within_the_sentence() -> None:
    assert names("Barges of Basel carried 1,200 tons in 1817.") == {"basel", "1200", "1817"}
    assert names("") == frozenset()


def texts_of(question: Question) -> list[str]:
    return [
        text for page in shipped_pages().find_pages(question) for _, text in sentences(page.text)
    ]


def share_licensed(claims: list[tuple[str, Question]]) -> float:
    found = [
        one.verdict == "licensed"
        for text, question in claims
        for one in judge_claims(text, question, None, BAR, shipped_pages())
    ]
    return sum(found) / len(found)


def test_only_sentences_of_the_sources_are_licensed() -> None:
    some = QUESTIONS[::7]
    own = [(text, question) for question in some for text in texts_of(question)]
    assert share_licensed(own) > 0.98
    others = [
        (text, question)
        for question, other in zip(some, some[1:] + some[:1], strict=True)
        for text in texts_of(other)
    ]
    assert share_licensed(others) < 0.01


def test_sentences_with_other_numbers_are_not_licensed() -> None:
    changed = [
        (re.sub(r"\d{2,}", lambda found: str(int(found[0]) + 7), text), question)
        for question in QUESTIONS[::4]
        for text in texts_of(question)
        if re.search(r"(?<![.,\d])\d{2,}", text)
    ]
    assert len(changed) > 50
    assert share_licensed(changed) < 0.02


def closest_text(fact: str, texts: list[str]) -> str:
    """Returns the text with the highest word F1 with a fact."""
    wanted = extract_content_words(fact)
    return max(
        texts,
        key=lambda text: (
            common(wanted, found := extract_content_words(text)) / (len(wanted) + len(found))
        ),
    )


def test_copying_pages_scores_less_than_one_sentence_per_fact() -> None:
    catalog = msgspec.structs.replace(read_catalog(), questions=QUESTIONS[::5])
    copied: list[dict[str, Any]] = []
    chosen: list[dict[str, Any]] = []
    for question in catalog.questions:
        texts = [text.strip() for text in texts_of(question)]
        facts = [closest_text(step.fact, texts) for step in question.steps]
        for rows, said in ((copied, texts), (chosen, facts)):
            docs = [source.url for source in question.sources]
            rows.append(make_prediction(question, " ".join(dict.fromkeys(said)), docs))
    copied_parts, chosen_parts = (
        [
            row.parts
            for row in score_predictions(rows, catalog, pages=read_corpus(), resamples=10)
            .modes["corrected"]
            .questions
        ]
        for rows in (copied, chosen)
    )
    assert all(part.brevity == 1 for part in chosen_parts)
    assert max(part.brevity or 1 for part in copied_parts) < 0.6
    total, chosen_total = (
        sum(part.aggregate or 0 for part in parts) for parts in (copied_parts, chosen_parts)
    )
    assert total < 0.75 * chosen_total


def test_pages_are_recorded_and_barely_help_attacks() -> None:
    six = read_six_questions()
    corpus = read_corpus()
    rows = {name: predict_with(make, six) for name, make in ADAPTIVE_ATTACKS.items()} | {
        "": honest_predictions(six)
    }
    for made in rows.values():
        without, with_pages = (
            score_predictions(made, six, pages=pages, resamples=10) for pages in (None, corpus)
        )
        assert (without.pages, with_pages.pages) == ("", corpus.name)
        gain = [
            report.modes["corrected"].overall.measures["aggregate"].value or 0
            for report in (without, with_pages)
        ]
        assert 0 <= gain[1] - gain[0] < 0.03


def test_notes_name_the_evidence_for_claims() -> None:
    six = read_six_questions()
    few = Corpus((RHINE,), "few")
    notes = score_predictions([], six, pages=few, resamples=10).notes
    wanted = len({source for question in six.questions for source in question.sources})
    assert f"{wanted} sources have no page in the corpus" in notes
    assert any("expected answers and pages of the sources only" in note for note in notes)


def test_evidence_is_noted_for_corrected_scores_only() -> None:
    for mode, said in (("literal", False), ("corrected", True), ("both", True)):
        notes = score_predictions([], read_catalog(), mode).notes
        assert any("claims are checked against" in note for note in notes) is said, mode
