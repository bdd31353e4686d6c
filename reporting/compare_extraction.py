"""Compares extraction runs: ``epoche extract compare``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import run_script, say


def main(
    runs: Annotated[
        str, typer.Option(help="Folders of runs on the same samples, with commas between them.")
    ],
    output: Annotated[
        Path, typer.Option(help="The page; Markdown, JSON and tables go beside it.")
    ] = Path("results/comparison.html"),
    results_dir: Annotated[
        Path, typer.Option(help="Where folders are that are named without a path.")
    ] = Path("results"),
) -> None:
    """Says which model extracts better by what, paired on the same samples."""
    from eval.extraction.running.output_files import MANIFEST
    from kg.base.errors import MissingFileError, SettingError
    from reporting.extraction_section.compare_page import write_comparison

    named = [name.strip() for name in runs.split(",") if name.strip()]
    if not named:
        raise SettingError("no run is named", where="--runs", hint="Say --runs run_001,run_002.")
    folders: list[Path] = []
    for name in named:
        places = (Path(name), results_dir / name)
        found = next((place for place in places if (place / MANIFEST).is_file()), None)
        if found is None:
            raise MissingFileError(
                f"no run is called {name!r}",
                where=" or ".join(map(str, places)),
                hint="Name a folder that `epoche extract run` wrote.",
            )
        folders.append(found)
    for path in write_comparison(folders, output)[:1]:
        say(f"comparison of {len(folders)} runs → {path}")


if __name__ == "__main__":
    run_script(main)
