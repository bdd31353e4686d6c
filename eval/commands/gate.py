"""Checks runs against conditions and a baseline: ``epoche gate``, or this file as a script."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eval.metrics_abstention import PolicyChoice
from kg.base.console import print_text, run_script
from kg.base.errors import EpocheError, GateFailedError
from kg.base.options import (
    AllowChanged,
    CheckedCards,
    ChosenResamples,
    Confidence,
    ResampleSeed,
    RunPaths,
    SkipOtherCards,
    WithoutMined,
)
from kg.base.plain_text import clean_text, to_one_line

if TYPE_CHECKING:
    from eval.metrics.gate import Check, GateRequest

MAX_FAILURE_SHARE = 0.05
"""Default of ``--max-failures``."""

_METRIC_HELP = """Condition, repeatable: [SYSTEM:]METRIC[.END]OP NUMBER with OP one of <= >= < >.
'skill@.5>=0.4' applies to all systems except controls, 'rag:LA>=0.9' to one ('raw' stands for all
models of raw, * and ? for any letters). END is low or high, the ends of the interval, or worst or
best, the bounds over unreadable replies: 'FAR-NE.high<=0.08'. A metric without a value fails."""


def main(
    runs: RunPaths = None,
    metric: Annotated[list[str] | None, typer.Option(help=_METRIC_HELP)] = None,
    results: Annotated[
        list[Path] | None,
        typer.Option(help="The same as RUN; repeatable. Without either: the folder results."),
    ] = None,
    baseline: Annotated[
        list[Path] | None,
        typer.Option(
            help="Earlier run that must not be better on the cards or items that both were asked; "
            "repeatable."
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
            help="Fail a system with more failed rows (cards: ERROR and INVALID) than this share, "
            "or without more of the baseline's cards, unless a condition on error_rate or "
            "invalid_rate says otherwise.",
        ),
    ] = MAX_FAILURE_SHARE,
    junit: Annotated[
        Path | None, typer.Option(help="Write the outcome of the checks to this file (JUnit XML).")
    ] = None,
    cards: CheckedCards = None,
    skip_other_cards: SkipOtherCards = False,
    without_mined: WithoutMined = False,
    allow_changed: AllowChanged = False,
    policy: Annotated[
        PolicyChoice | None,
        typer.Option(
            help="What counts as an answer and as an abstention.", show_default="licensed"
        ),
    ] = None,
    resamples: ChosenResamples = None,
    seed: ResampleSeed = 12345,
    confidence: Confidence = 0.95,
) -> None:
    """Exits with 0 if all conditions are met, 100 if one is not, 1 if they cannot be checked.

    With --baseline, the headline metrics (cards: skill@.5, all-three, AP, CVRR, FAR-NE, LA,
    accuracy; records of `epoche outcomes`: skill@.5 or utility@.5, accuracy) and the metrics named
    by conditions must not be worse than the baseline's on the same cards, items or questions, by
    paired tests with Holm's correction over all.
    """
    from eval.abstention.card_check import filter_results_by_cards
    from eval.abstention.metrics.definitions import POLICIES
    from eval.abstention.run_files import find_result_files
    from eval.commands.gate_checks import check_runs
    from eval.metrics.gate import GateRequest
    from eval.metrics.junit import render_junit
    from eval.metrics.measurement import ResamplingPlan
    from eval.outcomes.gate import check_outcomes, find_records
    from eval.runs.measurement import list_folder_files, refuse_card_options, select_run_folders
    from kg.base.files import check_output, write_text_atomic

    try:
        request = GateRequest(
            conditions=tuple(metric or ()),
            runs=tuple([*(runs or ()), *(results or ())] or [Path("results")]),
            baseline=tuple(baseline or ()),
            max_drop=max_drop,
            only_significant=only_significant,
            max_failures=max_failures,
            resampling=ResamplingPlan.choose(resamples, seed, confidence),
            allow_changed=allow_changed,
        )
        _check_options(request, policy)
        records = find_records(request.runs)
        all_paths = [*request.runs, *request.baseline]
        folders = [] if records else select_run_folders(all_paths, where="epoche gate")
        if records or folders:
            refuse_card_options(
                [*records, *folders][0],
                cards=cards,
                skip_other_cards=skip_other_cards or None,
                without_mined=without_mined or None,
                policy=policy,
            )
            input_files = [*records, *request.baseline] if records else list_folder_files(folders)
        else:
            result_files = find_result_files(request.runs)
            if skip_other_cards and cards:
                result_files = filter_results_by_cards(result_files, cards)
            request = replace(
                request,
                runs=tuple(result_files),
                baseline=tuple(find_result_files(request.baseline)),
                cards=tuple(cards or ()),
                without_mined=without_mined,
                policy=(policy or PolicyChoice.licensed).select(POLICIES)[0],
            )
            input_files = [*request.runs, *request.baseline, *request.cards]
        if junit is not None:
            check_output(junit, input_files)
        found, signature = (check_outcomes(request), "") if records else check_runs(request)
        checks = _sort_by_system(found, request.runs)
        if junit is not None:
            write_text_atomic(junit, render_junit(checks, signature))
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
    _print_checks(checks, signature)


def _sort_by_system(checks: Sequence[Check], files: Sequence[Path]) -> list[Check]:
    """Sorts the checks by system, systems in the order of their first check.

    Raises:
        EpocheError: there are no checks, so the gate would pass with any results.
    """
    if not checks:
        raise EpocheError(
            "nothing was checked: there are only controls, or no metric that can be worse",
            where=", ".join(map(str, files)),
            hint="Give a condition with --metric (of a control as in 'always-YES:LA>=0.9'), or "
            "results of systems.",
        )
    order = {check.system: position for position, check in reversed(list(enumerate(checks)))}
    return sorted(checks, key=lambda check: order[check.system])


def _print_checks(checks: Sequence[Check], signature: str) -> None:
    """Prints one line per check, and how the numbers were computed if this is known.

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
    if not n_failed:
        print_text(f"all {len(checks)} checks passed")
    if signature:
        print_text(to_one_line(signature))
    if n_failed:
        raise GateFailedError(
            f"{n_failed} of {len(checks)} checks failed", hint="See the lines that begin with FAIL."
        )


def _check_options(request: GateRequest, policy: PolicyChoice | None) -> None:
    """Refuses flags that make no sense together, such as a gate that could never fail.

    Raises:
        SettingError: no check is requested, or a flag is given without another flag that it needs.
    """
    from kg.base.errors import SettingError

    if not request.conditions and not request.baseline:
        raise SettingError(
            "no checks are given", where="epoche gate", hint="Give --metric, --baseline, or both."
        )
    if request.max_drop is not None and not request.max_drop <= 1:
        raise SettingError(
            "--max-drop cannot be more than 1",
            where=f"--max-drop {request.max_drop}",
            hint="Most metrics lie between 0 and 1 and could then never fail: two points are 0.02.",
        )
    if request.max_drop is not None and not request.baseline:
        raise SettingError(
            "--max-drop needs --baseline", where="--max-drop", hint="Give --baseline too."
        )
    if request.only_significant and request.max_drop is None:
        raise SettingError(
            "--only-significant needs --max-drop; without it only significance counts anyway",
            where="--only-significant",
            hint="Give --max-drop too, or leave --only-significant out.",
        )
    if policy is PolicyChoice.both:
        raise SettingError(
            "a gate checks one policy at a time",
            where="--policy both",
            hint="Run the gate once per policy.",
        )


if __name__ == "__main__":
    run_script(main)
