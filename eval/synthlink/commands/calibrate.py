"""Measures the errors of a judge: ``epoche synthlink calibrate``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eval.synthlink.commands.judge_flags import (
    JudgeModels,
    JudgeRepeats,
    NliFolder,
    build_judge_options,
)
from kg.base import options
from kg.base.console import print_text, run_script


def main(
    pairs: Annotated[
        list[Path] | None,
        typer.Option(
            help="Pairs with human labels: a folder of XSum factuality or FRANK, or JSONL; "
            "repeatable."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for verdicts and error rates.")] = Path(
        "results/calibration"
    ),
    judge_model: JudgeModels = None,
    judge_repeats: JudgeRepeats = None,
    nli: NliFolder = None,
    questions: Annotated[
        int,
        typer.Option(
            min=0, max=60, help="Number of questions with whose anchors the judge is tested."
        ),
    ] = 60,
    limit: Annotated[
        int, typer.Option(min=1, help="Maximum number of true and of wrong pairs of each set.")
    ] = 100,
    concurrency: options.Concurrency = 16,
    rpm: options.RequestsPerMinute = None,
    tpm: options.TokensPerMinute = None,
    timeout: options.CallTimeout = 60.0,
    retries: options.CallRetries = 8,
    cache: options.ReplyCache = None,
    no_cache: options.NoReplyCache = False,
    prices: options.PriceFile = None,
    max_cost: options.MaxCost = None,
    max_consecutive_errors: options.MaxConsecutiveErrors = 50,
) -> None:
    """Asks a judge about claims whose right verdict is known, and prints its error rates.

    The claims are anchors made from the shipped catalogue (true facts; facts of other questions;
    facts that are denied, reversed, or have another name or year) and pairs with human labels.
    """
    from eval.harness.session import RunLimits
    from eval.model.options import ClientOptions
    from eval.synthlink.answer_source import AnswerSource
    from eval.synthlink.judges.calibration import CALIBRATION_FILE, calibrate_judge
    from eval.synthlink.verdicts.judge_report import describe_reliability
    from eval.synthlink.verdicts.record import JUDGED_FILE
    from kg.base.errors import SettingError

    judge = build_judge_options(
        judge_model,
        judge_repeats,
        client=ClientOptions.from_flags(
            model=None,
            concurrency=concurrency,
            rpm=rpm,
            tpm=tpm,
            timeout=timeout,
            retries=retries,
            cache=cache,
            no_cache=no_cache,
            prices=prices,
            out=out / JUDGED_FILE,
            outputs=[out / JUDGED_FILE, out / CALIBRATION_FILE],
        ),
        limits=RunLimits(
            concurrency=concurrency,
            max_cost=max_cost,
            max_consecutive_errors=max_consecutive_errors,
        ),
        answerers=lambda: (AnswerSource(None, by_model=False),),
        nli=nli,
    )
    if judge is None:
        raise SettingError(
            "no judge is named",
            where="--judge-model, --nli",
            hint="Name a model with --judge-model, or the folder of an NLI model with --nli.",
        )
    calibration = calibrate_judge(pairs or [], questions, limit, out, judge)
    for name, reliability in calibration.sets.items():
        verdict = "passed" if reliability.passed else "failed"
        print_text(f"{name} ({verdict}): {describe_reliability(reliability)}")
        for kind, rate in reliability.supported.items():
            if rate.value is not None:
                print_text(f"  {kind}: {rate.value:.3f} of {rate.n} called supported")
    print_text(f"verdicts and error rates → {out}")


if __name__ == "__main__":
    run_script(main)
