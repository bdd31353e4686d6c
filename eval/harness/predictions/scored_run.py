"""Writes a run folder from replies that exist already, such as predictions made elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from eval.harness.benchmark import Benchmark, Item, Manifest, Row
from eval.harness.journals.journal import Journal
from eval.harness.outputs import delete_outputs, delete_outputs_and_report, require_owned_folder
from eval.harness.reply import REPLIES, STATUSES, VOTES, Reply
from eval.harness.resume import write_run_manifest
from eval.harness.row_writer import make_reply_key, write_rows
from eval.harness.verification.changed_files import describe_hashes
from kg.base.errors import WriteError
from kg.base.files import to_json_bytes
from kg.base.provenance import utc_now

NO_PREDICTION = "there is no prediction for it"


@dataclass(frozen=True)
class PredictedSystem:
    """A system whose answers are read from a file, for the description of a run.

    Attributes:
        name: its name.
        source: what the manifest says about the file.
    """

    name: str
    source: Mapping[str, Any]

    def params(self) -> dict[str, Any]:
        """Returns what the manifest says about the file."""
        return dict(self.source)

    def answer(self, view: object, /) -> NoReturn:
        """Is never called: a run whose replies exist asks no system."""
        raise NotImplementedError(view)


def write_scored_run(
    out: Path,
    benchmark: Benchmark[Item, Row, Manifest],
    manifest: Manifest,
    items: Sequence[Item],
    replies: Iterable[Reply],
    *,
    write_items: Callable[[], object] = lambda: None,
    overwrite: bool = False,
) -> Manifest:
    """Writes replies, rows and manifest of a run that asked no system.

    An item without a reply of a system gets one that says so, with the status ``error``, so that a
    missing prediction never makes the number of items smaller.

    Args:
        out: folder to write to.
        benchmark: the benchmark.
        manifest: the manifest, without status and counts.
        items: the items of the run.
        replies: replies to these items, in any order; at most one per item, repeat and system.
        write_items: writes the benchmark's ``item_files``.
        overwrite: whether to replace an existing run in the folder.

    Returns:
        The manifest as written.

    Raises:
        WriteError: the folder has a run and ``overwrite`` is false, another run is writing to it,
            or it cannot be written.
    """
    if (out / benchmark.rows_file).exists() and not overwrite:
        raise _make_existing_error(out)
    require_owned_folder(out, (benchmark.rows_file, benchmark.manifest_file))
    replies_by_key = {make_reply_key(reply): reply for reply in replies}
    keys = [
        (item.id, system, repeat)
        for item in items
        for repeat in range(manifest.repeats)
        for system in manifest.system_names
    ]
    # The open journal is also the lock: no other process writes the folder in the meantime.
    with Journal(out / REPLIES, len(keys)) as journal:
        if journal.path.stat().st_size and not overwrite:
            raise _make_existing_error(out)
        delete_outputs_and_report(out, benchmark.output_files)
        # Without a manifest, nothing takes what a crash leaves for a finished run.
        delete_outputs(out, (benchmark.manifest_file, benchmark.rows_file, VOTES))
        journal.clear()
        write_items()
        for position, key in enumerate(keys):
            reply = replies_by_key.get(key) or _make_missing_reply(*key)
            outcome = STATUSES.index(reply.status)
            journal.append(position, outcome, to_json_bytes(reply) + b"\n")
        counts = write_rows(out, benchmark, manifest, items)
        finished = msgspec.structs.replace(
            manifest,
            status="complete",
            ended=utc_now(),
            counts=counts,
            **describe_hashes(out, benchmark),
        )
        write_run_manifest(out / benchmark.manifest_file, finished)
    return finished


def _make_existing_error(out: Path) -> WriteError:
    return WriteError(
        "the folder contains a run already",
        where=str(out),
        hint="Choose another --out, or use --overwrite to replace it.",
    )


def _make_missing_reply(item: str, system: str, repeat: int) -> Reply:
    return Reply(id=item, system=system, repeat=repeat, status="error", problem=NO_PREDICTION)
