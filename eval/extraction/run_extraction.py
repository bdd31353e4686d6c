"""Runs structured extraction into a folder and resumes interrupted runs.

A new run is treated as a resumed run whose folder has no rows yet. Rows are appended to
``rows.jsonl`` in the order in which replies arrive and are sorted by sample, repeat and system at
the end. The journal and the workers are in ``eval.running``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from eval.extraction.row import ERROR, OUTCOMES, ROWS
from eval.extraction.running.manifest import ExtractionManifest, continued, read_manifest
from eval.extraction.running.output_files import MANIFEST, OUTPUTS, SAMPLES, written_by
from eval.extraction.running.plan import ExtractionPlan
from eval.extraction.running.run_options import RunOptions
from eval.extraction.running.team import Team, team_of
from eval.extraction.samples.loader import SHIPPED, LoadedSamples, load_samples
from eval.extraction.samples.sample_rows import hash_samples, sample_to_row
from eval.manifest import library_versions, utc_now
from eval.model.warm_up import WarmUp
from eval.running.grid import shuffle_positions
from eval.running.journal import Journal
from eval.running.outputs import delete_outputs_and_report, require_owned_folder
from eval.running.resume import load_journal
from eval.running.session import RunStatus, Session
from eval.running.totals import CallMeter
from eval.running.workers import Question
from eval.system_description import merge_observed
from kg.base.files import check_output, write_json_atomic, write_jsonl_atomic
from kg.base.provenance import make_relative_name

_MAX_LISTED_REJECTIONS = 20


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """Result of a run.

    Attributes:
        folder: folder of the run.
        manifest: the manifest as written to disk.
        asked: number of rows added in this session.
        kept: number of rows that existed already.
    """

    folder: Path
    manifest: ExtractionManifest
    asked: int
    kept: int


def run(options: RunOptions) -> RunResult:
    """Asks every system for the rows that are not in the folder yet.

    Raises:
        MissingFileError, MissingExtraError, RecordError: the data set or the rows cannot be read.
        CardSetMismatchError: the folder has a run of other samples or settings.
        WriteError: the disk is full, permission is missing, another run is writing to the folder,
            an output would overwrite an input, or the folder has rows and ``resume`` is false.
        ModelAccessError: a model cannot be used. The rows written so far stay in the folder.
        CostLimitError, TooManyErrorsError: a limit was reached before the run was complete. The
            rows written so far stay in the folder.
    """
    loaded = _load_samples(options)
    source = Path(options.config.dataset.name)
    read = [source] if source.is_file() else []
    for path in written_by(options.out):
        check_output(path, read)
    require_owned_folder(options.out, (ROWS, MANIFEST))
    team = team_of(options)
    size = len(loaded.samples) * options.repeats * len(team.extractors)
    try:
        with Journal(options.out / ROWS, size) as journal:
            return _FolderRun(options, loaded, team, journal).execute()
    except BaseException:
        team.give_up()
        raise


def _load_samples(options: RunOptions) -> LoadedSamples:
    data = options.config.dataset
    return load_samples(
        data.name,
        split=data.split,
        sample_size=data.sample_size,
        seed=data.random_seed,
        strict=data.strict,
        cache_dir=None if data.cache_dir is None else Path(data.cache_dir),
    )


class _FolderRun:
    """One session of a run. Its folder is locked while the object is in use."""

    def __init__(
        self, options: RunOptions, loaded: LoadedSamples, team: Team, journal: Journal
    ) -> None:
        self._options = options
        self._samples = loaded.samples
        self._team = team
        self._journal = journal
        self._meter = CallMeter()
        self._warm_up = WarmUp(team.warmed, self._meter.add_calls, options.price)
        if options.overwrite:
            journal.clear()
        new = self._build_manifest(loaded)
        self._plan = ExtractionPlan(
            self._samples,
            team.extractors,
            new.places,
            new.matching,
            on_row=self._meter.add_row,
            ready=self._warm_up.ensure_warm,
        )
        self._manifest = load_journal(
            new,
            journal,
            self._plan,
            self._meter,
            make_manifest=continued,
            resume=options.resume,
            retried=[ERROR] if options.retry_errors else [],
        )
        self._n_existing = journal.row_count

    def execute(self) -> RunResult:
        """Asks for all missing rows; leaves a consistent journal and manifest even on errors."""
        plan, journal, out = self._plan, self._journal, self._options.out
        every = shuffle_positions(plan.asked_positions, self._manifest.seed, "extraction")
        order = [place for place in every if not journal.has_row(place)]
        if order:
            # Delete derived files first, so that a crash cannot leave stale reports.
            delete_outputs_and_report(out, OUTPUTS)
            asked = (self._samples[item] for item in plan.layout.asked_items)
            write_jsonl_atomic(out / SAMPLES, map(sample_to_row, asked))

        def build_questions() -> Iterator[Question]:
            return (plan.question(place) for place in order)

        Session(
            ", ".join(self._team.names),
            journal,
            self._meter,
            self._options.limits,
            error_outcome=ERROR,
            n_missing=len(order),
            save_manifest=self._save_manifest,
        ).run(build_questions(), has_async=not self._options.offline, on_close=self._team.closing)
        return RunResult(
            folder=out,
            manifest=read_manifest(out / MANIFEST),
            asked=len(order),
            kept=self._n_existing,
        )

    def _build_manifest(self, loaded: LoadedSamples) -> ExtractionManifest:
        options, config = self._options, self._options.config
        data, prompts = config.dataset, config.prompts
        return ExtractionManifest(
            rows=ROWS,
            samples=SAMPLES,
            dataset=_dataset_name(data.name, options.out),
            dataset_sha256=hash_samples(loaded.samples),
            sample_count=len(loaded.samples),
            rejected=len(loaded.rejected),
            rejections=tuple(map(str, loaded.rejected[:_MAX_LISTED_REJECTIONS])),
            data_notes=tuple(loaded.notes),
            split="" if Path(data.name).exists() or data.name == SHIPPED else data.split,
            sample_size=data.sample_size,
            limit=options.limit,
            repeats=options.repeats,
            systems=self._team.names,
            offline=options.offline,
            extractors=self._team.params(),
            prompts={} if options.offline else {"system": prompts.system, "user": prompts.user},
            matching=config.metrics.field_matching,
            seed=data.random_seed,
            measuring=options.measuring,
            versions=library_versions(),
            started=utc_now(),
            status="running",
        )

    def _save_manifest(self, status: RunStatus) -> None:
        write_json_atomic(
            self._options.out / MANIFEST,
            msgspec.structs.replace(
                self._manifest,
                status=status,
                ended=None if status == "running" else utc_now(),
                counts=self._journal.count_outcomes(OUTCOMES),
                calls=self._meter.compute_totals(),
                observed=merge_observed(self._manifest.observed, self._team.observed()),
            ),
        )


def _dataset_name(name: str, out: Path) -> str:
    """Returns the data set's name; for files the path relative to the run's folder.

    A relative path stays valid when the data and the folder are moved together.
    """
    return make_relative_name(name, out) if name != SHIPPED and Path(name).exists() else name
