"""Runs structured extraction into a folder and resumes interrupted runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eval.extraction.benchmark import EXTRACTION
from eval.extraction.files import MANIFEST, SAMPLES, list_run_files
from eval.extraction.manifest import ExtractionManifest
from eval.extraction.options import RunOptions
from eval.extraction.row import ROWS, ExtractionRow
from eval.extraction.samples.loader import SHIPPED, LoadedSamples, load_samples
from eval.extraction.samples.sample import Sample
from eval.extraction.samples.sample_rows import hash_samples, sample_to_row
from eval.extraction.systems.system_set import SystemSet, open_systems
from eval.extraction.view import ExtractionView, copy_view
from eval.harness.base_run import RunResult
from eval.harness.folder_run import RunDescription, run_in_folder
from eval.harness.outputs import require_owned_folder
from kg.base.files import check_output, write_jsonl_atomic
from kg.base.provenance import library_versions, make_relative_name, utc_now

_MAX_LISTED_REJECTIONS = 20


def run(options: RunOptions) -> RunResult[ExtractionManifest]:
    """Asks every system for the rows that are not in the folder yet.

    Raises:
        MissingFileError, MissingExtraError, RecordError: the data set or the rows cannot be read.
        WriteError: an output would overwrite an input.
        EpocheError: as ``run_in_folder``.
    """
    loaded = _load_samples(options)
    source = Path(options.config.dataset.name)
    read = [source] if source.is_file() else []
    for path in list_run_files(options.out):
        check_output(path, read)
    require_owned_folder(options.out, (ROWS, MANIFEST))
    team = open_systems(options)
    count = len(loaded.samples)
    size = count * options.repeats * len(team.extractors)
    try:
        return run_in_folder(
            options.flags, size, count, lambda: _describe_run(options, loaded, team)
        )
    except BaseException:
        team.close()
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


def _describe_run(
    options: RunOptions, loaded: LoadedSamples, team: SystemSet
) -> RunDescription[Sample, ExtractionRow, ExtractionManifest]:
    def write_samples(samples: Sequence[Sample], _missing: Sequence[Sample]) -> None:
        write_jsonl_atomic(options.out / SAMPLES, map(sample_to_row, samples))

    return RunDescription(
        benchmark=EXTRACTION,
        title=", ".join(team.names),
        items=loaded.samples,
        systems=team.extractors,
        view=lambda sample: copy_view(ExtractionView(sample.text, sample.schema)),
        manifest=_build_manifest(options, loaded, team),
        before_asking=write_samples,
        observed=team.observed,
        warmup_clients=team.warmup_clients,
        price=options.price,
        on_close=team.on_close,
    )


def _build_manifest(
    options: RunOptions, loaded: LoadedSamples, team: SystemSet
) -> ExtractionManifest:
    config = options.config
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
        shard=options.shard.to_field(),
        repeats=options.repeats,
        systems=team.names,
        offline=False,
        extractors=team.params(),
        prompts={} if not options.models else {"system": prompts.system, "user": prompts.user},
        matching=config.metrics.field_matching,
        seed=data.random_seed,
        measuring=options.report_settings,
        versions=library_versions(),
        started=utc_now(),
        status="running",
    )


def _dataset_name(name: str, out: Path) -> str:
    """Returns the data set's name; for files the path relative to the run's folder.

    A relative path stays valid when the data and the folder are moved together.
    """
    return make_relative_name(name, out) if name != SHIPPED and Path(name).exists() else name
