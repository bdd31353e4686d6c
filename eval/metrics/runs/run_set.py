"""Brings several run folders together: names of their systems, and the items they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from eval.metrics.measurement import MeasuredSystem
from kg.base.errors import CardSetMismatchError, SettingError
from kg.base.files import sha256_bytes, to_json_bytes
from kg.base.plain_text import join_list

Digest = TypeVar("Digest")


def require_distinct_folders(folders: Sequence[Path]) -> None:
    """Refuses a run that is given twice.

    Raises:
        SettingError: two paths are the same folder.
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise SettingError(
            "a run is given twice",
            where=join_list([str(folder) for folder in folders]),
            hint="Give each folder once.",
        )


def name_runs(folders: Sequence[Path]) -> list[str]:
    """Names each run after its folder, or by its path if several folders have the same name."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]


def name_systems(
    folders: Sequence[Path], systems: Sequence[Sequence[str]]
) -> tuple[dict[str, str], ...]:
    """Gives each system of several runs a name of its own.

    Args:
        folders: the folders of the runs.
        systems: the names of each run's systems.

    Returns:
        For each run, name in the run → name in the measurement. A name that occurs in several runs
        is followed by ``@`` and the name of the run, as ``epoche compare`` does for cards.
    """
    all_names = [name for names in systems for name in names]
    return tuple(
        {name: name if all_names.count(name) == 1 else f"{name}@{run}" for name in names}
        for run, names in zip(name_runs(folders), systems, strict=True)
    )


def list_systems(names: Sequence[Mapping[str, str]]) -> tuple[MeasuredSystem, ...]:
    """Lists the systems of several runs, given what ``name_systems`` returned."""
    return tuple(
        MeasuredSystem(name, own_name, number)
        for number, run_names in enumerate(names)
        for own_name, name in run_names.items()
    )


def select_shared_items(
    folders: Sequence[Path], items: Sequence[Mapping[str, Digest]], *, noun: str
) -> tuple[dict[str, Digest], int]:
    """Selects the items that all runs have.

    Args:
        folders: the folders of the runs, for messages.
        items: for each run, id → content of the item or its hash.
        noun: what messages call an item.

    Returns:
        The items that are the same in all runs, in the order of the first run, and the number of
        other items.

    Raises:
        CardSetMismatchError: no item is the same in all runs.
    """
    shared = {
        name: digest
        for name, digest in items[0].items()
        if all(other.get(name) == digest for other in items)
    }
    if not shared:
        raise CardSetMismatchError(
            f"the runs have no {noun} in common",
            where=join_list([str(folder) for folder in folders]),
            hint="Run the systems on the same data set, with the same sample size and seed.",
        )
    return shared, len({name for other in items for name in other}) - len(shared)


def hash_items(items: Mapping[str, object]) -> str:
    """Returns the first 12 hexadecimal digits of a hash over items, independent of their order."""
    return sha256_bytes(to_json_bytes(sorted(items.items())))[:12]


def describe_left_out(n_shared: int, n_left_out: int, *, noun: str) -> tuple[str, ...]:
    """Returns a note on items that are left out; none if all runs have the same items."""
    if not n_left_out:
        return ()
    return (
        f"Only the {n_shared:,} {noun}s that all runs asked are measured; {n_left_out:,} are left "
        "out. Numbers differ from those of the runs' own reports.",
    )


def describe_missing_rows(run: str, n_missing: int, status: str) -> tuple[str, ...]:
    """Returns a note on rows that a run should have and has not; none if it has all of them.

    Args:
        run: name of the run.
        n_missing: number of missing rows.
        status: status of the run.
    """
    if not n_missing:
        return ()
    rows = "1 row is missing" if n_missing == 1 else f"{n_missing:,} rows are missing"
    counted = "counts as a failed call" if n_missing == 1 else "count as failed calls"
    return (f"{rows} from {run} and {counted}: the run is {status}.",)
