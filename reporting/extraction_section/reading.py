"""A finished run of structured extraction, read from its folder and held against itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from eval.extraction.comparison_record import ExtractionComparison
from eval.extraction.manifest import ExtractionManifest, read_manifest
from eval.extraction.record import SCHEMA, ExtractionReport
from eval.extraction.row import ExtractionRow, read_rows
from eval.extraction.run_files import COMPARISON, MANIFEST, METRICS
from eval.extraction.samples.sample import Sample
from eval.extraction.samples.sample_rows import read_samples
from kg.base.errors import CardSetMismatchError, RecordError
from kg.base.files import require_file, to_json_bytes
from kg.words.plain_text import join_list
from reporting.extraction_section.points import Point, points_of
from reporting.extraction_section.shown import Shown
from reporting.visible_text import shorten_text

HINT = "`epoche extract run` writes it at the end; run it again, it goes on where it stopped."
OFFLINE = (
    "Rules extracted, no model: these numbers say what this benchmark asks and how its parts fit "
    "together, and nothing about any model."
)
_PROMPT = 400
"""Characters shown of a prompt."""

Record = TypeVar("Record")


class _Metrics(msgspec.Struct):
    report: ExtractionReport


def read_run(folder: Path) -> Shown:
    """Reads and cross-checks the files of a finished run.

    Raises:
        MissingFileError: a file is not there.
        RecordError: one is not what it should be.
        CardSetMismatchError: rows and metrics are of different systems or samples.
    """
    manifest = read_manifest(folder / MANIFEST)
    report = read_report(folder / METRICS)
    rows, samples = folder / manifest.rows, folder / manifest.samples
    points = points_of(read_rows(rows), report.invalid, report.weights)
    _check(report, points, folder)
    files = [folder / MANIFEST, folder / METRICS, rows, require_file(samples, "sample file")]
    comparison = None
    if len(report.systems) > 1:
        comparison = _decoded(folder / COMPARISON, "comparison", ExtractionComparison)
        files.append(folder / COMPARISON)

    def samples_of(ids: Collection[str]) -> Iterator[Sample]:
        return read_samples(samples, frozenset(ids))

    def rows_of(ids: Collection[str]) -> Iterator[ExtractionRow]:
        wanted = frozenset(ids)
        return (row for row in read_rows(rows) if row.id in wanted)

    return Shown(
        report=report,
        points=points,
        comparison=comparison,
        matching=manifest.matching,
        facts=tuple(facts_of_run(manifest, report.n_samples)),
        dataset=manifest.dataset,
        date=(manifest.ended or manifest.started)[:10],
        offline=manifest.offline,
        notices=(OFFLINE,) if manifest.offline else (),
        samples_of=samples_of,
        rows_of=rows_of,
        manifests=((folder.name, to_json_bytes(manifest, indent=2).decode()),),
        files=tuple(files),
    )


def read_report(path: Path) -> ExtractionReport:
    """The metrics of a run.

    Raises:
        MissingFileError, RecordError: as named there.
    """
    report = _decoded(path, "metrics file", _Metrics).report
    if report.schema != SCHEMA:
        raise RecordError(
            f"metrics schema {report.schema!r}, expected {SCHEMA!r}", where=str(path), hint=HINT
        )
    return report


def _check(report: ExtractionReport, points: dict[str, list[Point]], folder: Path) -> None:
    """That rows and metrics are of one run."""
    for name in {**report.systems, **points}:
        rows = len(points.get(name, ()))
        counted = report.systems[name].outcomes.rows if name in report.systems else 0
        if rows != counted:
            raise CardSetMismatchError(
                f"{rows:,} rows of {name!r}, but metrics of {counted:,}",
                where=str(folder),
                hint=HINT,
            )


def _decoded(path: Path, what: str, record: type[Record]) -> Record:
    require_file(path, what)
    try:
        return msgspec.json.decode(path.read_bytes(), type=record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"not a {what}: {error}", where=str(path), hint=HINT) from error


def facts_of_run(manifest: ExtractionManifest, count: int) -> Iterator[tuple[str, str]]:
    """How a run was made, for the methodology.

    Args:
        manifest: of the run.
        count: samples that are shown.
    """
    split = f", split {manifest.split}" if manifest.split else ""
    drawn = f", {manifest.sample_size:,} drawn" if manifest.sample_size is not None else ""
    yield "Data set", f"{manifest.dataset}{split}: {count:,} samples{drawn}"
    if manifest.rejected:
        first = f"; the first: {manifest.rejections[0]}" if manifest.rejections else ""
        yield "Left out", f"{manifest.rejected:,} rows that are no samples{first}"
    for note in manifest.data_notes:
        yield "Data", note
    yield "Systems", join_list(list(manifest.systems))
    for name, params in manifest.extractors.items():
        yield f"Settings of {name}", _params(params)
    for name, prompt in manifest.prompts.items():
        yield f"{name.capitalize()} prompt", shorten_text(prompt, _PROMPT)
    usual = msgspec.structs.asdict(type(manifest.matching)())
    own = msgspec.structs.asdict(manifest.matching)
    changed = [f"{key} {value}" for key, value in own.items() if value != usual[key]]
    yield "Matching", join_list(changed) if changed else "the defaults"
    if manifest.repeats > 1:
        yield "Repeats", f"each sample {manifest.repeats} times"
    yield "Seed", str(manifest.seed)
    yield "Started", manifest.started
    if manifest.ended:
        yield "Ended", manifest.ended
    if manifest.versions:
        yield (
            "Versions",
            join_list([f"{name} {value}" for name, value in manifest.versions.items()]),
        )


def _params(params: Any) -> str:
    """What decides what a system extracts, in words."""
    if not isinstance(params, dict):
        return str(params)
    return "; ".join(f"{key}: {_one(value)}" for key, value in params.items()) or "none"


def _one(value: Any) -> str:
    return value if isinstance(value, str) else to_json_bytes(value).decode()
