"""A run of structured extraction: rows in a folder that survives anything.

Resuming is no special case: a fresh run is one whose folder holds no rows. Rows go to
``rows.jsonl`` as they come, in whatever order, and stand in the order of samples, repeats and
systems at the end. How they are kept and asked is ``eval.running``'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from eval.described import combined
from eval.extraction.row import ERROR, OUTCOMES, ROWS
from eval.extraction.running.manifest import ExtractionManifest, continued, read_manifest
from eval.extraction.running.output_files import MANIFEST, OUTPUTS, SAMPLES, written_by
from eval.extraction.running.plan import ExtractionPlan
from eval.extraction.running.run_options import RunOptions
from eval.extraction.running.team import Team, team_of
from eval.extraction.samples.loading import SHIPPED, Loaded, load
from eval.extraction.samples.sample_rows import as_row, digest_of
from eval.manifest import library_versions, now
from eval.model.warm_up import WarmUp
from eval.running.grid import shuffled
from eval.running.journal import Journal
from eval.running.made_files import forget_with_page, refuse_page_of_others
from eval.running.session import RunStatus, Session
from eval.running.taking_up import taken_up_rows
from eval.running.totals import Meter
from eval.running.workers import Question
from kg.base.files import check_output, write_json_atomic, write_jsonl_atomic
from kg.base.provenance import relative_name

_KEPT_REJECTIONS = 20


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a run left behind.

    Attributes:
        folder: where.
        manifest: as it stands on disk.
        asked: rows asked now.
        kept: rows that were there already.
    """

    folder: Path
    manifest: ExtractionManifest
    asked: int
    kept: int


def run(options: RunOptions) -> Done:
    """Asks what the folder does not hold yet.

    Raises:
        MissingFileError, MissingExtraError, RecordError: of the data set, or of the rows.
        CardSetMismatchError: the folder holds a run of other samples or settings.
        WriteError: disk full, no permission, another run is writing the folder, it would take the
            place of what is read, or it holds rows and ``resume`` is false.
        ModelAccessError: a model cannot be used at all.
        CostLimitError, TooManyErrorsError: a limit was reached before everything was asked. Rows
            are kept, as they are when no model can be reached.
    """
    loaded = _loaded(options)
    source = Path(options.config.dataset.name)
    read = [source] if source.is_file() else []
    for path in written_by(options.out):
        check_output(path, read)
    refuse_page_of_others(options.out, (ROWS, MANIFEST))
    team = team_of(options)
    size = len(loaded.samples) * options.repeats * len(team.extractors)
    try:
        with Journal(options.out / ROWS, size) as journal:
            return _Sitting(options, loaded, team, journal).carried_out()
    except BaseException:
        team.give_up()
        raise


def _loaded(options: RunOptions) -> Loaded:
    data = options.config.dataset
    return load(
        data.name,
        split=data.split,
        sample=data.sample_size,
        seed=data.random_seed,
        strict=data.strict,
        cache_dir=None if data.cache_dir is None else Path(data.cache_dir),
    )


class _Sitting:
    """One session, while its folder is locked."""

    def __init__(self, options: RunOptions, loaded: Loaded, team: Team, journal: Journal) -> None:
        self._options = options
        self._samples = loaded.samples
        self._team = team
        self._journal = journal
        self._meter = Meter()
        self._warm = WarmUp(team.warmed, self._meter.called, options.price)
        if options.overwrite:
            journal.clear()
        new = self._asked_for(loaded)
        self._plan = ExtractionPlan(
            self._samples,
            team.extractors,
            new.places,
            new.matching,
            seen=self._meter.row,
            ready=self._warm.done,
        )
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
        every = shuffled(plan.asked, self._manifest.seed, "extraction")
        order = [place for place in every if not journal.has(place)]
        if order:
            # Whatever comes of the session, nobody shall take them for made of these rows.
            forget_with_page(out, OUTPUTS)
            asked = (self._samples[item] for item in plan.places.asked)
            write_jsonl_atomic(out / SAMPLES, map(as_row, asked))

        def questions() -> Iterator[Question]:
            return (plan.question(place) for place in order)

        Session(
            ", ".join(self._team.names),
            journal,
            self._meter,
            self._options.limits,
            error=ERROR,
            missing=len(order),
            save=self._save,
        ).run(questions(), waits=not self._options.offline, closing=self._team.closing)
        return Done(
            folder=out,
            manifest=read_manifest(out / MANIFEST),
            asked=len(order),
            kept=self._kept,
        )

    def _asked_for(self, loaded: Loaded) -> ExtractionManifest:
        options, config = self._options, self._options.config
        data, prompts = config.dataset, config.prompts
        return ExtractionManifest(
            rows=ROWS,
            samples=SAMPLES,
            dataset=_named(data.name, options.out),
            dataset_sha256=digest_of(loaded.samples),
            sample_count=len(loaded.samples),
            rejected=len(loaded.rejected),
            rejections=tuple(map(str, loaded.rejected[:_KEPT_REJECTIONS])),
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
            started=now(),
            status="running",
        )

    def _save(self, status: RunStatus) -> None:
        write_json_atomic(
            self._options.out / MANIFEST,
            msgspec.structs.replace(
                self._manifest,
                status=status,
                ended=None if status == "running" else now(),
                counts=self._journal.counts(OUTCOMES),
                calls=self._meter.totals(),
                observed=combined(self._manifest.observed, self._team.observed()),
            ),
        )


def _named(name: str, out: Path) -> str:
    """The data set's name; of files their path from the run's folder, so that both can move."""
    return relative_name(name, out) if name != SHIPPED and Path(name).exists() else name
