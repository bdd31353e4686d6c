"""Verifies a run folder: rows against items, replies and votes, and replies against the manifest.

A run folder contains everything that its rows depend on. They are computed again here, without
asking any system or judge, and compared with the file of rows value by value. So are the output
files that follow from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic

import msgspec

from eval.harness.benchmark import Benchmark, Item, Manifest, Row
from eval.harness.reply import REPLIES, VOTES, Reply, Vote
from eval.harness.resume import read_run_manifest
from eval.harness.row_writer import compute_rows, make_reply_key
from eval.harness.verification.changed_files import (
    find_changed_files,
    find_changed_line,
    list_hashed_files,
)
from eval.harness.verification.output_verifier import verify_outputs
from eval.harness.verification.record import ABSENT, DifferenceLog, Verification
from eval.model.foreign_values import describe_error
from kg.base.errors import EpocheError
from kg.base.files import iter_decoded_lines, require_file, sha256_file, to_json_bytes

_Key = tuple[str, str, int]


def verify_folder(folder: Path, benchmark: Benchmark[Any, Any, Any]) -> Verification:
    """Verifies the folder of a run.

    Raises:
        MissingFileError, RecordError: manifest, items, replies or votes are missing or damaged, so
            that nothing can be computed from them.
    """
    return _FolderVerifier(folder, benchmark).verify()


class _FolderVerifier(Generic[Item, Row, Manifest]):
    def __init__(self, folder: Path, benchmark: Benchmark[Item, Row, Manifest]) -> None:
        self._folder = folder
        self._benchmark = benchmark
        self._manifest_file = folder / benchmark.manifest_file
        self._manifest: Manifest = read_run_manifest(
            self._manifest_file, benchmark.manifest_type, benchmark.command
        )
        self._items = list(benchmark.read_items(folder, self._manifest))
        self._log = DifferenceLog()

    def verify(self) -> Verification:
        """Verifies data set, replies, votes, rows and output files."""
        self._check_dataset()
        reply_keys = self._check_replies()
        self._check_votes(reply_keys)
        item_ids = {item.id for item in self._items}
        if all(item in item_ids for item, _, _ in reply_keys):
            self._check_rows()
        else:
            self._log.skipped.append("rows: there are replies to items that are not in the data")
        self._check_hashes()
        return self._log.to_verification(self._folder, self._benchmark.name)

    def _check_hashes(self) -> None:
        """Compares the hashes of files; a hash is named only where no other difference is."""
        recorded = self._manifest.files_sha256
        if not recorded:
            self._log.skipped.append("the hashes of the files: the manifest records none")
        elif not self._log.n_differences:
            names = list_hashed_files(self._benchmark)
            for path in find_changed_files(self._folder, recorded, names):
                expected = sha256_file(path) if path.is_file() else ABSENT
                found = recorded.get(path.name, ABSENT)
                changed_line = find_changed_line([path], self._manifest)
                if changed_line is None:
                    self._add_to_manifest(f"files_sha256.{path.name}", expected, found)
                else:
                    self._log.add_difference(changed_line)

    def _check_dataset(self) -> None:
        benchmark, manifest, log = self._benchmark, self._manifest, self._log
        if len(self._items) not in (manifest.sample_count, len(manifest.layout.asked_items)):
            self._add_to_manifest("sample_count", len(self._items), manifest.sample_count)
        actual = None
        if benchmark.hash_dataset is not None:
            actual = benchmark.hash_dataset(self._folder, manifest)
        if actual is None:
            log.skipped.append("the hash of the data set: the whole data set is not at hand")
        elif actual != manifest.dataset_sha256:
            self._add_to_manifest("dataset_sha256", actual, manifest.dataset_sha256)

    def _check_replies(self) -> Mapping[_Key, int]:
        """Checks that each expected reply is there once, in order; returns the lines by key."""
        path, lines = self._folder / REPLIES, dict[_Key, int]()
        decode = msgspec.json.Decoder(Reply).decode
        expected = dict.fromkeys(self._list_expected_keys())
        for number, reply in iter_decoded_lines(path, "replies", decode):
            key = make_reply_key(reply)
            if key in lines or key not in expected:
                problem = f"a second reply, after line {lines[key]}" if key in lines else "a reply"
                self._add_line(path, number, key, "reply", ABSENT, problem)
            lines.setdefault(key, number)
        self._log.checked["replies"] = len(lines)
        for key in expected:
            if key not in lines:
                self._log.add(
                    path, "reply", expected="a reply", found=ABSENT, row=self._describe(key)
                )
        present = [key for key in lines if key in expected]
        if present != [key for key in expected if key in lines]:
            self._log.add(
                path, "order", expected="the order of items, repeats, systems", found="another"
            )
        return lines

    def _check_votes(self, reply_keys: Mapping[_Key, int]) -> None:
        path = self._folder / VOTES
        if not path.exists():
            return
        item_ids = {item.id for item in self._items}
        seen: set[tuple[_Key, bool]] = set()
        for number, vote in iter_decoded_lines(path, "votes", msgspec.json.Decoder(Vote).decode):
            key = make_reply_key(vote)
            is_known = vote.id in item_ids if vote.anchor else key in reply_keys
            if not is_known or (key, vote.anchor) in seen:
                problem = "a second vote" if is_known else "a vote on a reply that is not there"
                self._add_line(path, number, key, "vote", ABSENT, problem)
            seen.add((key, vote.anchor))
        self._log.checked["votes"] = len(seen)

    def _check_rows(self) -> None:
        """Computes the rows again, and compares them and their counts."""
        benchmark = self._benchmark
        counts = dict.fromkeys(benchmark.outcomes, 0)
        expected: dict[_Key, Any] = {}
        rows: list[Row] = []
        try:
            for row in compute_rows(self._folder, benchmark, self._manifest, self._items):
                rows.append(row)
                key = benchmark.row_key(row)
                counts[benchmark.outcomes[key.outcome]] += 1
                value = msgspec.json.decode(to_json_bytes(row))
                expected.setdefault((key.item, key.system, key.repeat), value)
        except EpocheError:
            raise
        except Exception as error:  # a changed reply may be one that no system could have given
            self._log.add(
                self._folder / REPLIES,
                "value",
                expected="replies that can be scored",
                found=describe_error(error),
            )
            return
        self._log.checked["rows"] = len(expected)
        self._compare_rows(expected)
        if self._manifest.status == "complete":
            verify_outputs(self._folder, benchmark, rows, self._log)
        else:
            self._log.skipped.append("output files: the run is not complete")
        if self._manifest.status == "running":
            self._log.skipped.append("counts: the run was stopped before they were written")
            return
        for name, value in {**dict.fromkeys(self._manifest.counts, 0), **counts}.items():
            if self._manifest.counts.get(name, 0) != value:
                self._add_to_manifest(f"counts.{name}", value, self._manifest.counts.get(name, 0))

    def _compare_rows(self, expected: Mapping[_Key, Any]) -> None:
        path = require_file(self._folder / self._benchmark.rows_file, "rows")
        decode = msgspec.json.Decoder(self._benchmark.row_type).decode
        seen: dict[_Key, int] = {}
        with path.open("rb") as handle:
            for number, line in enumerate(handle, start=1):
                try:
                    found, row = msgspec.json.decode(line), decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    self._log.add(path, "row", expected="a row", found=str(error), line=number)
                    continue
                item, system, repeat, _, _ = self._benchmark.row_key(row)
                key = item, system, repeat
                if key in seen or key not in expected:
                    problem = f"a second row, after line {seen[key]}" if key in seen else "a row"
                    self._add_line(path, number, key, "row", ABSENT, problem)
                    continue
                seen[key] = number
                self._log.compare(path, expected[key], found, line=number, row=self._describe(key))
        for key in expected:
            if key not in seen:
                self._log.add(path, "row", expected="a row", found=ABSENT, row=self._describe(key))
        if list(seen) != [key for key in expected if key in seen]:
            self._log.add(path, "order", expected="the order of the replies", found="another")

    def _list_expected_keys(self) -> list[_Key]:
        manifest, items = self._manifest, self._items
        asked = manifest.layout.asked_items
        if len(items) == manifest.sample_count:
            items = [items[number] for number in asked]
        return [
            (item.id, system, repeat)
            for item in items
            for repeat in range(manifest.repeats)
            for system in manifest.system_names
        ]

    def _describe(self, key: _Key) -> str:
        item, system, repeat = key
        repeat_text = f", repeat {repeat}" if self._manifest.repeats > 1 else ""
        return f"{self._benchmark.nouns[0]} {item!r} of {system}{repeat_text}"

    def _add_line(
        self, path: Path, line: int, key: _Key, field: str, expected: str, found: str
    ) -> None:
        self._log.add(
            path, field, expected=expected, found=found, line=line, row=self._describe(key)
        )

    def _add_to_manifest(self, field: str, expected: object, found: object) -> None:
        self._log.add(self._manifest_file, field, expected=expected, found=found)
