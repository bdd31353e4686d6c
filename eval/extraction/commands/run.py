"""Extracts, scores and reports: ``epoche extract run``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kg.base import options
from kg.base.console import print_text, run_script
from kg.base.plain_text import format_count, split_names

if TYPE_CHECKING:
    from eval.extraction.configuration.config import Config
    from eval.extraction.manifest import ExtractionManifest
    from eval.extraction.record import ExtractionReport
    from eval.harness.base_run import RunResult


def main(
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file with settings; flags override it. Default: the defaults."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Model: provider/model, or its name on the server at base_url."),
    ] = None,
    models: Annotated[
        str | None, typer.Option(help="Several models to compare, comma-separated.")
    ] = None,
    system: options.SystemSpecs = None,
    set_values: options.SystemSettings = None,
    dataset: Annotated[
        str | None, typer.Option(help="`shipped`, a file, a folder, or owner/name on the hub.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Split of the data set, if it is on the hub.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Sample this many of the samples at random.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of sampling, order and resamples.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a data set with malformed rows.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first N samples.")] = None,
    shard: options.ShardName = "1/1",
    repeat: options.Repeats = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the run. Default: a folder in results_dir named after the models."
        ),
    ] = None,
    structured: Annotated[
        str | None,
        typer.Option(help="auto, json_schema, json_object, text or guided_json."),
    ] = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Stream replies, to measure the time to the first token.",
            show_default=False,
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    resume: options.Resume = True,
    retry_errors: options.RetryErrors = False,
    allow_changed: options.AllowChangedRows = False,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of concurrent requests.")
    ] = None,
    rpm: options.RequestsPerMinute = None,
    tpm: options.TokensPerMinute = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Timeout of one attempt, in seconds.")
    ] = None,
    retries: Annotated[
        int | None, typer.Option(min=0, help="Retries after a transient failure.")
    ] = None,
    cache: options.ReplyCache = None,
    no_cache: options.NoReplyCache = False,
    prices: options.PriceFile = None,
    max_cost: options.MaxCost = None,
    max_consecutive_errors: Annotated[
        int | None,
        typer.Option(min=0, help="Abort after this many consecutive errors; 0: never."),
    ] = None,
    resamples: Annotated[int | None, typer.Option(min=100, help="Bootstrap resamples.")] = None,
    report: Annotated[
        bool | None,
        typer.Option("--report/--no-report", help="Write the report.", show_default=False),
    ] = None,
) -> None:
    """Extracts data from texts with models or your own systems, scores it, and writes a report.

    The same command resumes an interrupted run.
    """
    from eval.extraction.configuration.reader import apply_flags, read_config
    from eval.extraction.options import (
        RunOptions,
        build_client_options,
        list_models,
        make_folder_name,
    )
    from eval.extraction.outputs import write_outputs
    from eval.extraction.run import run
    from eval.harness.journals.row_layout import Shard
    from eval.harness.systems.settings import parse_settings
    from kg.base.errors import SettingError

    flags: dict[str, Any] = {
        "dataset.name": dataset,
        "dataset.split": split,
        "dataset.strict": strict or None,
        "dataset.sample_size": sample,
        "dataset.random_seed": seed,
        "model.structured": structured,
        "model.stream": stream,
        "model.timeout": timeout,
        "model.max_retries": retries,
        "performance.num_workers": concurrency,
        "performance.batch_size": None if concurrency is None else 1,
        "performance.requests_per_minute": rpm,
        "performance.tokens_per_minute": tpm,
        "performance.max_cost": max_cost,
        "performance.max_consecutive_errors": max_consecutive_errors,
        "metrics.resamples": resamples,
        "output.generate_report": report,
    }
    settings = apply_flags(None if config is None else read_config(config), flags)
    named = (*((model,) if model else ()), *split_names(models))
    if set_values and not system:
        raise SettingError(
            "--set is for systems named with --system",
            where="--set",
            hint="Settings of models are in the configuration.",
        )
    systems = tuple(system or ())
    used_models = () if systems and not named else list_models(settings, named)
    folder = out or Path(settings.output.results_dir) / make_folder_name((*used_models, *systems))
    done = run(
        RunOptions(
            config=settings,
            out=folder,
            models=used_models,
            systems=systems,
            settings=parse_settings(set_values or ()),
            client=build_client_options(
                settings, folder, cache=cache, no_cache=no_cache, prices=prices
            ),
            limit=limit,
            shard=Shard.from_text(shard),
            repeats=repeat,
            resume=resume,
            overwrite=overwrite,
            retry_errors=retry_errors,
            allow_changed=allow_changed,
        )
    )
    _print_results(done, settings, write_outputs(folder))


def _print_results(
    done: RunResult[ExtractionManifest], settings: Config, report: ExtractionReport
) -> None:
    """Prints the results of a run, and writes its report if the settings request one."""
    from eval.blocks.page import PAGE_STEM
    from eval.blocks.text_format import describe_recordings
    from eval.extraction.benchmark import EXTRACTION
    from eval.extraction.files import SUMMARY
    from eval.extraction.summary import render_metrics
    from eval.harness.failed_rows import format_counts, report_failed_run
    from eval.harness.notes import print_notes
    from eval.runs.sections import write_page

    folder, manifest = done.folder, done.manifest
    for line in render_metrics(report, settings.metrics.enabled):
        print_text(line)
    print_notes(report.notes, folder / SUMMARY)
    if calls := manifest.calls:
        print_text(f"model calls: {calls.format_summary()}")
    for line in describe_recordings(report.systems):
        print_text(line)
    existing = f" ({done.existing} were there already)" if done.existing else ""
    rows, counts = format_count(done.asked, "row"), format_counts(manifest.counts)
    print_text(f"{rows}{existing} → {folder}   [{counts}]")
    if settings.output.generate_report and write_page(folder):
        ending = "md" if settings.output.report_format == "markdown" else "html"
        print_text(f"report → {folder / f'{PAGE_STEM}.{ending}'}")
    report_failed_run(folder, EXTRACTION, manifest, field="problem")


if __name__ == "__main__":
    run_script(main)
