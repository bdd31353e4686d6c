"""Describes a benchmark to the harness: its items, rows, manifest and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from eval.blocks.section import Section
from eval.harness.folder_manifest import FolderManifest
from eval.harness.grid import RowKey
from eval.harness.reply import Reply, Vote
from eval.metrics.measurement import Measurement, ResamplingPlan


class HasId(Protocol):
    """Something with an id, such as a sample or a question."""

    @property
    def id(self) -> str:
        """The id that rows name."""
        ...


Item = TypeVar("Item", bound=HasId)
Row = TypeVar("Row", bound=msgspec.Struct)
Manifest = TypeVar("Manifest", bound=FolderManifest)


@dataclass(frozen=True, kw_only=True)
class Benchmark(Generic[Item, Row, Manifest]):
    """What is the same in all runs of a benchmark.

    Attributes:
        name: name of the benchmark.
        command: the command that runs it, for hints.
        nouns: what messages call an item and a system, for example ``sample`` and ``pipeline``.
        read_reply: converts what a system returned to a reply; raises nothing.
        row_type: type of the rows.
        row_key: returns the key of a row, with its outcome code.
        score: computes the row of an item from its reply, the vote on the reply (None without one)
            and the run's manifest. It depends on nothing else.
        outcomes: names of the outcomes, in the order of their codes.
        manifest_type: type of the manifest.
        fixed_fields: fields of the manifest that are the same in all sessions and shards of a run.
        read_items: returns the items of a run, given its folder and manifest.
        rows_file: name of the file of rows.
        manifest_file: name of the manifest's file.
        item_files: names of files with one line per item that was asked.
        output_files: names or patterns of the files derived from the rows.
        write_outputs: writes the files derived from the rows, given the folder. It reads nothing
            but manifest, rows, replies, votes and ``item_files`` in this folder, and equal files
            give equal bytes: ``epoche verify`` calls it for a copy of the folder.
        hash_dataset: computes ``dataset_sha256`` of the manifest again, given folder and manifest.
            It returns None if only a part of the data set is at hand; the function is None if the
            hash cannot be computed again.
        scores_kind: kind of the manifest of scores that lie in a folder without a run; such
            folders are measured and reported like runs. Empty if there are none.
        scores_files: names of the files of scores that such a manifest hashes in ``files_sha256``.
        computed_records: the files of numbers that the section shows as they were written, each
            with the key of its record in the file, or an empty text; the records have digests of
            themselves and of the rows.
        build_section: builds the section of a run in reports, given its folder and the start of
            all ids in it; without it, or if it returns None, the section has tables of metrics.
        measure: measures runs, given their folders and how items are resampled; None if the
            benchmark has no metrics.
    """

    name: str
    command: str
    nouns: tuple[str, str]
    read_reply: Callable[[object], Reply]
    row_type: type[Row]
    row_key: Callable[[Row], RowKey]
    score: Callable[[Item, Reply, Vote | None, Manifest], Row]
    outcomes: Sequence[str]
    manifest_type: type[Manifest]
    fixed_fields: Sequence[str]
    read_items: Callable[[Path, Manifest], Iterable[Item]]
    rows_file: str
    manifest_file: str
    item_files: Sequence[str] = ()
    output_files: Sequence[str]
    write_outputs: Callable[[Path], object]
    hash_dataset: Callable[[Path, Manifest], str | None] | None = None
    scores_kind: str = ""
    scores_files: Sequence[str] = ()
    computed_records: Sequence[tuple[str, str]] = ()
    build_section: Callable[[Path, str], Section | None] | None = None
    measure: Callable[[Sequence[Path], ResamplingPlan], Measurement] | None = None
