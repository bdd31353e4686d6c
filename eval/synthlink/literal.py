"""The specification's five formulas as they stand, with each reading that they leave open.

They are here to be compared with, not to be trusted: ``docs/synthlink.md`` shows how far they are
fooled.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal
from urllib.parse import unquote

import msgspec

from eval.synthlink.catalog_markdown import steps_cell
from eval.synthlink.corrected.wording import sentences
from eval.synthlink.measures import WEIGHTS, Measure, Parts
from eval.synthlink.predictions import Prediction
from eval.synthlink.question import Question, Source
from kg.text.normaliser import FUNCTION_WORDS, words

_CUTOFF = 5


class Readings(msgspec.Struct, frozen=True, kw_only=True):
    """How each open place of the formulas is read. The first value is the one taken."""

    tokens: Literal["set", "multiset"] = "set"
    """F1: |P ∩ T|, |P| and |T| are of sets, as they are written, or count repetitions."""
    documents: Literal["set", "list"] = "set"
    """P@5: the first five documents are a set, as written, or each counts for itself."""
    relevant: Literal["page", "exact"] = "page"
    """P@5: a document is a source where its text, or the last part of its address, is the source's
    title or address but for case and underscores; or where its text is to the letter."""
    keywords: Literal["keywords", "steps", "split"] = "keywords"
    """RQS: S holds each keyword of each step; or the steps, each present by any of its keywords; or
    the pieces of the steps' cell cut at ``". "``, digits included, as the published script has it.
    A step without keywords has the content words of its instruction but the first, which is a
    verb."""
    claims: Literal["substring", "words"] = "substring"
    """FCS: a claim, which is a sentence of the answer, is in the sources where its text is, or
    where all its words are."""
    correct: float = 0.5
    """IE: an answer of an iteration is correct from this F1 on; the specification says nothing."""


def score_literally(
    prediction: Prediction, question: Question, readings: Readings | None = None
) -> Parts:
    """The five measures and their aggregate.

    An undefined measure is 0, and an iteration has the best of its answers.
    """
    readings = readings or Readings()
    answer = prediction.predicted_answer
    f1 = token_f1(answer, question.answer, readings)
    rounds = tuple(
        max((token_f1(text, question.answer, readings) for text in one.answers), default=0.0)
        for one in prediction.iterations
    )
    found: dict[Measure, float] = {
        "f1": f1,
        "p_at_5": precision_at_5(prediction.retrieved_docs, question.sources, readings),
        "rqs": reasoning_quality(answer, question, readings),
        "fcs": fact_checking(answer, prediction.sources_verified, readings),
        "ie": efficiency(rounds, readings.correct),
    }
    return Parts(
        f1=f1,
        p_at_5=found["p_at_5"],
        recall_at_5=None,
        rqs=found["rqs"],
        fcs=found["fcs"],
        ie=found["ie"],
        aggregate=sum(weight * found[name] for name, weight in WEIGHTS.items()),
        iteration_f1=rounds,
    )


def token_f1(answer: str, truth: str, readings: Readings) -> float:
    """F1 of words in lower case, function words included."""
    said, expected = Counter(words(answer)), Counter(words(truth))
    if readings.tokens == "set":
        said, expected = Counter(set(said)), Counter(set(expected))
    shared = (said & expected).total()
    return 2 * shared / (said.total() + expected.total()) if shared else 0.0


def precision_at_5(docs: tuple[str, ...], sources: tuple[Source, ...], readings: Readings) -> float:
    """|D_p ∩ D_r| / 5."""
    first = list(docs[:_CUTOFF])
    if readings.relevant == "exact":
        held = {text for source in sources for text in (source.title, source.url) if text}
        hits = [doc for doc in first if doc in held]
    else:
        forms = [{_plain(source.title), _plain(source.url)} - {""} for source in sources]
        places = [
            next((at for at, form in enumerate(forms) if form & {_plain(doc), _last(doc)}), None)
            for doc in first
        ]
        hits = [str(place) for place in places if place is not None]
    return len(set(hits) if readings.documents == "set" else hits) / _CUTOFF


def reasoning_quality(answer: str, question: Question, readings: Readings) -> float:
    """min(Σ I(sᵢ in prediction) / n, 1), where "in" is that of texts."""
    text = answer.casefold()
    if readings.keywords == "split":
        pieces = steps_cell(question.steps).split(". ")
        return sum(piece.casefold() in text for piece in pieces) / len(pieces)
    by_step = [step.keywords or _instruction_words(step.instruction) for step in question.steps]
    if readings.keywords == "steps":
        present = [any(word.casefold() in text for word in group) for group in by_step]
    else:
        present = [word.casefold() in text for group in by_step for word in group]
    return min(sum(present) / len(present), 1.0) if present else 0.0


def fact_checking(answer: str, verified: tuple[str, ...], readings: Readings) -> float:
    """Σ I(cᵢ in sources) / m, against the sources that the prediction brings along."""
    claims = [text.strip().casefold() for _, text in sentences(answer)]
    if not claims:
        return 0.0
    texts = [text.casefold() for text in verified]
    if readings.claims == "substring":
        held = [any(claim in text for text in texts) for claim in claims]
    else:
        known = [set(words(text)) for text in texts]
        held = [any(set(words(claim)) <= those for those in known) for claim in claims]
    return sum(held) / len(claims)


def efficiency(rounds: tuple[float, ...], correct: float) -> float:
    """1 / min(k, 5) for the first correct iteration k, else 0."""
    first = next((number for number, f1 in enumerate(rounds, 1) if f1 >= correct), None)
    return 0.0 if first is None else 1 / min(first, 5)


def _instruction_words(instruction: str) -> tuple[str, ...]:
    """Content words of an instruction without the verb it begins with."""
    return tuple(
        dict.fromkeys(word for word in words(instruction)[1:] if word not in FUNCTION_WORDS)
    )


def _plain(text: str) -> str:
    return text.strip().replace("_", " ").casefold()


def _last(doc: str) -> str:
    """The last part of an address; the text itself where it is none."""
    found = re.match(r"https?://[^?#]*/(?P<last>[^/?#]+)/?(?:[?#]|$)", doc.strip())
    return _plain(unquote(found["last"])) if found else _plain(doc)
