"""A run of SKN against JSON: searches, rows and anchors, in a folder that survives anything.

Resuming is no special case: a fresh run is one whose folder holds no rows. Rows go to
``rows.jsonl`` as they come, in whatever order, and stand in the order of samples, repeats and
pipelines at the end. How they are kept and asked is ``eval.harness``'s.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from eval.harness.grid import shuffle_positions
from eval.harness.journal import Journal
from eval.harness.outputs import delete_outputs, require_owned_folder
from eval.harness.resume import make_no_resume_error
from eval.harness.session import RunStatus, Session
from eval.harness.totals import CallMeter
from eval.harness.workers import Question
from eval.manifest import library_versions, utc_now
from eval.model.warm_up import WarmUp
from eval.skn.running.anchoring import ANCHORS, UNANCHORED, AnchorPlan, TwoJournals
from eval.skn.running.manifest import NAME, SknManifest, continued, read_manifest, round_trip_json
from eval.skn.running.output_files import OUTPUTS
from eval.skn.running.plan import COUNTED, ERROR, UNJUDGED, SknPlan
from eval.skn.running.row import ROWS, SknRow, read_rows
from eval.skn.running.run_options import RunOptions
from eval.skn.running.samples import Sample, read_samples
from eval.skn.running.searching import RECORDED, SHIPPED, Found, SourceFinder, require_recorded
from eval.skn.running.team import Team, model_team, rule_team
from eval.system_description import merge_observed
from kg.base.console import track_progress
from kg.base.files import check_output, convert_write_errors, require_file, sha256_file
from kg.base.files import write_json_atomic as write_manifest
from kg.base.provenance import make_relative_name


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a run left behind.

    Attributes:
        folder: where.
        manifest: as it stands on disk.
        samples: those that were asked.
        found: what was found for each of them, in their order.
        asked: rows asked now.
        kept: rows that were there already.
    """

    folder: Path
    manifest: SknManifest
    samples: tuple[Sample, ...]
    found: tuple[Found, ...]
    asked: int
    kept: int


def run(options: RunOptions) -> Done:
    """Asks what the folder does not hold yet.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: of the samples, the searches or the rows.
        CardSetMismatchError: the folder holds a run of other samples, searches or settings.
        WriteError: disk full, no permission, another run is writing the folder, it would take the
            place of what is read, or it holds rows and ``resume`` is false.
        SettingError: no judge is named, or settings contradict each other.
        SearchError: the searches to be replayed are of other questions.
        MissingExtraError: a live search is asked for, and ``ddgs`` is not installed.
        ModelAccessError: a model cannot be used at all.
        CostLimitError, TooManyErrorsError: a limit was reached before everything was asked. Rows
            are kept, as they are when no model can be reached.
    """
    samples = read_samples(options.dataset)
    replayed = _replayed(options)
    read = [options.dataset, *([replayed] if replayed else ())]
    for name in (ROWS, ANCHORS, RECORDED, NAME):
        # A file of this folder may be replayed, but not by a run that writes it.
        if options.live or name != RECORDED:
            check_output(options.out / name, read)
    require_owned_folder(options.out, (ROWS, NAME))
    if replayed is not None:
        require_recorded(replayed, samples[: options.limit])
    team = _team(options)
    with contextlib.ExitStack() as stack:
        anchors = stack.enter_context(Journal(options.out / ANCHORS, len(samples)))
        size = len(samples) * options.repeats * len(options.pipelines)
        journal = stack.enter_context(TwoJournals(options.out / ROWS, size, anchors))
        return _Sitting(options, samples, replayed, team, journal).carried_out()


def _replayed(options: RunOptions) -> Path | None:
    """The file whose searches are replayed, if any."""
    if options.live:
        return None
    return require_file(options.search or SHIPPED / RECORDED, "frozen search file")


def _team(options: RunOptions) -> Team:
    if options.offline:
        return rule_team(options.pipelines, options.setting)
    return model_team(
        options.pipelines,
        options.setting,
        options.model_options(),
        judge_models=options.judge_models,
        judge_repeats=options.judge_repeats,
        seed=options.seed,
    )


