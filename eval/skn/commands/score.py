"""Scores answers made elsewhere, or replays results: ``epoche skn score``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base import options
from kg.base.console import print_warning, run_script
from kg.base.errors import SettingError

if TYPE_CHECKING:
    from eval.skn.replay import ReplayOptions


def main(
    predictions: options.OptionalPredictionFiles = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="Results to replay, instead of --predictions: a detailed_results.json of this or "
            "the published benchmark, its folder, or the folder of a run. No model is called."
        ),
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published",
            help="With a detailed_results.json: read abstentions, and compute the keys of "
            "metrics.json, as published.",
        ),
    ] = False,
    dataset: Annotated[
        Path | None,
        typer.Option(
            help="Samples (JSON array or JSON lines). Default: the shipped ones; with --results, "
            "those of the results."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the scored run.")] = Path(
        "results/skn-predictions"
    ),
    field_map: options.FieldMap = None,
    judge_model: Annotated[
        list[str] | None,
        typer.Option(help="Judge model; repeatable. Default: EPOCHE_JUDGE_MODEL."),
    ] = None,
    judge_repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Votes of each judge on each item.", show_default="2"),
    ] = None,
    no_judge: Annotated[
        bool,
        typer.Option(
            "--no-judge",
            help="Leave the answers unjudged; `epoche skn judge` can judge them later.",
        ),
    ] = False,
    search: Annotated[
        Path | None,
        typer.Option(help="Recorded searches that were read. Default: the shipped ones."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the judges and resamples.")] = 12345,
    resamples: options.Resamples = 2000,
    overwrite: options.Overwrite = False,
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
    """Scores answers that were made elsewhere, or replays results; writes a run folder.

    With --results, the stored answers and verdicts are used. With --predictions, a file has one row
    per sample: JSON lines, a JSON array, or CSV. Its fields are id, answer (a text, or an object
    with answer, abstained, confidence and reasoning) and, if known, confidence, raw, error and
    repeat. A sample without a prediction counts as ERROR.
    """
    from eval.harness.failed_rows import REPLACE_HINT
    from eval.harness.predictions.reader import parse_field_map, parse_prediction_files
    from eval.harness.session import RunLimits
    from eval.model.options import ClientOptions
    from eval.skn.commands.run import write_results
    from eval.skn.files import METRICS, list_run_files
    from eval.skn.options import RunOptions
    from eval.skn.predictions import score_predictions
    from eval.skn.replay import ReplayOptions
    from eval.skn.search_source import SHIPPED

    if (results is None) == (not predictions):
        raise SettingError(
            "both --predictions and --results are given" if results else "nothing to score",
            where="--predictions, --results",
            hint="Give answers to be judged with --predictions NAME=FILE, or results that have "
            "verdicts with --results PATH.",
        )
    if results is not None:
        judging = (no_judge, judge_model, judge_repeats is not None, search, field_map)
        if any(judging):
            raise SettingError(
                "results are replayed with their own verdicts, and nothing is judged",
                where="--results with --judge-model, --judge-repeats, --no-judge, --search, --map",
                hint=f"Replay them, then judge again: `epoche skn judge {out} --judge-model …`.",
            )
        _replay(
            ReplayOptions(
                results=results,
                out=out,
                dataset=dataset,
                as_published=as_published,
                seed=seed,
                resamples=resamples,
                overwrite=overwrite,
            ),
            with_report=report,
        )
        return
    if as_published:
        raise SettingError(
            "predictions are judged by our judges",
            where="--as-published",
            hint="It is for --results; leave it out.",
        )
    assert predictions is not None
    files = parse_prediction_files(predictions)
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
    done, read = score_predictions(
        RunOptions(
            dataset=dataset or SHIPPED / "samples.json",
            out=out,
            client=client,
            systems=tuple(file.name for file in files),
            judge_models=tuple(judge_model or ()),
            judge_repeats=judge_repeats,
            no_judge=no_judge,
            search=search,
            resamples=resamples,
            seed=seed,
            overwrite=overwrite,
            limits=RunLimits(
                concurrency=concurrency,
                max_cost=max_cost,
                max_consecutive_errors=max_consecutive_errors,
            ),
        ),
        files,
        parse_field_map(field_map or (), value="answer"),
    )
    manifest = done.manifest
    for name, found in read.items():
        for warning in found.list_warnings(manifest.sample_count, manifest.repeats, "sample"):
            print_warning(f"{name}: {warning}")
    write_results(
        done,
        with_report=report,
        is_asked=False,
        retry="--overwrite has all of them judged again",
        hint=REPLACE_HINT,
    )


def _replay(options: ReplayOptions, *, with_report: bool) -> None:
    """Replays results and prints what is missing in them."""
    from eval.skn.commands.run import write_results
    from eval.skn.replay import replay_results

    done, warnings = replay_results(options)
    for warning in warnings:
        print_warning(f"{options.results}: {warning}")
    write_results(
        done,
        with_report=with_report,
        is_asked=False,
        retry=f"`epoche skn judge {options.out}` judges again",
        hint="the results have them as failed; nothing is asked again",
    )


if __name__ == "__main__":
    run_script(main)
