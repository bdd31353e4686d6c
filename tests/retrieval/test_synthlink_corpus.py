"""The shipped pages of SynthLink: one per source, original, and needing several hops."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

import pytest

from eval.synthlink.catalog import read_catalog
from eval.synthlink.corrected.steps import find_steps_taken
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.question import Question, Step
from kg.text.normaliser import extract_content_words, split_words
from retrieval.corpus import SHIPPED_CORPUS, CorpusPage, read_corpus
from retrieval.factory import open_text_retriever

QUESTIONS = read_catalog().questions
MIN_DISTRACTORS = 110
MIN_PAGE_WORDS, MAX_PAGE_WORDS = 60, 140
"""Fewest and most words of a page."""
COPIED_RUN_LENGTH = 7
"""Number of consecutive words that a page must not share with the gold texts."""
SHARED_RUN_LENGTH = 10
"""Number of consecutive words that two pages must not share."""
MIN_FACT_SHARE = 0.6
"""A page contains a fact if it has at least this share of the fact's content words."""


@cache
def load_pages() -> dict[str, CorpusPage]:
    """All pages by their address."""
    return {page.url: page for page in read_corpus().pages}


@cache
def load_sources() -> dict[str, str]:
    """Title of each source of the catalogue, by its address."""
    return {one.url: one.title for question in QUESTIONS for one in question.sources}


@cache
def page_words(url: str) -> frozenset[str]:
    """Content words of a page, its title included."""
    page = load_pages()[url]
    return frozenset(extract_content_words(f"{page.title} {page.text}"))


def fact_share(step: Step, known_words: frozenset[str]) -> float:
    """Share of the content words of a step's fact that are among ``there``."""
    asked = set(extract_content_words(step.fact))
    return len(asked & known_words) / len(asked)


def contains_every_fact(question: Question, known_words: frozenset[str]) -> bool:
    """Whether one text contains every fact of a question."""
    return all(fact_share(step, known_words) >= MIN_FACT_SHARE for step in question.steps)


def word_ngrams(text: str, length: int) -> set[tuple[str, ...]]:
    """All sequences of ``length`` consecutive words."""
    row = split_words(text)
    return {tuple(row[start : start + length]) for start in range(len(row) - length + 1)}


def protected_texts(question: Question) -> list[str]:
    """Every text of a question that a page must not copy."""
    of_steps = [text for step in question.steps for text in (step.instruction, step.fact)]
    return [question.question, question.answer, *question.aliases, *of_steps]


def test_every_source_has_a_page_and_there_are_distractors() -> None:
    for url, title in load_sources().items():
        assert url in load_pages(), f"no page for {title}"
        assert load_pages()[url].title == title
    assert len(load_pages()) - len(load_sources()) >= MIN_DISTRACTORS


def test_pages_are_ordered_and_unique() -> None:
    rows = read_corpus().pages
    assert list(rows) == sorted(rows, key=lambda page: (page.title, page.url))
    # Two pages may have the same title only if the catalogue cites both addresses.
    twice = {title for title, count in Counter(page.title for page in rows).items() if count > 1}
    assert twice <= {t for t, count in Counter(load_sources().values()).items() if count > 1}
    by_name = Counter(page.url.casefold().replace("_", " ") for page in rows)
    assert by_name.most_common(1)[0][1] == 1


@pytest.mark.parametrize("url", load_pages())
def test_a_page_is_a_short_article(url: str) -> None:
    page = load_pages()[url]
    assert MIN_PAGE_WORDS <= len(page.text.split()) <= MAX_PAGE_WORDS
    assert page.text == "\n\n".join(page.paragraphs)
    assert 1 <= len(page.paragraphs) <= 3
    for text in (page.title, *page.paragraphs):
        assert text == " ".join(text.split()) == unicodedata.normalize("NFC", text)
        assert text.isprintable()
    for paragraph in page.paragraphs:
        assert re.search(r"[.!?][\"”)]?$", paragraph), "a paragraph ends with sentence punctuation"


def test_no_page_copies_a_question_or_its_answer() -> None:
    of_gold = {
        run: one.id
        for one in QUESTIONS
        for text in protected_texts(one)
        for run in word_ngrams(text, COPIED_RUN_LENGTH)
    }
    for page in load_pages().values():
        for run in word_ngrams(page.text, COPIED_RUN_LENGTH) & of_gold.keys():
            pytest.fail(f"{page.title}: {' '.join(run)!r} stands in {of_gold[run]}")


def test_no_page_copies_another() -> None:
    first: dict[tuple[str, ...], str] = {}
    for page in load_pages().values():
        for run in word_ngrams(page.text, SHARED_RUN_LENGTH):
            assert first.setdefault(run, page.url) == page.url, f"{page.url}: {' '.join(run)}"


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_every_step_is_answered_by_a_source(question: Question) -> None:
    each = [page_words(source.url) for source in question.sources]
    together = frozenset[str]().union(*each)
    for step in question.steps:
        assert max(fact_share(step, there) for there in each) >= MIN_FACT_SHARE, step.fact
        for keyword in step.keywords:
            assert set(extract_content_words(keyword)) <= together, keyword


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_no_page_alone_answers_all_steps(question: Question) -> None:
    for url in load_pages():
        assert not contains_every_fact(question, page_words(url)), url
    # The check would detect such a page.
    facts = " ".join(step.fact for step in question.steps)
    assert contains_every_fact(question, frozenset(extract_content_words(facts)))


def test_scorer_finds_steps_on_sources_but_never_all_on_one() -> None:
    # "Nearly", because pages are not written for the scorer, which may miss a stated fact.
    steps = found = 0
    for question in QUESTIONS:
        every = frozenset(range(len(question.steps)))
        each = [
            frozenset(find_steps_taken(load_pages()[source.url].text, question, Thresholds()) or ())
            for source in question.sources
        ]
        assert every not in each, question.id
        steps += len(every)
        found += len(frozenset[int]().union(*each))
    assert found >= 0.98 * steps


def test_question_alone_does_not_retrieve_all_sources() -> None:
    corpus = read_corpus()
    bm25 = open_text_retriever("bm25", corpus.list_passages())
    some = whole = 0
    for question in QUESTIONS:
        asked = {source.url for source in question.sources}
        hits = bm25.search(question.question, 10)
        first = list(dict.fromkeys(corpus.get_page_of_passage(passage).url for passage, _ in hits))[
            :5
        ]
        some += bool(asked & set(first))
        whole += asked <= set(first)
    assert whole < len(QUESTIONS) / 3, "a single search must not be enough"
    assert some > len(QUESTIONS) * 2 / 3, "else there would be nowhere to begin"
    readme = (SHIPPED_CORPUS.parent / "README.md").read_text(encoding="utf-8")
    assert f"for {some} of {len(QUESTIONS)} questions and all sources for {whole}." in readme


def test_readme_counts_are_right() -> None:
    readme = (SHIPPED_CORPUS.parent / "README.md").read_text(encoding="utf-8")
    others = len(load_pages()) - len(load_sources())
    assert f"{len(load_pages())} pages" in readme
    assert f"{len(load_sources())} stand for the sources" in readme
    assert f"{others} are distractors" in readme
    count = sum(len(page.text.split()) for page in load_pages().values())
    assert f"about {round(count, -3):,} words" in readme
