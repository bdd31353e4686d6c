"""A finished run of SKN against JSON, read from its folder and held against itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from eval.skn.manifest import SknManifest, read_manifest
from eval.skn.row import SknRow, read_rows
from eval.skn.run_files import DETAILS, MANIFEST, METRICS
from eval.skn.scoring.record import SCHEMA, SknReport
from kg.base.errors import CardSetMismatchError, RecordError
from kg.base.files import require_file

_HINT = "`epoche skn run` writes it at the end of a run; run it again, it goes on where it stopped."

Record = TypeVar("Record")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a sample asks and what was found for it, as ``detailed_results.json`` holds it."""

    id: str
    category: str = ""
    question: str = ""
    ground_truth: str = ""
    answerable: bool = True
    raw_text: str | None = None


class _Metrics(msgspec.Struct):
    report: SknReport


@dataclass(frozen=True)
class SknRun:
    """Everything a section shows of a run.

    Attributes:
        manifest: how the run was made.
        report: every number.
        samples: in the order of the run.
        rows: sample id → pipeline → its rows, by repeat.
        files: what all this was read from.
    """

    manifest: SknManifest
    report: SknReport
    samples: tuple[Asked, ...]
    rows: dict[str, dict[str, tuple[SknRow, ...]]]
    files: tuple[Path, ...]

    @property
    def pipelines(self) -> tuple[str, ...]:
        """In the order of the tables."""
        return tuple(self.report.pipelines)


def read_run(folder: Path) -> SknRun:
    """Reads and cross-checks the files of a finished run.

    Raises:
        MissingFileError: a file is not there.
        RecordError: one is not what it should be.
        CardSetMismatchError: rows and metrics are of different samples or pipelines.
    """
    manifest = read_manifest(folder / MANIFEST)
    report = _read_report(folder / METRICS)
    # With repeats a sample stands there once a repeat, and asks the same every time.
    details = _decoded(folder / DETAILS, "detailed results", tuple[Asked, ...])
    known = {sample.id: sample for sample in details}
    samples = tuple(known.values())
    rows: dict[str, dict[str, tuple[SknRow, ...]]] = {sample.id: {} for sample in samples}
    for row in read_rows(folder / manifest.rows):
        if row.id not in known or row.pipeline not in report.pipelines:
            raise CardSetMismatchError(
                f"sample {row.id!r} of pipeline {row.pipeline!r} has a row and no metrics",
                where=str(folder),
                hint=_HINT,
            )
        mine = rows[row.id]
        mine[row.pipeline] = (*mine.get(row.pipeline, ()), row)
    if len(samples) != report.n_samples:
        raise CardSetMismatchError(
            f"{len(samples)} samples, but metrics of {report.n_samples}",
            where=str(folder),
            hint=_HINT,
        )
    files = tuple(folder / name for name in (MANIFEST, METRICS, DETAILS, manifest.rows))
    return SknRun(manifest, report, samples, rows, files)


def _read_report(path: Path) -> SknReport:
    report = _decoded(path, "metrics file", _Metrics).report
    if report.schema != SCHEMA:
        raise RecordError(
            f"metrics schema {report.schema!r}, expected {SCHEMA!r}", where=str(path), hint=_HINT
        )
    return report


def _decoded(path: Path, what: str, record: type[Record]) -> Record:
    require_file(path, what)
    try:
        return msgspec.json.decode(path.read_bytes(), type=record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"not a {what}: {error}", where=str(path), hint=_HINT) from error
