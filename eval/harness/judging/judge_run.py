"""Asks judges about tasks that are identified by their content, and journals a line on each.

In a run, ``FolderRun`` journals one ``Vote`` on each reply. Here what is judged is a part of
replies, such as a claim. One claim may occur in several replies and files, and is judged once; so
its line names no reply, but has a key: a hash of the task and of the judge's settings. Lines on
other tasks and by other judges in the same file are kept, and so is a line if the task is asked
for again later. A line without an outcome is removed when its task is asked again; what it cost is
kept in a file next to the journal, so that it counts towards the maximum cost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from eval.harness.grid import AsyncQuestion, shuffle_positions
from eval.harness.journals.journal import Journal
from eval.harness.session import RunLimits, Session
from eval.harness.totals import CallMeter, CallTotals
from eval.harness.workers import AnsweredRow, Question
from eval.model.usage import Usage
from kg.base.errors import RecordError, TooManyErrorsError
from kg.base.files import convert_write_errors, to_json_bytes, write_json_atomic

_HAS_OUTCOME, _NO_OUTCOME, _OTHER_TASK = 0, 1, 2
"""Outcome codes of a line. ``_NO_OUTCOME``: too many votes were lost, so the task is asked again.
``_OTHER_TASK``: the line is on none of these tasks, or by another judge."""
_ORDER_SEED: Final = 0

LOST_COSTS_SUFFIX: Final = ".lost_costs.json"
"""Ends the name of the file next to a journal that says what its removed lines cost, by key."""


class JudgeLine(Protocol):
    """A line on one task."""

    @property
    def key(self) -> str:
        """Hash of the task and of the judge's settings."""
        ...

    @property
    def has_outcome(self) -> bool:
        """Whether the task need not be asked again."""
        ...

    @property
    def usage(self) -> Usage | None:
        """Usage of the votes; None if no model was called."""
        ...


Line = TypeVar("Line", bound=JudgeLine)


@dataclass(frozen=True, kw_only=True)
class JudgeRun(Generic[Line]):
    """The tasks of judges, and how they are asked.

    Attributes:
        path: the journal.
        title: the judges, for the progress display.
        noun: what a task is about, for messages.
        keys: key of each task; all different.
        names: what messages call each task.
        line_type: type of the lines.
        judge_task: judges the task at a position. It raises only errors that end the run.
        limits: concurrency, and the limits at which judging stops.
        spent_usd: cost of the replies that are judged, which counts towards the maximum cost.
        on_close: functions to await when nothing more is asked.
        groups: of each task, what it is asked together with: tasks of a group follow one another,
            so that servers can keep the beginning that their prompts share.
    """

    path: Path
    title: str
    noun: str
    keys: Sequence[str]
    names: Sequence[str]
    line_type: type[Line]
    judge_task: Callable[[int], Awaitable[Line]]
    limits: RunLimits
    spent_usd: float | None = None
    on_close: Sequence[Callable[[], Awaitable[object]]] = ()
    groups: Sequence[object] | None = None


def collect_lines(run: JudgeRun[Line]) -> tuple[Line, ...]:
    """Judges the tasks without an outcome in the journal.

    Each line is written when its votes arrive. If judging is interrupted, the same call resumes it.

    Returns:
        The lines on these tasks, in their order.

    Raises:
        RecordError, DuplicateIdError: the journal or the costs next to it are damaged; they are
            not changed.
        WriteError: the journal cannot be written, or another run is writing it.
        ModelAccessError: no call can succeed.
        CostLimitError, TooManyErrorsError: a limit was reached first.
    """
    meter = CallMeter()
    plan = _JudgePlan(run, on_line=meter.add_row)
    with Journal(run.path, len(run.keys) + _count_lines(run.path)) as journal:
        journal.load_rows(plan)
        # Before the lines are removed, so that no crash loses what they cost.
        lost_usd = _save_lost_costs(run, plan.lost_costs)
        journal.remove_outcome(_NO_OUTCOME)
        meter.remove_outcome(_NO_OUTCOME)
        meter.add_totals(CallTotals(spent_usd=lost_usd))
        # No manifest has totals of earlier sessions, so the costs in their lines count as paid.
        meter.add_earlier_sessions(None)
        if run.spent_usd is not None:
            meter.add_totals(CallTotals(spent_usd=run.spent_usd))
        missing = [position for position in range(len(run.keys)) if not journal.has_row(position)]
        order = shuffle_positions(missing, _ORDER_SEED, "judge")
        if run.groups is not None:
            order = _keep_together(order, run.groups)
        _ask_tasks(run, journal, meter, (plan.build_question(position) for position in order))
        decode = msgspec.json.Decoder(run.line_type).decode
        return tuple(decode(line) for line in islice(journal.iter_lines(), len(run.keys)))


