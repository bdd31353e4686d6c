"""Tests that a claim with the words of a fact, but in other parts, is not supported.

"Opium had Lin Zexu destroyed" has all words of "Lin Zexu had opium destroyed", and small words
("from" for "and", "to", "had") say which part a word has.
"""

from __future__ import annotations

import random
from functools import cache

import pytest

from eval.guard.stream import Guard
from eval.synthlink.catalog import read_catalog
from eval.synthlink.claims.claim_decider import ClaimDecider
from eval.synthlink.claims.completeness import judge_steps
from eval.synthlink.claims.graph_reader import ask_graph
from eval.synthlink.claims.splitter import split_claims
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.items import Question, Source, Step
from kg.knowledge import KnowledgeBase

QUESTIONS = {question.id: question for question in read_catalog().questions}


@cache
def get_decider(question_id: str) -> ClaimDecider:
    return ClaimDecider(QUESTIONS[question_id], None)


@cache
def get_guard() -> Guard:
    return Guard(KnowledgeBase.open_cached("synthlink"))


def judge(question_id: str, text: str) -> set[str]:
    question, decider = QUESTIONS[question_id], get_decider(question_id)
    claims = judge_claims(text, question, get_guard(), decider=decider)
    steps = judge_steps(text, split_claims(text), question, decider, get_guard())
    stated = {"stated"} & {step.verdict for step in steps}
    return {claim.verdict for claim in claims} | stated


WRONG = [
    ("HIA-08", "Opium had Lin Zexu destroyed at Humen in 1839."),
    ("HIA-08", "Lin Zexu had opium destroy Humen in 1839."),
    ("HIA-08", "Opium had destroyed Lin Zexu at Humen in 1839."),
    ("HIA-08", "Opium made Lin Zexu destroy Humen in 1839."),
    ("HIA-08", "Lin Zexu let opium destroy Humen in 1839."),
    ("HIA-08", "Humen had opium destroyed at Lin Zexu in 1839."),
    ("HIA-08", "Humen got Lin Zexu to destroy opium in 1839."),
    ("HIA-08", "The five of Nanking ceded Hong Kong Island to Britain."),
    ("HIA-08", "The Treaty of Nanking ceded five Kong Island to Britain."),
    ("HIA-08", "The Treaty of Nanking could be signed in 1842."),
    ("HIA-08", "The Treaty of Nanking will be signed in 1842."),
    ("HIA-07", "The British Raj lasted until hardly 1947."),
    ("HIA-07", "The British Raj began in 1858 and lasted until another 1947."),
    ("HIA-07", "The British Raj began in 1858 and pretended until 1947."),
    ("STE-08", "Davy isolated potassium from sodium in 1807."),
    ("STE-08", "Davy isolated potassium of sodium in 1807."),
    ("EEC-05", "Chisso discharged methylmercury for the bay."),
    ("EEC-02", "Native predators ate cane toads that died of their poison."),
    ("EIS-03", "The Swiss industry had to fall into the quartz crisis."),
    ("EIS-10", "The Erie Canal was opened by DeWitt Clinton."),
    ("EIS-10", "The Erie Canal was promoted in 1825."),
    ("HIA-05", "The Convention of 1854 was signed in Kanagawa."),
    ("HIA-10", "John Harrison finished his sea watch and H4 in 1759."),
    ("HIA-09", "Potato blight brought on the Great Ireland in Famine."),
    ("EIS-10", "Grain of the Great Lakes flowed from the coast."),
]


@pytest.mark.parametrize(("question_id", "claim"), WRONG)
def test_words_of_a_fact_in_other_parts_are_not_supported(question_id: str, claim: str) -> None:
    assert not {"supported", "stated"} & judge(question_id, claim)


@pytest.mark.parametrize(
    ("question_id", "claim"),
    [
        ("HIA-08", "Lin Zexu had opium destroyed at Humen in 1839."),
        ("HIA-08", "In 1839 Lin Zexu had opium destroyed at Humen."),
        ("HIA-07", "The British Raj began in 1858 and lasted until 1947."),
        ("HIA-08", "The Treaty of Nanking was signed in 1842."),
        ("HIA-08", "The Treaty of Nanking opened five ports."),
        ("STE-08", "Davy had isolated sodium and potassium in 1807."),
        ("EIS-10", "The Erie Canal was promoted by DeWitt Clinton."),
        ("HIA-04", "In 1803 France sold the territory of Louisiana to the United States."),
        ("STE-02", "Florey, Chain and Heatley purified penicillin in Oxford."),
    ],
)
def test_facts_in_other_words_are_still_supported(question_id: str, claim: str) -> None:
    assert "supported" in judge(question_id, claim)


