"""Finds out which run wrote a file of predictions, from the manifest in the same folder."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from eval.synthlink.agents.factory import MODEL_SYSTEMS, SYSTEMS
from eval.synthlink.files import (
    PREDICTIONS,
    RUN_MANIFEST,
    is_predictions_name,
    name_predictions,
)
from eval.synthlink.run_manifest import RunManifest, read_run_manifest_file


class AnswerSource(NamedTuple):
    """What is known about the system that answered."""

    model: str | None = None
    """Name of the model; None if it is not known."""
    by_model: bool = True
    """Whether a model answered, or may have answered."""


def get_system_source(system: str, model: str | None) -> AnswerSource:
    """Returns the answer source of a run.

    Args:
        system: the system, as named on the command line.
        model: the model that it calls, if known.
    """
    if system in SYSTEMS and system not in MODEL_SYSTEMS:
        return AnswerSource(None, by_model=False)
    return AnswerSource(model)


def find_source(predictions: Path) -> AnswerSource:
    """Returns the answer source of a file of predictions; unknown if no run of ours wrote it.

    Raises:
        RecordError: the manifest in the same folder is not that of a run.
    """
    manifest = read_source_manifest(predictions)
    if manifest is None or predictions.name not in map(name_predictions, range(manifest.repeats)):
        return AnswerSource()
    return get_system_source(manifest.system, manifest.model)


def list_repeat_files(predictions: Path) -> list[Path]:
    """Returns the predictions of the further repeats of a run, given those of its first.

    Returns:
        The paths, whether or not the files exist; none for predictions that no run of ours wrote.

    Raises:
        RecordError: the manifest in the same folder is not that of a run.
    """
    manifest = read_source_manifest(predictions)
    if manifest is None or predictions.name != PREDICTIONS:
        return []
    return [predictions.parent / name_predictions(n) for n in range(1, manifest.repeats)]


def read_source_manifest(predictions: Path) -> RunManifest | None:
    """Reads the manifest of the run that wrote a file of predictions; None if no run of ours did.

    Raises:
        RecordError: the manifest in the same folder is not that of a run.
    """
    path = predictions.parent / RUN_MANIFEST
    if not is_predictions_name(predictions.name) or not path.is_file():
        return None
    return read_run_manifest_file(path)
