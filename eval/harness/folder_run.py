"""Runs a benchmark into a folder and resumes interrupted runs.

A run has up to three phases: systems are asked for replies, judges are asked for votes, and rows
are computed from both. Replies and votes are appended to journals in the order in which they
arrive, and are sorted at the end. A new run is treated as a resumed run whose folder is empty. A
benchmark only describes its run: items, systems, views, judge and manifest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

import msgspec

from eval.harness.base_run import BaseRun, RunFlags, RunResult
from eval.harness.benchmark import Benchmark, Item, Manifest, Row
from eval.harness.grid import AsyncQuestion, SyncQuestion, make_reply_grid, shuffle_positions
from eval.harness.journals.journal import Journal
from eval.harness.judging.vote_plan import VOTE_FAILED, Judge, VotePlan
from eval.harness.outputs import delete_outputs_and_report
from eval.harness.reply import REPLIES, STATUSES, VOTES, Reply
from eval.harness.resume import (
    OUT_HINT,
    read_run_manifest,
    refuse_other_benchmark,
    resume_manifest,
)
from eval.harness.row_writer import write_rows
from eval.harness.session import RunStatus
from eval.harness.systems.system import System, close_once, is_async
from eval.harness.systems.system_call import call_system, call_system_async
from eval.harness.verification.changed_files import describe_hashes
from eval.harness.workers import AnsweredRow, Question
from eval.model.foreign_values import describe_failure
from eval.model.warm_up import WarmUp
from kg.base.console import print_warning
from kg.base.errors import WriteError
from kg.base.files import convert_write_errors, to_json_bytes

if TYPE_CHECKING:
    from eval.model.options import ClientOptions
    from eval.model.prices import Price

_ERROR = STATUSES.index("error")


@dataclass(frozen=True, kw_only=True)
class RunDescription(Generic[Item, Row, Manifest]):
    """One run of a benchmark, without the parts that are the same in all its runs.

    Attributes:
        benchmark: the benchmark.
        title: the systems, for the progress display.
        items: all items, asked or not.
        systems: the systems, in the order of ``manifest.system_names``; empty if all replies exist
            and only the judge is asked.
        view: returns what the systems may see of an item.
        manifest: the manifest that a new run would have.
        judge: judges the replies; None for a benchmark without judges.
        before_asking: called before the first question with the items of this run (those within
            limit and shard) and with those of them that lack a reply; not called if every reply
            and vote exists.
        observed: returns the output mode and model names that the servers reported, by system.
        warmup_clients: clients to call once before the first question.
        price: price of the warm-up calls; None means the price tables.
        on_close: functions to await when no system is asked any more.
    """

    benchmark: Benchmark[Item, Row, Manifest]
    title: str
    items: Sequence[Item]
    systems: Sequence[System]
    view: Callable[[Item], Any]
    manifest: Manifest
    judge: Judge[Item] | None = None
    before_asking: Callable[[Sequence[Item], Sequence[Item]], None] = lambda _items, _missing: None
    observed: Callable[[], dict[str, Any]] = dict
    warmup_clients: Sequence[ClientOptions] = ()
    price: Price | None = None
    on_close: Sequence[Callable[[], Awaitable[object]]] = ()


def run_in_folder(
    flags: RunFlags,
    size: int,
    n_items: int,
    describe: Callable[[], RunDescription[Item, Row, Manifest]],
) -> RunResult[Manifest]:
    """Asks every system for the replies that are not in the folder yet, and computes the rows.

    Args:
        flags: the folder, and how the run is executed.
        size: number of items × repeats × systems.
        n_items: number of items.
        describe: describes the run; called when the folder is locked.

    Raises:
        RecordError, DuplicateIdError: replies, votes or manifest of an earlier session are damaged.
        CardSetMismatchError: the folder contains a run of other items or settings.
        WriteError: disk full, no permission, another run is writing to the folder, or it contains
            replies and ``resume`` is false.
        ModelAccessError: a model cannot be used. Replies are kept.
        CostLimitError, TooManyErrorsError: a limit was reached with questions left. Replies are
            kept.
    """
    with Journal(flags.out / REPLIES, size) as replies:
        description = describe()
        # Closed here if the run fails before its own event loop does it.
        on_close = [close_once(close) for close in description.on_close]
        description = replace(description, on_close=on_close)
        judge = description.judge
        try:
            if flags.overwrite:
                replies.clear()
                _delete_file(flags.out / VOTES)
            elif not replies.path.stat().st_size:
                refuse_leftovers(flags.out, description.benchmark.rows_file)
            else:
                command = description.benchmark.command
                refuse_other_benchmark(flags.out, type(description.manifest), command)
            with contextlib.ExitStack() as stack:
                votes = None
                if judge is not None:
                    votes = stack.enter_context(Journal(flags.out / VOTES, size + n_items))
                return FolderRun(flags, description, replies, votes).execute()
        finally:
            close_clients([*on_close, *([judge.aclose] if judge is not None else [])])


def close_clients(on_close: Sequence[Callable[[], Awaitable[object]]]) -> None:
    """Awaits functions that close clients; for use where no event loop of a run is active."""
    if not on_close:
        return
    import asyncio

    async def close_all() -> None:
        for close in on_close:
            try:
                await close()
            except Exception as error:  # third-party code; it must not hide how the run ended
                print_warning(f"a system could not be closed: {describe_failure(error)}")

    # asyncio.run needs a thread without an event loop, but a notebook's thread has one.
    with ThreadPoolExecutor(1) as threads:
        threads.submit(lambda: asyncio.run(close_all())).result()


def refuse_leftovers(folder: Path, rows_file: str) -> None:
    """Refuses a folder whose rows or votes have no replies, so that they are not replaced.

    Raises:
        WriteError: there are rows, as earlier versions wrote them without replies, or votes.
    """
    for name in (rows_file, VOTES):
        path = folder / name
        if path.is_file() and path.stat().st_size:
            raise WriteError(
                f"the folder has {name} but no {REPLIES}, so the run cannot be resumed",
                where=str(path),
                hint=f"Earlier versions wrote no {REPLIES}. {OUT_HINT}",
            )


def _delete_file(path: Path) -> None:
    with convert_write_errors(path):
        path.unlink(missing_ok=True)


class FolderRun(BaseRun[Manifest], Generic[Item, Row, Manifest]):
    """One session of a run. Its folder is locked while the object is in use."""

    def __init__(
        self,
        flags: RunFlags,
        description: RunDescription[Item, Row, Manifest],
        replies: Journal,
        votes: Journal | None,
    ) -> None:
        self._benchmark = benchmark = description.benchmark
        super().__init__(
            flags,
            description.manifest,
            flags.out / benchmark.manifest_file,
            description.observed,
        )
        self._description = description
        self._replies = replies
        self._votes = votes
        self._warm_up = WarmUp(description.warmup_clients, self._meter.add_calls, description.price)
        self._grid = make_reply_grid(
            [item.id for item in description.items],
            description.manifest,
            benchmark.nouns,
            on_row=self._meter.add_row,
        )
        judge = description.judge
        self._vote_plan: VotePlan | None = None
        if judge is not None:
            self._vote_plan = VotePlan(
                description.items, self._grid, replies, judge, on_row=self._meter.add_row
            )
        self.load_rows(replies, self._grid, self._resume_run)
        loaded = [(replies, _ERROR)] if description.systems else []
        if votes is not None and self._vote_plan:
            if votes.path.stat().st_size:
                votes.load_rows(self._vote_plan)
                self.refuse_changed_journal(votes)
            loaded.append((votes, VOTE_FAILED))
        self.start_totals(loaded)
        self._n_existing = replies.row_count

    def execute(self) -> RunResult[Manifest]:
        """Asks for all missing replies and votes, and computes the rows.

        Journals, rows and manifest are consistent even if an error ends the run.
        """
        description, replies, layout = self._description, self._replies, self._grid.layout
        order = self._find_missing(self._grid.asked_positions, replies)
        if order or self._has_missing_votes():
            # Delete derived files first, so that a crash cannot leave stale reports.
            delete_outputs_and_report(
                self._flags.out, (*self._benchmark.output_files, self._benchmark.rows_file)
            )
            missing_items = {layout.item_at(position) for position in order}
            description.before_asking(
                [description.items[number] for number in layout.asked_items],
                [description.items[number] for number in sorted(missing_items)],
            )
        async_flags = [is_async(system) for system in description.systems]
        self.ask_questions(
            description.title,
            replies,
            self._iter_questions(order, async_flags),
            n_missing=len(order),
            error_outcome=_ERROR,
            has_async=any(async_flags),
            on_close=self._list_close_functions(),
            is_last=self._votes is None,
        )
        judge = description.judge
        if self._votes is not None and judge is not None and self._vote_plan:
            plan = self._vote_plan
            tasks = self._find_missing(plan.list_positions(), self._votes)
            self.ask_questions(
                f"judge {judge.name}",
                self._votes,
                (plan.build_question(task, self._warm_up.ensure_warm) for task in tasks),
                n_missing=len(tasks),
                error_outcome=VOTE_FAILED,
                has_async=bool(tasks),
                on_close=[judge.aclose],
            )
        benchmark = self._benchmark
        return RunResult(
            folder=self._flags.out,
            manifest=read_run_manifest(
                self._manifest_file, benchmark.manifest_type, benchmark.command
            ),
            asked=len(order),
            existing=self._n_existing,
        )

    def _list_close_functions(self) -> list[Callable[[], Awaitable[object]]]:
        """Returns what is awaited when no system is asked any more."""
        functions = [*self._description.on_close]
        if functions and self._votes is not None:
            from eval.model.server.caller import close_sockets

            # Judges are asked in another event loop, but may share connections with the systems.
            functions.append(close_sockets)
        return functions

    def _find_missing(self, positions: Sequence[int], journal: Journal) -> list[int]:
        """Returns the positions without a row, in the order in which they are asked."""
        shuffled = shuffle_positions(positions, self._manifest.seed, self._benchmark.name)
        return [position for position in shuffled if not journal.has_row(position)]

    def _has_missing_votes(self) -> bool:
        if self._votes is None or self._vote_plan is None:
            return False
        return bool(self._find_missing(self._vote_plan.list_positions(), self._votes))

    def _iter_questions(
        self, order: Sequence[int], async_flags: Sequence[bool]
    ) -> Iterator[Question]:
        for position in order:
            number, repeat, system = self._grid.layout.split_position(position)
            item = self._description.items[number]
            if async_flags[system]:
                yield AsyncQuestion(position, repeat, self._make_async(item, system, repeat))
            else:
                yield SyncQuestion(position, repeat, self._make_sync(item, system, repeat))

    def _make_async(
        self, item: Item, system: int, repeat: int
    ) -> Callable[[], Coroutine[Any, Any, AnsweredRow]]:
        async def answer() -> AnsweredRow:
            await self._warm_up.ensure_warm()
            description = self._description
            reply = await call_system_async(
                description.systems[system], description.view(item), self._benchmark.read_reply
            )
            return self._encode_reply(reply, item, system, repeat)

        return answer

    def _make_sync(self, item: Item, system: int, repeat: int) -> Callable[[], AnsweredRow]:
        def answer() -> AnsweredRow:
            description = self._description
            reply = call_system(
                description.systems[system], description.view(item), self._benchmark.read_reply
            )
            return self._encode_reply(reply, item, system, repeat)

        return answer

    def _encode_reply(self, reply: Reply, item: Item, system: int, repeat: int) -> AnsweredRow:
        name = self._description.manifest.system_names[system]
        reply = msgspec.structs.replace(reply, id=item.id, system=name, repeat=repeat)
        outcome = STATUSES.index(reply.status)
        return AnsweredRow(outcome, to_json_bytes(reply) + b"\n", reply.usage)

    def _resume_run(self, new: Manifest) -> Manifest:
        benchmark = self._benchmark
        return resume_manifest(
            new,
            self._manifest_file,
            (*benchmark.fixed_fields, "shard"),
            benchmark.command,
            noun=benchmark.nouns[0],
        )

    def count_rows(self, status: RunStatus) -> dict[str, int]:
        """Writes the rows at the end of a session, and returns their number by outcome."""
        if status == "running":
            return {}
        return write_rows(self._flags.out, self._benchmark, self._manifest, self._description.items)

    def describe_rows(self, status: RunStatus) -> dict[str, Any]:
        """Returns the hashes of the rows, and of what they were computed from."""
        if status == "running" or self._has_unverified_rows:
            return {"files_sha256": {}, "line_digests": msgspec.UNSET}
        return describe_hashes(self._flags.out, self._benchmark)
