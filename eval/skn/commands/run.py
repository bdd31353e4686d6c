"""Compares JSON and SKN on the samples: ``epoche skn run``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base import options
from kg.base.console import print_text, print_warning, run_script
from kg.base.plain_text import format_count, split_names

if TYPE_CHECKING:
    from eval.harness.base_run import RunResult
    from eval.skn.manifest import SknManifest


def main(
    dataset: Annotated[
        Path | None,
        typer.Option(help="Samples (JSON array or JSON lines). Default: the shipped ones."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder of the run: rows, manifest, metrics and report.")
    ] = Path("results/skn"),
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Compare all formats, not only JSON and SKN.")
    ] = False,
    formats: Annotated[
        str | None,
        typer.Option(
            help="Compare these formats, comma-separated, such as `json,json_meta,skn`.",
        ),
    ] = None,
    system: options.SystemSpecs = None,
    set_values: options.SystemSettings = None,
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published", help="Use the published prompts and procedure, biases included."
        ),
    ] = False,
    hide_question: Annotated[
        bool, typer.Option("--hide-question", help="Do not show the question to the extractors.")
    ] = False,
    constrained: Annotated[
        bool,
        typer.Option(
            "--constrained", help="Let the server constrain JSON output (it cannot constrain SKN)."
        ),
    ] = False,
    words: Annotated[
        int | None, typer.Option(min=20, help="Length limit of an extraction, in words.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of tokens of a reply.")
    ] = None,
    model: options.ModelName = None,
    judge_model: Annotated[
        list[str] | None,
        typer.Option(
            help="Judge model; repeatable. `same`: the model that answers. Default: "
            "EPOCHE_JUDGE_MODEL."
        ),
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
        Path | None, typer.Option(help="Recorded searches to replay. Default: the shipped ones.")
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Search the web, and record the searches in the folder."),
    ] = False,
    backend: Annotated[
        list[str] | None,
        typer.Option(help="Search engine for --live; repeatable, tried in order."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first N samples.")] = None,
    shard: options.ShardName = "1/1",
    repeat: options.Repeats = 1,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the question order and of resamples.")
    ] = 12345,
    resamples: options.Resamples = 2000,
    overwrite: options.Overwrite = False,
    resume: options.Resume = True,
    retry_errors: options.RetryErrors = False,
    allow_changed: options.AllowChangedRows = False,
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
    """Searches, extracts in every format, answers, judges, and compares the formats.

    The same command resumes an interrupted run.
    """
    from eval.harness.journals.row_layout import Shard
    from eval.harness.session import RunLimits
    from eval.harness.systems.settings import parse_settings
    from eval.model.options import ClientOptions
    from eval.skn.files import METRICS, list_run_files
    from eval.skn.options import RunOptions, build_setting
    from eval.skn.run import run
    from eval.skn.search_source import RECORDED, SHIPPED

    setting = build_setting(
        published=as_published,
        hide_question=hide_question,
        constrained=constrained,
        words=words,
        max_tokens=max_tokens,
    )
    limits = RunLimits(
        concurrency=concurrency, max_cost=max_cost, max_consecutive_errors=max_consecutive_errors
    )
    client = ClientOptions.from_flags(
        model=model,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        timeout=timeout,
        retries=retries,
        cache=cache,
        no_cache=no_cache,
        prices=prices,
        out=out / METRICS,
        outputs=[out / RECORDED, *list_run_files(out)],
    )
    finished_run = run(
        RunOptions(
            dataset=dataset or SHIPPED / "samples.json",
            out=out,
            client=client,
            systems=tuple(dict.fromkeys(system or ())),
            settings=parse_settings(set_values or ()),
            ablation=ablation,
            formats=tuple(dict.fromkeys(split_names(formats))),
            setting=setting,
            judge_models=tuple(judge_model or ()),
            judge_repeats=judge_repeats,
            no_judge=no_judge,
            search=search,
            live=live,
            backends=tuple(backend or ()),
            limit=limit,
            shard=Shard.from_text(shard),
            repeats=repeat,
            seed=seed,
            resamples=resamples,
            resume=resume,
            overwrite=overwrite,
            retry_errors=retry_errors,
            allow_changed=allow_changed,
            limits=limits,
        )
    )
    write_results(finished_run, with_report=report)


def write_results(
    finished_run: RunResult[SknManifest],
    *,
    with_report: bool,
    is_asked: bool = True,
    retry: str = "--retry-errors asks again",
    hint: str = "use --retry-errors to ask them again",
) -> None:
    """Writes the outputs and the report of a run, and prints its results.

    Args:
        finished_run: the run.
        with_report: whether the report is written.
        is_asked: whether systems were asked; otherwise their replies existed.
        retry: how lost votes are asked for again.
        hint: how failed rows are asked again, when the cause is fixed.

    Raises:
        TooManyErrorsError: all rows of a pipeline are ERROR.
    """
    from eval.blocks.page import PAGE_STEM
    from eval.blocks.text_format import describe_recordings
    from eval.harness.failed_rows import format_counts, report_failed_run
    from eval.harness.notes import print_notes
    from eval.skn.benchmark import SKN
    from eval.skn.files import SUMMARY
    from eval.skn.outputs import write_outputs
    from eval.skn.summary import describe_comparisons, render_table

    out, manifest = finished_run.folder, finished_run.manifest
    _, report = write_outputs(out)
    if with_report:
        from eval.runs.sections import write_page

        write_page(out)
    for line in (
        *render_table(report, is_judged=manifest.is_judged),
        *describe_comparisons(report),
    ):
        print_text(line)
    print_notes(report.notes, out / SUMMARY)
    total = sum(manifest.counts.values())
    rows = format_count(finished_run.asked if is_asked else total, "row")
    has_earlier = is_asked and finished_run.existing
    existing = f" ({finished_run.existing} were there already)" if has_earlier else ""
    print_text(f"{rows}{existing} → {out}   [{format_counts(manifest.counts)}]")
    if calls := manifest.calls:
        print_text(f"model calls: {calls.format_summary()}")
    for line in describe_recordings([manifest.model or "", manifest.judge_model or ""]):
        print_text(line)
    if with_report:
        print_text(f"report → {out / f'{PAGE_STEM}.html'}")
    if manifest.is_judged and (unjudged := manifest.counts["unjudged"]):
        print_warning(f"{unjudged} of {total} rows lack a judge's vote; {retry}")
    report_failed_run(out, SKN, manifest, field="error", hint=hint)


if __name__ == "__main__":
    run_script(main)