class _Sitting:
    """One session, while its folder is locked."""

    def __init__(
        self,
        options: RunOptions,
        samples: Sequence[Sample],
        replayed: Path | None,
        team: Team,
        journal: TwoJournals,
    ) -> None:
        self._options = options
        self._samples = samples
        self._team = team
        self._journal = journal
        self._meter = CallMeter()
        if options.overwrite:
            self._forget()
        self._finder = (
            SourceFinder.asking(options.out / RECORDED, options.backends)
            if replayed is None
            else SourceFinder.replaying(replayed)
        )
        new = self._asked_for(replayed)
        self._plan = SknPlan(samples, new.pipelines, new.layout, on_row=self._meter.add_row)
        self._anchors = AnchorPlan(
            samples,
            team.stages.judges,
            journal.anchors.has_row,
            asked=() if options.setting.published else new.layout.asked_items,
            first_place=new.layout.size,
            seed=options.seed,
            seen=self._meter.add_row,
        )
        self._manifest = self._taken_up(new)
        self._kept = journal.row_count

    def carried_out(self) -> Done:
        """Searches, asks, and leaves everything in order however it ends."""
        asked = [self._samples[item] for item in self._plan.layout.asked_items]
        missing = [
            place for place in self._plan.asked_positions if not self._journal.has_row(place)
        ]
        found = self._found(asked, missing)
        by_id = {one.id: one for one in found}
        # Anchors among the rows: a server that changes while it is asked changes for both.
        every = shuffle_positions(
            [*self._plan.asked_positions, *self._anchors.asked], self._options.seed, "skn"
        )
        still = {*missing, *self._anchors.missing}
        order = [place for place in every if place in still]
        if order:
            # Whatever comes of the session, nobody shall take them for made of these rows.
            delete_outputs(self._options.out, OUTPUTS)
        warm = WarmUp(self._team.warmed, self._meter.add_calls)

        async def take(sample: Sample, pipeline: str, repeat: int) -> SknRow:
            await warm.ensure_warm()
            return await self._team.stages.row(sample, by_id[sample.id], pipeline, repeat)

        def questions() -> Iterator[Question]:
            for place in order:
                if place < self._plan.layout.size:
                    yield self._plan.question(place, take)
                else:
                    yield self._anchors.question(place, warm.ensure_warm)

        Session(
            "rules" if self._options.offline else str(self._team.model),
            self._journal,
            self._meter,
            self._options.limits,
            error_outcome=ERROR,
            n_missing=len(order),
            save_manifest=self._save,
        ).run(questions(), has_async=True, on_close=self._team.closing)
        return Done(
            folder=self._options.out,
            manifest=read_manifest(self._options.out / NAME),
            samples=tuple(asked),
            found=tuple(found),
            asked=len(missing),
            kept=self._kept,
        )

    def _asked_for(self, replayed: Path | None) -> SknManifest:
        options, team = self._options, self._team
        search = self._finder.params()
        if replayed is not None:
            search["sha256"] = sha256_file(replayed)
        return SknManifest(
            rows=ROWS,
            dataset=make_relative_name(options.dataset, options.out),
            dataset_sha256=sha256_file(options.dataset),
            sample_count=len(self._samples),
            limit=options.limit,
            repeats=options.repeats,
            pipelines=options.pipelines,
            mode="as-published" if options.setting.published else "fair",
            offline=options.offline,
            search=round_trip_json(search),
            search_file=None if replayed is None else make_relative_name(replayed, options.out),
            setting=round_trip_json(options.setting.params()),
            **team.params(),
            model=team.model,
            judge_model=team.judge_model,
            same_judge=team.same_judge,
            seed=options.seed,
            versions=library_versions(),
            started=utc_now(),
            status="running",
        )

    def _forget(self) -> None:
        """What the folder holds (``--overwrite``), a recording of live searches with it."""
        self._journal.clear()
        self._journal.anchors.clear()
        if self._options.live:
            recorded = self._options.out / RECORDED
            with convert_write_errors(recorded):
                recorded.unlink(missing_ok=True)

    def _taken_up(self, new: SknManifest) -> SknManifest:
        """The manifest, of the run that is going on if there is one, once its rows are read."""
        options, journal = self._options, self._journal
        if not journal.path.stat().st_size:
            journal.anchors.clear()
            return new
        if not options.resume:
            raise make_no_resume_error(options.out)
        manifest = continued(new, options.out)
        journal.load_rows(self._plan)
        journal.anchors.load_rows(self._anchors)
        self._meter.add_earlier_sessions(manifest.calls)
        if options.retry_errors:
            for outcome in (ERROR, UNJUDGED):
                journal.remove_outcome(outcome)
                self._meter.remove_outcome(outcome)
            journal.anchors.remove_outcome(UNANCHORED)
            self._meter.remove_outcome(UNANCHORED)
        return manifest

    def _found(self, asked: Sequence[Sample], missing: Sequence[int]) -> list[Found]:
        """What was found for the samples; asks the web only for what still has a row to come."""
        # Only a live search can have failed and find something when it is made again.
        rows = read_rows(self._journal.path) if self._finder.live else ()
        failed = {row.id: row.error for row in rows if row.stage == "search"}
        open_ = {self._plan.at(place)[0].id for place in missing}
        found: list[Found] = []
        for sample in track_progress(asked, what="searching", total=len(asked)):
            error = None if sample.id in open_ else failed.get(sample.id)
            found.append(self._finder.find_again(sample, error))
        return found

    def _save(self, status: RunStatus) -> None:
        journal, running = self._journal, status == "running"
        write_manifest(
            self._options.out / NAME,
            msgspec.structs.replace(
                self._manifest,
                status=status,
                ended=None if running else utc_now(),
                counts=journal.count_outcomes(COUNTED),
                calls=self._meter.compute_totals(),
                observed=merge_observed(self._manifest.observed, self._team.observed()),
            ),
        )
