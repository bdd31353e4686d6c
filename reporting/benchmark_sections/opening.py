"""From the folder of a finished run to its section, by the kind its manifest names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from eval.benchmarks import find_benchmark
from kg.base.errors import MissingFileError, RecordError, SettingError
from kg.base.files import require_file
from kg.words.plain_text import join_list
from reporting.benchmark_sections.section import Section

MANIFEST = "manifest.json"


class _Kind(msgspec.Struct):
    """What every benchmark's manifest says of itself, whatever else it holds."""

    kind: str


def _skn(folder: Path, id_: str) -> Section:
    from reporting.skn_section.reading import read_run
    from reporting.skn_section.section_of_run import section_of_run

    return section_of_run(read_run(folder), id_)


def _extraction(folder: Path, id_: str) -> Section:
    from reporting.extraction_section.reading import read_run
    from reporting.extraction_section.section_of_run import section_of_run

    return section_of_run(read_run(folder), id_)


def _synthlink(folder: Path, id_: str) -> Section:
    from reporting.synthlink_section.reading import read_folder
    from reporting.synthlink_section.section_of_folder import section_of_folder

    return section_of_folder(read_folder(folder), id_)


def _measured(folder: Path, id_: str) -> Section:
    """The tables of metrics, for a benchmark that has no section of its own."""
    from eval.metrics.measurement import ResamplingPlan
    from eval.metrics.run_report import build_metrics
    from eval.run_measurement import list_folder_files, measure_folders
    from reporting.run_section import build_metrics_section

    measurement = measure_folders([folder], ResamplingPlan())
    report = build_metrics(measurement)
    return build_metrics_section(measurement, report, list_folder_files([folder]), id_)


KINDS: dict[str, Callable[[Path, str], Section]] = {
    "skn": _skn,
    "extraction": _extraction,
    "synthlink": _synthlink,
}
"""Kind → what makes the section of such a folder, with the id it is to bear. Another benchmark
has its section in every report and a page of its own once it stands here."""


def section_of(folder: Path | str, id_: str = "") -> Section:
    """The section of a finished run.

    Args:
        folder: holds ``manifest.json``, which names the ``kind`` of run.
        id_: what all ids within begin with; by default the kind.

    Raises:
        MissingFileError: the folder or a file that the section needs is not there.
        RecordError: the folder is not of a kind we know, or one of its files is damaged.
    """
    kind = kind_of(folder)
    return KINDS.get(kind, _measured)(Path(folder), id_ or kind)


def kind_of(folder: Path | str) -> str:
    """The kind of run a folder holds.

    Raises:
        MissingFileError, RecordError: as in ``section_of``.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise MissingFileError(
            "no such folder",
            where=str(folder),
            hint=f"Give the folder of a finished run of {join_list(sorted(KINDS))}.",
        )
    path = require_file(folder / MANIFEST, "run manifest")
    hint = f"Give the folder of a finished run of {join_list(sorted(KINDS))}."
    try:
        kind = msgspec.json.decode(path.read_bytes(), type=_Kind).kind
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"names no kind of run: {error}", where=str(path), hint=hint) from error
    if kind not in KINDS:
        with contextlib.suppress(RecordError):
            benchmark = find_benchmark(folder)
            if benchmark.measure is not None:
                return benchmark.name
        raise RecordError(f"no section for a run of kind {kind!r}", where=str(path), hint=hint)
    return kind


def sections_of(folders: Sequence[Path]) -> list[Section]:
    """The sections of several folders, each with ids of its own.

    Raises:
        SettingError: one folder is given twice.
        MissingFileError, RecordError: as in ``section_of``.
    """
    seen: dict[Path, None] = {}
    kinds: list[str] = []
    sections = []
    for folder in folders:
        if folder.resolve() in seen:
            raise SettingError(
                "the folder is given twice", where=str(folder), hint="Give each --section once."
            )
        seen[folder.resolve()] = None
        kinds.append(kind_of(folder))
        again = kinds.count(kinds[-1])
        sections.append(section_of(folder, kinds[-1] if again == 1 else f"{kinds[-1]}-{again}"))
    return sections
