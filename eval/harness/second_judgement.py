"""Judges the replies of a finished run again, into another folder, without asking any system."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import msgspec

from eval.harness.base_run import RunFlags, RunResult
from eval.harness.benchmark import Item, Manifest, Row
from eval.harness.folder_run import RunDescription, refuse_leftovers, run_in_folder
from eval.harness.journals.journal import Journal
from eval.harness.outputs import delete_outputs_and_report, require_owned_folder
from eval.harness.reply import REPLIES, VOTES, read_replies
from eval.harness.resume import (
    OUT_HINT,
    make_no_resume_error,
    read_run_manifest,
    write_run_manifest,
)
from eval.harness.totals import CallMeter, CallTotals
from eval.harness.verification.changed_files import find_changed_files, make_changed_error
from kg.base.errors import CardSetMismatchError, IncompleteRunError, WriteError
from kg.base.files import atomic_writer, require_file, sha256_file


def judge_again(
    run: Path, flags: RunFlags, description: RunDescription[Item, Row, Manifest]
) -> RunResult[Manifest]:
    """Has the replies of a run judged by other judges, and computes the rows anew.

    Replies and items are copied to the new folder. An interrupted judgement is resumed.

    Args:
        run: folder of the finished run.
        flags: the new folder, and how the judgement is executed.
        description: describes the new run; it has a judge and no systems.

    Raises:
        MissingFileError, RecordError: a file of the run is missing or damaged.
        ChangedRunError: replies or items were changed after the run.
        IncompleteRunError: the run has no replies to some of its items.
        CardSetMismatchError: the new folder contains a run of other replies or other judges.
        WriteError: the new folder is that of the run, contains a run that may not be resumed, has
            rows or votes without replies, or cannot be written.
        EpocheError: as ``run_in_folder``.
    """
    if run.resolve() == flags.out.resolve():
        raise WriteError(
            "the run would be overwritten by its second judgement",
            where=str(run),
            hint="Choose another --out.",
        )
    layout = description.manifest.layout
    n_expected = len(layout.asked_items) * layout.rows_per_item
    with require_file(run / REPLIES, "replies").open("rb") as handle:
        n_replies = sum(1 for _ in handle)
    if n_replies != n_expected:
        raise IncompleteRunError(
            f"the run has {n_replies} of {n_expected} replies",
            where=str(run / REPLIES),
            hint=f"Finish it first: give its `{description.benchmark.command}` command again.",
        )
    _refuse_changed_replies(run, description)
    require_owned_folder(
        flags.out, (description.benchmark.rows_file, description.benchmark.manifest_file)
    )
    _copy_run(run, flags, description)
    return run_in_folder(
        replace(flags, resume=True, overwrite=False),
        layout.size,
        description.manifest.sample_count,
        lambda: description,
    )


def _refuse_changed_replies(run: Path, description: RunDescription[Item, Row, Manifest]) -> None:
    """Refuses replies or items that were changed after the run that is judged again.

    Raises:
        ChangedRunError: there are some.
    """
    benchmark = description.benchmark
    manifest = read_run_manifest(
        run / benchmark.manifest_file, benchmark.manifest_type, benchmark.command
    )
    names = (REPLIES, *benchmark.item_files)
    if changed := find_changed_files(run, manifest.files_sha256, names):
        raise make_changed_error(
            changed,
            manifest=manifest,
            hint=f"`epoche verify {run}` says where. Restore them, or give the command of the run "
            "again with --overwrite.",
        )


def _copy_run(run: Path, flags: RunFlags, description: RunDescription[Item, Row, Manifest]) -> None:
    """Copies items and replies to the new folder, unless they were copied before.

    The replies are copied last, so that a folder with replies has all files of the run.
    """
    out, benchmark = flags.out, description.benchmark
    # The journal is open as a lock: no other process writes the folder in the meantime.
    with Journal(out / REPLIES, 0) as existing:
        if existing.path.stat().st_size and not flags.overwrite:
            if not flags.resume:
                raise make_no_resume_error(out)
            if sha256_file(out / REPLIES) != sha256_file(run / REPLIES):
                raise CardSetMismatchError(
                    "the folder contains a run of other replies", where=str(out), hint=OUT_HINT
                )
            return
        if not flags.overwrite:
            refuse_leftovers(out, benchmark.rows_file)
        outputs = (*benchmark.output_files, benchmark.rows_file, VOTES)
        delete_outputs_and_report(out, outputs)
        for name in benchmark.item_files:
            _copy_file(run / name, out / name)
        first_manifest = msgspec.structs.replace(
            description.manifest, calls=_compute_reply_totals(run)
        )
        write_run_manifest(out / benchmark.manifest_file, first_manifest)
        _copy_file(run / REPLIES, out / REPLIES)


def _compute_reply_totals(run: Path) -> CallTotals | None:
    """Returns the usage of the replies, of which the second judgement pays nothing."""
    meter = CallMeter()
    for reply in read_replies(run / REPLIES):
        meter.add_row(0, reply.usage)
    return meter.compute_totals()


def _copy_file(source: Path, target: Path) -> None:
    with require_file(source, "file of the run").open("rb") as handle, atomic_writer(target) as out:
        shutil.copyfileobj(handle, out)
