"""Writes a run folder from answers that were made elsewhere, and has them judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from eval.harness.base_run import RunResult
from eval.harness.folder_run import run_in_folder
from eval.harness.predictions.reader import (
    PredictionFile,
    PredictionFormat,
    Predictions,
    describe_files,
    read_predictions,
)
from eval.harness.predictions.repeats import count_repeats, renumber_repeats
from eval.harness.predictions.scored_run import NO_PREDICTION, PredictedSystem, write_scored_run
from eval.harness.reply import REPLIES, Reply, read_replies
from eval.harness.row_writer import make_reply_key
from eval.skn.benchmark import SKN
from eval.skn.files import MANIFEST
from eval.skn.manifest import SknManifest, read_manifest
from eval.skn.options import RunOptions
from eval.skn.run import describe_run, read_inputs
from eval.skn.search_source import SHIPPED
from eval.skn.systems.foreign_pipeline import ForeignPipeline
from eval.skn.systems.system_set import add_judges
from eval.skn.systems.view import read_answer
from kg.base.files import check_output, to_json_bytes

_NAME_DATASET: Final = (
    " If the answers are to other samples, such as the published ones, name their file with "
    "--dataset."
)


def score_predictions(
    options: RunOptions, files: Sequence[PredictionFile], field_map: Mapping[str, str]
) -> tuple[RunResult[SknManifest], dict[str, Predictions]]:
    """Writes answers to a run folder and has them judged; a missing answer is an error.

    If the folder has these answers already and their judgement was interrupted, it is resumed.

    Args:
        options: the data set, the folder and the judges; the number of repeats is that of the
            files, and ``systems`` are the names of the files.
        files: the answers of each system.
        field_map: our name of a field → the files' name.

    Returns:
        The run, and what was read from each file.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: samples, searches or answers cannot be
            read.
        WriteError: the folder has a finished run or other answers, and may not be
            overwritten.
        CardSetMismatchError: it has these answers, but other samples or judges.
        SettingError: no judge is named.
        EpocheError: as ``run_in_folder``.
    """
    # Only judges read searches, unless a file of them is named.
    needs_searches = not options.no_judge or options.search is not None
    samples, replayed = read_inputs(options, needs_searches=needs_searches)
    for path in (options.out / name for name in (SKN.rows_file, *SKN.item_files)):
        check_output(path, [file.path for file in files])
    # The published samples are not shipped, so their ids are unknown without --dataset.
    is_shipped = options.dataset == SHIPPED / "samples.json"
    form = PredictionFormat(
        value="answer",
        noun="sample",
        read_value=read_answer,
        field_map=field_map,
        id_hint=_NAME_DATASET if is_shipped else "",
    )
    ids = {sample.id for sample in samples}
    predictions = renumber_repeats({file.name: read_predictions(file, ids, form) for file in files})
    replies = [reply for read in predictions.values() for reply in read.replies]
    options = replace(options, repeats=count_repeats(predictions))
    sources = describe_files(files, field_map)
    systems = add_judges(
        tuple(
            ForeignPipeline(PredictedSystem(file.name, sources[file.name]), "predictions")
            for file in files
        ),
        options,
    )
    try:
        described = describe_run(options, samples, replayed, systems)
        size = len(samples) * options.repeats * len(files)
        if options.overwrite or not _is_interrupted(options.out, replies, size):
            write_scored_run(
                options.out,
                SKN,
                described.manifest,
                samples,
                replies,
                write_items=lambda: described.before_asking(samples, samples),
                overwrite=options.overwrite,
            )
        # The replies exist now, so only the judges are asked.
        result = run_in_folder(
            replace(options.flags, resume=True, overwrite=False),
            size,
            len(samples),
            lambda: replace(described, systems=()),
        )
    except BaseException:
        systems.close()
        raise
    return result, predictions


def _is_interrupted(out: Path, replies: Sequence[Reply], size: int) -> bool:
    """Returns whether a folder has exactly these replies, whose judgement is not finished.

    Raises:
        RecordError: replies or manifest in the folder are damaged.
    """
    if not all((out / name).is_file() for name in (REPLIES, MANIFEST)):
        return False
    if read_manifest(out / MANIFEST).status == "complete":
        return False
    stored = {make_reply_key(reply): reply for reply in read_replies(out / REPLIES)}
    new = {make_reply_key(reply): to_json_bytes(reply) for reply in replies}
    return (
        len(stored) == size
        and new.keys() <= stored.keys()
        and all(
            to_json_bytes(reply) == new[key] if key in new else reply.problem == NO_PREDICTION
            for key, reply in stored.items()
        )
    )
