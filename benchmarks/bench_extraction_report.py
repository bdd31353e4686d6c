"""From extractions to the report: seconds and peak memory, and its intervals against a plain loop.

    python benchmarks/bench_extraction_report.py --samples 100000

Samples of twenty fields, a quarter of them wrong, are scored and gathered as a stream; then every
metric and breakdown is measured with its interval. The rival is the specification's own interval
(4.5.6): for one mean of per-sample values as often ``choice`` and ``mean`` as there are resamples.
It knows nothing of ratios of sums, BCa or breakdowns, and has to be run once for each number. CPU
time; BLAS keeps to one thread.
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
from extraction_load import samples

from eval.extraction.aggregate import Plan, report_of
from eval.extraction.measuring.gathering import gather
from eval.extraction.row import ExtractionRow
from eval.extraction.scoring import score


def rows(count: int) -> Iterator[ExtractionRow]:
    """A row a sample, scored."""
    for number, (sample, predicted) in enumerate(samples(count)):
        found = score(sample, predicted).score
        yield ExtractionRow(
            id=sample.id,
            system="m",
            outcome="OK" if found.valid else "INVALID",
            predicted=predicted,
            latency_s=0.5 + number % 997 / 500,
            at_s=float(number),
            input_chars=len(sample.text),
            output_chars=200,
            score=found,
        )


def intervals(value: Any) -> int:
    """How many intervals a report holds, wherever they stand."""
    if isinstance(value, dict):
        here = value.get("low") is not None and value.get("method") not in (None, "none")
        return int(here) + sum(intervals(inner) for inner in value.values())
    return sum(map(intervals, value)) if isinstance(value, list | tuple) else 0


def looped(count: int, resamples: int) -> float:
    """CPU seconds of one interval by the specification's loop."""
    rng = np.random.default_rng(1)
    scores = rng.random(count)
    start = time.process_time()
    means = [np.mean(rng.choice(scores, size=count, replace=True)) for _ in range(resamples)]
    np.percentile(means, [2.5, 97.5])
    return time.process_time() - start


def main() -> None:
    """Scores, gathers, measures, and prints what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=10_000)
    given = parser.parse_args()
    plan = Plan()
    start = time.process_time()
    gathered = gather(rows(given.samples))
    read = time.process_time()
    report = report_of(gathered, plan)
    ended = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = intervals(msgspec.to_builtins(report))
    each = looped(given.samples, plan.resamples)
    print(f"{given.samples:,} samples: made, scored and gathered in {read - start:.1f} s of CPU")
    print(f"  report: {ended - read:.1f} s, {found:,} intervals of {plan.resamples:,} resamples")
    print(f"  peak memory of all: {peak:,.0f} MiB")
    print(
        f"  one interval by the loop: {each:.2f} s, all of them {each * found:,.0f} s: "
        f"{each * found / (ended - read):,.0f} x the time"
    )


if __name__ == "__main__":
    main()
