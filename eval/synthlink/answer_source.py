"""Finds the model that wrote a file of predictions, from the manifest in the same folder."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from eval.synthlink.agents.factory import MODEL_SYSTEMS, SYSTEMS
from eval.synthlink.run_files import PREDICTIONS, RUN_MANIFEST
from eval.synthlink.run_manifest import read_run_manifest_file


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
    path = predictions.parent / RUN_MANIFEST
    if predictions.name != PREDICTIONS or not path.is_file():
        return AnswerSource()
    manifest = read_run_manifest_file(path)
    return get_system_source(manifest.system, manifest.model)
