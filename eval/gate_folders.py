"""Checks conditions and regressions on run folders of any benchmark, for ``epoche gate``."""

from __future__ import annotations

from collections.abc import Sequence

from eval.comparison.gate import (
    Check,
    Condition,
    GateRequest,
    check_regressions,
    check_with_limits,
    parse_condition,
)
from eval.metrics.measurement import FAILURE_METRIC, Measurement
from eval.metrics.run_pairs import pair_with_earlier_runs
from eval.run_measurement import measure_folders
from kg.base.console import print_text
from kg.base.errors import EpocheError
from kg.words.plain_text import to_one_line


def check_folders(request: GateRequest) -> list[Check]:
    """Checks run folders of one benchmark.

    Args:
        request: what to check; its runs are run folders.

    Raises:
        EpocheError: a condition or a folder is not valid, or the runs do not belong together.
    """
    earlier = {folder.resolve() for folder in request.baseline}
    for folder in request.runs:
        if folder.resolve() in earlier:
            raise EpocheError(
                "a run cannot be its own baseline", where=str(folder), hint="Give an earlier run."
            )
    measurement = measure_folders(request.runs, request.resampling)
    shares = {name: info.is_share for name, info in measurement.runs.metrics.items()}
    conditions = [parse_condition(text, shares) for text in request.conditions]
    limits = []
    if FAILURE_METRIC in shares:
        limits = [parse_condition(f"{FAILURE_METRIC}<={request.max_failures}", shares)]
    names = measurement.runs.names
    values = {name: measurement.estimates(name) for name in names}
    _print_notes(measurement)
    checks = check_with_limits(conditions, limits, values, names)
    if request.baseline:
        checks += _compare_with_baseline(request, conditions, measurement)
    return checks


def _compare_with_baseline(
    request: GateRequest, conditions: Sequence[Condition], current: Measurement
) -> list[Check]:
    """Compares every system with the same system in the baseline, on the items of both."""
    measurement = measure_folders([*request.runs, *request.baseline], request.resampling)
    pairs = pair_with_earlier_runs(measurement.runs, len(request.runs))
    # The systems of the current runs come first, in the same order as in their own measurement.
    names = dict(zip(measurement.runs.names, current.runs.names, strict=False))
    metrics = measurement.runs.metrics
    named = [condition.metric for condition in conditions]
    compared = [
        name
        for name in dict.fromkeys((*measurement.runs.headline, *named))
        if metrics[name].is_compared
    ]
    for name in set(named).difference(compared):
        print_text(f"note: {name} cannot be compared with the baseline")
    paired = {candidate for candidate, _ in pairs}
    for name in names:
        if name not in paired:
            print_text(f"note: {to_one_line(names[name])} has no baseline")
    if measurement.runs.n_left_out > current.runs.n_left_out:
        print_text(
            f"note: the baseline is compared on the {measurement.runs.n_items:,} "
            f"{measurement.runs.noun}s of both; {measurement.runs.n_left_out:,} are left out"
        )
    return list(
        check_regressions(
            measurement.compare(pairs, compared),
            {name: info.higher_is_better for name, info in metrics.items()},
            names,
            max_drop=request.max_drop,
            only_significant=request.only_significant,
            noun=measurement.runs.noun,
        )
    )


def _print_notes(measurement: Measurement) -> None:
    for note in measurement.runs.notes:
        print_text(f"note: {to_one_line(note)}")
