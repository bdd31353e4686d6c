"""What is scored, against what, and how: the settings of ``epoche synthlink score``."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from eval.stats.intervals import SEED
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.literal import Readings
from eval.synthlink.measures import Mode
from eval.synthlink.scores import CONFIDENCE, RESAMPLES
from kg.base.errors import SettingError

NONE: Final = "none"
"""In place of a graph or corpus: that there is to be none."""


class ScoreOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one scoring.

    Raises:
        SettingError: ``correct`` is no F1 that tells right from wrong.
    """

    predictions: Path
    output_dir: Path
    catalog: Path | None = None
    """A folder or JSONL file; none for the shipped catalogue."""
    mode: Mode | Literal["both"] = "both"
    compare: tuple[Path, ...] = ()
    """Other files of predictions on the same catalogue."""
    domain: str | None = None
    """Name or path of the domain whose graph claims are held against, or ``none``. By default the
    shipped catalogue's own, and no graph for another catalogue."""
    pages: str | None = None
    """JSONL file of a corpus whose texts of the sources are evidence, or ``none``. By default the
    shipped catalogue's own, and no corpus for another catalogue."""
    correct: float | None = None
    """F1 from which an answer is correct, in both modes; by default each mode's own."""
    confidence: float = CONFIDENCE
    resamples: int = RESAMPLES
    seed: int = SEED

    def __post_init__(self) -> None:
        if self.correct is not None and not 0 < self.correct <= 1:
            raise SettingError(
                f"an F1 of {self.correct:g} cannot tell right from wrong",
                where="--correct",
                hint="Give a number above 0, and at most 1.",
            )

    @property
    def thresholds(self) -> Thresholds:
        """Of the corrected scores."""
        return Thresholds() if self.correct is None else Thresholds(correct=self.correct)

    @property
    def readings(self) -> Readings:
        """Of the literal scores."""
        return Readings() if self.correct is None else Readings(correct=self.correct)
