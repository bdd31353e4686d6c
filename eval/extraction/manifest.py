"""Defines the manifest of an extraction run: samples, systems, prompts and scoring rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from eval.extraction.metrics.grades import REQUIREMENTS, Requirements
from eval.extraction.metrics.measurement_plan import CONFIDENCE, Failed, MeasurementPlan
from eval.extraction.metrics.quality_score import DEFAULT_WEIGHTS, ScoreWeights
from eval.extraction.record import Average, Headline, Level
from eval.extraction.settings import Matching
from eval.harness.folder_manifest import FolderManifest
from eval.harness.resume import read_run_manifest
from eval.stats.bootstrap import RESAMPLES


class ReportSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the report is computed from the rows; changing it changes no row."""

    headline: Headline = "extraction_quality_score"
    failed: Failed = "left_out"
    average: Average = "micro"
    weights: ScoreWeights = DEFAULT_WEIGHTS
    requirements: dict[Level, Requirements] = msgspec.field(
        default_factory=lambda: dict(REQUIREMENTS)
    )
    resamples: int = RESAMPLES
    confidence: float = CONFIDENCE
    enabled: tuple[str, ...] = ()
    """Metrics that are printed; empty for the headline metrics."""
    predictions: bool = True
    """Whether ``predictions.jsonl`` is written."""
    per_sample: bool = True
    """Whether ``per_sample.csv`` is written."""


class ExtractionManifest(FolderManifest, frozen=True, kw_only=True):
    """Everything needed to identify, repeat or resume a run.

    ``dataset_sha256`` is the hash of texts, schemas and expected outputs of all samples. ``seed``
    is used to draw the samples, to order the questions and to resample.
    """

    kind: Literal["extraction"] = "extraction"
    samples: str
    """Name of the file with the samples that are asked."""
    rejected: int = 0
    """Number of malformed rows of the data set, which are left out."""
    rejections: tuple[str, ...] = ()
    """The first malformed rows, each with the reason."""
    data_notes: tuple[str, ...] = ()
    """Notes on the data: samples drawn at random, another split."""
    split: str = ""
    sample_size: int | None = None
    """Number of samples drawn at random; null for all."""
    systems: tuple[str, ...]
    extractors: dict[str, Any]
    """Parameters of each system."""
    prompts: dict[str, str]
    """The ``system`` and ``user`` templates; empty without a model."""
    matching: Matching
    """How fields are compared; it decides the scores in the rows."""
    measuring: ReportSettings = ReportSettings()

    @property
    def system_names(self) -> tuple[str, ...]:
        """Names of the systems in the rows, in the order of the rows of a sample."""
        return self.systems

    def build_measurement_plan(self, notes: tuple[str, ...] = ()) -> MeasurementPlan:
        """Returns how the report is computed.

        Args:
            notes: notes for the report.
        """
        settings = self.measuring
        return MeasurementPlan(
            resamples=settings.resamples,
            seed=self.seed,
            confidence=settings.confidence,
            invalid=self.matching.invalid,
            failed=settings.failed,
            headline=settings.headline,
            average=settings.average,
            weights=settings.weights,
            requirements=settings.requirements,
            repeats=self.repeats,
            matching=_describe_matching(self.matching),
            notes=notes,
        )


FIXED_FIELDS: Final = ("systems", "extractors", "prompts", "matching", "seed")
"""Fields that must be the same in all sessions and shards of a run."""


COMMAND: Final = "epoche extract run"


def read_manifest(path: Path | str) -> ExtractionManifest:
    """Reads a manifest.

    Raises:
        MissingFileError: no such file.
        RecordError: the file is not the manifest of an extraction run.
    """
    return read_run_manifest(path, ExtractionManifest, COMMAND)


def _describe_matching(matching: Matching) -> str:
    """Returns the settings that are not the defaults, for the signature."""
    defaults = msgspec.structs.asdict(Matching())
    values = msgspec.structs.asdict(matching)
    changed = [
        f"{name}={value}"
        for name, value in values.items()
        if name != "invalid" and value != defaults[name]
    ]
    return ",".join(changed) or "default"
