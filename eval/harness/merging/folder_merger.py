"""Merges the folders of a sharded run into the folder that a single run would write."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from eval.harness.benchmark import Benchmark, Item, Manifest, Row
from eval.harness.grid import Grid, make_reply_grid, number_items
from eval.harness.journals.journal import Journal
from eval.harness.judging.vote_plan import VOTE_FAILED, VOTED
from eval.harness.merging.journal_merger import read_shards, write_shards
from eval.harness.merging.shards import combine_manifests, sort_shards
from eval.harness.outputs import delete_outputs_and_report, require_owned_folder
from eval.harness.reply import REPLIES, VOTES, Reply, Vote, read_votes
from eval.harness.resume import read_run_manifest, write_run_manifest
from eval.harness.row_writer import write_rows
from eval.harness.totals import CallMeter
from eval.harness.verification.changed_files import (
    MERGE_HINT,
    describe_hashes,
    find_changed_files,
    lacks_hashes,
    list_hashed_files,
    make_changed_error,
    record_accepted,
)
from kg.base.errors import ChangedRunError, IncompleteRunError, RecordError, WriteError
from kg.base.files import atomic_writer, require_file, write_jsonl_atomic

_DATASET_FIELDS = ("dataset_sha256", "sample_count")


def merge_folders(
    folders: Sequence[Path],
    out: Path,
    benchmark: Benchmark[Item, Row, Manifest],
    *,
    allow_changed: bool = False,
) -> Manifest:
    """Merges the folders of all shards of a run, and writes the files derived from the rows.

    Args:
        folders: the folders of the shards, in any order.
        out: the merged folder. Its files are those of a run without ``--shard``, except for the
            times in the manifest.
        benchmark: the benchmark that was run.
        allow_changed: merge shards that were changed after their run; the manifest then says so.

    Returns:
        The merged manifest.

    Raises:
        MissingFileError: a folder has no manifest or no rows.
        RecordError: a row is damaged or in the wrong place.
        CardSetMismatchError: the folders are not shards of one run, or two are the same shard.
        IncompleteRunError: a shard or an answer is missing.
        ChangedRunError: a shard was changed after its run, and this is not accepted.
        WriteError: ``out`` is one of the shards, contains another run, or cannot be written.
    """
    pairs = [(folder, _read_manifest(folder, benchmark)) for folder in folders]
    shards = sort_shards(pairs, (*benchmark.fixed_fields, *_DATASET_FIELDS))
    _check_output_folder(out, shards, benchmark)
    manifests = [dict(pairs)[folder] for folder in shards]
    items: dict[int, Item] = {}
    for folder, manifest in zip(shards, manifests, strict=True):
        where = str(folder / benchmark.manifest_file)
        items |= number_items(benchmark.read_items(folder, manifest), manifest, where=where)
    item_ids = [
        items[number].id if number in items else "" for number in range(max(items, default=-1) + 1)
    ]
    meter = CallMeter()
    grids = [
        make_reply_grid(item_ids, manifest, benchmark.nouns, on_row=meter.add_row)
        for manifest in manifests
    ]
    reply_files = [require_file(folder / REPLIES, "shard") for folder in shards]
    replies = read_shards(reply_files, grids)
    votes = _read_votes(shards, grids[0], meter)
    accepted: list[ChangedRunError] = []
    for folder, manifest in zip(shards, manifests, strict=True):
        # All replies are there; so what a run that was stopped lacks is votes.
        if manifest.status != "complete":
            raise IncompleteRunError(
                f"the run was stopped before it was complete (status {manifest.status})",
                where=str(folder),
                hint=f"Give its `{benchmark.command}` command again; it resumes where it stopped.",
            )
        changed = find_changed_files(folder, manifest.files_sha256, list_hashed_files(benchmark))
        if changed:
            problem = make_changed_error(changed, manifest=manifest, hint=MERGE_HINT.format(folder))
            if not allow_changed:
                raise problem
            accepted.append(problem)
    # The journal is open as a lock: no other process writes the folder in the meantime.
    with Journal(out / REPLIES, 0) as existing:
        if existing.path.stat().st_size:
            raise _make_existing_error(out)
        delete_outputs_and_report(out, benchmark.output_files)
        for name in benchmark.item_files:
            _merge_lines([folder / name for folder in shards], out / name)
        write_shards(out / REPLIES, reply_files, replies, manifests[0].layout)
        if votes:
            write_jsonl_atomic(out / VOTES, votes)
        counts = write_rows(out, benchmark, manifests[0], items.values())
        merged: Manifest = msgspec.structs.replace(
            record_accepted(combine_manifests(manifests, counts, meter), accepted),
            **(
                {"files_sha256": {}, "line_digests": msgspec.UNSET}
                if any(map(lacks_hashes, manifests))
                else describe_hashes(out, benchmark)
            ),
        )
        write_run_manifest(out / benchmark.manifest_file, merged)
        benchmark.write_outputs(out)
    return merged


def _read_manifest(folder: Path, benchmark: Benchmark[Item, Row, Manifest]) -> Manifest:
    return read_run_manifest(
        folder / benchmark.manifest_file, benchmark.manifest_type, benchmark.command
    )


def _check_output_folder(
    out: Path, folders: Sequence[Path], benchmark: Benchmark[Item, Row, Manifest]
) -> None:
    if any(out.resolve() == folder.resolve() for folder in folders):
        raise WriteError(
            "the merged run would overwrite one of its shards",
            where=str(out),
            hint="Choose another --out.",
        )
    replies = out / REPLIES
    if (out / benchmark.rows_file).exists() or (replies.exists() and replies.stat().st_size):
        raise _make_existing_error(out)
    require_owned_folder(out, (benchmark.rows_file, benchmark.manifest_file))


def _make_existing_error(out: Path) -> WriteError:
    return WriteError(
        "the folder already contains a run", where=str(out), hint="Choose another --out."
    )


def _read_votes(folders: Sequence[Path], grid: Grid[Reply], meter: CallMeter) -> list[Vote]:
    """Returns the votes of all shards in the order of an unsplit run, and counts their usage."""
    votes = [vote for folder in folders for vote in read_votes(folder / VOTES)]
    for vote in votes:
        meter.add_row(VOTE_FAILED if vote.failed else VOTED, vote.usage)

    def find_position(vote: Vote) -> int:
        position = grid.find_position(vote.id, None if vote.anchor else vote.system, vote.repeat)
        if position is None:
            raise RecordError(
                f"a vote on {vote.id!r} of {vote.system!r}, which has no reply",
                where=str(folders[0] / VOTES),
                hint="Give the command of the shard again.",
            )
        return position

    return sorted(votes, key=find_position)


def _merge_lines(paths: Sequence[Path], out: Path) -> None:
    """Writes the lines of the shards' files, one per item, in the order of the items."""
    with ExitStack() as stack:
        handles = [stack.enter_context(require_file(path, "shard").open("rb")) for path in paths]
        writer = stack.enter_context(atomic_writer(out))
        present = True
        while present:
            for handle in handles:
                line = handle.readline()
                writer.write(line)
                present = bool(line)
