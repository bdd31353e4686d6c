"""Computes metrics of cards and of other runs: ``epoche metrics``, or this file as a script."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_text, run_script
from kg.base.options import (
    AllowChanged,
    CheckedCards,
    ChosenResamples,
    Confidence,
    MoreRunPaths,
    ResampleSeed,
    RunPaths,
    SkipOtherCards,
    WithoutMined,
)
from kg.base.plain_text import format_count, to_one_line

if TYPE_CHECKING:
    from eval.metrics.measurement import PolicyName, ResamplingPlan


class PolicyChoice(StrEnum):
    """The policy that classifies predictions as answers and abstentions."""

    licensed = "licensed"
    published = "published"
    both = "both"

    def select(self, policies: Sequence[PolicyName]) -> tuple[PolicyName, ...]:
        """Selects one of the policies, or both."""
        return tuple(name for name in policies if self.value in (name, "both"))


def main(
    runs: RunPaths = None,
    results: MoreRunPaths = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where the metrics go (JSON).",
            show_default="for cards results/metrics.json; run folders: nowhere",
        ),
    ] = None,
    cards: CheckedCards = None,
    skip_other_cards: SkipOtherCards = False,
    without_mined: WithoutMined = False,
    allow_changed: AllowChanged = False,
    policy: Annotated[
        PolicyChoice | None,
        typer.Option(help="What counts as an answer and as an abstention.", show_default="both"),
    ] = None,
    resamples: ChosenResamples = None,
    seed: ResampleSeed = 12345,
    confidence: Confidence = 0.95,
    common: Annotated[
        bool, typer.Option("--common", help="Use only the cards that every system answered.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Fail if labels of the cards can be predicted from the surface, or no card has "
            "one of the labels, by what their manifest says.",
        ),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print all tables, not only a summary.")
    ] = False,
) -> None:
    """Computes metrics with intervals: of cards (AP, CVRR, FAR-NE, LA, …), or of run folders.

    Results of cards must be about the same cards, and run folders must be of one benchmark and of
    the same data. Writes one JSON file; docs/reference/metrics.md defines each metric and number in
    it.
    """
    from eval.abstention.card_check import read_checked_results
    from eval.abstention.metrics.cluster_samples import Plan
    from eval.abstention.metrics.console import render_summary, render_tables
    from eval.abstention.metrics.definitions import POLICIES
    from eval.abstention.metrics.report import measure
    from eval.abstention.run_files import find_result_files
    from eval.metrics.measurement import ResamplingPlan
    from eval.runs.measurement import refuse_card_options, select_run_folders
    from kg.base.errors import AuditFailedError
    from kg.base.files import check_output, write_json_atomic
    from kg.base.table_printer import print_table

    # A shell expands `--results *.jsonl` to one option, followed by arguments.
    paths = [*(results or ()), *(runs or ())]
    if not paths:
        raise typer.BadParameter("give at least one result file or run folder")
    if folders := select_run_folders(paths, where="epoche metrics"):
        refuse_card_options(
            folders[0],
            cards=cards,
            skip_other_cards=skip_other_cards or None,
            without_mined=without_mined or None,
            policy=policy,
            common=common or None,
            strict=strict or None,
        )
        plan_for_runs = ResamplingPlan.choose(resamples, seed, confidence)
        _measure_runs(folders, out, plan_for_runs, verbose=verbose, allow_changed=allow_changed)
        return
    out = out or Path("results/metrics.json")
    files = find_result_files(paths)
    check_output(out, [*files, *(cards or ())])
    observations = read_checked_results(
        files,
        cards or (),
        skip_other_cards=skip_other_cards,
        common=common,
        without_mined=without_mined,
        allow_changed=allow_changed,
    )
    # What signatures say of rows and cards that are not known to be unchanged is no fault of them.
    marks = tuple(f"({detail})." for detail in observations.signature_details)
    faults = [warning for warning in observations.warnings if not warning.endswith(marks)]
    if strict and faults:
        raise AuditFailedError(
            faults[0],
            where=", ".join(map(str, files)),
            hint="Make other cards, for example with `epoche cards --audit --strict`; without "
            "--strict the metrics are computed and say so.",
        )
    plan = Plan(
        policies=(policy or PolicyChoice.both).select(POLICIES),
        resamples=resamples,
        seed=seed,
        confidence=confidence,
    )
    report = measure(observations, plan)
    write_json_atomic(out, report)
    if verbose:
        for part in render_tables(report):
            if isinstance(part, str):
                print_text(part)
            else:
                print_table(part)
    else:
        for line in render_summary(report):
            print_text(line)
    systems = format_count(len(observations.systems_under_test), "system")
    print_text(f"{systems} on {format_count(report.n_cards, 'card')} → {out}")


def _measure_runs(
    folders: Sequence[Path],
    out: Path | None,
    plan: ResamplingPlan,
    *,
    verbose: bool,
    allow_changed: bool,
) -> None:
    """Prints the metrics of run folders, and writes them if there is an output file."""
    from eval.metrics.runs.report import build_metrics
    from eval.metrics.runs.text import render_metrics
    from eval.runs.measurement import list_folder_files, measure_folders
    from kg.base.files import check_output, write_json_atomic

    if out is not None:
        check_output(out, list_folder_files(folders))
    measurement = measure_folders(folders, plan, allow_changed=allow_changed)
    report = build_metrics(measurement)
    if out is not None:
        write_json_atomic(out, report)
    runs = measurement.runs
    for line in render_metrics(report, tuple(runs.metrics) if verbose else runs.headline):
        print_text(line)
    for note in report.notes:
        print_text(f"note: {to_one_line(note)}")
    print_text(report.signature)
    written = "" if out is None else f" → {out}"
    systems = format_count(len(runs.systems), "system")
    print_text(f"{systems} on {format_count(runs.n_items, runs.noun)}{written}")


if __name__ == "__main__":
    run_script(main)
