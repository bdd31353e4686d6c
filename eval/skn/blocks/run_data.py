"""Reads the files of a finished run and checks that they belong together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from eval.skn.files import DETAILS, MANIFEST, METRICS
from eval.skn.manifest import SknManifest, read_manifest
from eval.skn.row import SknRow, read_rows
from eval.skn.scoring.record import SCHEMA, SknReport
from kg.base.errors import CardSetMismatchError, RecordError
from kg.base.files import require_file

_HINT = "`epoche skn run` writes it at the end of a run; run it again, it is resumed."

Record = TypeVar("Record")


class RunSample(msgspec.Struct, frozen=True, kw_only=True):
    """A sample and its search results, from ``detailed_results.json``."""

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
    """What the section of a run is built from.

    Attributes:
        manifest: how the run was made.
        report: its metrics.
        samples: in the order of the run.
        rows: sample id → pipeline → its rows, by repeat.
        files: the files that were read.
    """

    manifest: SknManifest
    report: SknReport
    samples: tuple[RunSample, ...]
    rows: dict[str, dict[str, tuple[SknRow, ...]]]
    files: tuple[Path, ...]

    @property
    def pipelines(self) -> tuple[str, ...]:
        """Names of the pipelines, in the order of the tables."""
        return tuple(self.report.pipelines)


def read_run(folder: Path) -> SknRun:
    """Reads and cross-checks the files of a finished run.

    Raises:
        MissingFileError: a file does not exist.
        RecordError: a file is damaged or of another version.
        CardSetMismatchError: rows and metrics have different samples or pipelines.
    """
    manifest = read_manifest(folder / MANIFEST)
    report = _read_report(folder / METRICS)
    # A run with repeats has a sample once per repeat, always the same.
    details = _read_record(folder / DETAILS, "detailed results", tuple[RunSample, ...])
    samples = {sample.id: sample for sample in details}
    rows: dict[str, dict[str, tuple[SknRow, ...]]] = {id_: {} for id_ in samples}
    for row in read_rows(folder / manifest.rows):
        if row.id not in samples or row.pipeline not in report.pipelines:
            raise CardSetMismatchError(
                f"sample {row.id!r} of pipeline {row.pipeline!r} has a row and no metrics",
                where=str(folder),
                hint=_HINT,
            )
        by_pipeline = rows[row.id]
        by_pipeline[row.pipeline] = (*by_pipeline.get(row.pipeline, ()), row)
    if len(samples) != report.n_samples:
        raise CardSetMismatchError(
            f"{len(samples)} samples, but metrics of {report.n_samples}",
            where=str(folder),
            hint=_HINT,
        )
    files = tuple(folder / name for name in (MANIFEST, METRICS, DETAILS, manifest.rows))
    return SknRun(manifest, report, tuple(samples.values()), rows, files)


def _read_report(path: Path) -> SknReport:
    report = _read_record(path, "metrics file", _Metrics).report
    if report.schema != SCHEMA:
        raise RecordError(
            f"metrics schema {report.schema!r}, expected {SCHEMA!r}", where=str(path), hint=_HINT
        )
    return report


def _read_record(path: Path, what: str, record: type[Record]) -> Record:
    require_file(path, what)
    try:
        return msgspec.json.decode(path.read_bytes(), type=record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"not a {what}: {error}", where=str(path), hint=_HINT) from error
