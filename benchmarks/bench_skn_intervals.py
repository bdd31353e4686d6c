"""Compares intervals of 18 statistics from one resample matrix with a loop for each statistic.

    python benchmarks/bench_skn_intervals.py --samples 10000

The statistics are those that the published benchmark resamples: accuracy, normalised hallucination
and groundedness of its six pipelines. The rival is the loop of that benchmark: ``choice`` and
``mean`` a thousand times for each statistic. Ours are the functions that ``epoche skn run`` uses.
Both use the same arrays and the same random stream, so means, bounds and deviations must agree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from eval.skn.pipelines import ABLATION_PIPELINES
from eval.stats.bootstrap import ClusterResamples, Floats, ResampledCounts, compute_resampled_sums
from eval.stats.estimates import compute_ratios

SEED, RESAMPLES = 42, 1000
STATISTICS = ("accuracy", "normalized_hallucination", "groundedness")
MIN_SPEEDUP = 5.0


def make_table(samples: int) -> Floats:
    """Makes random values, one column per statistic and pipeline: yes/no values and shares."""
    rng = np.random.default_rng(7)
    columns = []
    for place, _ in enumerate(ABLATION_PIPELINES):
        columns.append((rng.random(samples) < 0.6 + 0.05 * place).astype(np.float64))
        claims = rng.integers(1, 9, samples)
        columns.append(rng.binomial(claims, 0.15) / claims)
        columns.append(np.round(rng.beta(8, 2, samples), 2))
    return np.column_stack(columns)


def loop_intervals(table: Floats) -> Floats:
    """Computes mean, interval bounds and deviation of each column, one resample at a time."""
    found = []
    for column in table.T:
        values = column.copy()
        rng = np.random.default_rng(SEED)
        means = np.array(
            [rng.choice(values, size=len(values), replace=True).mean() for _ in range(RESAMPLES)]
        )
        low, high = np.percentile(means, [2.5, 97.5])
        found.append([values.mean(), low, high, means.std()])
    return np.array(found)


def matrix_intervals(table: Floats) -> Floats:
    """Computes the same numbers from one resample matrix, whose making is timed too."""
    samples, width = table.shape
    draws = ClusterResamples(samples, RESAMPLES, SEED)
    counted = np.column_stack([table, np.ones(samples)])
    tops, bottoms = np.eye(width, width + 1), np.zeros((width, width + 1))
    bottoms[:, -1] = 1.0
    spread = compute_ratios(
        ResampledCounts(counted, compute_resampled_sums(counted, draws)), tops, bottoms
    )
    low, high = spread.compute_quantiles([0.025, 0.975])
    return np.column_stack([spread.values, low, high, spread.replicates.std(axis=0)])


def time_quickest(
    work: Callable[[Floats], Floats], table: Floats, runs: int
) -> tuple[float, Floats]:
    """Returns the CPU seconds of the fastest run, and its result."""
    best, found = float("inf"), np.zeros(0)
    for _ in range(runs):
        start = time.process_time()
        found = work(table)
        best = min(best, time.process_time() - start)
    return best, found


def main() -> None:
    """Times both; fails if the numbers differ or ours is less than five times as fast."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3, help="runs of each; the fastest counts")
    args = parser.parse_args()
    table = make_table(args.samples)
    our_seconds, intervals = time_quickest(matrix_intervals, table, args.runs)
    rival_seconds, expected = time_quickest(loop_intervals, table, args.runs)
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
