"""The literal scores: the specification's five formulas exactly as written.

Where a formula is ambiguous, a setting selects one of its meanings. These scores only serve for
comparison with the corrected ones: ``docs/reference/synthlink.md`` shows how easily they can be
gamed.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal
from urllib.parse import unquote

import msgspec

from eval.synthlink.catalog_markdown import render_steps
from eval.synthlink.items import Question, Source
from eval.synthlink.metrics import AGGREGATE_WEIGHTS, AnswerScores, MetricName
from eval.synthlink.predictions import Prediction
from eval.synthlink.sentences import split_sentences
from kg.words.normaliser import FUNCTION_WORDS, split_words

_CUTOFF = 5
"""Number of documents that P@5 scores."""


class SpecReadings(msgspec.Struct, frozen=True, kw_only=True):
    """How the ambiguous parts of the formulas are understood. The first choice is the default."""

    tokens: Literal["set", "multiset"] = "set"
    """F1: whether |P ∩ T|, |P| and |T| count different words, as written, or all words."""
    documents: Literal["set", "list"] = "set"
    """P@5: whether the first five documents are a set, as written, or a list, in which a repeated
    document counts again."""
    relevant: Literal["page", "exact"] = "page"
    """P@5: when a document counts as a source. ``page``: if its text, or the last part of its
    address, equals the source's title or address up to case and underscores. ``exact``: if its text
    equals title or address exactly."""
    keywords: Literal["keywords", "steps", "split"] = "keywords"
    """RQS: the elements of the set S. ``keywords``: every keyword of every step. ``steps``: the
    steps; a step counts if any of its keywords occurs. ``split``: the pieces of the table cell of
    steps, split at ``". "``, numbers included, as in the published script. For a step without
    keywords, the content words of its instruction are used, except the first word, a verb."""
    claims: Literal["substring", "words"] = "substring"
    """FCS: when a claim (a sentence of the answer) counts as being in the sources. ``substring``:
    if its text is a substring of a source. ``words``: if all its words occur in one source."""
    correct: float = 0.5
    """IE: minimum F1 of a correct answer of an iteration; the specification gives no value."""


def score_literal(
    prediction: Prediction, question: Question, readings: SpecReadings | None = None
) -> AnswerScores:
    """Computes the five metrics of one answer and their aggregate.

    An undefined metric is 0. The F1 of an iteration is that of its best answer.
    """
    readings = readings or SpecReadings()
    answer = prediction.predicted_answer
    f1 = token_f1(answer, question.answer, readings)
    iteration_f1 = tuple(
        max((token_f1(text, question.answer, readings) for text in iteration.answers), default=0.0)
        for iteration in prediction.iterations
    )
    metrics: dict[MetricName, float] = {
        "f1": f1,
        "p_at_5": precision_at_5(prediction.retrieved_docs, question.sources, readings),
        "rqs": reasoning_quality(answer, question, readings),
        "fcs": fact_checking_score(answer, prediction.sources_verified, readings),
        "ie": iteration_efficiency(iteration_f1, readings.correct),
    }
    return AnswerScores(
        f1=f1,
        p_at_5=metrics["p_at_5"],
        recall_at_5=None,
        rqs=metrics["rqs"],
        fcs=metrics["fcs"],
        ie=metrics["ie"],
        aggregate=sum(weight * metrics[name] for name, weight in AGGREGATE_WEIGHTS.items()),
        iteration_f1=iteration_f1,
    )


def token_f1(answer: str, truth: str, readings: SpecReadings) -> float:
    """Computes the F1 of lower-case words, function words included."""
    predicted, expected = Counter(split_words(answer)), Counter(split_words(truth))
    if readings.tokens == "set":
        predicted, expected = Counter(set(predicted)), Counter(set(expected))
    n_common = (predicted & expected).total()
    return 2 * n_common / (predicted.total() + expected.total()) if n_common else 0.0


def precision_at_5(
    docs: tuple[str, ...], sources: tuple[Source, ...], readings: SpecReadings
) -> float:
    """Computes |D_p ∩ D_r| / 5: documents of the prediction that are sources, of the first five."""
    first_docs = list(docs[:_CUTOFF])
    if readings.relevant == "exact":
        relevant = {text for source in sources for text in (source.title, source.url) if text}
        hits = [doc for doc in first_docs if doc in relevant]
    else:
        source_forms = [
            {_normalise_title(source.title), _normalise_title(source.url)} - {""}
            for source in sources
        ]
        indices = [
            next(
                (
                    source_index
                    for source_index, forms in enumerate(source_forms)
                    if forms & {_normalise_title(doc), _last_path_part(doc)}
                ),
                None,
            )
            for doc in first_docs
        ]
        # Citations of one source in two forms count as one document of the set.
        hits = [str(index) for index in indices if index is not None]
    return len(set(hits) if readings.documents == "set" else hits) / _CUTOFF


def reasoning_quality(answer: str, question: Question, readings: SpecReadings) -> float:
    """Computes min(Σ I(sᵢ in prediction) / n, 1) over the n elements sᵢ of S.

    An element counts if it is a substring of the answer; see ``SpecReadings.keywords`` for S.
    """
    text = answer.casefold()
    if readings.keywords == "split":
        pieces = render_steps(question.steps).split(". ")
        return sum(piece.casefold() in text for piece in pieces) / len(pieces)
    words_by_step = [
        step.keywords or _instruction_words(step.instruction) for step in question.steps
    ]
    if readings.keywords == "steps":
        is_present = [
            any(word.casefold() in text for word in step_words) for step_words in words_by_step
        ]
    else:
        is_present = [
            word.casefold() in text for step_words in words_by_step for word in step_words
        ]
    return min(sum(is_present) / len(is_present), 1.0) if is_present else 0.0


def fact_checking_score(answer: str, verified: tuple[str, ...], readings: SpecReadings) -> float:
    """Computes Σ I(cᵢ in sources) / m over the m claims cᵢ of the answer.

    The sources are the texts that the prediction itself gives.
    """
    claims = [text.strip().casefold() for _, text in split_sentences(answer)]
    if not claims:
        return 0.0
    texts = [text.casefold() for text in verified]
    if readings.claims == "substring":
        is_supported = [any(claim in text for text in texts) for claim in claims]
    else:
        text_words = [set(split_words(text)) for text in texts]
        is_supported = [
            any(set(split_words(claim)) <= source_words for source_words in text_words)
            for claim in claims
        ]
    return sum(is_supported) / len(claims)


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
