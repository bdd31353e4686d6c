"""Defines the manifest of a retrieval run: corpus, questions, retrievers and comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from eval.harness.folder_manifest import FolderManifest
from eval.harness.resume import read_run_manifest
from eval.metrics.measurement import ResamplingPlan
from eval.retrieval_eval.record import Ablation, Corpus, Tuning


class ReportSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the report is computed from the rows; changing it changes no row."""

    resamples: int
    confidence: float
    baselines: tuple[str, ...]
    """Retrievers that all others are compared with."""


class RetrievalManifest(FolderManifest, frozen=True, kw_only=True):
    """Everything needed to identify, repeat or resume a run.

    ``dataset`` is the name of the question file; the questions themselves are in ``items``.
    ``dataset_sha256`` is the hash of the questions of the split, and ``sample_count`` their number.
    ``seed`` orders the questions and resamples them.
    """

    kind: Literal["retrieval"] = "retrieval"
    items: str
    """Name of the file with the questions that are asked, and their gold."""
    questions_sha256: str
    """Hash of the whole question file."""
    split: str
    """``dev``, ``test`` or ``all``."""
    corpus: Corpus
    other_run: str | None = None
    """Hash of the run that ``--other-run`` names."""
    depth: int
    """Number of passages of each ranking that are evaluated."""
    systems: tuple[str, ...]
    """Names of the retrievers and their variants."""
    retrievers: dict[str, Any]
    """Everything that determines the rankings of each system."""
    variants: tuple[str, ...] = ()
    """The systems that are only variants of another, for ablations."""
    ablations: tuple[Ablation, ...] = ()
    tuning: dict[str, Tuning] = msgspec.field(default_factory=dict)
    """Name of the tuned fusion → its tuning."""
    measuring: ReportSettings

    @property
    def system_names(self) -> tuple[str, ...]:
        """Names of the systems in the rows, in the order of the rows of a question."""
        return self.systems

    @property
    def resampling(self) -> ResamplingPlan:
        """How questions are resampled."""
        return ResamplingPlan(
            resamples=self.measuring.resamples,
            seed=self.seed,
            confidence=self.measuring.confidence,
        )


FIXED_FIELDS: Final = (
    *("split", "systems", "corpus", "other_run", "retrievers", "depth", "variants", "ablations"),
    "tuning",
)
"""Fields that must be the same in all sessions and shards of a run."""

COMMAND: Final = "epoche retrieval eval"


def read_manifest(path: Path | str) -> RetrievalManifest:
    """Reads a manifest.

    Raises:
        MissingFileError: no such file.
        RecordError: the file is not the manifest of a retrieval run.
    """
    return read_run_manifest(path, RetrievalManifest, COMMAND)
