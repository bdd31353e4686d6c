"""Runs the comparison of SKN and JSON into a folder and resumes interrupted runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import UNSET

from eval.harness.base_run import RunResult
from eval.harness.folder_run import RunDescription, run_in_folder
from eval.harness.outputs import replace_files, require_owned_folder
from eval.harness.resume import round_trip_json
from eval.skn.benchmark import SKN
from eval.skn.files import MANIFEST, ROWS, SAMPLES, SOURCES, list_run_files
from eval.skn.items import Sample, read_samples, sample_to_json
from eval.skn.judging.judge import SknJudge
from eval.skn.manifest import SknManifest
from eval.skn.options import RunOptions
from eval.skn.row import SknRow
from eval.skn.search_source import (
    RECORDED,
    SHIPPED,
    Source,
    SourceFinder,
    require_recorded_searches,
)
from eval.skn.systems.system_set import SystemSet, open_systems
from eval.skn.systems.view import make_view
from eval.stats.bootstrap import RESAMPLES
from kg.base.files import (
    check_output,
    require_file,
    sha256_file,
    write_jsonl_atomic,
)
from kg.base.provenance import library_versions, make_relative_name, utc_now


def run(options: RunOptions) -> RunResult[SknManifest]:
    """Asks every pipeline for the replies that are not in the folder yet, and has them judged.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: samples, searches or replies cannot be
            read.
        WriteError: an output would overwrite an input.
        SettingError: no model or no judge is named.
        SearchError: the searches to be replayed are of other questions.
        MissingExtraError: a live search is requested, and ``ddgs`` is not installed.
        EpocheError: as ``run_in_folder``.
    """
    samples, replayed = read_inputs(options)
    systems = open_systems(options)
    size = len(samples) * options.repeats * len(systems.systems)
    try:
        return run_in_folder(
            options.flags,
            size,
            len(samples),
            lambda: describe_run(options, samples, replayed, systems),
        )
    except BaseException:
        systems.close()
        raise


def read_inputs(
    options: RunOptions, *, needs_searches: bool = True
) -> tuple[Sequence[Sample], Path | None]:
    """Reads the samples and finds the replayed searches, and checks that no file is overwritten.

    Args:
        options: what is run.
        needs_searches: whether a system or judge reads the searches, so that there must be one.

    Raises:
        EpocheError: as ``run``.
    """
    samples = read_samples(options.dataset)
    replayed = _find_replayed_file(options)
    read = [options.dataset, *([replayed] if replayed else ())]
    # A file of this folder may be replayed, but not by a run that writes it.
    recorded = [options.out / RECORDED] if options.live else []
    for path in (*list_run_files(options.out), *recorded):
        check_output(path, read)
    require_owned_folder(options.out, (ROWS, MANIFEST))
    if replayed is not None and needs_searches:
        require_recorded_searches(replayed, samples[: options.limit])
    return samples, replayed


def _find_replayed_file(options: RunOptions) -> Path | None:
    """Returns the file whose searches are replayed, if any."""
    if options.live:
        return None
    return require_file(options.search or SHIPPED / RECORDED, "frozen search file")


def describe_run(
    options: RunOptions, samples: Sequence[Sample], replayed: Path | None, systems: SystemSet
) -> RunDescription[Sample, SknRow, SknManifest]:
    """Describes a run to the harness.

    Args:
        options: the options of the run.
        samples: all samples.
        replayed: the file whose searches are replayed; None for a live search.
        systems: pipelines and judges.
    """
    recorded, sources_file = options.out / RECORDED, options.out / SOURCES
    is_replaced = options.overwrite and options.live
    with replace_files([recorded, sources_file] if is_replaced else []):
        finder = (
            SourceFinder.open_web(recorded, options.backends)
            if replayed is None
            else SourceFinder.open_replay(replayed)
        )
    sources: dict[str, Source] = {}

    def find_sources(asked: Sequence[Sample], missing: Sequence[Sample]) -> None:
        write_jsonl_atomic(options.out / SAMPLES, map(sample_to_json, asked))
        missing_ids = {sample.id for sample in missing}
        found = finder.find_sources(asked, missing_ids, earlier=sources_file)
        write_jsonl_atomic(sources_file, found)
        sources.update({source.id: source for source in found})

    published = options.setting.published
    return RunDescription(
        benchmark=SKN,
        title=", ".join(systems.names) if systems.client is None else systems.client.model,
        items=samples,
        systems=systems.systems,
        view=lambda sample: make_view(sources[sample.id]),
        manifest=_build_manifest(options, samples, replayed, finder, systems),
        judge=None
        if systems.judge_set is None
        else SknJudge(
            systems.judge_set,
            samples,
            sources,
            published=published,
            has_anchors=not published,
            seed=options.seed,
        ),
        before_asking=find_sources,
        observed=systems.observed,
        warmup_clients=systems.warmup_clients,
        on_close=systems.on_close,
    )


def _build_manifest(
    options: RunOptions,
    samples: Sequence[Sample],
    replayed: Path | None,
    finder: SourceFinder,
    systems: SystemSet,
) -> SknManifest:
    search = finder.params()
    if replayed is not None:
        search["sha256"] = sha256_file(replayed)
    return SknManifest(
        rows=ROWS,
        dataset=make_relative_name(options.dataset, options.out),
        dataset_sha256=sha256_file(options.dataset),
        sample_count=len(samples),
        limit=options.limit,
        shard=options.shard.to_field(),
        repeats=options.repeats,
        pipelines=systems.names,
        mode="as-published" if options.setting.published else "fair",
        offline=False,
        search=round_trip_json(search),
        search_file=None if replayed is None else make_relative_name(replayed, options.out),
        setting=round_trip_json(options.setting.params()),
        **systems.params(),
        model=systems.model,
        seed=options.seed,
        resamples=UNSET if options.resamples == RESAMPLES else options.resamples,
        versions=library_versions(),
        started=utc_now(),
        status="running",
    )
