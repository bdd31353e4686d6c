"""Scores rankings that were made elsewhere: ``epoche retrieval score``, or this as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eval.retrieval_eval.commands.evaluate import SplitChoice, print_report
from kg.base import options
from kg.base.console import print_text, print_warning, run_script
from kg.base.plain_text import format_count


def main(
    run: options.RunFolder,
    questions: Annotated[
        Path, typer.Option(help="Labelled questions (JSONL) about the run's chunks.")
    ],
    predictions: options.PredictionFiles,
    out: Annotated[Path, typer.Option(help="Folder of the scored run.")] = Path(
        "results/retrieval-predictions"
    ),
    field_map: options.FieldMap = None,
    split: Annotated[SplitChoice, typer.Option(help="Questions to use.")] = SplitChoice.test,
    resamples: options.Resamples = 2000,
    seed: options.ResampleSeed = 12345,
    confidence: options.Confidence = 0.95,
    overwrite: options.Overwrite = False,
) -> None:
    """Scores rankings that were made elsewhere, and writes a run folder with their metrics.

    A file has one row per question: JSON lines, a JSON array, or CSV. Its fields are id, ranking (a
    list of passage ids, best first, or of pairs of id and score) and, if known, raw, error and
    repeat. A question without a ranking counts as failed. With several files, the first is the
    baseline of the others.
    """
    from eval.harness.base_run import RunFlags
    from eval.harness.failed_rows import REPLACE_HINT, format_counts, report_failed_run
    from eval.harness.predictions.reader import parse_field_map, parse_prediction_files
    from eval.retrieval_eval.benchmark import RETRIEVAL
    from eval.retrieval_eval.predictions import score_predictions
    from eval.retrieval_eval.run import RunOptions

    files = parse_prediction_files(predictions)
    manifest, read = score_predictions(
        RunOptions(
            flags=RunFlags(out=out, overwrite=overwrite),
            run=run,
            questions=questions,
            retrievers=(),
            baselines=(files[0].name,) if len(files) > 1 else (),
            split=split.value,
            resamples=resamples,
            seed=seed,
            confidence=confidence,
        ),
        files,
        parse_field_map(field_map or (), value="ranking"),
    )
    for name, found in read.items():
        for warning in found.list_warnings(manifest.sample_count, manifest.repeats, "question"):
            print_warning(f"{name}: {warning}")
    print_report(out)
    retrievers = format_count(len(files), "retriever")
    n_questions = format_count(manifest.sample_count, "question")
    counts = format_counts(manifest.counts)
    print_text(f"{retrievers} on {n_questions} → {out}   [{counts}]")
    report_failed_run(out, RETRIEVAL, manifest, field="problem", hint=REPLACE_HINT)


if __name__ == "__main__":
    run_script(main)
