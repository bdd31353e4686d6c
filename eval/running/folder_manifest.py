"""What the manifests of all runs that fill a folder say, whatever benchmark they are of."""

from __future__ import annotations

from typing import Any

import msgspec

from eval.running.session import RunStatus
from eval.running.totals import CallTotals


class FolderManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Written before the first row and again at the end; decides whether a run may be taken up.

    A benchmark's own manifest adds its ``kind`` and what decides its rows. No absolute path and no
    secret is ever in it.
    """

    kind: str
    """Of run; each benchmark has its own."""
    rows: str
    """Name of the file of rows, in the manifest's own folder."""
    dataset: str
    """What is asked; of a file or folder its path, relative to the manifest's folder, with forward
    slashes."""
    dataset_sha256: str
    """Of all that could be asked."""
    sample_count: int
    """Items of the data set."""
    limit: int | None = None
    """Only the first so many were asked; null for all."""
    repeats: int = 1
    offline: bool
    """Whether no model was asked at all."""
    seed: int
    versions: dict[str, str] = {}
    started: str
    """UTC, ISO 8601, of the first start: resuming does not move it."""
    ended: str | None = None
    resumed: int = 0
    """How often the run was taken up again."""
    status: RunStatus
    counts: dict[str, int] = {}
    """Rows by outcome."""
    calls: CallTotals | None = None
    """The model calls behind the rows; null without a model."""
    observed: dict[str, Any] = {}
    """What the models turned out to do: mode of structured output, names they were served under."""
