"""The record of SynthLink's scores: what was measured of each question, category and catalogue.

Null means that a number could not be had, and ``why`` says why; 0 is always a number measured, or
what a question without an answer is worth. Equal inputs give equal bytes.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from eval.stats.paired import ALPHA
from eval.stats.shown import IntervalMethod
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.measures import Measure, Mode, QuestionScore
from eval.synthlink.predictions import Refused
from eval.synthlink.verdicts.record import JudgeReport

SCHEMA: Final = "epoche.synthlink/1"


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """One mean over questions."""

    value: float | None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    n: int = 0
    """Questions it is the mean over."""
    nulls: int = 0
    """Questions that have none."""
    why: str = ""
    """Why ``value`` is null."""


class Swept(msgspec.Struct, frozen=True, kw_only=True):
    """Efficiency where another F1 counts as correct."""

    correct: float
    ie: float
    aggregate: float | None
    n_correct: int
    """Questions whose answer is correct then."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A category, or the whole catalogue."""

    n: int
    """Questions, answered or not."""
    answered: int
    abstained: int = 0
    """Questions whose answer is blank."""
    coverage: float
    """Share of questions answered."""
    measures: dict[Measure, Value]
    answered_only: dict[Measure, float | None]
    """The same means over the answered questions alone: what answering little looks like when the
    rest is left out. Never a headline."""


class ModeScores(msgspec.Struct, frozen=True, kw_only=True):
    """All scores of one mode."""

    overall: Group
    categories: dict[str, Group]
    questions: tuple[QuestionScore, ...]
    """In the order of the catalogue."""
    sweep: tuple[Swept, ...] = ()
    claims: dict[str, int] = {}
    """Verdict → claims, over all answers; corrected only."""


class SynthLinkReport(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one file of predictions."""

    schema: str = SCHEMA
    version: str
    n_questions: int
    n_answered: int
    n_abstained: int = 0
    coverage: float
    weights: dict[Measure, float]
    thresholds: Thresholds
    graph: str
    """The domain that claims were held against; empty for none."""
    pages: str = ""
    """Name of the corpus whose texts of the sources are evidence; empty for none."""
    judge: JudgeReport | None = None
    """Who judged the claims that the graph left open, and how well; null for nobody."""
    confidence: float
    resamples: int
    seed: int
    modes: dict[Mode, ModeScores]
    refused: tuple[Refused, ...] = ()
    notes: tuple[str, ...] = ()


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first file's mean less the second's, question by question."""

    first: str
    """What the first file is called."""
    second: str
    mode: Mode
    group: str
    """``all`` or a category."""
    measure: Measure
    n: int
    value_first: float | None
    value_second: float | None
    difference: float | None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    test: Literal["mcnemar", "sign-flip", "none"] = "none"
    exact: bool = False
    p: float | None = None
    p_holm: float | None = None
    """Adjusted within its mode: over measures and compared files; for a category, over categories
    and compared files."""
    n_differ: int = 0
    smallest_found: float | None = None
    better: str | None = None
    """The name of the one that is shown to be better, by test and interval together."""
    alpha: float = ALPHA
