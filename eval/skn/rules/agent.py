"""Answers a question from a context by words: the same rules for whatever form it is written in.

A yes-no question is read by ``eval.reader``: of the statements that mention all its names, the one
that covers most of it speaks. Any other question is answered by the statement that covers most of
it, or, where it asks for a cause, by the cause whose effect does. Four rules more, one for each
kind of metadata, use nothing but what stands in the context:

* *confidence*: a statement is as sure as the context says, 0.9 where it says nothing, and at most
  0.5 where its own words hedge. A statement of 0.5 or less is certain of nothing, so that no
  yes-no question is decided by it.
* *gaps*: a question that names what a gap names is not answered.
* *causal*: said above.
* *risk*: ``misdirection`` and ``missing_context`` each halve the confidence where they are high.

The confidence of an answer is how much of the question its statement covers × how sure that is,
halved as said. Below 0.25 the answer is withheld.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from eval.reader import DEFAULT_THRESHOLD, Reader, Weights, coverage
from eval.skn.agent import Response
from eval.skn.rules.analysis import HEDGED, PLAIN
from eval.skn.rules.known import Known, Said, read_context
from eval.skn.statements import is_hedged, names_written
from kg.base.errors import NotationError
from kg.claims import Gold
from kg.text.normaliser import content_words, words

VERSION = 1
"""Of the rules; raised with every change of what they answer."""
LEAST = 0.25
"""An answer of less confidence is withheld."""
ABSTENTION = "There is not enough information in the context to answer."

_ASKS_YES_OR_NO = frozenset(
    """is are was were am do does did has have had can could will would should may might must shall
    """.split()  # noqa: SIM905 - a wall of quotation marks would hide the words
)
_ASKS_FOR_CAUSE = frozenset({"why", "cause", "reason"})


class Decision(NamedTuple):
    """What the rules make of a question.

    Attributes:
        pred: YES or NO to a yes-no question; YES for any other that is answered; UNKNOWN where
            the answer is withheld.
        statement: what speaks, in the context's words; empty where nothing does.
        confidence: 0 to 1; null where the answer is withheld.
        reason: in words.
    """

    pred: Gold
    statement: str
    confidence: float | None
    reason: str


class RuleAgent:
    """Answers by rules from the context it is given, and from nothing else."""

    def __init__(self) -> None:
        self._reader = Reader(DEFAULT_THRESHOLD)

    def params(self) -> dict[str, Any]:
        """The rules' version and their numbers."""
        return {
            "by": "rules",
            "version": VERSION,
            "threshold": self._reader.threshold,
            "least_confidence": LEAST,
        }

    async def reason(self, context: str, question: str) -> Response:
        """Answers from ``context``; one that cannot be read gives an unreadable response."""
        try:
            known = read_context(context)
        except NotationError as error:
            return Response(
                answer="",
                confidence=None,
                reasoning="",
                abstained=None,
                readable=False,
                problem=str(error),
            )
        yes_or_no = asks_yes_or_no(question)
        found = self.decide(known, question) if yes_or_no else self.find(known, question)
        answer = found.statement
        if found.pred == "UNKNOWN":
            answer = ABSTENTION
        elif yes_or_no:
            answer = f"{found.pred.capitalize()}. {found.statement}"
        return Response(
            answer=answer,
            confidence=found.confidence,
            reasoning=found.reason,
            abstained=found.pred == "UNKNOWN",
            readable=True,
            raw=answer,
        )

    def decide(self, known: Known, question: str) -> Decision:
        """YES, NO or UNKNOWN to a yes-no question."""
        if gap := _gap_in(known, question):
            return _withheld(f"a gap: {gap}")
        texts = [said.text for said in known.statements]
        reading = self._reader.read(question, texts, Weights(texts))
        if reading.pred == "UNKNOWN":
            return _withheld("no statement covers enough of the question, or two contradict")
        said = known.statements[texts.index(reading.sentence)]
        sure = _sureness(said)
        if sure <= HEDGED:
            return _withheld(f"uncertain: {said.text}")
        return _weighed(reading.pred, said.text, reading.coverage, sure, known)

    def find(self, known: Known, question: str) -> Decision:
        """What answers a question that is no yes-no question."""
        if gap := _gap_in(known, question):
            return _withheld(f"a gap: {gap}")
        asked = Counter(content_words(question))
        names = {word for name in names_written(question) for word in content_words(name)}
        weights = Weights(said.text for said in known.statements).of(asked, names)

        def covers(text: str) -> float:
            return coverage(asked, weights, Counter(content_words(text)))

        if not _ASKS_FOR_CAUSE.isdisjoint(asked):
            link = max(known.links, key=lambda one: covers(one.effect), default=None)
            if link and covers(link.effect) >= self._reader.threshold:
                cause = Said(f"{link.cause} -> {link.effect}", link.strength)
                return _weighed("YES", cause.text, covers(link.effect), _sureness(cause), known)
        best = max(known.statements, key=lambda said: covers(said.text), default=None)
        if best is None or covers(best.text) < self._reader.threshold:
            return _withheld("no statement covers enough of the question")
        return _weighed("YES", best.text, covers(best.text), _sureness(best), known)


def asks_yes_or_no(question: str) -> bool:
    """Whether a question begins as yes-no questions do and offers no choice."""
    asked = words(question)
    return bool(asked) and asked[0] in _ASKS_YES_OR_NO and "or" not in asked


def _gap_in(known: Known, question: str) -> str:
    """The first gap that names what the question names; empty where none does."""
    named = {word for name in names_written(question) for word in content_words(name)}
    return next((gap for gap in known.gaps if not named.isdisjoint(content_words(gap))), "")


def _sureness(said: Said) -> float:
    stated = PLAIN if said.confidence is None else said.confidence
    return min(stated, HEDGED) if is_hedged(said.text) else stated


def _weighed(pred: Gold, text: str, covered: float, sure: float, known: Known) -> Decision:
    """The answer with its confidence, unless that is too low."""
    confidence = covered * sure
    if known.risk is not None:
        for level in (known.risk.misdirection, known.risk.missing_context):
            confidence *= 0.5 if level == "high" else 1.0
    told = f"{text} [covers {covered:.3f} of the question, {sure:.2f} sure]"
    if confidence < LEAST:
        return _withheld(f"too unsure ({confidence:.3f}): {told}")
    return Decision(pred, text, round(confidence, 6), told)


def _withheld(reason: str) -> Decision:
    return Decision("UNKNOWN", "", None, reason)
