"""Extracts, scores and reports: ``epoche extract run``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kg.base import options
from kg.base.console import run_script, say

if TYPE_CHECKING:
    from eval.extraction.record import ExtractionReport
    from eval.extraction.run_extraction import Done
    from eval.extraction.running.config import Config


def main(
    config: Annotated[
        Path | None, typer.Option(help="YAML file; flags go before it. Without: the defaults.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Who extracts: provider/model, or what the server at base_url calls it."),
    ] = None,
    models: Annotated[
        str | None, typer.Option(help="Several, with commas between them, to be compared.")
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Rules instead of models: the declared baseline.")
    ] = False,
    dataset: Annotated[
        str | None, typer.Option(help="`shipped`, a file, a folder, or owner/name on the hub.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Of a data set on the hub.")] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Draw so many samples at random.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the draw, the order and the resamples.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a data set with malformed rows.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask only the first so many of the samples.")
    ] = None,
    repeat: options.Repeats = 1,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the run; by default one in results_dir, named by the models."),
    ] = None,
    structured: Annotated[
        str | None,
        typer.Option(help="auto, json_schema, json_object, text or guided_json."),
    ] = None,
    stream: Annotated[
        bool | None,
        typer.Option("--stream/--no-stream", help="Time the first token.", show_default=False),
    ] = None,
    overwrite: options.Overwrite = False,
    resume: options.Resume = True,
    retry_errors: options.RetryErrors = False,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Requests in flight at once.")
    ] = None,
    rpm: options.RequestsPerMinute = None,
    tpm: options.TokensPerMinute = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds one attempt of a call may take.")
    ] = None,
    retries: Annotated[
        int | None, typer.Option(min=0, help="Attempts after the first, if it may help.")
    ] = None,
    cache: options.ReplyCache = None,
    no_cache: options.NoReplyCache = False,
    prices: options.PriceFile = None,
    max_cost: options.MaxCost = None,
    max_consecutive_errors: Annotated[
        int | None, typer.Option(min=0, help="Errors in a row after which it stops; 0: never.")
    ] = None,
    resamples: Annotated[int | None, typer.Option(min=100, help="Bootstrap resamples.")] = None,
    report: Annotated[
        bool | None,
        typer.Option("--report/--no-report", help="Write the report.", show_default=False),
    ] = None,
) -> None:
    """Puts texts and their JSON Schemas to models, scores what they extract, and reports.

    A run that was cut off goes on where it stopped when the same command is given again.
    """
    from eval.extraction.run_extraction import run
    from eval.extraction.running.config_flags import with_flags
    from eval.extraction.running.config_reading import read_config
    from eval.extraction.running.run_options import RunOptions, client_of, folder_name, models_of
    from kg.base.errors import SettingError
    from reporting.extraction_files import write_files

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
    settings = with_flags(None if config is None else read_config(config), flags)
    named = tuple(one.strip() for one in (models or "").split(",") if one.strip())
    named = (*((model,) if model else ()), *named)
    if offline and named:
        raise SettingError(
            "--offline asks no model, but one is named",
            where="--offline, --model, --models",
            hint="Leave --offline out, or the models.",
        )
    asked = () if offline else models_of(settings, named)
    folder = out or Path(settings.output.results_dir) / folder_name(asked)
    done = run(
        RunOptions(
            config=settings,
            out=folder,
            models=asked,
            client=client_of(settings, folder, cache=cache, no_cache=no_cache, prices=prices),
            limit=limit,
            repeats=repeat,
            resume=resume,
            overwrite=overwrite,
            retry_errors=retry_errors,
        )
    )
    _told(done, settings, write_files(folder))


def _told(done: Done, settings: Config, report: ExtractionReport) -> None:
    """Prints what came of it, and writes the page where one is wanted."""
    from eval.extraction.running.output_files import SUMMARY
    from eval.extraction.summary import table
    from eval.running.failed_rows import report_failed
    from reporting.benchmark_sections.page import STEM, write_page
    from reporting.benchmark_sections.spoken import say_notes

    folder, manifest = done.folder, done.manifest
    for line in table(report, settings.metrics.enabled):
        say(line)
    say_notes(report.notes, folder / SUMMARY)
    if calls := manifest.calls:
        say(f"model calls: {calls.in_words()}")
    kept = f" ({done.kept} were there already)" if done.kept else ""
    say(f"{done.asked} rows{kept} → {folder}")
    if settings.output.generate_report:
        write_page(folder)
        ending = "md" if settings.output.report_format == "markdown" else "html"
        say(f"report → {folder / f'{STEM}.{ending}'}")
    counts = manifest.counts
    report_failed(counts["ERROR"], sum(counts.values()), field="problem", where=folder)


if __name__ == "__main__":
    run_script(main)
