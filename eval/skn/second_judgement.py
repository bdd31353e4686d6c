"""Judges a finished run again with other judges, without asking any pipeline."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from eval.harness import second_judgement
from eval.harness.base_run import RunFlags, RunResult
from eval.harness.folder_run import RunDescription, close_clients
from eval.harness.reply import VOTES
from eval.harness.resume import round_trip_json
from eval.harness.session import RunLimits
from eval.skn.benchmark import SKN
from eval.skn.files import MANIFEST, SAMPLES, SOURCES, list_run_files
from eval.skn.items import read_samples
from eval.skn.judging.judge import SknJudge, read_anchors
from eval.skn.judging.judge_set import JudgeSet, open_model_judges
from eval.skn.manifest import SknManifest, read_manifest
from eval.skn.search_source import read_sources
from eval.stats.bootstrap import RESAMPLES
from kg.base.errors import SettingError
from kg.base.files import check_output
from kg.base.provenance import library_versions, make_relative_name, utc_now

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """The options of a second judgement.

    Attributes:
        run: folder of the finished run.
        out: folder of the new run.
        client: how models are called; its ``model`` is ignored.
        judge_models: the judges; ``same`` for the model that answered.
        judge_repeats: votes of each judge on each item; None for the default number.
        resamples: bootstrap resamples of the intervals.
        resume: whether an existing judgement in ``out`` is resumed.
        overwrite: whether it is replaced.
        retry_errors: whether replies and anchors are judged again whose judge could not be called.
        limits: concurrency, and the limits at which the judgement is aborted.
    """

    run: Path
    out: Path
    client: ClientOptions
    judge_models: tuple[str, ...] = ()
    judge_repeats: int | None = None
    resamples: int = RESAMPLES
    resume: bool = True
    overwrite: bool = False
    retry_errors: bool = False
    limits: RunLimits = field(default_factory=RunLimits)


def judge_run(options: JudgeOptions) -> RunResult[SknManifest]:
    """Judges the replies of a run again and computes its rows anew.

    Anchors are judged too, even if the run was made in the published setting, which has none. They
    show the same wrong answers as those of the run.

    Raises:
        MissingFileError, RecordError: the folder contains no finished SKN run.
        SettingError: no judge is named, or the run is only one shard.
        EpocheError: as ``judge_again`` of the harness.
    """
    run = options.run
    manifest = read_manifest(run / MANIFEST)
    if manifest.shard is not None:
        raise SettingError(
            f"the run is shard {manifest.shard} only",
            where=str(run),
            hint="Merge the shards with `epoche merge`, then judge the merged run.",
        )
    for path in list_run_files(options.out):
        check_output(path, list_run_files(run))
    samples = read_samples(run / SAMPLES)
    sources = {source.id: source for source in read_sources(run / SOURCES)}
    judge_set = open_model_judges(
        options.client,
        manifest.model,
        options.judge_models,
        repeats=options.judge_repeats,
        seed=manifest.seed,
    )
    judge = SknJudge(
        judge_set,
        samples,
        sources,
        published=manifest.mode == "as-published",
        has_anchors=True,
        seed=manifest.seed,
        wrong_answers=_read_wrong_answers(run / VOTES),
    )
    description = RunDescription(
        benchmark=SKN,
        title="replies of the run",
        items=samples,
        systems=(),
        view=lambda _sample: None,
        manifest=_build_manifest(options, manifest, judge_set),
        judge=judge,
        observed=lambda: {"judges": judge_set.observed()},
        warmup_clients=judge_set.warmup_clients,
    )
    flags = RunFlags(
        out=options.out,
        resume=options.resume,
        overwrite=options.overwrite,
        retry_errors=options.retry_errors,
        limits=options.limits,
    )
    try:
        return second_judgement.judge_again(run, flags, description)
    except BaseException:
        close_clients(judge_set.on_close)
        raise


def _read_wrong_answers(votes: Path) -> dict[str, str]:
    """Returns sample id → wrong answer that the first judges were shown; none without votes.

    They were drawn from all samples of the data set, and the folder has only those that were asked.
    """
    if not votes.is_file():
        return {}
    return {row.id: row.wrong_answer for row in read_anchors(votes) if row.wrong_answer is not None}


def _build_manifest(
    options: JudgeOptions, manifest: SknManifest, judge_set: JudgeSet
) -> SknManifest:
    """Returns the manifest of the new run, which differs in judges, paths, times and counts."""
    run, out = options.run, options.out
    answers = {key: value for key, value in manifest.observed.items() if key != "judges"}
    return msgspec.structs.replace(
        manifest,
        dataset=make_relative_name(run / manifest.dataset, out),
        search_file=None
        if manifest.search_file is None
        else make_relative_name(run / manifest.search_file, out),
        judges=round_trip_json(judge_set.judges.params()),
        judge_model=judge_set.model,
        same_judge=judge_set.same,
        resamples=UNSET if options.resamples == RESAMPLES else options.resamples,
        replies_of=make_relative_name(run, out),
        results_of=UNSET,
        versions=library_versions(),
        started=utc_now(),
        ended=None,
        resumed=0,
        status="running",
        counts={},
        calls=None,
        observed=answers,
    )
