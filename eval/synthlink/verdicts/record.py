"""The record of judges' verdicts: a line of the journal, all lines of a scoring, and the report."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, Literal

import msgspec

from eval.judges.rates import Rate
from eval.judges.votes import LostVote
from eval.model.usage import Usage
from kg.base.files import sha256_bytes, to_json_bytes

JUDGED_FILE: Final = "synthlink_judged.jsonl"
"""The journal, with one ``VerdictLine`` per line, in the folder of the scores."""

Finding = Literal["supported", "contradicted", "not_told"]
"""A judge's verdict on a claim; ``not_told`` means that the evidence leaves the claim open."""

ItemKind = Literal[
    "claim", "step", "own fact", "other fact", "negated", "reversed", "swapped",
    "stated step", "absent step", "denied step", "reversed step", "swapped step",
    "true pair", "wrong pair",
]  # fmt: skip
"""``claim``: is a claim of an answer told by the evidence? ``step``: is the fact of a step told by
an answer? The others are anchors, whose right verdict is known: a fact of the question itself, one
of another question, and a fact that is denied, that has its two sides exchanged, or that has a name
or number of another question. Anchors of steps ask whether a fact is told by an answer that states
it, says something else, or denies, reverses or alters it. Pairs have human labels, and only
calibrate a judge."""
WRONG_KINDS: Final[tuple[ItemKind, ...]] = ("other fact", "negated", "reversed", "swapped")
"""Anchors that must not be called supported."""
ANCHOR_KINDS: Final[tuple[ItemKind, ...]] = ("own fact", *WRONG_KINDS)
"""Anchors of claims."""
WRONG_STEP_KINDS: Final[tuple[ItemKind, ...]] = (
    "absent step", "denied step", "reversed step", "swapped step"
)  # fmt: skip
STEP_ANCHOR_KINDS: Final[tuple[ItemKind, ...]] = ("stated step", *WRONG_STEP_KINDS)
"""Anchors of steps."""
TRUE_KINDS: Final[tuple[ItemKind, ...]] = ("own fact", "stated step", "true pair")
MIN_ANCHORS: Final = 10
"""Minimum number of verdicts on true anchors, and on wrong ones, with which a judge can pass."""


class VerdictLine(msgspec.Struct, frozen=True, kw_only=True):
    """The votes on one claim or anchor, and the verdict they give."""

    key: str
    """SHA-256 of claim, evidence and the judge's settings."""
    kind: ItemKind
    question_id: str
    claim: str
    verdict: Finding | None
    """The verdict of more than half of the votes; null for none."""
    split: bool = False
    """Whether there are enough votes, including the deciding one, but no verdict has a majority."""
    planned: int
    """Number of planned votes; an additional vote is the deciding one."""
    votes: tuple[Finding | None, ...]
    """The votes in order; null for a lost vote."""
    lost: tuple[LostVote, ...] = ()
    answer_sha256: str = ""
    """Of a step: SHA-256 of the answer; otherwise empty."""
    latency_s: float | None = None
    usage: Usage | None = None

    @property
    def has_outcome(self) -> bool:
        """Whether there is a verdict or a split vote, so that judging again is not needed."""
        return self.split or self.verdict is not None


class Judgement(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All verdicts of the judges for one scoring."""

    models: tuple[str, ...]
    """``provider/model`` of each judge."""
    same: bool
    """Whether the model that answered is one of the judges."""
    planned: int
    """Planned votes on each claim."""
    params: dict[str, Any]
    """All settings that influence verdicts, for the manifest."""
    lines: tuple[VerdictLine, ...]
    """Lines on the claims of all files of predictions, followed by those on the anchors."""

    def to_manifest(self) -> dict[str, Any]:
        """Returns settings and hashes of the judging for the manifest; without times."""
        verdicts = [(line.key, line.verdict, line.split, line.votes) for line in self.lines]
        return {
            **self.params,
            "same": self.same,
            "sha256": sha256_bytes(to_json_bytes(self.params)),
            "verdicts_sha256": sha256_bytes(to_json_bytes(verdicts)),
        }

    @cached_property
    def lines_by_claim(self) -> dict[tuple[str, str], VerdictLine]:
        """(Question id, claim) → the line with its verdict; without anchors."""
        return {(line.question_id, line.claim): line for line in self.lines if line.kind == "claim"}

    @cached_property
    def lines_by_step(self) -> dict[tuple[str, str, str], VerdictLine]:
        """(Question id, fact, SHA-256 of the answer) → the line with its verdict."""
        return {
            (line.question_id, line.claim, line.answer_sha256): line
            for line in self.lines
            if line.kind == "step"
        }


class JudgeReliability(msgspec.Struct, frozen=True, kw_only=True):
    """The errors of a judge on claims whose right verdict is known, with Wilson's 95 % intervals.

    Attributes:
        false_acceptance: share of wrong claims that it called supported.
        false_rejection: share of true claims that it did not call supported.
        supported: kind of claim → share that it called supported.
        passed: whether its verdicts may be used.
    """

    false_acceptance: Rate
    false_rejection: Rate
    supported: dict[str, Rate]
    passed: bool


class JudgeReport(msgspec.Struct, frozen=True, kw_only=True):
    """The judges of one file of predictions, their verdicts, and how reliable these are.

    Attributes:
        models: ``provider/model`` of each judge.
        same: whether the model that answered is one of the judges.
        planned: number of votes on each claim, without a deciding vote.
        open: number of claims that neither graph nor quotation decides.
        asked: number of ``open`` claims that were judged; the others are unjudged.
        decided: number of claims that were judged with a verdict or a split vote.
        split: number of ``decided`` claims whose votes have no majority; their verdict is unknown.
        lost: number of claims that were judged without result, because votes were lost; they are
            unjudged.
        unanimous: share of claims with identical votes, among those with all planned votes; null
            for one vote per claim, and for no claims.
        reliability: how often the judge was wrong on anchors. If it is too often, none of its
            verdicts is used, and ``decided`` is 0.
        lost_votes: kind of failure → number of lost votes, including those on anchors.
        usage: usage of all votes, including those on anchors; null if no model was called.
    """

    models: tuple[str, ...]
    same: bool
    planned: int
    open: int
    asked: int
    decided: int
    split: int
    lost: int
    unanimous: float | None
    reliability: JudgeReliability
    lost_votes: dict[str, int] = {}
    usage: Usage | None = None
