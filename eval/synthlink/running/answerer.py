"""Which model answered, where a run's manifest stands beside its predictions."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from eval.synthlink.agents.factory import MODEL_SYSTEMS, SYSTEMS
from eval.synthlink.running.manifest import read_manifest
from eval.synthlink.running.output_files import PREDICTIONS, RUN_MANIFEST


class Answerer(NamedTuple):
    """Who answered."""

    model: str | None = None
    """Null where that is not known."""
    by_model: bool = True
    """Whether a model answered at all, or may have."""


def answerer_of_system(system: str, model: str | None) -> Answerer:
    """Who answers in a run.

    Args:
        system: as it is asked for.
        model: that it is known to call.
    """
    if system in SYSTEMS and system not in MODEL_SYSTEMS:
        return Answerer(None, by_model=False)
    return Answerer(model)


def answerer_of(predictions: Path) -> Answerer:
    """Who answered in a file of predictions; nobody knows of one that no run of ours wrote.

    Raises:
        RecordError: what stands beside it is no manifest of a run.
    """
    path = predictions.parent / RUN_MANIFEST
    if predictions.name != PREDICTIONS or not path.is_file():
        return Answerer()
    manifest = read_manifest(path)
    return answerer_of_system(manifest.system, manifest.model)
