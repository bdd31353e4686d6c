"""Answers a question from a context by word overlap, with the same rules for SKN and JSON contexts.

A yes-no question of one sentence is answered by ``eval.questions.lexical_answerer``: among the
statements that mention all its names, the one that covers most of the question decides. Any other
question is answered by quoting the five statements that cover most of it, if together they cover
half of its words. Words are weighted by how rare they are in the context. Names in the question (in
its sentences that end in a question mark) have a weight even if they do not occur in the context.
Four more rules use the metadata of the context, one kind each:

* *confidence*: a statement has the confidence that the context gives, or 0.9 if it gives none; a
  hedged statement ("may", "possibly") has at most 0.5. A statement with a confidence of 0.5 or less
  does not decide a yes-no question.
* *gaps*: a question that asks about something that a gap names is not answered.
* *causal*: the answer to a question about a cause starts with the causal link whose effect covers
  most of the question, if it covers at least half.
* *risk*: ``misdirection`` and ``missing_context`` each halve the confidence if they are high.

The confidence of an answer is the share of the question that its statements cover × their mean
confidence, halved as above. Below 0.25 no answer is given.
"""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import Any, NamedTuple

from eval.questions.lexical_answerer import DEFAULT_THRESHOLD, Reader, WordWeights, compute_coverage
from eval.skn.agent import Response
from eval.skn.rules.analysis import HEDGED_CONFIDENCE, PLAIN_CONFIDENCE
from eval.skn.rules.context import Context, ContextLink, ContextStatement, read_context
from eval.skn.rules.statements import find_written_names, is_hedged, select_asking_sentences
from kg.base.errors import NotationError
from kg.base.plain_text import to_one_line
from kg.claims import Gold
from kg.words.normaliser import extract_content_words, split_words

VERSION = 1
"""Version of the rules; increase it whenever a change affects the answers."""
MIN_CONFIDENCE = 0.25
"""An answer with less confidence is not given."""
MAX_QUOTED_STATEMENTS = 5
"""Maximum number of statements in an answer; models are asked for a few sentences as well."""
ABSTENTION = "There is not enough information in the context to answer."

_YES_NO_OPENERS = frozenset(
    """is are was were am do does did has have had can could will would should may might must shall
    """.split()  # noqa: SIM905 - easier to read than 22 quoted strings
)
_CAUSE_WORDS = frozenset({"why", "cause", "reason"})


class Decision(NamedTuple):
    """The rules' answer to a question.

    Attributes:
        pred: YES or NO for a yes-no question; YES for any other question that is answered;
            UNKNOWN if no answer is given.
        statement: the deciding statements, in the context's words; empty without an answer.
        confidence: 0 to 1; null without an answer.
        reason: why the rules answer so, in words.
    """

    pred: Gold
    statement: str
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
            "quoted": MAX_QUOTED_STATEMENTS,
        }

    async def answer_question(self, context: str, question: str) -> Response:
        """Answers from ``context``; an unreadable context gives an unreadable response."""
        try:
            parsed_context = read_context(context)
        except NotationError as error:
            return Response(
                answer="",
                confidence=None,
                reasoning="",
                abstained=None,
                readable=False,
                problem=str(error),
            )
        is_yes_no = is_yes_no_question(question)
        decision = (
            self.answer_yes_no_question(parsed_context, question)
            if is_yes_no
            else self.answer_open_question(parsed_context, question)
        )
        answer = decision.statement
        if decision.pred == "UNKNOWN":
            answer = ABSTENTION
        elif is_yes_no:
            answer = f"{decision.pred.capitalize()}. {decision.statement}"
        return Response(
            answer=answer,
            confidence=decision.confidence,
            reasoning=decision.reason,
            abstained=decision.pred == "UNKNOWN",
            readable=True,
            raw=answer,
        )

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

    def answer_open_question(self, context: Context, question: str) -> Decision:
        """Answers any other question by quoting statements."""
        if gap := _find_gap(context, question):
            return _withhold_answer(f"a gap: {gap}")
        question_words = Counter(extract_content_words(question))
        # Causal links repeat words of statements, so only statements count for word rarity.
        word_weights = WordWeights(statement.text for statement in context.statements)
        weights = word_weights.weigh_words(question_words, _list_asked_names(question))
        ranked_statements = sorted(
            context.statements,
            key=lambda statement: (
                -compute_coverage(question_words, weights, _count_content_words(statement))
            ),
        )
        cause_statements = _find_cause(context, question, word_weights, self._reader.threshold)
        quoted_statements = (cause_statements + ranked_statements)[:MAX_QUOTED_STATEMENTS]
        quoted_words = Counter(
            word
            for statement in quoted_statements
            for word in _count_content_words(statement).elements()
        )
        coverage = compute_coverage(question_words, weights, quoted_words)
        if not quoted_statements or coverage < self._reader.threshold:
            return _withhold_answer("no statements cover enough of the question")
        mean_confidence = fmean(_get_confidence(statement) for statement in quoted_statements)
        text = " ".join(statement.text for statement in quoted_statements)
        return _build_decision("YES", text, coverage, mean_confidence, context)


