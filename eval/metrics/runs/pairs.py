"""Chooses which systems of some runs are compared with each other."""

from __future__ import annotations

import itertools

from eval.metrics.measurement import MeasuredRuns, SystemPair
from kg.base.errors import CardSetMismatchError, SystemNotFoundError


def choose_pairs(runs: MeasuredRuns, baseline: str | None = None) -> list[SystemPair]:
    """Chooses the pairs of systems to compare.

    With a baseline, every other system is compared with it. Otherwise, if several runs have systems
    of the same name, each of these is compared with itself in the later runs. Otherwise all systems
    are compared with each other.

    Args:
        runs: what is measured.
        baseline: name of a system, among all runs or in its run.

    Returns:
        Pairs of candidate and baseline, the candidate first in the order of the systems.

    Raises:
        SystemNotFoundError: no system or several systems have the baseline's name.
        CardSetMismatchError: there is only one system.
    """
    if len(runs.systems) < 2:
        raise CardSetMismatchError(
            "nothing to compare: only one system",
            where=", ".join(runs.names),
            hint="Give runs with at least two systems.",
        )
    if baseline is not None:
        name = _find_system(runs, baseline)
        return [(other, name) for other in runs.names if other != name]
    same_system = [
        (first.name, second.name)
        for first, second in itertools.combinations(runs.systems, 2)
        if first.own_name == second.own_name
    ]
    return same_system or list(itertools.combinations(runs.names, 2))


def pair_with_earlier_runs(runs: MeasuredRuns, n_current: int, *, where: str) -> list[SystemPair]:
    """Pairs each system of the current runs with the same system of the baseline runs.

    Args:
        runs: what is measured: the current runs, then the baseline runs.
        n_current: number of current runs.
        where: the baseline runs, for the message.

    Returns:
        Pairs of candidate and baseline. A single system is paired with a single system of the
        baseline whatever its name.

    Raises:
        SystemNotFoundError: no system is in both.
    """
    current = [system for system in runs.systems if system.run < n_current]
    earlier = [system for system in runs.systems if system.run >= n_current]
    pairs = [
        (candidate.name, baseline.name)
        for candidate in current
        for baseline in earlier
        if candidate.own_name == baseline.own_name
    ]
    if not pairs and len(current) == len(earlier) == 1:
        pairs = [(current[0].name, earlier[0].name)]
    if not pairs:
        raise SystemNotFoundError(
            "no system has results both now and in the baseline",
            where=where,
            hint=f"Now: {', '.join(system.own_name for system in current)}. "
            f"Baseline: {', '.join(system.own_name for system in earlier)}.",
        )
    return pairs


def _find_system(runs: MeasuredRuns, name: str) -> str:
    if name in runs.names:
        return name
    found = [system.name for system in runs.systems if system.own_name == name]
    if len(found) == 1:
        return found[0]
    raise SystemNotFoundError(
        f"several systems are called {name!r}" if found else f"no system {name!r} in these runs",
        where="--baseline",
        hint=f"Use one of {', '.join(found or runs.names)}.",
    )
