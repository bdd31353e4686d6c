"""Checks runs against conditions and a baseline: ``epoche gate``, or this file as a script."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eval.metrics_abstention import PolicyChoice
from kg.base.console import print_text, run_script
from kg.base.errors import EpocheError, GateFailedError
from kg.base.options import CheckedCards, Confidence, Resamples, ResampleSeed, SkipOtherCards
from kg.words.plain_text import clean_text, to_one_line

if TYPE_CHECKING:
    from eval.comparison.gate import Check, Condition
    from eval.metrics.samples import Plan

MAX_FAILURE_SHARE = 0.05
"""Default of ``--max-failures``."""

_METRIC_HELP = """Condition, repeatable: [SYSTEM:]METRIC[.END]OP NUMBER with OP one of <= >= < >.
'FAR-NE<=0.05' applies to all systems except controls, 'rag:LA>=0.9' to one ('raw' stands for all
models of raw, * and ? for any letters). END is low or high, the ends of the interval, or worst or
best, the bounds over unreadable replies: 'FAR-NE.high<=0.08'. A metric without a value fails."""


def main(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUN]...", help="Result files (JSONL) or run folders."),
    ] = None,
    metric: Annotated[list[str] | None, typer.Option(help=_METRIC_HELP)] = None,
    results: Annotated[
        list[Path] | None,
        typer.Option(help="The same as RUN; repeatable. Without either: the folder results."),
    ] = None,
    baseline: Annotated[
        list[Path] | None,
        typer.Option(
            help="Earlier run that must not be better on the cards that both answered; repeatable."
        ),
    ] = None,
    max_drop: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Fail a metric that is worse than the baseline's by more than this. Without this "
            "option: fail a metric that is significantly worse.",
        ),
    ] = None,
    only_significant: Annotated[
        bool, typer.Option(help="With --max-drop: fail only drops that are also significant.")
    ] = False,
    max_failures: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Fail a system with more ERROR or INVALID rows than this share of its cards, "
            "unless a condition on error_rate or invalid_rate says otherwise.",
        ),
    ] = MAX_FAILURE_SHARE,
    junit: Annotated[
        Path | None, typer.Option(help="Write the outcome of the checks to this file (JUnit XML).")
    ] = None,
    cards: CheckedCards = None,
    skip_other_cards: SkipOtherCards = False,
    policy: Annotated[
        PolicyChoice, typer.Option(help="What counts as an answer and as an abstention.")
    ] = PolicyChoice.licensed,
    resamples: Resamples = 2000,
    seed: ResampleSeed = 12345,
    confidence: Confidence = 0.95,
) -> None:
    """Exits with 0 if all conditions are met, 100 if one is not, 1 if they cannot be checked.

    With --baseline, AP, CVRR, FAR-NE, LA, accuracy and the metrics named by conditions must not be
    worse than the baseline's on the same cards, by paired tests with Holm's correction over all.
    """
    from eval.card_check import filter_results_by_cards
    from eval.comparison.gate import parse_condition
    from eval.comparison.junit import render_junit
    from eval.metrics.abstention import POLICIES
    from eval.metrics.samples import Plan
    from eval.run_files import find_result_files
    from kg.base.files import check_output, write_text_atomic

    try:
        plan = Plan(
            policies=tuple(name for name in POLICIES if policy.value in (name, "both")),
            resamples=resamples,
            seed=seed,
            confidence=confidence,
        )
        conditions = [parse_condition(text) for text in metric or ()]
        _check_options(conditions, baseline, max_drop, only_significant, plan)
        files = find_result_files([*(runs or ()), *(results or ())] or [Path("results")])
        if skip_other_cards and cards:
            files = filter_results_by_cards(files, cards)
        baseline_files = find_result_files(baseline or ())
        if junit is not None:
            check_output(junit, [*files, *baseline_files, *(cards or ())])
        checks = [
            *_check_all_conditions(conditions, files, cards or (), plan, max_failures),
            *(
                _compare_with_baseline(
                    conditions,
                    files,
                    baseline_files,
                    plan,
                    max_drop,
                    only_significant=only_significant,
                )
                if baseline_files
                else ()
            ),
        ]
        checks = _sort_by_system(checks, files)
        if junit is not None:
            write_text_atomic(junit, render_junit(checks))
    except EpocheError as error:
        # Scripts in CI distinguish "a condition is not met" (100) from "cannot be checked" (1),
        # so every subclass with its own exit code becomes a plain EpocheError.
        raise EpocheError(error.what, where=error.where, hint=error.hint) from error
    except OSError as error:
        if error.filename is None:
            raise
        raise EpocheError(
            f"a file cannot be opened: {error.strerror}", where=os.fsdecode(error.filename)
        ) from error
    _print_checks(checks)


def _sort_by_system(checks: Sequence[Check], files: Sequence[Path]) -> list[Check]:
    """Sorts the checks by system, systems in the order of their first check.

    Raises:
        EpocheError: there are no checks, so the gate would pass with any results.
    """
    if not checks:
        raise EpocheError(
            "nothing was checked: the results contain only controls",
            where=", ".join(map(str, files)),
            hint="Name a control, as in 'always-YES:LA>=0.9', or give results of systems.",
        )
    order = {check.system: position for position, check in reversed(list(enumerate(checks)))}
    return sorted(checks, key=lambda check: order[check.system])


def _print_checks(checks: Sequence[Check]) -> None:
    """Prints one line per check.

    Raises:
        GateFailedError: a check did not pass.
    """
    for check in checks:
        # One line each: a name in a result file must not be able to forge an "ok" line.
        status, description = (
            "ok  " if check.passed else "FAIL",
            to_one_line(f"{check.name}: {check.evidence}"),
        )
        print_text(f"{status}  {clean_text(check.system)}  {description}")
    n_failed = sum(not check.passed for check in checks)
    if n_failed:
        raise GateFailedError(
            f"{n_failed} of {len(checks)} checks failed", hint="See the lines that begin with FAIL."
        )
    print_text(f"all {len(checks)} checks passed")


def _check_options(
    conditions: Sequence[Condition],
    baseline: Sequence[Path] | None,
    max_drop: float | None,
    only_significant: bool,
    plan: Plan,
) -> None:
    """Refuses flags that make no sense together, such as a gate that could never fail.

    Raises:
        SettingError: no check is requested, or a flag is given without another flag that it needs.
    """
    from kg.base.errors import SettingError

    if not conditions and not baseline:
        raise SettingError(
            "no checks are given", where="epoche gate", hint="Give --metric, --baseline, or both."
        )
    if max_drop is not None and not max_drop <= 1:
        raise SettingError(
            "--max-drop cannot be more than 1",
            where=f"--max-drop {max_drop}",
            hint="Metrics lie between 0 and 1: two points are 0.02.",
        )
    if max_drop is not None and not baseline:
        raise SettingError(
            "--max-drop needs --baseline", where="--max-drop", hint="Give --baseline too."
        )
    if only_significant and max_drop is None:
        raise SettingError(
            "--only-significant needs --max-drop; without it only significance counts anyway",
            where="--only-significant",
            hint="Give --max-drop too, or leave --only-significant out.",
        )
    if len(plan.policies) > 1:
        raise SettingError(
            "a gate checks one policy at a time",
            where="--policy both",
            hint="Run the gate once per policy.",
        )


def _check_all_conditions(
    conditions: Sequence[Condition],
    files: Sequence[Path],
    cards: Sequence[Path],
    plan: Plan,
    max_failures: float,
) -> list[Check]:
    """Checks every condition on the given runs, over all of their cards.

    A failed call is not a false answer, so a run of errors alone would satisfy ``FAR-NE<=0.05``.
    Therefore ``max_failures`` is an implied limit on the error and invalid rates of each checked
    system, unless a condition sets one. Implied limits are reported only where they are exceeded.
    """
    from eval.card_check import read_checked_results
    from eval.comparison.gate import check_conditions, collect_gated_values, parse_condition
    from eval.metrics.report import measure

    observations = read_checked_results(files, cards, distinguish_equal_names=True)
    report = measure(observations, plan).policies[plan.policies[0]]
    # Controls are checked only if they were run; the report has computed values of all of them.
    run_controls = {
        name: report.controls[name] for name in report.controls if name in observations.preds
    }
    systems = report.systems | run_controls
    values = {name: collect_gated_values(system) for name, system in systems.items()}
    checks = list(check_conditions(conditions, values, observations.systems_under_test))
    checked_systems = [name for name in values if any(check.system == name for check in checks)]
    named_metrics = {condition.metric for condition in conditions}
    limits = [
        parse_condition(f"{rate}<={max_failures}")
        for rate in ("error_rate", "invalid_rate")
        if rate not in named_metrics
    ]
    implied_checks = check_conditions(
        limits, values, checked_systems if conditions else observations.systems_under_test
    )
    return [*checks, *(check for check in implied_checks if not check.passed)]


def _compare_with_baseline(
    conditions: Sequence[Condition],
    files: Sequence[Path],
    baseline_files: Sequence[Path],
    plan: Plan,
    max_drop: float | None,
    *,
    only_significant: bool,
) -> list[Check]:
    """Compares every system with the same system in the baseline, on the cards both answered."""
    from eval.comparison.gate import check_regressions
    from eval.comparison.pairs import compare_pairs
    from eval.metrics.abstention import HEADLINE_METRICS, SYSTEM_METRICS, get_metric
    from eval.metrics.observations import read_observations
    from eval.metrics.samples import Samples
    from kg.base.errors import SystemNotFoundError

    shared_files = sorted(set(files) & set(baseline_files))
    if shared_files:
        raise EpocheError(
            "a run cannot be its own baseline",
            where=str(shared_files[0]),
            hint="Give an earlier run.",
        )
    suffix = " (baseline)"
    observations = read_observations(
        [*files, *baseline_files], common=True, suffixes=dict.fromkeys(baseline_files, suffix)
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
            where=", ".join(map(str, baseline_files)),
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
            max_drop=max_drop,
            only_significant=only_significant,
        )
    )


if __name__ == "__main__":
    run_script(main)
