"""Tests that ``graph_walk`` answers with licensed facts, chosen by question and pages."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from causal_graph import make_iri, open_small_graph
from msgspec.structs import replace
from synthlink_libraries import make_library

from eval.guard.stream import Guard
from eval.synthlink.agents.graph_walk import GraphWalk
from eval.synthlink.agents.library import CorpusLibrary, WebLibrary
from eval.synthlink.agents.trail import MAX_ROUNDS, Trail
from eval.synthlink.agents.walker.fact_map import FactMap
from eval.synthlink.agents.walker.paths import MAX_FACTS
from eval.synthlink.agents.walker.walk import FIRST_HOPS
from eval.synthlink.catalog import read_catalog
from kg.base.errors import SearchError
from kg.claims import Claim, Verdict
from kg.knowledge import KnowledgeBase
from retrieval.corpus import read_corpus
from retrieval.web import FrozenSearch

QUESTIONS = read_catalog().questions

OFF_TOPIC_QUESTIONS = (
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
"""Questions about subjects that neither the pages nor the graph contain."""
SIMILAR_QUESTIONS = (
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
"""Questions that the pages answer; the graph contains similar facts, but not these."""


def run_agent(agent: GraphWalk, questions: Sequence[str]) -> list[Trail]:
    """Returns an agent's trails for some questions."""

    async def ask_each() -> list[Trail]:
        return [await agent.answer(question) for question in questions]

    return asyncio.run(ask_each())


@pytest.fixture(scope="module")
def shipped_library() -> CorpusLibrary:
    return CorpusLibrary(read_corpus())


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.open_cached("synthlink")


