"""The manifest of a run of SKN against JSON: what was asked of whom, from what, and how.

``manifest.json`` stands in the run's folder. It is written before the first row and again at the
end, each time all or nothing, and decides whether the folder may be taken up again. No absolute
path and no secret is ever in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from eval.resuming import differing
from eval.running.places import Places
from eval.running.session import RunStatus
from eval.running.totals import CallTotals
from kg.base.errors import CardSetMismatchError, RecordError
from kg.base.files import require_file

NAME = "manifest.json"

_HINT = "Choose another --out, or use --overwrite to replace it."


class SknManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything needed to name, repeat or continue a run."""

    kind: Literal["skn"] = "skn"
    rows: str
    """Name of the file of rows, in the manifest's own folder."""
    dataset: str
    """The samples, relative to the manifest's folder, with forward slashes."""
    dataset_sha256: str
    """Of the file's bytes."""
    sample_count: int
    limit: int | None = None
    """Only the first so many samples were asked; null for all."""
    repeats: int = 1
    pipelines: tuple[str, ...]
    mode: Literal["fair", "as-published"]
    offline: bool
    """Whether rules extracted, reasoned and judged, and no model at all."""
    search: dict[str, Any]
    """What was searched: the engines, or what was replayed, with its hash."""
    search_file: str | None = None
    """The replayed file, relative to the manifest's folder; null for a live search."""
    setting: dict[str, Any]
    """What was the same for every pipeline."""
    extractors: dict[str, Any]
    """By pipeline, what its extractor says of itself."""
    agent: dict[str, Any]
    judges: dict[str, Any]
    model: str | None = None
    judge_model: str | None = None
    same_judge: bool
    """Whether whoever answered also judged."""
    seed: int
    versions: dict[str, str] = {}
    started: str
    """UTC, ISO 8601, of the first start: resuming does not move it."""
    ended: str | None = None
    resumed: int = 0
    status: RunStatus
    counts: dict[str, int] = {}
    """Rows by outcome; ``unjudged``: those of them whose judge could not be called."""
    calls: CallTotals | None = None
    """The model calls behind the rows and anchors; null without a model."""
    observed: dict[str, Any] = {}
    """What the models turned out to do: mode of structured output, names they were served under."""

    @property
    def places(self) -> Places:
        """Which rows the run has."""
        return Places(
            self.sample_count,
            systems=len(self.pipelines),
            repeats=self.repeats,
            limit=self.limit,
        )


SAME_IN_A_RUN = (
    "pipelines",
    "mode",
    "offline",
    "search",
    "setting",
    "extractors",
    "agent",
    "judges",
    "model",
    "judge_model",
    "seed",
)
"""What may not change within a run; ``limit`` and ``repeats`` may grow."""


def read_manifest(path: Path | str) -> SknManifest:
    """Reads a manifest.

    Raises:
        MissingFileError: no such file.
        RecordError: it is none of such a run.
    """
    path = require_file(path, "run manifest")
    try:
        return msgspec.json.decode(path.read_bytes(), type=SknManifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"not the manifest of such a run: {error}",
            where=str(path),
            hint="`epoche skn run` writes it beside its rows; run again with --overwrite.",
        ) from error


def as_stored(value: Any) -> Any:
    """A value there and back through JSON, so that it compares equal to what a manifest gives."""
    return msgspec.json.decode(msgspec.json.encode(value))


def continued(new: SknManifest, folder: Path) -> SknManifest:
    """The manifest of the run in ``folder``, which is being taken up again.

    Raises:
        RecordError: there is no manifest, so nobody knows what the rows are.
        CardSetMismatchError: they were made from other samples or otherwise.
    """
    if not (folder / NAME).is_file():
        raise RecordError(
            f"cannot be resumed: {NAME} is not beside it, so nobody knows what it holds",
            where=str(folder / new.rows),
            hint=_HINT,
        )
    old = read_manifest(folder / NAME)
    if old.dataset_sha256 != new.dataset_sha256:
        raise CardSetMismatchError(
            f"the rows are about other samples ({old.dataset}, {old.dataset_sha256[:12]}; "
            f"asked now: {new.dataset}, {new.dataset_sha256[:12]})",
            where=str(folder / new.rows),
            hint=_HINT,
        )
    for field in SAME_IN_A_RUN:
        was, is_now = getattr(old, field), getattr(new, field)
        if was != is_now:
            raise CardSetMismatchError(
                f"the rows were made with another {differing(field, was, is_now)}",
                where=str(folder / new.rows),
                hint=_HINT,
            )
    return msgspec.structs.replace(
        new,
        started=old.started,
        resumed=old.resumed + 1,
        calls=old.calls,
        observed=old.observed,
    )
