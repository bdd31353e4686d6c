"""Compares ``epoche metrics`` (2,000 cluster resamples) with a numpy loop and scipy's bootstrap.

    python benchmarks/bench_metrics.py --systems 20 --cards 10000
    python benchmarks/bench_metrics.py --systems 20 --cards 10000 --confidences
    python benchmarks/bench_metrics.py --rows 1000000

The whole process of ``epoche metrics`` is measured: reading, all metrics, writing. The rivals
compute one metric of one system at a time from counts in memory, in the usual simple code; they run
on a few statistics, and their time per statistic is compared with that of ``epoche metrics``. All
use the same stream of resamples, so their intervals must agree. ``--rows`` instead measures one
system of that many rows, without and with a confidence on each and a card file of as many cards,
and the memory as a multiple of that of 10,000 rows.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from scipy import stats

from cards.card import Card, hash_card_set, write_cards
from eval.abstention.metrics.cluster_samples import Plan, Samples
from eval.abstention.metrics.definitions import SYSTEM_METRICS, get_metrics
from eval.abstention.metrics.observations import read_observations
from eval.abstention.metrics.record import MetricsReport, read_metrics
from kg.claims import GOLD_OF_LABEL, Claim

RESAMPLES, SEED = 2000, 12345
NO_CARD_SET = "0123456789ab"
"""The card set that rows name where no card file is written."""


def write_card_file(path: Path, n_cards: int) -> str:
    """Writes cards of six facts, three to a triplet, and returns the name of the card set."""

    def make_cards() -> Iterator[Card]:
        for number in range(n_cards):
            label = "ECU"[number % 3]
            subject = f"https://epoche.example/rivers/{number // 2 % 5000}"
            yield Card(
                id=f"{number:016x}",
                facts=tuple(f"The River {number} flows into the Lake {n}." for n in range(6)),
                rules=("A river has at most one mouth.",),
                question=f"Does the River {number} flow into the Lake 3?",
                gold=GOLD_OF_LABEL[label],
                label=label,
                claim=Claim(subject, "https://epoche.example/flowsInto", "Lake 3"),
                kind=("asserted", "functional", "absent")[number % 3],
                cluster=subject,
                difficulty=("easy", "medium", "hard")[number % 7 % 3],
                meta={"context": f"context {number // 3}"},
            )

    write_cards(path, make_cards())
    return hash_card_set(make_cards())[:12]


def write_results(
    folder: Path, systems: int, cards: int, confidences: bool, card_set: str = NO_CARD_SET
) -> list[Path]:
    """Writes one file per system, with 5,000 subjects at most; accuracy rises between systems."""
    rng = random.Random(1)
    paths = []
    for system in range(systems):
        # Written row by row: the peak memory of a child process includes that of its parent.
        path = folder / f"system{system:02d}.jsonl"
        paths.append(path)
        with path.open("wb") as handle:
            for card in range(cards):
                label = "ECU"[card % 3]
                gold = GOLD_OF_LABEL[label]
                confidence = round(rng.random(), 6)
                is_correct = rng.random() < 0.3 + 0.3 * confidence + 0.4 * system / systems
                pred = gold if is_correct else rng.choice(["YES", "NO", "UNKNOWN", "INVALID"])
                row = {
                    "id": f"{card:016x}",
                    "system": f"system{system:02d}",
                    "gold": gold,
                    "label": label,
                    "pred": pred,
                    "pass": pred == gold,
                    "confidence": confidence if confidences else None,
                    "raw": "The Example flows into the Sample, as fact 3 says. " * 3,
                    "latency_s": 0.412,
                    "usage": {"prompt_tokens": 211, "completion_tokens": 14, "cost_usd": 4e-05},
                    "error": None,
                    "kind": ("asserted", "functional", "absent")[card % 3],
                    "cluster": f"https://epoche.example/rivers/{card // 2 % 5000}",
                    "difficulty": ("easy", "medium", "hard")[card % 7 % 3],
                    "cards": card_set,
                    "triplet": f"context {card // 3}" if card_set != NO_CARD_SET else "",
                }
                handle.write(msgspec.json.encode(row) + b"\n")
    return paths


def run_epoche_metrics(
    paths: list[Path], out: Path, cards: Path | None = None
) -> tuple[float, float, float]:
    """Returns wall seconds, CPU seconds and peak MB of a whole ``epoche metrics`` process."""
    flags = [flag for path in paths for flag in ("--results", str(path))]
    if cards is not None:
        flags += ["--cards", str(cards)]
    command = [sys.executable, "-m", "epoche", "metrics", *flags, "--out", str(out)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=dict(os.environ))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"epoche metrics ended with {process.returncode}")
    wall = time.perf_counter() - start
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def compute_numpy_interval(numerators: np.ndarray, denominators: np.ndarray) -> tuple[float, float]:
    """Computes the percentile interval, one resample at a time."""
    rng = np.random.default_rng(SEED)
    ratios = []
    for _ in range(RESAMPLES):
        sample = rng.integers(0, len(numerators), len(numerators))
        denominator = denominators[sample].sum()
        ratios.append(numerators[sample].sum() / denominator if denominator else np.nan)
    low, high = np.nanquantile(ratios, [0.025, 0.975])
    return float(low), float(high)


def compute_scipy_interval(numerators: np.ndarray, denominators: np.ndarray) -> tuple[float, float]:
    """Computes the BCa interval by ``scipy.stats.bootstrap``."""

    def ratio_of_sums(sample: np.ndarray, axis: int = -1) -> np.ndarray:
        indices = sample.astype(int)
        result: np.ndarray = numerators[indices].sum(axis=axis) / denominators[indices].sum(
            axis=axis
        )
        return result

    interval = stats.bootstrap(
        (np.arange(len(numerators)),),
        ratio_of_sums,
        n_resamples=RESAMPLES,
        method="BCa",
        batch=100,
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def main() -> None:
    """Writes the files, runs everything, prints a table, and fails if intervals differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--cards", type=int, default=10_000)
    parser.add_argument(
        "--confidences", action="store_true", help="also ECE, Brier, AURC and the like"
    )
    parser.add_argument("--runs", type=int, default=3, help="runs of ours; the fastest counts")
    parser.add_argument("--rival-statistics", type=int, default=6)
    parser.add_argument("--rows", type=int, help="measure one system of this many rows instead")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # A first run compiles the modules, as an installation would.
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "compiled")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        out = Path(folder) / "metrics.json"
        run_epoche_metrics(write_results(Path(folder), 1, 100, True), out)
        if args.rows:
            measure_scaling(args.rows)
            return
        paths = write_results(Path(folder), args.systems, args.cards, args.confidences)
        wall, cpu, memory = min(run_epoche_metrics(paths, out) for _ in range(args.runs))
        report = read_metrics(out)
        count = count_statistics(report)
        print(
            f"{args.systems} systems x {args.cards} cards, {report.n_clusters} clusters, "
            f"{RESAMPLES} resamples, {count} bootstrapped statistics"
        )
        print(f"ours, whole process: {wall:.2f} s wall, {cpu:.2f} s CPU, {memory:.0f} MB")
        print(f"  {1000 * cpu / count:.2f} ms a statistic, reading and writing included")
        time_rivals(report, paths[0], args.rival_statistics, cpu / count)


