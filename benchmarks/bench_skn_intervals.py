"""Intervals of 18 statistics from one resample matrix, against a loop for each statistic.

    python benchmarks/bench_skn_intervals.py --samples 10000

The statistics are those that the published benchmark resamples: accuracy, normalised hallucination
and groundedness of its six pipelines. The rival is its loop: a thousand times ``choice`` and
``mean``, for each statistic anew. Ours are the functions that ``epoche skn run`` measures with.
Both start from the same arrays and draw the same stream, so means, ends and deviations must agree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from eval.skn.pipelines import ABLATION_PIPELINES
from eval.stats.intervals import Draws, Floats, Resampled, resampled_sums
from eval.stats.shown import ratios

SEED, RESAMPLES = 42, 1000
STATISTICS = ("accuracy", "normalized_hallucination", "groundedness")
NEEDED = 5.0


def made_up(samples: int) -> Floats:
    """One column a statistic and pipeline; yes or no, and shares."""
    rng = np.random.default_rng(7)
    columns = []
    for place, _ in enumerate(ABLATION_PIPELINES):
        columns.append((rng.random(samples) < 0.6 + 0.05 * place).astype(np.float64))
        claims = rng.integers(1, 9, samples)
        columns.append(rng.binomial(claims, 0.15) / claims)
        columns.append(np.round(rng.beta(8, 2, samples), 2))
    return np.column_stack(columns)


def looped(table: Floats) -> Floats:
    """Mean, ends of the interval, and deviation of each column, one resample after the other."""
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


def shared(table: Floats) -> Floats:
    """The same numbers from one matrix of draws, drawn here and now."""
    samples, width = table.shape
    draws = Draws(samples, RESAMPLES, SEED)
    counted = np.column_stack([table, np.ones(samples)])
    tops, bottoms = np.eye(width, width + 1), np.zeros((width, width + 1))
    bottoms[:, -1] = 1.0
    spread = ratios(Resampled(counted, resampled_sums(counted, draws)), tops, bottoms)
    low, high = spread.quantiles([0.025, 0.975])
    return np.column_stack([spread.values, low, high, spread.replicates.std(axis=0)])


def quickest(work: Callable[[Floats], Floats], table: Floats, runs: int) -> tuple[float, Floats]:
    """CPU seconds of the quickest run, and what it found."""
    best, found = float("inf"), np.zeros(0)
    for _ in range(runs):
        start = time.process_time()
        found = work(table)
        best = min(best, time.process_time() - start)
    return best, found


def main() -> None:
    """Times both, and fails if the numbers differ or ours is not five times as fast."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3, help="of each; the quickest counts")
    args = parser.parse_args()
    table = made_up(args.samples)
    ours, found = quickest(shared, table, args.runs)
    rival, expected = quickest(looped, table, args.runs)
    if not np.allclose(found, expected, rtol=0, atol=1e-11):
        raise SystemExit(f"the numbers differ by up to {np.abs(found - expected).max():.2g}")
    count = table.shape[1]
    print(
        f"{count} statistics ({len(STATISTICS)} of {len(ABLATION_PIPELINES)} pipelines), "
        f"{args.samples} samples, {RESAMPLES} resamples, seed {SEED}"
    )
    print(f"a loop for each statistic: {1000 * rival:.0f} ms CPU")
    print(f"one matrix for all:        {1000 * ours:.0f} ms CPU, {rival / ours:.1f} x faster")
    print(f"largest difference of any number: {np.abs(found - expected).max():.1g}")
    if rival / ours < NEEDED:
        raise SystemExit(f"less than {NEEDED:g} x")


if __name__ == "__main__":
    main()
