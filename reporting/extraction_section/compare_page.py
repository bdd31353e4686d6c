"""Several finished runs on one page, as if all their systems had been asked in one run.

Only samples that every run asked are compared, and everything is measured anew on these; so the
numbers of a system may differ from those of its own page, and the page says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from eval.extraction.aggregate import aggregate_rows
from eval.extraction.comparison import compare_systems
from eval.extraction.run_files import list_run_files
from eval.extraction.run_set import FinishedRun, list_run_notes, open_runs
from eval.extraction.samples.sample import Sample
from eval.extraction.samples.sample_rows import read_samples
from kg.base.errors import SettingError
from kg.base.files import to_json_bytes
from kg.words.plain_text import join_list
from reporting.benchmark_sections.page import PAGE_FORMATS, PageFormat, write_section
from reporting.extraction_section.points import points_of
from reporting.extraction_section.reading import facts_of_run
from reporting.extraction_section.section_of_run import section_of_run
from reporting.extraction_section.shown import Shown

ID = "extraction"
TITLE = "Who turns texts into data best?"


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
    run_set = open_runs([Path(folder) for folder in folders])
    runs, ids = run_set.runs, frozenset(run_set.samples)
    first = runs[0].manifest
    plan = replace(first.build_measurement_plan(), repeats=run_set.repeats)
    report = aggregate_rows(run_set.iter_rows(), plan)
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
        points=points_of(run_set.iter_rows(), report.invalid, report.weights),
        comparison=compare_systems(run_set.iter_rows(), report, plan),
        matching=first.matching,
        facts=tuple(_facts(runs, report.n_samples)),
        dataset=join_list(list(dict.fromkeys(run.manifest.dataset for run in runs))),
        date=max((run.manifest.ended or run.manifest.started)[:10] for run in runs),
        offline=all(run.manifest.offline for run in runs),
        notices=tuple(list_run_notes(run_set)),
        samples_of=samples_of,
        rows_of=run_set.iter_rows,
        manifests=tuple((run.name, to_json_bytes(run.manifest, indent=2).decode()) for run in runs),
        # Nothing that belongs to a run may be overwritten by a page beside it.
        files=tuple(path for run in runs for path in list_run_files(run.folder)),
    )


def _facts(runs: Sequence[FinishedRun], count: int) -> Iterator[tuple[str, str]]:
    for run in runs:
        yield from (
            (f"{name} ({run.name})", said) for name, said in facts_of_run(run.manifest, count)
        )
