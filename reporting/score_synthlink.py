"""Scores SynthLink predictions: ``epoche synthlink score``, or this file as a script."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kg.base import options
from kg.base.console import run_script, say
from reporting.judging_flags import JudgeModels, JudgeRepeats, judge_of_flags, report_judge


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
        float | None,
        typer.Option(
            help="F1 from which an answer counts as correct; by default .35 in corrected and .5 in "
            "literal scores.",
        ),
    ] = None,
    confidence: options.Confidence = 0.95,
    resamples: options.Resamples = 2000,
    seed: options.ResampleSeed = 12345,
    judge_model: JudgeModels = None,
    judge_repeats: JudgeRepeats = None,
    concurrency: options.Concurrency = 16,
    rpm: options.RequestsPerMinute = None,
    tpm: options.TokensPerMinute = None,
    timeout: options.CallTimeout = 60.0,
    retries: options.CallRetries = 8,
    cache: options.ReplyCache = None,
    no_cache: options.NoReplyCache = False,
    prices: options.PriceFile = None,
    max_cost: options.MaxCost = None,
    max_consecutive_errors: options.MaxConsecutiveErrors = 50,
) -> None:
    """Scores answers to multi-hop questions: corrected scores, and beside them the literal ones.

    Every question of the catalogue counts: one without a usable answer is worth 0. Rows that cannot
    be used are named and end nothing. A judge that was cut off goes on where it stopped when the
    same command is given again.
    """
    from eval.model.options import ClientOptions
    from eval.running.session import Limits
    from eval.synthlink.outputs import OUTPUTS
    from eval.synthlink.running.answerer import answerer_of
    from eval.synthlink.score_options import ScoreOptions
    from eval.synthlink.verdicts.record import JUDGED
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
    client = ClientOptions.of_flags(
        model=None,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        timeout=timeout,
        retries=retries,
        cache=cache,
        no_cache=no_cache,
        prices=prices,
        out=output_dir / JUDGED,
        written=[output_dir / name for name in (*OUTPUTS, JUDGED)],
    )
    judge = judge_of_flags(
        judge_model,
        judge_repeats,
        client=client,
        limits=Limits(
            concurrency=concurrency,
            max_cost=max_cost,
            max_consecutive_errors=max_consecutive_errors,
        ),
        answerers=lambda: tuple(map(answerer_of, (predictions, *chosen.compare))),
    )
    told = score_and_say(chosen, judge)
    say(f"scores, tables and {STEM}.html → {output_dir}")
    report_judge(told, output_dir / JUDGED)


if __name__ == "__main__":
    run_script(main)
