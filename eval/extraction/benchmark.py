"""Describes the benchmark of structured extraction to the harness."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from eval.blocks.section import Section
from eval.extraction.files import COMPARISON, MANIFEST, METRICS, OUTPUT_FILES, SAMPLES
from eval.extraction.manifest import COMMAND, FIXED_FIELDS, ExtractionManifest
from eval.extraction.row import OUTCOMES, ROWS, ExtractionRow
from eval.extraction.row_builder import get_row_key, score_reply
from eval.extraction.samples.sample import Sample
from eval.extraction.view import read_extraction
from eval.harness.benchmark import Benchmark
from eval.metrics.measurement import Measurement, ResamplingPlan


def _read_items(folder: Path, manifest: ExtractionManifest) -> list[Sample]:
    from eval.extraction.samples.sample_rows import read_samples

    return list(read_samples(folder / manifest.samples))


def _hash_dataset(folder: Path, manifest: ExtractionManifest) -> str | None:
    from eval.extraction.samples.sample_rows import hash_samples

    samples = _read_items(folder, manifest)
    # The folder has the samples that were asked, which are not all with a limit or a shard.
    return hash_samples(samples) if len(samples) == manifest.sample_count else None


def _write_outputs(folder: Path) -> None:
    from eval.extraction.outputs import write_outputs

    write_outputs(folder)


def _measure(folders: Sequence[Path], plan: ResamplingPlan) -> Measurement:
    from eval.extraction.measurement import measure_runs

    return measure_runs(folders, plan)


def _build_section(folder: Path, id_: str) -> Section:
    from eval.extraction.blocks.section import build_section

    return build_section(folder, id_)


EXTRACTION: Final = Benchmark(
    name="extraction",
    command=COMMAND,
    nouns=("sample", "system"),
    read_reply=read_extraction,
    row_type=ExtractionRow,
    row_key=get_row_key,
    score=score_reply,
    outcomes=OUTCOMES,
    manifest_type=ExtractionManifest,
    fixed_fields=FIXED_FIELDS,
    read_items=_read_items,
    rows_file=ROWS,
    manifest_file=MANIFEST,
    item_files=(SAMPLES,),
    output_files=OUTPUT_FILES,
    write_outputs=_write_outputs,
    hash_dataset=_hash_dataset,
    measure=_measure,
    computed_records=((METRICS, "report"), (COMPARISON, "")),
    build_section=_build_section,
)
