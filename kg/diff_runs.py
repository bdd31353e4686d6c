"""``epoche kg diff``: what came, went or changed from one run of documents to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_json, print_text, run_script


def main(
    before: Annotated[
        Path,
        typer.Argument(metavar="BEFORE", help="A run of `epoche kg build`.", show_default=False),
    ],
    after: Annotated[
        Path,
        typer.Argument(metavar="AFTER", help="The run to compare with it.", show_default=False),
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with every difference.")
    ] = False,
) -> None:
    """Lists the documents, concepts and links that came, went or changed between two runs."""
    from kg.base.files import to_json_bytes
    from kg.text.run.comparison import compare_runs
    from kg.text.run.folder import open_run

    comparison = compare_runs(open_run(before), open_run(after))
    if as_json:
        print_json(to_json_bytes(comparison, indent=2).decode())
    else:
        print_text(comparison.render_text().rstrip("\n"))


if __name__ == "__main__":
    run_script(main)
