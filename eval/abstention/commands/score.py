"""Scores predictions on cards that were made elsewhere: ``epoche score``, or this as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base import options
from kg.base.console import print_text, print_warning, run_script
from kg.base.plain_text import format_count


def main(
    cards: Annotated[Path, typer.Option(help="Card file (JSONL) that was answered.")],
    predictions: options.PredictionFiles,
    out: Annotated[
        Path, typer.Option(help="Result file (JSONL); its manifest is written next to it.")
    ] = Path("results/predictions.jsonl"),
    field_map: options.FieldMap = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--value",
            metavar="THEIRS=PRED[,…]",
            help="What a label of the files means: YES, NO, UNKNOWN or INVALID.",
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    allow_changed: options.AllowChangedCards = False,
    resamples: options.ChosenResamples = None,
    seed: options.ResampleSeed = 12345,
    confidence: options.Confidence = 0.95,
) -> None:
    """Scores predictions on cards that were made elsewhere, and prints their metrics.

    A file has one row per card: JSON lines, a JSON array, or CSV. Its fields are id, pred (YES, NO,
    UNKNOWN or a reply in words; --value says what other labels mean) and, if known, confidence,
    raw, error and repeat. A card without a prediction counts as ERROR. The result file is one as
    `epoche eval` writes.
    """
    from eval.abstention.card_check import read_checked_results
    from eval.abstention.card_predictions import (
        VALUES,
        describe_invalid,
        write_card_predictions,
    )
    from eval.abstention.metrics.cluster_samples import Plan
    from eval.abstention.metrics.console import render_summary
    from eval.abstention.metrics.report import measure
    from eval.abstention.result import read_results
    from eval.harness.failed_rows import ERROR, REPLACE_HINT, format_counts, report_failed_rows
    from eval.harness.predictions.option_pairs import parse_pairs
    from eval.harness.predictions.reader import parse_field_map, parse_prediction_files
    from eval.harness.predictions.repeats import count_repeats

    manifest, read = write_card_predictions(
        cards,
        parse_prediction_files(predictions),
        out,
        field_map=parse_field_map(field_map or (), value="pred"),
        values=parse_pairs(values or (), "--value", VALUES, "pred"),
        overwrite=overwrite,
        allow_changed=allow_changed,
    )
    for name, found in read.items():
        warnings = found.list_warnings(manifest.card_count, count_repeats({name: found}), "card")
        for warning in filter(None, (*warnings, describe_invalid(found))):
            print_warning(f"{name}: {warning}")
    report = measure(
        read_checked_results([out], [cards], allow_changed=allow_changed),
        Plan(resamples=resamples, seed=seed, confidence=confidence),
    )
    for line in render_summary(report):
        print_text(line)
    counts = format_counts(manifest.counts)
    systems, n_cards = (
        format_count(len(read), "system"),
        format_count(manifest.card_count, "card"),
    )
    print_text(f"{systems} on {n_cards} → {out}   [{counts}]")
    if manifest.counts[ERROR]:
        outcomes = ((result.system, result.pred) for result in read_results(out))
        report_failed_rows(outcomes, field="error", where=out, hint=REPLACE_HINT)


if __name__ == "__main__":
    run_script(main)
