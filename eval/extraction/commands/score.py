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
        str,
        typer.Option(
            "--gold",
            "--dataset",
            help="`shipped`, a file, a folder, or owner/name on the hub.",
        ),
    ] = "shipped",
    schema: Annotated[
        Path | None, typer.Option(help="Schema of the samples that have none of their own.")
    ] = None,
    split: Annotated[
        str, typer.Option(help="Split of the data set, if it is on the hub.")
    ] = "test",
    out: Annotated[Path, typer.Option(help="Folder of the scored run.")] = Path(
        "results/extract-predictions"
    ),
    field_map: options.FieldMap = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first N samples.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file whose section `metrics` says how fields are compared."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of resamples.")] = 42,
    resamples: Annotated[
        int | None, typer.Option(min=100, help="Bootstrap resamples. [default: 2000]")
    ] = None,
    overwrite: options.Overwrite = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write the report.")] = True,
) -> None:
    """Scores extractions that were made elsewhere, and writes a run folder with their metrics.

    Gold is a file or folder; its layout is recognised by content, also that of DocuBench,
    extract-bench, ExtractBench, omni-extract-bench and DeepJSONEval. Predictions are a folder with
    one JSON file per document, or a file with one row per sample (JSON lines, a JSON array, CSV or
    Excel) with id, value (the extraction) and, if known, confidence, confidences (of the fields, in
    the shape of the extraction), raw, error and repeat. A folder without a name that has one folder
    per system gives them all. A sample without a prediction counts as failed: nothing of it is
    right.
    """
    from msgspec.structs import replace

    from eval.blocks.page import PAGE_STEM
    from eval.extraction.benchmark import EXTRACTION
    from eval.extraction.configuration.reader import apply_flags, read_config
    from eval.extraction.files import list_run_files
    from eval.extraction.options import get_report_settings
    from eval.extraction.outputs import write_outputs
    from eval.extraction.own_extractors.scored_folder import ScoredRunInfo, write_scored_run
    from eval.extraction.samples.gold import load_gold
    from eval.extraction.samples.prediction_files import (
        describe_system,
        expand_folders,
        read_system,
    )
    from eval.extraction.samples.sample_names import SampleNames
    from eval.extraction.summary import render_metrics
    from eval.extraction.view import read_extraction
    from eval.harness.failed_rows import REPLACE_HINT, format_counts, report_failed_run
    from eval.harness.predictions.reader import (
        PredictionFormat,
        parse_field_map,
        parse_prediction_files,
    )
    from eval.harness.predictions.repeats import renumber_repeats
    from eval.runs.sections import write_page
    from kg.base.files import check_output
    from kg.base.provenance import make_relative_name

    field_names = parse_field_map(field_map or (), value="value")
    file_settings = None if config is None else read_config(config)
    settings = apply_flags(file_settings, {"metrics.resamples": resamples})
    loaded = load_gold(
        dataset,
        split=split,
        limit=limit,
        schema=schema,
        predictions=[Path(text.partition("=")[2] or text) for text in predictions],
    )
    samples = loaded.samples
    names = SampleNames(samples, is_limited=limit is not None, source=Path(dataset))
    files = parse_prediction_files(expand_folders(predictions, names))
    for path in list_run_files(out):
        check_output(path, [file.path for file in files])
    form = PredictionFormat(
        value="value",
        noun="sample",
        read_value=read_extraction,
        field_map=field_names,
        has_confidences=True,
    )
    systems = {file.name: read_system(file, names, form) for file in files}
    found = renumber_repeats({name: system.predictions for name, system in systems.items()})
    notes = [
        *loaded.notes,
        *(f"{name}: {note}" for name, system in systems.items() for note in system.notes),
    ]
    if loaded.rejected:
        notes.append(loaded.describe_rejections())
    for note in notes:
        print_warning(note)
    is_path = Path(dataset).exists()
    manifest = write_scored_run(
        out,
        samples,
        [reply for one in found.values() for reply in one.replies],
        ScoredRunInfo(
            dataset=make_relative_name(dataset, out) if is_path else dataset,
            extractors={
                file.name: describe_system(file) | ({"map": field_names} if field_names else {})
                for file in files
            },
            offline=False,
            notes=("the extractions were made elsewhere", *notes),
            seed=seed,
            measuring=replace(
                get_report_settings(settings), headline="field_accuracy_macro", failed="zero"
            ),
            matching=settings.metrics.field_matching,
            overwrite=overwrite,
            all_samples=True,
        ),
    )
    for line in render_metrics(write_outputs(out)):
        print_text(line)
    for name, one in found.items():
        for warning in one.list_warnings(len(samples), manifest.repeats, "sample"):
            print_warning(f"{name}: {warning}")
    n_systems, n_samples = format_count(len(found), "system"), format_count(len(samples), "sample")
    print_text(f"{n_systems} on {n_samples} → {out}   [{format_counts(manifest.counts)}]")
    if report and write_page(out):
        print_text(f"report → {out / f'{PAGE_STEM}.html'}")
    report_failed_run(out, EXTRACTION, manifest, field="problem", hint=REPLACE_HINT)


if __name__ == "__main__":
    run_script(main)
