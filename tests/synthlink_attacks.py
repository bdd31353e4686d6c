"""Honest answers that are no better than middling, and answers that are out for the score.

The honest ones were written in other words than the catalogue's, with gaps, asides and an error
each. The others are given what no honest system has: the catalogue's own keywords and answers.
"""

from __future__ import annotations

import itertools
import random
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eval.synthlink.catalog import Catalog, read_catalog
from eval.synthlink.question import Question

HONEST = {
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

SIX = Path(__file__).parent / "data" / "synthlink_six.jsonl"
"""One question of each category, as they stood when the honest answers were written."""

Answer = Callable[[Question, Catalog], str]


def six_questions() -> Catalog:
    return read_catalog(SIX)


def honest(catalog: Catalog) -> list[dict[str, Any]]:
    """One source of several, among pages that are none; the answer comes in the third round."""
    rows = []
    for question in catalog.questions:
        answer = HONEST[question.id]
        first = f"{answer.split('. ')[0]}."
        rows.append(prediction(question, answer, found(question), rounds=["", first, answer]))
    return rows


def found(question: Question) -> list[str]:
    """Two sources among pages that are none."""
    return [
        question.sources[0].url,
        "https://en.wikipedia.org/wiki/World_history",
        question.sources[-1].url,
        "https://news.example/timeline",
    ]


def attack(name: str, catalog: Catalog) -> list[dict[str, Any]]:
    """The predictions of one attack of ``NAMES``.

    They found the same pages as the honest answers, but for the two attacks that are about pages
    and about coverage.
    """
    if name == "only the easy question":
        easy = catalog.questions[0]
        return [prediction(easy, easy.answer, docs=[source.url for source in easy.sources])]
    rows = answered(ATTACKS[name], catalog)
    if name == "one page five times":
        for row, question in zip(rows, catalog.questions, strict=True):
            row["retrieved_docs"] = [question.sources[0].url] * 5
    return rows


def answered(make: Answer, catalog: Catalog) -> list[dict[str, Any]]:
    """Predictions with answers that are made up; each verifies itself, done in the first round."""
    return [
        prediction(question, make(question, catalog), found(question))
        for question in catalog.questions
    ]


def prediction(
    question: Question, answer: str, docs: list[str], rounds: list[str] | None = None
) -> dict[str, Any]:
    """A prediction that says that its own answer verifies it, as nothing keeps it from doing."""
    return {
        "question_id": question.id,
        "predicted_answer": answer,
        "retrieved_docs": docs,
        "iterations": [{"answers": [text], "docs": docs} for text in rounds or [answer]],
        "sources_verified": [] if rounds else [answer],
    }


def _keywords(question: Question, catalog: Catalog) -> str:
    """All keywords of all steps, as a list."""
    return ", ".join(word for step in question.steps for word in step.keywords)


def _joined_keywords(question: Question, catalog: Catalog) -> str:
    """All keywords of all steps with small words between, so that they look like prose."""
    words = [word for step in question.steps for word in step.keywords]
    return f"The {' and the '.join(words)}."


_VARIED = (" of the ", " was in ", " by a ", " from which ", " and its ", " that had ",
           " to be with ", " as it is at ")  # fmt: skip


def _varied_keywords(question: Question, catalog: Catalog) -> str:
    """All keywords with varied small words between: what word by word passes for prose."""
    words = [word for step in question.steps for word in step.keywords]
    pairs = zip(words, itertools.cycle(_VARIED), strict=False)
    return f"The {''.join(word + small for word, small in pairs)}it."


def _everything(question: Question, catalog: Catalog) -> str:
    """Each word of the expected answers of the whole category, and each keyword, in one heap."""
    texts = [one.answer for one in catalog.questions if one.category == question.category]
    texts += [_keywords(one, catalog) for one in catalog.questions]
    return " ".join(sorted({word.strip(string.punctuation) for word in " ".join(texts).split()}))


def _shuffled(question: Question, catalog: Catalog) -> str:
    """The words of the expected answer, thrown together."""
    words = question.answer.split()
    random.Random(question.id).shuffle(words)
    return " ".join(words)


def _shuffled_facts(question: Question, catalog: Catalog) -> str:
    """The words of all facts, thrown together and cut into as many sentences."""
    words = " ".join(step.fact.rstrip(".") for step in question.steps).split()
    random.Random(question.id).shuffle(words)
    size = -(-len(words) // len(question.steps))
    cut = [" ".join(words[at : at + size]) for at in range(0, len(words), size)]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in cut)


def _repeated(question: Question, catalog: Catalog) -> str:
    """One fact, twenty times."""
    return " ".join([question.steps[0].fact] * 20)


def _wrong(question: Question, catalog: Catalog) -> str:
    """The expected answer of another question, which verifies itself."""
    at = catalog.questions.index(question)
    return catalog.questions[at - 1].answer


ATTACKS: dict[str, Answer] = {
    "keywords as a list": _keywords,
    "keywords joined": _joined_keywords,
    "keywords, small words varied": _varied_keywords,
    "a heap of all words": _everything,
    "answer shuffled": _shuffled,
    "facts shuffled": _shuffled_facts,
    "one fact twenty times": _repeated,
    "wrong, self-verified": _wrong,
    "one page five times": lambda question, catalog: "See the page.",
    "question as answer": lambda question, catalog: question.question,
    "question as statement": lambda question, catalog: question.question.rstrip("?") + ".",
}

NAMES = (*ATTACKS, "only the easy question")
