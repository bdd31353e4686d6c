"""Reads a finished run of structured extraction from its folder and cross-checks its files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from eval.blocks.text_format import format_name, shorten_text
from eval.extraction.blocks.row_summaries import RowSummary, summarise_rows
from eval.extraction.comparison_record import ExtractionComparison
from eval.extraction.files import COMPARISON, MANIFEST, METRICS
from eval.extraction.manifest import ExtractionManifest, read_manifest
from eval.extraction.record import SCHEMA, ExtractionReport, SystemReport
from eval.extraction.row import ExtractionRow, read_rows
from eval.extraction.samples.sample import Sample
from eval.extraction.samples.sample_rows import read_samples
from eval.extraction.settings import Matching
from kg.base.errors import CardSetMismatchError, RecordError
from kg.base.files import require_file, to_json_bytes
from kg.base.plain_text import join_list

_HINT = "`epoche extract run` writes it at the end; run it again, it goes on where it stopped."
OFFLINE = (
    "Rules extracted, no model: these numbers say what this benchmark asks and how its parts fit "
    "together, and nothing about any model."
)
_MAX_PROMPT_LENGTH = 400

Record = TypeVar("Record")


class _Metrics(msgspec.Struct):
    report: ExtractionReport


@dataclass(frozen=True)
class RunData:
    """What a section is made of: one run, or several that are compared.

    Attributes:
        report: every number; systems of all runs.
        summaries: by system, one for each of its rows.
        comparison: of the systems; ``None`` if there is only one.
        matching: how fields were compared.
        facts: how the run was made: name and value, in order.
        dataset: its name.
        date: when it ended, as ISO 8601; empty if unknown.
        offline: whether no model was called.
        notices: what must be read before the numbers.
        read_samples: reads the samples with these ids again from disk.
        read_rows: likewise their rows.
        manifests: name of a run and its manifest as JSON text.
        files: what all this was read from.
    """

    report: ExtractionReport
    summaries: dict[str, list[RowSummary]]
    comparison: ExtractionComparison | None
    matching: Matching
    facts: tuple[tuple[str, str], ...]
    dataset: str
    date: str
    offline: bool
    notices: tuple[str, ...]
    read_samples: Callable[[Collection[str]], Iterable[Sample]]
    read_rows: Callable[[Collection[str]], Iterable[ExtractionRow]]
    manifests: tuple[tuple[str, str], ...]
    files: tuple[Path, ...]

    @property
    def systems(self) -> tuple[tuple[str, SystemReport], ...]:
        """Name and numbers, the best headline first; those without one last, ties by name."""
        return tuple(
            sorted(
                self.report.systems.items(),
                key=lambda item: (-_get_value(item[1], self.report.headline), item[0]),
            )
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the systems in that order."""
        return tuple(name for name, _ in self.systems)

    @property
    def display_names(self) -> tuple[str, ...]:
        """The same, formatted for a page."""
        return tuple(map(format_name, self.names))


def _get_value(system: SystemReport, metric: str) -> float:
    value = system.metrics[metric].value
    return -1.0 if value is None else value


def read_run(folder: Path) -> RunData:
    """Reads and cross-checks the files of a finished run.

    Raises:
        MissingFileError: a file does not exist.
        RecordError: a file is damaged.
        CardSetMismatchError: rows and metrics are of different systems or samples.
    """
    manifest = read_manifest(folder / MANIFEST)
    report = _read_report(folder / METRICS)
    rows, samples = folder / manifest.rows, folder / manifest.samples
    summaries = summarise_rows(read_rows(rows), report.invalid, report.weights)
    _check_counts(report, summaries, folder)
    files = [folder / MANIFEST, folder / METRICS, rows, require_file(samples, "sample file")]
    comparison = None
    if len(report.systems) > 1:
        comparison = _decode(folder / COMPARISON, "comparison", ExtractionComparison)
        files.append(folder / COMPARISON)

    def read_rows_of(ids: Collection[str]) -> Iterator[ExtractionRow]:
        wanted = frozenset(ids)
        return (row for row in read_rows(rows) if row.id in wanted)

    return RunData(
        report=report,
        summaries=summaries,
        comparison=comparison,
        matching=manifest.matching,
        facts=tuple(list_run_facts(manifest, report.n_samples)),
        dataset=manifest.dataset,
        date=(manifest.ended or manifest.started)[:10],
        offline=manifest.offline,
        notices=(OFFLINE,) if manifest.offline else (),
        read_samples=lambda ids: read_samples(samples, frozenset(ids)),
        read_rows=read_rows_of,
        manifests=((folder.name, to_json_bytes(manifest, indent=2).decode()),),
        files=tuple(files),
    )


