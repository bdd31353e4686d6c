"""Holds runs against conditions and a baseline: ``epoche gate``, or this file as a script."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eval.metrics_abstention import PolicyChoice
from kg.base.console import run_script, say
from kg.base.errors import EpocheError, GateFailedError
from kg.base.options import CheckedCards, Confidence, Resamples, ResampleSeed, SkipOtherCards
from kg.words.plain_text import one_line, plain

if TYPE_CHECKING:
    from eval.comparing.gate import Check, Condition
    from eval.metrics.samples import Plan

MAX_FAILURES = 0.05

_METRIC_HELP = """Condition, repeatable: [SYSTEM:]METRIC[.END]OP NUMBER with OP one of <= >= < >.
'FAR-NE<=0.05' is about every system but controls, 'rag:LA>=0.9' about one ('raw' stands for all
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
            help="Run that must not be better, paired on the cards both answered; repeatable."
        ),
    ] = None,
    max_drop: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Fail when a metric is worse than the baseline's by more than this. Without it: "
            "when the data show it to be worse.",
        ),
    ] = None,
    only_significant: Annotated[
        bool, typer.Option(help="With --max-drop: fail only what the data show too.")
    ] = False,
    max_failures: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Fail a system with more ERROR or INVALID rows than this share of its cards, "
            "unless a condition on error_rate or invalid_rate says otherwise.",
        ),
    ] = MAX_FAILURES,
    junit: Annotated[
        Path | None, typer.Option(help="Where the judgement goes as JUnit XML.")
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
    """Exits with 0 when every condition holds, 100 when one does not, 1 when it cannot be judged.

    With --baseline, AP, CVRR, FAR-NE, LA, accuracy and the metrics named by conditions must not be
    worse than the baseline's on the same cards: paired tests, Holm over all of them.
    """
    from eval.card_check import only_of_these_cards
    from eval.comparing.gate import parse_condition
    from eval.comparing.junit import junit_xml
    from eval.metrics.abstention import POLICIES
    from eval.metrics.samples import Plan
    from eval.run_files import result_files
    from kg.base.files import check_output, write_text_atomic

    try:
        plan = Plan(
            policies=tuple(name for name in POLICIES if policy.value in (name, "both")),
            resamples=resamples,
            seed=seed,
            confidence=confidence,
        )
        conditions = [parse_condition(text) for text in metric or ()]
        _refuse_nonsense(conditions, baseline, max_drop, only_significant, plan)
        files = result_files([*(runs or ()), *(results or ())] or [Path("results")])
        if skip_other_cards and cards:
            files = only_of_these_cards(files, cards)
        before = result_files(baseline or ())
        if junit is not None:
            check_output(junit, [*files, *before, *(cards or ())])
        held = [
            *_conditions(conditions, files, cards or (), plan, max_failures),
            *(
                _regressions(
                    conditions, files, before, plan, max_drop, only_significant=only_significant
                )
                if before
                else ()
            ),
        ]
        held = _by_system(held, files)
        if junit is not None:
            write_text_atomic(junit, junit_xml(held))
    except EpocheError as error:
        # Scripts in CI tell "does not hold" (100) from "cannot be judged" (1); which of the many
        # reasons it was stands in the message.
        raise EpocheError(error.what, where=error.where, hint=error.hint) from error
    except OSError as error:
        if error.filename is None:
            raise
        raise EpocheError(
            f"a file cannot be opened: {error.strerror}", where=os.fsdecode(error.filename)
        ) from error
    _tell(held)


def _by_system(held: Sequence[Check], files: Sequence[Path]) -> list[Check]:
    """The checks of one system together, systems in the order in which they came.

    Raises:
        EpocheError: there are none, so that the gate would pass whatever the results say.
    """
    if not held:
        raise EpocheError(
            "nothing was judged: there are only controls",
            where=", ".join(map(str, files)),
            hint="Name one, as in 'always-YES:LA>=0.9', or give results of systems.",
        )
    order = {check.system: place for place, check in reversed(list(enumerate(held)))}
    return sorted(held, key=lambda check: order[check.system])


def _tell(held: Sequence[Check]) -> None:
    """Prints one line a check.

    Raises:
        GateFailedError: one did not pass.
    """
    for check in held:
        # A name from a result file must not be able to forge a line of this judgement.
        mark, what = "ok  " if check.passed else "FAIL", one_line(f"{check.name}: {check.said}")
        say(f"{mark}  {plain(check.system)}  {what}")
    failed = sum(not check.passed for check in held)
    if failed:
        raise GateFailedError(
            f"{failed} of {len(held)} checks failed", hint="See the lines that begin with FAIL."
        )
    say(f"all {len(held)} checks passed")


def _refuse_nonsense(
    conditions: Sequence[Condition],
    baseline: Sequence[Path] | None,
    max_drop: float | None,
    only_significant: bool,
    plan: Plan,
) -> None:
    """Refuses a gate that could not mean anything: it would pass for ever.

    Raises:
        SettingError: nothing is asked for, or flags that need others stand alone.
    """
    from kg.base.errors import SettingError

    if not conditions and not baseline:
        raise SettingError(
            "nothing to judge", where="epoche gate", hint="Give --metric, --baseline, or both."
        )
    if max_drop is not None and not max_drop <= 1:
        raise SettingError(
            "a drop of more than 1 is none that can happen",
            where=f"--max-drop {max_drop}",
            hint="Metrics lie between 0 and 1: two points are 0.02.",
        )
    if max_drop is not None and not baseline:
        raise SettingError("a drop from what?", where="--max-drop", hint="Give --baseline too.")
    if only_significant and max_drop is None:
        raise SettingError(
            "it is significance alone that counts without --max-drop",
            where="--only-significant",
            hint="Give --max-drop too, or leave it out.",
        )
    if len(plan.policies) > 1:
        raise SettingError(
            "conditions are about one policy", where="--policy both", hint="Run the gate twice."
        )


def _conditions(
    conditions: Sequence[Condition],
    files: Sequence[Path],
    cards: Sequence[Path],
    plan: Plan,
    max_failures: float,
) -> list[Check]:
    """Every condition on the runs at hand, over all of their cards.

    A failed call is no false answer: a run of nothing but errors would fulfil ``FAR-NE<=0.05``. So
    systems that are judged at all may fail only so often, unless a condition says how often. Such
    a limit is mentioned only where it is broken.
    """
    from eval.card_check import read_checked
    from eval.comparing.gate import check_conditions, gated_values, parse_condition
    from eval.metrics.measuring import measure

    seen = read_checked(files, cards, distinguish=True)
    report = measure(seen, plan).policies[plan.policies[0]]
    systems = report.systems | {n: s for n, s in report.controls.items() if n in seen.preds}
    values = {name: gated_values(system) for name, system in systems.items()}
    held = list(check_conditions(conditions, values, seen.contenders))
    judged = [name for name in values if any(check.system == name for check in held)]
    named = {condition.metric for condition in conditions}
    limits = [
        parse_condition(f"{rate}<={max_failures}")
        for rate in ("error_rate", "invalid_rate")
        if rate not in named
    ]
    implied = check_conditions(limits, values, judged if conditions else seen.contenders)
    return [*held, *(check for check in implied if not check.passed)]


def _regressions(
    conditions: Sequence[Condition],
    files: Sequence[Path],
    before: Sequence[Path],
    plan: Plan,
    max_drop: float | None,
    *,
    only_significant: bool,
) -> list[Check]:
    """Every system against its like in the baseline, on the cards that both answered."""
    from eval.comparing.gate import check_regressions
    from eval.comparing.pairs import compare_pairs
    from eval.metrics.abstention import HEADLINE, SYSTEM_METRICS
    from eval.metrics.abstention import metric as metric_of
    from eval.metrics.observations import read_observations
    from eval.metrics.samples import Samples
    from kg.base.errors import SystemNotFoundError

    both = sorted(set(files) & set(before))
    if both:
        raise EpocheError(
            "a run cannot be its own baseline", where=str(both[0]), hint="Give an earlier run."
        )
    mark = " (baseline)"
    seen = read_observations([*files, *before], common=True, suffixes=dict.fromkeys(before, mark))
    now = [name for name in seen.contenders if not name.endswith(mark)]
    then = [name for name in seen.contenders if name.endswith(mark)]
    pairs = [(name, name + mark) for name in now if name + mark in then]
    if not pairs and len(now) == len(then) == 1:
        pairs = [(now[0], then[0])]
    if not pairs:
        was = ", ".join(name.removesuffix(mark) for name in then)
        raise SystemNotFoundError(
            "no system has results both now and in the baseline",
            where=", ".join(map(str, before)),
            hint=f"Now: {', '.join(now)}. Baseline: {was}.",
        )
    named = [one.metric for one in conditions if one.metric in SYSTEM_METRICS]
    names = tuple(dict.fromkeys((*HEADLINE, "accuracy", *named)))
    samples = Samples(seen, plan)
    found = compare_pairs(samples, pairs, names=names, signature=samples.signature)
    for name in now:
        if name not in dict(pairs):
            say(f"note: {name} has no baseline")
    if seen.n_left_out:
        say(
            f"note: the baseline is compared on the {len(seen.ids):,} cards that both answered; "
            f"{seen.n_left_out:,} are left out"
        )
    policy = plan.policies[0]
    return list(
        check_regressions(
            found,
            {name: metric_of(name, policy).higher_is_better for name in names},
            {name: name for name in now},
            max_drop=max_drop,
            only_significant=only_significant,
        )
    )


if __name__ == "__main__":
    run_script(main)
