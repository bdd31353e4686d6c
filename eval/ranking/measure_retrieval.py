"""Evaluates retrievers on labelled questions: ``epoche retrieval eval``, or this as a script."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_text, run_script, track_progress
from kg.base.options import Confidence, Resamples, ResampleSeed, RunFolder

if TYPE_CHECKING:
    from rich.table import Table

    from eval.ranking.collector import RankingCollector
    from eval.ranking.questions import Question
    from eval.ranking.rankings import Rankings
    from eval.ranking.record import Ablation, Tuning
    from retrieval.ensemble import Method

DEFAULT_BASELINES = ("bm25", "dense", "hybrid")
DEFAULT_RETRIEVERS = ("kg", "section_tree", "ensemble")
_PIPE_WIDTH = 160
"""Columns of a table that is written to a file or pipe, where the terminal's width is unknown."""


class SplitChoice(StrEnum):
    """Which questions are used."""

    dev = "dev"
    test = "test"
    all = "all"


def main(
    run: RunFolder,
    questions: Annotated[
        Path, typer.Option(help="Labelled questions (JSONL) about the run's chunks.")
    ],
    retriever: Annotated[
        list[str] | None,
        typer.Option(
            help="Retriever to evaluate; repeatable. Default: kg, section_tree and ensemble.",
        ),
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
        typer.Option(help="Model of the retriever dense: a folder or hub name; default MiniLM."),
    ] = "",
    resamples: Resamples = 2000,
    seed: ResampleSeed = 12345,
    confidence: Confidence = 0.95,
) -> None:
    """Evaluates retrievers on labelled questions, with significance tests.

    Computes recall, nDCG, reciprocal rank and all-gold-found with ir_measures, with intervals;
    paired differences from each baseline with Holm-adjusted p-values; and how well the best score
    separates questions with and without an answer. docs/retrieval.md defines each number.
    """
    from eval.metrics.measurement import ResamplingPlan
    from eval.ranking.ablation import ENSEMBLE, TUNED_ENSEMBLE, TUNED_HYBRID
    from eval.ranking.collector import RankingCollector
    from eval.ranking.outputs import OUTPUT_FILES, render_outputs
    from eval.ranking.questions import read_questions, select_split
    from eval.ranking.record import Ablation, Corpus
    from eval.ranking.report_builder import build_report, describe_questions
    from eval.ranking.text import build_table, describe_report
    from kg.base.files import check_output, sha256_file, write_files_atomic
    from kg.text.run.folder import open_run
    from retrieval.factory import RUN_RETRIEVERS

    if tune and split is not SplitChoice.test:
        raise typer.BadParameter("--tune uses the dev questions, so it needs --split test")
    if other_run is not None and not ablate:
        raise typer.BadParameter("--other-run needs --ablate")
    baselines = list(dict.fromkeys(baseline or DEFAULT_BASELINES))
    names = [*baselines, *(retriever or DEFAULT_RETRIEVERS)]
    for name in names:
        if name not in RUN_RETRIEVERS:
            raise typer.BadParameter(
                f"unknown retriever {name!r}; known: {', '.join(RUN_RETRIEVERS)}"
            )
    for name in OUTPUT_FILES:
        check_output(out / name, [questions])
    collector = RankingCollector(open_run(run), embedder, _show_progress)
    other_collector = (
        None
        if other_run is None
        else RankingCollector(open_run(other_run), embedder, _show_progress)
    )
    all_questions = read_questions(questions, collector.ids)
    selected = select_split(all_questions, split.value, questions)
    if ablate or tune:
        names += [*collector.list_components(ENSEMBLE), ENSEMBLE]
    rankings = collector.collect_rankings(names, selected)
    ablations: list[tuple[Ablation, Rankings]] = []
    tuning: dict[str, Tuning] = {}
    if tune:
        dev = select_split(all_questions, "dev", questions)
        tuning, tuned_rankings = _tune_fusions(collector, dev, selected, rankings)
        rankings |= tuned_rankings
        tuned_pair = Ablation(
            TUNED_ENSEMBLE, TUNED_HYBRID, "What does the graph add where both are tuned?"
        )
        ablations.append((tuned_pair, tuned_rankings[TUNED_HYBRID]))
    if ablate:
        ablations += _rank_ablations(collector, other_collector, selected, rankings)
    report = build_report(
        selected,
        rankings,
        baselines=baselines,
        corpus=Corpus(
            run=collector.run.sha256, n_chunks=len(collector.ids), config=collector.run.config
        ),
        questions_record=describe_questions(
            selected, collector.passages, sha256_file(questions), split.value
        ),
        plan=ResamplingPlan(resamples=resamples, seed=seed, confidence=confidence),
        ablations=ablations,
        tuning=tuning,
    )
    variants = {variant.name: variant for _, variant in ablations if variant.name not in rankings}
    write_files_atomic(render_outputs(out, report, selected, rankings, variants))
    _print_table(build_table(report))
    for line in describe_report(report):
        print_text(line)
    print_text(report.signature)
    print_text(f"{len(rankings)} retrievers on {len(selected)} questions → {out}")


