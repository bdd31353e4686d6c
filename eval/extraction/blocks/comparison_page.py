"""Compares several finished runs on one page, as if one run had asked all their systems.

Only samples that every run asked are compared, and everything is measured anew on these; so the
numbers of a system may differ from those of its own page, and the page says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from eval.blocks.page import PAGE_FORMATS, PageFormat, write_section
from eval.extraction.aggregate import aggregate_rows
from eval.extraction.blocks.row_summaries import summarise_rows
from eval.extraction.blocks.run_data import RunData, list_run_facts
from eval.extraction.blocks.section import build_run_section
from eval.extraction.comparison import compare_systems
from eval.extraction.files import list_run_files
from eval.extraction.run_set import FinishedRun, list_run_notes, open_runs
from eval.extraction.samples.sample_rows import read_samples
from kg.base.errors import SettingError
from kg.base.files import to_json_bytes
from kg.base.plain_text import join_list

_ID = "extraction"
_TITLE = "Who turns texts into data best?"


def write_comparison(
    folders: Sequence[Path], out: Path, formats: Collection[PageFormat] = PAGE_FORMATS
) -> list[Path]:
    """Writes the page that compares finished runs, with its exports, and returns the files written.

    Args:
        folders: two or more.
        out: the page; exports have the same stem.
        formats: which of them to write.

    Raises:
        SettingError: fewer than two systems, one folder twice, or a file would overwrite one that
            is read.
        MissingFileError, RecordError: a folder has no finished run.
        CardSetMismatchError: the runs share no sample, or fields were compared differently.
        WriteError: a file cannot be written; then none is.
    """
    section = build_run_section(read_runs(folders), _ID)
    return write_section(replace(section, title=_TITLE), out, formats)


def read_runs(folders: Sequence[Path]) -> RunData:
    """Reads several runs as one.

    Raises:
        SettingError, MissingFileError, RecordError, CardSetMismatchError: as in
            ``write_comparison``.
    """
    run_set = open_runs([Path(folder) for folder in folders])
    runs, ids = run_set.runs, frozenset(run_set.samples)
    first = runs[0]
    plan = replace(first.manifest.build_measurement_plan(), repeats=run_set.repeats)
    report = aggregate_rows(run_set.iter_rows(), plan)
    if len(report.systems) < 2:
        raise SettingError(
            "there is only one system, so nothing to compare",
            where=join_list([str(run.folder) for run in runs]),
            hint="Give the folders of two runs, or of one run with two systems.",
        )
    return RunData(
        report=report,
        summaries=summarise_rows(run_set.iter_rows(), report.invalid, report.weights),
        comparison=compare_systems(run_set.iter_rows(), report, plan),
        matching=first.manifest.matching,
        facts=tuple(_list_facts(runs, report.n_samples)),
        dataset=join_list(list(dict.fromkeys(run.manifest.dataset for run in runs))),
        date=max((run.manifest.ended or run.manifest.started)[:10] for run in runs),
        offline=all(run.manifest.offline for run in runs),
        notices=tuple(list_run_notes(run_set)),
        read_samples=lambda wanted: read_samples(first.samples_file, ids.intersection(wanted)),
        read_rows=run_set.iter_rows,
        manifests=tuple((run.name, to_json_bytes(run.manifest, indent=2).decode()) for run in runs),
        # Nothing that belongs to a run may be overwritten by a page beside it.
        files=tuple(path for run in runs for path in list_run_files(run.folder)),
    )


def _list_facts(runs: Sequence[FinishedRun], n_samples: int) -> Iterator[tuple[str, str]]:
    for run in runs:
        for name, value in list_run_facts(run.manifest, n_samples):
            yield f"{name} ({run.name})", value
