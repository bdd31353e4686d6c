"""The typed replies of judges; one that contradicts itself is rejected.

``ModelClient.ask`` does not coerce types in replies, so it already rejects ``"correct": "false"``
(a text), counts that are null, ``"eight"`` or 2.5, lists instead of an object, NaN and missing
fields. The checks here cover what the types cannot express; their messages are sent to the model
in the one repair turn that every structured reply has.
"""

# The JSON Schema sent to servers contains the names and docstrings of these structs. They are part
# of the prompt: changing one changes what models are asked, and the keys of cached replies.

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from eval.skn.judges.record import GroundednessVote, HallucinationVote
from kg.base.plain_text import clean_text

MAX_CLAIMS = 200
"""No answer that fits into a judge's prompt makes more claims; a higher count is a mistake."""
MAX_CLAIM_LENGTH = 500
"""Characters of a claim that are recorded."""


class AccuracyReply(msgspec.Struct, frozen=True):
    """Whether an answer is right."""

    correct: Annotated[bool, Meta(description="Whether the answer is right.")]

    def to_vote(self) -> bool:
        """Returns the vote to record."""
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

    def to_vote(self) -> HallucinationVote:
        """Returns the vote to record."""
        claims = clip_claims(self.fabricated_claims)
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

    def to_vote(self) -> GroundednessVote:
        """Returns the vote to record; without numbers if the answer makes no claims."""
        if not self.makes_claims:
            return GroundednessVote(None, None)
        return GroundednessVote(self.groundedness, self.unsupported_fraction)


def check_share(name: str, value: float) -> None:
    """Checks that a number is from 0 to 1.

    Raises:
        ValueError: it is out of range, NaN or infinite.
    """
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be from 0 to 1, not {value:g}")


def check_counts(total: int, fabricated: tuple[str, ...]) -> None:
    """Checks that the numbers of claims are possible.

    Raises:
        ValueError: the count is out of range, or more claims are fabricated than made.
    """
    if not 0 <= total <= MAX_CLAIMS:
        raise ValueError(f"total_claims must be from 0 to {MAX_CLAIMS}")
    if len(fabricated) > total:
        raise ValueError(f"{len(fabricated)} fabricated claims of {total} claims in all")


def check_wording(fabricated: tuple[str, ...]) -> None:
    """Checks that the listed claims have words and are distinct.

    Raises:
        ValueError: a claim has no words, or is listed twice.
    """
    normalised_claims = [" ".join(claim.casefold().split()) for claim in fabricated]
    if "" in normalised_claims:
        raise ValueError("a fabricated claim without words")
    if len(set(normalised_claims)) != len(normalised_claims):
        raise ValueError("a fabricated claim is listed twice")


def clip_claims(claims: tuple[str, ...]) -> tuple[str, ...]:
    """Returns claims in a form fit to be recorded: each on one line and of limited length."""
    return tuple(clean_text(claim, MAX_CLAIM_LENGTH) for claim in claims)
