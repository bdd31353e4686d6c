"""Merges the shards of one run: ``epoche merge``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_text, run_script


def main(
    shards: Annotated[
        list[Path],
        typer.Argument(metavar="SHARD...", help="Result files or run folders of all shards."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="Merged file (JSONL), next to which its manifest is written; for run folders, the "
            "merged folder."
        ),
    ],
    cards: Annotated[
        Path | None,
        typer.Option(help="Card file of the run; by default the one that the manifests name."),
    ] = None,
) -> None:
    """Merges the results of --shard 1/N to N/N into those that a single run would write."""
    if all(shard.is_dir() for shard in shards):
        from eval.benchmarks import find_benchmark
        from eval.harness.folder_merger import merge_folders

        counts = merge_folders(shards, out, find_benchmark(shards[0])).counts
    else:
        from eval.shard_merger import merge_shards

        counts = merge_shards(shards, out, cards).counts
    print_text(f"{len(shards)} shards → {out}: {sum(counts.values())} answers")


if __name__ == "__main__":
    run_script(main)
