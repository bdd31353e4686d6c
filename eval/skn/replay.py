"""Computes the metrics of results again, from their stored answers and verdicts.

Nothing is asked: neither a pipeline nor a judge. The results are a ``detailed_results.json``, or
the folder of a run. They become a run folder, so that every command for runs takes them.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from eval.harness.base_run import RunResult
from eval.harness.predictions.scored_run import write_scored_run
from eval.harness.reply import REPLIES, VOTES, Reply, read_replies, read_votes
from eval.harness.row_writer import make_reply_key
from eval.harness.verification.changed_files import find_changed_files, list_hashed_files
from eval.skn.benchmark import SKN
from eval.skn.files import MANIFEST, ROWS, SAMPLES, SOURCES, list_run_files
from eval.skn.items import Sample, read_samples, sample_to_json
from eval.skn.manifest import SknManifest, read_manifest
from eval.skn.published.detailed_results import (
    DetailedResults,
    find_results_file,
    read_detailed_results,
)
from eval.skn.published.wide_rows import NOBODY
from eval.skn.row_builder import build_row
from eval.stats.bootstrap import RESAMPLES
from kg.base.errors import RecordError, SettingError
from kg.base.files import check_output, sha256_bytes, sha256_file, to_json_bytes, write_jsonl_atomic
from kg.base.plain_text import join_list
from kg.base.provenance import library_versions, make_relative_name, utc_now


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """The options of a replay.

    Attributes:
        results: a file of detailed results, its folder, or the folder of a run.
        out: folder of the new run.
        dataset: the samples of detailed results; None to take them from the file.
        as_published: compute the keys of ``metrics.json``, and read abstentions, as published.
        seed: seed of the resamples.
        resamples: bootstrap resamples of the intervals.
        overwrite: whether a run in ``out`` is replaced.
    """

    results: Path
    out: Path
    dataset: Path | None = None
    as_published: bool = False
    seed: int
    resamples: int
    overwrite: bool = False


def replay_results(options: ReplayOptions) -> tuple[RunResult[SknManifest], list[str]]:
    """Writes a run folder from stored answers and verdicts.

    Returns:
        The run, and warnings about what is missing or unreadable; it counts as unusable.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: the results cannot be read.
        SettingError: an option does not apply to the results.
        WriteError: the folder has a run, and may not be overwritten.
    """
    if (options.results / MANIFEST).is_file():
        manifest, warnings = _replay_run(options)
    else:
        manifest, warnings = _replay_details(options)
    n_rows = sum(manifest.counts.values())
    return RunResult(folder=options.out, manifest=manifest, asked=0, existing=n_rows), warnings


def _replay_run(options: ReplayOptions) -> tuple[SknManifest, list[str]]:
    run, out = options.results, options.out
    if options.dataset is not None or options.as_published:
        raise SettingError(
            "the folder of a run has its samples, and its manifest the setting",
            where="--dataset, --as-published",
            hint=f"Leave them out; they are for a detailed_results.json from elsewhere, not {run}.",
        )
    if run.resolve() == out.resolve():
        raise SettingError(
            "the run would be overwritten by its replay", where=str(run), hint="Choose an --out."
        )
    manifest = read_manifest(run / MANIFEST)
    for path in list_run_files(out):
        check_output(path, list_run_files(run))
    samples = read_samples(run / SAMPLES)
    replies = {make_reply_key(reply): reply for reply in read_replies(run / REPLIES)}
    votes = list(read_votes(run / VOTES))
    voted = {make_reply_key(vote) for vote in votes if not vote.anchor}
    samples_by_id = {sample.id: sample for sample in samples}
    _require_known(replies.values(), samples_by_id, manifest, run / REPLIES)
    unjudged = [
        key
        for key, reply in replies.items()
        if manifest.is_judged
        and key not in voted
        and build_row(
            samples_by_id[reply.id], reply, None, published=manifest.mode == "as-published"
        ).has_answer_text
    ]
    expected = [
        (sample.id, name, repeat)
        for sample in samples
        for repeat in range(manifest.repeats)
        for name in manifest.pipelines
    ]
    missing = [key for key in expected if key not in replies]
    warnings = [
        f"{what}: {len(keys)} of {len(expected)} rows ({_name_rows(keys)})"
        for what, keys in (
            (f"no reply in {REPLIES}, counted as ERROR", missing),
            (f"no vote in {VOTES}, counted as unjudged", unjudged),
        )
        if keys
    ]
    hashed = [name for name in list_hashed_files(SKN) if name != ROWS]
    if changed := find_changed_files(run, manifest.files_sha256, hashed):
        names = join_list([path.name for path in changed])
        warnings.append(f"{names} changed after the run; the metrics are those of the files now")

    def copy_inputs() -> None:
        write_jsonl_atomic(out / SAMPLES, map(sample_to_json, samples))
        shutil.copyfile(run / SOURCES, out / SOURCES)
        write_jsonl_atomic(out / VOTES, votes)

    replayed = msgspec.structs.replace(
        manifest,
        dataset=make_relative_name(run / manifest.dataset, out),
        search_file=None
        if manifest.search_file is None
        else make_relative_name(run / manifest.search_file, out),
        results_of=make_relative_name(run, out),
        versions=library_versions(),
        started=utc_now(),
        resumed=0,
    )
    written = write_scored_run(
        out,
        SKN,
        replayed,
        samples,
        replies.values(),
        write_items=copy_inputs,
        overwrite=options.overwrite,
    )
    return written, warnings


def _require_known(
    replies: Any, samples: dict[str, Sample], manifest: SknManifest, path: Path
) -> None:
    reply: Reply
    for number, reply in enumerate(replies, start=1):
        if reply.id not in samples or reply.system not in manifest.pipelines:
            raise RecordError(
                f"a reply of {reply.system!r} to {reply.id!r}, which are not in this run",
                where=f"{path}:{number}",
                hint="Replies, samples and manifest must be of one run.",
            )


def _name_rows(keys: Sequence[tuple[str, str, int]]) -> str:
    names = ", ".join(f"{id_} {name}" for id_, name, _ in keys[:5])
    return f"{names}, …" if len(keys) > 5 else names


def _replay_details(options: ReplayOptions) -> tuple[SknManifest, list[str]]:
    out = options.out
    file = find_results_file(options.results)
    inputs = [file, *([options.dataset] if options.dataset else ())]
    for path in list_run_files(out):
        check_output(path, inputs)
    dataset = None if options.dataset is None else read_samples(options.dataset)
    results = read_detailed_results(options.results, dataset)
    lines = [to_json_bytes(sample_to_json(sample)) + b"\n" for sample in results.samples]

    def write_inputs() -> None:
        write_jsonl_atomic(out / SAMPLES, map(sample_to_json, results.samples))
        write_jsonl_atomic(out / SOURCES, results.sources)
        write_jsonl_atomic(out / VOTES, results.votes)

    manifest = _build_manifest(options, results, sha256_bytes(b"".join(lines)))
    written = write_scored_run(
        out,
        SKN,
        manifest,
        results.samples,
        results.replies,
        write_items=write_inputs,
        overwrite=options.overwrite,
    )
    warnings = results.list_warnings()
    expected = len(results.samples) * manifest.repeats * len(results.pipelines)
    if missing := expected - len(results.replies):
        warnings.append(f"no row in the file, counted as ERROR: {missing} of {expected} answers")
    warnings += [
        f"{count} verdicts on {judge} have exactly the values that the published code writes for a "
        "judgement that it cannot read; some may be none"
        for judge, count in results.default_verdicts.items()
    ]
    return written, warnings


def _build_manifest(
    options: ReplayOptions, results: DetailedResults, samples_sha256: str
) -> SknManifest:
    model = results.answered_by or None
    judge_model = None if results.judged_by in ("", NOBODY) else results.judged_by
    repeats = [reply.repeat for reply in results.replies]
    dataset = options.dataset
    return SknManifest(
        rows=ROWS,
        dataset=SAMPLES if dataset is None else make_relative_name(dataset, options.out),
        dataset_sha256=samples_sha256 if dataset is None else sha256_file(dataset),
        sample_count=len(results.samples),
        repeats=1 + max(repeats, default=0),
        pipelines=results.pipelines,
        mode="as-published" if options.as_published else "fair",
        offline=False,
        search={"name": results.path.name},
        setting={},
        extractors={},
        agent={"by": results.answered_by or "unknown"},
        judges={} if results.judged_by == NOBODY else {"by": results.judged_by or "unknown"},
        model=model,
        judge_model=judge_model,
        same_judge=model is not None and model == judge_model,
        results_of=make_relative_name(results.path, options.out),
        resamples=UNSET if options.resamples == RESAMPLES else options.resamples,
        seed=options.seed,
        versions=library_versions(),
        started=utc_now(),
        status="running",
    )
