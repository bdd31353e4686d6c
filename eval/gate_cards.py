"""Checks conditions and regressions on results of cards, for ``epoche gate``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eval.card_check import read_checked_results
from eval.comparison.gate import (
    Check,
    Condition,
    GateRequest,
    check_regressions,
    check_with_limits,
    collect_gated_values,
    parse_condition,
)
from eval.comparison.pairs import compare_pairs
from eval.metrics.abstention import HEADLINE_METRICS, SYSTEM_METRICS, get_metric
from eval.metrics.observations import read_observations
from eval.metrics.record import PolicyName
from eval.metrics.report import measure
from eval.metrics.samples import Plan, Samples
from kg.base.console import print_text
from kg.base.errors import EpocheError, SystemNotFoundError


def check_card_results(
    request: GateRequest, cards: Sequence[Path], policy: PolicyName
) -> list[Check]:
    """Checks result files of cards.

    Args:
        request: what to check; its runs are result files.
        cards: card files that the results must belong to.
        policy: what counts as an answer and as an abstention.

    Raises:
        EpocheError: a condition or a file is not valid, or the files do not belong together.
    """
    conditions = [parse_condition(text) for text in request.conditions]
    plan = Plan(
        policies=(policy,),
        resamples=request.resampling.resamples,
        seed=request.resampling.seed,
        confidence=request.resampling.confidence,
    )
    checks = _check_conditions(request, conditions, cards, plan)
    if request.baseline:
        checks += _compare_with_baseline(request, conditions, plan)
    return checks


def _check_conditions(
    request: GateRequest, conditions: Sequence[Condition], cards: Sequence[Path], plan: Plan
) -> list[Check]:
    """Checks every condition, over all cards of the runs."""
    observations = read_checked_results(request.runs, cards, distinguish_equal_names=True)
    report = measure(observations, plan).policies[plan.policies[0]]
    # Controls are checked only if they were run; the report has computed values of all of them.
    run_controls = {
        name: report.controls[name] for name in report.controls if name in observations.preds
    }
    systems = report.systems | run_controls
    values = {name: collect_gated_values(system) for name, system in systems.items()}
    limits = [
        parse_condition(f"{rate}<={request.max_failures}")
        for rate in ("error_rate", "invalid_rate")
    ]
    return check_with_limits(conditions, limits, values, observations.systems_under_test)


def _compare_with_baseline(
    request: GateRequest, conditions: Sequence[Condition], plan: Plan
) -> list[Check]:
    """Compares every system with the same system in the baseline, on the cards both answered."""
    shared_files = sorted(set(request.runs) & set(request.baseline))
    if shared_files:
        raise EpocheError(
            "a run cannot be its own baseline",
            where=str(shared_files[0]),
            hint="Give an earlier run.",
        )
    suffix = " (baseline)"
    observations = read_observations(
        [*request.runs, *request.baseline],
        common=True,
        suffixes=dict.fromkeys(request.baseline, suffix),
    )
    current_names = [name for name in observations.systems_under_test if not name.endswith(suffix)]
    baseline_names = [name for name in observations.systems_under_test if name.endswith(suffix)]
    pairs = [(name, name + suffix) for name in current_names if name + suffix in baseline_names]
    if not pairs and len(current_names) == len(baseline_names) == 1:
        pairs = [(current_names[0], baseline_names[0])]
    if not pairs:
        baseline_list = ", ".join(name.removesuffix(suffix) for name in baseline_names)
        raise SystemNotFoundError(
            "no system has results both now and in the baseline",
            where=", ".join(map(str, request.baseline)),
            hint=f"Now: {', '.join(current_names)}. Baseline: {baseline_list}.",
        )
    condition_metrics = [
        condition.metric for condition in conditions if condition.metric in SYSTEM_METRICS
    ]
    metric_names = tuple(dict.fromkeys((*HEADLINE_METRICS, "accuracy", *condition_metrics)))
    samples = Samples(observations, plan)
    comparison = compare_pairs(
        samples, pairs, metric_names=metric_names, signature=samples.signature
    )
    for name in current_names:
        if name not in dict(pairs):
            print_text(f"note: {name} has no baseline")
    if observations.n_left_out:
        print_text(
            f"note: the baseline is compared on the {len(observations.ids):,} cards that both "
            f"answered; {observations.n_left_out:,} are left out"
        )
    policy = plan.policies[0]
    return list(
        check_regressions(
            comparison,
            {name: get_metric(name, policy).higher_is_better for name in metric_names},
            {name: name for name in current_names},
            max_drop=request.max_drop,
            only_significant=request.only_significant,
        )
    )
