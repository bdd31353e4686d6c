"""Describes the benchmark of structured extraction to the harness."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from eval.extraction.manifest import COMMAND, FIXED_FIELDS, ExtractionManifest
from eval.extraction.row import OUTCOMES, ROWS, ExtractionRow
from eval.extraction.row_builder import get_row_key
from eval.extraction.run_files import MANIFEST, OUTPUT_FILES, SAMPLES
from eval.harness.benchmark import Benchmark


def _write_outputs(folder: Path) -> None:
    from eval.extraction.outputs import write_outputs

    write_outputs(folder)


EXTRACTION: Final = Benchmark(
    name="extraction",
    command=COMMAND,
    nouns=("sample", "system"),
    row_type=ExtractionRow,
    row_key=get_row_key,
    outcomes=OUTCOMES,
    manifest_type=ExtractionManifest,
    fixed_fields=FIXED_FIELDS,
    rows_file=ROWS,
    manifest_file=MANIFEST,
    item_files=(SAMPLES,),
    output_files=OUTPUT_FILES,
    write_outputs=_write_outputs,
)
