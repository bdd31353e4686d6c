"""Describes the benchmark of retrieval to the harness."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from eval.harness.benchmark import Benchmark
from eval.metrics.measurement import Measurement, ResamplingPlan
from eval.retrieval_eval.files import ITEMS, MANIFEST, OUTPUT_FILES, ROWS
from eval.retrieval_eval.items import RetrievalItem, hash_items, read_items
from eval.retrieval_eval.manifest import COMMAND, FIXED_FIELDS, RetrievalManifest
from eval.retrieval_eval.row import OUTCOMES, RetrievalRow, get_row_key
from eval.retrieval_eval.row_builder import score_reply
from eval.retrieval_eval.systems.view import read_ranking


def _read_items(folder: Path, manifest: RetrievalManifest) -> Sequence[RetrievalItem]:
    return read_items(folder / manifest.items)


def _hash_dataset(folder: Path, manifest: RetrievalManifest) -> str | None:
    items = read_items(folder / manifest.items)
    return hash_items(items) if len(items) == manifest.sample_count else None


def _write_outputs(folder: Path) -> None:
    from eval.retrieval_eval.outputs import write_outputs

    write_outputs(folder)


def _measure(folders: Sequence[Path], plan: ResamplingPlan) -> Measurement:
    from eval.retrieval_eval.measurement import measure_runs

    return measure_runs(folders, plan)


RETRIEVAL: Final = Benchmark(
    name="retrieval",
    command=COMMAND,
    nouns=("question", "retriever"),
    read_reply=read_ranking,
    row_type=RetrievalRow,
    row_key=get_row_key,
    score=score_reply,
    outcomes=OUTCOMES,
    manifest_type=RetrievalManifest,
    fixed_fields=FIXED_FIELDS,
    read_items=_read_items,
    rows_file=ROWS,
    manifest_file=MANIFEST,
    item_files=(ITEMS,),
    output_files=OUTPUT_FILES,
    write_outputs=_write_outputs,
    hash_dataset=_hash_dataset,
    measure=_measure,
)
"""A run checks ids too, with a ``read_reply`` that knows its corpus."""
