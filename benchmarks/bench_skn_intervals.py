"""Compares intervals of 18 statistics from one resample matrix with a loop for each statistic.

    python benchmarks/bench_skn_intervals.py --samples 10000

The statistics are those that the published SKN benchmark resamples: accuracy, normalised
hallucination and groundedness of its six pipelines. The rival is that benchmark's loop, which calls
``choice`` and ``mean`` a thousand times for each statistic. It is compared with the functions that
``epoche skn run`` uses. Both use the same arrays and the same random stream, so means, bounds and
deviations must agree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from eval.skn.formats.pipelines import ABLATION_PIPELINES
from eval.stats.bootstrap import ClusterResamples, Floats, ResampledCounts, compute_resampled_sums
from eval.stats.estimates import compute_ratios

SEED, RESAMPLES = 42, 1000
STATISTICS = ("accuracy", "normalized_hallucination", "groundedness")
MIN_SPEEDUP = 5.0


def make_table(samples: int) -> Floats:
    """Makes random values, one column per statistic and pipeline: yes/no values and shares."""
    rng = np.random.default_rng(7)
    columns = []
    for index, _ in enumerate(ABLATION_PIPELINES):
        columns.append((rng.random(samples) < 0.6 + 0.05 * index).astype(np.float64))
        claims = rng.integers(1, 9, samples)
        columns.append(rng.binomial(claims, 0.15) / claims)
        columns.append(np.round(rng.beta(8, 2, samples), 2))
    return np.column_stack(columns)


def compute_by_loop(table: Floats) -> Floats:
    """Computes mean, interval bounds and deviation of each column, one resample at a time."""
    rows = []
    for column in table.T:
        values = column.copy()
        rng = np.random.default_rng(SEED)
        means = np.array(
            [rng.choice(values, size=len(values), replace=True).mean() for _ in range(RESAMPLES)]
        )
        low, high = np.percentile(means, [2.5, 97.5])
        rows.append([values.mean(), low, high, means.std()])
    return np.array(rows)


def compute_by_matrix(table: Floats) -> Floats:
    """Makes one resample matrix and computes the same numbers from it."""
    samples, width = table.shape
    resamples = ClusterResamples(samples, RESAMPLES, SEED)
    columns = np.column_stack([table, np.ones(samples)])
    numerators, denominators = np.eye(width, width + 1), np.zeros((width, width + 1))
    denominators[:, -1] = 1.0
    ratios = compute_ratios(
        ResampledCounts(columns, compute_resampled_sums(columns, resamples)),
        numerators,
        denominators,
    )
    low, high = ratios.compute_quantiles([0.025, 0.975])
    return np.column_stack([ratios.values, low, high, ratios.replicates.std(axis=0)])


def time_fastest_run(
    compute: Callable[[Floats], Floats], table: Floats, runs: int
) -> tuple[float, Floats]:
    """Returns the CPU seconds of the fastest run, and its result."""
    best, result = float("inf"), np.zeros(0)
    for _ in range(runs):
        start = time.process_time()
        result = compute(table)
        best = min(best, time.process_time() - start)
    return best, result


def main() -> None:
    """Times both; fails if the numbers differ or the matrix is less than five times as fast."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3, help="runs of each; the fastest counts")
    args = parser.parse_args()
    table = make_table(args.samples)
    our_seconds, intervals = time_fastest_run(compute_by_matrix, table, args.runs)
    rival_seconds, expected = time_fastest_run(compute_by_loop, table, args.runs)
    if not np.allclose(intervals, expected, rtol=0, atol=1e-11):
        raise SystemExit(f"the numbers differ by up to {np.abs(intervals - expected).max():.2g}")
    count = table.shape[1]
    print(
        f"{count} statistics ({len(STATISTICS)} of {len(ABLATION_PIPELINES)} pipelines), "
        f"{args.samples} samples, {RESAMPLES} resamples, seed {SEED}"
    )
    print(f"a loop for each statistic: {1000 * rival_seconds:.0f} ms CPU")
    print(
        f"one matrix for all:        {1000 * our_seconds:.0f} ms CPU, "
        f"{rival_seconds / our_seconds:.1f} x faster"
    )
    print(f"largest difference of any number: {np.abs(intervals - expected).max():.1g}")
    if rival_seconds / our_seconds < MIN_SPEEDUP:
        raise SystemExit(f"less than {MIN_SPEEDUP:g} x")


if __name__ == "__main__":
    main()
