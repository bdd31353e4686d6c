"""The literal scores: the specification's five formulas exactly as written.

Where a formula is ambiguous, a setting selects how it is read. These scores serve for comparison
with the corrected ones only: ``docs/synthlink.md`` shows how easily they can be gamed.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal
from urllib.parse import unquote

import msgspec

from eval.synthlink.catalog_markdown import render_steps
from eval.synthlink.corrected.wording import sentences
from eval.synthlink.metrics import AGGREGATE_WEIGHTS, AnswerScores, MetricName
from eval.synthlink.predictions import Prediction
from eval.synthlink.question import Question, Source
from kg.text.normaliser import FUNCTION_WORDS, split_words

_CUTOFF = 5


class SpecReadings(msgspec.Struct, frozen=True, kw_only=True):
    """How the ambiguous parts of the formulas are read. The first value is the default."""

    tokens: Literal["set", "multiset"] = "set"
    """F1: whether |P ∩ T|, |P| and |T| are over sets, as written, or count repeated words."""
    documents: Literal["set", "list"] = "set"
    """P@5: whether the first five documents are a set, as written, or a list, in which a repeated
    document counts again."""
    relevant: Literal["page", "exact"] = "page"
    """P@5: when a document is a source. ``page``: its text, or the last part of its address, equals
    the source's title or address up to case and underscores. ``exact``: its text equals title or
    address exactly."""
    keywords: Literal["keywords", "steps", "split"] = "keywords"
    """RQS: the elements of S. ``keywords``: each keyword of each step. ``steps``: the steps, each
    present if any of its keywords is. ``split``: the pieces of the table cell of steps, split at
    ``". "`` with the numbers included, as in the published script. A step without keywords uses
    the content words of its instruction except the first, which is a verb."""
    claims: Literal["substring", "words"] = "substring"
    """FCS: whether a claim (a sentence of the answer) is in the sources if its text is a substring
    of one, or if all its words occur in one."""
    correct: float = 0.5
    """IE: minimum F1 of a correct answer of an iteration; the specification gives no value."""


def score_literal(
    prediction: Prediction, question: Question, readings: SpecReadings | None = None
) -> AnswerScores:
    """Computes the five metrics of one answer and their aggregate.

    An undefined metric is 0. The F1 of an iteration is the best of its answers.
    """
    readings = readings or SpecReadings()
    answer = prediction.predicted_answer
    f1 = token_f1(answer, question.answer, readings)
    rounds = tuple(
        max((token_f1(text, question.answer, readings) for text in iteration.answers), default=0.0)
        for iteration in prediction.iterations
    )
    metrics: dict[MetricName, float] = {
        "f1": f1,
        "p_at_5": precision_at_5(prediction.retrieved_docs, question.sources, readings),
        "rqs": reasoning_quality(answer, question, readings),
        "fcs": fact_checking_score(answer, prediction.sources_verified, readings),
        "ie": iteration_efficiency(rounds, readings.correct),
    }
    return AnswerScores(
        f1=f1,
        p_at_5=metrics["p_at_5"],
        recall_at_5=None,
        rqs=metrics["rqs"],
        fcs=metrics["fcs"],
        ie=metrics["ie"],
        aggregate=sum(weight * metrics[name] for name, weight in AGGREGATE_WEIGHTS.items()),
        iteration_f1=rounds,
    )


def token_f1(answer: str, truth: str, readings: SpecReadings) -> float:
    """Computes the F1 of lower-case words, function words included."""
    predicted, expected = Counter(split_words(answer)), Counter(split_words(truth))
    if readings.tokens == "set":
        predicted, expected = Counter(set(predicted)), Counter(set(expected))
    shared = (predicted & expected).total()
    return 2 * shared / (predicted.total() + expected.total()) if shared else 0.0


def precision_at_5(
    docs: tuple[str, ...], sources: tuple[Source, ...], readings: SpecReadings
) -> float:
    """Computes |D_p ∩ D_r| / 5 over the first five documents."""
    first = list(docs[:_CUTOFF])
    if readings.relevant == "exact":
        relevant = {text for source in sources for text in (source.title, source.url) if text}
        hits = [doc for doc in first if doc in relevant]
    else:
        forms = [
            {_normalise_title(source.title), _normalise_title(source.url)} - {""}
            for source in sources
        ]
        indices = [
            next(
                (
                    i
                    for i, form in enumerate(forms)
                    if form & {_normalise_title(doc), _last_path_part(doc)}
                ),
                None,
            )
            for doc in first
        ]
        # Citations of one source in two forms count as one document of the set.
        hits = [str(index) for index in indices if index is not None]
    return len(set(hits) if readings.documents == "set" else hits) / _CUTOFF


def reasoning_quality(answer: str, question: Question, readings: SpecReadings) -> float:
    """Computes min(Σ I(sᵢ in prediction) / n, 1), where "in" tests for a substring."""
    text = answer.casefold()
    if readings.keywords == "split":
        pieces = render_steps(question.steps).split(". ")
        return sum(piece.casefold() in text for piece in pieces) / len(pieces)
    by_step = [step.keywords or _instruction_words(step.instruction) for step in question.steps]
    if readings.keywords == "steps":
        present = [any(word.casefold() in text for word in group) for group in by_step]
    else:
        present = [word.casefold() in text for group in by_step for word in group]
    return min(sum(present) / len(present), 1.0) if present else 0.0


def fact_checking_score(answer: str, verified: tuple[str, ...], readings: SpecReadings) -> float:
    """Computes Σ I(cᵢ in sources) / m, with the sources that the prediction itself gives."""
    claims = [text.strip().casefold() for _, text in sentences(answer)]
    if not claims:
        return 0.0
    texts = [text.casefold() for text in verified]
    if readings.claims == "substring":
        supported = [any(claim in text for text in texts) for claim in claims]
    else:
        text_words = [set(split_words(text)) for text in texts]
        supported = [
            any(set(split_words(claim)) <= known for known in text_words) for claim in claims
        ]
    return sum(supported) / len(claims)


def iteration_efficiency(rounds: tuple[float, ...], correct: float) -> float:
    """Computes 1 / min(k, 5) for the first correct iteration k; 0 if none is correct."""
    first = next((number for number, f1 in enumerate(rounds, 1) if f1 >= correct), None)
    return 0.0 if first is None else 1 / min(first, 5)


def _instruction_words(instruction: str) -> tuple[str, ...]:
    """Returns the content words of an instruction without the verb it begins with."""
    return tuple(
        dict.fromkeys(word for word in split_words(instruction)[1:] if word not in FUNCTION_WORDS)
    )


def _normalise_title(text: str) -> str:
    return text.strip().replace("_", " ").casefold()


def _last_path_part(doc: str) -> str:
    """Returns the last path part of an address, or the whole text if it is not an address."""
    match = re.match(r"https?://[^?#]*/(?P<last>[^/?#]+)/?(?:[?#]|$)", doc.strip())
    return _normalise_title(unquote(match["last"])) if match else _normalise_title(doc)
