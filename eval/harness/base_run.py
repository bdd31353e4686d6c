"""One session of a run: its manifest, totals and journals, whatever the run writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

import msgspec

from eval.harness.journals.journal import Journal, RowReader
from eval.harness.resume import OUT_HINT, AnyManifest, make_no_resume_error, write_run_manifest
from eval.harness.session import RunLimits, RunStatus, Session
from eval.harness.systems.description import merge_observed
from eval.harness.totals import CallMeter
from eval.harness.verification.changed_files import lacks_hashes, record_accepted
from eval.harness.workers import Question
from kg.base.errors import ChangedRunError
from kg.base.files import sha256_file
from kg.base.provenance import utc_now

_DEFAULT_LIMITS = RunLimits()


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """What every run command can be told, whatever the benchmark.

    Attributes:
        out: folder of the run, or its result file.
        resume: whether a run in ``out`` may be resumed.
        overwrite: whether a run in ``out`` is deleted first.
        retry_errors: whether failed rows are asked again.
        allow_changed: whether rows are resumed that were changed after the last session; the
            manifest then says so.
        limits: concurrency, and the limits at which the run is aborted.
    """

    out: Path
    resume: bool = True
    overwrite: bool = False
    retry_errors: bool = False
    allow_changed: bool = False
    limits: RunLimits = _DEFAULT_LIMITS


@dataclass(frozen=True, kw_only=True)
class RunResult(Generic[AnyManifest]):
    """Result of a run.

    Attributes:
        folder: folder of the run.
        manifest: the manifest as written to disk.
        asked: number of replies added in this session.
        existing: number of replies that existed already.
    """

    folder: Path
    manifest: AnyManifest
    asked: int
    existing: int


class BaseRun(Generic[AnyManifest]):
    """One session of a run. Its journals are locked while the object is in use.

    Args:
        flags: how the run is executed.
        manifest: the manifest that a new run would have.
        manifest_file: path of the manifest.
        observed: returns the output mode and model names that the servers reported, by system.
    """

    def __init__(
        self,
        flags: RunFlags,
        manifest: AnyManifest,
        manifest_file: Path,
        observed: Callable[[], dict[str, Any]],
    ) -> None:
        self._flags = flags
        self._manifest = manifest
        self._manifest_file = manifest_file
        self._observed = observed
        self._meter = CallMeter()
        self._has_unverified_rows = False
        """Whether rows are resumed of which an earlier session ended without recording a hash."""

    def load_rows(
        self,
        journal: Journal,
        rows: RowReader,
        resume_run: Callable[[AnyManifest], AnyManifest],
    ) -> None:
        """Loads the rows of an interrupted run, if there are any, and resumes its manifest.

        Args:
            journal: the open journal.
            rows: parses the rows.
            resume_run: returns the manifest of the resumed run, given that of a new run.

        Raises:
            WriteError: the journal contains rows, and the run may not be resumed.
            ChangedRunError: the rows are not those that the last session left.
            EpocheError: as ``resume_run`` and ``Journal.load_rows``.
        """
        if not journal.path.stat().st_size:
            return
        if not self._flags.resume:
            raise make_no_resume_error(self._flags.out)
        self._manifest = resume_run(self._manifest)
        self._has_unverified_rows = lacks_hashes(
            msgspec.json.decode(self._manifest_file.read_bytes(), type=type(self._manifest))
        )
        journal.load_rows(rows)
        self.refuse_changed_journal(journal)

    def refuse_changed_journal(self, journal: Journal) -> None:
        """Refuses a loaded journal that is not as the last session left it, or accepts it if asked.

        A session that was killed recorded no hash, so that its rows are resumed.

        Raises:
            ChangedRunError: its rows were changed afterwards, and this is not accepted.
        """
        recorded = self._manifest.file_hashes.get(journal.path.name)
        if recorded is None or recorded == sha256_file(journal.path):
            return
        problem = ChangedRunError(
            f"{journal.path.name} changed after the last session of the run",
            where=str(journal.path),
            hint=f"`epoche verify {self._flags.out}` says where. Restore it to resume the run; "
            f"--allow-changed resumes it as it is, and manifest and signatures then say so. "
            f"{OUT_HINT}",
        )
        if not self._flags.allow_changed:
            raise problem
        self._manifest = record_accepted(self._manifest, [problem])

    def start_totals(self, error_outcomes: Sequence[tuple[Journal, int]]) -> None:
        """Adds the calls of earlier sessions, and removes failed rows that are asked again.

        Args:
            error_outcomes: each loaded journal with its outcome code of a failure.
        """
        self._meter.add_earlier_sessions(self._manifest.calls)
        if self._flags.retry_errors:
            # First, so that a crash does not leave the hash of rows that are no longer there.
            self.save_manifest("running")
            for journal, outcome in error_outcomes:
                journal.remove_outcome(outcome)
                self._meter.remove_outcome(outcome)

    def ask_questions(
        self,
        title: str,
        journal: Journal,
        questions: Iterator[Question],
        *,
        n_missing: int,
        error_outcome: int,
        has_async: bool,
        on_close: Sequence[Callable[[], Awaitable[object]]] = (),
        is_last: bool = True,
    ) -> None:
        """Asks the questions without a row in a journal; see ``Session``.

        Args:
            title: name of the run, for the progress display.
            journal: the journal.
            questions: the questions.
            n_missing: their number.
            error_outcome: the outcome code that counts as a failure.
            has_async: whether any of them is asynchronous.
            on_close: functions to await at the end.
            is_last: whether the run is complete when all of them are answered.
        """

        def save_manifest(status: RunStatus) -> None:
            self.save_manifest("running" if status == "complete" and not is_last else status)

        session = Session(
            title,
            journal,
            self._meter,
            self._flags.limits,
            error_outcome=error_outcome,
            n_missing=n_missing,
            save_manifest=save_manifest,
        )
        session.run(questions, has_async=has_async, on_close=on_close)

    def save_manifest(self, status: RunStatus) -> None:
        """Writes the manifest; at the end of a session, after the rows that it counts."""
        write_run_manifest(
            self._manifest_file,
            msgspec.structs.replace(
                self._manifest,
                status=status,
                ended=None if status == "running" else utc_now(),
                counts=self.count_rows(status),
                calls=self._meter.compute_totals(),
                observed=merge_observed(self._manifest.observed, self._observed()),
                **self.describe_rows(status),
            ),
        )

    def describe_rows(self, status: RunStatus) -> dict[str, Any]:
        """Returns further fields of the manifest that depend on the rows."""
        del status
        return {}

    def count_rows(self, status: RunStatus) -> dict[str, int]:
        """Returns the number of rows by outcome; subclasses may write the rows first."""
        raise NotImplementedError
