"""Merges the shards of one run: ``epoche merge``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_text, run_script


def main(
    shards: Annotated[
        list[Path], typer.Argument(metavar="SHARD...", help="Result files of all shards of a run.")
    ],
    out: Annotated[
        Path, typer.Option(help="Merged file (JSONL); its manifest is written next to it.")
    ],
    cards: Annotated[
        Path | None,
        typer.Option(help="Card file of the run; by default the one that the manifests name."),
    ] = None,
) -> None:
    """Merges the result files of --shard 1/N to N/N into the file that a single run would write."""
    from eval.shard_merger import merge_shards

    merged = merge_shards(shards, out, cards)
    print_text(f"{len(shards)} shards → {out}: {sum(merged.counts.values())} answers")


if __name__ == "__main__":
    run_script(main)
