"""Makes the HTML report and its exports: ``epoche report``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import run_script, say, warn
from kg.base.options import MoreResultFiles, ResultFiles, SkipOtherCards


def main(
    results: ResultFiles,
    more_results: MoreResultFiles = None,
    metrics: Annotated[Path, typer.Option(help="metrics.json made from these results.")] = Path(
        "results/metrics.json"
    ),
    out: Annotated[Path, typer.Option(help="The HTML file; exports get the same stem.")] = Path(
        "results/report.html"
    ),
    cards: Annotated[
        list[Path] | None,
        typer.Option(help="Card file; repeatable. Default: the one the manifests name."),
    ] = None,
    skip_other_cards: SkipOtherCards = False,
    kg: Annotated[
        list[Path] | None,
        typer.Option("--kg", "--kg-path", help="Graph whose words the proofs are put in."),
    ] = None,
    shapes: Annotated[
        list[Path] | None, typer.Option(help="SHACL file that goes with --kg; repeatable.")
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(help="Domain whose words the proofs are put in. Default: the manifests'."),
    ] = None,
    section: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of another benchmark's run, shown as a section; repeatable."),
    ] = None,
    formats: Annotated[
        str, typer.Option(help="What to write, comma-separated: html, csv, md, json.")
    ] = "html,csv,md,json",
) -> None:
    """Writes one self-contained HTML file, and CSV, Markdown and JSON beside it."""
    from eval.card_check import only_of_these_cards
    from reporting.benchmark_sections.opening import sections_of
    from reporting.inputs import read_inputs
    from reporting.report_files import (
        proof_source,
        read_formats,
        refuse_overwriting,
        write_report,
    )

    results = [*results, *(more_results or ())]
    wanted = read_formats(formats)
    if skip_other_cards and cards:
        results = only_of_these_cards(results, cards)
    sections = sections_of(section or ())
    behind = [path for one in sections for path in one.made_from]
    refuse_overwriting(out, wanted, [*results, metrics, *(cards or ()), *behind], sections)
    inputs = read_inputs(results, metrics, cards)
    asked_for = bool(domain or kg)
    source = proof_source(
        domain or (None if kg else inputs.domain), kg or (), shapes or (), asked_for=asked_for
    )
    if source.notice:
        warn(source.notice)
    for path in write_report(inputs, out, source, wanted, sections):
        say(f"report: {path}")


if __name__ == "__main__":
    run_script(main)
