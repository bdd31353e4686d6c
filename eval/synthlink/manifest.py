"""The manifest of a folder of scores: what was scored, against what, and how.

It holds no clock, no secret and no absolute path: the same files scored in the same way give the
same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from eval.running.taking_up import read_as
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.literal import Readings
from eval.synthlink.measures import Mode
from eval.synthlink.outputs import MANIFEST

KIND: Final = "synthlink"


class ComparedFile(msgspec.Struct, frozen=True, kw_only=True):
    """Another file of predictions."""

    name: str
    """As in the scores."""
    file: str
    """Where it is, relative to the manifest's folder, with forward slashes."""
    sha256: str


class SynthLinkManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything needed to name or repeat the scores."""

    kind: Literal["synthlink"] = "synthlink"
    predictions: str
    """The file, relative to the manifest's folder, with forward slashes."""
    predictions_sha256: str
    """Of its bytes."""
    compared: tuple[ComparedFile, ...] = ()
    catalog: str
    """``shipped``, or where it is, relative to the manifest's folder."""
    catalog_sha256: str
    """Of all questions as they were read, whatever layout they stood in."""
    questions: int
    domain: str = ""
    """Whose graph claims were held against; empty for none."""
    graph_sha256: str | None = None
    """Null without a graph."""
    shapes_sha256: str | None = None
    pages: str = ""
    """``shipped``, or where the texts of the sources are; empty for none."""
    pages_sha256: str | None = None
    modes: tuple[Mode, ...]
    """The first is the headline."""
    thresholds: Thresholds
    """Of the corrected scores."""
    readings: Readings
    """Of the literal ones."""
    judge: dict[str, Any] | None = None
    """Who judged claims besides, by its own account; null for nobody."""
    confidence: float
    resamples: int
    seed: int
    signature: str
    """All of this in a line, fit to be quoted beside a score."""
    versions: dict[str, str] = {}


def read_manifest(folder: Path | str) -> SynthLinkManifest:
    """The manifest of a folder of scores.

    Raises:
        MissingFileError: there is none.
        RecordError: it is none of such a folder.
    """
    return read_as(Path(folder) / MANIFEST, SynthLinkManifest, "epoche synthlink score")