CAUSATIVES = {
    "Ada Byron had the engine built in 1843.": (
        "The engine had Ada Byron built in 1843.",
        "Ada Byron had the engine build in 1843.",
        "The engine had built Ada Byron in 1843.",
    ),
    "Babbage got Clement to make the wheels.": (
        "Clement got Babbage to make the wheels.",
        "Babbage got the wheels to make Clement.",
        "The wheels got Clement to make Babbage.",
        "Babbage had Clement got the wheels.",
    ),
    "The storm made Byron leave Geneva.": (
        "Byron made the storm leave Geneva.",
        "The storm had Geneva leave Byron.",
        "Geneva made Byron leave the storm.",
    ),
    "The king let Peel repeal the duty.": (
        "Peel let the king repeal the duty.",
        "The duty let Peel repeal the king.",
    ),
    "The famine caused Peel to repeal the duty.": (
        "Peel caused the famine to repeal the duty.",
        "The famine caused the duty to repeal Peel.",
        "The duty caused Peel to repeal the famine.",
    ),
    "Babbage built the engine.": (
        "Babbage had the engine built.",
        "Babbage had to build the engine.",
        "Babbage got the engine to build.",
        "The engine had Babbage built.",
        "Babbage let the engine build.",
    ),
}


@pytest.mark.parametrize("fact", CAUSATIVES)
def test_causing_is_not_doing(fact: str) -> None:
    question = Question(
        "Q-1", "HIA", "What happened?", "Nothing.", (Source("A", ""),), (Step("Find it.", fact),), 1
    )
    decider = ClaimDecider(question, None)
    assert {decider.decide(claim).verdict for claim in split_claims(fact)} == {"supported"}
    for text in CAUSATIVES[fact]:
        verdicts = {decider.decide(claim).verdict for claim in split_claims(text)}
        assert "supported" not in verdicts, text


def test_graph_licenses_all_of_a_claim() -> None:
    guard = get_guard()
    assert ask_graph("The British Raj began in 1858.", guard).verdict == "supported"
    assert ask_graph("The British Raj began in 1858 and hardly lasted.", guard).verdict is None
    assert ask_graph("The British Raj would begin in 1858.", guard).verdict is None
    assert ask_graph("SpaceX got makes the Falcon 9.", guard).verdict is None
    assert ask_graph("The British Raj began in 1859.", guard).verdict == "contradicted"


INSERTED = (
    "hardly", "barely", "almost", "another", "no longer", "former", "pretended to", "half of",
    "without", "only", "never", "no", "not yet", "two of", "would",
)  # fmt: skip
PREPOSITIONS = ("from", "to", "with", "against", "by", "without", "into", "than")


TRUE_CLAIMS_OF_EDITS = frozenset({"the Pure Food and Drug Act were signed in 1906"})
"""Claims of edited facts that are true by themselves: "A pretended to and B were signed"."""


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_edits_that_change_a_fact_are_not_supported(seed: int) -> None:
    """A word inserted that changes the meaning, or another preposition before a name."""
    generator = random.Random(seed)
    count = 0
    for question in QUESTIONS.values():
        for fact in (step.fact for step in question.steps if step.fact):
            words = fact.rstrip(".").split()
            own = {claim.text.rstrip(".") for claim in split_claims(fact)}
            edits = []
            for inserted in generator.sample(INSERTED, 3):
                place = generator.randrange(1, len(words))
                edits.append([*words[:place], inserted, *words[place:]])
            for place, word in enumerate(words[:-1]):
                is_before_name = words[place + 1][0].isupper()
                if is_before_name and word in ("in", "of", "to", "from", "and", "with"):
                    other = generator.choice([one for one in PREPOSITIONS if one != word])
                    edits.append([*words[:place], other, *words[place + 1 :]])
            for edit in edits:
                text = " ".join(edit) + "."
                claims = judge_claims(text, question, get_guard(), decider=get_decider(question.id))
                changed = [claim for claim in claims if claim.text.rstrip(".") not in own]
                count += bool(changed)
                assert not any(
                    claim.verdict == "supported"
                    and claim.text.rstrip(".") not in TRUE_CLAIMS_OF_EDITS
                    for claim in changed
                ), text
    assert count > 500
