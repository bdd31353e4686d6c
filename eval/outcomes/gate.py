"""Checks conditions on the record of ``epoche outcomes``, for ``epoche gate``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from eval.metrics.comparison import Comparison, describe_coarse_tests
from eval.metrics.confidence_gate import require_confidences
from eval.metrics.gate import (
    Check,
    Condition,
    GateRequest,
    check_coverage,
    check_regressions,
    check_with_limits,
    parse_condition,
)
from eval.metrics.metric_value import ConfidenceCounts
from eval.metrics.record_digest import is_about_metrics
from eval.outcomes.baseline import (
    BaselineComparison,
    RecordedSystem,
    compare_with_baseline,
    pair_systems,
)
from eval.outcomes.record import (
    OutcomesReport,
    SystemOutcomes,
    is_outcomes_record,
    read_outcomes,
)
from eval.stats.estimates import Estimate, Interval, add_interval
from kg.base.console import print_text
from kg.base.errors import DuplicateIdError, SettingError
from kg.base.plain_text import format_count, to_one_line
from kg.base.proportions import wilson_interval

UNUSABLE = "unusable"
"""Share of unusable answers, which ``--max-failures`` limits."""
_NO_SHARES = ("skill@", "utility@")
_MAJORITY = "majority-"
"""Begins the names of measures by majority vote."""


def check_outcomes(request: GateRequest) -> list[Check]:
    """Checks conditions on every system of some records, and compares them with a baseline if any.

    Raises:
        SettingError: a condition is not valid, or a record is its own baseline.
        RecordError: a file is no record of ``epoche outcomes``, or cannot be compared.
        ChangedRunError: a record was edited after it was computed.
        DuplicateIdError: two records have a system of the same name.
        SystemNotFoundError: a condition names a system that is not there, or no system has a
            baseline.
    """
    earlier = {path.resolve() for path in request.baseline}
    for path in request.runs:
        if path.resolve() in earlier:
            raise SettingError(
                "a record cannot be its own baseline", where=str(path), hint="Give an earlier one."
            )
    systems = _read_systems(request.runs, allow_changed=request.allow_changed)
    values = {
        system.name: collect_gated_values(
            system.report.systems[system.name], system.report, request.max_failures
        )
        for system in systems
    }
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
    checks = check_with_limits(conditions, limits, values, list(values))
    if request.baseline:
        checks += _compare_systems(request, conditions, systems)
    return checks


def _read_systems(
    paths: Sequence[Path], *, allow_changed: bool, of: str = ""
) -> list[RecordedSystem]:
    """Reads the systems of some records, which must have different names, and prints all notes.

    Args:
        paths: the records.
        allow_changed: as in ``read_outcomes``.
        of: what stands before each note.
    """
    systems: dict[str, RecordedSystem] = {}
    for path in paths:
        report = read_outcomes(path, allow_changed=allow_changed)
        for note in report.notes:
            kind = "WARNING" if is_about_metrics(note) else "note"
            print_text(f"{kind}: {of}{to_one_line(note)}")
        for name in report.systems:
            if name in systems:
                raise DuplicateIdError(
                    f"the system {name!r} is in two records",
                    where=str(path),
                    hint="Name systems apart: epoche outcomes NAME=FILE.",
                )
            systems[name] = RecordedSystem(name, path, report)
    return list(systems.values())


def _compare_systems(
    request: GateRequest, conditions: Sequence[Condition], systems: Sequence[RecordedSystem]
) -> list[Check]:
    """Compares every system with the same system in the baseline, on the questions of both."""
    where = ", ".join(map(str, request.baseline))
    earlier = _read_systems(
        request.baseline, allow_changed=request.allow_changed, of="of the baseline: "
    )
    pairs = pair_systems(systems, earlier, where=where)
    named = list(dict.fromkeys(condition.metric for condition in conditions))
    # Holm's correction is for all tests of the gate: two measures, and those that are named.
    n_tests = len(pairs) * (2 + len(named))
    plan = request.resampling.adapt_to(n_tests)
    comparisons: list[Comparison] = []
    coverage: list[Check] = []
    directions: dict[str, bool | None] = {}
    for candidate, baseline in pairs:
        found = compare_with_baseline(candidate, baseline, named, plan)
        comparisons += (
            msgspec.structs.replace(pair, candidate=candidate.name, baseline=baseline.name)
            for pair in found.comparisons
        )
        directions |= found.higher_is_better
        coverage.append(_check_coverage(candidate.name, found, request.max_failures))
        for note in found.notes:
            print_text(f"note: {to_one_line(note)}")
    if coarse := describe_coarse_tests(comparisons, plan.resamples):
        print_text(f"note: {coarse}")
    paired = {candidate.name for candidate, _ in pairs}
    for system in systems:
        if system.name not in paired:
            print_text(f"note: {to_one_line(system.name)} has no baseline")
    for metric in named:
        if metric not in directions:
            print_text(f"note: {metric} cannot be compared with the baseline")
    regressions = list(
        check_regressions(
            comparisons,
            directions,
            {name: name for name in paired},
            max_drop=request.max_drop,
            only_significant=request.only_significant,
            noun="question",
        )
    )
    return regressions + coverage


def _check_coverage(system: str, found: BaselineComparison, max_failures: float) -> Check:
    """Checks that a system was not spared questions that the baseline answered.

    Like unusable answers, they are limited by ``--max-failures``.
    """
    evidence = (
        f"{found.n_left_out:,} of the {format_count(found.n_answered, 'question')} with a usable "
        "answer in the baseline are not in the record"
    )
    return check_coverage(system, found.n_left_out, found.n_answered, max_failures, evidence)


def collect_gated_values(
    system: SystemOutcomes, report: OutcomesReport, max_failures: float
) -> dict[str, Estimate]:
    """Returns the values of a system by name; by majority they are ``majority-NAME``.

    Measures of confidences have no value if more than ``max_failures`` of the answers given have no
    confidence.
    """
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
        **require_confidences(
            system.confidences,
            system.confidences,
            ConfidenceCounts(
                given=system.n_confidences,
                missing=system.n_given - system.n_confidences,
                unreadable=system.counts[UNUSABLE],
            ),
            max_failures,
        ),
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
