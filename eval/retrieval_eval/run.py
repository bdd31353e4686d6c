"""Runs retrievers on labelled questions into a folder, and resumes interrupted runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from eval.harness.base_run import RunFlags, RunResult
from eval.harness.folder_run import RunDescription, run_in_folder
from eval.harness.journals.row_layout import ALL_ITEMS, Shard
from eval.harness.outputs import delete_outputs, require_owned_folder
from eval.harness.resume import round_trip_json
from eval.harness.systems.description import collect_params
from eval.harness.systems.system import find_close_functions
from eval.retrieval_eval.benchmark import RETRIEVAL
from eval.retrieval_eval.files import ITEMS, MANIFEST, ROWS, list_run_files, list_trec_files
from eval.retrieval_eval.items import RetrievalItem, hash_items, iter_items
from eval.retrieval_eval.manifest import ReportSettings, RetrievalManifest
from eval.retrieval_eval.questions import Question, Split, read_questions, select_split
from eval.retrieval_eval.record import Corpus
from eval.retrieval_eval.row import RetrievalRow
from eval.retrieval_eval.systems.ablation import ENSEMBLE
from eval.retrieval_eval.systems.retriever_set import RetrieverSet
from eval.retrieval_eval.systems.system_set import (
    SettingsProgress,
    SystemSet,
    make_ablations,
    make_tuned_systems,
)
from eval.retrieval_eval.systems.view import (
    RANKING_DEPTH,
    RetrievalOptions,
    make_view,
    read_ranking,
)
from kg.base.files import check_output, sha256_file, write_jsonl_atomic
from kg.base.provenance import escape_file_name, library_versions, utc_now
from kg.text.run.folder import open_run


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run.

    Attributes:
        flags: the folder, and how the run is executed.
        run: the folder of the text run whose chunks are searched.
        questions: the file of labelled questions.
        retrievers: names of the built-in retrievers, those of the baselines included.
        foreign: other retrievers, as ``--system`` names them.
        settings: ``--set`` pairs for these.
        baselines: names of the retrievers that the others are compared with.
        split: which questions are used.
        ablate: whether variants of the ensemble are measured too.
        tune: whether the fusions are tuned on the dev questions.
        other_run: with ``ablate``, another text run of the same chunks; None for none.
        embedder: model of ``dense`` and ``facts``; empty for the default model.
        facts: file of facts about the run's chunks; None for facts found by rules.
        limit: use only the first ``limit`` questions.
        shard: the part of the questions that is asked.
        repeats: number of times each question is asked.
        resamples: number of bootstrap resamples.
        seed: seed of the resamples and of the order of questions.
        confidence: nominal coverage of the intervals.
        progress: shows the progress of tuning.
    """

    flags: RunFlags
    run: Path
    questions: Path
    retrievers: Sequence[str]
    foreign: Sequence[str] = ()
    settings: dict[str, str] = field(default_factory=dict)
    baselines: Sequence[str] = ()
    split: Split | Literal["all"] = "test"
    ablate: bool = False
    tune: bool = False
    other_run: Path | None = None
    embedder: str = ""
    facts: Path | None = None
    limit: int | None = None
    shard: Shard = ALL_ITEMS
    repeats: int = 1
    resamples: int
    seed: int
    confidence: float
    progress: SettingsProgress = iter


def run(options: RunOptions) -> RunResult[RetrievalManifest]:
    """Asks every retriever the questions that have no reply in the folder yet.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: the run or the questions cannot be read.
        SettingError: a foreign retriever cannot be used.
        WriteError: an output would overwrite an input.
        EpocheError: a retriever cannot be opened, or as ``run_in_folder``.
    """
    out = options.flags.out
    facts = "" if options.facts is None else str(options.facts)
    retrievers = RetrieverSet(open_run(options.run), options.embedder, facts)
    other = None
    if options.other_run is not None:
        other = RetrieverSet(open_run(options.other_run), options.embedder, facts)
    questions = read_questions(options.questions, retrievers.ids)
    selected = select_split(questions, options.split, options.questions)
    dev = select_split(questions, "dev", options.questions) if options.tune else ()
    inputs = [path for path in (options.questions, options.facts) if path is not None]
    for path in list_run_files(out, ()):
        check_output(path, inputs)
    require_owned_folder(out, (ROWS, MANIFEST))
    team = _make_systems(options, retrievers, other, dev)
    for name in list_trec_files(team.systems):
        check_output(out / name, inputs)
    items = tuple(iter_items(selected, retrievers.passages))
    manifest = build_manifest(options, retrievers, other, team, items)
    size = len(items) * options.repeats * len(team.systems)
    return run_in_folder(
        options.flags,
        size,
        len(items),
        lambda: _describe_run(out, retrievers, team, items, manifest),
    )


