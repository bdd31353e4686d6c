"""Converts a row to the numbers from which metrics are computed.

A number that a row should have but does not have is *missing*; missing numbers are counted. A
number that a row cannot have (no claims, no answer to judge) is *undefined*. The two must be
distinguished, because only missing numbers widen the bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from eval.model.usage import Usage
from eval.skn.retention.retention import estimate_tokens

if TYPE_CHECKING:
    from eval.skn.judges.record import Verdicts
    from eval.skn.row import SknRow

READABLE_OUTCOMES = ("ANSWERED", "ABSTAINED")
"""Outcomes of rows whose reply could be parsed; the others are failures."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one repeat of one sample on one pipeline.

    Attributes:
        sample: id of the sample, which is the unit of resampling.
        category, answerable: category of the sample, and whether it has an answer.
        pipeline: name of the pipeline.
        repeat: number of the repeat, from 0.
        outcome: ``ANSWERED``, ``ABSTAINED``, ``INVALID`` or ``ERROR``.
        stage: stage at which a failed row ended.
        abstention_source: ``field`` if abstention was read from a field of the reply, ``text`` if
            it was decided by the wording; empty for failures.
        has_answer_text: whether there is an answer in words.
        correct: null if it was not or could not be judged.
        confidence: 0 to 1; null if none is stated.
        detected: whether any claim is made up.
        claims, fabricated: numbers of claims, as medians over the judges' votes; with two votes,
            they may be half-integers.
        severity: severity of the made-up claims, 0 to 1.
        groundedness, unsupported: 0 to 1.
        makes_no_claims: whether groundedness is null because the answer makes no claims.
        context_chars: characters passed to the agent.
        context_tokens_est: tokens passed to the agent, estimated as a quarter of the characters.
        extraction_tokens: tokens written by the extractor, as the server counts them.
        agent_prompt_tokens, agent_completion_tokens: tokens read and written by the agent.
        tokens: all tokens of extractor and agent.
        latency_s: seconds spent waiting for servers; null if the agent never replied.
        extraction_latency_s, reasoning_latency_s: the parts of ``latency_s`` that the extractor and
            the agent took.
        validity: how the extraction could be parsed; empty without an extraction.
        failures: number of failed votes by judge.
        retained: what the extraction keeps of the sample's text, as kind ("facts", "numbers" …) →
            (number kept, number in the text).
    """

    sample: str
    category: str
    pipeline: str
    answerable: bool
    outcome: Literal["ANSWERED", "ABSTAINED", "INVALID", "ERROR"]
    repeat: int = 0
    stage: str = ""
    abstention_source: Literal["field", "text", ""] = ""
    has_answer_text: bool = True
    correct: bool | None = None
    confidence: float | None = None
    detected: bool | None = None
    claims: float | None = None
    fabricated: float | None = None
    severity: float | None = None
    groundedness: float | None = None
    unsupported: float | None = None
    makes_no_claims: bool = False
    context_chars: float | None = None
    context_tokens_est: float | None = None
    extraction_tokens: float | None = None
    agent_prompt_tokens: float | None = None
    agent_completion_tokens: float | None = None
    tokens: float | None = None
    latency_s: float | None = None
    extraction_latency_s: float | None = None
    reasoning_latency_s: float | None = None
    validity: str = ""
    failures: dict[str, int] = {}
    retained: dict[str, tuple[float, float]] = {}

    @property
    def failed(self) -> bool:
        """Whether the row has no usable reply."""
        return self.outcome not in READABLE_OUTCOMES

    @property
    def unjudged(self) -> bool:
        """Whether a required verdict is missing."""
        if self.failed or not self.has_answer_text:
            return False
        required_numbers = [self.detected, self.claims, self.severity]
        if not self.makes_no_claims:
            required_numbers += [self.groundedness, self.unsupported]
        if self.answerable and self.outcome == "ANSWERED":
            required_numbers.append(self.correct)
        return None in required_numbers


def build_observation(row: SknRow) -> Observation:
    """Converts a row of a run to an observation."""
    extraction, response, verdicts = row.extraction, row.response, row.verdicts
    context = "" if extraction is None else extraction.context
    is_readable = row.outcome in READABLE_OUTCOMES
    extractor_usage = None if extraction is None else extraction.usage
    agent_usage = None if response is None else response.usage
    observation = Observation(
        sample=row.id,
        category=row.category,
        pipeline=row.pipeline,
        repeat=row.repeat,
        answerable=row.answerable,
        outcome=row.outcome,
        stage=row.stage,
        abstention_source=_get_abstention_source(row) if is_readable else "",
        has_answer_text=response is not None and bool(response.answer.strip()),
        confidence=response.confidence if is_readable and response is not None else None,
        context_chars=len(context) if context else None,
        context_tokens_est=estimate_tokens(context) if context else None,
        extraction_tokens=None if extractor_usage is None else extractor_usage.completion_tokens,
        agent_prompt_tokens=None if agent_usage is None else agent_usage.prompt_tokens,
        agent_completion_tokens=None if agent_usage is None else agent_usage.completion_tokens,
        tokens=_sum_tokens(row.usage, extractor_usage, agent_usage),
        # A row that ended before the agent replied waited for fewer calls, and would look fast.
        latency_s=None if response is None else row.latency_s,
        extraction_latency_s=None if extraction is None else extraction.latency_s,
        reasoning_latency_s=None if response is None else response.latency_s,
        validity="" if extraction is None else extraction.validity,
        retained={} if row.retention is None else dict(row.retention.list_shares()),
    )
    return (
        observation if verdicts is None or not is_readable else _add_verdicts(observation, verdicts)
    )


def _get_abstention_source(row: SknRow) -> Literal["field", "text"]:
    has_field = row.response is not None and row.response.abstained is not None
    return "field" if has_field else "text"


def _sum_tokens(
    total: Usage | None, extractor_usage: Usage | None, agent_usage: Usage | None
) -> float | None:
    """Returns all tokens of a row; None if a call was not counted: the sum would be too small."""
    if total is None or extractor_usage is None or agent_usage is None:
        return None
    return total.prompt_tokens + total.completion_tokens


def _add_verdicts(observation: Observation, verdicts: Verdicts) -> Observation:
    claims = verdicts.hallucination
    return msgspec.structs.replace(
        observation,
        correct=verdicts.correct,
        detected=claims.detected,
        claims=claims.total_claims,
        fabricated=claims.fabricated,
        severity=claims.severity,
        groundedness=verdicts.groundedness,
        unsupported=verdicts.unsupported_fraction,
        makes_no_claims=(verdicts.groundedness is None and "groundedness" not in verdicts.failed),
        failures=verdicts.failures,
    )
