"""Tests how much the rules against attacks lower the scores of right but reworded answers.

``pytest -s`` prints the table of docs/synthlink.md. The limits below are looser than its numbers.
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
from eval.synthlink.items import Question
from eval.synthlink.predictions import Prediction
from kg.knowledge import KnowledgeBase
from kg.words.normaliser import extract_content_words
from retrieval.corpus import read_corpus

THRESHOLDS = Thresholds()
DOCS = Path(__file__).parents[3] / "docs" / "synthlink.md"
CATALOG = {question.id: question for question in read_catalog().questions}


class AnswerScores(NamedTuple):
    """F1 and RQS of an answer, with and without the rules against attacks."""

    f1: float
    plain_f1: float
    """F1 without the rules against attacks."""
    rqs: float
    step_share: float
    """Share of the question's steps in the answer, without the rules on order and language."""


def compute_plain_f1(answer: str, question: Question) -> float:
    """Returns the SQuAD F1 of the content words that the question lacks, by the best reference."""
    question_words = set(extract_content_words(question.question))
    facts = " ".join(step.fact for step in question.steps)

    def words_beyond_question(text: str) -> Counter[str]:
        return Counter(word for word in extract_content_words(text) if word not in question_words)

    answer_words = words_beyond_question(answer)
    reference_counts = [
        words_beyond_question(text) for text in (question.answer, *question.aliases, facts)
    ]
    return max(
        2
        * (answer_words & reference_words).total()
        / (answer_words.total() + reference_words.total())
        for reference_words in reference_counts
    )


def collect_answers(agent: Agent) -> dict[str, str]:
    """Returns the answers of an offline agent, without its abstentions."""

    async def ask_each() -> dict[str, str]:
        return {
            question_id: (await agent.answer(question.question)).answer
            for question_id, question in CATALOG.items()
        }

    return {question_id: text for question_id, text in asyncio.run(ask_each()).items() if text}


def score_answer(answer: str, question: Question, guard: Guard, pages: SourcePages) -> AnswerScores:
    """Scores one answer with the rules against attacks, and without them."""
    scores = score_corrected(Prediction(question.id, answer), question, guard, THRESHOLDS, pages)
    assert scores.f1 is not None
    assert scores.rqs is not None
    # These values switch off the rules on order and language.
    loose_thresholds = msgspec.structs.replace(THRESHOLDS, order=0.0, sentence=0.0, english=-9.0)
    steps_taken = find_steps_taken(answer, question, loose_thresholds) or ()
    return AnswerScores(
        scores.f1,
        compute_plain_f1(answer, question),
        scores.rqs,
        len(steps_taken) / len(question.steps),
    )


@cache
def score_all_answers() -> dict[str, list[AnswerScores]]:
    """Returns the scores of right answers by kind, the first column of the documented table."""
    library = CorpusLibrary(read_corpus())
    six_questions = {question.id: question for question in read_six_questions().questions}
    answers_by_kind: dict[str, Iterable[tuple[str, Question]]] = {
        "`graph_walk`": [
            (text, CATALOG[question_id])
            for question_id, text in collect_answers(GraphWalk(library)).items()
        ],
        "18 paraphrases": [
            (text, CATALOG[question_id]) for question_id, text in PARAPHRASES.items()
        ],
        "10 more, written when the rules stood": [
            (LATER_PARAPHRASES[question_id], CATALOG[question_id])
            for question_id in LATER_PARAPHRASES
        ],
        "7 lists": [(text, CATALOG[question_id]) for question_id, text in LIST_PARAPHRASES.items()],
        "the six honest": [
            (text, six_questions[question_id]) for question_id, text in HONEST_ANSWERS.items()
        ],
        "facts, last first": [
            (" ".join(step.fact for step in reversed(question.steps)), question)
            for question in CATALOG.values()
        ],
        "`extractive`": [
            (text, CATALOG[question_id])
            for question_id, text in collect_answers(Extractive(library)).items()
        ],
    }
    guard, pages = Guard(KnowledgeBase.open_cached("synthlink")), SourcePages(read_corpus())
    return {
        kind: [score_answer(*answer_and_question, guard, pages) for answer_and_question in answers]
        for kind, answers in answers_by_kind.items()
    }


def compute_ratios(value_pairs: Iterable[tuple[float, float]]) -> list[float]:
    """Returns the ratios of values with the rules to values without them."""
    return [
        with_rules / without_rules for with_rules, without_rules in value_pairs if without_rules
    ]


@pytest.mark.parametrize("kind", list(score_all_answers()))
def test_right_answers_keep_their_f1_and_steps(kind: str) -> None:
    f1_ratios = compute_ratios((scores.f1, scores.plain_f1) for scores in score_all_answers()[kind])
    if kind == "7 lists":  # Lists resemble keyword lists, an attack, and so lose more.
        assert mean(f1_ratios) >= 0.6
        assert min(f1_ratios) >= 0.2
        return
    assert mean(f1_ratios) >= 0.9
    assert min(f1_ratios) >= 0.5
    rqs_ratios = compute_ratios(
        (scores.rqs, scores.step_share) for scores in score_all_answers()[kind]
    )
    assert mean(rqs_ratios) >= 0.8


def test_most_right_answers_count_as_correct_but_few_quotations_do() -> None:
    correct_shares = {
        kind: sum(scores.f1 >= THRESHOLDS.correct for scores in scores_of_kind)
        / len(scores_of_kind)
        for kind, scores_of_kind in score_all_answers().items()
    }
    print({kind: round(share, 2) for kind, share in correct_shares.items()})
    for kind in ("`graph_walk`", "18 paraphrases", "10 more, written when the rules stood"):
        assert correct_shares[kind] >= 0.75
    assert correct_shares["`extractive`"] < 0.05


def test_documentation_shows_the_cost_of_the_rules() -> None:
    rows = {}
    for kind, scores_of_kind in score_all_answers().items():
        f1_ratios = compute_ratios((scores.f1, scores.plain_f1) for scores in scores_of_kind)
        rqs_ratios = compute_ratios((scores.rqs, scores.step_share) for scores in scores_of_kind)
        cells = [
            mean(scores.plain_f1 for scores in scores_of_kind),
            mean(scores.f1 for scores in scores_of_kind),
        ]
        cells += [mean(f1_ratios), min(f1_ratios), mean(rqs_ratios), min(rqs_ratios)]
        rows[kind] = " | ".join(f"{cell:.2f}" for cell in cells)
        print(f"| {kind} | {rows[kind]} |")
    documented_rows = re.findall(
        r"^\| ([^|]+?) \| ((?:\d\.\d\d \| ){5}\d\.\d\d) \|$", DOCS.read_text("utf-8"), re.M
    )
    assert dict(documented_rows) == rows
