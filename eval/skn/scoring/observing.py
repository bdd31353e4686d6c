"""What one row says, as the numbers that metrics are made of.

A number that a row ought to have and has not is *missing*, and counted; one that it cannot have
(no claims, no answer to judge) is simply not there. The two must never be mixed up: bounds grow
by the first alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from eval.result import Usage

if TYPE_CHECKING:
    from eval.skn.judges.record import Verdicts
    from eval.skn.running.row import SknRow

READ = ("ANSWERED", "ABSTAINED")
"""Outcomes of rows whose reply could be read; the others are failures."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """One sample on one pipeline, once.

    Attributes:
        sample: its id: what is resampled.
        outcome: ``ANSWERED``, ``ABSTAINED``, ``INVALID`` or ``ERROR``.
        stage: where a failed row ended.
        read_by: ``field`` where the reply said in so many fields whether it abstains, ``text``
            where its words had to be read; empty for failures.
        to_judge: whether there is an answer in words.
        correct: null where it was not or could not be judged.
        confidence: 0 to 1; null where none is stated.
        detected: whether anything is made up.
        claims, fabricated: counts of claims; half-ways where two votes differ.
        severity: of what is made up, 0 to 1.
        groundedness, unsupported: 0 to 1.
        claims_nothing: whether groundedness is null because there is nothing to be grounded.
        context_chars: characters handed to the agent.
        extraction_tokens, agent_prompt_tokens, agent_completion_tokens, tokens: the server's
            counts: written by the extractor, read and written by the agent, and all of both.
        latency_s, extraction_latency_s, reasoning_latency_s: seconds waited for servers; the
            first, which is of both, is null where the agent never replied.
        validity: how the extraction could be read; empty where none came.
        failures: judgements that could not be had, by judge.
        kept: sort of thing → (kept, of how many).
    """

    sample: str
    category: str
    pipeline: str
    answerable: bool
    outcome: Literal["ANSWERED", "ABSTAINED", "INVALID", "ERROR"]
    repeat: int = 0
    stage: str = ""
    read_by: Literal["field", "text", ""] = ""
    to_judge: bool = True
    correct: bool | None = None
    confidence: float | None = None
    detected: bool | None = None
    claims: float | None = None
    fabricated: float | None = None
    severity: float | None = None
    groundedness: float | None = None
    unsupported: float | None = None
    claims_nothing: bool = False
    context_chars: float | None = None
    extraction_tokens: float | None = None
    agent_prompt_tokens: float | None = None
    agent_completion_tokens: float | None = None
    tokens: float | None = None
    latency_s: float | None = None
    extraction_latency_s: float | None = None
    reasoning_latency_s: float | None = None
    validity: str = ""
    failures: dict[str, int] = {}
    kept: dict[str, tuple[float, float]] = {}

    @property
    def failed(self) -> bool:
        """Whether nothing is known of what it would have answered."""
        return self.outcome not in READ

    @property
    def unjudged(self) -> bool:
        """Whether a verdict that is due is lacking."""
        if self.failed or not self.to_judge:
            return False
        due = [self.detected, self.claims, self.severity]
        if not self.claims_nothing:
            due += [self.groundedness, self.unsupported]
        if self.answerable and self.outcome == "ANSWERED":
            due.append(self.correct)
        return None in due


def observed(row: SknRow) -> Observed:
    """The numbers of one row."""
    extraction, response, verdicts = row.extraction, row.response, row.verdicts
    answered = row.outcome in READ
    wrote = None if extraction is None else extraction.usage
    said = None if response is None else response.usage
    one = Observed(
        sample=row.id,
        category=row.category,
        pipeline=row.pipeline,
        repeat=row.repeat,
        answerable=row.answerable,
        outcome=row.outcome,
        stage=row.stage,
        read_by=_read_by(row) if answered else "",
        to_judge=response is not None and bool(response.answer.strip()),
        confidence=response.confidence if answered and response is not None else None,
        context_chars=len(extraction.context) if extraction and extraction.context else None,
        extraction_tokens=None if wrote is None else wrote.completion_tokens,
        agent_prompt_tokens=None if said is None else said.prompt_tokens,
        agent_completion_tokens=None if said is None else said.completion_tokens,
        tokens=_all_tokens(row.usage, wrote, said),
        # A row that ended before the agent replied waited for less; its like would seem fast.
        latency_s=None if response is None else row.latency_s,
        extraction_latency_s=None if extraction is None else extraction.latency_s,
        reasoning_latency_s=None if response is None else response.latency_s,
        validity="" if extraction is None else extraction.validity,
        kept={} if row.retention is None else dict(row.retention.shares()),
    )
    return one if verdicts is None or not answered else _judged(one, verdicts)


def _read_by(row: SknRow) -> Literal["field", "text"]:
    stated = row.response is not None and row.response.abstained is not None
    return "field" if stated else "text"


def _all_tokens(total: Usage | None, wrote: Usage | None, said: Usage | None) -> float | None:
    """All tokens of a row; null unless every call was counted, or half would pass for all."""
    if total is None or wrote is None or said is None:
        return None
    return total.prompt_tokens + total.completion_tokens


def _judged(one: Observed, verdicts: Verdicts) -> Observed:
    claims = verdicts.hallucination
    return msgspec.structs.replace(
        one,
        correct=verdicts.correct,
        detected=claims.detected,
        claims=claims.total_claims,
        fabricated=claims.fabricated,
        severity=claims.severity,
        groundedness=verdicts.groundedness,
        unsupported=verdicts.unsupported_fraction,
        claims_nothing=(verdicts.groundedness is None and "groundedness" not in verdicts.failed),
        failures=verdicts.failures,
    )
