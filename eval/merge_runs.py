"""Puts the shards of one run together: ``epoche merge``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import run_script, say


def main(
    shards: Annotated[
        list[Path], typer.Argument(metavar="SHARD...", help="Result files of all shards of a run.")
    ],
    out: Annotated[Path, typer.Option(help="Merged file (JSONL); its manifest goes beside it.")],
    cards: Annotated[
        Path | None, typer.Option(help="Card file that was asked; by default the manifests' own.")
    ] = None,
) -> None:
    """Merges result files made with --shard 1/N to N/N into what one run would have written."""
    from eval.merging import merge

    merged = merge(shards, out, cards)
    say(f"{len(shards)} shards → {out}: {sum(merged.counts.values())} answers")


if __name__ == "__main__":
    run_script(main)
