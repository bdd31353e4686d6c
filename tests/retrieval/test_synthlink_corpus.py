"""The pages that are shipped for SynthLink: there for every source, original, and multi-hop."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

import pytest

from eval.synthlink.catalog import read_catalog
from eval.synthlink.corrected.steps import steps_taken
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.question import Question, Step
from kg.text.normaliser import content_words, words
from retrieval.corpus import SHIPPED, CorpusPage, read_corpus
from retrieval.opening import open_text_retriever

QUESTIONS = read_catalog().questions
LEAST_DISTRACTORS = 110
SHORTEST, LONGEST = 60, 140
"""Words of a page."""
RUN = 7
"""Words in a row that a page and the gold may not have in common."""
RUN_OF_PAGES = 10
"""Words in a row that two pages may not have in common."""
TELLS = 0.6
"""Share of a fact's content words from which on a page counts as telling it."""


@cache
def pages() -> dict[str, CorpusPage]:
    """All pages by their address."""
    return {page.url: page for page in read_corpus().pages}


@cache
def sources() -> dict[str, str]:
    """Title of each source of the catalogue, by its address."""
    return {one.url: one.title for question in QUESTIONS for one in question.sources}


@cache
def told(url: str) -> frozenset[str]:
    """Content words of a page, its title included."""
    page = pages()[url]
    return frozenset(content_words(f"{page.title} {page.text}"))


def share(step: Step, there: frozenset[str]) -> float:
    """Share of the words of a step's fact that are there."""
    asked = set(content_words(step.fact))
    return len(asked & there) / len(asked)


def tells_all(question: Question, there: frozenset[str]) -> bool:
    """Whether one text tells every fact of a question."""
    return all(share(step, there) >= TELLS for step in question.steps)


def runs(text: str, length: int) -> set[tuple[str, ...]]:
    """All runs of so many words."""
    row = words(text)
    return {tuple(row[start : start + length]) for start in range(len(row) - length + 1)}


def gold(question: Question) -> list[str]:
    """Every text of a question that a page must not copy."""
    of_steps = [text for step in question.steps for text in (step.instruction, step.fact)]
    return [question.question, question.answer, *question.aliases, *of_steps]


def test_every_source_has_its_page_and_distractors_stand_beside_them() -> None:
    for url, title in sources().items():
        assert url in pages(), f"no page for {title}"
        assert pages()[url].title == title
    assert len(pages()) - len(sources()) >= LEAST_DISTRACTORS


def test_pages_are_in_order_and_none_stands_twice() -> None:
    rows = read_corpus().pages
    assert list(rows) == sorted(rows, key=lambda page: (page.title, page.url))
    # Two addresses of one title are meant only where the catalogue cites both.
    twice = {title for title, count in Counter(page.title for page in rows).items() if count > 1}
    assert twice <= {t for t, count in Counter(sources().values()).items() if count > 1}
    by_name = Counter(page.url.casefold().replace("_", " ") for page in rows)
    assert by_name.most_common(1)[0][1] == 1


@pytest.mark.parametrize("url", pages())
def test_a_page_is_a_short_article(url: str) -> None:
    page = pages()[url]
    assert SHORTEST <= len(page.text.split()) <= LONGEST
    assert page.text == "\n\n".join(page.paragraphs)
    assert 1 <= len(page.paragraphs) <= 3
    for text in (page.title, *page.paragraphs):
        assert text == " ".join(text.split()) == unicodedata.normalize("NFC", text)
        assert text.isprintable()
    for paragraph in page.paragraphs:
        assert re.search(r"[.!?][\"”)]?$", paragraph), "a paragraph ends as a sentence does"


def test_no_page_copies_a_question_or_its_answer() -> None:
    of_gold = {run: one.id for one in QUESTIONS for text in gold(one) for run in runs(text, RUN)}
    for page in pages().values():
        for run in runs(page.text, RUN) & of_gold.keys():
            pytest.fail(f"{page.title}: {' '.join(run)!r} stands in {of_gold[run]}")


def test_no_page_copies_another() -> None:
    first: dict[tuple[str, ...], str] = {}
    for page in pages().values():
        for run in runs(page.text, RUN_OF_PAGES):
            assert first.setdefault(run, page.url) == page.url, f"{page.url}: {' '.join(run)}"


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_each_step_is_told_on_a_source_of_its_question(question: Question) -> None:
    each = [told(source.url) for source in question.sources]
    together = frozenset[str]().union(*each)
    for step in question.steps:
        assert max(share(step, there) for there in each) >= TELLS, step.fact
        for keyword in step.keywords:
            assert set(content_words(keyword)) <= together, keyword


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_no_page_alone_tells_all_steps(question: Question) -> None:
    for url in pages():
        assert not tells_all(question, told(url)), url
    # The measure would see such a page.
    facts = " ".join(step.fact for step in question.steps)
    assert tells_all(question, frozenset(content_words(facts)))


def test_the_scorer_finds_nearly_every_step_on_some_source_and_all_on_none() -> None:
    # Nearly: pages are not written for a measure, and a measure may miss what a page tells.
    steps = found = 0
    for question in QUESTIONS:
        every = frozenset(range(len(question.steps)))
        each = [
            frozenset(steps_taken(pages()[source.url].text, question, Thresholds()) or ())
            for source in question.sources
        ]
        assert every not in each, question.id
        steps += len(every)
        found += len(frozenset[int]().union(*each))
    assert found >= 0.98 * steps


def test_the_question_alone_does_not_find_all_sources() -> None:
    corpus = read_corpus()
    bm25 = open_text_retriever("bm25", corpus.passages())
    some = whole = 0
    for question in QUESTIONS:
        asked = {source.url for source in question.sources}
        hits = bm25.search(question.question, 10)
        first = list(dict.fromkeys(corpus.page_of(passage).url for passage, _ in hits))[:5]
        some += bool(asked & set(first))
        whole += asked <= set(first)
    assert whole < len(QUESTIONS) / 3, "else one search would do"
    assert some > len(QUESTIONS) * 2 / 3, "else there would be nowhere to begin"
    readme = (SHIPPED.parent / "README.md").read_text(encoding="utf-8")
    assert f"for {some} of {len(QUESTIONS)} questions and all sources for {whole}." in readme


def test_the_readme_counts_what_is_there() -> None:
    readme = (SHIPPED.parent / "README.md").read_text(encoding="utf-8")
    others = len(pages()) - len(sources())
    assert f"{len(pages())} pages" in readme
    assert f"{len(sources())} stand for the sources" in readme
    assert f"{others} are distractors" in readme
    count = sum(len(page.text.split()) for page in pages().values())
    assert f"about {round(count, -3):,} words" in readme
