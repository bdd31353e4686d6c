"""Answers to six SynthLink questions: honest ones of medium quality, shuffled ones, and echoes.

The honest answers were written in other words than those of the catalogue, with gaps, asides and
one error each.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from eval.synthlink.catalog import Catalog, read_catalog
from eval.synthlink.items import Question

HONEST_ANSWERS = {
    "HIA-01": "In 1794 Eli Whitney patented the cotton gin, a machine that pulled seeds out of "
    "cotton. It made short-staple cotton profitable for inland farms. Demand for field hands grew, "
    "and by the Civil War the South had millions of enslaved workers.",
    "EIS-01": "Malcom McLean sent his ship Ideal X from Newark with containers on board in 1956. "
    "That was the start of container shipping, which made loading much cheaper. London's docks "
    "were too small for the new ships and closed. Most trade went to Rotterdam.",
    "EEC-01": "Chlorofluorocarbons were introduced as refrigerants around 1930 by Thomas Midgley. "
    "Molina and Rowland warned in 1974 that they damage the ozone layer. The Kyoto Protocol of "
    "1997 then banned them.",
    "STE-01": "Bardeen and Brattain made the first transistor at Bell Labs in 1947. Later Jack "
    "Kilby put several components on one chip. A Japanese calculator company asked Intel for "
    "chips, and Intel built the 4004 in 1971.",
    "PSM-01": "The Triangle Shirtwaist fire of 1911 killed 146 workers because doors were locked. "
    "The state set up a commission on factories. New York then passed stricter fire codes. Frances "
    "Perkins witnessed it and was later appointed by Truman.",
    "SFT-01": "Repeats called CRISPR were noticed in bacteria, where they turned out to belong to "
    "an immune system. Doudna and Charpentier turned Cas9 into a tool to cut DNA in 2012. A "
    "therapy called Casgevy was approved in 2023 in the United States.",
}

SIX_QUESTIONS_FILE = Path(__file__).parent / "data" / "synthlink_six.jsonl"
"""One question per category, as worded when the honest answers were written."""


def read_six_questions() -> Catalog:
    return read_catalog(SIX_QUESTIONS_FILE)


def honest_predictions(catalog: Catalog) -> list[dict[str, Any]]:
    """Makes predictions with the honest answers; the final answer comes in the third round."""
    rows = []
    for question in catalog.questions:
        answer = HONEST_ANSWERS[question.id]
        first_sentence = f"{answer.split('. ')[0]}."
        rows.append(
            make_prediction(
                question, answer, list_found_pages(question), rounds=["", first_sentence, answer]
            )
        )
    return rows


def list_found_pages(question: Question) -> list[str]:
    """Lists two sources of the question among pages that are not its sources."""
    return [
        question.sources[0].url,
        "https://en.wikipedia.org/wiki/World_history",
        question.sources[-1].url,
        "https://news.example/timeline",
    ]


def shuffled_predictions(catalog: Catalog) -> list[dict[str, Any]]:
    """Makes predictions with the words of the expected answers in random order."""
    rows = []
    for question in catalog.questions:
        words = question.answer.split()
        random.Random(question.id).shuffle(words)
        rows.append(make_prediction(question, " ".join(words), list_found_pages(question)))
    return rows


def echo_predictions(catalog: Catalog) -> list[dict[str, Any]]:
    """Makes predictions that repeat the question, which claims nothing."""
    return [
        make_prediction(question, question.question, list_found_pages(question))
        for question in catalog.questions
    ]


def make_prediction(
    question: Question, answer: str, docs: list[str], rounds: list[str] | None = None
) -> dict[str, Any]:
    """Makes a prediction; without ``rounds`` it lists its own answer as verified.

    A system is free to do so, because nothing checks that list.
    """
    return {
        "question_id": question.id,
        "predicted_answer": answer,
        "retrieved_docs": docs,
        "iterations": [
            {"answers": [text], "docs": docs, "opened": docs} for text in rounds or [answer]
        ],
        "sources_verified": [] if rounds else [answer],
    }
