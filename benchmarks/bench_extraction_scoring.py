"""Scoring extractions: samples a second of twenty fields, against the specification's own code.

    python benchmarks/bench_extraction_scoring.py --samples 4000 --stream 100000

Three scorers take turns on the same samples, a quarter of whose fields are wrong: ours; one written
straight from the specification (jsonschema, python-Levenshtein); and that one keeping its
validators, which the specification does not ask for. CPU time, the best of some rounds, of one
process on one core. Then so many samples are scored as a stream, each written as a line of JSON
and its counts kept for resampling: the peak memory of that, in a process of its own.
"""

from __future__ import annotations

import argparse
import gc
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import msgspec
from extraction_load import FIELDS, samples
from extraction_rival import StraightScorer

from eval.extraction.samples.sample import Sample
from eval.extraction.scoring import Tally, score

Pairs = list[tuple[Sample, Any]]


def seconds(scorer: Callable[[Sample, Any], object], pairs: Pairs) -> float:
    """CPU seconds of scoring all pairs once, without the collector's."""
    gc.collect()
    gc.disable()
    start = time.process_time()
    for sample, predicted in pairs:
        scorer(sample, predicted)
    spent = time.process_time() - start
    gc.enable()
    return spent


def compare(count: int, rounds: int, wrong: float) -> None:
    """Prints the speed of the three scorers, taking turns."""
    pairs: Pairs = list(samples(count, wrong=wrong))
    fields = sum(len(score(*pair).fields) for pair in pairs) / count
    scorers: dict[str, Callable[[Sample, Any], object]] = {
        "ours": score,
        "straightforward": StraightScorer(validators=False).score,
        "straightforward, validators kept": StraightScorer(validators=True).score,
    }
    best = dict.fromkeys(scorers, float("inf"))
    for _ in range(rounds):
        for name, scorer in scorers.items():
            few = pairs if name == "ours" else pairs[: max(1, count // 4)]
            best[name] = min(best[name], seconds(scorer, few) / len(few))
    print(f"{count} samples, {FIELDS} fields expected, {fields:.1f} judged, {wrong:.0%} wrong")
    for name, each in best.items():
        print(f"  {name:34} {1 / each:8,.0f} samples/s   {each / best['ours']:5.1f} x the time")


def stream(count: int) -> None:
    """Scores a stream of samples, and prints the peak memory of this process."""
    tallies: list[Tally] = []
    total = Tally()
    start = time.process_time()
    with tempfile.TemporaryFile() as journal:
        for sample, predicted in samples(count):
            found = score(sample, predicted).score
            journal.write(msgspec.json.encode(found) + b"\n")
            tallies.append(found.tally)
            total += found.tally
        size = journal.tell()
    spent = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count:,} streamed: peak {peak:,.0f} MiB, {spent:,.0f} s CPU with making and writing,"
        f" {size / count / 1e3:.1f} KB a line, F1 {total.f1('partial'):.4f}"
    )


def main() -> None:
    """Runs both parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--wrong", type=float, default=0.25)
    parser.add_argument("--stream", type=int, default=100_000)
    parser.add_argument("--only-stream", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only_stream:
        stream(given.stream)
        return
    compare(given.samples, given.rounds, given.wrong)
    command = [sys.executable, __file__, "--only-stream", "--stream", str(given.stream)]
    sys.stdout.flush()
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
