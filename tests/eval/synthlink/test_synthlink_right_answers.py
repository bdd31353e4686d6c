"""What the rules against attacks cost right answers worded differently from the catalogue.

With ``pytest -s`` it prints the table of docs/synthlink.md.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import msgspec
import pytest
from synthlink_attacks import HONEST_ANSWERS, read_six_questions
from synthlink_paraphrases import LATER_PARAPHRASES, LIST_PARAPHRASES, PARAPHRASES

from eval.guard.stream import Guard
from eval.synthlink.agents.extractive import Extractive
from eval.synthlink.agents.graph_walk import GraphWalk
from eval.synthlink.agents.library import CorpusLibrary
from eval.synthlink.agents.trail import Agent
from eval.synthlink.catalog import read_catalog
from eval.synthlink.corrected.answer_scores import score_corrected
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.corrected.steps import find_steps_taken
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.predictions import Prediction
from eval.synthlink.question import Question
from kg.knowledge import KnowledgeBase
from kg.text.normaliser import extract_content_words
from retrieval.corpus import read_corpus

BAR = Thresholds()
DOCS = Path(__file__).parents[3] / "docs" / "synthlink.md"
CATALOG = {one.id: one for one in read_catalog().questions}


class AnswerScores(NamedTuple):
    """F1 and RQS of an answer, with and without the rules against attacks."""

    f1: float
    plain: float
    rqs: float
    steps: float


def plain_f1(answer: str, question: Question) -> float:
    """SQuAD F1 of content words not in the question, by the best reference, without more rules."""
    asked = set(extract_content_words(question.question))
    facts = " ".join(step.fact for step in question.steps)

    def words_beyond_question(text: str) -> Counter[str]:
        return Counter(word for word in extract_content_words(text) if word not in asked)

    said = words_beyond_question(answer)
    references = [
        words_beyond_question(text) for text in (question.answer, *question.aliases, facts)
    ]
    return max(2 * (said & one).total() / (said.total() + one.total()) for one in references)


def collect_answers(agent: Agent) -> dict[str, str]:
    """Returns the answers of an offline agent, without its abstentions."""

    async def ask_each() -> dict[str, str]:
        return {name: (await agent.answer(one.question)).answer for name, one in CATALOG.items()}

    return {name: text for name, text in asyncio.run(ask_each()).items() if text}


def score_answer(answer: str, question: Question, guard: Guard, pages: SourcePages) -> AnswerScores:
    parts = score_corrected(Prediction(question.id, answer), question, guard, BAR, pages)
    assert parts.f1 is not None
    assert parts.rqs is not None
    loose = msgspec.structs.replace(BAR, order=0.0, sentence=0.0, english=-9.0)
    steps = find_steps_taken(answer, question, loose) or ()
    return AnswerScores(
        parts.f1, plain_f1(answer, question), parts.rqs, len(steps) / len(question.steps)
    )


@cache
def score_all_answers() -> dict[str, list[AnswerScores]]:
    library = CorpusLibrary(read_corpus())
    six = {one.id: one for one in read_six_questions().questions}
    texts: dict[str, Iterable[tuple[str, Question]]] = {
        "`graph_walk`": [
            (text, CATALOG[i]) for i, text in collect_answers(GraphWalk(library)).items()
        ],
        "18 paraphrases": [(text, CATALOG[name]) for name, text in PARAPHRASES.items()],
        "10 more, written when the rules stood": [
            (LATER_PARAPHRASES[name], CATALOG[name]) for name in LATER_PARAPHRASES
        ],
        "7 lists": [(text, CATALOG[name]) for name, text in LIST_PARAPHRASES.items()],
        "the six honest": [(text, six[name]) for name, text in HONEST_ANSWERS.items()],
        "facts, last first": [
            (" ".join(step.fact for step in reversed(one.steps)), one) for one in CATALOG.values()
        ],
        "`extractive`": [
            (text, CATALOG[i]) for i, text in collect_answers(Extractive(library)).items()
        ],
    }
    guard, pages = Guard(KnowledgeBase.open_cached("synthlink")), SourcePages(read_corpus())
    return {
        kind: [score_answer(*one, guard, pages) for one in some] for kind, some in texts.items()
    }


def kept_shares(some: Iterable[tuple[float, float]]) -> list[float]:
    """Returns the ratios of values with the rules to values without them."""
    return [after / before for after, before in some if before]


@pytest.mark.parametrize("kind", list(score_all_answers()))
def test_right_answers_keep_their_f1_and_steps(kind: str) -> None:
    f1 = kept_shares((one.f1, one.plain) for one in score_all_answers()[kind])
    if kind == "7 lists":  # which look like keywords with something between them
        assert mean(f1) >= 0.6
        assert min(f1) >= 0.2
        return
    assert mean(f1) >= 0.9
    assert min(f1) >= 0.5
    assert mean(kept_shares((one.rqs, one.steps) for one in score_all_answers()[kind])) >= 0.8


def test_most_right_answers_are_correct_and_few_quotations() -> None:
    shares = {
        kind: sum(one.f1 >= BAR.correct for one in some) / len(some)
        for kind, some in score_all_answers().items()
    }
    print({kind: round(share, 2) for kind, share in shares.items()})
    for kind in ("`graph_walk`", "18 paraphrases", "10 more, written when the rules stood"):
        assert shares[kind] >= 0.75
    assert shares["`extractive`"] < 0.05


def test_documentation_shows_the_cost_of_the_rules() -> None:
    rows = {}
    for kind, some in score_all_answers().items():
        f1 = kept_shares((one.f1, one.plain) for one in some)
        rqs = kept_shares((one.rqs, one.steps) for one in some)
        cells = [mean(one.plain for one in some), mean(one.f1 for one in some)]
        cells += [mean(f1), min(f1), mean(rqs), min(rqs)]
        rows[kind] = " | ".join(f"{cell:.2f}" for cell in cells)
        print(f"| {kind} | {rows[kind]} |")
    shown = re.findall(
        r"^\| ([^|]+?) \| ((?:\d\.\d\d \| ){5}\d\.\d\d) \|$", DOCS.read_text("utf-8"), re.M
    )
    assert dict(shown) == rows
