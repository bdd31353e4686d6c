"""Describes the benchmark of multi-hop questions to the harness."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from eval.blocks.section import Section
from eval.harness.benchmark import Benchmark
from eval.metrics.measurement import Measurement, ResamplingPlan
from eval.synthlink.files import OUTPUT_FILES, ROWS, RUN_MANIFEST
from eval.synthlink.items import Question
from eval.synthlink.row import OUTCOMES, SynthLinkRow, get_row_key
from eval.synthlink.run_manifest import (
    COMMAND,
    FIXED_FIELDS,
    SHIPPED,
    RunManifest,
    hash_questions,
)
from eval.synthlink.scoring.manifest import MANIFEST_KIND
from eval.synthlink.scoring.outputs import ANSWERS_FILE, MANIFEST_FILE
from eval.synthlink.scoring.tables import SCORES_JSON
from eval.synthlink.systems.trail_reader import read_trail, score_reply


def _read_items(folder: Path, manifest: RunManifest) -> Sequence[Question]:
    from eval.synthlink.catalog import read_catalog

    path = None if manifest.dataset == SHIPPED else folder / manifest.dataset
    return read_catalog(path).questions


def _hash_dataset(folder: Path, manifest: RunManifest) -> str:
    return hash_questions(_read_items(folder, manifest))


def _write_outputs(folder: Path) -> None:
    from eval.synthlink.prediction_writer import write_predictions

    write_predictions(folder)


def _measure(folders: Sequence[Path], plan: ResamplingPlan) -> Measurement:
    from eval.synthlink.measurement import measure_runs

    return measure_runs(folders, plan)


def _build_section(folder: Path, id_: str) -> Section | None:
    from eval.synthlink.blocks.section import build_section

    return build_section(folder, id_) if (folder / MANIFEST_FILE).is_file() else None


SYNTHLINK: Final = Benchmark(
    name="synthlink",
    command=COMMAND,
    nouns=("question", "system"),
    read_reply=read_trail,
    row_type=SynthLinkRow,
    row_key=get_row_key,
    score=score_reply,
    outcomes=OUTCOMES,
    manifest_type=RunManifest,
    fixed_fields=FIXED_FIELDS,
    read_items=_read_items,
    rows_file=ROWS,
    manifest_file=RUN_MANIFEST,
    output_files=OUTPUT_FILES,
    write_outputs=_write_outputs,
    hash_dataset=_hash_dataset,
    scores_kind=MANIFEST_KIND,
    scores_files=(SCORES_JSON, ANSWERS_FILE),
    build_section=_build_section,
    measure=_measure,
)
