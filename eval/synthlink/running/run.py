"""A run: every question of the catalogue to one system, in a folder that survives anything.

Resuming is no special case: a fresh run is one whose folder holds no rows. Rows go to
``rows.jsonl`` as they come, in whatever order, and stand in the order of the catalogue at the end.
How they are kept and asked is ``eval.running``'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eval.described import combined, params_of
from eval.manifest import library_versions, now
from eval.model.warm_up import WarmUp
from eval.running.grid import shuffled
from eval.running.journal import Journal
from eval.running.made_files import forget, forget_with_page, refuse_page_of_others
from eval.running.session import RunStatus, Session
from eval.running.taking_up import HINT, as_stored, taken_up_rows
from eval.running.totals import Meter
from eval.running.workers import Question as Asked
from eval.synthlink.agents.opening import AgentOptions, Opened, open_agent
from eval.synthlink.catalog import read_catalog
from eval.synthlink.question import Question
from eval.synthlink.running.asking import row_of
from eval.synthlink.running.looking_up import library_of, replayed
from eval.synthlink.running.manifest import (
    RunManifest,
    continued,
    questions_sha256,
    read_manifest,
)
from eval.synthlink.running.output_files import (
    MADE_OF_ROWS,
    RECORDED,
    ROWS,
    RUN_MANIFEST,
    written_by,
)
from eval.synthlink.running.plan import ERROR, RunPlan
from eval.synthlink.running.predicting import write_predictions
from eval.synthlink.running.row import OUTCOMES, SynthLinkRow
from eval.synthlink.running.run_options import RunOptions
from kg.base.errors import WriteError
from kg.base.files import check_output, sha256_file, write_json_atomic
from kg.base.provenance import relative_name

SHIPPED = "shipped"


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a run left behind.

    Attributes:
        folder: where.
        manifest: as it stands on disk.
        predictions: the file that is scored.
        asked: rows asked now.
        kept: rows that were there already.
    """

    folder: Path
    manifest: RunManifest
    predictions: Path
    asked: int
    kept: int


def run(options: RunOptions) -> Done:
    """Asks what the folder does not hold yet, and writes the predictions.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: of the catalogue, the pages, the recorded
            searches or the rows.
        SystemNotFoundError: there is no such system.
        CardSetMismatchError: the folder holds a run of other questions, or one made otherwise.
        WriteError: disk full, no permission, another run is writing the folder, it would take the
            place of what is read, or it holds rows and ``resume`` is false.
        MissingExtraError, SearchError: a live search is asked for and cannot be made at all.
        ModelAccessError: a model cannot be used at all.
        CostLimitError, TooManyErrorsError: a limit was reached before everything was asked. Rows
            are kept, as they are when no model can be reached.
    """
    questions = read_catalog(options.catalog).questions
    _refuse_outputs_that_are_read(options)
    if not options.overwrite:
        _refuse_what_is_not_of_a_run(options.out)
    # A live search is recorded in the folder, which must be locked by then.
    early = None if options.live else _opened(options)
    with Journal(options.out / ROWS, len(questions)) as journal:
        if options.overwrite:
            _forget(options, journal)
        team = early or _opened(options)
        return _Sitting(options, questions, team, journal).carried_out()


def _refuse_outputs_that_are_read(options: RunOptions) -> None:
    named = (options.catalog, options.pages, options.search)
    read = [path for path in named if path is not None and path.is_file()]
    for path in written_by(options.out):
        # A recording in this folder may be replayed, but not by a run that writes it.
        if options.live or path.name != RECORDED:
            check_output(path, read)


def _refuse_what_is_not_of_a_run(folder: Path) -> None:
    """Scores of other predictions, or a report of something else, are nobody's to remove.

    Raises:
        WriteError: there are some.
    """
    marks = (ROWS, RUN_MANIFEST)
    refuse_page_of_others(folder, marks)
    held = [name for name in MADE_OF_ROWS if (folder / name).exists()]
    if held and not any((folder / name).exists() for name in marks):
        raise WriteError(
            f"the folder holds {held[0]}, which no run made", where=str(folder), hint=HINT
        )


