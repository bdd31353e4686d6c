"""Scores answers to SKN's questions that were made elsewhere: ``epoche skn score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base import options
from kg.base.console import print_warning, run_script


def main(
    predictions: options.PredictionFiles,
    dataset: Annotated[
        Path | None,
        typer.Option(help="Samples (JSON array or JSON lines). Default: the shipped ones."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the scored run.")] = Path(
        "results/skn-predictions"
    ),
    field_map: options.FieldMap = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Judge by rules instead of models.")
    ] = False,
    judge_model: Annotated[
        list[str] | None,
        typer.Option(help="Judge model; repeatable. Default: EPOCHE_JUDGE_MODEL."),
    ] = None,
    judge_repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Votes of each judge on each item.", show_default="2"),
    ] = None,
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
    """Has answers that were made elsewhere judged, and writes a run folder with their metrics.

    A file has one row per sample: JSON lines, a JSON array, or CSV. Its fields are id, answer (a
    text, or an object with answer, abstained, confidence and reasoning) and, if known, confidence,
    raw, error and repeat. A sample without a prediction counts as ERROR.
    """
    from eval.harness.failed_rows import REPLACE_HINT
    from eval.harness.predictions.reader import parse_field_map, parse_prediction_files
    from eval.harness.session import RunLimits
    from eval.model.options import ClientOptions
    from eval.skn.commands.run import write_results
    from eval.skn.files import METRICS, list_run_files
    from eval.skn.options import RunOptions
    from eval.skn.predictions import score_predictions
    from eval.skn.search_source import SHIPPED

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
            offline=offline,
            judge_models=tuple(judge_model or ()),
            judge_repeats=judge_repeats,
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


if __name__ == "__main__":
    run_script(main)
