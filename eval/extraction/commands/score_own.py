"""Scores the toolkit's own extractors: ``epoche extract score-own``, or this file as a script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base import options
from kg.base.console import print_text, run_script, show_stages

if TYPE_CHECKING:
    from eval.extraction.own_extractors.scored_folder import ScoredRunInfo
    from eval.extraction.samples.sample import Sample
    from eval.harness.reply import Reply
    from kg.knowledge import KnowledgeBase

    ScoringInput = tuple[Sequence[Sample], Sequence[Reply], ScoredRunInfo]


def main(
    out: Annotated[Path, typer.Option(help="Folder of the scored run.")],
    skn: Annotated[
        Path | None,
        typer.Option(help="Run folder of `epoche skn run` to score."),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(help="Gold samples, with the ids of the run's samples or chunks."),
    ] = None,
    proposals: Annotated[
        Path | None,
        typer.Option(
            help="The .proposals.jsonl of `epoche kg extract` to score. Default: extract by rules."
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option("--run", help="Run folder of `epoche kg build` with the extracted chunks."),
    ] = None,
    kg: options.GraphFiles = None,
    shapes: options.ShapesFiles = None,
    domain: options.DomainName = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first N texts.")] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 2000,
    overwrite: options.Overwrite = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write the report.")] = True,
) -> None:
    """Scores the output of the toolkit's own extractors as structured extraction; calls no model.

    SKN and JSON documents that were extracted from search results are scored against gold documents
    (twelve are shipped).
    With a graph (--domain or --kg), triples extracted from texts are scored against the graph's
    triples. The texts are those of --gold, or the chunks of --run, or else the graph's facts as
    sentences.
    """
    from dataclasses import replace

    from eval.blocks.page import PAGE_STEM
    from eval.extraction.files import list_run_files
    from eval.extraction.manifest import ReportSettings
    from eval.extraction.outputs import write_outputs
    from eval.extraction.own_extractors.scored_folder import write_scored_run
    from eval.extraction.summary import render_metrics
    from eval.runs.sections import write_page
    from kg.base.errors import SettingError
    from kg.base.files import check_output

    scores_triples = domain is not None or bool(kg)
    input_files = [
        path for path in (gold, proposals, *(kg or ()), *(shapes or ())) if path is not None
    ]
    if skn is not None:
        input_files += [skn / name for name in ("manifest.json", "rows.jsonl")]
    for path in list_run_files(out):
        check_output(path, input_files)
    _check_flags(scores_triples, skn, proposals, run, limit)
    if scores_triples:
        samples, predictions, run_info = _load_triples(
            _open_graph(kg, shapes, domain), proposals, run, gold, limit
        )
    elif skn is not None:
        samples, predictions, run_info = _load_documents(skn, gold)
    else:
        raise SettingError(
            "nothing to score",
            where="--skn, --domain, --kg",
            hint="Name the folder of an `epoche skn run` with --skn, or a graph whose triples are "
            "to be extracted.",
        )
    measuring = ReportSettings(resamples=resamples)
    run_info = replace(run_info, measuring=measuring, overwrite=overwrite)
    manifest = write_scored_run(out, samples, predictions, run_info)
    for line in render_metrics(write_outputs(out)):
        print_text(line)
    for note in manifest.data_notes:
        print_text(f"note: {note}")
    print_text(
        f"{sum(manifest.counts.values())} extractions of {manifest.sample_count} texts → {out}"
    )
    if report and write_page(out):
        print_text(f"report → {out / f'{PAGE_STEM}.html'}")


def _check_flags(
    scores_triples: bool,
    skn: Path | None,
    proposals: Path | None,
    run: Path | None,
    limit: int | None,
) -> None:
    """Refuses flags that do not apply to what is scored.

    Raises:
        SettingError: a flag for triples without a graph, or --skn with one.
    """
    from kg.base.errors import SettingError

    triple_flags = {"--proposals": proposals, "--run": run, "--limit": limit}
    if scores_triples:
        wrong_flags = ["--skn"] if skn is not None else []
        problem = "--skn cannot be combined with a graph"
    else:
        wrong_flags = [name for name, value in triple_flags.items() if value is not None]
        problem = f"{', '.join(wrong_flags)} needs a graph"
    if wrong_flags:
        raise SettingError(
            problem,
            where=", ".join(wrong_flags),
            hint="With --domain or --kg triples are scored, without them SKN and JSON documents.",
        )


def _open_graph(
    kg: list[Path] | None, shapes: list[Path] | None, domain: str | None
) -> KnowledgeBase:
    from kg.knowledge import KnowledgeBase

    return KnowledgeBase.open(domain, graph=list(kg or ()), shapes=list(shapes or ()))


def _load_documents(skn: Path, gold: Path | None) -> ScoringInput:
    from eval.extraction.own_extractors.scored_folder import ScoredRunInfo
    from eval.extraction.own_extractors.skn_content import GOLD_FILE, predictions_from_run
    from eval.extraction.samples.loader import load_samples
    from eval.skn.files import MANIFEST
    from eval.skn.manifest import read_manifest
    from eval.skn.row import read_rows

    samples = load_samples(gold or GOLD_FILE, strict=True).samples
    dataset = "skn_gold (shipped)" if gold is None else gold.name
    notes: tuple[str, ...] = (
        "statements, causes and gaps are scored; confidences, priorities and levels are not; "
        "content that a format cannot represent counts as omitted",
    )
    manifest = read_manifest(skn / MANIFEST)
    rows = list(read_rows(skn / manifest.rows))
    predictions = list(predictions_from_run(rows, samples))
    n_without_gold = len({row.id for row in rows}) - len(
        {prediction.id for prediction in predictions}
    )
    if n_without_gold > 0:
        notes = (
            *notes,
            f"{n_without_gold} of the run's samples have no gold document and are not scored",
        )
    return (
        samples,
        predictions,
        ScoredRunInfo(
            dataset=dataset,
            extractors=manifest.extractors,
            offline=manifest.offline,
            notes=notes,
            seed=manifest.seed,
        ),
    )


def _load_triples(
    base: KnowledgeBase,
    proposals: Path | None,
    run: Path | None,
    gold: Path | None,
    limit: int | None,
) -> ScoringInput:
    from eval.extraction.own_extractors.graph_triples import (
        TripleNormaliser,
        count_whole_triples,
        normalise_samples,
        samples_from_chunks,
        samples_from_graph,
    )
    from eval.extraction.own_extractors.scored_folder import ScoredRunInfo
    from eval.extraction.own_extractors.triple_proposals import build_predictions, read_proposals
    from eval.extraction.own_extractors.triple_reader import extract_triples
    from eval.extraction.samples.loader import load_samples
    from kg.text.run.folder import open_run

    origin_notes: tuple[str, ...] = ()
    if gold is not None:
        samples = normalise_samples(
            load_samples(gold, limit=limit, strict=True).samples, TripleNormaliser(base)
        )
        dataset = gold.name
    elif run is not None:
        samples, dataset = samples_from_chunks(open_run(run).chunks[:limit], base), base.domain.name
        origin_notes = (
            "a chunk is assumed to state a triple of the graph if it names both its ends; this has "
            "false positives and false negatives",
        )
    else:
        samples, dataset = samples_from_graph(base, limit), f"{base.domain.name} in its own words"
        origin_notes = (
            "the texts are the graph's facts as sentences, in wordings that the rules know",
        )
    if proposals is not None:
        predictions = list(build_predictions(read_proposals(proposals), samples, base))
    else:
        with show_stages() as watch:
            predictions = list(
                extract_triples(samples, base, lambda done: watch("texts", done, len(samples)))
            )
    triple_counts = count_whole_triples(samples, predictions)
    notes = (
        *origin_notes,
        *(f"{name}: {counts.describe_counts()}" for name, counts in triple_counts.items()),
    )
    return (
        samples,
        predictions,
        ScoredRunInfo(dataset=dataset, extractors={}, offline=proposals is None, notes=notes),
    )


if __name__ == "__main__":
    run_script(main)
