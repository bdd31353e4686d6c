"""Tests the shipped pages of SynthLink: one per source, no copied text, several hops needed."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

import pytest

from eval.synthlink.catalog import read_catalog
from eval.synthlink.items import Question, Step
from kg.words.normaliser import extract_content_words, split_words
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
    """Returns all pages by their address."""
    return {page.url: page for page in read_corpus().pages}


@cache
def load_sources() -> dict[str, str]:
    """Returns the title of each source of the catalogue, by its address."""
    return {source.url: source.title for question in QUESTIONS for source in question.sources}


@cache
def get_page_words(url: str) -> frozenset[str]:
    """Returns the content words of a page and its title."""
    page = load_pages()[url]
    return frozenset(extract_content_words(f"{page.title} {page.text}"))


def compute_fact_share(step: Step, known_words: frozenset[str]) -> float:
    """Computes which share of the content words of a step's fact are among ``known_words``."""
    fact_words = set(extract_content_words(step.fact))
    return len(fact_words & known_words) / len(fact_words)


def contains_every_fact(question: Question, known_words: frozenset[str]) -> bool:
    """Tells whether a text with these words contains every fact of a question."""
    return all(compute_fact_share(step, known_words) >= MIN_FACT_SHARE for step in question.steps)


def list_word_ngrams(text: str, length: int) -> set[tuple[str, ...]]:
    """Lists all sequences of ``length`` consecutive words."""
    words = split_words(text)
    return {tuple(words[start : start + length]) for start in range(len(words) - length + 1)}


def list_protected_texts(question: Question) -> list[str]:
    """Lists every text of a question that a page must not copy."""
    step_texts = [text for step in question.steps for text in (step.instruction, step.fact)]
    return [question.question, question.answer, *question.aliases, *step_texts]


def test_every_source_has_a_page_and_there_are_distractors() -> None:
    for url, title in load_sources().items():
        assert url in load_pages(), f"no page for {title}"
        assert load_pages()[url].title == title
    assert len(load_pages()) - len(load_sources()) >= MIN_DISTRACTORS


def test_pages_are_ordered_and_unique() -> None:
    pages = read_corpus().pages
    assert list(pages) == sorted(pages, key=lambda page: (page.title, page.url))
    # Two pages may have the same title only if the catalogue cites both addresses.
    repeated_titles = {
        title for title, count in Counter(page.title for page in pages).items() if count > 1
    }
    assert repeated_titles <= {
        t for t, count in Counter(load_sources().values()).items() if count > 1
    }
    address_counts = Counter(page.url.casefold().replace("_", " ") for page in pages)
    assert address_counts.most_common(1)[0][1] == 1


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
    question_ids = {
        run: question.id
        for question in QUESTIONS
        for text in list_protected_texts(question)
        for run in list_word_ngrams(text, COPIED_RUN_LENGTH)
    }
    for page in load_pages().values():
        for run in list_word_ngrams(page.text, COPIED_RUN_LENGTH) & question_ids.keys():
            pytest.fail(f"{page.title}: {' '.join(run)!r} occurs in {question_ids[run]}")


def test_no_page_copies_another() -> None:
    first_page_of_run: dict[tuple[str, ...], str] = {}
    for page in load_pages().values():
        for run in list_word_ngrams(page.text, SHARED_RUN_LENGTH):
            assert first_page_of_run.setdefault(run, page.url) == page.url, (
                f"{page.url}: {' '.join(run)}"
            )


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_every_step_is_answered_by_a_source(question: Question) -> None:
    word_sets = [get_page_words(source.url) for source in question.sources]
    all_words = frozenset[str]().union(*word_sets)
    for step in question.steps:
        largest_share = max(compute_fact_share(step, source_words) for source_words in word_sets)
        assert largest_share >= MIN_FACT_SHARE, step.fact
        for keyword in step.keywords:
            assert set(extract_content_words(keyword)) <= all_words, keyword


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_no_page_alone_answers_all_steps(question: Question) -> None:
    for url in load_pages():
        assert not contains_every_fact(question, get_page_words(url)), url
    # The check would detect such a page: a text of all facts passes it.
    facts = " ".join(step.fact for step in question.steps)
    assert contains_every_fact(question, frozenset(extract_content_words(facts)))


def test_question_alone_does_not_retrieve_all_sources() -> None:
    corpus = read_corpus()
    bm25 = open_text_retriever("bm25", corpus.list_passages())
    n_some = n_all = 0
    for question in QUESTIONS:
        sources = {source.url for source in question.sources}
        hits = bm25.search(question.question, 10)
        first_pages = list(
            dict.fromkeys(corpus.get_page_of_passage(passage).url for passage, _ in hits)
        )[:5]
        n_some += bool(sources & set(first_pages))
        n_all += sources <= set(first_pages)
    assert n_all < len(QUESTIONS) / 3, "a single search must not be enough"
    assert n_some > len(QUESTIONS) * 2 / 3, "a first search must usually find one source"
    readme = (SHIPPED_CORPUS.parent / "README.md").read_text(encoding="utf-8")
    assert f"for {n_some} of {len(QUESTIONS)} questions and all sources for {n_all}." in readme


def test_readme_counts_are_right() -> None:
    readme = (SHIPPED_CORPUS.parent / "README.md").read_text(encoding="utf-8")
    n_distractors = len(load_pages()) - len(load_sources())
    assert f"{len(load_pages())} pages" in readme
    assert f"{len(load_sources())} stand for the sources" in readme
    assert f"{n_distractors} are distractors" in readme
    n_words = sum(len(page.text.split()) for page in load_pages().values())
    assert f"about {round(n_words, -3):,} words" in readme
