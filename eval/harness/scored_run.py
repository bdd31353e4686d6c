"""Writes a run folder from replies that exist already, such as predictions made elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from eval.harness.benchmark import Benchmark, Item, Manifest, Row
from eval.harness.outputs import delete_outputs_and_report, require_owned_folder
from eval.harness.reply import REPLIES, VOTES, Reply
from eval.harness.row_writer import make_reply_key, write_rows
from eval.manifest import utc_now
from kg.base.errors import WriteError
from kg.base.files import convert_write_errors, write_json_atomic, write_jsonl_atomic

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
        WriteError: the folder has a run and ``overwrite`` is false, or it cannot be written.
    """
    if any((out / name).exists() for name in (benchmark.rows_file, REPLIES)) and not overwrite:
        raise WriteError(
            "the folder contains a run already",
            where=str(out),
            hint="Choose another --out, or use --overwrite to replace it.",
        )
    require_owned_folder(out, (benchmark.rows_file, benchmark.manifest_file))
    replies_by_key = {make_reply_key(reply): reply for reply in replies}
    keys = [
        (item.id, system, repeat)
        for item in items
        for repeat in range(manifest.repeats)
        for system in manifest.system_names
    ]
    with convert_write_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        (out / VOTES).unlink(missing_ok=True)
    delete_outputs_and_report(out, benchmark.output_files)
    write_items()
    write_jsonl_atomic(
        out / REPLIES, (replies_by_key.get(key) or _make_missing_reply(*key) for key in keys)
    )
    counts = write_rows(out, benchmark, manifest, items)
    finished = msgspec.structs.replace(manifest, status="complete", ended=utc_now(), counts=counts)
    write_json_atomic(out / benchmark.manifest_file, finished)
    return finished


def _make_missing_reply(item: str, system: str, repeat: int) -> Reply:
    return Reply(id=item, system=system, repeat=repeat, status="error", problem=NO_PREDICTION)
