"""Runs a benchmark into a folder and resumes interrupted runs.

A new run is treated as a resumed run whose folder has no rows yet. Rows are appended to a journal
in the order in which answers arrive and are sorted by item, repeat and system at the end. A
benchmark only describes its run: items, systems, rows and manifest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec

from eval.harness.benchmark import Benchmark, Manifest, Row
from eval.harness.grid import AsyncQuestion, Grid, SyncQuestion, shuffle_positions
from eval.harness.journal import Journal
from eval.harness.outputs import delete_outputs_and_report
from eval.harness.resume import load_journal, read_run_manifest, resume_manifest
from eval.harness.session import RunLimits, RunStatus, Session
from eval.harness.totals import CallMeter
from eval.harness.workers import AnsweredRow, Question
from eval.manifest import utc_now
from eval.model.warm_up import WarmUp
from eval.system_description import merge_observed
from kg.base.files import to_json_bytes, write_json_atomic

if TYPE_CHECKING:
    from eval.model.options import ClientOptions
    from eval.model.prices import Price


class HasId(Protocol):
    """Something with an id, such as a sample or a question."""

    @property
    def id(self) -> str:
        """The id that rows name."""
        ...


Item = TypeVar("Item", bound=HasId)

_DEFAULT_LIMITS = RunLimits()


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """What every run command can be told, whatever the benchmark.

    Attributes:
        out: folder of the run.
        resume: whether a run in the folder may be resumed.
        overwrite: whether a run in the folder is deleted first.
        retry_errors: whether failed rows are asked again.
        limits: concurrency, and the limits at which the run is aborted.
    """

    out: Path
    resume: bool = True
    overwrite: bool = False
    retry_errors: bool = False
    limits: RunLimits = _DEFAULT_LIMITS


@dataclass(frozen=True, kw_only=True)
class RunDescription(Generic[Item, Row, Manifest]):
    """One run of a benchmark, without the parts that are the same in all benchmarks.

    Attributes:
        benchmark: the benchmark.
        title: the systems, for the progress display.
        items: all items, asked or not.
        answer: returns the row of an item, given the numbers of system and repeat.
        is_async: whether ``answer`` is a coroutine for a system, given its number.
        manifest: the manifest that a new run would have.
        before_asking: called before the first question with the items to ask (those within limit
            and shard); not called if every row exists.
        observed: returns the output mode and model names that the servers reported, by system.
        warmup_clients: clients to call once before the first question.
        price: price of the warm-up calls; None means the price tables.
        on_close: functions to await at the end of the run.
    """

    benchmark: Benchmark[Row, Manifest]
    title: str
    items: Sequence[Item]
    answer: Callable[[Item, int, int], Any]
    is_async: Callable[[int], bool]
    manifest: Manifest
    before_asking: Callable[[Sequence[Item]], None] = lambda _: None
    observed: Callable[[], dict[str, Any]] = dict
    warmup_clients: Sequence[ClientOptions] = ()
    price: Price | None = None
    on_close: Sequence[Callable[[], Awaitable[object]]] = ()


@dataclass(frozen=True, kw_only=True)
class RunResult(Generic[Manifest]):
    """Result of a run.

    Attributes:
        folder: folder of the run.
        manifest: the manifest as written to disk.
        asked: number of rows added in this session.
        existing: number of rows that existed already.
    """

    folder: Path
    manifest: Manifest
    asked: int
    existing: int


def run_in_folder(
    flags: RunFlags,
    benchmark: Benchmark[Row, Manifest],
    size: int,
    describe: Callable[[], RunDescription[Item, Row, Manifest]],
) -> RunResult[Manifest]:
    """Asks every system for the rows that are not in the folder yet.

    Args:
        flags: the folder, and how the run is executed.
        benchmark: the benchmark.
        size: number of items × repeats × systems.
        describe: describes the run; called when the folder is locked.

    Raises:
        RecordError, DuplicateIdError: rows or manifest of an earlier session are damaged.
        CardSetMismatchError: the folder contains a run of other items or settings.
        WriteError: disk full, no permission, another run is writing to the folder, or it contains
            rows and ``resume`` is false.
        ModelAccessError: a model cannot be used. Rows are kept.
        CostLimitError, TooManyErrorsError: a limit was reached with questions left. Rows are kept.
    """
    with Journal(flags.out / benchmark.rows_file, size) as journal:
        if flags.overwrite:
            journal.clear()
        return FolderRun(flags, describe(), journal).execute()


class FolderRun(Generic[Item, Row, Manifest]):
    """One session of a run. Its folder is locked while the object is in use."""

    def __init__(
        self,
        flags: RunFlags,
        description: RunDescription[Item, Row, Manifest],
        journal: Journal,
    ) -> None:
        self._flags = flags
        self._description = description
        self._benchmark = benchmark = description.benchmark
        self._journal = journal
        self._meter = CallMeter()
        self._warm_up = WarmUp(description.warmup_clients, self._meter.add_calls, description.price)
        self._error_code = benchmark.outcomes.index(benchmark.failures[0])
        self._grid = Grid(
            [item.id for item in description.items],
            description.manifest.system_names,
            description.manifest.layout,
            row_type=benchmark.row_type,
            row_key=benchmark.row_key,
            nouns=benchmark.nouns,
            on_row=self._meter.add_row,
        )
        self._manifest = load_journal(
            description.manifest,
            journal,
            self._grid,
            self._meter,
            make_manifest=self._resume_manifest,
            resume=flags.resume,
            retried=[benchmark.outcomes.index(name) for name in benchmark.failures]
            if flags.retry_errors
            else [],
        )
        self._n_existing = journal.row_count

    def execute(self) -> RunResult[Manifest]:
        """Asks for all missing rows; leaves a consistent journal and manifest even on errors."""
        description, journal, grid = self._description, self._journal, self._grid
        shuffled = shuffle_positions(
            grid.asked_positions, self._manifest.seed, self._benchmark.name
        )
        order = [position for position in shuffled if not journal.has_row(position)]
        if order:
            # Delete derived files first, so that a crash cannot leave stale reports.
            delete_outputs_and_report(self._flags.out, self._benchmark.output_files)
            description.before_asking([description.items[n] for n in grid.layout.asked_items])
        is_async = [description.is_async(number) for number in range(grid.layout.systems)]
        Session(
            description.title,
            journal,
            self._meter,
            self._flags.limits,
            error_outcome=self._error_code,
            n_missing=len(order),
            save_manifest=self._save_manifest,
        ).run(
            self._iter_questions(order, is_async),
            has_async=any(is_async),
            on_close=description.on_close,
        )
        path, benchmark = self._flags.out / self._benchmark.manifest_file, self._benchmark
        return RunResult(
            folder=self._flags.out,
            manifest=read_run_manifest(path, benchmark.manifest_type, benchmark.command),
            asked=len(order),
            existing=self._n_existing,
        )

    def _iter_questions(self, order: Sequence[int], is_async: Sequence[bool]) -> Iterator[Question]:
        for position in order:
            item, repeat, system = self._grid.layout.split_position(position)
            if is_async[system]:
                yield AsyncQuestion(position, repeat, self._make_async(item, system, repeat))
            else:
                yield SyncQuestion(position, repeat, self._make_sync(item, system, repeat))

    def _make_async(
        self, item: int, system: int, repeat: int
    ) -> Callable[[], Coroutine[Any, Any, AnsweredRow]]:
        async def answer() -> AnsweredRow:
            await self._warm_up.ensure_warm()
            description = self._description
            return self._encode_row(
                await description.answer(description.items[item], system, repeat)
            )

        return answer

    def _make_sync(self, item: int, system: int, repeat: int) -> Callable[[], AnsweredRow]:
        def answer() -> AnsweredRow:
            description = self._description
            return self._encode_row(description.answer(description.items[item], system, repeat))

        return answer

    def _encode_row(self, row: Row) -> AnsweredRow:
        key = self._benchmark.row_key(row)
        return AnsweredRow(key.outcome, to_json_bytes(row) + b"\n", key.usage)

    def _resume_manifest(self, new: Manifest, folder: Path) -> Manifest:
        benchmark = self._benchmark
        return resume_manifest(
            new,
            folder / benchmark.manifest_file,
            (*benchmark.fixed_fields, "shard"),
            benchmark.command,
        )

    def _save_manifest(self, status: RunStatus) -> None:
        observed = merge_observed(self._manifest.observed, self._description.observed())
        write_json_atomic(
            self._flags.out / self._benchmark.manifest_file,
            msgspec.structs.replace(
                self._manifest,
                status=status,
                ended=None if status == "running" else utc_now(),
                counts=self._journal.count_outcomes(self._benchmark.outcomes),
                calls=self._meter.compute_totals(),
                observed=observed,
            ),
        )
