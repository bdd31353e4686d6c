"""Computes the rows of a run from its items, replies and votes, and writes them to its folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from eval.harness.benchmark import Benchmark, Item, Manifest, Row
from eval.harness.reply import REPLIES, VOTES, Reply, Vote, read_replies, read_votes
from kg.base.errors import RecordError
from kg.base.files import write_jsonl_atomic


def write_rows(
    folder: Path,
    benchmark: Benchmark[Item, Row, Manifest],
    manifest: Manifest,
    items: Iterable[Item],
) -> dict[str, int]:
    """Writes the file of rows, atomically.

    Args:
        folder: folder of the run, with the replies in their final order.
        benchmark: the benchmark.
        manifest: the manifest of the run; its times and counts are not used.
        items: the items of the run.

    Returns:
        The number of rows by outcome.

    Raises:
        RecordError: a reply or a vote is damaged, or is on an item that does not exist.
        WriteError: the file cannot be written.
    """
    counts = dict.fromkeys(benchmark.outcomes, 0)

    def iter_counted() -> Iterator[Row]:
        for row in compute_rows(folder, benchmark, manifest, items):
            counts[benchmark.outcomes[benchmark.row_key(row).outcome]] += 1
            yield row

    write_jsonl_atomic(folder / benchmark.rows_file, iter_counted())
    return counts


def compute_rows(
    folder: Path,
    benchmark: Benchmark[Item, Row, Manifest],
    manifest: Manifest,
    items: Iterable[Item],
) -> Iterator[Row]:
    """Yields the rows of a run in the order of its replies.

    Raises:
        RecordError: as ``write_rows``.
    """
    items_by_id = {item.id: item for item in items}
    votes = read_reply_votes(folder)
    path = folder / REPLIES
    for number, reply in enumerate(read_replies(path), start=1):
        item = items_by_id.get(reply.id)
        if item is None:
            raise RecordError(
                f"a reply to {reply.id!r}, which is no {benchmark.nouns[0]} of this run",
                where=f"{path}:{number}",
                hint="Replies and items must be of one run.",
            )
        yield benchmark.score(item, reply, votes.get(make_reply_key(reply)), manifest)


def read_reply_votes(folder: Path) -> Mapping[tuple[str, str, int], Vote]:
    """Returns the votes on replies, by item, system and repeat; anchors are left out."""
    return {make_reply_key(vote): vote for vote in read_votes(folder / VOTES) if not vote.anchor}


def make_reply_key(record: Reply | Vote) -> tuple[str, str, int]:
    """Returns item, system and repeat of a reply or of the vote on it."""
    return record.id, record.system, record.repeat
