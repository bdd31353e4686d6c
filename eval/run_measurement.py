"""Finds the benchmark of runs and measures them, for commands that serve all benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from eval.benchmarks import find_benchmark, list_benchmarks, read_kind
from eval.metrics.measurement import Measurement, ResamplingPlan
from eval.metrics.record import PolicyName
from kg.base.errors import RecordError, SettingError
from kg.base.plain_text import join_list

MeasureFunction: TypeAlias = Callable[[Sequence[Path], ResamplingPlan], Measurement]

_MANIFEST = "manifest.json"
SCORES_KIND = "synthlink"
"""Kind of the manifest of scores that ``epoche synthlink score`` writes; they may be of answers
without a run, so no registered benchmark has it."""


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
        folder: a run folder that was given, for the message.
        options: name of a parameter → its value; None if the user did not give it.

    Raises:
        SettingError: one of the options was given.
    """
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise SettingError(
            f"--{given[0].replace('_', '-')} is only for results of cards, and this is the folder "
            "of a run",
            where=str(folder),
            hint="Leave the option out.",
        )


def measure_paths(
    paths: Sequence[Path],
    plan: ResamplingPlan,
    *,
    baseline: Sequence[Path] = (),
    policy: PolicyName = "licensed",
    cards: Sequence[Path] = (),
    common: bool = True,
) -> Measurement:
    """Measures run folders of one benchmark, or result files of cards.

    Args:
        paths: the folders or files.
        plan: how cards or items are resampled.
        baseline: earlier runs of the same kind, which are measured together with these.
        policy: only for cards, as are the following: as in ``measure_cards``.
        cards: as in ``measure_cards``.
        common: as in ``measure_cards``. Folders are always measured on the items of all runs.

    Raises:
        SettingError, EpocheError: as in ``measure_folders`` and ``measure_cards``.
    """
    if any(path.is_dir() for path in paths):
        return measure_folders([*paths, *baseline], plan)
    from eval.abstention.measurement import measure_cards

    return measure_cards(paths, plan, baseline=baseline, policy=policy, cards=cards, common=common)


def measure_folders(folders: Sequence[Path], plan: ResamplingPlan) -> Measurement:
    """Measures run folders of one benchmark.

    Raises:
        SettingError: the folders are of several benchmarks, or one is given twice.
        EpocheError: a folder is damaged, or the runs are of different items.
    """
    found = [_find_measure_function(folder) for folder in folders]
    for folder, (name, _) in zip(folders, found, strict=True):
        if name != found[0][0]:
            raise SettingError(
                f"the runs are of several benchmarks: {found[0][0]} and {name}",
                where=f"{folders[0]} and {folder}",
                hint="Give runs of one benchmark at a time; `epoche report` takes several.",
            )
    return found[0][1](folders, plan)


def list_folder_files(folders: Sequence[Path]) -> list[Path]:
    """Lists the files of run folders, which no output may overwrite."""
    return [path for folder in folders for path in sorted(folder.iterdir()) if path.is_file()]


def _find_measure_function(folder: Path) -> tuple[str, MeasureFunction]:
    """Returns the name of a folder's benchmark and the function that measures its runs.

    Raises:
        RecordError: the folder contains no readable manifest of a known benchmark, or the benchmark
            has no metrics.
    """
    if read_kind(folder / _MANIFEST) == SCORES_KIND:
        from eval.synthlink.measurement import measure_runs

        return SCORES_KIND, measure_runs
    benchmark = find_benchmark(folder)
    if benchmark.measure is None:
        names = [other.name for other in list_benchmarks() if other.measure is not None]
        raise RecordError(
            f"the benchmark {benchmark.name} does not say how its runs are measured",
            where=str(folder),
            hint=f"Benchmarks that do: {join_list(names)}.",
        )
    return benchmark.name, benchmark.measure
