"""Computes the abstention metrics of result files: ``epoche metrics``, or this file as a script."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import run_script, say


class PolicyChoice(StrEnum):
    """Which reading of the 3×5 table to use."""

    licensed = "licensed"
    published = "published"
    both = "both"


def main(
    results: Annotated[list[Path], typer.Option(help="Result file (JSONL); repeatable.")],
    more_results: Annotated[
        list[Path] | None, typer.Argument(metavar="[RESULTS]...", help="More result files.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the metrics go (JSON).")] = Path(
        "results/metrics.json"
    ),
    cards: Annotated[
        list[Path] | None,
        typer.Option(help="Card file the results must be about; repeatable, in the asked order."),
    ] = None,
    skip_other_cards: Annotated[
        bool,
        typer.Option(
            "--skip-other-cards", help="Leave out, with a warning, results not of --cards."
        ),
    ] = False,
    policy: Annotated[
        PolicyChoice, typer.Option(help="What counts as an answer and as an abstention.")
    ] = PolicyChoice.both,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resamples.")] = 12345,
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Coverage intervals aim at.")
    ] = 0.95,
    common: Annotated[
        bool, typer.Option("--common", help="Count only the cards that every system answered.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print all tables, not only a summary.")
    ] = False,
) -> None:
    """Computes AP, CVRR, FAR-NE, LA and what must stand beside them, with intervals and controls.

    All results must be about the same cards. Writes one JSON file; docs/metrics.md says what each
    number in it means.
    """
    from eval.abstention import POLICIES
    from eval.card_check import check_cards, only_of_these_cards
    from eval.metrics_console import summary, tables
    from eval.metrics_report import measure
    from eval.observations import read_observations
    from eval.samples import Plan
    from kg.base.files import check_output, write_json_atomic

    files = [*results, *(more_results or ())]
    check_output(out, [*files, *(cards or ())])
    if skip_other_cards and cards:
        files = only_of_these_cards(files, cards)
    observations = read_observations(files, common=common)
    if cards:
        observations = check_cards(observations, cards)
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
        for part in tables(report):
            console.print(part, markup=False, highlight=False)
    else:
        for line in summary(report):
            say(line)
    say(f"{len(observations.contenders)} systems on {report.n_cards} cards → {out}")


if __name__ == "__main__":
    run_script(main)
