"""Runs a system on SynthLink's questions: ``epoche synthlink run``, or this file as a script."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eval.synthlink.commands.judge_flags import (
    JudgeModels,
    JudgeRepeats,
    NliFolder,
    build_judge_options,
    report_judge_usage,
)
from kg.base import options
from kg.base.console import print_text, run_script
from kg.base.plain_text import format_count

if TYPE_CHECKING:
    from eval.synthlink.judges.judge_run import JudgeOptions
    from eval.synthlink.verdicts.record import JudgeReport


class PageRetriever(StrEnum):
    """Retrieval method for the page corpus."""

    bm25 = "bm25"
    dense = "dense"
    hybrid = "hybrid"


def main(
    system: Annotated[
        str,
        typer.Option(help="graph_walk, extractive, agent, raw, or your own as mypkg.mod:Class."),
    ] = "graph_walk",
    settings: options.SystemSettings = None,
    out: Annotated[
        Path, typer.Option(help="Folder of the run: rows, predictions, scores, report.")
    ] = Path("results/synthlink"),
    catalog: Annotated[
        Path | None,
        typer.Option(
            help="Catalogue: a folder of Markdown files or a JSONL file. Default: the shipped one."
        ),
    ] = None,
    pages: Annotated[
        Path | None, typer.Option(help="Page corpus to search (JSONL). Default: the shipped one.")
    ] = None,
    retriever: Annotated[
        PageRetriever | None,
        typer.Option(help="Retrieval method for the page corpus.", show_default="bm25"),
    ] = None,
    embedder: Annotated[
        str,
        typer.Option(help="Embedding model of dense and hybrid: folder, hub name or `lexical`."),
    ] = "",
    search: Annotated[
        Path | None,
        typer.Option(help="Recorded web searches to replay, instead of searching the corpus."),
    ] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Search the web instead of the corpus, and record the searches in the folder.",
        ),
    ] = False,
    backend: Annotated[
        list[str] | None,
        typer.Option(help="Search engine for --live; repeatable, tried in order."),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=1, max=5, help="Maximum number of search rounds per question.")
    ] = 5,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Use only the first N questions.")
    ] = None,
    shard: options.ShardName = "1/1",
    repeat: options.Repeats = 1,
    model: options.ModelName = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of tokens of a reply.", show_default="1500"),
    ] = None,
    compare: Annotated[
        list[Path] | None,
        typer.Option(help="Other predictions to compare this run with; repeatable."),
    ] = None,
    judge_model: JudgeModels = None,
    judge_repeats: JudgeRepeats = None,
    nli: NliFolder = None,
    no_score: Annotated[
        bool, typer.Option("--no-score", help="Only write rows and predictions.")
    ] = False,
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
) -> None:
    """Lets a system search, read, link and answer, and scores its answers.

    The same command resumes an interrupted run.
    """
    from eval.blocks.page import PAGE_STEM
    from eval.blocks.text_format import describe_recordings
    from eval.harness.failed_rows import format_counts, report_failed_run
    from eval.harness.journals.row_layout import Shard
    from eval.harness.session import RunLimits
    from eval.harness.systems.settings import parse_settings
    from eval.model.options import ClientOptions
    from eval.synthlink.answer_source import find_source, get_system_source
    from eval.synthlink.benchmark import SYNTHLINK
    from eval.synthlink.files import PREDICTIONS, ROWS, list_run_files
    from eval.synthlink.options import RunOptions
    from eval.synthlink.predictions import read_predictions
    from eval.synthlink.run import run
    from eval.synthlink.verdicts.record import JUDGED_FILE
    from kg.base.errors import SettingError
    from kg.base.files import check_output

    if no_score and compare:
        raise SettingError(
            "--compare needs scores, which --no-score skips",
            where="--no-score, --compare",
            hint="Drop one of the two.",
        )
    for flag, judge_given in (("--judge-model", judge_model), ("--nli", nli)):
        if no_score and judge_given:
            raise SettingError(
                f"{flag} needs scores, which --no-score skips",
                where=f"--no-score, {flag}",
                hint="Drop one of the two.",
            )
    for path in compare or []:  # unreadable files must fail before any paid call
        read_predictions(path, ())
        for output in list_run_files(out):
            check_output(output, [path])
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
        out=out / ROWS,
        outputs=[*list_run_files(out), out / JUDGED_FILE],
    )
    limits = RunLimits(
        concurrency=concurrency, max_cost=max_cost, max_consecutive_errors=max_consecutive_errors
    )
    judge = build_judge_options(
        judge_model,
        judge_repeats,
        client=client,
        limits=limits,
        answerers=lambda: (
            get_system_source(system, model),
            *map(find_source, compare or ()),
        ),
        nli=nli,
    )
    done = run(
        RunOptions(
            system=system,
            settings=parse_settings(settings or ()),
            out=out,
            catalog=catalog,
            pages=pages,
            retriever=None if retriever is None else retriever.value,
            embedder=embedder,
            search=search,
            live=live,
            backends=tuple(backend or ()),
            rounds=rounds,
            client=client,
            max_tokens=max_tokens,
            limit=limit,
            shard=Shard.from_text(shard),
            repeats=repeat,
            seed=seed,
            resume=resume,
            overwrite=overwrite,
            retry_errors=retry_errors,
            allow_changed=allow_changed,
            limits=limits,
        )
    )
    manifest = done.manifest
    judge_report = None
    if not no_score:
        judge_report = _score_run(
            out / PREDICTIONS,
            catalog,
            pages,
            compare or [],
            seed=seed,
            resamples=resamples,
            limit=limit,
            judge=judge and replace(judge, earlier_totals=manifest.calls),
        )
    existing = f" ({done.existing} were there already)" if done.existing else ""
    questions = format_count(done.asked, "question")
    print_text(f"{questions}{existing} → {out}   [{format_counts(manifest.counts)}]")
    if calls := manifest.calls:
        print_text(f"model calls: {calls.format_summary()}")
    for line in describe_recordings([manifest.model or ""]):
        print_text(line)
    if not no_score:
        print_text(f"report → {out / f'{PAGE_STEM}.html'}")
    report_judge_usage(judge_report, out / JUDGED_FILE)
    report_failed_run(out, SYNTHLINK, manifest, field="error")


def _score_run(
    predictions: Path,
    catalog: Path | None,
    pages: Path | None,
    compare: list[Path],
    *,
    seed: int,
    resamples: int,
    limit: int | None,
    judge: JudgeOptions | None,
) -> JudgeReport | None:
    """Scores a run in its own folder, prints the scores, and returns the judge's report."""
    from eval.synthlink.score_files import score_and_print
    from eval.synthlink.scoring.options import ScoreOptions

    return score_and_print(
        ScoreOptions(
            predictions=predictions,
            output_dir=predictions.parent,
            catalog=catalog,
            # The evidence of the shipped questions is the shipped corpus, even if the system
            # searched another one.
            pages=None if catalog is None or pages is None else str(pages),
            compare=tuple(compare),
            seed=seed,
            resamples=resamples,
            limit=limit,
        ),
        judge,
    )


if __name__ == "__main__":
    run_script(main)
