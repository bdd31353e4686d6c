"""Writes folders of finished extraction runs with simulated replies and real scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from extraction_outputs import Skill, load_shipped_samples, simulate_rows

from eval.extraction.files import MANIFEST, SAMPLES
from eval.extraction.manifest import ExtractionManifest, ReportSettings
from eval.extraction.outputs import write_outputs
from eval.extraction.row import ROWS, ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.settings import Matching
from kg.base.files import write_json_atomic, write_jsonl_atomic

SYSTEMS = {
    "local/llama-3-8b": Skill(slip=0.06),
    "local/mistral-7b": Skill(
        slip=0.07, extra=0.01, unparsable=0.04, seconds=0.4, price=4e-7, constrained=False
    ),
}


def write_run_folder(
    folder: Path,
    systems: Mapping[str, Skill] | None = None,
    samples: Sequence[Sample] | None = None,
    *,
    count: int | None = 24,
    repeats: int = 1,
    **manifest_fields: Any,
) -> Path:
    """Writes a run of these systems on these samples, by default ``count`` of the shipped ones."""
    samples = load_shipped_samples(count) if samples is None else samples
    systems = SYSTEMS if systems is None else systems
    rows = [
        row
        for name, skill in systems.items()
        for row in simulate_rows(samples, name, skill, repeats=repeats)
    ]
    return write_result_folder(folder, samples, rows, repeats=repeats, **manifest_fields)


def write_result_folder(
    folder: Path,
    samples: Sequence[Sample],
    rows: Sequence[ExtractionRow],
    *,
    repeats: int = 1,
    resamples: int = 100,
    **manifest_fields: Any,
) -> Path:
    """Writes a run with these rows; ``manifest_fields`` are other fields of its manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    systems = tuple(dict.fromkeys(row.system for row in rows))
    manifest = msgspec.structs.replace(
        ExtractionManifest(
            rows=ROWS,
            samples=SAMPLES,
            dataset="shipped",
            dataset_sha256="0" * 64,
            sample_count=len(samples),
            repeats=repeats,
            systems=systems,
            offline=False,
            extractors={name: {"model": name, "temperature": 0.0} for name in systems},
            prompts={"system": "You are a precise data extraction assistant.", "user": "{text}"},
            matching=Matching(),
            seed=42,
            measuring=ReportSettings(resamples=resamples),
            started="2026-01-01T00:00:00+00:00",
            ended="2026-01-01T00:10:00+00:00",
            status="complete",
        ),
        **manifest_fields,
    )
    write_json_atomic(folder / MANIFEST, manifest)
    write_jsonl_atomic(folder / SAMPLES, map(_to_sample_row, samples))
    write_jsonl_atomic(folder / ROWS, rows)
    write_outputs(folder)
    return folder


def _to_sample_row(sample: Sample) -> dict[str, Any]:
    row = msgspec.structs.asdict(sample)
    row["expected_output"] = row.pop("expected")
    return row