def _read_report(path: Path) -> ExtractionReport:
    report = _decode(path, "metrics file", _Metrics).report
    if report.schema != SCHEMA:
        raise RecordError(
            f"metrics schema {report.schema!r}, expected {SCHEMA!r}", where=str(path), hint=_HINT
        )
    return report


def _check_counts(
    report: ExtractionReport, summaries: dict[str, list[RowSummary]], folder: Path
) -> None:
    """Checks that rows and metrics are of the same run."""
    for name in {**report.systems, **summaries}:
        n_rows = len(summaries.get(name, ()))
        n_measured = report.systems[name].outcomes.rows if name in report.systems else 0
        if n_rows != n_measured:
            raise CardSetMismatchError(
                f"{n_rows:,} rows of {name!r}, but metrics of {n_measured:,}",
                where=str(folder),
                hint=_HINT,
            )


def _decode(path: Path, what: str, record: type[Record]) -> Record:
    require_file(path, what)
    try:
        return msgspec.json.decode(path.read_bytes(), type=record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"not a {what}: {error}", where=str(path), hint=_HINT) from error


def list_run_facts(manifest: ExtractionManifest, n_samples: int) -> Iterator[tuple[str, str]]:
    """Yields how a run was made, for the methodology: name and value.

    Args:
        manifest: of the run.
        n_samples: number of samples in the section.
    """
    split = f", split {manifest.split}" if manifest.split else ""
    drawn = f", {manifest.sample_size:,} drawn" if manifest.sample_size is not None else ""
    yield "Data set", f"{manifest.dataset}{split}: {n_samples:,} samples{drawn}"
    if manifest.rejected:
        first = f"; the first: {manifest.rejections[0]}" if manifest.rejections else ""
        yield "Left out", f"{manifest.rejected:,} rows that are no samples{first}"
    for note in manifest.data_notes:
        yield "Data", note
    yield "Systems", join_list(list(manifest.systems))
    for name, params in manifest.extractors.items():
        yield f"Settings of {name}", _format_settings(params)
    for name, prompt in manifest.prompts.items():
        yield f"{name.capitalize()} prompt", shorten_text(prompt, _MAX_PROMPT_LENGTH)
    defaults = msgspec.structs.asdict(type(manifest.matching)())
    settings = msgspec.structs.asdict(manifest.matching)
    changed = [f"{key} {value}" for key, value in settings.items() if value != defaults[key]]
    yield "Matching", join_list(changed) if changed else "the defaults"
    if manifest.repeats > 1:
        yield "Repeats", f"each sample {manifest.repeats} times"
    yield "Seed", str(manifest.seed)
    yield "Started", manifest.started
    if manifest.ended:
        yield "Ended", manifest.ended
    if manifest.versions:
        versions = [f"{name} {version}" for name, version in manifest.versions.items()]
        yield "Versions", join_list(versions)


def _format_settings(settings: Any) -> str:
    if not isinstance(settings, dict):
        return str(settings)
    return "; ".join(f"{key}: {_format_setting(v)}" for key, v in settings.items()) or "none"


def _format_setting(value: Any) -> str:
    return value if isinstance(value, str) else to_json_bytes(value).decode()
