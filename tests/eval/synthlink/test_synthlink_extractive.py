"""Tests ``Extractive``, which quotes page sentences that contain the words of the question.

Later rounds also search for words of the pages found before; this is called feedback.
"""

from __future__ import annotations

import asyncio
import inspect

import pytest
from synthlink_libraries import make_library

from eval.synthlink.agents.extractive import FEEDBACK_WEIGHT, MAX_SENTENCES, Extractive
from eval.synthlink.agents.library import CorpusLibrary, Hit
from eval.synthlink.agents.trail import MAX_ROUNDS, Trail
from eval.synthlink.catalog import read_catalog
from eval.synthlink.items import CATEGORIES
from kg.base.errors import SearchError
from retrieval.corpus import read_corpus

QUESTIONS = sorted(
    read_catalog().questions, key=lambda q: (list(CATEGORIES).index(q.category), q.id)
)[::3]


def run_agent(library: CorpusLibrary, question: str, rounds: int = MAX_ROUNDS) -> Trail:
    """Returns the agent's trail for a question."""
    return asyncio.run(Extractive(library, rounds).answer(question))


@pytest.fixture(scope="module")
def answer_trails() -> list[Trail]:
    library = CorpusLibrary(read_corpus())
    return [run_agent(library, question.question) for question in QUESTIONS]


def test_agent_gets_only_the_question_text() -> None:
    assert list(inspect.signature(Extractive.answer).parameters) == ["self", "question"]


def test_each_sentence_is_on_its_cited_page(answer_trails: list[Trail]) -> None:
    texts = {page.url: " ".join(page.text.split()) for page in read_corpus().pages}
    for trail in answer_trails:
        links = [link for round_ in trail.rounds for link in round_.links]
        assert links
        assert all(link.text in texts[link.page] and not link.verdict for link in links)
        quotes = {link.text for link in links}
        remainder = trail.answer
        for text in sorted(quotes, key=len, reverse=True):
            remainder = remainder.replace(text, "")
        assert not remainder.strip(), "the answer must contain only quotes"
        assert 0 < sum(text in trail.answer for text in quotes) <= MAX_SENTENCES


def test_rounds_and_pages_are_recorded(answer_trails: list[Trail]) -> None:
    assert max(len(trail.rounds) for trail in answer_trails) > 2
    for question, trail in zip(QUESTIONS, answer_trails, strict=True):
        assert trail.rounds[0].query == question.question
        assert all(round_.query.startswith(question.question) for round_ in trail.rounds)
        assert len({round_.query for round_ in trail.rounds}) == len(trail.rounds) <= MAX_ROUNDS
        done = [round_.done for round_ in trail.rounds]
        assert done == [False] * (len(trail.rounds) - 1) + [True]
        assert trail.answer == trail.rounds[-1].answer
        assert len(set(trail.docs)) == len(trail.docs)
        assert not trail.abstained
        assert trail.verified


def test_feedback_finds_pages_without_question_words() -> None:
    library = make_library(
        "Storm: The storm of Halle drove the sea over the dam. Brackwater spoiled the meadows.",
        "Dam: The dam had been low. Brackwater had come over it before the storm of Halle.",
        "Meadows: Where brackwater stands no grass grows.",
        "Tea: Leaves in hot water.",
    )
    question = "Why did the storm of Halle ruin the dam?"
    one_round_trail = run_agent(library, question, rounds=1)
    assert "Meadows" not in {page.title for page in one_round_trail.docs}
    full_trail = run_agent(library, question)
    assert "brackwater" in full_trail.rounds[1].query
    assert "Meadows" in {page.title for page in full_trail.docs}
    assert full_trail.docs[0].title in {"Storm", "Dam"}, "pages quoted in the answer come first"


def test_repeated_words_count_less() -> None:
    library = make_library(
        "One: The storm of Halle was strong. The storm of Halle was strong indeed.",
        "Two: The flood at Ems came of it.",
    )
    trail = run_agent(library, "What storm at Halle brought the flood of Ems?", rounds=1)
    assert "The flood at Ems came of it." in trail.answer
    assert trail.answer.index("storm") < trail.answer.index("flood"), (
        "sentences are in the order found"
    )


def test_agent_abstains_without_a_relevant_sentence() -> None:
    library = make_library("Tea: Leaves in hot water.", "Coffee: Beans in hot milk.")
    for question in ("Who put the hot iron into the forge?", "Who rode a bicycle?", "", "?"):
        trail = run_agent(library, question)
        assert trail.abstained
        assert trail.answer == ""
        assert trail.why
        assert trail.rounds[-1].done


def test_long_lines_are_not_sentences() -> None:
    table = " ".join(f"storm{n} Halle flood" for n in range(60))
    library = make_library(f"Table: {table}", "Ems: The storm of Halle brought the flood.")
    trail = run_agent(library, "Which flood did the storm of Halle bring?")
    assert trail.answer == "The storm of Halle brought the flood."


class UnavailableLibrary:
    """A library whose searches fail."""

    def params(self) -> dict[str, object]:
        """Returns no parameters."""
        return {}

    async def search(self, query: str, k: int) -> list[Hit]:
        """Raises ``SearchError``."""
        raise SearchError("the line is cut")


def test_failed_search_is_not_an_abstention() -> None:
    with pytest.raises(SearchError, match="cut"):
        asyncio.run(Extractive(UnavailableLibrary()).answer("What came of the flood?"))


def test_params_name_all_settings() -> None:
    library = make_library("Tea: Leaves.")
    params = Extractive(library).params()
    assert params["library"] == library.params()
    assert params["feedback"] == FEEDBACK_WEIGHT
    assert Extractive(library, 2).params() != params
    for rounds in (0, MAX_ROUNDS + 1):
        with pytest.raises(ValueError, match="rounds"):
            Extractive(library, rounds)
