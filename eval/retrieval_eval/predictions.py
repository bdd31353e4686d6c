"""Writes a run folder from rankings that were made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from eval.harness.outputs import delete_outputs
from eval.harness.predictions.reader import (
    PredictionFile,
    PredictionFormat,
    Predictions,
    describe_files,
    read_predictions,
)
from eval.harness.predictions.repeats import count_repeats, renumber_repeats
from eval.harness.predictions.scored_run import PredictedSystem, write_scored_run
from eval.retrieval_eval.benchmark import RETRIEVAL
from eval.retrieval_eval.files import ITEMS, list_run_files, list_trec_files, make_file_name
from eval.retrieval_eval.items import iter_items
from eval.retrieval_eval.manifest import RetrievalManifest
from eval.retrieval_eval.questions import read_questions, select_split
from eval.retrieval_eval.run import RunOptions, build_manifest
from eval.retrieval_eval.systems.retriever_set import RetrieverSet
from eval.retrieval_eval.systems.system_set import SystemSet
from eval.retrieval_eval.systems.view import read_ranking
from kg.base.errors import SettingError
from kg.base.files import check_output, write_jsonl_atomic
from kg.text.run.folder import open_run


def score_predictions(
    options: RunOptions, files: Sequence[PredictionFile], field_map: Mapping[str, str]
) -> tuple[RetrievalManifest, dict[str, Predictions]]:
    """Writes rankings to a run folder; a question without a ranking is an error.

    Args:
        options: corpus, questions and folder. It names no retrievers, and the number of repeats
            is that of the files.
        files: the rankings of each retriever.
        field_map: our name of a field → the files' name.

    Returns:
        The manifest as written, and what was read from each file.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: corpus, questions or rankings cannot be
            read.
        SettingError: two retrievers have names that give the same file name.
        WriteError: the folder has a run and may not be overwritten.
    """
    out = options.flags.out
    retrievers = RetrieverSet(open_run(options.run), options.embedder)
    questions = read_questions(options.questions, retrievers.ids)
    items = tuple(
        iter_items(select_split(questions, options.split, options.questions), retrievers.passages)
    )
    names = [file.name for file in files]
    if len(set(map(make_file_name, names))) < len(names):
        raise SettingError(
            "two names of predictions give the same file name",
            where=", ".join(names),
            hint="Choose names that differ in their letters and digits.",
        )
    for name in (*list_run_files(out, ()), *(out / name for name in list_trec_files(names))):
        check_output(name, [options.questions, *(file.path for file in files)])
    form = PredictionFormat(
        value="ranking",
        noun="question",
        read_value=partial(read_ranking, passage_ids=frozenset(retrievers.ids)),
        field_map=field_map,
    )
    ids = {item.id for item in items}
    predictions = renumber_repeats({file.name: read_predictions(file, ids, form) for file in files})
    replies = [reply for read in predictions.values() for reply in read.replies]
    sources = describe_files(files, field_map)
    team = SystemSet({name: PredictedSystem(name, sources[name]) for name in names})
    options = replace(options, repeats=count_repeats(predictions), foreign=tuple(names))
    manifest = build_manifest(options, retrievers, None, team, items)

    def write_items() -> None:
        delete_outputs(out, list_trec_files(names))
        write_jsonl_atomic(out / ITEMS, items)

    finished = write_scored_run(
        out,
        RETRIEVAL,
        manifest,
        items,
        replies,
        write_items=write_items,
        overwrite=options.flags.overwrite,
    )
    return finished, predictions
