"""Reads the rows of one or several runs, as if all their systems had been asked in one run.

A row that is missing from a run counts as a failed call, so that no system is measured on fewer
samples than another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from eval.extraction.files import MANIFEST
from eval.extraction.manifest import ExtractionManifest, read_manifest
from eval.extraction.row import ExtractionRow, read_rows
from eval.extraction.samples.sample_rows import read_samples
from eval.extraction.scorer import score_sample
from eval.metrics.runs.run_set import (
    describe_left_out,
    describe_missing_rows,
    name_runs,
    name_systems,
    require_distinct_folders,
    select_shared_items,
)
from kg.base.errors import CardSetMismatchError, RecordError
from kg.base.files import iter_decoded_lines, iter_json_lines, to_json_bytes
from kg.base.plain_text import join_list

NOUN = "sample"


class _RowKey(msgspec.Struct):
    """The fields that identify a row."""

    id: str
    system: str
    repeat: int = 0


@dataclass(frozen=True)
class FinishedRun:
    """A run and the names that its systems have among several runs.

    Attributes:
        name: name of the run.
        folder: folder of the run.
        manifest: manifest of the run.
        system_names: name of a system in the run → its name among all runs.
        missing: sample id → (system, repeat) of each row that the run does not have.
    """

    name: str
    folder: Path
    manifest: ExtractionManifest
    system_names: dict[str, str]
    missing: dict[str, list[tuple[str, int]]]

    @property
    def samples_file(self) -> Path:
        """The file of the samples that were asked."""
        return self.folder / self.manifest.samples

    @property
    def rows_file(self) -> Path:
        """The file of rows."""
        return self.folder / self.manifest.rows

    def iter_rows(self) -> Iterator[ExtractionRow]:
        """Yields the rows, then a failed row for each missing one."""
        for row in read_rows(self.rows_file):
            name = self.system_names[row.system]
            yield row if name == row.system else msgspec.structs.replace(row, system=name)
        if not self.missing:
            return
        for sample in read_samples(self.samples_file, self.missing):
            score = score_sample(sample, None, self.manifest.matching, parsed=False).score
            for system, repeat in self.missing[sample.id]:
                yield ExtractionRow(
                    id=sample.id,
                    system=self.system_names[system],
                    repeat=repeat,
                    outcome="ERROR",
                    problem="the run has no such row",
                    score=score,
                )


@dataclass(frozen=True)
class RunSet:
    """Several runs, and the samples that all of them asked.

    Attributes:
        runs: the runs.
        samples: id of each shared sample → its hash, in the order of the first run.
        n_left_out: number of samples that not all runs asked.
        repeats: number of repeats that all runs have.
        asked: for each run, the id of each of its samples → its hash.
    """

    runs: tuple[FinishedRun, ...]
    samples: dict[str, str]
    n_left_out: int
    repeats: int
    asked: tuple[dict[str, str], ...] = ()

    def iter_rows(self, sample_ids: Collection[str] | None = None) -> Iterator[ExtractionRow]:
        """Yields the rows of some shared samples, by default of all, up to ``repeats``."""
        wanted = frozenset(self.samples)
        if sample_ids is not None:
            wanted = wanted.intersection(sample_ids)
        for run in self.runs:
            for row in run.iter_rows():
                if row.id in wanted and row.repeat < self.repeats:
                    yield row


def open_runs(folders: Sequence[Path]) -> RunSet:
    """Opens finished runs.

    Raises:
        SettingError: a folder is given twice.
        MissingFileError, RecordError: a folder contains no run, or a file of it is damaged.
        CardSetMismatchError: the runs share no sample, or fields were compared differently.
    """
    require_distinct_folders(folders)
    manifests = [read_manifest(folder / MANIFEST) for folder in folders]
    for folder, manifest in zip(folders, manifests, strict=True):
        if manifest.matching != manifests[0].matching:
            raise CardSetMismatchError(
                "fields were compared by other rules",
                where=f"{folders[0]} and {folder}",
                hint="Run one of them again with the other's metrics.field_matching.",
            )
    system_names = name_systems(folders, [manifest.systems for manifest in manifests])
    digests = [
        _hash_samples(folder / manifest.samples)
        for folder, manifest in zip(folders, manifests, strict=True)
    ]
    runs = tuple(
        FinishedRun(name, folder, manifest, names, _find_missing_rows(folder, manifest, samples))
        for name, folder, manifest, names, samples in zip(
            name_runs(folders), folders, manifests, system_names, digests, strict=True
        )
    )
    shared, n_left_out = select_shared_items(folders, digests, noun=NOUN)
    repeats = min(item.repeats for item in manifests)
    return RunSet(runs, shared, n_left_out, repeats, tuple(digests))


def list_run_notes(run_set: RunSet) -> Iterator[str]:
    """Yields what a reader must know of numbers that are not those of the runs' own reports."""
    runs, repeats = run_set.runs, run_set.repeats
    yield from describe_left_out(len(run_set.samples), run_set.n_left_out, noun=NOUN)
    for run in runs:
        n_missing = sum(map(len, run.missing.values()))
        yield from describe_missing_rows(run.name, n_missing, run.manifest.status)
    if any(run.manifest.repeats > repeats for run in runs):
        first = "first reply" if repeats == 1 else f"first {repeats} replies"
        yield f"Only the {first} to each sample stand for a system that was asked more often."
    if any(run.manifest.measuring != runs[0].manifest.measuring for run in runs):
        yield f"All are measured as the first run, {runs[0].name}, asks for."
    rules = [run.name for run in runs if run.manifest.offline]
    if rules:
        yield f"Rules extracted in {join_list(rules)}, no model."


def _hash_samples(path: Path) -> dict[str, str]:
    """Returns sample id → SHA-256 of the sample."""
    return {
        str(row.get("id")): hashlib.sha256(to_json_bytes(row)).hexdigest()
        for _, row in iter_json_lines(path, "sample file")
    }


def _find_missing_rows(
    folder: Path, manifest: ExtractionManifest, samples: Collection[str]
) -> dict[str, list[tuple[str, int]]]:
    """Returns sample id → (system, repeat) of each row that the run should have and has not.

    Raises:
        RecordError: a row is of a system that the manifest does not name.
    """
    path = folder / manifest.rows
    decode = msgspec.json.Decoder(_RowKey).decode
    found: set[tuple[str, str, int]] = set()
    for number, row in iter_decoded_lines(path, "extraction-row", decode):
        if row.system not in manifest.systems:
            raise RecordError(
                f"a row of {row.system!r}, which is not a system of the run",
                where=f"{path}:{number}",
                hint=f"{MANIFEST} names {join_list(manifest.systems)}.",
            )
        found.add((row.id, row.system, row.repeat))
    missing: dict[str, list[tuple[str, int]]] = {}
    for name in samples:
        for repeat in range(manifest.repeats):
            for system in manifest.systems:
                if (name, system, repeat) not in found:
                    missing.setdefault(name, []).append((system, repeat))
    return missing
