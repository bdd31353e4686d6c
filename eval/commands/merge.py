"""Merges the shards of one run: ``epoche merge``, or this file as a script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_text, run_script
from kg.base.options import AllowChanged
from kg.base.plain_text import format_count


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
    allow_changed: AllowChanged = False,
) -> None:
    """Merges the results of --shard 1/N to N/N into those that a single run would write."""
    if all(shard.is_dir() for shard in shards):
        counts = _merge_folders(shards, out, allow_changed=allow_changed)
    else:
        from eval.abstention.shard_merger import merge_shards

        counts = merge_shards(shards, out, cards, allow_changed=allow_changed).counts
    answers = format_count(sum(counts.values()), "answer")
    print_text(f"{format_count(len(shards), 'shard')} → {out}: {answers}")


def _merge_folders(shards: Sequence[Path], out: Path, *, allow_changed: bool) -> dict[str, int]:
    """Merges run folders, and writes the report page and SynthLink's scores as a run would."""
    from eval.harness.benchmarks import find_benchmark
    from eval.harness.merging.folder_merger import merge_folders
    from eval.harness.outputs import find_report_files
    from eval.runs.sections import write_page
    from eval.synthlink.benchmark import SYNTHLINK

    benchmark = find_benchmark(shards[0])
    counts: dict[str, int] = merge_folders(
        shards, out, benchmark, allow_changed=allow_changed
    ).counts
    if benchmark is SYNTHLINK:
        _score_merged(shards, out)
    elif all(find_report_files(shard) for shard in shards):
        write_page(out)
    return counts


def _score_merged(shards: Sequence[Path], out: Path) -> None:
    """Scores a merged SynthLink run with the settings of the shards' scores."""
    from eval.synthlink.merged_scores import build_score_options
    from eval.synthlink.score_files import score_and_print

    options = build_score_options(shards, out)
    if isinstance(options, str):
        print_text(f"note: the merged run is not scored: {options}")
    else:
        score_and_print(options)


if __name__ == "__main__":
    run_script(main)
