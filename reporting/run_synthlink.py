"""Puts SynthLink's questions to a system: ``epoche synthlink run``, or this file as a script."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base import options
from kg.base.console import run_script, say
from reporting.judging_flags import JudgeModels, JudgeRepeats, judge_of_flags, report_judge

if TYPE_CHECKING:
    from eval.synthlink.judging.judging_run import JudgeOptions
    from eval.synthlink.verdicts.record import JudgeReport


class PageRetriever(StrEnum):
    """How pages are searched."""

    bm25 = "bm25"
    dense = "dense"
    hybrid = "hybrid"


def main(
    system: Annotated[
        str,
        typer.Option(help="graph_walk, extractive, agent, raw, or your own: mypkg.mod:Class."),
    ] = "graph_walk",
    out: Annotated[
        Path, typer.Option(help="Folder of the run: rows, predictions, scores, report.")
    ] = Path("results/synthlink"),
    catalog: Annotated[
        Path | None,
        typer.Option(
            help="Catalogue: a folder of Markdown or a JSONL file; by default that shipped."
        ),
    ] = None,
    pages: Annotated[
        Path | None, typer.Option(help="Corpus (JSONL) that is searched; by default that shipped.")
    ] = None,
    retriever: Annotated[
        PageRetriever | None, typer.Option(help="How it is searched.", show_default="bm25")
    ] = None,
    embedder: Annotated[
        str, typer.Option(help="Of dense and hybrid: a folder or hub name, or `lexical`.")
    ] = "",
    search: Annotated[
        Path | None, typer.Option(help="Replay these searches of the web instead.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Search the web instead, and record it in the folder.")
    ] = False,
    backend: Annotated[
        list[str] | None, typer.Option(help="Engine of a live search; repeatable, asked in turn.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=5, help="Iterations a system has.")] = 5,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask only the first so many questions.")
    ] = None,
    model: options.ModelName = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Most tokens of a reply.", show_default="1500")
    ] = None,
    compare: Annotated[
        list[Path] | None,
        typer.Option(help="Predictions of others to hold this run against; repeatable."),
    ] = None,
    judge_model: JudgeModels = None,
    judge_repeats: JudgeRepeats = None,
    no_score: Annotated[
        bool, typer.Option("--no-score", help="Write rows and predictions, and stop there.")
    ] = False,
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
    """Lets a system search, read, link and answer, and scores what it says.

    A run that was cut off goes on where it stopped when the same command is given again.
    """
    from eval.model.options import ClientOptions
    from eval.running.failed_rows import report_failed
    from eval.running.session import Limits
    from eval.synthlink.predictions import read_predictions
    from eval.synthlink.running.answerer import answerer_of, answerer_of_system
    from eval.synthlink.running.output_files import ROWS, written_by
    from eval.synthlink.running.run import run
    from eval.synthlink.running.run_options import RunOptions
    from eval.synthlink.verdicts.record import JUDGED
    from kg.base.errors import SettingError
    from kg.base.files import check_output

    if no_score and compare:
        raise SettingError(
            "what is compared is scored",
            where="--no-score, --compare",
            hint="Leave one of them out.",
        )
    if no_score and judge_model:
        raise SettingError(
            "what is judged is scored",
            where="--no-score, --judge-model",
            hint="Leave one of them out.",
        )
    for path in compare or []:  # before anybody is asked, and perhaps paid
        read_predictions(path, ())
        for made in written_by(out):
            check_output(made, [path])
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
        out=out / ROWS,
        written=[*written_by(out), out / JUDGED],
    )
    limits = Limits(
        concurrency=concurrency, max_cost=max_cost, max_consecutive_errors=max_consecutive_errors
    )
    judge = judge_of_flags(
        judge_model,
        judge_repeats,
        client=client,
        limits=limits,
        answerers=lambda: (
            answerer_of_system(system, model),
            *map(answerer_of, compare or ()),
        ),
    )
    done = run(
        RunOptions(
            system=system,
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
            seed=seed,
            resume=resume,
            overwrite=overwrite,
            retry_errors=retry_errors,
            limits=limits,
        )
    )
    manifest = done.manifest
    told = None
    if not no_score:
        told = _score(
            done.predictions,
            catalog,
            pages,
            compare or [],
            seed=seed,
            resamples=resamples,
            judge=judge and replace(judge, spent=manifest.calls),
        )
    counts = manifest.counts
    kept = f" ({done.kept} were there already)" if done.kept else ""
    ended = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    say(f"{done.asked} questions{kept} → {out}: {ended}")
    if calls := manifest.calls:
        say(f"model calls: {calls.in_words()}")
    report_judge(told, out / JUDGED)
    report_failed(counts["ERROR"], sum(counts.values()), field="error", where=out / ROWS)


def _score(
    predictions: Path,
    catalog: Path | None,
    pages: Path | None,
    compare: list[Path],
    *,
    seed: int,
    resamples: int,
    judge: JudgeOptions | None,
) -> JudgeReport | None:
    """Scores a run in its own folder, and says what came of it."""
    from eval.synthlink.score_options import ScoreOptions
    from reporting.synthlink_files import score_and_say

    return score_and_say(
        ScoreOptions(
            predictions=predictions,
            output_dir=predictions.parent,
            catalog=catalog,
            # Of the shipped questions, the shipped pages are the evidence, whatever was searched.
            pages=None if catalog is None or pages is None else str(pages),
            compare=tuple(compare),
            seed=seed,
            resamples=resamples,
        ),
        judge,
    )


if __name__ == "__main__":
    run_script(main)
