"""What judges said of claims: a line of the journal, and what all lines come to."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, Literal

import msgspec

from eval.judges.rates import Rate
from eval.judges.votes import FailureKind
from eval.result import Usage
from kg.base.files import sha256_bytes, to_json_bytes

JUDGED: Final = "synthlink_judged.jsonl"
"""Holds a ``JudgedLine`` a line, in the folder of the scores."""

Finding = Literal["supported", "contradicted", "not_told"]
"""What a judge finds of a claim."""

Kind = Literal["claim", "own fact", "other fact"]
"""``own fact``, ``other fact``: anchors, a fact of the question itself and one of another."""


class LostVote(msgspec.Struct, frozen=True):
    """A vote that could not be had: never a verdict, and counted."""

    vote: int
    """Which one, from 0."""
    kind: FailureKind
    problem: str
    """In words."""
    model: str


class JudgedLine(msgspec.Struct, frozen=True, kw_only=True):
    """What was said of one claim, or one anchor."""

    key: str
    """SHA-256 of what was shown and of who was asked, in which way."""
    kind: Kind
    question_id: str
    claim: str
    verdict: Finding | None
    """Of more than half of the votes; null where there is none."""
    split: bool = False
    """Whether enough votes were had, the deciding one with them, and no verdict has the most."""
    planned: int
    """Votes that were planned; one more is a deciding one."""
    votes: tuple[Finding | None, ...]
    """Null for a vote that was lost."""
    lost: tuple[LostVote, ...] = ()
    latency_s: float | None = None
    usage: Usage | None = None

    @property
    def came_about(self) -> bool:
        """Whether the judge said anything, if only that it is of two minds."""
        return self.split or self.verdict is not None


class Judgement(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that judges said for one scoring."""

    models: tuple[str, ...]
    same: bool
    """Whether the model that answered is one of the judges."""
    planned: int
    params: dict[str, Any]
    """All that decides verdicts, for the manifest."""
    lines: tuple[JudgedLine, ...]
    """Claims of all files of predictions, then the anchors."""

    def told(self) -> dict[str, Any]:
        """Who judged and what came of it, as a manifest states it: without times."""
        verdicts = [(one.key, one.verdict, one.split, one.votes) for one in self.lines]
        return {
            **self.params,
            "same": self.same,
            "sha256": sha256_bytes(to_json_bytes(self.params)),
            "verdicts_sha256": sha256_bytes(to_json_bytes(verdicts)),
        }

    @cached_property
    def by_claim(self) -> dict[tuple[str, str], JudgedLine]:
        """Question id and claim → what was said of it."""
        return {(one.question_id, one.claim): one for one in self.lines if one.kind == "claim"}


class JudgeReport(msgspec.Struct, frozen=True, kw_only=True):
    """Who judged the claims of one file of predictions, what came of it, and how far to trust it.

    Attributes:
        models: ``provider/model`` of each.
        same: whether the model that answered is one of them.
        planned: votes on each claim, a deciding one not counted.
        open: claims that the graph did not decide.
        asked: those of them that were put to the judge; of the others, words decide.
        decided: those of them with a verdict, split votes with them.
        split: votes without a majority; the claim is unknown.
        lost: put to the judge without any verdict; words decide.
        by_words: verdict of words alone → verdict of the judge → claims; over ``decided``.
        agreed: share of ``decided`` on which words would have said the same; null for none.
        kappa: the same beyond chance (Cohen); null where chance explains all of it.
        unanimous: share of claims with every planned vote on which all of them are the same; null
            for one vote, and for no claims.
        own_facts: share of the questions' own facts that were called supported.
        other_facts: share of other questions' facts that were called not told.
        other_supported: share of these that were called supported.
        lost_votes: votes that could not be had, by what was wrong; anchors with them.
        usage: tokens of all verdicts, anchors with them; null where nobody was asked.
    """

    models: tuple[str, ...]
    same: bool
    planned: int
    open: int
    asked: int
    decided: int
    split: int
    lost: int
    by_words: dict[str, dict[str, int]]
    agreed: float | None
    kappa: float | None
    unanimous: float | None
    own_facts: Rate
    other_facts: Rate
    other_supported: Rate
    lost_votes: dict[str, int] = {}
    usage: Usage | None = None