@pytest.fixture(scope="module")
def small_knowledge(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return open_small_graph(tmp_path_factory.mktemp("walk"))


@pytest.fixture(scope="module")
def answer_trails(shipped_library: CorpusLibrary) -> list[Trail]:
    """Trails for all questions of the catalogue."""
    return run_agent(GraphWalk(shipped_library), [question.question for question in QUESTIONS])


def test_agent_gets_only_the_question_text() -> None:
    assert list(inspect.signature(GraphWalk.answer).parameters) == ["self", "question"]


def test_each_sentence_of_each_answer_is_licensed_by_the_guard(
    answer_trails: list[Trail], kb: KnowledgeBase
) -> None:
    guard = Guard(kb)
    answers = {search_round.answer for trail in answer_trails for search_round in trail.rounds} - {
        ""
    }
    assert len(answers) > 40, "most of the 60 questions must be answered"
    for answer in answers:
        events = [event for event in guard.iter_events([answer]) if event.source.strip()]
        assert [event.kind for event in events] == ["licensed"] * len(events), answer


def test_each_link_is_licensed_and_answers_state_only_links(
    answer_trails: list[Trail], kb: KnowledgeBase
) -> None:
    claims_by_text = {kb.verbaliser.render_fact(claim): claim for claim in FactMap(kb).claims}
    guard = Guard(kb)
    for trail in answer_trails:
        links = {link.text: link for search_round in trail.rounds for link in search_round.links}
        assert {link.verdict for link in links.values()} <= {"licensed"}
        assert all(kb.oracle.license(claims_by_text[text]).label == "E" for text in links)
        answer_claims = {
            claim for event in guard.iter_events([trail.answer]) for claim in event.claims
        }
        assert answer_claims <= {claims_by_text[text] for text in links}
        pages = {page.url for search_round in trail.rounds for page in search_round.found}
        assert {link.page for link in links.values()} - {""} <= pages


def test_rounds_are_limited_and_their_queries_differ(answer_trails: list[Trail]) -> None:
    assert max(len(trail.rounds) for trail in answer_trails) > 2
    for question, trail in zip(QUESTIONS, answer_trails, strict=True):
        assert 1 <= len(trail.rounds) <= MAX_ROUNDS
        assert trail.rounds[0].query == question.question
        queries = [search_round.query for search_round in trail.rounds]
        assert len(set(queries)) == len(queries)
        assert [search_round.done for search_round in trail.rounds] == [False] * (
            len(queries) - 1
        ) + [True]
        assert trail.answer == trail.rounds[-1].answer
        assert all(
            set(search_round.read) <= set(search_round.found) for search_round in trail.rounds
        )


def test_pages_are_cited_once_and_verified_ones_first(answer_trails: list[Trail]) -> None:
    corpus = read_corpus()
    texts = {page.url: page.text for page in corpus.pages}
    for trail in answer_trails:
        urls = [page.url for page in trail.docs]
        assert len(set(urls)) == len(urls)
        assert set(urls) <= texts.keys()
        assert [texts[url] for url in urls[: len(trail.verified)]] == list(trail.verified)
        assert bool(trail.verified) is not trail.abstained


def test_answer_is_not_all_connected_facts(answer_trails: list[Trail], kb: KnowledgeBase) -> None:
    facts = FactMap(kb)
    guard = Guard(kb)
    shorter_answers = 0
    for trail in answer_trails:
        answer_claims = {
            claim for event in guard.iter_events([trail.answer]) for claim in event.claims
        }
        assert len(answer_claims) <= MAX_FACTS + FIRST_HOPS
        if answer_claims:
            first_claim = next(iter(sorted(answer_claims)))
            connected_facts = _find_connected_facts(facts, first_claim.subj)
            shorter_answers += len(answer_claims) < len(connected_facts)
    assert shorter_answers > 40  # of 60


def _find_connected_facts(facts: FactMap, node: str) -> set[int]:
    """Returns the indices of all facts connected with a node by path steps (not attributes)."""
    visited, queue, fact_indices = {node}, [node], set[int]()
    while queue:
        current = queue.pop()
        for index in (*facts.facts_from_node(current), *facts.facts_to_node(current)):
            fact_indices.add(index)
            claim = facts.claims[index]
            ends = {claim.subj, claim.obj} if facts.can_be_path_step(claim) else set[str]()
            queue += sorted(ends - visited)
            visited |= ends
    return fact_indices


def test_most_questions_are_answered_and_abstentions_have_reasons(
    answer_trails: list[Trail],
) -> None:
    abstentions = [trail for trail in answer_trails if trail.abstained]
    assert len(abstentions) <= 15
    assert abstentions, "some questions of the catalogue cannot be answered from the graph"
    for trail in answer_trails:
        assert trail.abstained is not bool(trail.answer)
        assert bool(trail.why) is trail.abstained
        assert trail.readable


@pytest.mark.parametrize("question", OFF_TOPIC_QUESTIONS + SIMILAR_QUESTIONS)
def test_questions_outside_the_graph_are_not_answered(
    shipped_library: CorpusLibrary, question: str
) -> None:
    (trail,) = run_agent(GraphWalk(shipped_library), [question])
    assert trail.abstained
    assert trail.answer == ""
    assert trail.why
    assert trail.docs, "an abstention also reports the pages that were read"


def test_off_topic_pages_are_given_as_reason(shipped_library: CorpusLibrary) -> None:
    (trail,) = run_agent(
        GraphWalk(shipped_library), ["What caused itai-itai disease in the Jinzu valley?"]
    )
    assert trail.why.startswith("what the question itself finds is not about")


def test_path_length_depends_on_the_pages(small_knowledge: KnowledgeBase) -> None:
    ems_page = "Ems: The flood at Ems followed the storm of Halle."
    law_page = "Law: After the flood at Ems the dyke law was made in 1910."
    pump_page = "Pump: The dyke law paid for the steam pump."
    question = "What came of the flood at Ems?"
    (short_trail,) = run_agent(
        GraphWalk(make_library(ems_page), knowledge=small_knowledge), [question]
    )
    assert short_trail.answer == "The storm of Halle causes the flood at Ems."
    (longer_trail,) = run_agent(
        GraphWalk(make_library(ems_page, law_page), knowledge=small_knowledge), [question]
    )
    assert "The flood at Ems causes the dyke law." in longer_trail.answer
    assert "1910" in longer_trail.answer
    assert "pump" not in longer_trail.answer
    (longest_trail,) = run_agent(
        GraphWalk(make_library(ems_page, law_page, pump_page), knowledge=small_knowledge),
        [question],
    )
    assert longest_trail.answer.endswith(
        "The dyke law has 1910 as its year and causes the steam pump."
    )
    assert "Anna Berg" not in longest_trail.answer, "neither page nor question names the maker"


def test_unlicensed_facts_are_not_in_the_answer(
    small_knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    license_all = small_knowledge.oracle.license_many

    def license_except_dyke(claims: Iterable[Claim]) -> list[Verdict]:
        """Licenses all claims except those about the dyke law."""
        return [
            replace(verdict, label="U")
            if make_iri("dyke") in (verdict.claim.subj, verdict.claim.obj)
            else verdict
            for verdict in license_all(claims)
        ]

    ems_page = "Ems: The flood at Ems followed the storm of Halle."
    law_page = "Law: After the flood at Ems the dyke law was made in 1910."
    agent = GraphWalk(make_library(ems_page, law_page), knowledge=small_knowledge)
    monkeypatch.setattr(small_knowledge.oracle, "license_many", license_except_dyke)
    (trail,) = run_agent(agent, ["What came of the flood at Ems?"])
    assert "The storm of Halle causes the flood at Ems." in trail.answer
    assert "dyke law" not in trail.answer


def test_requested_entity_is_named_without_a_page(small_knowledge: KnowledgeBase) -> None:
    library = make_library("Pump: The dyke law paid for the steam pump.")
    (trail,) = run_agent(
        GraphWalk(library, knowledge=small_knowledge),
        ["Who made the steam pump that the dyke law paid for?"],
    )
    assert "Anna Berg" in trail.answer


def test_agent_works_on_other_graphs() -> None:
    library = make_library(
        "Main: The Main is a river of Germany. At Mainz it flows into the Rhine.",
        "Rhine: The Rhine flows through Germany and the Netherlands into the North Sea.",
        "Po: The Po flows through Italy to the Adriatic.",
    )
    agent = GraphWalk(library, knowledge=KnowledgeBase.open_cached())
    question = "Into which sea does the water of the Main flow in the end?"
    sea_trail, hamlet_trail = run_agent(agent, [question, "Who wrote Hamlet?"])
    assert "flows into the Rhine" in sea_trail.answer
    assert sea_trail.answer.endswith("flows into the North Sea.")
    assert "Po" not in sea_trail.answer
    assert hamlet_trail.abstained


def test_hostile_pages_and_questions_are_plain_text(small_knowledge: KnowledgeBase) -> None:
    page = "Ems: <script>alert(1)</script> {{ 7*7 }} The flood at Ems and the dyke law. \x1b[2J"
    agent = GraphWalk(make_library(page), knowledge=small_knowledge)
    for question in ("", " ", "?" * 5_000, "{{ 7*7 }} <b>", "flood " * 20_000, "\x1b[2J\u202eEms"):
        (trail,) = run_agent(agent, [question])
        assert "49" not in trail.answer
        assert "\x1b" not in trail.answer
        assert "<script>" not in trail.answer


def test_pages_may_be_required_or_withheld(shipped_library: CorpusLibrary) -> None:
    questions = [question.question for question in QUESTIONS[:10]]
    required_trails = run_agent(GraphWalk(shipped_library, pages="required"), questions)
    for trail in required_trails:
        links = [link for search_round in trail.rounds for link in search_round.links]
        # A fact worded "… led to …" is always a path step, which needs a page; a trait needs none.
        assert all(link.page for link in links if " led to " in link.text)
    withheld_trails = run_agent(GraphWalk(None, pages="withheld"), questions)
    assert any(trail.answer for trail in withheld_trails)
    assert all(not trail.docs and not trail.rounds[0].query for trail in withheld_trails)


def test_failed_search_is_not_an_abstention(tmp_path: Path, small_knowledge: KnowledgeBase) -> None:
    path = tmp_path / "search.jsonl"
    path.write_text("")
    agent = GraphWalk(WebLibrary(FrozenSearch(path)), knowledge=small_knowledge)
    with pytest.raises(SearchError):
        run_agent(agent, ["What came of the flood at Ems?"])


def test_empty_search_is_an_abstention_with_a_reason(small_knowledge: KnowledgeBase) -> None:
    agent = GraphWalk(make_library("Tea: Leaves in hot water."), knowledge=small_knowledge)
    (trail,) = run_agent(agent, ["Who rode a bicycle?"])
    assert trail.why == "neither the question nor a page that was read names anything of the graph"
    assert len(trail.rounds) == 1


def test_rounds_and_library_are_checked(shipped_library: CorpusLibrary) -> None:
    for rounds in (0, MAX_ROUNDS + 1):
        with pytest.raises(ValueError, match="rounds"):
            GraphWalk(shipped_library, rounds=rounds)
    with pytest.raises(ValueError, match="library"):
        GraphWalk(None)
    (trail,) = run_agent(GraphWalk(shipped_library, rounds=1), [QUESTIONS[2].question])
    assert len(trail.rounds) == 1


def test_params_name_all_settings(shipped_library: CorpusLibrary, kb: KnowledgeBase) -> None:
    params = GraphWalk(shipped_library).params()
    assert params["graph_sha256"] == kb.graph.sha256
    assert params["library"] == shipped_library.params()
    assert GraphWalk(shipped_library, pages="required").params() != params
    assert GraphWalk(shipped_library, rounds=2).params() != params


_ANSWER_SCRIPT = """
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


def test_offline_agents_do_not_depend_on_the_hash_seed() -> None:
    def run_with_seed(seed: str) -> bytes:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        process = subprocess.run(
            [sys.executable, "-c", _ANSWER_SCRIPT], env=environment, capture_output=True, check=True
        )
        return process.stdout

    assert run_with_seed("1") == run_with_seed("2") != b""
