"""The measures of one answer in either mode, and what was found of each of its claims."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Mode = Literal["literal", "corrected"]
MODES: Final[tuple[Mode, ...]] = ("corrected", "literal")

Measure = Literal["f1", "p_at_5", "recall_at_5", "rqs", "fcs", "ie", "aggregate"]
MEASURES: Final[tuple[Measure, ...]] = (
    "f1", "p_at_5", "recall_at_5", "rqs", "fcs", "ie", "aggregate",
)  # fmt: skip

WEIGHTS: Final[dict[Measure, float]] = {
    "f1": 0.3, "p_at_5": 0.2, "rqs": 0.3, "fcs": 0.1, "ie": 0.1,
}  # fmt: skip
"""Of the five parts of the aggregate, as specified."""

Status = Literal["answered", "abstained", "missing", "refused"]
"""``abstained``: the answer is blank. All but ``answered`` are worth 0 and outside coverage."""

Verdict = Literal["licensed", "contradicted", "unknown"]
By = Literal["graph", "facts", "pages", "nothing", "judge"]


class Judged(msgspec.Struct, frozen=True):
    """One claim of an answer."""

    text: str
    verdict: Verdict
    by: By
    """What decided."""
    words: Verdict | None = None
    """Where a judge decided: what words alone would have said."""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The measures of one answer, within 0 and 1; null where one cannot be had."""

    f1: float | None
    p_at_5: float | None
    recall_at_5: float | None
    rqs: float | None
    fcs: float | None
    ie: float | None
    aggregate: float | None
    plain_f1: float | None = None
    """F1 without regard to order and prose; corrected only."""
    order: float | None = None
    prose: float | None = None
    named: float | None = None
    """What is left of keywords where an answer strings them together; corrected only."""
    brevity: float | None = None
    """What a long answer leaves of the steps it takes; corrected only."""
    steps: tuple[int, ...] = ()
    """Numbers of the steps taken, from 1; corrected only."""
    claims: tuple[Judged, ...] = ()
    """Corrected only."""
    iteration_f1: tuple[float, ...] = ()
    """F1 of each iteration's answer, by which efficiency is swept."""


class QuestionScore(msgspec.Struct, frozen=True, kw_only=True):
    """One question of the catalogue, answered or not."""

    question_id: str
    category: str
    status: Status
    parts: Parts
    """Zeros where it is not answered, but for what the catalogue itself cannot have."""
