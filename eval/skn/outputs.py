"""Writes the output files of a finished run: those of the published benchmark, and a table.

They are computed from the rows, samples and searches alone, in a fixed order and without clock
times, so that a resumed run writes the same bytes as an uninterrupted one. All are written to
temporary files before the first one replaces an existing file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from eval.harness.reply import VOTES
from eval.harness.resume import round_trip_json
from eval.metrics.record_digest import add_digest
from eval.skn.files import (
    CATEGORIES,
    DETAILS,
    EXTRACTIONS,
    MANIFEST,
    METRICS,
    RESPONSES,
    SAMPLES,
    SEARCHES,
    SOURCES,
    SUMMARY,
)
from eval.skn.items import read_samples
from eval.skn.judges.agreement import measure_agreement
from eval.skn.judging.judge import read_anchors
from eval.skn.manifest import SknManifest, read_manifest
from eval.skn.metrics import MeasurementPlan, calculate_metrics, compute_efficiency, measure_run
from eval.skn.published.seed_keys import remove_withheld_keys
from eval.skn.published.wide_rows import NOBODY, WideRows
from eval.skn.row import read_rows
from eval.skn.scoring.metric_definitions import NOT_JUDGED_NOTE, VERDICT_METRICS
from eval.skn.scoring.record import Mode, SknReport
from eval.skn.search_source import read_sources
from eval.skn.summary import render_summary
from kg.base.csv_text import to_csv
from kg.base.files import sha256_file, to_json_bytes, write_files_atomic


def write_outputs(folder: Path) -> tuple[dict[str, Any], SknReport]:
    """Computes the metrics of a finished run and writes its output files.

    Args:
        folder: folder of the run.

    Returns:
        The content of ``metrics.json`` as JSON values, and its report as a typed record.

    Raises:
        MissingFileError, RecordError: a file of the run is missing or damaged.
        WriteError: a file cannot be written; all files are then left unchanged.
    """
    manifest = read_manifest(folder / MANIFEST)
    rows = list(read_rows(folder / manifest.rows))
    plan = MeasurementPlan(
        resamples=manifest.n_resamples,
        seed=manifest.seed,
        same_judge=manifest.same_judge,
        unjudged=frozenset() if manifest.is_judged else frozenset(manifest.pipelines),
    )
    judge_agreement = None
    if manifest.is_judged:
        row_verdicts = (row.verdicts for row in rows if row.verdicts is not None)
        judge_agreement = measure_agreement(row_verdicts, read_anchors(folder / VOTES))
    mode: Mode = "published" if manifest.mode == "as-published" else "corrected"
    measured_report = measure_run(rows, plan, agreement=judge_agreement, mode=mode)
    report = add_digest(
        msgspec.structs.replace(
            measured_report,
            notes=(*_list_run_notes(manifest), *measured_report.notes),
            rows_sha256=sha256_file(folder / manifest.rows),
        )
    )
    wide_rows = WideRows(
        read_samples(folder / SAMPLES),
        list(read_sources(folder / SOURCES)),
        rows,
        manifest.pipelines,
        answered_by=manifest.model,
        judged_by=manifest.judge_model if manifest.is_judged else NOBODY,
    )
    details = wide_rows.build_details()
    withheld = frozenset() if manifest.is_judged else VERDICT_METRICS
    seed_keys = {
        name: remove_withheld_keys(keys, withheld)
        for name, keys in calculate_metrics(details, list(manifest.pipelines), mode=mode).items()
    }
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
        folder / name: to_json_bytes(value, indent=2) + b"\n" for name, value in json_files.items()
    }
    contents[folder / SUMMARY] = render_summary(manifest, report, metrics, rows).encode()
    contents[folder / CATEGORIES] = _render_categories(report, withheld).encode()
    write_files_atomic(contents)
    return round_trip_json(metrics), report


def _render_categories(report: SknReport, withheld: Collection[str]) -> str:
    """Renders every metric that is given by category and pipeline as CSV."""
    head = ("category", "pipeline", "metric", "value", "low", "high", "method", "n", "missing")

    def iter_rows() -> Iterator[tuple[object, ...]]:
        for category in report.categories:
            for name, pipeline in report.pipelines.items():
                for metric, value in pipeline.per_category.get(category, {}).items():
                    if metric in withheld:
                        continue
                    cells = (value.value, value.low, value.high, value.method)
                    yield (category, name, metric, *cells, value.n, value.missing)

    return to_csv(head, iter_rows())


def _list_run_notes(manifest: SknManifest) -> Iterator[str]:
    """Yields the notes on how the run was made that belong next to its numbers."""
    if isinstance(manifest.replies_of, str):
        yield (
            f"The replies are those of {manifest.replies_of}; "
            f"{manifest.judge_model or 'a model'} judged them again, and no pipeline was asked."
        )
    if isinstance(manifest.results_of, str):
        yield (
            f"Answers and verdicts are those of {manifest.results_of}; nothing was asked, and the "
            "metrics were computed again."
        )
        if manifest.is_judged and manifest.judge_model is None:
            yield (
                "The results do not say who judged. In the published benchmark it is the model "
                "that answered, which may favour its own answers."
            )
    if not manifest.is_judged:
        yield NOT_JUDGED_NOTE
    if empty := manifest.search.get("empty"):
        yield (
            f"Replayed searches with an empty text: {empty}. The published benchmark writes one "
            "for a failed search too, so these samples may have had no search at all."
        )
    if manifest.mode == "as-published":
        yield (
            "As published, the formats differ in more than notation: only SKN has a length limit "
            "and an order of importance, JSON must not infer anything, is passed on "
            "pretty-printed and is requested in JSON mode"
            + (", and the model judges its own answers." if manifest.same_judge else ".")
        )
    elif manifest.setting.get("constrained"):
        yield (
            "The server may have constrained JSON replies to their schema (--constrained), which "
            "it cannot do for SKN. The shares of readable replies are therefore not comparable."
        )
