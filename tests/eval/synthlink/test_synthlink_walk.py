"""``graph_walk``: tells what is licensed, chooses by question and pages, abstains when it must."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from synthlink_libraries import library_of
from walked_graph import iri, open_walked

from eval.guard.stream import Guard
from eval.synthlink.agents.graph_walk import GraphWalk
from eval.synthlink.agents.library import CorpusLibrary, WebLibrary
from eval.synthlink.agents.trail import MOST_ROUNDS, Trail
from eval.synthlink.agents.walking.facts import FactMap
from eval.synthlink.agents.walking.paths import MOST_FACTS
from eval.synthlink.agents.walking.walk import FIRST_HOPS
from eval.synthlink.catalog import read_catalog
from kg.base.errors import SearchError
from kg.claims import Claim, Verdict
from kg.knowledge import KnowledgeBase
from retrieval.corpus import read_corpus
from retrieval.web import FrozenSearch

QUESTIONS = read_catalog().questions

FAR = (
    "Which composer wrote an opera about a barber in Seville, and who sang it first?",
    "How did the Magna Carta limit the power of King John in 1215?",
    "Why did Galileo stand before the Inquisition in 1633?",
    "What led from the murder of an archduke at Sarajevo to a war between the great powers?",
    "How did Marie Curie find radium in pitchblende?",
    "Which river did Caesar cross to begin a civil war, and what became of the Republic?",
    "How did the moon landing of Apollo 11 follow from a speech by Kennedy?",
    "How did the Gutenberg Bible come to be printed at Mainz?",
    "Why does bread rise when yeast is added to dough?",
    "Who designed the dome of Florence cathedral, and how was it built without scaffolding?",
    "Which painter taught the artist who decorated the ceiling of the Sistine Chapel?",
    "What is the boiling point of water on Mount Everest?",
)
"""About nothing in pages or graph."""
NEAR = (
    "Who led the Taiping Rebellion, and which dynasty did it shake?",
    "How did the Great Plague of London in 1665 come to its end?",
    "What did Karl Jansky hear with his antenna at Holmdel, and what did that begin?",
    "How did the Haymarket affair in Chicago lead to the first of May as a day of workers?",
    "Why was the Welland Canal dug beside the falls of Niagara?",
    "Who was Linus Pauling, and for what was he honoured twice?",
    "What caused itai-itai disease in the Jinzu valley?",
    "How did Claudette Colvin refuse to give up her seat in Montgomery?",
    "How did the transatlantic telegraph cable of 1858 fail?",
    "What did the Napoleonic Code change in the law of marriage?",
)
"""Answered by pages, of which the graph knows nothing, but much that is like it."""


def answered(agent: GraphWalk, questions: Sequence[str]) -> list[Trail]:
    """What an agent makes of some questions."""

    async def each() -> list[Trail]:
        return [await agent.answer(question) for question in questions]

    return asyncio.run(each())


@pytest.fixture(scope="module")
def shipped() -> CorpusLibrary:
    return CorpusLibrary(read_corpus())


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.shared("synthlink")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return open_walked(tmp_path_factory.mktemp("walk"))


@pytest.fixture(scope="module")
def trails(shipped: CorpusLibrary) -> list[Trail]:
    """Of all questions of the catalogue."""
    return answered(GraphWalk(shipped), [one.question for one in QUESTIONS])


def test_it_is_given_the_text_of_a_question_and_nothing_else() -> None:
    assert list(inspect.signature(GraphWalk.answer).parameters) == ["self", "question"]


def test_each_sentence_of_each_answer_is_licensed_again(
    trails: list[Trail], kb: KnowledgeBase
) -> None:
    guard = Guard(kb)
    answers = {one.answer for trail in trails for one in trail.rounds} - {""}
    assert len(answers) > 40
    for answer in answers:
        events = [event for event in guard.events([answer]) if event.source.strip()]
        assert [event.kind for event in events] == ["licensed"] * len(events), answer


def test_each_link_is_a_fact_the_oracle_licenses_and_the_answer_tells(
    trails: list[Trail], kb: KnowledgeBase
) -> None:
    of_fact = {kb.words.fact(one): one for one in FactMap(kb).claims}
    guard = Guard(kb)
    for trail in trails:
        links = {link.text: link for one in trail.rounds for link in one.links}
        assert {link.verdict for link in links.values()} <= {"licensed"}
        assert all(kb.oracle.license(of_fact[text]).label == "E" for text in links)
        told = {claim for event in guard.events([trail.answer]) for claim in event.claims}
        assert told <= {of_fact[text] for text in links}
        pages = {page.url for one in trail.rounds for page in one.found}
        assert {link.page for link in links.values()} - {""} <= pages


def test_rounds_are_few_each_looks_for_something_new(trails: list[Trail]) -> None:
    assert max(len(trail.rounds) for trail in trails) > 2
    for question, trail in zip(QUESTIONS, trails, strict=True):
        assert 1 <= len(trail.rounds) <= MOST_ROUNDS
        assert trail.rounds[0].query == question.question
        queries = [one.query for one in trail.rounds]
        assert len(set(queries)) == len(queries)
        assert [one.done for one in trail.rounds] == [False] * (len(queries) - 1) + [True]
        assert trail.answer == trail.rounds[-1].answer
        assert all(set(one.read) <= set(one.found) for one in trail.rounds)


def test_pages_are_named_once_those_that_speak_of_the_answer_first(trails: list[Trail]) -> None:
    corpus = read_corpus()
    texts = {page.url: page.text for page in corpus.pages}
    for trail in trails:
        urls = [page.url for page in trail.docs]
        assert len(set(urls)) == len(urls)
        assert set(urls) <= texts.keys()
        assert [texts[url] for url in urls[: len(trail.verified)]] == list(trail.verified)
        assert bool(trail.verified) is not trail.abstained


def test_an_answer_is_no_dump_of_all_that_hangs_together(
    trails: list[Trail], kb: KnowledgeBase
) -> None:
    facts = FactMap(kb)
    guard = Guard(kb)
    less = 0
    for trail in trails:
        told = {claim for event in guard.events([trail.answer]) for claim in event.claims}
        assert len(told) <= MOST_FACTS + FIRST_HOPS
        if told:
            first = next(iter(sorted(told)))
            less += len(told) < len(_hanging_together(facts, first.subj))
    assert less > 40


def _hanging_together(facts: FactMap, node: str) -> set[int]:
    """Places of all facts that ways and traits join with a node, traits never joining others."""
    met, todo, held = {node}, [node], set[int]()
    while todo:
        one = todo.pop()
        for place in (*facts.leaving(one), *facts.arriving(one)):
            held.add(place)
            claim = facts.claims[place]
            ends = {claim.subj, claim.obj} if facts.is_way(claim) else set[str]()
            todo += sorted(ends - met)
            met |= ends
    return held


def test_it_answers_most_and_says_why_where_it_does_not(trails: list[Trail]) -> None:
    abstained = [trail for trail in trails if trail.abstained]
    assert len(abstained) <= 15
    assert abstained, "a walker that always answers cannot know when not to"
    for trail in trails:
        assert trail.abstained is not bool(trail.answer)
        assert bool(trail.why) is trail.abstained
        assert trail.readable


@pytest.mark.parametrize("question", FAR + NEAR)
def test_what_the_graph_does_not_hold_is_not_answered(
    shipped: CorpusLibrary, question: str
) -> None:
    (trail,) = answered(GraphWalk(shipped), [question])
    assert trail.abstained
    assert trail.answer == ""
    assert trail.why
    assert trail.docs, "what it read is told all the same"


def test_it_says_that_the_best_pages_are_about_something_else(shipped: CorpusLibrary) -> None:
    (trail,) = answered(GraphWalk(shipped), ["What caused itai-itai disease in the Jinzu valley?"])
    assert trail.why.startswith("what the question itself finds is not about")


def test_how_far_it_goes_is_decided_by_what_pages_say(small: KnowledgeBase) -> None:
    ems = "Ems: The flood at Ems followed the storm of Halle."
    law = "Law: After the flood at Ems the dyke law was made in 1910."
    pump = "Pump: The dyke law paid for the steam pump."
    ask = "What came of the flood at Ems?"
    (alone,) = answered(GraphWalk(library_of(ems), knowledge=small), [ask])
    assert alone.answer == "The storm of Halle causes the flood at Ems."
    (further,) = answered(GraphWalk(library_of(ems, law), knowledge=small), [ask])
    assert "The flood at Ems causes the dyke law." in further.answer
    assert "1910" in further.answer
    assert "pump" not in further.answer
    (all_three,) = answered(GraphWalk(library_of(ems, law, pump), knowledge=small), [ask])
    assert "The dyke law causes the steam pump." in all_three.answer
    assert "Anna Berg" not in all_three.answer, "no page says so, and nobody asked"


def test_what_the_oracle_does_not_license_is_not_told(
    small: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = small.oracle.license_many

    def doubting(claims: Iterable[Claim]) -> list[Verdict]:
        """Licenses nothing about the dyke law."""
        return [
            replace(one, label="U") if iri("dyke") in (one.claim.subj, one.claim.obj) else one
            for one in whole(claims)
        ]

    ems = "Ems: The flood at Ems followed the storm of Halle."
    law = "Law: After the flood at Ems the dyke law was made in 1910."
    agent = GraphWalk(library_of(ems, law), knowledge=small)
    monkeypatch.setattr(small.oracle, "license_many", doubting)
    (trail,) = answered(agent, ["What came of the flood at Ems?"])
    assert "The storm of Halle causes the flood at Ems." in trail.answer
    assert "dyke law" not in trail.answer


def test_who_is_asked_for_is_told_though_no_page_says_so(small: KnowledgeBase) -> None:
    library = library_of("Pump: The dyke law paid for the steam pump.")
    (trail,) = answered(
        GraphWalk(library, knowledge=small), ["Who made the steam pump that the dyke law paid for?"]
    )
    assert "Anna Berg" in trail.answer


def test_it_walks_other_graphs_too() -> None:
    library = library_of(
        "Main: The Main is a river of Germany. At Mainz it flows into the Rhine.",
        "Rhine: The Rhine flows through Germany and the Netherlands into the North Sea.",
        "Po: The Po flows through Italy to the Adriatic.",
    )
    agent = GraphWalk(library, knowledge=KnowledgeBase.shared())
    ask = "Into which sea does the water of the Main flow in the end?"
    sea, unknown = answered(agent, [ask, "Who wrote Hamlet?"])
    assert "flows into the Rhine" in sea.answer
    assert sea.answer.endswith("flows into the North Sea.")
    assert "Po" not in sea.answer
    assert unknown.abstained


def test_hostile_pages_and_questions_are_only_words(small: KnowledgeBase) -> None:
    page = "Ems: <script>alert(1)</script> {{ 7*7 }} The flood at Ems and the dyke law. \x1b[2J"
    agent = GraphWalk(library_of(page), knowledge=small)
    for question in ("", " ", "?" * 5_000, "{{ 7*7 }} <b>", "flood " * 20_000, "\x1b[2J\u202eEms"):
        (trail,) = answered(agent, [question])
        assert "49" not in trail.answer
        assert "\x1b" not in trail.answer
        assert "<script>" not in trail.answer


def test_pages_may_be_required_or_withheld(shipped: CorpusLibrary) -> None:
    ask = [one.question for one in QUESTIONS[:10]]
    required = answered(GraphWalk(shipped, pages="required"), ask)
    for trail in required:
        steps = [link for one in trail.rounds for link in one.links]
        assert all(link.page for link in steps if " led to " in link.text)
    withheld = answered(GraphWalk(None, pages="withheld"), ask)
    assert any(trail.answer for trail in withheld)
    assert all(not trail.docs and not trail.rounds[0].query for trail in withheld)


def test_a_search_that_fails_is_no_abstention(tmp_path: Path, small: KnowledgeBase) -> None:
    path = tmp_path / "search.jsonl"
    path.write_text("")
    agent = GraphWalk(WebLibrary(FrozenSearch(path)), knowledge=small)
    with pytest.raises(SearchError):
        answered(agent, ["What came of the flood at Ems?"])


def test_nothing_found_is_an_abstention_with_a_reason(small: KnowledgeBase) -> None:
    agent = GraphWalk(library_of("Tea: Leaves in hot water."), knowledge=small)
    (trail,) = answered(agent, ["Who rode a bicycle?"])
    assert trail.why == "neither the question nor a page that was read names anything of the graph"
    assert len(trail.rounds) == 1


def test_rounds_and_library_are_checked(shipped: CorpusLibrary) -> None:
    for rounds in (0, MOST_ROUNDS + 1):
        with pytest.raises(ValueError, match="rounds"):
            GraphWalk(shipped, rounds=rounds)
    with pytest.raises(ValueError, match="library"):
        GraphWalk(None)
    (trail,) = answered(GraphWalk(shipped, rounds=1), [QUESTIONS[2].question])
    assert len(trail.rounds) == 1


def test_what_decides_the_answers_is_told(shipped: CorpusLibrary, kb: KnowledgeBase) -> None:
    params = GraphWalk(shipped).params()
    assert params["graph_sha256"] == kb.graph.sha256
    assert params["library"] == shipped.params()
    assert GraphWalk(shipped, pages="required").params() != params
    assert GraphWalk(shipped, rounds=2).params() != params


_SCRIPT = """
import asyncio, msgspec
from eval.synthlink.agents.extractive import Extractive
from eval.synthlink.agents.graph_walk import GraphWalk
from eval.synthlink.agents.library import CorpusLibrary
from eval.synthlink.catalog import read_catalog
from retrieval.corpus import read_corpus
library = CorpusLibrary(read_corpus())
for agent in (GraphWalk(library), Extractive(library)):
    for question in read_catalog().questions[::12]:
        print(msgspec.json.encode(asyncio.run(agent.answer(question.question))).decode())
"""


def test_both_offline_agents_give_the_same_bytes_whatever_the_hash_seed() -> None:
    def run(seed: str) -> bytes:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, check=True
        )
        return done.stdout

    assert run("1") == run("2") != b""
