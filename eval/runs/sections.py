"""Builds the sections of reports from run folders of any benchmark."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from eval.blocks.metric_sections import build_metrics_section
from eval.blocks.page import PAGE_FORMATS, PAGE_STEM, PageFormat, write_section
from eval.blocks.section import Section
from eval.harness.benchmarks import SHARED_MANIFEST, find_measured_benchmark, list_benchmarks
from eval.harness.verification.changed_files import UNVERIFIED_ROWS
from eval.metrics.measurement import ResamplingPlan
from eval.metrics.runs.report import build_metrics
from eval.metrics.runs.run_set import require_distinct_folders
from eval.runs.integrity import check_computed_records, check_folders
from eval.runs.measurement import list_folder_files, measure_folders
from kg.base.errors import MissingFileError, RecordError
from kg.base.files import require_file
from kg.base.plain_text import join_list

UNVERIFIED_CAVEAT = (
    "The rows have no recorded hash (rows:unverified), so nothing shows whether they are those "
    "that a run wrote."
)


def build_section(folder: Path | str, id_: str = "", *, allow_changed: bool = False) -> Section:
    """Builds the section of a finished run.

    Args:
        folder: folder of the run.
        id_: begins all ids in the section; by default the name of the benchmark.
        allow_changed: accept rows that are not as their run left them, with a notice.

    Raises:
        MissingFileError: the folder or a file that the section needs does not exist.
        RecordError: the folder is no run of a known benchmark, or one of its files is damaged.
        ChangedRunError: rows are not as their run left them, or computed numbers were edited.
    """
    folder = Path(folder)
    id_ = id_ or find_section_name(folder)
    build = find_measured_benchmark(folder).build_section
    section = build(folder, id_) if build is not None else None
    if section is not None:
        integrity = check_folders([folder], allow_changed=allow_changed)
        computed = check_computed_records(folder, allow_changed=allow_changed)
        is_unverified = integrity.signature_detail == UNVERIFIED_ROWS
        return replace(
            section,
            notices=(*integrity.warnings, *computed, *section.notices),
            caveats=(*section.caveats, *((UNVERIFIED_CAVEAT,) if is_unverified else ())),
        )
    measurement = measure_folders([folder], ResamplingPlan(), allow_changed=allow_changed)
    report = build_metrics(measurement)
    return build_metrics_section(measurement, report, list_folder_files([folder]), id_)


def find_section_name(folder: Path) -> str:
    """Returns the name of the benchmark that a run folder is of.

    Raises:
        MissingFileError: no such folder.
        RecordError: it is no run of a known benchmark that has metrics.
    """
    names = sorted(benchmark.name for benchmark in list_benchmarks())
    hint = f"Give the folder of a finished run of {join_list(names)}."
    if not folder.is_dir():
        raise MissingFileError("no such folder", where=str(folder), hint=hint)
    if not any((folder / benchmark.manifest_file).exists() for benchmark in list_benchmarks()):
        require_file(folder / SHARED_MANIFEST, "run manifest")
    try:
        benchmark = find_measured_benchmark(folder)
    except RecordError as error:
        raise RecordError(
            str(error.what), where=str(folder / SHARED_MANIFEST), hint=hint
        ) from error
    if benchmark.build_section is None and benchmark.measure is None:
        raise RecordError(
            f"{benchmark.name} has no metrics to report", where=str(folder), hint=hint
        )
    return benchmark.name


def write_page(
    folder: Path | str, out: Path | None = None, formats: Collection[PageFormat] = PAGE_FORMATS
) -> list[Path]:
    """Writes the page of a finished run, and returns the files written.

    Args:
        folder: folder of the run.
        out: the page; exports have the same stem. By default ``report.html`` in the folder.
        formats: which of them to write.

    Raises:
        MissingFileError, RecordError: as ``build_section``.
        SettingError, WriteError: as ``write_section``.
    """
    folder = Path(folder)
    return write_section(build_section(folder), out or folder / f"{PAGE_STEM}.html", formats)


def build_sections(folders: Sequence[Path], *, allow_changed: bool = False) -> list[Section]:
    """Builds the sections of several run folders, each with ids of its own.

    Raises:
        SettingError: one folder is given twice.
        MissingFileError, RecordError, ChangedRunError: as in ``build_section``.
    """
    require_distinct_folders(folders)
    names: list[str] = []
    sections = []
    for folder in folders:
        names.append(find_section_name(folder))
        again = names.count(names[-1])
        id_ = names[-1] if again == 1 else f"{names[-1]}-{again}"
        sections.append(build_section(folder, id_, allow_changed=allow_changed))
    return sections
