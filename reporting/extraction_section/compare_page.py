"""Several finished runs on one page, as if all their systems had been asked in one run.

Only samples that every run asked are compared, and everything is measured anew on these; so the
numbers of a system may differ from those of its own page, and the page says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from eval.extraction.aggregate import aggregate_rows
from eval.extraction.comparison import compare_systems
from eval.extraction.manifest import ExtractionManifest, read_manifest
from eval.extraction.row import ExtractionRow, read_rows
from eval.extraction.run_files import MANIFEST, list_run_files
from eval.extraction.samples.sample import Sample
from kg.base.errors import CardSetMismatchError, SettingError
from kg.base.files import iter_json_lines, to_json_bytes
from kg.words.plain_text import join_list
from reporting.benchmark_sections.page import PAGE_FORMATS, PageFormat, write_section
from reporting.extraction_section.points import points_of
from reporting.extraction_section.reading import facts_of_run, read_samples
from reporting.extraction_section.section_of_run import section_of_run
from reporting.extraction_section.shown import Shown

ID = "extraction"
TITLE = "Who turns texts into data best?"


@dataclass(frozen=True)
class _Run:
    """One of the runs.

    Attributes:
        name: of its folder, or the path where several folders have one name.
        folder: where it is.
        manifest: how it was made.
        samples: id → digest of the sample, in the order of the run.
        names: system → the name it has on the page.
    """

    name: str
    folder: Path
    manifest: ExtractionManifest
    samples: dict[str, str]
    names: dict[str, str]

    @property
    def rows_file(self) -> Path:
        """Its rows."""
        return self.folder / self.manifest.rows

    @property
    def samples_file(self) -> Path:
        """Its samples."""
        return self.folder / self.manifest.samples

    def rows(self, ids: Collection[str]) -> Iterator[ExtractionRow]:
        """Its rows of these samples, systems under the names of the page."""
        for row in read_rows(self.rows_file):
            if row.id in ids:
                name = self.names[row.system]
                yield row if name == row.system else msgspec.structs.replace(row, system=name)


def write_comparison(
    folders: Sequence[Path], out: Path, formats: Collection[PageFormat] = PAGE_FORMATS
) -> list[Path]:
    """Writes the page that compares finished runs, and its exports beside it.

    Args:
        folders: two or more.
        out: the page; exports get the same stem.
        formats: which of them; all by default.

    Raises:
        SettingError: fewer than two systems, one folder twice, or a file would take the place of
            one that is read.
        MissingFileError, RecordError: a folder holds no finished run.
        CardSetMismatchError: the runs share no sample, or fields were compared differently.
        WriteError: a file cannot be written; then none is.
    """
    section = replace(section_of_run(comparison_of(folders), ID), title=TITLE)
    return write_section(section, out, formats)


def comparison_of(folders: Sequence[Path]) -> Shown:
    """Several runs as one.

    Raises:
        SettingError, MissingFileError, RecordError, CardSetMismatchError: as there.
    """
    runs = _runs(folders)
    shared = _shared(runs)
    ids = frozenset(shared)
    first = runs[0].manifest
    repeats = min(run.manifest.repeats for run in runs)

    def rows_of(wanted: Collection[str]) -> Iterable[ExtractionRow]:
        found = ids.intersection(wanted)
        return (row for run in runs for row in run.rows(found) if row.repeat < repeats)

    plan = replace(first.build_measurement_plan(), repeats=repeats)
    report = aggregate_rows(rows_of(ids), plan)
    if len(report.systems) < 2:
        raise SettingError(
            "there is only one system, so nothing to compare",
            where=join_list([str(run.folder) for run in runs]),
            hint="Give the folders of two runs, or of one run with two systems.",
        )

    def samples_of(wanted: Collection[str]) -> Iterable[Sample]:
        return read_samples(runs[0].samples_file, ids.intersection(wanted))

    return Shown(
        report=report,
        points=points_of(rows_of(ids), report.invalid, report.weights),
        comparison=compare_systems(rows_of(ids), report, plan),
        matching=first.matching,
        facts=tuple(_facts(runs, report.n_samples)),
        dataset=join_list(list(dict.fromkeys(run.manifest.dataset for run in runs))),
        date=max((run.manifest.ended or run.manifest.started)[:10] for run in runs),
        offline=all(run.manifest.offline for run in runs),
        notices=tuple(_notices(runs, len(ids), repeats)),
        samples_of=samples_of,
        rows_of=rows_of,
        manifests=tuple((run.name, to_json_bytes(run.manifest, indent=2).decode()) for run in runs),
        # Nothing that belongs to a run may be overwritten by a page beside it.
        files=tuple(path for run in runs for path in list_run_files(run.folder)),
    )


def _runs(folders: Sequence[Path]) -> list[_Run]:
    """The runs, each system with a name of its own."""
    places = [Path(folder) for folder in folders]
    if len({place.resolve() for place in places}) < len(places):
        raise SettingError(
            "a run is given twice",
            where=join_list([str(place) for place in places]),
            hint="Give each folder once.",
        )
    manifests = [read_manifest(place / MANIFEST) for place in places]
    short = [place.resolve().name for place in places]
    names = short if len(set(short)) == len(short) else [str(place) for place in places]
    systems = [system for manifest in manifests for system in manifest.systems]
    runs = []
    for name, place, manifest in zip(names, places, manifests, strict=True):
        told = {
            system: system if systems.count(system) == 1 else f"{name}: {system}"
            for system in manifest.systems
        }
        runs.append(_Run(name, place, manifest, _digests(place / manifest.samples), told))
    return runs


def _digests(path: Path) -> dict[str, str]:
    return {
        str(row.get("id")): hashlib.sha256(to_json_bytes(row)).hexdigest()
        for _, row in iter_json_lines(path, "sample file")
    }


def _shared(runs: Sequence[_Run]) -> list[str]:
    """Ids of the samples that all runs asked, in the order of the first run."""
    first = runs[0]
    for run in runs[1:]:
        if run.manifest.matching != first.manifest.matching:
            raise CardSetMismatchError(
                "fields were compared by other rules",
                where=f"{first.folder} and {run.folder}",
                hint="Run one of them again with the other's metrics.field_matching.",
            )
    shared = [
        id_
        for id_, digest in first.samples.items()
        if all(run.samples.get(id_) == digest for run in runs)
    ]
    if not shared:
        raise CardSetMismatchError(
            "the runs have no sample in common",
            where=join_list([str(run.folder) for run in runs]),
            hint="Run the systems on the same data set, with the same sample size and seed.",
        )
    return shared


def _facts(runs: Sequence[_Run], count: int) -> Iterator[tuple[str, str]]:
    for run in runs:
        yield from (
            (f"{name} ({run.name})", said) for name, said in facts_of_run(run.manifest, count)
        )


def _notices(runs: Sequence[_Run], shared: int, repeats: int) -> Iterator[str]:
    """What must be known of numbers that are not those of the runs' own pages."""
    largest = max(len(run.samples) for run in runs)
    if shared < largest:
        yield (
            f"Only the {shared:,} samples that all runs asked are compared, of up to {largest:,}. "
            "Numbers differ from those of the runs' own pages."
        )
    if any(run.manifest.repeats > repeats for run in runs):
        first = "first reply" if repeats == 1 else f"first {repeats} replies"
        yield f"Only the {first} to each sample stand for a system that was asked more often."
    if any(run.manifest.measuring != runs[0].manifest.measuring for run in runs):
        yield f"All are measured as the first run, {runs[0].name}, asks for."
    rules = [run.name for run in runs if run.manifest.offline]
    if rules:
        yield f"Rules extracted in {join_list(rules)}, no model."
