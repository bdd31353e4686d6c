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

from eval.manifest import library_versions, utc_now
from eval.model.warm_up import WarmUp
from eval.running.grid import shuffle_positions
from eval.running.journal import Journal
from eval.running.outputs import delete_outputs, delete_outputs_and_report, require_owned_folder
from eval.running.resume import OUT_HINT, load_journal, round_trip_json
from eval.running.session import RunStatus, Session
from eval.running.totals import CallMeter
from eval.running.workers import Question as Asked
from eval.synthlink.agents.factory import AgentOptions, OpenedAgent, open_agent
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
from eval.system_description import collect_params, merge_observed
from kg.base.errors import WriteError
from kg.base.files import check_output, sha256_file, write_json_atomic
from kg.base.provenance import make_relative_name

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
    require_owned_folder(folder, marks)
    held = [name for name in MADE_OF_ROWS if (folder / name).exists()]
    if held and not any((folder / name).exists() for name in marks):
        raise WriteError(
            f"the folder holds {held[0]}, which was not written by such a run",
            where=str(folder),
            hint=OUT_HINT,
        )


@dataclass(frozen=True, kw_only=True)
class _Team:
    """A system, with what it may search."""

    opened: OpenedAgent
    library: dict[str, Any] | None
    """As the manifest states it."""
    params: dict[str, Any]


def _opened(options: RunOptions) -> _Team:
    library = library_of(options)
    told: dict[str, Any] | None = None if library is None else round_trip_json(library.params())
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
    return _Team(opened=opened, library=told, params=collect_params([agent], [opened.name]))


def _forget(options: RunOptions, journal: Journal) -> None:
    """What the folder holds (``--overwrite``), a recording of live searches with it."""
    journal.clear()
    if options.live:
        delete_outputs(options.out, [RECORDED])


class _Sitting:
    """One session, while its folder is locked."""

    def __init__(
        self, options: RunOptions, questions: Sequence[Question], team: _Team, journal: Journal
    ) -> None:
        self._options = options
        self._questions = questions
        self._team = team
        self._journal = journal
        self._meter = CallMeter()
        new = self._asked_for()
        self._plan = RunPlan(questions, new.name, new.places, on_row=self._meter.add_row)
        self._manifest = load_journal(
            new,
            journal,
            self._plan,
            self._meter,
            make_manifest=continued,
            resume=options.resume,
            retried=[ERROR] if options.retry_errors else [],
        )
        self._kept = journal.row_count

    def carried_out(self) -> Done:
        """Asks, and leaves everything in order however it ends."""
        plan, journal, out = self._plan, self._journal, self._options.out
        every = shuffle_positions(plan.asked_positions, self._options.seed, "synthlink")
        order = [place for place in every if not journal.has_row(place)]
        if order:
            # Whatever comes of the session, nobody shall take them for made of these rows.
            delete_outputs_and_report(out, MADE_OF_ROWS)
        opened = self._team.opened
        warm = WarmUp(opened.warmup_clients, self._meter.add_calls)

        async def ask(question: Question) -> SynthLinkRow:
            await warm.ensure_warm()
            return await row_of(opened.agent, question, opened.name)

        def questions() -> Iterator[Asked]:
            return (plan.question(place, ask) for place in order)

        Session(
            opened.name,
            journal,
            self._meter,
            self._options.limits,
            error_outcome=ERROR,
            n_missing=len(order),
            save_manifest=self._save,
        ).run(questions(), has_async=True, on_close=opened.on_close)
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
            dataset=SHIPPED if catalog is None else make_relative_name(catalog, options.out),
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
            started=utc_now(),
            status="running",
        )

    def _save(self, status: RunStatus) -> None:
        write_json_atomic(
            self._options.out / RUN_MANIFEST,
            msgspec.structs.replace(
                self._manifest,
                status=status,
                ended=None if status == "running" else utc_now(),
                counts=self._journal.count_outcomes(OUTCOMES),
                calls=self._meter.compute_totals(),
                observed=merge_observed(self._manifest.observed, self._team.opened.observed()),
            ),
        )
