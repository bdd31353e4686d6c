"""Checks conditions and regressions on runs of any benchmark, for ``epoche gate``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.commands.measurement import measure_paths
from eval.metrics.comparison import describe_coarse_tests
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
from eval.metrics.measurement import FAILURE_METRIC, Measurement, ResamplingPlan
from eval.metrics.runs.pairs import pair_with_earlier_runs
from eval.stats.estimates import Estimate
from kg.base.console import print_text
from kg.base.errors import ChangedRunError, EpocheError
from kg.base.plain_text import to_one_line
from kg.base.provenance import manifest_path

_LIMITED_METRICS = (FAILURE_METRIC, "invalid_rate")
"""The metrics whose sum ``max_failures`` limits, as far as a benchmark has them."""


def check_runs(request: GateRequest) -> tuple[list[Check], str]:
    """Checks conditions on every system, and compares every system with the baseline if any.

    Args:
        request: what to check; its runs are result files of cards, or run folders of one benchmark.

    Returns:
        The checks, and the signature of the numbers that decided them.

    Raises:
        EpocheError: a condition or a run is not valid, or the runs do not belong together.
    """
    earlier = {path.resolve() for path in request.baseline}
    for path in request.runs:
        if path.resolve() in earlier:
            raise EpocheError(
                "a run cannot be its own baseline", where=str(path), hint="Give an earlier run."
            )
    _refuse_unlisted_cards(request)
    measurement = measure_paths(
        request.runs,
        request.resampling,
        policy=request.policy,
        cards=request.cards,
        without_mined=request.without_mined,
        allow_changed=request.allow_changed,
        common=False,
    )
    shares = {name: info.is_share for name, info in measurement.runs.metrics.items()}
    conditions = [parse_condition(text, shares) for text in request.conditions]
    names = measurement.runs.names
    values = _collect_values(measurement, request.max_failures)
    named = {condition.metric for condition in conditions}
    limited = [name for name in _LIMITED_METRICS if name in shares and name not in named]
    limits = _limit_sum(limited, request.max_failures, values)
    for warning in measurement.runs.warnings:
        print_text(f"WARNING: {to_one_line(warning)}")
    for note in measurement.collect_notes():
        print_text(f"note: {to_one_line(note)}")
    checks = check_with_limits(conditions, limits, values, names)
    if request.baseline:
        checks += _compare_with_baseline(request, conditions, measurement)
    return checks, measurement.signature


def _refuse_unlisted_cards(request: GateRequest) -> None:
    """Refuses rows of cards of which nothing says which cards they should answer.

    From such a file all wrong answers may have been removed, and every condition would hold.
    """
    if request.cards or request.allow_changed:
        return
    for path in (*request.runs, *request.baseline):
        if path.is_file() and not manifest_path(path).is_file():
            raise ChangedRunError(
                f"{path.name} has no manifest, so that nothing shows whether rows were removed",
                where=str(path),
                hint="Name its cards with --cards, and those without a row count as ERROR; "
                "--allow-changed accepts the rows as they are.",
            )


def _collect_values(
    measurement: Measurement, max_failures: float
) -> dict[str, dict[str, Estimate]]:
    """Returns the values by system and metric; metrics of too few confidences have none."""
    runs, counts = measurement.runs, measurement.count_confidences()
    values = {name: {**measurement.estimates(name)} for name in (*runs.names, *runs.controls)}
    measures = [name for name, info in runs.metrics.items() if info.is_of_confidences]
    for name, count in counts.items():
        values[name] = require_confidences(values[name], measures, count, max_failures)
    return values


def _limit_sum(
    metrics: Sequence[str], limit: float, values: Mapping[str, dict[str, Estimate]]
) -> list[Condition]:
    """Returns a limit on the sum of some rates, and adds the sum to the values of each system.

    Several rates are shares of the same rows.
    """
    if not metrics:
        return []
    name = " + ".join(metrics)
    for estimates in values.values() if len(metrics) > 1 else ():
        n = estimates[metrics[0]].denominator
        total = sum([estimates[metric].numerator or 0 for metric in metrics])
        estimates[name] = Estimate(value=total / n if n else None, numerator=total, denominator=n)
    return [Condition(name, "", name, "", "<=", limit)]


def _compare_with_baseline(
    request: GateRequest, conditions: Sequence[Condition], current: Measurement
) -> list[Check]:
    """Compares every system with the same system in the baseline, on the items of both."""

    def measure(plan: ResamplingPlan) -> Measurement:
        return measure_paths(
            request.runs,
            plan,
            baseline=request.baseline,
            policy=request.policy,
            cards=request.cards,
            without_mined=request.without_mined,
            allow_changed=request.allow_changed,
        )

    measurement = measure(request.resampling)
    runs = measurement.runs
    pairs = pair_with_earlier_runs(
        runs, len(request.runs), where=", ".join(map(str, request.baseline))
    )
    # The systems of the current runs come first, in the same order as in their own measurement.
    names = dict(zip(runs.names, current.runs.names, strict=False))
    named = [condition.metric for condition in conditions]
    compared = [
        name for name in dict.fromkeys((*runs.headline, *named)) if runs.metrics[name].is_compared
    ]
    # Holm's correction is for all tests of the gate.
    plan = request.resampling.adapt_to(len(pairs) * len(compared))
    if plan != request.resampling:
        measurement = measure(plan)
    comparisons = measurement.compare(pairs, compared)
    if note := describe_coarse_tests(comparisons, plan.resamples):
        print_text(f"note: {note}")
    for name in dict.fromkeys(named):
        if name not in compared:
            print_text(f"note: {name} cannot be compared with the baseline")
    paired = {candidate for candidate, _ in pairs}
    for name in names:
        if name not in paired:
            print_text(f"note: {to_one_line(names[name])} has no baseline")
    for sign, texts, known in (
        ("WARNING", runs.warnings, current.runs.warnings),
        ("note", runs.notes, current.runs.notes),
    ):
        for text in texts:
            if text not in known:
                print_text(f"{sign}: with the baseline: {to_one_line(text)}")
    regressions = check_regressions(
        comparisons,
        {name: info.higher_is_better for name, info in runs.metrics.items()},
        names,
        max_drop=request.max_drop,
        only_significant=request.only_significant,
        noun=runs.noun,
    )
    coverage = [
        check_coverage(
            names[candidate],
            *counts,
            request.max_failures,
            f"{counts[0]:,} of the {counts[1]:,} {runs.noun}s that the baseline answered "
            f"{'has' if counts[0] == 1 else 'have'} no answer",
        )
        for candidate, baseline in pairs
        if (counts := measurement.count_uncovered(candidate, baseline))[0]
    ]
    return [*regressions, *coverage]