def _tune_fusions(
    collector: RankingCollector,
    dev: Sequence[Question],
    questions: Sequence[Question],
    rankings: Mapping[str, Rankings],
) -> tuple[dict[str, Tuning], dict[str, Rankings]]:
    """Tunes ``ensemble`` and ``hybrid`` on the dev questions, and ranks the test questions.

    Args:
        collector: ranks questions.
        dev: the dev questions.
        questions: the test questions.
        rankings: the components' rankings of the test questions, by name.

    Returns:
        The chosen settings and the rankings of the tuned retrievers, by their names.

    Raises:
        RecordError: no dev question has gold.
    """
    from eval.ranking.ablation import ENSEMBLE, TUNED_ENSEMBLE, TUNED_HYBRID, RankingFuser
    from eval.ranking.tuner import tune_fusion

    ensemble_components = collector.list_components(ENSEMBLE)
    dev_rankings = collector.collect_rankings(ensemble_components, dev)
    fuser = RankingFuser(collector.passages, questions)
    tuning: dict[str, Tuning] = {}
    tuned_rankings: dict[str, Rankings] = {}
    for name, tries_pagerank, names in (
        (TUNED_HYBRID, False, collector.list_components("hybrid")),
        (TUNED_ENSEMBLE, True, ensemble_components),
    ):
        # The sets of components to choose from, with their rankings of the dev and test questions.
        dev_component_sets = [{component: dev_rankings[component] for component in names}]
        test_component_sets = [{component: rankings[component] for component in names}]
        if tries_pagerank:
            dev_component_sets.append(collector.use_pagerank(dev_component_sets[0], dev))
            test_component_sets.append(collector.use_pagerank(test_component_sets[0], questions))
        best_tuning = tune_fusion(
            RankingFuser(collector.passages, dev),
            dev_component_sets,
            lambda settings: track_progress(settings, what="settings", total=len(settings)),
        )
        chosen_rankings = next(
            list(components.values())
            for components in test_component_sets
            if tuple(components) == best_tuning.components
        )
        method: Method = "linear" if best_tuning.fusion == "linear" else "rrf"
        tuning[name] = best_tuning
        tuned_rankings[name] = fuser.fuse_rankings(
            chosen_rankings, name, best_tuning.weights, method
        )
    return tuning, tuned_rankings


def _rank_ablations(
    collector: RankingCollector,
    other_collector: RankingCollector | None,
    questions: Sequence[Question],
    rankings: Mapping[str, Rankings],
) -> list[tuple[Ablation, Rankings]]:
    """Makes the variants of the ensemble and of its components."""
    from eval.ranking.ablation import ENSEMBLE, RankingFuser, iter_ablations

    component_variants = collector.rank_variants(questions)
    if other_collector is not None:
        component_variants += collector.rank_other_run(other_collector, questions)
    components = {name: rankings[name] for name in collector.list_components(ENSEMBLE)}
    fuser = RankingFuser(collector.passages, questions)
    # As many as ``iter_ablations`` yields at most; needed only for the progress display.
    total = len(components) + 2 + 2 * len(component_variants)
    return list(
        track_progress(
            iter_ablations(fuser, components, component_variants), what="ablations", total=total
        )
    )


def _show_progress(questions: Sequence[Question], name: str) -> Iterable[Question]:
    return track_progress(questions, what=name, total=len(questions))


def _print_table(table: Table) -> None:
    """Prints a table: as wide as the terminal, or ``_PIPE_WIDTH`` columns in a file or pipe."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    Console(width=width).print(table, markup=False, highlight=False)


if __name__ == "__main__":
    run_script(main)