def is_yes_no_question(question: str) -> bool:
    """Returns whether a question is one sentence, starts like a yes-no question and has no "or"."""
    words = split_words(question)
    is_one_sentence = select_asking_sentences(question) == to_one_line(question)
    return is_one_sentence and bool(words) and words[0] in _YES_NO_OPENERS and "or" not in words


def _find_cause(
    context: Context, question: str, word_weights: WordWeights, threshold: float
) -> list[ContextStatement]:
    """Finds the causal link whose effect covers most of a question that asks for a cause.

    Returns:
        The link as one statement; an empty list if the question does not ask for a cause, or no
        link covers enough of it.
    """
    question_words = Counter(extract_content_words(select_asking_sentences(question)))
    if _CAUSE_WORDS.isdisjoint(question_words):
        return []
    weights = word_weights.weigh_words(question_words, _list_asked_names(question))

    def measure_effect_coverage(link: ContextLink) -> float:
        return compute_coverage(
            question_words, weights, Counter(extract_content_words(link.effect))
        )

    link = max(context.links, key=measure_effect_coverage, default=None)
    if link is None or measure_effect_coverage(link) < threshold:
        return []
    return [ContextStatement(f"{link.cause} -> {link.effect}", link.strength)]


def _find_gap(context: Context, question: str) -> str:
    """Returns the first gap that names something the question asks about; empty if none does."""
    asked_names = _list_asked_names(question)
    return next(
        (gap for gap in context.gaps if not asked_names.isdisjoint(extract_content_words(gap))), ""
    )


def _list_asked_names(question: str) -> frozenset[str]:
    names = find_written_names(select_asking_sentences(question))
    return frozenset(word for name in names for word in extract_content_words(name))


def _count_content_words(statement: ContextStatement) -> Counter[str]:
    return Counter(extract_content_words(statement.text))


def _get_confidence(statement: ContextStatement) -> float:
    confidence = PLAIN_CONFIDENCE if statement.confidence is None else statement.confidence
    return min(confidence, HEDGED_CONFIDENCE) if is_hedged(statement.text) else confidence


def _build_decision(
    pred: Gold, text: str, coverage: float, mean_confidence: float, context: Context
) -> Decision:
    """Builds the answer with its confidence; UNKNOWN if the confidence is too low."""
    confidence = coverage * mean_confidence
    if context.risk is not None:
        for level in (context.risk.misdirection, context.risk.missing_context):
            confidence *= 0.5 if level == "high" else 1.0
    reason = f"{text} [covers {coverage:.3f} of the question, {mean_confidence:.2f} sure]"
    if confidence < MIN_CONFIDENCE:
        return _withhold_answer(f"too unsure ({confidence:.3f}): {reason}")
    return Decision(pred, text, round(confidence, 6), reason)


def _withhold_answer(reason: str) -> Decision:
    return Decision("UNKNOWN", "", None, reason)
