"""Writes the report of an extraction run: ``epoche extract report``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_text, run_script

_PAGE_SUFFIXES = (".html", ".md")


def main(
    results_dir: Annotated[Path, typer.Option(help="Folder of the run.")],
    output: Annotated[
        Path | None,
        typer.Option(
            help="The report (.html or .md); its tables go next to it. Default: in the run folder."
        ),
    ] = None,
) -> None:
    """Recomputes the metrics of a run from its rows, and writes its files and its report.

    An interrupted run is reported with the rows that it has.
    """
    from eval.blocks.page import PAGE_STEM
    from eval.extraction.files import list_run_files
    from eval.extraction.outputs import write_outputs
    from eval.extraction.summary import render_metrics
    from eval.runs.sections import write_page
    from kg.base.errors import SettingError
    from kg.base.files import check_output

    page = output or results_dir / f"{PAGE_STEM}.html"
    if page.suffix not in _PAGE_SUFFIXES:
        raise SettingError(
            f"the report must end in {' or '.join(_PAGE_SUFFIXES)}",
            where="--output",
            hint="Use report.html, for instance.",
        )
    check_output(page, list_run_files(results_dir))
    report = write_outputs(results_dir)
    is_written = bool(write_page(results_dir, page.with_suffix(".html")))
    for line in render_metrics(report):
        print_text(line)
    if is_written:
        print_text(f"report → {page}")


if __name__ == "__main__":
    run_script(main)
