"""The report of an extraction run: ``epoche extract report``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import run_script, say

_ENDINGS = (".html", ".md")


def main(
    results_dir: Annotated[Path, typer.Option(help="Folder of a run.")],
    output: Annotated[
        Path | None,
        typer.Option(help="The page (.html, .md); its tables go beside it. By default there."),
    ] = None,
) -> None:
    """Measures the rows of a run anew, and writes its files and its report.

    A run that was cut off is reported as far as it came.
    """
    from eval.extraction.running.output_files import written_by
    from eval.extraction.summary import table
    from kg.base.errors import SettingError
    from kg.base.files import check_output, write_files_atomic
    from reporting.benchmark_sections.opening import section_of
    from reporting.benchmark_sections.page import STEM, page_files
    from reporting.extraction_files import write_files

    page = output or results_dir / f"{STEM}.html"
    if page.suffix not in _ENDINGS:
        raise SettingError(
            f"a report ends in {' or '.join(_ENDINGS)}", where="--output", hint="Say report.html."
        )
    check_output(page, written_by(results_dir))
    report = write_files(results_dir)
    files = page_files(section_of(results_dir), page.stem)
    write_files_atomic({page.parent / name: data for name, data in files.items()})
    for line in table(report):
        say(line)
    say(f"report → {page}")


if __name__ == "__main__":
    run_script(main)