def _make_systems(
    options: RunOptions,
    retrievers: RetrieverSet,
    other: RetrieverSet | None,
    dev: Sequence[Question],
) -> SystemSet:
    names = list(options.retrievers)
    if options.ablate or options.tune:
        names += [*retrievers.list_components(ENSEMBLE), ENSEMBLE]
    team = SystemSet()
    for name in names:
        team.add_retriever(retrievers.open(name))
    if options.tune:
        make_tuned_systems(team, retrievers, dev, options.progress)
    if options.ablate:
        make_ablations(team, retrievers, other)
    texts = {passage.id: passage.text for passage in retrievers.passages}
    for spec in options.foreign:
        # Each gets a copy, so that none can change the corpus of another.
        team.add_foreign(
            spec,
            RetrievalOptions(passages=dict(texts), seed=options.seed, settings=options.settings),
        )
    return team


def _describe_run(
    out: Path,
    retrievers: RetrieverSet,
    team: SystemSet,
    items: Sequence[RetrievalItem],
    manifest: RetrievalManifest,
) -> RunDescription[RetrievalItem, RetrievalRow, RetrievalManifest]:
    def write_items(asked: Sequence[RetrievalItem], _missing: Sequence[RetrievalItem]) -> None:
        delete_outputs(out, list_trec_files(manifest.systems))
        write_jsonl_atomic(out / ITEMS, asked)

    systems = list(team.systems.values())
    ids = frozenset(retrievers.ids)
    return RunDescription(
        benchmark=dataclasses.replace(RETRIEVAL, read_reply=partial(read_ranking, passage_ids=ids)),
        title=_describe_systems(list(team.systems)),
        items=items,
        systems=systems,
        view=lambda item: make_view(item.question),
        manifest=manifest,
        before_asking=write_items,
        on_close=find_close_functions(systems),
    )


def _describe_systems(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} retrievers"


def build_manifest(
    options: RunOptions,
    retrievers: RetrieverSet,
    other: RetrieverSet | None,
    team: SystemSet,
    items: Sequence[RetrievalItem],
) -> RetrievalManifest:
    """Builds the manifest that a new run has.

    Args:
        options: the options of the run.
        retrievers: the corpus.
        other: the corpus of another run, for ablations.
        team: the systems.
        items: all questions of the split.
    """
    run = retrievers.run
    return RetrievalManifest(
        rows=ROWS,
        items=ITEMS,
        dataset=escape_file_name(options.questions.name),
        dataset_sha256=hash_items(items),
        questions_sha256=sha256_file(options.questions),
        sample_count=len(items),
        limit=options.limit,
        repeats=options.repeats,
        shard=options.shard.to_field(),
        split=options.split,
        corpus=Corpus(
            run=run.sha256, n_chunks=len(retrievers.ids), config=round_trip_json(run.config)
        ),
        other_run=None if other is None else other.run.sha256,
        depth=RANKING_DEPTH,
        systems=tuple(team.systems),
        retrievers={name: _collect_params(system) for name, system in team.systems.items()},
        variants=tuple(team.variants),
        ablations=tuple(team.ablations),
        tuning=team.tuning,
        measuring=ReportSettings(
            resamples=options.resamples,
            confidence=options.confidence,
            baselines=tuple(options.baselines),
        ),
        offline=not options.foreign,
        seed=options.seed,
        versions=library_versions(),
        started=utc_now(),
        status="running",
    )


def _collect_params(system: Any) -> dict[str, Any]:
    return collect_params([system], [system.name])
