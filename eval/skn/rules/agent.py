"""Answers a question from a context by words: the same rules for whatever form it is written in.

A yes-no question of one sentence is read by ``eval.reader``: of the statements that mention all
its names, the one that covers most of it speaks. Any other is answered by quoting the five
statements that cover most of it, if together they cover half of its words, weighed by how rare
these are in the context; a name in the sentences that ask counts even if it stands nowhere. Four
rules more, one for each kind of metadata, use nothing but what stands in the context:

* *confidence*: a statement is as sure as the context says, 0.9 where it says nothing, and at most
  0.5 where its own words hedge. A statement of 0.5 or less decides no yes-no question.
* *gaps*: a question that asks about what a gap names is not answered.
* *causal*: a question for a cause is answered first by the cause whose effect covers most of what
  is asked, if that is half of it.
* *risk*: ``misdirection`` and ``missing_context`` each halve the confidence where they are high.

The confidence of an answer is how much of the question its statements cover × how sure they are on
average, halved as said. Below 0.25 the answer is withheld.
"""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import Any, NamedTuple

from eval.reader import DEFAULT_THRESHOLD, Reader, Weights, coverage
from eval.skn.agent import Response
from eval.skn.rules.analysis import HEDGED, PLAIN
from eval.skn.rules.known import Known, Link, Said, read_context
from eval.skn.rules.statements import asking, is_hedged, names_written
from kg.base.errors import NotationError
from kg.claims import Gold
from kg.text.normaliser import content_words, words
from kg.words.plain_text import one_line

VERSION = 1
"""Of the rules; raised with every change of what they answer."""
LEAST = 0.25
"""An answer of less confidence is withheld."""
MOST_QUOTED = 5
"""Statements that an answer quotes; a model is asked for a few sentences."""
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
        statement: what speaks, in the context's words; empty where the answer is withheld.
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
            "quoted": MOST_QUOTED,
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
        # Links are written from statements, so these alone tell how rare a word is.
        weighing = Weights(said.text for said in known.statements)
        weights = weighing.of(asked, _names_in(question))
        best = sorted(known.statements, key=lambda said: -coverage(asked, weights, _held(said)))
        cause = _cause(known, question, weighing, self._reader.threshold)
        quoted = (cause + best)[:MOST_QUOTED]
        together = Counter(word for said in quoted for word in _held(said).elements())
        covered = coverage(asked, weights, together)
        if not quoted or covered < self._reader.threshold:
            return _withheld("no statements cover enough of the question")
        sure = fmean(_sureness(said) for said in quoted)
        return _weighed("YES", " ".join(said.text for said in quoted), covered, sure, known)


def asks_yes_or_no(question: str) -> bool:
    """Whether a question is one sentence, begins as yes-no questions do, and offers no choice."""
    asked = words(question)
    one = asking(question) == one_line(question)
    return one and bool(asked) and asked[0] in _ASKS_YES_OR_NO and "or" not in asked


def _cause(known: Known, question: str, weighing: Weights, least: float) -> list[Said]:
    """The link whose effect covers most of what is asked, if a cause is asked for."""
    asked = Counter(content_words(asking(question)))
    if _ASKS_FOR_CAUSE.isdisjoint(asked):
        return []
    weights = weighing.of(asked, _names_in(question))

    def covers(link: Link) -> float:
        return coverage(asked, weights, Counter(content_words(link.effect)))

    link = max(known.links, key=covers, default=None)
    if link is None or covers(link) < least:
        return []
    return [Said(f"{link.cause} -> {link.effect}", link.strength)]


def _gap_in(known: Known, question: str) -> str:
    """The first gap that names what the question asks about; empty where none does."""
    named = _names_in(question)
    return next((gap for gap in known.gaps if not named.isdisjoint(content_words(gap))), "")


def _names_in(question: str) -> frozenset[str]:
    names = names_written(asking(question))
    return frozenset(word for name in names for word in content_words(name))


def _held(said: Said) -> Counter[str]:
    return Counter(content_words(said.text))


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
