"""Honest answers of medium quality, and attacks that aim only at the SynthLink score.

The honest answers were written in other words than those of the catalogue, with gaps, asides and
one error each. The attacks use what no honest system has: the keywords and answers of the
catalogue.
"""

from __future__ import annotations

import itertools
import random
import string
from collections.abc import Callable
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

AnswerWriter = Callable[[Question, Catalog], str]


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


def attack_predictions(name: str, catalog: Catalog) -> list[dict[str, Any]]:
    """Makes the predictions of one attack of ``ATTACK_NAMES``.

    They list the same pages as the honest answers, except for two attacks: "one page five times"
    and "only the easy question".
    """
    if name == "only the easy question":
        first_question = catalog.questions[0]
        return [
            make_prediction(
                first_question,
                first_question.answer,
                docs=[source.url for source in first_question.sources],
            )
        ]
    rows = make_predictions(ATTACKS[name], catalog)
    if name == "one page five times":
        for row, question in zip(rows, catalog.questions, strict=True):
            row["retrieved_docs"] = [question.sources[0].url] * 5
    return rows


def make_predictions(write_answer: AnswerWriter, catalog: Catalog) -> list[dict[str, Any]]:
    """Makes predictions with the answers of ``write_answer``, each verified in the first round."""
    return [
        make_prediction(question, write_answer(question, catalog), list_found_pages(question))
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
        "iterations": [{"answers": [text], "docs": docs} for text in rounds or [answer]],
        "sources_verified": [] if rounds else [answer],
    }


def _list_keywords(question: Question, catalog: Catalog) -> str:
    """Lists all keywords of all steps, separated by commas."""
    return ", ".join(word for step in question.steps for word in step.keywords)


def _join_keywords(question: Question, catalog: Catalog) -> str:
    """Joins all keywords of all steps with function words, so that they look like prose."""
    words = [word for step in question.steps for word in step.keywords]
    return f"The {' and the '.join(words)}."


_VARIED_WORDS = (" of the ", " was in ", " by a ", " from which ", " and its ", " that had ",
           " to be with ", " as it is at ")  # fmt: skip


def _join_keywords_varied(question: Question, catalog: Catalog) -> str:
    """Joins all keywords with varied function words, to pass a word-by-word check for prose."""
    words = [word for step in question.steps for word in step.keywords]
    pairs = zip(words, itertools.cycle(_VARIED_WORDS), strict=False)
    return f"The {''.join(word + small_word for word, small_word in pairs)}it."


def _all_category_words(question: Question, catalog: Catalog) -> str:
    """Sorts all words of the expected answers of the category, and all keywords."""
    texts = [other.answer for other in catalog.questions if other.category == question.category]
    texts += [_list_keywords(other, catalog) for other in catalog.questions]
    return " ".join(sorted({word.strip(string.punctuation) for word in " ".join(texts).split()}))


def _shuffle_answer(question: Question, catalog: Catalog) -> str:
    """Shuffles the words of the expected answer."""
    words = question.answer.split()
    random.Random(question.id).shuffle(words)
    return " ".join(words)


def _shuffle_facts(question: Question, catalog: Catalog) -> str:
    """Shuffles the words of all facts and cuts them into as many sentences as there are facts."""
    words = " ".join(step.fact.rstrip(".") for step in question.steps).split()
    random.Random(question.id).shuffle(words)
    size = -(-len(words) // len(question.steps))  # rounded up
    chunks = [" ".join(words[start : start + size]) for start in range(0, len(words), size)]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in chunks)


def _repeat_fact(question: Question, catalog: Catalog) -> str:
    """Repeats one fact twenty times."""
    return " ".join([question.steps[0].fact] * 20)


def _answer_other_question(question: Question, catalog: Catalog) -> str:
    """Answers with the expected answer of another question."""
    index = catalog.questions.index(question)
    return catalog.questions[index - 1].answer


ATTACKS: dict[str, AnswerWriter] = {
    "keywords as a list": _list_keywords,
    "keywords joined": _join_keywords,
    "keywords, small words varied": _join_keywords_varied,
    "a heap of all words": _all_category_words,
    "answer shuffled": _shuffle_answer,
    "facts shuffled": _shuffle_facts,
    "one fact twenty times": _repeat_fact,
    "wrong, self-verified": _answer_other_question,
    "one page five times": lambda question, catalog: "See the page.",
    "question as answer": lambda question, catalog: question.question,
    "question as statement": lambda question, catalog: question.question.rstrip("?") + ".",
}

ATTACK_NAMES = (*ATTACKS, "only the easy question")
