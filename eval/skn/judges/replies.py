"""The typed replies of judges, read strictly: a verdict that contradicts itself is none.

``ModelClient.ask`` converts replies without coercion, so ``"correct": "false"`` (a text), counts
that are null, ``"eight"`` or 2.5, lists where an object was asked for, NaN and missing fields are
unreadable to begin with. What a type cannot say is checked here, and told back to the model in the
one repair turn that every structured reply has.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from eval.skn.judges.record import GroundednessVote, HallucinationVote
from kg.words.plain_text import plain

MAX_CLAIMS = 200
"""No answer that fits into a judge's prompt makes more claims; a higher count is a slip."""
MAX_CLAIM = 500
"""Characters of a claim that are kept."""


class AccuracyReply(msgspec.Struct, frozen=True):
    """Whether an answer is right."""

    correct: Annotated[bool, Meta(description="Whether the answer is right.")]

    def vote(self) -> bool:
        """As it is recorded."""
        return self.correct


class HallucinationReply(msgspec.Struct, frozen=True):
    """Claims counted, and those that the search results do not support.

    Raises:
        ValueError: it contradicts itself.
    """

    total_claims: Annotated[int, Meta(description="How many distinct claims the answer makes.")]
    fabricated_claims: Annotated[
        tuple[str, ...],
        Meta(description="Those of them that the search results do not support, each once."),
    ]
    severity: Annotated[float, Meta(description="From 0 (nothing is made up) to 1.")]

    def __post_init__(self) -> None:
        check_counts(self.total_claims, self.fabricated_claims)
        check_wording(self.fabricated_claims)
        check_share("severity", self.severity)
        if bool(self.fabricated_claims) != (self.severity > 0):
            raise ValueError("severity is 0 if and only if no claim is made up")

    def vote(self) -> HallucinationVote:
        """As it is recorded."""
        claims = as_recorded(self.fabricated_claims)
        return HallucinationVote(self.total_claims, claims, self.severity, bool(claims))


class GroundednessReply(msgspec.Struct, frozen=True):
    """How well the search results bear an answer.

    Raises:
        ValueError: it contradicts itself.
    """

    makes_claims: Annotated[bool, Meta(description="Whether the answer makes any claim at all.")]
    groundedness: Annotated[float, Meta(description="From 0 (not supported) to 1 (fully).")]
    unsupported_fraction: Annotated[
        float, Meta(description="The share of its claims that lack support, from 0 to 1.")
    ]

    def __post_init__(self) -> None:
        check_share("groundedness", self.groundedness)
        check_share("unsupported_fraction", self.unsupported_fraction)
        if self.groundedness == 1.0 and self.unsupported_fraction > 0.0:
            raise ValueError("groundedness 1 means that no claim lacks support")
        if self.groundedness == 0.0 and self.unsupported_fraction < 1.0:
            raise ValueError("groundedness 0 means that every claim lacks support")

    def vote(self) -> GroundednessVote:
        """As it is recorded: without numbers where nothing is claimed."""
        if not self.makes_claims:
            return GroundednessVote(None, None)
        return GroundednessVote(self.groundedness, self.unsupported_fraction)


def check_share(name: str, value: float) -> None:
    """Refuses what is no number from 0 to 1.

    Raises:
        ValueError: it is none; NaN and infinities are none either.
    """
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be from 0 to 1, not {value:g}")


def check_counts(total: int, fabricated: tuple[str, ...]) -> None:
    """Refuses counts that cannot be.

    Raises:
        ValueError: a count out of range, or more claims made up than made.
    """
    if not 0 <= total <= MAX_CLAIMS:
        raise ValueError(f"total_claims must be from 0 to {MAX_CLAIMS}")
    if len(fabricated) > total:
        raise ValueError(f"{len(fabricated)} fabricated claims of {total} claims in all")


def check_wording(fabricated: tuple[str, ...]) -> None:
    """Refuses claims that are none.

    Raises:
        ValueError: one has no words, or is listed twice.
    """
    told = [" ".join(claim.casefold().split()) for claim in fabricated]
    if "" in told:
        raise ValueError("a fabricated claim without words")
    if len(set(told)) != len(told):
        raise ValueError("a fabricated claim is listed twice")


def as_recorded(claims: tuple[str, ...]) -> tuple[str, ...]:
    """Claims in a model's words, fit to be kept: each on one line and of bearable length."""
    return tuple(plain(claim, MAX_CLAIM) for claim in claims)
