"""The manifest of an extraction run: what was asked of whom, from what, and how it is scored.

It is written before the first row and again at the end, each time all or nothing, and decides
whether a folder may be taken up again. No absolute path and no secret is ever in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from eval.extraction.metrics.grades import REQUIREMENTS, Requirements
from eval.extraction.metrics.measurement_plan import CONFIDENCE, MeasurementPlan
from eval.extraction.metrics.quality_score import DEFAULT_WEIGHTS, ScoreWeights
from eval.extraction.record import Average, Level
from eval.extraction.running.output_files import MANIFEST
from eval.extraction.settings import Matching
from eval.running.folder_manifest import FolderManifest
from eval.running.resume import read_run_manifest, resume_manifest
from eval.running.row_layout import RowLayout
from eval.stats.bootstrap import RESAMPLES


class Measuring(msgspec.Struct, frozen=True, kw_only=True):
    """How the report is made of the rows. It may change without any row changing."""

    average: Average = "micro"
    weights: ScoreWeights = DEFAULT_WEIGHTS
    requirements: dict[Level, Requirements] = msgspec.field(
        default_factory=lambda: dict(REQUIREMENTS)
    )
    resamples: int = RESAMPLES
    confidence: float = CONFIDENCE
    enabled: tuple[str, ...] = ()
    """Metrics that are printed; empty: the headline ones."""
    predictions: bool = True
    """Whether ``predictions.jsonl`` is written."""
    per_sample: bool = True
    """Whether ``per_sample.csv`` is written."""


class ExtractionManifest(FolderManifest, frozen=True, kw_only=True):
    """Everything needed to name, repeat or continue a run.

    ``dataset_sha256`` is of all samples that could be asked: texts, schemas and expected outputs.
    ``seed`` is that of the draw of samples, the order of questions and the resamples.
    """

    kind: Literal["extraction"] = "extraction"
    samples: str
    """Name of the file of the samples that are asked."""
    rejected: int = 0
    """Rows of the data set left out because they are no samples."""
    rejections: tuple[str, ...] = ()
    """The first of them, with the reason."""
    data_notes: tuple[str, ...] = ()
    """What a reader should know of the data: a draw, another split."""
    split: str = ""
    sample_size: int | None = None
    """So many were drawn; null for all."""
    systems: tuple[str, ...]
    extractors: dict[str, Any]
    """By system, what its extractor says of itself."""
    prompts: dict[str, str]
    """``system`` and ``user`` templates; empty without a model."""
    matching: Matching
    """How fields are compared: decides the scores in the rows."""
    measuring: Measuring = Measuring()

    @property
    def places(self) -> RowLayout:
        """Which rows the run has."""
        return RowLayout(
            self.sample_count, systems=len(self.systems), repeats=self.repeats, limit=self.limit
        )

    def plan(self, notes: tuple[str, ...] = ()) -> MeasurementPlan:
        """How its report is made.

        Args:
            notes: what else a reader must know.
        """
        how = self.measuring
        return MeasurementPlan(
            resamples=how.resamples,
            seed=self.seed,
            confidence=how.confidence,
            invalid=self.matching.invalid,
            average=how.average,
            weights=how.weights,
            requirements=how.requirements,
            repeats=self.repeats,
            matching=_in_words(self.matching),
            notes=notes,
        )


SAME_IN_A_RUN: Final = ("systems", "offline", "extractors", "prompts", "matching", "seed")
"""What may not change within a run; ``limit`` and ``repeats`` may grow."""


_WRITTEN_BY: Final = "epoche extract run"


def read_manifest(path: Path | str) -> ExtractionManifest:
    """Reads a manifest.

    Raises:
        MissingFileError: no such file.
        RecordError: it is none of such a run.
    """
    return read_run_manifest(path, ExtractionManifest, _WRITTEN_BY)


def continued(new: ExtractionManifest, folder: Path) -> ExtractionManifest:
    """The manifest of the run in ``folder``, which is being taken up again.

    Raises:
        RecordError: there is no manifest, so nobody knows what the rows are.
        CardSetMismatchError: they were made from other samples or otherwise.
    """
    return resume_manifest(new, folder / MANIFEST, SAME_IN_A_RUN, _WRITTEN_BY)


def _in_words(matching: Matching) -> str:
    """What of it is not the default, for a signature."""
    usual = msgspec.structs.asdict(Matching())
    own = msgspec.structs.asdict(matching)
    changed = [
        f"{name}={value}"
        for name, value in own.items()
        if name != "invalid" and value != usual[name]
    ]
    return ",".join(changed) or "default"
