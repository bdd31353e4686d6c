"""Answers a yes-no question from a context by word overlap, by the same rules for SKN and JSON.

``eval.questions.lexical_answerer`` answers: among the statements that mention all names of the
question, the one that covers most of it decides. Words are weighted by how rare they are in the
context. Three more rules use the metadata of the context, one kind each:

* *confidence*: a statement has the confidence that the context gives, or 0.9 if it gives none; a
  hedged statement ("may", "possibly") has at most 0.5. A statement with a confidence of 0.5 or less
  does not decide.
* *gaps*: a question that asks about something that a gap names is not answered.
* *risk*: ``misdirection`` and ``missing_context`` each halve the confidence if they are high.

The confidence of an answer is the share of the question that its statement covers × the confidence
of the statement, halved as above. Below 0.25 no answer is given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from eval.questions.lexical_answerer import DEFAULT_THRESHOLD, Reader, WordWeights
from eval.skn.card_rules.analysis import HEDGED_CONFIDENCE, PLAIN_CONFIDENCE
from eval.skn.card_rules.context import Context, ContextStatement
from eval.skn.retention.statements import find_written_names, is_hedged, select_asking_sentences
from kg.claims import Gold
from kg.words.normaliser import extract_content_words

VERSION = 1
"""Version of the rules; increase it whenever a change affects the answers."""
MIN_CONFIDENCE = 0.25
"""An answer with less confidence is not given."""


class Decision(NamedTuple):
    """The rules' answer to a question.

    Attributes:
        pred: YES, NO, or UNKNOWN if no answer is given.
        confidence: 0 to 1; null without an answer.
        reason: why the rules answer so, in words.
    """

    pred: Gold
    confidence: float | None
    reason: str


class RuleAgent:
    """An agent that answers by rules, from the given context only."""

    def __init__(self) -> None:
        self._reader = Reader(DEFAULT_THRESHOLD)

    def params(self) -> dict[str, Any]:
        """Returns the version and thresholds of the rules, for the manifest."""
        return {
            "by": "rules",
            "version": VERSION,
            "threshold": self._reader.threshold,
            "least_confidence": MIN_CONFIDENCE,
        }

    def answer_yes_no_question(self, context: Context, question: str) -> Decision:
        """Answers a yes-no question with YES, NO or UNKNOWN."""
        if gap := _find_gap(context, question):
            return _withhold_answer(f"a gap: {gap}")
        texts = [statement.text for statement in context.statements]
        reading = self._reader.answer_question(question, texts, WordWeights(texts))
        if reading.pred == "UNKNOWN":
            return _withhold_answer("no statement covers enough of the question, or two contradict")
        statement = context.statements[texts.index(reading.sentence)]
        confidence = _get_confidence(statement)
        if confidence <= HEDGED_CONFIDENCE:
            return _withhold_answer(f"uncertain: {statement.text}")
        return _build_decision(reading.pred, statement.text, reading.coverage, confidence, context)


def _find_gap(context: Context, question: str) -> str:
    """Returns the first gap that names something the question asks about; empty if none does."""
    asked_names = _list_asked_names(question)
    return next(
        (gap for gap in context.gaps if not asked_names.isdisjoint(extract_content_words(gap))), ""
    )


def _list_asked_names(question: str) -> frozenset[str]:
    names = find_written_names(select_asking_sentences(question))
    return frozenset(word for name in names for word in extract_content_words(name))


def _get_confidence(statement: ContextStatement) -> float:
    confidence = PLAIN_CONFIDENCE if statement.confidence is None else statement.confidence
    return min(confidence, HEDGED_CONFIDENCE) if is_hedged(statement.text) else confidence


def _build_decision(
    pred: Gold, text: str, coverage: float, stated: float, context: Context
) -> Decision:
    """Builds the answer with its confidence; UNKNOWN if the confidence is too low."""
    confidence = coverage * stated
    if context.risk is not None:
        for level in (context.risk.misdirection, context.risk.missing_context):
            confidence *= 0.5 if level == "high" else 1.0
    reason = f"{text} [covers {coverage:.3f} of the question, {stated:.2f} sure]"
    if confidence < MIN_CONFIDENCE:
        return _withhold_answer(f"too unsure ({confidence:.3f}): {reason}")
    return Decision(pred, round(confidence, 6), reason)


def _withhold_answer(reason: str) -> Decision:
    return Decision("UNKNOWN", None, reason)
