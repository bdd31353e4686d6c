"""Measures time and memory of an extraction report, and compares its intervals with a plain loop.

    python benchmarks/bench_extraction_report.py --samples 100000

Samples of twenty fields, a quarter of them wrong, are scored and collected as a stream; then every
metric and breakdown is computed with its interval. The rival is the loop in section 4.5.6 of the
benchmark's specification (see docs/reference/extraction-checklist.md), which computes the interval
of one mean of per-sample values by calling ``choice`` and ``mean`` once per resample. It does not
support ratios of sums, BCa or breakdowns, and must run once for each number. All times are CPU
times; BLAS is limited to one thread.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import msgspec
import numpy as np
from extraction_load import make_samples

from eval.extraction.aggregate import MeasurementPlan, build_report
from eval.extraction.metrics.system_rows import collect_rows
from eval.extraction.row import ExtractionRow
from eval.extraction.scorer import score_sample


def make_rows(count: int) -> Iterator[ExtractionRow]:
    """Yields one scored row per sample."""
    for number, (sample, predicted) in enumerate(make_samples(count)):
        score = score_sample(sample, predicted).score
        yield ExtractionRow(
            id=sample.id,
            system="m",
            outcome="OK" if score.valid else "INVALID",
            predicted=predicted,
            latency_s=0.5 + number % 997 / 500,
            at_s=float(number),
            input_chars=len(sample.text),
            output_chars=200,
            score=score,
        )


def count_intervals(value: Any) -> int:
    """Counts the intervals in a report, at any depth."""
    if isinstance(value, dict):
        is_interval = value.get("low") is not None and value.get("method") not in (None, "none")
        return int(is_interval) + sum(count_intervals(child) for child in value.values())
    return sum(map(count_intervals, value)) if isinstance(value, list | tuple) else 0


def time_loop(count: int, resamples: int) -> float:
    """Returns the CPU seconds of one interval by the specification's loop."""
    rng = np.random.default_rng(1)
    scores = rng.random(count)
    start = time.process_time()
    means = [np.mean(rng.choice(scores, size=count, replace=True)) for _ in range(resamples)]
    np.percentile(means, [2.5, 97.5])
    return time.process_time() - start


def main() -> None:
    """Scores samples and builds the report; prints seconds and memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=10_000)
    flags = parser.parse_args()
    plan = MeasurementPlan()
    start = time.process_time()
    scored_rows = collect_rows(make_rows(flags.samples))
    collect_end = time.process_time()
    report = build_report(scored_rows, plan)
    report_end = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    interval_count = count_intervals(msgspec.to_builtins(report))
    loop_seconds = time_loop(flags.samples, plan.resamples)
    all_seconds = loop_seconds * interval_count
    print(
        f"{flags.samples:,} samples: made, scored and collected in "
        f"{collect_end - start:.1f} s of CPU"
    )
    print(
        f"  report: {report_end - collect_end:.1f} s, {interval_count:,} intervals of "
        f"{plan.resamples:,} resamples"
    )
    print(f"  peak memory of all: {peak:,.0f} MiB")
    print(
        f"  one interval by the loop: {loop_seconds:.2f} s, all of them {all_seconds:,.0f} s: "
        f"{all_seconds / (report_end - collect_end):,.0f} x the time"
    )


if __name__ == "__main__":
    main()
