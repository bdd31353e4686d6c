"""Describes the benchmark of multi-hop questions to the harness."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from eval.harness.benchmark import Benchmark
from eval.synthlink.row import OUTCOMES, SynthLinkRow, get_row_key
from eval.synthlink.run_files import OUTPUT_FILES, ROWS, RUN_MANIFEST
from eval.synthlink.run_manifest import COMMAND, FIXED_FIELDS, RunManifest


def _write_outputs(folder: Path) -> None:
    from eval.synthlink.prediction_writer import write_predictions

    write_predictions(folder)


SYNTHLINK: Final = Benchmark(
    name="synthlink",
    command=COMMAND,
    nouns=("question", "system"),
    row_type=SynthLinkRow,
    row_key=get_row_key,
    outcomes=OUTCOMES,
    manifest_type=RunManifest,
    fixed_fields=FIXED_FIELDS,
    rows_file=ROWS,
    manifest_file=RUN_MANIFEST,
    output_files=OUTPUT_FILES,
    write_outputs=_write_outputs,
)