def _keep_together(order: Sequence[int], groups: Sequence[object]) -> list[int]:
    """Moves each position next to the others of its group, behind the first of them."""
    members: dict[object, list[int]] = {}
    for position in order:
        members.setdefault(groups[position], []).append(position)
    return [position for group in members.values() for position in group]


def _ask_tasks(
    run: JudgeRun[Line], journal: Journal, meter: CallMeter, questions: Iterator[Question]
) -> None:
    try:
        Session(
            run.title,
            journal,
            meter,
            run.limits,
            error_outcome=_NO_OUTCOME,
            n_missing=sum(not journal.has_row(position) for position in range(len(run.keys))),
            save_manifest=lambda _status: None,
        ).run(questions, has_async=True, on_close=run.on_close)
    except TooManyErrorsError as error:
        raise TooManyErrorsError(
            f"{run.limits.max_consecutive_errors} {run.noun}s in a row got no verdict from the "
            "judge",
            where=str(run.path),
            hint="See `lost` in the file's last lines. Fix the cause, then run the same command "
            "again: existing verdicts are kept.",
        ) from error


class _JudgePlan(Generic[Line]):
    """Assigns a position in the journal to every task; lines on other tasks come after them.

    Args:
        run: the tasks.
        on_line: called with outcome code and usage of every line on these tasks that is read.

    Attributes:
        lost_costs: key → cost in US dollars of each line without an outcome on these tasks.
    """

    def __init__(self, run: JudgeRun[Line], *, on_line: Callable[[int, Usage | None], None]):
        self._run = run
        self._positions = {key: position for position, key in enumerate(run.keys)}
        self._on_line = on_line
        self._n_other_lines = 0
        self.lost_costs: dict[str, float] = {}
        self._decode = msgspec.json.Decoder(run.line_type).decode

    def parse_row(self, line: bytes, where: str) -> tuple[int, int]:
        """Returns position and outcome code of a line.

        Raises:
            RecordError: the line is not of the type.
        """
        run = self._run
        try:
            read = self._decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(
                f"not a judged {run.noun}: {error}",
                where=where,
                hint=f"Repair the line, or delete {run.path.name}: its {run.noun}s are then judged "
                "again.",
            ) from error
        position = self._positions.get(read.key)
        if position is None:
            self._n_other_lines += 1
            return len(run.keys) + self._n_other_lines - 1, _OTHER_TASK
        outcome = _get_outcome(read)
        self._on_line(outcome, read.usage)
        if outcome == _NO_OUTCOME and read.usage is not None and read.usage.cost_usd:
            self.lost_costs[read.key] = read.usage.cost_usd
        return position, outcome

    def describe_position(self, position: int) -> str:
        """Names the task at a position, for messages."""
        names = self._run.names
        return names[position] if position < len(names) else f"a {self._run.noun}"

    def build_question(self, position: int) -> AsyncQuestion:
        """Returns the work that judges the task at a position."""
        return AsyncQuestion(position, 0, self._make_work(position))

    def _make_work(self, position: int) -> Callable[[], Coroutine[Any, Any, AnsweredRow]]:
        async def judge() -> AnsweredRow:
            line = await self._run.judge_task(position)
            return AnsweredRow(_get_outcome(line), to_json_bytes(line) + b"\n", line.usage)

        return judge


def _save_lost_costs(run: JudgeRun[Line], new_costs: Mapping[str, float]) -> float:
    """Adds the costs of lines that are about to be removed to those of earlier sessions.

    Returns:
        What all removed lines on these tasks cost, in US dollars.

    Raises:
        RecordError: the file does not contain costs.
        WriteError: the file cannot be written.
    """
    path = run.path.with_suffix(LOST_COSTS_SUFFIX)
    costs: dict[str, float] = {}
    if path.is_file():
        try:
            costs = msgspec.json.decode(path.read_bytes(), type=dict[str, float])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(
                f"not the costs of {run.noun}s without a verdict: {error}",
                where=str(path),
                hint="Delete the file: --max-cost then does not count these costs.",
            ) from error
    if new_costs:
        for key, usd in new_costs.items():
            costs[key] = costs.get(key, 0.0) + usd
        write_json_atomic(path, costs)
    return sum(costs.get(key, 0.0) for key in run.keys)


def _get_outcome(line: JudgeLine) -> int:
    return _HAS_OUTCOME if line.has_outcome else _NO_OUTCOME


def _count_lines(path: Path) -> int:
    """Counts the lines of a journal; 0 if there is no file."""
    if not path.is_file():
        return 0
    with convert_write_errors(path), path.open("rb") as handle:
        return sum(1 for _ in handle)
