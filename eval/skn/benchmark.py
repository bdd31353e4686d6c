"""Describes the comparison of SKN and JSON to the harness."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from eval.blocks.section import Section
from eval.harness.benchmark import Benchmark
from eval.metrics.measurement import Measurement, ResamplingPlan
from eval.skn.files import MANIFEST, METRICS, OUTPUT_FILES, ROWS, SAMPLES, SOURCES
from eval.skn.items import Sample, read_samples
from eval.skn.manifest import COMMAND, FIXED_FIELDS, SknManifest
from eval.skn.row import SknRow
from eval.skn.row_builder import COUNTED, get_row_key, score_reply
from eval.skn.systems.view import read_answer
from kg.base.files import sha256_file


def _read_items(folder: Path, _manifest: SknManifest) -> list[Sample]:
    return read_samples(folder / SAMPLES)


def _hash_dataset(folder: Path, manifest: SknManifest) -> str | None:
    dataset = folder / manifest.dataset
    if not dataset.is_file():
        return None
    samples = read_samples(dataset)
    asked = [samples[number] for number in manifest.layout.asked_items if number < len(samples)]
    # Rows are computed from the samples in the folder, so these must be those of the data set.
    is_same = asked == list(_read_items(folder, manifest))
    return sha256_file(dataset if is_same else folder / SAMPLES)


def _write_outputs(folder: Path) -> None:
    from eval.skn.outputs import write_outputs

    write_outputs(folder)


def _measure(folders: Sequence[Path], plan: ResamplingPlan) -> Measurement:
    from eval.skn.measurement import measure_runs

    return measure_runs(folders, plan)


def _build_section(folder: Path, id_: str) -> Section:
    from eval.skn.blocks.section import build_section

    return build_section(folder, id_)


SKN: Final = Benchmark(
    name="skn",
    command=COMMAND,
    nouns=("sample", "pipeline"),
    read_reply=read_answer,
    row_type=SknRow,
    row_key=get_row_key,
    score=score_reply,
    outcomes=COUNTED,
    manifest_type=SknManifest,
    fixed_fields=FIXED_FIELDS,
    read_items=_read_items,
    rows_file=ROWS,
    manifest_file=MANIFEST,
    item_files=(SAMPLES, SOURCES),
    output_files=OUTPUT_FILES,
    write_outputs=_write_outputs,
    hash_dataset=_hash_dataset,
    measure=_measure,
    computed_records=((METRICS, "report"),),
    build_section=_build_section,
)
