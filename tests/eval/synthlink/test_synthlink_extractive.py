"""``extractive``: sentences of pages, to the letter, by the question's words and by feedback."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from synthlink_libraries import library_of

from eval.synthlink.agents.extractive import FEEDBACK, SENTENCES, Extractive
from eval.synthlink.agents.library import CorpusLibrary, Hit
from eval.synthlink.agents.trail import MOST_ROUNDS, Trail
from eval.synthlink.catalog import read_catalog
from kg.base.errors import SearchError
from retrieval.corpus import read_corpus

QUESTIONS = read_catalog().questions[::3]


def answered(library: CorpusLibrary, question: str, rounds: int = MOST_ROUNDS) -> Trail:
    """What the agent makes of a question."""
    return asyncio.run(Extractive(library, rounds).answer(question))


@pytest.fixture(scope="module")
def trails() -> list[Trail]:
    library = CorpusLibrary(read_corpus())
    return [answered(library, one.question) for one in QUESTIONS]


def test_it_is_given_the_text_of_a_question_and_nothing_else() -> None:
    assert list(inspect.signature(Extractive.answer).parameters) == ["self", "question"]


def test_each_sentence_stands_on_the_page_it_is_taken_from(trails: list[Trail]) -> None:
    texts = {page.url: " ".join(page.text.split()) for page in read_corpus().pages}
    for trail in trails:
        links = [link for one in trail.rounds for link in one.links]
        assert links
        assert all(link.text in texts[link.page] and not link.verdict for link in links)
        said = {link.text for link in links}
        rest = trail.answer
        for text in sorted(said, key=len, reverse=True):
            rest = rest.replace(text, "")
        assert not rest.strip(), "nothing is said that no page says"
        assert 0 < sum(text in trail.answer for text in said) <= SENTENCES


def test_rounds_and_pages_are_told(trails: list[Trail]) -> None:
    assert max(len(trail.rounds) for trail in trails) > 2
    for question, trail in zip(QUESTIONS, trails, strict=True):
        assert trail.rounds[0].query == question.question
        assert all(one.query.startswith(question.question) for one in trail.rounds)
        assert len({one.query for one in trail.rounds}) == len(trail.rounds) <= MOST_ROUNDS
        assert [one.done for one in trail.rounds] == [False] * (len(trail.rounds) - 1) + [True]
        assert trail.answer == trail.rounds[-1].answer
        assert len(set(trail.docs)) == len(trail.docs)
        assert not trail.abstained
        assert trail.verified


def test_feedback_finds_what_the_question_has_no_word_for() -> None:
    library = library_of(
        "Storm: The storm of Halle drove the sea over the dam. Brackwater spoiled the meadows.",
        "Dam: The dam had been low. Brackwater had come over it before the storm of Halle.",
        "Meadows: Where brackwater stands no grass grows.",
        "Tea: Leaves in hot water.",
    )
    ask = "Why did the storm of Halle ruin the dam?"
    once = answered(library, ask, rounds=1)
    assert "Meadows" not in {page.title for page in once.docs}
    more = answered(library, ask)
    assert "brackwater" in more.rounds[1].query
    assert "Meadows" in {page.title for page in more.docs}
    assert more.docs[0].title in {"Storm", "Dam"}, "what is answered with comes first"


def test_a_word_that_was_said_counts_less_so_that_answers_do_not_repeat_themselves() -> None:
    library = library_of(
        "One: The storm of Halle was strong. The storm of Halle was strong indeed.",
        "Two: The flood at Ems came of it.",
    )
    trail = answered(library, "What storm at Halle brought the flood of Ems?", rounds=1)
    assert "The flood at Ems came of it." in trail.answer
    assert trail.answer.index("storm") < trail.answer.index("flood"), "in the order they were found"


def test_it_abstains_where_nothing_shares_more_than_a_word_with_the_question() -> None:
    library = library_of("Tea: Leaves in hot water.", "Coffee: Beans in hot milk.")
    for question in ("Who put the hot iron into the forge?", "Who rode a bicycle?", "", "?"):
        trail = answered(library, question)
        assert trail.abstained
        assert trail.answer == ""
        assert trail.why
        assert trail.rounds[-1].done


def test_long_lines_are_no_sentences() -> None:
    table = " ".join(f"storm{n} Halle flood" for n in range(60))
    library = library_of(f"Table: {table}", "Ems: The storm of Halle brought the flood.")
    trail = answered(library, "Which flood did the storm of Halle bring?")
    assert trail.answer == "The storm of Halle brought the flood."


class Cut:
    """A library whose line is cut."""

    def params(self) -> dict[str, object]:
        """Nothing."""
        return {}

    async def search(self, query: str, k: int) -> list[Hit]:
        """Fails."""
        raise SearchError("the line is cut")


def test_a_search_that_fails_is_no_abstention() -> None:
    with pytest.raises(SearchError, match="cut"):
        asyncio.run(Extractive(Cut()).answer("What came of the flood?"))


def test_what_decides_the_answers_is_told() -> None:
    library = library_of("Tea: Leaves.")
    params = Extractive(library).params()
    assert params["library"] == library.params()
    assert params["feedback"] == FEEDBACK
    assert Extractive(library, 2).params() != params
    for rounds in (0, MOST_ROUNDS + 1):
        with pytest.raises(ValueError, match="rounds"):
            Extractive(library, rounds)
