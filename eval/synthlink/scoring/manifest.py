"""The manifest of a folder of scores: the files scored, the resources used, and all settings.

It contains no times, no secrets and no absolute paths, so that equal inputs give equal bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from eval.harness.resume import read_run_manifest
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.metrics import Mode
from eval.synthlink.scoring.literal_scores import SpecReadings
from eval.synthlink.scoring.outputs import MANIFEST_FILE

MANIFEST_KIND: Final = "synthlink"


class ComparedFile(msgspec.Struct, frozen=True, kw_only=True):
    """Another file of predictions: a further repeat, or one to compare with."""

    name: str
    """Name of the file, as in the scores."""
    file: str
    """Path relative to the manifest's folder, with forward slashes."""
    sha256: str


class SynthLinkManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything needed to identify or reproduce the scores."""

    kind: Literal["synthlink"] = "synthlink"
    predictions: str
    """Path of the file relative to the manifest's folder, with forward slashes."""
    predictions_sha256: str
    """SHA-256 of the file."""
    repeats: tuple[ComparedFile, ...] = ()
    """The predictions of the further repeats of the same run, in order."""
    compared: tuple[ComparedFile, ...] = ()
    catalog: str
    """``shipped``, or the path relative to the manifest's folder."""
    catalog_sha256: str
    """SHA-256 of all questions as parsed, independent of the file layout."""
    questions: int
    """Number of questions of the catalogue."""
    limit: int | None = None
    """Number of questions that were scored, the first ones; None for all."""
    domain: str = ""
    """The domain with the graph that claims were checked against; empty for none."""
    graph_sha256: str | None = None
    """SHA-256 of the graph; null without a graph."""
    shapes_sha256: str | None = None
    pages: str = ""
    """``shipped``, or the path of the corpus of source pages; empty for none."""
    pages_sha256: str | None = None
    modes: tuple[Mode, ...]
    """Modes of the scores; the first is that of the headline score."""
    thresholds: Thresholds
    """Settings of the corrected scores."""
    readings: SpecReadings
    """Settings of the literal scores."""
    judge: dict[str, Any] | None = None
    """Settings and hashes of the judges (``Judgement.to_manifest``); null for none."""
    confidence: float
    resamples: int
    seed: int
    signature: str
    """Settings and shortened hashes in one line, to be quoted with a score."""
    versions: dict[str, str] = {}
    files_sha256: dict[str, str] = {}
    """SHA-256 of the files of scores and answers, so that later changes are noticed."""


def read_manifest(folder: Path | str) -> SynthLinkManifest:
    """Reads the manifest of a folder of scores.

    Raises:
        MissingFileError: the folder has no manifest.
        RecordError: the file is not the manifest of SynthLink scores.
    """
    return read_run_manifest(
        Path(folder) / MANIFEST_FILE, SynthLinkManifest, "epoche synthlink score"
    )
