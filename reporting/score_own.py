"""Scores the toolkit's own extractors: ``epoche extract score-own``, or this file as a script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base import options
from kg.base.console import run_script, say, shown_stages

if TYPE_CHECKING:
    from eval.extraction.own.predictions import Prediction
    from eval.extraction.own.scored_folder import Scoring
    from eval.extraction.samples.sample import Sample
    from kg.knowledge import KnowledgeBase

    Scored = tuple[Sequence[Sample], Sequence[Prediction], Scoring]


def main(
    out: Annotated[Path, typer.Option(help="Folder of the scored run.")],
    skn: Annotated[
        Path | None,
        typer.Option(help="Folder of a run of `epoche skn run`; without it rules extract."),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(help="Samples with what is right, under the ids of the run or its chunks."),
    ] = None,
    proposals: Annotated[
        Path | None,
        typer.Option(help="The .proposals.jsonl of `epoche kg extract`; without it rules read."),
    ] = None,
    run: Annotated[
        Path | None, typer.Option("--run", help="Run of `epoche kg build` whose chunks were read.")
    ] = None,
    kg: options.GraphFiles = None,
    shapes: options.ShapesFiles = None,
    domain: options.DomainName = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many texts.")] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 2000,
    overwrite: options.Overwrite = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write the report.")] = True,
) -> None:
    """Scores what the toolkit's own extractors made, as structured extraction; calls no model.

    SKN and JSON of searches are scored against gold documents (twelve are shipped). With a graph
    (--domain or --kg), triples read off texts are scored against the graph's: those of --gold, of
    a run's chunks, or else of the graph put in words.
    """
    from dataclasses import replace

    from eval.extraction.own.scored_folder import write_scored
    from eval.extraction.running.output_files import written_by
    from eval.extraction.summary import table
    from kg.base.files import check_output
    from reporting.benchmark_sections.page import STEM, write_page
    from reporting.extraction_files import write_files

    triples = domain is not None or bool(kg)
    read = [path for path in (gold, proposals, *(kg or ()), *(shapes or ())) if path is not None]
    if skn is not None:
        read += [skn / name for name in ("manifest.json", "rows.jsonl")]
    for path in written_by(out):
        check_output(path, read)
    _check_flags(triples, skn, proposals, run, limit)
    if triples:
        samples, predictions, scoring = _triples(
            _knowledge(kg, shapes, domain), proposals, run, gold, limit
        )
    else:
        samples, predictions, scoring = _documents(skn, gold)
    scoring = replace(scoring, resamples=resamples, overwrite=overwrite)
    manifest = write_scored(out, samples, predictions, scoring)
    for line in table(write_files(out)):
        say(line)
    for note in manifest.data_notes:
        say(f"note: {note}")
    say(f"{sum(manifest.counts.values())} extractions of {manifest.sample_count} texts → {out}")
    if report:
        write_page(out)
        say(f"report → {out / f'{STEM}.html'}")


def _check_flags(
    triples: bool,
    skn: Path | None,
    proposals: Path | None,
    run: Path | None,
    limit: int | None,
) -> None:
    """Refuses flags that have nothing to do with what is scored.

    Raises:
        SettingError: which.
    """
    from kg.base.errors import SettingError

    given = {"--proposals": proposals, "--run": run, "--limit": limit}
    astray = ["--skn"] if triples and skn is not None else []
    if not triples:
        astray = [name for name, value in given.items() if value is not None]
    if astray:
        raise SettingError(
            "documents have no graph and triples no SKN",
            where=", ".join(astray),
            hint="With --domain or --kg triples are scored, without them SKN and JSON.",
        )


def _knowledge(
    kg: list[Path] | None, shapes: list[Path] | None, domain: str | None
) -> KnowledgeBase:
    from kg.knowledge import KnowledgeBase

    return KnowledgeBase.open(domain, graph=list(kg or ()), shapes=list(shapes or ()))


def _documents(run: Path | None, gold: Path | None) -> Scored:
    from eval.extraction.own.scored_folder import Scoring
    from eval.extraction.own.skn_content import GOLD, by_rules, of_run
    from eval.extraction.samples.loading import load
    from eval.skn.pipelines import FAIR_ABLATION_PIPELINES
    from eval.skn.running.manifest import NAME, read_manifest
    from eval.skn.running.row import read_rows

    samples = load(gold or GOLD, strict=True).samples
    dataset = "skn_gold (shipped)" if gold is None else gold.name
    notes: tuple[str, ...] = (
        "statements, causes and gaps are scored; confidences, priorities and levels are not, and "
        "what a form has no place for counts as omitted",
    )
    if run is None:
        return (
            samples,
            list(by_rules(samples, FAIR_ABLATION_PIPELINES)),
            Scoring(dataset=dataset, extractors={}, offline=True, notes=notes),
        )
    manifest = read_manifest(run / NAME)
    found = list(of_run(read_rows(run / manifest.rows), samples))
    without = manifest.sample_count - len({one.id for one in found})
    if without > 0:
        notes = (*notes, f"{without} of the run's samples have no gold document: not scored")
    return (
        samples,
        found,
        Scoring(
            dataset=dataset,
            extractors=manifest.extractors,
            offline=manifest.offline,
            notes=notes,
            seed=manifest.seed,
        ),
    )


def _triples(
    base: KnowledgeBase,
    proposals: Path | None,
    run: Path | None,
    gold: Path | None,
    limit: int | None,
) -> Scored:
    from eval.extraction.own.graph_triples import (
        Naming,
        one_way,
        stated_in_chunks,
        verbalised,
        whole_triples,
    )
    from eval.extraction.own.scored_folder import Scoring
    from eval.extraction.own.triple_proposals import predictions_of, read_proposals
    from eval.extraction.own.triple_reading import read_by_rules
    from eval.extraction.samples.loading import load
    from kg.text.run.folder import open_run

    how: tuple[str, ...] = ()
    if gold is not None:
        samples = one_way(load(gold, limit=limit, strict=True).samples, Naming(base))
        dataset = gold.name
    elif run is not None:
        samples, dataset = stated_in_chunks(open_run(run).chunks[:limit], base), base.domain.name
        how = (
            "a chunk is taken to state a triple of the graph if it names both its ends, which is "
            "sometimes wrong either way",
        )
    else:
        samples, dataset = verbalised(base, limit), f"{base.domain.name} in its own words"
        how = ("the texts were made of the graph's facts, in the sentences that rules know",)
    if proposals is not None:
        found = list(predictions_of(read_proposals(proposals), samples, base))
    else:
        with shown_stages() as watch:
            found = list(
                read_by_rules(samples, base, lambda done: watch("texts", done, len(samples)))
            )
    whole = whole_triples(samples, found)
    notes = (*how, *(f"{name}: {one.in_words()}" for name, one in whole.items()))
    return (
        samples,
        found,
        Scoring(dataset=dataset, extractors={}, offline=proposals is None, notes=notes),
    )


if __name__ == "__main__":
    run_script(main)
