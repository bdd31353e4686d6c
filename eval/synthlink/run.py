"""Runs a multi-hop question-answering system over a catalogue, and resumes interrupted runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.harness.base_run import RunResult
from eval.harness.folder_run import RunDescription, run_in_folder
from eval.harness.outputs import replace_files, require_owned_folder
from eval.harness.resume import OUT_HINT, round_trip_json
from eval.harness.systems.description import read_params
from eval.synthlink.agents.factory import AgentOptions, OpenedAgent, open_agent
from eval.synthlink.benchmark import SYNTHLINK
from eval.synthlink.catalog import read_catalog
from eval.synthlink.files import (
    OUTPUT_FILES,
    RECORDED_SEARCHES,
    ROWS,
    RUN_MANIFEST,
    list_run_files,
)
from eval.synthlink.items import Question
from eval.synthlink.options import RunOptions
from eval.synthlink.prediction_writer import write_predictions
from eval.synthlink.row import SynthLinkRow
from eval.synthlink.run_manifest import (
    SHIPPED,
    RunManifest,
    hash_questions,
)
from eval.synthlink.systems.library_factory import open_library, require_search_file
from eval.synthlink.systems.trail_reader import copy_question_text
from kg.base.errors import WriteError
from kg.base.files import check_output, sha256_file
from kg.base.provenance import library_versions, make_relative_name, utc_now


def run(options: RunOptions) -> RunResult[RunManifest]:
    """Asks the system the questions that have no row yet, and writes the predictions.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: the catalogue, the pages or the recorded
            searches cannot be read.
        SystemNotFoundError: the system does not exist.
        WriteError: an output would overwrite an input, or the folder has files of another kind.
        MissingExtraError, SearchError: the live search that is requested is not possible.
        EpocheError: as ``run_in_folder``.
    """
    questions = read_catalog(options.catalog).questions
    _refuse_overwriting_inputs(options)
    if not options.overwrite:
        _require_run_folder(options.out)
    # A live search is recorded in the folder, so the folder must be locked before it is opened.
    early = None if options.live else _open_system(options)

    def describe() -> RunDescription[Question, SynthLinkRow, RunManifest]:
        is_replaced = options.overwrite and options.live
        with replace_files([options.out / RECORDED_SEARCHES] if is_replaced else []):
            return _describe_run(options, questions, early or _open_system(options))

    result = run_in_folder(
        options.flags, len(questions) * options.repeats, len(questions), describe
    )
    write_predictions(options.out)
    return result


def _refuse_overwriting_inputs(options: RunOptions) -> None:
    inputs = (options.catalog, options.pages, options.search)
    read = [path for path in inputs if path is not None and path.is_file()]
    for path in list_run_files(options.out):
        # A recording in this folder may be replayed, but not by a run that writes it.
        if options.live or path.name != RECORDED_SEARCHES:
            check_output(path, read)


def _require_run_folder(folder: Path) -> None:
    """Refuses a folder whose scores or report do not belong to a run, so they are not deleted.

    Raises:
        WriteError: there are such files.
    """
    markers = (ROWS, RUN_MANIFEST)
    require_owned_folder(folder, markers)
    present = [name for name in OUTPUT_FILES if (folder / name).exists()]
    if present and not any((folder / name).exists() for name in markers):
        raise WriteError(
            f"the folder contains {present[0]}, which was not written by such a run",
            where=str(folder),
            hint=OUT_HINT,
        )


@dataclass(frozen=True, kw_only=True)
class _System:
    """A system, with its parameters and those of the library it searches."""

    opened: OpenedAgent
    library: dict[str, Any] | None
    params: dict[str, Any]


def _open_system(options: RunOptions) -> _System:
    library = open_library(options)
    params: dict[str, Any] | None = None if library is None else round_trip_json(library.params())
    if params is not None and options.search is not None:
        params["sha256"] = sha256_file(require_search_file(options.search))
    opened = open_agent(
        options.system,
        AgentOptions(
            library=library,
            client=options.get_client_options(),
            rounds=options.rounds,
            max_tokens=options.max_tokens,
            seed=options.seed,
            settings=options.settings,
        ),
    )
    agent: Any = opened.agent
    return _System(opened=opened, library=params, params=read_params(agent, opened.name))


def _describe_run(
    options: RunOptions, questions: tuple[Question, ...], system: _System
) -> RunDescription[Question, SynthLinkRow, RunManifest]:
    opened, catalog = system.opened, options.catalog
    manifest = RunManifest(
        rows=ROWS,
        dataset=SHIPPED if catalog is None else make_relative_name(catalog, options.out),
        dataset_sha256=hash_questions(questions),
        sample_count=len(questions),
        limit=options.limit,
        repeats=options.repeats,
        shard=options.shard.to_field(),
        system=options.system,
        name=opened.name,
        params=system.params,
        library=system.library,
        rounds=options.rounds,
        model=opened.model,
        offline=opened.model is None,
        seed=options.seed,
        versions=library_versions(),
        started=utc_now(),
        status="running",
    )
    return RunDescription(
        benchmark=SYNTHLINK,
        title=opened.name,
        items=questions,
        systems=[opened.agent],
        view=copy_question_text,
        manifest=manifest,
        observed=opened.observed,
        warmup_clients=opened.warmup_clients,
        on_close=opened.on_close,
    )
