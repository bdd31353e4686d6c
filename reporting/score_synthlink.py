"""Scores SynthLink predictions: ``epoche synthlink score``, or this file as a script."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kg.base import options
from kg.base.console import run_script, say


class ModeChoice(StrEnum):
    """Which scores are made."""

    both = "both"
    corrected = "corrected"
    literal = "literal"


def main(
    predictions: Annotated[Path, typer.Option(help="JSON list of predictions.")],
    output_dir: Annotated[
        Path,
        typer.Option(
            "--output-dir", "--out", help="Folder for scores, tables, manifest and the page."
        ),
    ] = Path("results/synthlink"),
    catalog: Annotated[
        Path | None,
        typer.Option(
            help="Catalogue: a folder of Markdown or a JSONL file; by default that shipped."
        ),
    ] = None,
    mode: Annotated[
        ModeChoice, typer.Option(help="Formulas as published, as they are meant, or both.")
    ] = ModeChoice.both,
    compare: Annotated[
        list[Path] | None,
        typer.Option(help="Hold the predictions against these others, question by question."),
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|none",
            help="Domain whose graph claims are held against, or `none`. By default that of the "
            "shipped catalogue, and none for another.",
        ),
    ] = None,
    pages: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|none",
            help="Corpus (JSONL) whose texts of the sources are evidence, or `none`. By default "
            "that of the shipped catalogue, and none for another.",
        ),
    ] = None,
    correct: Annotated[
        float, typer.Option(help="F1 from which an answer counts as correct.")
    ] = 0.5,
    confidence: options.Confidence = 0.95,
    resamples: options.Resamples = 2000,
    seed: options.ResampleSeed = 12345,
) -> None:
    """Scores answers to multi-hop questions: corrected scores, and beside them the literal ones.

    Every question of the catalogue counts: one without a usable answer is worth 0. Rows that cannot
    be used are named and end nothing.
    """
    from eval.synthlink.score_options import ScoreOptions
    from reporting.benchmark_sections.page import STEM
    from reporting.synthlink_files import score_and_say

    chosen = ScoreOptions(
        predictions=predictions,
        output_dir=output_dir,
        catalog=catalog,
        mode=mode.value,
        compare=tuple(compare or ()),
        domain=domain,
        pages=pages,
        correct=correct,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    score_and_say(chosen)
    say(f"scores, tables and {STEM}.html → {output_dir}")


if __name__ == "__main__":
    run_script(main)
