"""Compares extraction runs: ``epoche extract compare``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_text, run_script
from kg.base.plain_text import split_names


def main(
    runs: Annotated[
        str, typer.Option(help="Folders of runs on the same samples, comma-separated.")
    ],
    output: Annotated[
        Path, typer.Option(help="The HTML page; Markdown, JSON and tables go next to it.")
    ] = Path("results/comparison.html"),
    results_dir: Annotated[
        Path, typer.Option(help="Folder of the runs that are given by name only.")
    ] = Path("results"),
) -> None:
    """Compares extraction runs, paired on the same samples: which model is better at what."""
    from eval.extraction.blocks.comparison_page import write_comparison
    from eval.extraction.files import MANIFEST
    from kg.base.errors import MissingFileError, SettingError

    names = split_names(runs)
    if not names:
        raise SettingError(
            "no run is given", where="--runs", hint="Use --runs run_001,run_002, for instance."
        )
    folders: list[Path] = []
    for name in names:
        candidates = (Path(name), results_dir / name)
        folder = next((path for path in candidates if (path / MANIFEST).is_file()), None)
        if folder is None:
            raise MissingFileError(
                f"run {name!r} does not exist",
                where=" or ".join(map(str, candidates)),
                hint="Give a folder that `epoche extract run` wrote.",
            )
        folders.append(folder)
    for path in write_comparison(folders, output)[:1]:
        print_text(f"comparison of {len(folders)} runs → {path}")


if __name__ == "__main__":
    run_script(main)
