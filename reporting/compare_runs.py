"""Compares runs on the same cards: ``epoche compare``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eval.metrics_abstention import PolicyChoice
from kg.base.console import print_text, run_script
from kg.base.errors import CardSetMismatchError, SystemNotFoundError
from kg.base.options import CheckedCards, Confidence, Resamples, ResampleSeed, SkipOtherCards
from kg.words.plain_text import to_one_line


def main(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUN]...", help="Result files (JSONL) or run folders."),
    ] = None,
    results: Annotated[
        list[Path] | None,
        typer.Option(help="Result files or run folders, given as a flag; repeatable."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="The comparison (JSON); Markdown is written next to it.")
    ] = Path("results/comparison.json"),
    html: Annotated[bool, typer.Option(help="Also write an HTML page next to it.")] = True,
    cards: CheckedCards = None,
    skip_other_cards: SkipOtherCards = False,
    baseline: Annotated[
        str | None,
        typer.Option(help="Compare every system with this one, instead of all pairs."),
    ] = None,
    policy: Annotated[
        PolicyChoice, typer.Option(help="What counts as an answer and what as an abstention.")
    ] = PolicyChoice.licensed,
    resamples: Resamples = 2000,
    seed: ResampleSeed = 12345,
    confidence: Confidence = 0.95,
    common: Annotated[
        bool,
        typer.Option(
            help="Compare on the cards that every system answered, or fail if one misses a card."
        ),
    ] = True,
) -> None:
    """Compares systems pairwise on the same cards, and tests the differences.

    Metrics that are 0 or 1 per card are tested with the exact McNemar test. Differences have
    cluster bootstrap intervals, and p-values are corrected by Holm's method over all pairs. If two
    files have a system of the same name, the file's name is added to it.
    """
    from eval.card_check import read_checked_results
    from eval.comparison.report import compare_runs
    from eval.comparison.text import describe_shared_cards, render_markdown, render_sentences
    from eval.metrics.abstention import POLICIES
    from eval.metrics.samples import Plan
    from eval.run_files import find_result_files
    from kg.base.files import check_output, to_json_bytes, write_files_atomic
    from reporting.comparison_page import render_comparison

    files = find_result_files([*(runs or ()), *(results or ())])
    if not files:
        raise typer.BadParameter("give at least one result file or run folder")
    inputs = [*files, *(cards or ())]
    check_output(out, inputs)
    pages = {suffix: out.with_suffix(suffix) for suffix in (".md", *((".html",) if html else ()))}
    for page in pages.values():
        check_output(page, [out, *inputs])
    observations = read_checked_results(
        files,
        cards or (),
        skip_other_cards=skip_other_cards,
        common=common,
        distinguish_equal_names=True,
    )
    if len(observations.preds) < 2:
        raise CardSetMismatchError(
            "nothing to compare: only one system",
            where=", ".join(str(path) for path in files),
            hint="Give the result files of at least two systems.",
        )
    if baseline is not None and baseline not in observations.preds:
        raise SystemNotFoundError(
            f"no system {baseline!r} in these results",
            where="--baseline",
            hint=f"Use one of {', '.join(observations.preds)}.",
        )
    plan = Plan(
        policies=tuple(name for name in POLICIES if policy.value in (name, "both")),
        resamples=resamples,
        seed=seed,
        confidence=confidence,
    )
    report = compare_runs(observations, plan, baseline=baseline)
    contents = {out: to_json_bytes(report, indent=2) + b"\n"}
    contents[pages[".md"]] = render_markdown(report).encode()
    if html:
        output_names = [out.name, pages[".md"].name]
        contents[pages[".html"]] = render_comparison(report, output_names=output_names).encode()
    write_files_atomic(contents)
    for line in describe_shared_cards(report.shared):
        print_text(line)
    for line in render_sentences(report):
        print_text(line)
    for note in report.notes:
        print_text(f"note: {to_one_line(note)}")
    output_paths = ", ".join(str(path) for path in contents)
    print_text(f"{len(report.comparisons)} comparisons on {report.n_cards} cards → {output_paths}")


if __name__ == "__main__":
    run_script(main)
