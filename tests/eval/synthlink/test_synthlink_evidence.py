"""Pages as evidence: they license what they say, and nothing else, and contradict nothing."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec
import pytest
from synthlink_adaptive_attacks import ADAPTIVE
from synthlink_attacks import answered, honest, prediction, six_questions

from eval.synthlink.catalog import read_catalog
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.evidence import SourcePages, pieces
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import common, names, sentences
from eval.synthlink.measures import Judged
from eval.synthlink.question import Question, Source, Step
from eval.synthlink.scores import score
from kg.text.normaliser import content_words
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
def shipped() -> SourcePages:
    return SourcePages(read_corpus())


def judged(answer: str, question: Question = QUESTION) -> list[Judged]:
    return list(judge_claims(answer, question, None, BAR, SourcePages(CORPUS)))


def test_a_page_is_found_by_any_form_of_its_address_or_by_title() -> None:
    pages = SourcePages(CORPUS)
    assert pages.of(QUESTION) == (RHINE,)
    by_title = msgspec.structs.replace(QUESTION, sources=(Source("rhine"), Source("Rhine")))
    assert pages.of(by_title) == (RHINE,)
    other = msgspec.structs.replace(
        QUESTION, sources=(Source("Rhine", "https://de.wikipedia.org/wiki/Rhine"), Source("Oder"))
    )
    assert pages.of(other) == ()
    assert pages.lacking([QUESTION, other]) == 2


def test_pages_are_found_for_every_shipped_source() -> None:
    assert shipped().lacking(QUESTIONS) == 0
    for question in QUESTIONS:
        assert len(shipped().of(question)) == len(question.sources)


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
def test_a_page_licenses_what_it_says(claim: str, verdict: str, by: str) -> None:
    assert [(one.verdict, one.by) for one in judged(claim)] == [(verdict, by)]


def test_without_pages_nothing_of_them_is_known() -> None:
    claim = "Barges carry coal and oil to Basel."
    assert [one.by for one in judge_claims(claim, QUESTION, None, BAR)] == ["nothing"]
    assert {one.held for one in pieces(QUESTION)} == {"facts"}


def test_names_are_numbers_and_words_with_a_capital_within_the_sentence() -> None:
    assert names("Barges of Basel carried 1,200 tons in 1817.") == {"basel", "1200", "1817"}
    assert names("") == frozenset()


def texts_of(question: Question) -> list[str]:
    return [text for page in shipped().of(question) for _, text in sentences(page.text)]


def share_licensed(claims: list[tuple[str, Question]]) -> float:
    found = [
        one.verdict == "licensed"
        for text, question in claims
        for one in judge_claims(text, question, None, BAR, shipped())
    ]
    return sum(found) / len(found)


def test_sentences_of_the_sources_are_licensed_and_those_of_others_are_not() -> None:
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


def closest(fact: str, texts: list[str]) -> str:
    """The text that shares most with a fact, as F1 of words."""
    wanted = content_words(fact)
    return max(
        texts,
        key=lambda text: common(wanted, found := content_words(text)) / (len(wanted) + len(found)),
    )


def test_copying_out_pages_pays_less_than_a_sentence_for_each_fact() -> None:
    catalog = msgspec.structs.replace(read_catalog(), questions=QUESTIONS[::5])
    copied: list[dict[str, Any]] = []
    chosen: list[dict[str, Any]] = []
    for question in catalog.questions:
        texts = [text.strip() for text in texts_of(question)]
        facts = [closest(step.fact, texts) for step in question.steps]
        for rows, said in ((copied, texts), (chosen, facts)):
            docs = [source.url for source in question.sources]
            rows.append(prediction(question, " ".join(dict.fromkeys(said)), docs))
    copied_parts, chosen_parts = (
        [
            row.parts
            for row in score(rows, catalog, pages=read_corpus(), resamples=10)
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


def test_pages_are_on_record_and_help_no_attack_much() -> None:
    six = six_questions()
    corpus = read_corpus()
    rows = {name: answered(make, six) for name, make in ADAPTIVE.items()} | {"": honest(six)}
    for made in rows.values():
        without, with_pages = (
            score(made, six, pages=pages, resamples=10) for pages in (None, corpus)
        )
        assert (without.pages, with_pages.pages) == ("", corpus.name)
        gain = [
            report.modes["corrected"].overall.measures["aggregate"].value or 0
            for report in (without, with_pages)
        ]
        assert 0 <= gain[1] - gain[0] < 0.03


def test_notes_tell_what_claims_are_held_against() -> None:
    six = six_questions()
    few = Corpus((RHINE,), "few")
    notes = score([], six, pages=few, resamples=10).notes
    wanted = len({source for question in six.questions for source in question.sources})
    assert f"{wanted} sources have no page in the corpus" in notes
    assert any("expected answers and pages of the sources alone" in note for note in notes)


def test_what_claims_are_held_against_is_said_of_corrected_scores_alone() -> None:
    for mode, said in (("literal", False), ("corrected", True), ("both", True)):
        notes = score([], read_catalog(), mode).notes
        assert any("claims are held against" in note for note in notes) is said, mode
