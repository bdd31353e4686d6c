"""The settings of ``epoche synthlink score``."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from eval.stats.bootstrap import SEED
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.metrics import Mode
from eval.synthlink.scoring.literal_scores import SpecReadings
from eval.synthlink.scoring.scores import DEFAULT_CONFIDENCE, DEFAULT_RESAMPLES
from kg.base.errors import SettingError

NO_RESOURCE: Final = "none"
"""Value of ``domain`` or ``pages`` that means: use no graph, or no corpus."""


class ScoreOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one scoring.

    Raises:
        SettingError: ``correct`` is not in (0, 1].
    """

    predictions: Path
    output_dir: Path
    catalog: Path | None = None
    """A folder or JSONL file; None for the shipped catalogue."""
    mode: Mode | Literal["both"] = "both"
    compare: tuple[Path, ...] = ()
    """Other files of predictions on the same catalogue."""
    domain: str | None = None
    """Name or path of the domain with the graph that claims are checked against, or ``none``. By
    default the shipped graph for the shipped catalogue, and no graph for another catalogue."""
    pages: str | None = None
    """JSONL file of a corpus whose source pages are used as evidence, or ``none``. By default the
    shipped corpus for the shipped catalogue, and no corpus for another catalogue."""
    correct: float | None = None
    """Minimum F1 of a correct answer, in both modes; None for the default of each."""
    confidence: float = DEFAULT_CONFIDENCE
    resamples: int = DEFAULT_RESAMPLES
    seed: int = SEED
    limit: int | None = None
    """Score the first ``limit`` questions of the catalogue only."""

    def __post_init__(self) -> None:
        if self.correct is not None and not 0 < self.correct <= 1:
            raise SettingError(
                f"the minimum F1 of a correct answer must be above 0 and at most 1, not "
                f"{self.correct:g}",
                where="--correct",
            )

    @property
    def thresholds(self) -> Thresholds:
        """Settings of the corrected scores."""
        return Thresholds() if self.correct is None else Thresholds(correct=self.correct)

    @property
    def readings(self) -> SpecReadings:
        """Settings of the literal scores."""
        return SpecReadings() if self.correct is None else SpecReadings(correct=self.correct)