def measure_scaling(rows: int) -> None:
    """Prints rows per CPU second, and the peak memory as a multiple of that of 10,000 rows."""
    for title, has_confidences, has_cards in (
        ("rows", False, False),
        ("rows with confidences", True, False),
        ("rows with cards and triplets", False, True),
    ):
        peaks = []
        for n_rows in (10_000, rows):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                card_file = folder / "cards.jsonl" if has_cards else None
                card_set = write_card_file(card_file, n_rows) if card_file else NO_CARD_SET
                paths = write_results(folder, 1, n_rows, has_confidences, card_set)
                _, cpu, memory = run_epoche_metrics(paths, folder / "metrics.json", card_file)
            peaks.append(memory)
            print(
                f"{n_rows:,} {title}: {n_rows / cpu:,.0f} rows per CPU second, peak {memory:.0f} MB"
            )
        print(f"  peak memory: {peaks[1] / peaks[0]:.2f} x that of 10,000 rows")


def count_statistics(report: MetricsReport) -> int:
    """Counts the resampled values: each metric of each policy, system and difficulty."""
    estimates = [
        value
        for policy in report.policies.values()
        for system in policy.systems.values()
        for values in (system.metrics, *(g.metrics for g in system.per_difficulty.values()))
        for value in values.values()
    ]
    calibrated_systems = {
        name: system
        for policy in report.policies.values()
        for name, system in policy.systems.items()
        if system.calibration
    }
    # The report on confidences adds five more resampled values for each system.
    return len(estimates) + 5 * len(calibrated_systems)


def time_rivals(
    report: MetricsReport, path: Path, statistics_per_rival: int, our_seconds: float
) -> None:
    """Times both rivals on some metrics of one system; compares their intervals with ours."""
    plan = Plan(policies=("licensed",), resamples=RESAMPLES, seed=SEED)
    samples = Samples(read_observations([path]), plan)
    (system,) = samples.observations.preds
    counts = samples.get_resampled_counts("licensed", system).per_cluster
    metrics = report.policies["licensed"].systems[system].metrics
    selected_metrics = [
        metric
        for metric in get_metrics(SYSTEM_METRICS, "licensed")
        if "bootstrap-bca" in metrics[metric.name].intervals
    ][:statistics_per_rival]
    for name, method, rival in (
        ("numpy loop", "bootstrap-percentile", compute_numpy_interval),
        ("scipy.stats.bootstrap", "bootstrap-bca", compute_scipy_interval),
    ):
        start = time.process_time()
        intervals = [
            rival(counts @ metric.numerator, counts @ metric.denominator)
            for metric in selected_metrics
        ]
        seconds = (time.process_time() - start) / len(selected_metrics)
        expected = [metrics[metric.name].intervals[method] for metric in selected_metrics]
        if not np.allclose(intervals, expected, rtol=0, atol=1e-9):
            raise SystemExit(f"{name} disagrees: {json.dumps([intervals, expected])}")
        print(
            f"{name}: {1000 * seconds:.0f} ms CPU a statistic from counts in memory, "
            f"{seconds / our_seconds:.0f} x ours; {len(selected_metrics)} intervals agree to 1e-9"
        )


if __name__ == "__main__":
    main()
