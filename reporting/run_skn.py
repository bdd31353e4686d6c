"""Compares JSON and SKN on the samples: ``epoche skn run``, or this file as a script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base import options
from kg.base.console import run_script, say, warn

if TYPE_CHECKING:
    from eval.skn.scoring.record import SknReport

CATEGORIES = "categories.csv"


def main(
    dataset: Annotated[
        Path | None,
        typer.Option(help="Samples (JSON array or JSON lines); by default those shipped."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder of the run: rows, manifest, and all that is made of them.")
    ] = Path("results/skn"),
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Compare all formats, not only JSON and SKN.")
    ] = False,
    offline: Annotated[
        bool,
        typer.Option(
            "--offline",
            help="Rules instead of models: what a format keeps of a text, and no more than that.",
        ),
    ] = False,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="The published prompts and ways, unfair as they are."),
    ] = False,
    hide_question: Annotated[
        bool, typer.Option("--hide-question", help="Show the question to no extractor.")
    ] = False,
    constrained: Annotated[
        bool,
        typer.Option("--constrained", help="Let the server constrain JSON, as it cannot do SKN."),
    ] = False,
    words: Annotated[
        int | None, typer.Option(min=20, help="Budget of an extraction in words.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Most tokens of a reply.")] = None,
    model: options.ModelName = None,
    judge_model: Annotated[
        list[str] | None,
        typer.Option(
            help="Who judges, repeatable; `same`: whoever answers. By default EPOCHE_JUDGE_MODEL."
        ),
    ] = None,
    judge_repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Votes of each judge on every matter.", show_default="2"),
    ] = None,
    search: Annotated[
        Path | None, typer.Option(help="Replay these searches; by default those shipped.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Search the web, and record it in the folder.")
    ] = False,
    backend: Annotated[
        list[str] | None, typer.Option(help="Engine of a live search; repeatable, asked in turn.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask only the first so many samples.")
    ] = None,
    repeat: options.Repeats = 1,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the order of questions, and of resamples.")
    ] = 12345,
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
) -> None:
    """Searches, extracts in every format, answers, judges, and says what the data can tell.

    A run that was cut off goes on where it stopped when the same command is given again.
    """
    from eval.model.options import ClientOptions
    from eval.running.failed_rows import report_failed
    from eval.running.session import Limits
    from eval.skn.outputs import write_outputs, written_by
    from eval.skn.running.output_files import SUMMARY
    from eval.skn.running.run import run
    from eval.skn.running.run_options import RunOptions, setting_of
    from eval.skn.running.searching import SHIPPED
    from eval.skn.summary import table, verdicts
    from kg.base.files import write_text_atomic
    from reporting.benchmark_sections.page import write_page
    from reporting.benchmark_sections.spoken import say_notes

    setting = setting_of(
        published=as_published,
        hide_question=hide_question,
        constrained=constrained,
        words=words,
        max_tokens=max_tokens,
    )
    limits = Limits(
        concurrency=concurrency, max_cost=max_cost, max_consecutive_errors=max_consecutive_errors
    )
    client = ClientOptions.of_flags(
        model=model,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        timeout=timeout,
        retries=retries,
        cache=cache,
        no_cache=no_cache,
        prices=prices,
        out=out / CATEGORIES,
        written=[out / CATEGORIES, *written_by(out)],
    )
    done = run(
        RunOptions(
            dataset=dataset or SHIPPED / "samples.json",
            out=out,
            client=client,
            ablation=ablation,
            offline=offline,
            setting=setting,
            judge_models=tuple(judge_model or ()),
            judge_repeats=judge_repeats,
            search=search,
            live=live,
            backends=tuple(backend or ()),
            limit=limit,
            repeats=repeat,
            seed=seed,
            resume=resume,
            overwrite=overwrite,
            retry_errors=retry_errors,
            limits=limits,
        )
    )
    _, report = write_outputs(done, resamples=resamples)
    write_text_atomic(out / CATEGORIES, _categories(report))
    write_page(out)
    for line in (*table(report), *verdicts(report)):
        say(line)
    say_notes(report.notes, out / SUMMARY)
    kept = f" ({done.kept} were there already)" if done.kept else ""
    say(f"{done.asked} rows{kept} → {out}")
    if calls := done.manifest.calls:
        say(f"model calls: {calls.in_words()}")
    counts = done.manifest.counts
    total = sum(counts.values())
    if unjudged := counts["unjudged"]:
        warn(f"{unjudged} of {total} rows lack a judge's call; --retry-errors asks them again")
    report_failed(counts["ERROR"], total, field="error", where=out)


def _categories(report: SknReport) -> str:
    """Every metric by category and pipeline, as CSV."""
    from reporting.guarded_text import to_csv

    head = ("category", "pipeline", "metric", "value", "low", "high", "method", "n", "missing")

    def rows() -> Iterator[tuple[object, ...]]:
        for category in report.categories:
            for name, pipeline in report.pipelines.items():
                for metric, one in pipeline.per_category.get(category, {}).items():
                    spread = (one.value, one.low, one.high, one.method)
                    yield (category, name, metric, *spread, one.n, one.missing)

    return to_csv(head, rows())


if __name__ == "__main__":
    run_script(main)
