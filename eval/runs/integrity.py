"""Checks that run folders are as the run left them, before they are measured or reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from eval.harness.benchmark import Benchmark
from eval.harness.benchmarks import SHARED_MANIFEST, find_measured_benchmark, read_kind
from eval.harness.folder_manifest import FolderManifest
from eval.harness.resume import read_run_manifest
from eval.harness.verification.changed_files import (
    ACCEPT_HINT,
    CHANGED_ROWS,
    UNVERIFIED_ROWS,
    describe_accepted,
    describe_recorded,
    find_changed_files,
    lacks_hashes,
    list_hashed_files,
    make_changed_error,
    try_to_verify,
    warn_unverified,
)
from eval.harness.verification.folder_verifier import verify_folder
from eval.metrics.record_digest import check_digest
from kg.base.errors import ChangedRunError
from kg.base.files import iter_decoded_lines, sha256_file

SCORES_HINT: Final = (
    "Score the run again, or restore them; --allow-changed accepts them, and every signature then "
    "says so."
)


class _ScoresManifest(msgspec.Struct):
    """The part of a manifest of scores that is checked here; measuring has checked the rest."""

    files_sha256: dict[str, str] = {}


@dataclass(frozen=True)
class FolderIntegrity:
    """What is known of the rows in run folders.

    Attributes:
        signature_detail: what signatures must say; empty if all is as the runs left it.
        warnings: what must be said wherever numbers are shown.
    """

    signature_detail: str = ""
    warnings: tuple[str, ...] = ()


def check_folders(folders: Sequence[Path], *, allow_changed: bool = False) -> FolderIntegrity:
    """Refuses runs whose files are not those that the manifest counts and hashes.

    Args:
        folders: the folders.
        allow_changed: accept them with a warning and a mark in the signature.

    Raises:
        ChangedRunError: files were changed, and ``allow_changed`` is false.
        EpocheError: a manifest or a row is damaged.
    """
    detail = ""
    warnings: list[str] = []
    for folder in folders:
        benchmark = find_measured_benchmark(folder)
        if changed := _find_changed_scores(folder, benchmark):
            problem = make_changed_error(changed, hint=SCORES_HINT)
            if not allow_changed:
                raise problem
            detail = CHANGED_ROWS
            warnings.append(f"{describe_accepted(problem)}.")
        if not (folder / benchmark.manifest_file).is_file():
            detail = detail or UNVERIFIED_ROWS  # scores of predictions that no run of ours wrote
            warn_unverified(folder, folder / benchmark.manifest_file, is_foreign=True)
            continue
        manifest = read_run_manifest(
            folder / benchmark.manifest_file, benchmark.manifest_type, benchmark.command
        )
        if recorded := describe_recorded(manifest):
            detail = CHANGED_ROWS
            warnings += recorded
        if lacks_hashes(manifest) or manifest.status == "running":
            detail = detail or UNVERIFIED_ROWS
            manifest_file = folder / benchmark.manifest_file
            warn_unverified(folder, manifest_file, status=manifest.status, is_foreign=False)
            continue
        row_problem = _find_problem(folder, benchmark, manifest)
        if row_problem is None:
            continue
        if not allow_changed:
            raise row_problem
        detail = CHANGED_ROWS
        warnings.append(f"{describe_accepted(row_problem)}.")
    return FolderIntegrity(detail, tuple(warnings))


def check_computed_records(folder: Path, *, allow_changed: bool = False) -> tuple[str, ...]:
    """Refuses computed numbers in a run folder that were edited, or are not those of its rows.

    Returns:
        What must be said beside the numbers: that this was accepted, or cannot be known.

    Raises:
        ChangedRunError: numbers were edited or are of other rows, and this is not accepted.
    """
    benchmark = find_measured_benchmark(folder)
    warnings: dict[str, None] = {}
    for name, key in benchmark.computed_records:
        path = folder / name
        if not path.is_file():
            continue
        warnings |= dict.fromkeys(
            check_digest(path, key=key, command=benchmark.command, allow_changed=allow_changed)
        )
        fields = msgspec.json.decode(path.read_bytes())
        recorded = (fields[key] if key else fields).get("rows_sha256")
        if recorded and recorded != sha256_file(folder / benchmark.rows_file):
            problem = ChangedRunError(
                f"{name} was computed from other rows than {benchmark.rows_file}",
                where=str(path),
                hint=f"Give the command of the run again (`{benchmark.command}`): it computes them "
                "from these rows.",
            )
            if not allow_changed:
                raise problem
            warnings[f"{describe_accepted(problem)}."] = None
    return tuple(warnings)


def _find_changed_scores(folder: Path, benchmark: Benchmark[Any, Any, Any]) -> list[Path]:
    """Returns the files of scores that are not those that their manifest hashes."""
    path = folder / SHARED_MANIFEST
    if not benchmark.scores_files or read_kind(path) != benchmark.scores_kind:
        return []
    recorded = msgspec.json.decode(path.read_bytes(), type=_ScoresManifest).files_sha256
    return find_changed_files(folder, recorded, benchmark.scores_files)


def _find_problem(
    folder: Path, benchmark: Benchmark[Any, Any, Any], manifest: FolderManifest
) -> ChangedRunError | None:
    names = list_hashed_files(benchmark)
    if changed := find_changed_files(folder, manifest.files_sha256, names):
        verification = try_to_verify(lambda: verify_folder(folder, benchmark))
        return make_changed_error(changed, verification, manifest=manifest)
    counts = _count_rows(folder, benchmark)
    for outcome in benchmark.outcomes:
        if (recorded := manifest.counts.get(outcome, 0)) != counts[outcome]:
            return ChangedRunError(
                f"counts.{outcome} in the manifest is {recorded}, and {benchmark.rows_file} has "
                f"{counts[outcome]} such rows",
                where=str(folder / benchmark.manifest_file),
                hint=ACCEPT_HINT,
            )
    return None


def _count_rows(folder: Path, benchmark: Benchmark[Any, Any, Any]) -> Counter[str]:
    decode = msgspec.json.Decoder(benchmark.row_type).decode
    rows = iter_decoded_lines(folder / benchmark.rows_file, "rows", decode)
    return Counter(benchmark.outcomes[benchmark.row_key(row).outcome] for _, row in rows)
