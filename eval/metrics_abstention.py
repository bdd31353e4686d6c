"""Computes the abstention metrics of result files: ``epoche metrics``, or this file as a script."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_text, run_script
from kg.base.options import (
    CheckedCards,
    Confidence,
    MoreResultFiles,
    Resamples,
    ResampleSeed,
    ResultFiles,
    SkipOtherCards,
)


class PolicyChoice(StrEnum):
    """The policy that classifies predictions as answers and abstentions."""

    licensed = "licensed"
    published = "published"
    both = "both"


def main(
    results: ResultFiles,
    more_results: MoreResultFiles = None,
    out: Annotated[Path, typer.Option(help="Where the metrics go (JSON).")] = Path(
        "results/metrics.json"
    ),
    cards: CheckedCards = None,
    skip_other_cards: SkipOtherCards = False,
    policy: Annotated[
        PolicyChoice, typer.Option(help="What counts as an answer and as an abstention.")
    ] = PolicyChoice.both,
    resamples: Resamples = 2000,
    seed: ResampleSeed = 12345,
    confidence: Confidence = 0.95,
    common: Annotated[
        bool, typer.Option("--common", help="Use only the cards that every system answered.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print all tables, not only a summary.")
    ] = False,
) -> None:
    """Computes the abstention metrics (AP, CVRR, FAR-NE, LA, …), with intervals and controls.

    All results must be about the same cards. Writes one JSON file; docs/metrics.md defines each
    metric and number in it.
    """
    from eval.card_check import read_checked_results
    from eval.metrics.abstention import POLICIES
    from eval.metrics.console import render_summary, render_tables
    from eval.metrics.report import measure
    from eval.metrics.samples import Plan
    from kg.base.files import check_output, write_json_atomic

    files = [*results, *(more_results or ())]
    check_output(out, [*files, *(cards or ())])
    observations = read_checked_results(
        files, cards or (), skip_other_cards=skip_other_cards, common=common
    )
    plan = Plan(
        policies=tuple(name for name in POLICIES if policy.value in (name, "both")),
        resamples=resamples,
        seed=seed,
        confidence=confidence,
    )
    report = measure(observations, plan)
    write_json_atomic(out, report)
    if verbose:
        from rich.console import Console

        console = Console(soft_wrap=False)
        for part in render_tables(report):
            console.print(part, markup=False, highlight=False)
    else:
        for line in render_summary(report):
            print_text(line)
    print_text(f"{len(observations.systems_under_test)} systems on {report.n_cards} cards → {out}")


if __name__ == "__main__":
    run_script(main)