@dataclass(frozen=True, kw_only=True)
class _Team:
    """A system, with what it may search."""

    opened: Opened
    library: dict[str, Any] | None
    """As the manifest states it."""
    params: dict[str, Any]


def _opened(options: RunOptions) -> _Team:
    library = library_of(options)
    told: dict[str, Any] | None = None if library is None else as_stored(library.params())
    if told is not None and options.search is not None:
        told["sha256"] = sha256_file(replayed(options.search))
    opened = open_agent(
        options.system,
        AgentOptions(
            library=library,
            client=options.model_options(),
            rounds=options.rounds,
            max_tokens=options.max_tokens,
        ),
    )
    agent: Any = opened.agent
    return _Team(opened=opened, library=told, params=params_of([agent], [opened.name]))


def _forget(options: RunOptions, journal: Journal) -> None:
    """What the folder holds (``--overwrite``), a recording of live searches with it."""
    journal.clear()
    if options.live:
        forget(options.out, [RECORDED])


class _Sitting:
    """One session, while its folder is locked."""

    def __init__(
        self, options: RunOptions, questions: Sequence[Question], team: _Team, journal: Journal
    ) -> None:
        self._options = options
        self._questions = questions
        self._team = team
        self._journal = journal
        self._meter = Meter()
        new = self._asked_for()
        self._plan = RunPlan(questions, new.name, new.places, seen=self._meter.row)
        self._manifest = taken_up_rows(
            new,
            journal,
            self._plan,
            self._meter,
            continued=continued,
            resume=options.resume,
            again=[ERROR] if options.retry_errors else [],
        )
        self._kept = journal.held

    def carried_out(self) -> Done:
        """Asks, and leaves everything in order however it ends."""
        plan, journal, out = self._plan, self._journal, self._options.out
        every = shuffled(plan.asked, self._options.seed, "synthlink")
        order = [place for place in every if not journal.has(place)]
        if order:
            # Whatever comes of the session, nobody shall take them for made of these rows.
            forget_with_page(out, MADE_OF_ROWS)
        opened = self._team.opened
        warm = WarmUp(opened.warmed, self._meter.called)

        async def ask(question: Question) -> SynthLinkRow:
            await warm.done()
            return await row_of(opened.agent, question, opened.name)

        def questions() -> Iterator[Asked]:
            return (plan.question(place, ask) for place in order)

        Session(
            opened.name,
            journal,
            self._meter,
            self._options.limits,
            error=ERROR,
            missing=len(order),
            save=self._save,
        ).run(questions(), waits=True, closing=opened.closing)
        return Done(
            folder=out,
            manifest=read_manifest(out / RUN_MANIFEST),
            predictions=write_predictions(out),
            asked=len(order),
            kept=self._kept,
        )

    def _asked_for(self) -> RunManifest:
        options, opened = self._options, self._team.opened
        catalog = options.catalog
        return RunManifest(
            rows=ROWS,
            dataset=SHIPPED if catalog is None else relative_name(catalog, options.out),
            dataset_sha256=questions_sha256(self._questions),
            sample_count=len(self._questions),
            limit=options.limit,
            system=options.system,
            name=opened.name,
            params=self._team.params,
            library=self._team.library,
            rounds=options.rounds,
            model=opened.model,
            offline=opened.model is None,
            seed=options.seed,
            versions=library_versions(),
            started=now(),
            status="running",
        )

    def _save(self, status: RunStatus) -> None:
        write_json_atomic(
            self._options.out / RUN_MANIFEST,
            msgspec.structs.replace(
                self._manifest,
                status=status,
                ended=None if status == "running" else now(),
                counts=self._journal.counts(OUTCOMES),
                calls=self._meter.totals(),
                observed=combined(self._manifest.observed, self._team.opened.observed()),
            ),
        )
