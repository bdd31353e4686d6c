"""Measures retrievers on labelled questions: ``epoche retrieval eval``, or this as a script."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import progress, run_script, say
from kg.base.options import Confidence, Resamples, ResampleSeed, RunFolder

if TYPE_CHECKING:
    from rich.table import Table

    from eval.ranking.gathering import Gathering
    from eval.ranking.questions import Question
    from eval.ranking.rankings import Rankings
    from eval.ranking.record import Ablation, Tuning
    from retrieval.ensemble import Method

BASELINES = ("bm25", "dense", "hybrid")
RETRIEVERS = ("kg", "section_tree", "ensemble")
_WIDE = 160


class SplitChoice(StrEnum):
    """Which questions are asked."""

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
            help="What to measure; repeatable. By default kg, section_tree and ensemble.",
        ),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            help="What to hold it against; repeatable. By default bm25, dense and hybrid.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of what is written.")] = Path(
        "results/retrieval"
    ),
    split: Annotated[
        SplitChoice, typer.Option(help="Which questions; choose nothing by looking at test.")
    ] = SplitChoice.test,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Measure what each part of the ensemble adds.")
    ] = False,
    tune: Annotated[
        bool, typer.Option("--tune", help="Tune the ensemble on dev and measure it on test.")
    ] = False,
    other_run: Annotated[
        Path | None,
        typer.Option(help="With --ablate: a run of the same chunks built otherwise."),
    ] = None,
    embedder: Annotated[
        str, typer.Option(help="Model of dense: a folder or hub name; by default MiniLM.")
    ] = "",
    resamples: Resamples = 2000,
    seed: ResampleSeed = 12345,
    confidence: Confidence = 0.95,
) -> None:
    """Measures retrievers on labelled questions and says what can be told from chance.

    Recall, nDCG, reciprocal rank and all-gold-found through ir_measures, with intervals; paired
    differences against each baseline, Holm-adjusted; for questions without an answer, how often
    the best score is as high as for those with one. docs/retrieval.md says what each number means.
    """
    from eval.ranking.ablation import TUNED, TUNED_TEXT, WHOLE
    from eval.ranking.gathering import Gathering
    from eval.ranking.measuring import Plan, measure, question_set
    from eval.ranking.outputs import FILES, contents
    from eval.ranking.questions import of_split, read_questions
    from eval.ranking.record import Ablation, Corpus
    from eval.ranking.words import spoken, table
    from kg.base.files import check_output, sha256_file, write_files_atomic
    from kg.text.run.folder import open_run
    from retrieval.opening import NAMES

    if tune and split is not SplitChoice.test:
        raise typer.BadParameter("--tune looks at dev, so only --split test can be measured then")
    if other_run is not None and not ablate:
        raise typer.BadParameter("--other-run goes with --ablate")
    baselines = list(dict.fromkeys(baseline or BASELINES))
    names = [*baselines, *(retriever or RETRIEVERS)]
    for name in names:
        if name not in NAMES:
            raise typer.BadParameter(f"no retriever {name!r}: one of {', '.join(NAMES)}")
    for name in FILES:
        check_output(out / name, [questions])
    gathering = Gathering(open_run(run), embedder, _watched)
    other = None if other_run is None else Gathering(open_run(other_run), embedder, _watched)
    labelled = read_questions(questions, gathering.ids)
    asked = of_split(labelled, split.value, questions)
    if ablate or tune:
        names += [*gathering.parts(WHOLE), WHOLE]
    found = gathering.rankings(names, asked)
    ablations: list[tuple[Ablation, Rankings]] = []
    tuning: dict[str, Tuning] = {}
    if tune:
        dev = of_split(labelled, "dev", questions)
        tuning, tuned = _tuned(gathering, dev, asked, found)
        found |= tuned
        told_apart = Ablation(TUNED, TUNED_TEXT, "What does the graph add where both are tuned?")
        ablations.append((told_apart, tuned[TUNED_TEXT]))
    if ablate:
        ablations += _ablations(gathering, other, asked, found)
    report = measure(
        asked,
        found,
        baselines=baselines,
        corpus=Corpus(
            run=gathering.run.sha256, n_chunks=len(gathering.ids), config=gathering.run.config
        ),
        asked=question_set(asked, gathering.passages, sha256_file(questions), split.value),
        plan=Plan(resamples=resamples, seed=seed, confidence=confidence),
        ablations=ablations,
        tuning=tuning,
    )
    varied = {one.name: one for _, one in ablations if one.name not in found}
    write_files_atomic(contents(out, report, asked, found, varied))
    _print(table(report))
    for line in spoken(report):
        say(line)
    say(report.signature)
    say(f"{len(found)} retrievers on {len(asked)} questions → {out}")


def _tuned(
    gathering: Gathering,
    dev: Sequence[Question],
    asked: Sequence[Question],
    found: Mapping[str, Rankings],
) -> tuple[dict[str, Tuning], dict[str, Rankings]]:
    """What was chosen on dev for the ensemble and for hybrid, and what both find for those asked.

    Raises:
        RecordError: no dev question has gold.
    """
    from eval.ranking.ablation import TUNED, TUNED_TEXT, WHOLE, Fuser
    from eval.ranking.tuning import tune

    parts = gathering.parts(WHOLE)
    on_dev = gathering.rankings(parts, dev)
    fuser = Fuser(gathering.passages, asked)
    tuning: dict[str, Tuning] = {}
    rankings: dict[str, Rankings] = {}
    for name, either_walk, names in (
        (TUNED_TEXT, False, gathering.parts("hybrid")),
        (TUNED, True, parts),
    ):
        sets = [{part: on_dev[part] for part in names}]
        sets_asked = [{part: found[part] for part in names}]
        if either_walk:
            sets.append(gathering.by_pagerank(sets[0], dev))
            sets_asked.append(gathering.by_pagerank(sets_asked[0], asked))
        chosen = tune(
            Fuser(gathering.passages, dev),
            sets,
            lambda tried: progress(tried, what="settings", total=len(tried)),
        )
        used = next(list(one.values()) for one in sets_asked if tuple(one) == chosen.components)
        method: Method = "linear" if chosen.fusion == "linear" else "rrf"
        tuning[name] = chosen
        rankings[name] = fuser.fuse(used, name, chosen.weights, method)
    return tuning, rankings


def _ablations(
    gathering: Gathering,
    other: Gathering | None,
    asked: Sequence[Question],
    found: Mapping[str, Rankings],
) -> list[tuple[Ablation, Rankings]]:
    """The variants of the ensemble and of its components."""
    from eval.ranking.ablation import WHOLE, Fuser, variants

    alternatives = gathering.alternatives(asked)
    if other is not None:
        alternatives += gathering.of_another_run(other, asked)
    components = {name: found[name] for name in gathering.parts(WHOLE)}
    fuser = Fuser(gathering.passages, asked)
    total = len(components) + 2 + 2 * len(alternatives)
    return list(progress(variants(fuser, components, alternatives), what="ablations", total=total))


def _watched(questions: Sequence[Question], name: str) -> Iterable[Question]:
    return progress(questions, what=name, total=len(questions))


def _print(table: Table) -> None:
    """Shows a table; in a file or pipe it is as wide as it needs to be."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _WIDE
    Console(width=width).print(table, markup=False, highlight=False)


if __name__ == "__main__":
    run_script(main)
