"""Evaluates retrievers on labelled questions: ``epoche retrieval eval``, or this as a script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base import options
from kg.base.console import print_text, run_script, track_progress
from kg.base.plain_text import format_count

if TYPE_CHECKING:
    from eval.harness.base_run import RunResult
    from eval.retrieval_eval.manifest import RetrievalManifest
    from eval.retrieval_eval.record import RetrievalReport
    from eval.retrieval_eval.systems.tuner import FusionSetting

DEFAULT_BASELINES = ("bm25", "dense", "hybrid")
DEFAULT_RETRIEVERS = ("facts", "kg", "section_tree", "ensemble")


class SplitChoice(StrEnum):
    """Which questions are used."""

    dev = "dev"
    test = "test"
    all = "all"


def main(
    run: options.RunFolder,
    questions: Annotated[
        Path, typer.Option(help="Labelled questions (JSONL) about the run's chunks.")
    ],
    retriever: Annotated[
        list[str] | None,
        typer.Option(
            help="Retriever to evaluate; repeatable. Default: facts, kg, section_tree, ensemble; "
            "none with --system.",
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            help="Your own retriever: mypkg.mod:Class or callable:mypkg.mod:function; repeatable.",
        ),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of --system; repeatable."),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            help="Baseline to compare with; repeatable. Default: bm25, dense and hybrid.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Output folder.")] = Path("results/retrieval"),
    split: Annotated[
        SplitChoice, typer.Option(help="Questions to use. Do not choose settings on test.")
    ] = SplitChoice.test,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Measure what each part of the ensemble adds.")
    ] = False,
    tune: Annotated[
        bool, typer.Option("--tune", help="Tune the ensemble on dev and evaluate it on test.")
    ] = False,
    other_run: Annotated[
        Path | None,
        typer.Option(help="With --ablate: another run of the same chunks to compare with."),
    ] = None,
    embedder: Annotated[
        str,
        typer.Option(help="Model of dense and facts: a folder or hub name; default MiniLM."),
    ] = "",
    facts: Annotated[
        Path | None,
        typer.Option(help="Facts about the run's chunks (JSONL); default: found by rules."),
    ] = None,
    resamples: options.Resamples = 2000,
    seed: options.ResampleSeed = 12345,
    confidence: options.Confidence = 0.95,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Use only the first N questions.")
    ] = None,
    shard: options.ShardName = "1/1",
    repeat: options.Repeats = 1,
    overwrite: options.Overwrite = False,
    resume: options.Resume = True,
    retry_errors: options.RetryErrors = False,
    allow_changed: options.AllowChangedRows = False,
    concurrency: options.Concurrency = 16,
    max_cost: options.MaxCost = None,
    max_consecutive_errors: options.MaxConsecutiveErrors = 50,
) -> None:
    """Evaluates retrievers on labelled questions, with significance tests.

    Computes recall, nDCG, reciprocal rank and all-gold-found with ir_measures, with intervals;
    paired differences from each baseline with Holm-adjusted p-values; and how well the best score
    separates questions with and without an answer. docs/reference/retrieval.md defines each number.

    The same command resumes an interrupted run.
    """
    from eval.harness.base_run import RunFlags
    from eval.harness.journals.row_layout import Shard
    from eval.harness.session import RunLimits
    from eval.harness.systems.settings import parse_settings
    from eval.retrieval_eval.run import RunOptions
    from eval.retrieval_eval.run import run as run_retrievers
    from retrieval.names import RUN_RETRIEVERS

    if pairs and not system:
        raise typer.BadParameter("--set needs --system")
    if tune and split is not SplitChoice.test:
        raise typer.BadParameter("--tune uses the dev questions, so it needs --split test")
    if other_run is not None and not ablate:
        raise typer.BadParameter("--other-run needs --ablate")
    baselines = list(dict.fromkeys(baseline or DEFAULT_BASELINES))
    names = [*baselines, *(retriever or (() if system else DEFAULT_RETRIEVERS))]
    for name in names:
        if name not in RUN_RETRIEVERS:
            raise typer.BadParameter(
                f"unknown retriever {name!r}; known: {', '.join(RUN_RETRIEVERS)}"
            )
    done = run_retrievers(
        RunOptions(
            flags=RunFlags(
                out=out,
                resume=resume,
                overwrite=overwrite,
                retry_errors=retry_errors,
                allow_changed=allow_changed,
                limits=RunLimits(
                    concurrency=concurrency,
                    max_cost=max_cost,
                    max_consecutive_errors=max_consecutive_errors,
                ),
            ),
            run=run,
            questions=questions,
            retrievers=names,
            foreign=tuple(dict.fromkeys(system or ())),
            settings=parse_settings(pairs or ()),
            baselines=baselines,
            split=split.value,
            ablate=ablate,
            tune=tune,
            other_run=other_run,
            embedder=embedder,
            facts=facts,
            limit=limit,
            shard=Shard.from_text(shard),
            repeats=repeat,
            resamples=resamples,
            seed=seed,
            confidence=confidence,
            progress=_show_settings,
        )
    )
    report = print_report(out)
    _print_counts(done, len(report.retrievers), report.questions.n)


def print_report(out: Path) -> RetrievalReport:
    """Writes the outputs of a run, prints its metrics and comparisons, and returns them."""
    from eval.retrieval_eval.outputs import write_outputs
    from eval.retrieval_eval.text import build_table, describe_report
    from kg.base.table_printer import print_table

    report = write_outputs(out)
    print_table(build_table(report))
    for line in describe_report(report):
        print_text(line)
    print_text(report.signature)
    return report


def _print_counts(done: RunResult[RetrievalManifest], n_retrievers: int, n_questions: int) -> None:
    from eval.harness.failed_rows import format_counts, report_failed_run
    from eval.retrieval_eval.benchmark import RETRIEVAL

    existing = f" ({done.existing} rankings were there already)" if done.existing else ""
    retrievers = format_count(n_retrievers, "retriever")
    questions = format_count(n_questions, "question")
    counts = format_counts(done.manifest.counts)
    print_text(f"{retrievers} on {questions}{existing} → {done.folder}   [{counts}]")
    report_failed_run(done.folder, RETRIEVAL, done.manifest, field="problem")


def _show_settings(settings: Sequence[FusionSetting]) -> Iterable[FusionSetting]:
    return track_progress(settings, what="settings", total=len(settings))


if __name__ == "__main__":
    run_script(main)
