"""Scores extractions that were made elsewhere: ``epoche extract score``, or this as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base import options
from kg.base.console import print_text, print_warning, run_script
from kg.base.plain_text import format_count


def main(
    predictions: options.PredictionFiles,
    dataset: Annotated[
        str, typer.Option(help="`shipped`, a file, a folder, or owner/name on the hub.")
    ] = "shipped",
    split: Annotated[
        str, typer.Option(help="Split of the data set, if it is on the hub.")
    ] = "test",
    out: Annotated[Path, typer.Option(help="Folder of the scored run.")] = Path(
        "results/extract-predictions"
    ),
    field_map: options.FieldMap = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first N samples.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of resamples.")] = 42,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 2000,
    overwrite: options.Overwrite = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write the report.")] = True,
) -> None:
    """Scores extractions that were made elsewhere, and writes a run folder with their metrics.

    A file has one row per sample: JSON lines, a JSON array, or CSV. Its fields are id, value (the
    extraction as JSON, or as a text that is JSON) and, if known, confidence, confidences (of the
    fields, in the shape of the extraction), raw, error and repeat. A sample without a prediction
    counts as failed.
    """
    from eval.blocks.page import PAGE_STEM
    from eval.extraction.benchmark import EXTRACTION
    from eval.extraction.files import list_run_files
    from eval.extraction.outputs import write_outputs
    from eval.extraction.own_extractors.scored_folder import ScoredRunInfo, write_scored_run
    from eval.extraction.samples.loader import load_samples
    from eval.extraction.summary import render_metrics
    from eval.extraction.view import read_extraction
    from eval.harness.failed_rows import REPLACE_HINT, format_counts, report_failed_run
    from eval.harness.predictions.reader import (
        PredictionFormat,
        describe_files,
        parse_field_map,
        parse_prediction_files,
        read_predictions,
    )
    from eval.runs.sections import write_page
    from kg.base.files import check_output
    from kg.base.provenance import make_relative_name

    files = parse_prediction_files(predictions)
    names = parse_field_map(field_map or (), value="value")
    for path in list_run_files(out):
        check_output(path, [file.path for file in files])
    samples = load_samples(dataset, split=split, limit=limit).samples
    ids = {sample.id for sample in samples}
    form = PredictionFormat(
        value="value",
        noun="sample",
        read_value=read_extraction,
        field_map=names,
        has_confidences=True,
    )
    found = {file.name: read_predictions(file, ids, form) for file in files}
    is_path = Path(dataset).exists()
    manifest = write_scored_run(
        out,
        samples,
        [reply for one in found.values() for reply in one.replies],
        ScoredRunInfo(
            dataset=make_relative_name(dataset, out) if is_path else dataset,
            extractors=describe_files(files, names),
            offline=False,
            notes=("the extractions were made elsewhere",),
            seed=seed,
            resamples=resamples,
            overwrite=overwrite,
            all_samples=True,
        ),
    )
    for line in render_metrics(write_outputs(out)):
        print_text(line)
    for name, one in found.items():
        for warning in one.list_warnings(len(samples), manifest.repeats, "sample"):
            print_warning(f"{name}: {warning}")
    systems, n_samples = format_count(len(found), "system"), format_count(len(samples), "sample")
    print_text(f"{systems} on {n_samples} → {out}   [{format_counts(manifest.counts)}]")
    if report and write_page(out):
        print_text(f"report → {out / f'{PAGE_STEM}.html'}")
    report_failed_run(out, EXTRACTION, manifest, field="problem", hint=REPLACE_HINT)


if __name__ == "__main__":
    run_script(main)
