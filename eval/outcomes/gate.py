"""Checks conditions on the record of ``epoche outcomes``, for ``epoche gate``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eval.metrics.gate import Check, GateRequest, check_with_limits, parse_condition
from eval.outcomes.record import (
    OutcomesReport,
    SystemOutcomes,
    is_outcomes_record,
    read_outcomes,
)
from eval.stats.estimates import Estimate, Interval, add_interval
from kg.base.errors import DuplicateIdError, SettingError
from kg.base.proportions import wilson_interval

UNUSABLE = "unusable"
"""Share of unusable answers, which ``--max-failures`` limits."""
_NO_SHARES = ("skill@", "utility@")
_MAJORITY = "majority-"
"""Begins the names of measures by majority vote."""


def check_outcomes(request: GateRequest) -> list[Check]:
    """Checks conditions on every system of some records.

    Raises:
        SettingError: a condition is not valid, or a baseline is given.
        RecordError: a file is no record of ``epoche outcomes``.
        DuplicateIdError: two records have a system of the same name.
        SystemNotFoundError: a condition names a system that is not there.
    """
    if request.baseline:
        raise SettingError(
            "measures of graded answers have no baseline",
            where="--baseline",
            hint="Compare them: epoche outcomes old=FILE new=FILE.",
        )
    values: dict[str, dict[str, Estimate]] = {}
    for path in request.runs:
        report = read_outcomes(path)
        for name, system in report.systems.items():
            if name in values:
                raise DuplicateIdError(
                    f"the system {name!r} is in two records",
                    where=str(path),
                    hint="Name systems apart: epoche outcomes NAME=FILE.",
                )
            values[name] = collect_gated_values(system, report)
    shares = {
        metric: not metric.removeprefix(_MAJORITY).startswith(_NO_SHARES)
        for estimates in values.values()
        for metric in estimates
    }
    conditions = [parse_condition(text, shares) for text in request.conditions]
    limits = [parse_condition(f"{UNUSABLE}<={request.max_failures}", shares)]
    for estimates in values.values():
        for metric in shares:
            estimates.setdefault(metric, Estimate(value=None, why="this system has no such value"))
    return check_with_limits(conditions, limits, values, list(values))


def collect_gated_values(system: SystemOutcomes, report: OutcomesReport) -> dict[str, Estimate]:
    """Returns the values of a system by name; by majority they are ``majority-NAME``."""
    n = sum(system.counts.values())
    share = system.counts[UNUSABLE] / n
    interval = None
    if system.repeats == 1 and report.n_clusters == report.n_questions:
        interval = Interval(
            *wilson_interval(system.counts[UNUSABLE], n, report.confidence), "wilson"
        )
    unusable = Estimate(
        value=None,
        n=n,
        numerator=system.counts[UNUSABLE],
        denominator=n,
        higher_is_better=False,
    )
    return {
        **system.measures,
        **system.confidences,
        **system.official,
        UNUSABLE: add_interval(unusable, share, interval),
        **{f"{_MAJORITY}{name}": estimate for name, estimate in system.majority.items()},
    }


def find_records(paths: Sequence[Path]) -> list[Path]:
    """Returns the paths that are records of ``epoche outcomes``.

    Raises:
        SettingError: others are among them.
    """
    records = [path for path in paths if is_outcomes_record(path)]
    if records and len(records) < len(paths):
        other = next(path for path in paths if path not in records)
        raise SettingError(
            "graded answers cannot be checked together with other runs",
            where=str(other),
            hint="Call epoche gate once for each.",
        )
    return records
