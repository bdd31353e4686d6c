"""Scores SynthLink predictions: ``epoche synthlink score``, or this file as a script."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eval.synthlink.commands.judge_flags import (
    JudgeModels,
    JudgeRepeats,
    NliFolder,
    build_judge_options,
    report_judge_usage,
)
from kg.base import options
from kg.base.console import print_text, print_warning, run_script
from kg.base.plain_text import format_count

if TYPE_CHECKING:
    from eval.synthlink.run_manifest import RunManifest


class ModeChoice(StrEnum):
    """Which scores are computed."""

    both = "both"
    corrected = "corrected"
    literal = "literal"


def main(
    predictions: Annotated[
        list[str],
        typer.Option(
            metavar="FILE|NAME=FILE",
            help="Predictions (JSON list); with the name of a system also JSONL and CSV. "
            "Repeatable.",
        ),
    ],
    output_dir: Annotated[
        Path,
        typer.Option(
            "--output-dir", "--out", help="Folder for scores, tables, manifest and the page."
        ),
    ] = Path("results/synthlink"),
    catalog: Annotated[
        Path | None,
        typer.Option(
            help="Catalogue: a folder of Markdown files or a JSONL file. Default: the shipped one."
        ),
    ] = None,
    field_map: options.FieldMap = None,
    overwrite: options.Overwrite = False,
    mode: Annotated[
        ModeChoice,
        typer.Option(help="Formulas as published (literal), as intended (corrected), or both."),
    ] = ModeChoice.both,
    compare: Annotated[
        list[Path] | None,
        typer.Option(help="Other predictions to compare with, question by question; repeatable."),
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|none",
            help="Domain whose graph claims are checked against, or `none`. Default: the domain of "
            "the shipped catalogue, and none for another catalogue.",
        ),
    ] = None,
    pages: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|none",
            help="Corpus (JSONL) with the texts of the sources, used as evidence, or `none`. "
            "Default: the corpus of the shipped catalogue, and none for another catalogue.",
        ),
    ] = None,
    correct: Annotated[
        float | None,
        typer.Option(help="Minimum F1 of a correct answer, in both modes.", show_default="0.5"),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Score the first N questions of the catalogue only.")
    ] = None,
    confidence: options.Confidence = 0.95,
    resamples: options.Resamples = 2000,
    seed: options.ResampleSeed = 12345,
    judge_model: JudgeModels = None,
    judge_repeats: JudgeRepeats = None,
    nli: NliFolder = None,
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
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write the report.")] = True,
) -> None:
    """Scores answers to multi-hop questions, by the corrected and by the literal formulas.

    Every question of the catalogue counts; one without a usable answer scores 0. Unusable rows are
    reported and skipped. The same command resumes an interrupted judge.
    """
    from dataclasses import replace

    import msgspec

    from eval.blocks.page import PAGE_STEM
    from eval.harness.failed_rows import REPLACE_HINT, format_counts, report_failed_run
    from eval.harness.session import RunLimits
    from eval.model.options import ClientOptions
    from eval.synthlink.answer_source import find_source
    from eval.synthlink.benchmark import SYNTHLINK
    from eval.synthlink.files import PREDICTIONS
    from eval.synthlink.score_files import score_and_print
    from eval.synthlink.scoring.options import ScoreOptions
    from eval.synthlink.scoring.outputs import OUTPUT_FILES
    from eval.synthlink.verdicts.record import JUDGED_FILE
    from kg.base.errors import SettingError

    is_named = all("=" in text for text in predictions)
    if not is_named and (len(predictions) > 1 or field_map or overwrite):
        raise SettingError(
            "several files, --map and --overwrite need files with the names of their systems",
            where="--predictions",
            hint="Give each as NAME=FILE; or one FILE, and others to compare it with --compare.",
        )
    runs: dict[Path, RunManifest] = {}
    files, folders = [Path(predictions[0])], [output_dir]
    if is_named:
        runs = _write_runs(
            predictions, output_dir, catalog, field_map or [], seed=seed, overwrite=overwrite
        )
        folders = list(runs)
        files = [folder / PREDICTIONS for folder in folders]
    score_options = ScoreOptions(
        predictions=files[0],
        output_dir=folders[0],
        catalog=catalog,
        mode=mode.value,
        compare=(*files[1:], *(compare or ())),
        domain=domain,
        pages=pages,
        correct=correct,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        limit=limit,
    )
    output_dir = folders[0]
    client = ClientOptions.from_flags(
        model=None,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        timeout=timeout,
        retries=retries,
        cache=cache,
        no_cache=no_cache,
        prices=prices,
        out=output_dir / JUDGED_FILE,
        outputs=[output_dir / name for name in (*OUTPUT_FILES, JUDGED_FILE)],
    )
    judge = build_judge_options(
        judge_model,
        judge_repeats,
        client=client,
        limits=RunLimits(
            concurrency=concurrency,
            max_cost=max_cost,
            max_consecutive_errors=max_consecutive_errors,
        ),
        answerers=lambda: tuple(map(find_source, (files[0], *score_options.compare))),
        nli=nli,
    )
    judge_report = score_and_print(score_options, judge, report=report)
    # Every run folder gets its scores; the first also gets the comparisons. The first judged the
    # claims of all, so the others find the votes in its cache of replies.
    for file, folder in zip(files[1:], folders[1:], strict=True):
        score_and_print(
            msgspec.structs.replace(score_options, predictions=file, output_dir=folder, compare=()),
            judge and replace(judge, answerers=(find_source(file),)),
            report=report,
        )
    written = f"scores, tables and {PAGE_STEM}.html" if report else "scores and tables"
    print_text(f"{written} → {output_dir}")
    report_judge_usage(judge_report, output_dir / JUDGED_FILE)
    for folder, manifest in runs.items():
        questions = format_count(manifest.sample_count, "question")
        print_text(
            f"{manifest.name} on {questions} → {folder}   [{format_counts(manifest.counts)}]"
        )
    for folder, manifest in runs.items():
        report_failed_run(folder, SYNTHLINK, manifest, field="error", hint=REPLACE_HINT)


def _write_runs(
    texts: list[str],
    out: Path,
    catalog: Path | None,
    field_maps: list[str],
    *,
    seed: int,
    overwrite: bool,
) -> dict[Path, RunManifest]:
    """Writes a run folder for each named file, and returns the folders with their manifests.

    Raises:
        EpocheError: as ``write_prediction_run``.
    """
    from eval.harness.predictions.reader import parse_field_map, parse_prediction_files
    from eval.synthlink.prediction_scorer import write_prediction_run

    files = parse_prediction_files(texts)
    names = parse_field_map(field_maps, value="predicted_answer", id="question_id")
    folders = [out] if len(files) == 1 else [out / file.name for file in files]
    runs: dict[Path, RunManifest] = {}
    for file, folder in zip(files, folders, strict=True):
        runs[folder], found = write_prediction_run(
            folder, file, catalog, field_map=names, seed=seed, overwrite=overwrite
        )
        for warning in found.list_warnings(
            runs[folder].sample_count, runs[folder].repeats, "question"
        ):
            print_warning(f"{file.name}: {warning}")
    return runs


if __name__ == "__main__":
    run_script(main)
