"""Finds files of a run that are not as its last session left them, by the hashes in its manifest.

A hash shows accidents, and changes by people who do not know of it. Who changes the hash too is
found by computing the rows again (``epoche verify``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from eval.harness.base_manifest import BaseManifest
from eval.harness.benchmark import Benchmark
from eval.harness.reply import REPLIES, VOTES
from eval.harness.verification.line_digests import digest_lines, find_changed_digest
from eval.harness.verification.record import Difference, Verification
from kg.base.console import print_warning, print_warning_once
from kg.base.errors import ChangedRunError, EpocheError
from kg.base.files import sha256_file
from kg.base.plain_text import join_list, to_one_line

CHANGED_ROWS: Final = "rows:changed"
"""What signatures say if rows are not those that a run wrote, and were accepted all the same."""
UNVERIFIED_ROWS: Final = "rows:unverified"
"""What signatures say of rows without a recorded hash: logs of others, or of a run that goes on."""
ACCEPT_HINT: Final = (
    "Restore them or run again; --allow-changed accepts them, and every signature then says so."
)
MERGE_HINT: Final = (
    "`epoche verify {}` says where. Restore the files, or run the shard again with --overwrite; "
    "--allow-changed merges them as they are, and manifest and signatures then say so."
)
_WRITTEN_LINE: Final = "the line that the run wrote"
_MAX_VALUE_CHARS: Final = 80
AnyManifest = TypeVar("AnyManifest", bound=BaseManifest)


def list_hashed_files(benchmark: Benchmark[Any, Any, Any]) -> tuple[str, ...]:
    """Lists the rows, and the files that they are computed from; not all runs have all of them."""
    return benchmark.rows_file, REPLIES, VOTES, *benchmark.item_files


def hash_run_files(folder: Path, benchmark: Benchmark[Any, Any, Any]) -> dict[str, str]:
    """Returns the SHA-256 of the rows, and of the files that they are computed from, by name."""
    return {
        name: sha256_file(folder / name)
        for name in list_hashed_files(benchmark)
        if (folder / name).is_file()
    }


def describe_hashes(folder: Path, benchmark: Benchmark[Any, Any, Any]) -> dict[str, Any]:
    """Returns the fields of a manifest of a folder that have the hashes of its files."""
    hashes = hash_run_files(folder, benchmark)
    return {
        "files_sha256": hashes,
        "line_digests": {name: digest_lines(folder / name) for name in hashes},
    }


def find_changed_files(
    folder: Path,
    recorded: Mapping[str, str],
    names: Sequence[str],
) -> list[Path]:
    """Returns the files whose bytes are not those that a manifest recorded.

    Files that appeared or vanished are among them.

    Args:
        folder: the folder of the run.
        recorded: the hashes in its manifest. If it has none, nothing is known to be changed.
        names: names of the files that are looked at; a manifest may name anything.
    """
    if not recorded:
        return []
    return [
        folder / name
        for name in names
        if recorded.get(name) != (sha256_file(folder / name) if (folder / name).is_file() else None)
    ]


def make_changed_error(
    files: Sequence[Path],
    verification: Verification | None = None,
    *,
    manifest: BaseManifest | None = None,
    hint: str = ACCEPT_HINT,
) -> ChangedRunError:
    """Builds the error for changed files, naming the first difference where it is known.

    Args:
        files: the changed files.
        verification: what computing the rows again found; None if this is not possible.
        manifest: the manifest of the run; None if it has no digests of lines of these files.
        hint: what to do.
    """
    what = f"{join_list([path.name for path in files])} changed after the run"
    where = ", ".join(map(str, files))
    difference = _choose_difference(files, verification)
    changed_line = None if manifest is None else find_changed_line(files, manifest)
    if changed_line is not None and (difference is None or difference.line is None):
        difference = changed_line
    if difference is not None:
        line_text = "" if difference.line is None else f":{difference.line}"
        where = f"{difference.file}{line_text}"
        what += f"; the first difference: {describe_difference(difference)}"
    return ChangedRunError(what, where=where, hint=hint)


def find_changed_line(files: Sequence[Path], manifest: BaseManifest) -> Difference | None:
    """Finds the first line that was changed, by the digests of lines in a manifest.

    Returns:
        The line; None if the manifest has no digests of the files, or none differs.
    """
    digests = manifest.line_digests or {}
    for path in files:
        changed = find_changed_digest(path, digests.get(path.name, ""))
        if changed is not None:
            line, found = changed
            return Difference(
                file=str(path), line=line, field="line", expected=_WRITTEN_LINE, found=found
            )
    return None


def lacks_hashes(manifest: BaseManifest) -> bool:
    """Returns whether a run ended and its manifest has no hash of the rows, or none of itself.

    Rows computed from such rows are not known to be unchanged either: a hash of them would say so.
    """
    return manifest.status != "running" and not (manifest.file_hashes and manifest.content_sha256)


def warn_unverified(rows: Path, manifest: Path, *, status: str = "", is_foreign: bool) -> None:
    """Prints that nothing shows whether rows are those of a run, why, and what to do; once each.

    Args:
        rows: the file or folder.
        manifest: where its manifest is, or would be.
        status: the status of the run by its manifest; empty if there is no manifest.
        is_foreign: whether Epoché did not write the rows, so that no manifest can be expected.
    """
    if status == "running":
        reason = f"its run is not finished (status in {manifest.name}: running)"
        advice = "Finish the run first."
    elif status:
        reason = f"{manifest.name} records no hash of them, or none of itself"
        advice = "Run again with this version to have one."
    elif is_foreign:
        reason = "another program wrote them, without a manifest"
        advice = "Make sure that they are complete, and keep them as they are."
        if rows.is_file():
            advice += " `epoche score` makes a run with a manifest of predictions on your cards."
    else:
        reason = f"{manifest} is missing"
        advice = "Put the manifest of the run beside the rows, or run again."
    print_warning_once(
        f"{rows}: nothing shows whether rows were removed or changed, because {reason}; all values "
        f"are signed {UNVERIFIED_ROWS}. {advice}"
    )


def describe_accepted(problem: ChangedRunError) -> str:
    """Describes a change that the user accepted, for the warnings beside the numbers."""
    return f"Accepted with --allow-changed: {problem.what} ({problem.where})"


def record_accepted(manifest: AnyManifest, problems: Sequence[ChangedRunError]) -> AnyManifest:
    """Warns of changes that the user accepted, and returns a manifest that says so."""
    if not problems:
        return manifest
    for problem in problems:
        print_warning(f"{describe_accepted(problem)}.")
    earlier = manifest.accepted_changes or ()
    accepted = dict.fromkeys([*earlier, *(problem.what for problem in problems)])
    return msgspec.structs.replace(manifest, accepted_changes=tuple(accepted))


def describe_recorded(manifest: BaseManifest) -> list[str]:
    """Describes the changes that were accepted when a run was resumed or merged."""
    return [
        f"Accepted with --allow-changed when the run was resumed or merged: {change}."
        for change in manifest.accepted_changes or ()
    ]


def try_to_verify(verify: Callable[[], Verification]) -> Verification | None:
    """Returns what ``epoche verify`` finds in a run; None if nothing can be computed again."""
    try:
        return verify()
    except (EpocheError, OSError):
        return None


def describe_difference(difference: Difference) -> str:
    """Describes a difference in one line: row, field, value found and value expected."""
    row = f"{difference.row}: " if difference.row else ""
    expected, found = _shorten(difference.expected), _shorten(difference.found)
    return to_one_line(f"{row}{difference.field} is {found}, should be {expected}")


def _choose_difference(
    files: Sequence[Path], verification: Verification | None
) -> Difference | None:
    """Chooses the first difference with a line in one of the files, else the first of all."""
    if verification is None or not verification.differences:
        return None
    names = set(map(str, files))
    found = verification.differences
    with_line = [item for item in found if item.line is not None and item.file in names]
    return (with_line or list(found))[0]


def _shorten(value: Any) -> str:
    from kg.base.files import to_json_bytes

    text = value if isinstance(value, str) else to_json_bytes(value).decode()
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[: _MAX_VALUE_CHARS - 1]}…"
