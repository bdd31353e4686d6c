"""Describes a benchmark to the harness: its rows, its manifest and its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from eval.harness.folder_manifest import FolderManifest
from eval.harness.grid import RowKey

Row = TypeVar("Row", bound=msgspec.Struct)
Manifest = TypeVar("Manifest", bound=FolderManifest)


@dataclass(frozen=True, kw_only=True)
class Benchmark(Generic[Row, Manifest]):
    """What is the same in all runs of a benchmark.

    Attributes:
        name: name of the benchmark.
        command: the command that runs it, for hints.
        nouns: what messages call an item and a system, for example ``sample`` and ``pipeline``.
        row_type: type of the rows.
        row_key: returns the key of a row.
        outcomes: names of the outcomes, in the order of their codes.
        failures: outcomes that ``--retry-errors`` asks again; the first counts as an error.
        manifest_type: type of the manifest.
        fixed_fields: fields of the manifest that are the same in all sessions and shards of a run.
        rows_file: name of the file of rows.
        manifest_file: name of the manifest's file.
        item_files: names of files with one line per item that was asked.
        output_files: names of the files derived from the rows.
        write_outputs: writes the files derived from the rows, given the folder.
    """

    name: str
    command: str
    nouns: tuple[str, str]
    row_type: type[Row]
    row_key: Callable[[Row], RowKey]
    outcomes: Sequence[str]
    failures: Sequence[str] = ("ERROR",)
    manifest_type: type[Manifest]
    fixed_fields: Sequence[str]
    rows_file: str
    manifest_file: str
    item_files: Sequence[str] = ()
    output_files: Sequence[str]
    write_outputs: Callable[[Path], object]
