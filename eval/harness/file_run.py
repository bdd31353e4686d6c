"""Runs a benchmark into one result file that is its own journal, and resumes interrupted runs.

Other benchmarks journal replies and compute rows from them (``folder_run``). Here a row contains
the whole reply beside a few fields of its item, so that it is computed line by line when the reply
arrives, and no second file is written. This is the one exception, made for cards, whose runs may
have a million rows: a run keeps nine bytes per row in memory and writes each row once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, Generic, Protocol

import msgspec

from eval.harness.base_run import BaseRun, RunFlags, RunResult
from eval.harness.journals.journal import Journal, RowReader
from eval.harness.journals.row_layout import RowLayout
from eval.harness.resume import AnyManifest, read_run_manifest, resume_manifest
from eval.harness.session import RunStatus
from eval.harness.verification.line_digests import digest_lines
from eval.harness.workers import Question
from eval.model.usage import Usage
from kg.base.console import print_warning
from kg.base.errors import CardSetMismatchError, ModelAccessError
from kg.base.files import convert_write_errors, sha256_file
from kg.base.provenance import manifest_path


class FilePlan(RowReader, Protocol):
    """The questions of a run, and the parser of its rows."""

    @property
    def layout(self) -> RowLayout:
        """The positions of the rows."""
        ...

    def iter_questions(self, has_row: Callable[[int], bool]) -> Iterator[Question]:
        """Yields the questions whose positions have no row yet, in the order of the positions."""
        ...


@dataclass(frozen=True, kw_only=True)
class FileRunDescription(Generic[AnyManifest]):
    """One run into a file.

    Attributes:
        title: the systems, for the progress display.
        command: the command that writes such runs, for hints.
        noun: what messages call an item.
        manifest: the manifest that a new run would have.
        fixed_fields: fields of the manifest that are the same in all sessions and shards of a run.
        make_plan: returns the plan, given a function to call with outcome code and usage of every
            row that is read.
        outcomes: names of the outcomes, in the order of their codes.
        error_outcome: the outcome code that counts as a failure.
        has_async: whether any question is asynchronous.
        observed: returns the output mode and model names that the servers reported, by system.
        on_close: functions to await when no system is asked any more.
        locate_derived_file: returns the path of a file that is computed from the rows of a result
            file, if it exists; it is deleted and renamed with them.
    """

    title: str
    command: str
    noun: str
    manifest: AnyManifest
    fixed_fields: Sequence[str]
    make_plan: Callable[[Callable[[int, Usage | None], None]], FilePlan]
    outcomes: Sequence[str]
    error_outcome: int
    has_async: bool
    observed: Callable[[], dict[str, Any]]
    on_close: Sequence[Callable[[], Awaitable[object]]] = ()
    locate_derived_file: Callable[[Path], Path] | None = None


def run_in_file(
    flags: RunFlags, description: FileRunDescription[AnyManifest], *, set_aside: bool = False
) -> RunResult[AnyManifest]:
    """Asks for the rows that are not in the result file yet.

    Args:
        flags: the result file, and how the run is executed. The manifest is written next to it.
        description: the run.
        set_aside: if the file contains another run, rename it and start a new file.

    Raises:
        RecordError, DuplicateIdError: the rows or the manifest of an earlier session are damaged.
        CardSetMismatchError: the file contains a run of other items or settings.
        WriteError: disk full, no permission, another run is writing the file, or it contains rows
            and ``resume`` is false.
        ModelAccessError: a model cannot be used. Rows are kept; without any, no file is left.
        CostLimitError, TooManyErrorsError: a limit was reached with questions left. Rows are kept.
    """
    if set_aside and flags.resume and not flags.overwrite:
        _rename_stale_results(flags.out, description)
    try:
        with Journal(flags.out, description.manifest.layout.size) as journal:
            if flags.overwrite:
                journal.clear()
                _delete_derived_file(flags.out, description)
            return _FileRun(flags, description, journal).execute()
    except ModelAccessError:
        # A wrong name of a model leaves no empty results, which other commands would refuse.
        if flags.out.is_file() and not flags.out.stat().st_size:
            flags.out.unlink()
            manifest_path(flags.out).unlink(missing_ok=True)
        raise


class _FileRun(BaseRun[AnyManifest]):
    """One session of a run into a file."""

    def __init__(
        self, flags: RunFlags, description: FileRunDescription[AnyManifest], journal: Journal
    ) -> None:
        super().__init__(
            flags, description.manifest, manifest_path(flags.out), description.observed
        )
        self._description = description
        self._journal = journal
        self._plan = description.make_plan(self._meter.add_row)
        self.load_rows(journal, self._plan, lambda new: _resume_run(new, flags.out, description))
        self.start_totals([(journal, description.error_outcome)])

    def execute(self) -> RunResult[AnyManifest]:
        """Asks for all missing rows. File and manifest are consistent even if an error ends it."""
        description, journal, plan = self._description, self._journal, self._plan
        n_existing, n_missing = journal.row_count, plan.layout.row_count - journal.row_count
        self.ask_questions(
            description.title,
            journal,
            plan.iter_questions(journal.has_row),
            n_missing=n_missing,
            error_outcome=description.error_outcome,
            has_async=description.has_async,
            on_close=description.on_close,
        )
        return RunResult(
            folder=self._flags.out.parent,
            manifest=read_run_manifest(
                self._manifest_file, type(description.manifest), description.command
            ),
            asked=n_missing,
            existing=n_existing,
        )

    def describe_rows(self, status: RunStatus) -> dict[str, Any]:
        """Returns the hash of the finished file."""
        if status == "running" or self._has_unverified_rows:
            return {"rows_sha256": None, "line_digests": msgspec.UNSET}
        out = self._flags.out
        return {"rows_sha256": sha256_file(out), "line_digests": {out.name: digest_lines(out)}}

    def count_rows(self, _status: RunStatus) -> dict[str, int]:
        """Returns the number of rows by outcome."""
        return self._journal.count_outcomes(self._description.outcomes)


def _resume_run(
    new: AnyManifest, out: Path, description: FileRunDescription[AnyManifest]
) -> AnyManifest:
    return resume_manifest(
        new,
        manifest_path(out),
        (*description.fixed_fields, "shard"),
        description.command,
        noun=description.noun,
    )


def _delete_derived_file(out: Path, description: FileRunDescription[AnyManifest]) -> None:
    if description.locate_derived_file is not None:
        derived = description.locate_derived_file(out)
        with convert_write_errors(derived):
            derived.unlink(missing_ok=True)


def _rename_stale_results(out: Path, description: FileRunDescription[AnyManifest]) -> None:
    """Renames results of another run to ``X.stale-<data set hash>.jsonl``; nothing is deleted.

    Results of this run are left in place, to be resumed.
    """
    manifest_file = manifest_path(out)
    if not (out.is_file() and manifest_file.is_file() and out.stat().st_size):
        return
    try:
        _resume_run(description.manifest, out, description)
    except CardSetMismatchError as error:
        old = read_run_manifest(manifest_file, type(description.manifest), description.command)
        stem = f"{out.stem}.stale-{old.dataset_hashes[0][:12]}"
        names = chain([stem], (f"{stem}-{number}" for number in count(2)))
        candidates = (out.with_name(name + out.suffix) for name in names)
        stale_path = next(candidate for candidate in candidates if not candidate.exists())
        with convert_write_errors(stale_path):
            out.replace(stale_path)
            manifest_file.replace(manifest_path(stale_path))
            if description.locate_derived_file is not None:
                derived = description.locate_derived_file(out)
                if derived.is_file():
                    derived.replace(description.locate_derived_file(stale_path))
        print_warning(f"set aside as {stale_path.name}: {error.what}")
