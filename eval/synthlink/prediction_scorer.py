"""Writes a run folder from predictions that were made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from eval.harness.predictions.reader import (
    PredictionFile,
    PredictionFormat,
    Predictions,
    describe_files,
    read_predictions,
)
from eval.harness.predictions.repeats import count_repeats, renumber_repeats
from eval.harness.predictions.scored_run import write_scored_run
from eval.harness.reply import Reply
from eval.harness.resume import read_run_manifest
from eval.replies.abstention import is_abstention
from eval.synthlink.agents.trail import MAX_ROUNDS, CitedPage, Round, Trail
from eval.synthlink.benchmark import SYNTHLINK
from eval.synthlink.catalog import read_catalog
from eval.synthlink.files import ROWS, list_run_files
from eval.synthlink.prediction_writer import write_predictions
from eval.synthlink.predictions import Prediction, check_predictions, is_blank
from eval.synthlink.run_manifest import SHIPPED, RunManifest, hash_questions
from eval.synthlink.systems.trail_reader import read_trail
from kg.base.files import check_output
from kg.base.provenance import library_versions, make_relative_name, utc_now
from kg.base.strict_json import NotJsonError, parse_json

_LISTS: Final = ("retrieved_docs", "iterations", "sources_verified")


def write_prediction_run(
    out: Path,
    file: PredictionFile,
    catalog: Path | None,
    *,
    field_map: Mapping[str, str],
    seed: int,
    overwrite: bool,
) -> tuple[RunManifest, Predictions]:
    """Writes replies, rows, manifest and predictions of one system.

    Args:
        out: the folder to write to.
        file: the predictions.
        catalog: the questions; None for the shipped ones.
        field_map: our name of a field → the file's name.
        seed: seed of the resamples, for the manifest.
        overwrite: whether to replace an existing run in the folder.

    Returns:
        The manifest as written, and what was read from the file.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: questions or predictions cannot be read.
        WriteError: the folder has another run and ``overwrite`` is false, or an input is in the
            way.
    """
    questions = read_catalog(catalog).questions
    inputs = [path for path in (catalog, file.path) if path is not None and path.is_file()]
    for path in list_run_files(out):
        check_output(path, inputs)
    form = PredictionFormat(
        id="question_id",
        value="predicted_answer",
        parts=_LISTS,
        noun="question",
        read_value=read_prediction,
        field_map=field_map,
    )
    read = read_predictions(file, {question.id for question in questions}, form)
    numbered = renumber_repeats({file.name: read})
    predictions = numbered[file.name]
    manifest = RunManifest(
        rows=ROWS,
        dataset=SHIPPED if catalog is None else make_relative_name(catalog, out),
        dataset_sha256=hash_questions(questions),
        sample_count=len(questions),
        repeats=count_repeats(numbered),
        system="predictions",
        name=file.name,
        params=describe_files([file], field_map)[file.name],
        library=None,
        rounds=MAX_ROUNDS,
        model=None,
        offline=False,
        seed=seed,
        versions=library_versions(),
        started=utc_now(),
        status="running",
    )
    # Nothing is lost by writing the same run again, so that a judge that was interrupted goes on.
    overwrite = overwrite or _has_same_run(out, manifest)
    finished = write_scored_run(
        out, SYNTHLINK, manifest, questions, predictions.replies, overwrite=overwrite
    )
    write_predictions(out)
    return finished, predictions


def _has_same_run(out: Path, manifest: RunManifest) -> bool:
    """Returns whether a folder has a run of the same predictions of the same questions."""
    path = out / SYNTHLINK.manifest_file
    if not path.is_file():
        return False
    old = read_run_manifest(path, RunManifest, SYNTHLINK.command)
    return (old.name, old.params, old.dataset_sha256) == (
        manifest.name,
        manifest.params,
        manifest.dataset_sha256,
    )


def read_prediction(value: Mapping[str, Any]) -> Reply:
    """Converts the fields of a prediction, as the specification names them, to a reply.

    Lists may also be texts that are JSON, as in a CSV file.
    """
    row = {"question_id": "-"}
    for name, field in value.items():
        try:
            is_text = name in _LISTS and isinstance(field, str)
            row[name] = parse_json(field) if is_text else field
        except NotJsonError as error:
            return Reply(status="invalid", problem=f"{name} is not JSON: {error}")
    checked = check_predictions([row], ("-",))
    if not checked.rows:
        return Reply(status="invalid", problem=checked.refused[0].why)
    return read_trail(_make_trail(checked.rows[0]))


def _make_trail(prediction: Prediction) -> Trail:
    """Returns the trail of a prediction; rounds beyond the last that counts are left out."""
    answer = prediction.predicted_answer
    iterations = prediction.iterations[:MAX_ROUNDS]
    return Trail(
        answer=answer,
        abstained=is_blank(answer) or is_abstention(answer),
        rounds=tuple(
            Round(
                answer=iteration.answers[-1] if iteration.answers else "",
                found=tuple(map(_make_page, iteration.docs)),
                read=tuple(map(_make_page, iteration.opened or ())),
                done=number == len(iterations),
            )
            for number, iteration in enumerate(iterations, start=1)
        ),
        docs=tuple(map(_make_page, prediction.retrieved_docs)),
        verified=prediction.sources_verified,
        records_read=prediction.list_opened() is not None,
    )


def _make_page(name: str) -> CitedPage:
    return CitedPage(url=name, title="") if "://" in name else CitedPage(url="", title=name)
