"""Writes the output files of a finished run: the six files of the published benchmark.

They are computed from the rows, samples and searches alone, in a fixed order and without clock
times, so that a resumed run writes the same bytes as an uninterrupted one. All are written to
temporary files before the first one replaces an existing file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from eval.skn.judges.agreement import measure_agreement
from eval.skn.metrics import MeasurementPlan, calculate_metrics, compute_efficiency, measure_run
from eval.skn.published.wide_rows import WideRows
from eval.skn.running.anchoring import ANCHORS, read_anchors
from eval.skn.running.manifest import NAME as MANIFEST
from eval.skn.running.manifest import SknManifest, round_trip_json
from eval.skn.running.output_files import (
    DETAILS,
    EXTRACTIONS,
    METRICS,
    OUTPUTS,
    RESPONSES,
    SEARCHES,
    SUMMARY,
)
from eval.skn.running.row import ROWS, read_rows
from eval.skn.running.run import Done
from eval.skn.running.searching import RECORDED
from eval.skn.scoring.record import Mode, SknReport
from eval.skn.summary import render_summary
from kg.base.files import to_json_bytes, write_files_atomic


def list_output_paths(folder: Path) -> list[Path]:
    """Returns the paths of all files that a run in ``folder`` writes, except cache and report."""
    return [folder / name for name in (ROWS, ANCHORS, MANIFEST, RECORDED, *OUTPUTS)]


def write_outputs(finished_run: Done, *, resamples: int = 2000) -> tuple[dict[str, Any], SknReport]:
    """Computes the metrics of a finished run and writes its output files.

    Args:
        finished_run: what the run returned.
        resamples: bootstrap resamples of the intervals.

    Returns:
        The content of ``metrics.json`` as JSON values, and its report as a typed record.

    Raises:
        WriteError: a file cannot be written; all files are then left unchanged.
    """
    manifest = finished_run.manifest
    rows = list(read_rows(finished_run.folder / ROWS))
    plan = MeasurementPlan(
        resamples=resamples,
        seed=manifest.seed,
        same_judge=manifest.same_judge,
        by_rules=manifest.offline,
    )
    row_verdicts = (row.verdicts for row in rows if row.verdicts is not None)
    judge_agreement = measure_agreement(row_verdicts, read_anchors(finished_run.folder / ANCHORS))
    mode: Mode = "published" if manifest.mode == "as-published" else "corrected"
    measured_report = measure_run(rows, plan, agreement=judge_agreement, mode=mode)
    report = msgspec.structs.replace(
        measured_report, notes=(*_list_run_notes(manifest), *measured_report.notes)
    )
    wide_rows = WideRows(finished_run.samples, finished_run.found, rows, manifest.pipelines)
    details = wide_rows.build_details()
    seed_keys = calculate_metrics(details, list(manifest.pipelines), mode=mode)
    costs = compute_efficiency(rows, mode=mode)
    metrics: dict[str, Any] = {
        **{name: {**seed_keys[name], **costs["pipelines"][name]} for name in manifest.pipelines},
        "efficiency": costs["efficiency"],
        "report": report,
    }
    json_files = {
        SEARCHES: wide_rows.build_searches(),
        EXTRACTIONS: wide_rows.build_extractions(),
        RESPONSES: wide_rows.build_responses(),
        DETAILS: details,
        METRICS: metrics,
    }
    contents = {
        finished_run.folder / name: to_json_bytes(value, indent=2) + b"\n"
        for name, value in json_files.items()
    }
    contents[finished_run.folder / SUMMARY] = render_summary(
        manifest, report, metrics, rows
    ).encode()
    write_files_atomic(contents)
    return round_trip_json(metrics), report


def _list_run_notes(manifest: SknManifest) -> Iterator[str]:
    """Yields the notes on how the run was made that belong next to its numbers."""
    if manifest.offline:
        yield (
            "No model was called: rules extracted, answered and judged. The run measures which "
            "information a format keeps or drops, not how well a model works with the format."
        )
    if manifest.mode == "as-published":
        yield (
            "As published, the formats differ in more than notation: only SKN has a length limit "
            "and an order of importance, JSON must not infer anything, is passed on "
            "pretty-printed and is requested in JSON mode, and the model judges its own answers."
        )
    elif manifest.setting.get("constrained"):
        yield (
            "The server may have constrained JSON replies to their schema (--constrained), which "
            "it cannot do for SKN. The shares of readable replies are therefore not comparable."
        )
