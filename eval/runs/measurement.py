"""Finds the benchmark of runs and measures them, for commands that serve all benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.harness.benchmark import Benchmark
from eval.harness.benchmarks import find_measured_benchmark, list_benchmarks
from eval.metrics.measurement import Measurement, ResamplingPlan
from eval.runs.integrity import check_folders
from kg.base.errors import RecordError, SettingError
from kg.base.plain_text import join_list


def is_run_folder(path: Path) -> bool:
    """Returns whether a path is the folder of a run, in contrast to results of cards.

    A folder whose manifest is damaged counts as a run folder, so that ``measure_folders`` says what
    is wrong with it.
    """
    return path.is_dir() and any(
        (path / benchmark.manifest_file).is_file() for benchmark in list_benchmarks()
    )


def select_run_folders(paths: Sequence[Path], *, where: str) -> list[Path]:
    """Returns the paths if they are run folders, and an empty list if they are results of cards.

    Args:
        paths: paths that a user gave.
        where: the command, for the message.

    Raises:
        SettingError: there are both.
    """
    folders = [path for path in paths if is_run_folder(path)]
    others = [path for path in paths if path not in folders]
    if folders and others:
        raise SettingError(
            f"{folders[0]} is the folder of a run, and {others[0]} is not",
            where=where,
            hint="Give either results of cards or run folders of one benchmark.",
        )
    return folders


def refuse_card_options(folder: Path, **options: object) -> None:
    """Refuses options that only make sense for results of cards.

    Args:
        folder: a run folder, or record of graded answers, that was given, for the message.
        options: name of a parameter → its value; None if the user did not give it.

    Raises:
        SettingError: one of the options was given.
    """
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise SettingError(
            f"--{given[0].replace('_', '-')} is only for results of cards, and this is another run",
            where=str(folder),
            hint="Leave the option out.",
        )


def measure_folders(
    folders: Sequence[Path], plan: ResamplingPlan, *, allow_changed: bool = False
) -> Measurement:
    """Measures run folders of one benchmark.

    Args:
        folders: the folders.
        plan: how items are resampled.
        allow_changed: accept rows that are not as their run left them, with a warning and a mark
            in the signature, instead of raising.

    Raises:
        ChangedRunError: rows are not as their run left them.
        SettingError: the folders are of several benchmarks, or one is given twice.
        EpocheError: a folder is damaged, or the runs are of different items.
    """
    benchmarks = [_find_measurable(folder) for folder in folders]
    for folder, benchmark in zip(folders, benchmarks, strict=True):
        if benchmark.name != benchmarks[0].name:
            raise SettingError(
                f"the runs are of several benchmarks: {benchmarks[0].name} and {benchmark.name}",
                where=f"{folders[0]} and {folder}",
                hint="Give runs of one benchmark at a time; `epoche report` takes several.",
            )
    measure = benchmarks[0].measure
    assert measure is not None
    measurement = measure(folders, plan)
    # After measuring, which says of damaged or doubled lines what is wrong with them.
    integrity = check_folders(folders, allow_changed=allow_changed)
    runs = measurement.runs
    key, _, state = integrity.signature_detail.partition(":")
    measurement.runs = replace(
        runs,
        details={**runs.details, **({key: state} if key else {})},
        warnings=(*integrity.warnings, *runs.warnings),
    )
    return measurement


def list_folder_files(folders: Sequence[Path]) -> list[Path]:
    """Lists the files of run folders, which no output may overwrite."""
    return [path for folder in folders for path in sorted(folder.iterdir()) if path.is_file()]


def _find_measurable(folder: Path) -> Benchmark[Any, Any, Any]:
    """Returns the benchmark of a folder.

    Raises:
        RecordError: the folder contains no readable manifest of a known benchmark, or the benchmark
            has no metrics.
    """
    benchmark = find_measured_benchmark(folder)
    if benchmark.measure is None:
        names = [other.name for other in list_benchmarks() if other.measure is not None]
        raise RecordError(
            f"the benchmark {benchmark.name} does not say how its runs are measured",
            where=str(folder),
            hint=f"Benchmarks that do: {join_list(names)}.",
        )
    return benchmark
