"""The files of a finished run: the published benchmark's six, made from the rows.

They hold nothing that the rows, samples and searches do not, no clock and no order but theirs; so
a run that was cut off and taken up again writes the same bytes as one that was not. All are on
disk before the first takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from eval.skn.judges.agreement import agreement
from eval.skn.metrics import Plan, calculate_metrics, efficiency, measure
from eval.skn.published.wide_rows import WideRows
from eval.skn.running.anchoring import ANCHORS, read_anchors
from eval.skn.running.manifest import NAME as MANIFEST
from eval.skn.running.manifest import SknManifest, as_stored
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
from eval.skn.summary import summary
from kg.base.files import to_json_bytes, write_files_atomic


def written_by(folder: Path) -> list[Path]:
    """Every file that a run in ``folder`` writes, but for a cache and a page."""
    return [folder / name for name in (ROWS, ANCHORS, MANIFEST, RECORDED, *OUTPUTS)]


def write_outputs(done: Done, *, resamples: int = 2000) -> tuple[dict[str, Any], SknReport]:
    """Measures a finished run and writes its files.

    Args:
        done: the run.
        resamples: bootstrap resamples of the intervals.

    Returns:
        What ``metrics.json`` holds, and the report in it with its types.

    Raises:
        WriteError: one cannot be written; every file is then as it was.
    """
    manifest = done.manifest
    rows = list(read_rows(done.folder / ROWS))
    plan = Plan(
        resamples=resamples,
        seed=manifest.seed,
        same_judge=manifest.same_judge,
        by_rules=manifest.offline,
    )
    judged = (row.verdicts for row in rows if row.verdicts is not None)
    trust = agreement(judged, read_anchors(done.folder / ANCHORS))
    mode: Mode = "published" if manifest.mode == "as-published" else "corrected"
    measured = measure(rows, plan, agreement=trust, mode=mode)
    report = msgspec.structs.replace(measured, notes=(*_notes(manifest), *measured.notes))
    wide = WideRows(done.samples, done.found, rows, manifest.pipelines)
    details = wide.details()
    seed_keys = calculate_metrics(details, list(manifest.pipelines), mode=mode)
    spent = efficiency(rows, mode=mode)
    metrics: dict[str, Any] = {
        **{name: {**seed_keys[name], **spent["pipelines"][name]} for name in manifest.pipelines},
        "efficiency": spent["efficiency"],
        "report": report,
    }
    json_files = {
        SEARCHES: wide.searches(),
        EXTRACTIONS: wide.extractions(),
        RESPONSES: wide.responses(),
        DETAILS: details,
        METRICS: metrics,
    }
    contents = {
        done.folder / name: to_json_bytes(value, indent=2) + b"\n"
        for name, value in json_files.items()
    }
    contents[done.folder / SUMMARY] = summary(manifest, report, metrics, rows).encode()
    write_files_atomic(contents)
    return as_stored(metrics), report


def _notes(manifest: SknManifest) -> Iterator[str]:
    """What every reader of the numbers must know of how the run was made."""
    if manifest.offline:
        yield (
            "No model was called: rules extracted, answered and judged. The run measures what "
            "information a format keeps or drops, and says nothing about how a model fares with it."
        )
    if manifest.mode == "as-published":
        yield (
            "As published, the formats differ in more than notation: SKN alone has a length cap "
            "and an order of importance, JSON may infer nothing, goes on pretty-printed and is "
            "asked for in JSON mode, and the model judges its own answers."
        )
    elif manifest.setting.get("constrained"):
        yield (
            "The server may have constrained the replies that are JSON to their form "
            "(--constrained), which it cannot do for SKN: how often each can be read is not "
            "compared on equal terms."
        )
