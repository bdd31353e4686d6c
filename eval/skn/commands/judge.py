"""Judges a finished SKN run again: ``epoche skn judge``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base import options
from kg.base.console import run_script


def main(
    run: Annotated[Path, typer.Argument(help="Folder of a finished `epoche skn run`.")],
    out: Annotated[Path, typer.Option(help="Folder of the new run, with the new verdicts.")],
    judge_model: Annotated[
        list[str] | None,
        typer.Option(
            help="Judge model; repeatable. `same`: the model that answered. Default: "
            "EPOCHE_JUDGE_MODEL."
        ),
    ] = None,
    judge_repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Votes of each judge on each item.", show_default="2"),
    ] = None,
    resamples: options.Resamples = 2000,
    overwrite: options.Overwrite = False,
    resume: options.Resume = True,
    retry_errors: options.RetryErrors = False,
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
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write the report.")] = True,
) -> None:
    """Judges the answers of a finished run with other judges; no extractor or agent is asked.

    The replies are copied to the new folder, and the rows are computed from them and the new
    verdicts. The same command resumes an interrupted judgement.
    """
    from eval.harness.session import RunLimits
    from eval.model.options import ClientOptions
    from eval.skn.commands.run import write_results
    from eval.skn.files import METRICS, list_run_files
    from eval.skn.second_judgement import JudgeOptions, judge_run

    limits = RunLimits(
        concurrency=concurrency, max_cost=max_cost, max_consecutive_errors=max_consecutive_errors
    )
    client = ClientOptions.from_flags(
        model=None,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        timeout=timeout,
        retries=retries,
        cache=cache,
        no_cache=no_cache,
        prices=prices,
        out=out / METRICS,
        outputs=list_run_files(out),
    )
    finished_run = judge_run(
        JudgeOptions(
            run=run,
            out=out,
            client=client,
            judge_models=tuple(judge_model or ()),
            judge_repeats=judge_repeats,
            resamples=resamples,
            resume=resume,
            overwrite=overwrite,
            retry_errors=retry_errors,
            limits=limits,
        )
    )
    write_results(
        finished_run,
        with_report=report,
        is_asked=False,
        hint=f"ask them again in {run} with --retry-errors, and judge it with --overwrite",
    )


if __name__ == "__main__":
    run_script(main)
