"""Merges the folders of a sharded run into the folder that a single run would write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import msgspec

from eval.harness.benchmark import Benchmark, Manifest, Row
from eval.harness.grid import Grid
from eval.harness.outputs import delete_outputs_and_report, require_owned_folder
from eval.harness.resume import read_run_manifest
from eval.harness.shards import combine_manifests, sort_shards
from eval.harness.totals import CallMeter
from kg.base.errors import IncompleteRunError, RecordError, WriteError
from kg.base.files import atomic_writer, iter_decoded_lines, require_file, write_json_atomic

_DATASET_FIELDS = ("dataset_sha256", "sample_count")


def merge_folders(
    folders: Sequence[Path], out: Path, benchmark: Benchmark[Row, Manifest]
) -> Manifest:
    """Merges the folders of all shards of a run, and writes the files derived from the rows.

    Args:
        folders: the folders of the shards, in any order.
        out: the merged folder. Its files are those of a run without ``--shard``, except for the
            times in the manifest.
        benchmark: the benchmark that was run.

    Returns:
        The merged manifest.

    Raises:
        MissingFileError: a folder has no manifest or no rows.
        RecordError: a row is damaged or in the wrong place.
        CardSetMismatchError: the folders are not shards of one run, or two are the same shard.
        IncompleteRunError: a shard or an answer is missing.
        WriteError: ``out`` is one of the shards, contains another run, or cannot be written.
    """
    pairs = [(folder, _read_manifest(folder, benchmark)) for folder in folders]
    shards = sort_shards(pairs, (*benchmark.fixed_fields, *_DATASET_FIELDS))
    _check_output_folder(out, shards, benchmark)
    manifests = [dict(pairs)[folder] for folder in shards]
    item_ids = _read_item_ids(shards, manifests, benchmark)
    meter, counts = CallMeter(), [0] * len(benchmark.outcomes)
    for folder, manifest in zip(shards, manifests, strict=True):
        grid = Grid(
            item_ids,
            manifest.system_names,
            manifest.layout,
            row_type=benchmark.row_type,
            row_key=benchmark.row_key,
            nouns=benchmark.nouns,
            on_row=meter.add_row,
        )
        for outcome in _iter_outcomes(folder, grid, benchmark):
            counts[outcome] += 1
    delete_outputs_and_report(out, benchmark.output_files)
    for name in benchmark.item_files:
        _merge_lines([folder / name for folder in shards], out / name, lines_per_item=1)
    _merge_lines(
        [folder / benchmark.rows_file for folder in shards],
        out / benchmark.rows_file,
        lines_per_item=manifests[0].layout.rows_per_item,
    )
    merged: Manifest = combine_manifests(
        manifests, dict(zip(benchmark.outcomes, counts, strict=True)), meter
    )
    write_json_atomic(out / benchmark.manifest_file, merged)
    benchmark.write_outputs(out)
    return merged


def _read_manifest(folder: Path, benchmark: Benchmark[Row, Manifest]) -> Manifest:
    return read_run_manifest(
        folder / benchmark.manifest_file, benchmark.manifest_type, benchmark.command
    )


def _check_output_folder(
    out: Path, folders: Sequence[Path], benchmark: Benchmark[Row, Manifest]
) -> None:
    if any(out.resolve() == folder.resolve() for folder in folders):
        raise WriteError(
            "the merged run would overwrite one of its shards",
            where=str(out),
            hint="Choose another --out.",
        )
    if (out / benchmark.rows_file).exists():
        raise WriteError(
            "the folder already contains a run", where=str(out), hint="Choose another --out."
        )
    require_owned_folder(out, (benchmark.rows_file, benchmark.manifest_file))


def _read_item_ids(
    folders: Sequence[Path], manifests: Sequence[Manifest], benchmark: Benchmark[Row, Manifest]
) -> list[str]:
    """Returns the ids of the items that were asked, as the shards' rows name them, in order."""
    decode = msgspec.json.Decoder(benchmark.row_type).decode
    ids: dict[int, str] = {}
    for folder, manifest in zip(folders, manifests, strict=True):
        path, layout = folder / benchmark.rows_file, manifest.layout
        rows = (row for _, row in iter_decoded_lines(path, "row", decode))
        first_rows = islice(rows, 0, None, layout.rows_per_item)
        for item, row in zip(layout.asked_items, first_rows, strict=False):
            ids[item] = benchmark.row_key(row).item
    return [ids.get(item, "") for item in range(max(ids, default=-1) + 1)]


def _iter_outcomes(
    folder: Path, grid: Grid[Row], benchmark: Benchmark[Row, Manifest]
) -> Iterator[int]:
    """Yields the outcome codes of a shard's rows, and checks that each is there once, in order."""
    path, expected = folder / benchmark.rows_file, grid.asked_positions
    with path.open("rb") as handle:
        lines = list(handle)
    for number, (position, line) in enumerate(zip(expected, lines, strict=False), start=1):
        actual, outcome = grid.parse_row(line, f"{path}:{number}")
        if actual != position:
            raise RecordError(
                f"{grid.describe_position(actual)} is not in its place",
                where=f"{path}:{number}",
                hint=f"Give the `{benchmark.command}` command of this shard again.",
            )
        yield outcome
    if len(lines) != len(expected):
        raise IncompleteRunError(
            f"shard {grid.layout.shard} has {len(lines)} of {len(expected)} answers; "
            f"{len(expected) - len(lines)} are missing",
            where=str(path),
            hint=f"Give its `{benchmark.command}` command again; it resumes where it stopped.",
        )


def _merge_lines(paths: Sequence[Path], out: Path, *, lines_per_item: int) -> None:
    """Writes the lines of the shards' files in the order of the items, which alternate."""
    with ExitStack() as stack:
        handles = [stack.enter_context(require_file(path, "shard").open("rb")) for path in paths]
        writer = stack.enter_context(atomic_writer(out))
        present = True
        while present:
            for handle in handles:
                lines = [line for _ in range(lines_per_item) if (line := handle.readline())]
                writer.writelines(lines)
                present = bool(lines)
