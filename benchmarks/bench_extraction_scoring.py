"""Compares the speed of scoring extractions with code written directly from the specification.

    python benchmarks/bench_extraction_scoring.py --samples 4000 --stream 100000

Three scorers take turns on the same samples of twenty fields, a quarter of which are wrong:
Epoché's; one written directly from the specification (jsonschema, python-Levenshtein); and the
same one with cached validators, which the specification does not require. The table shows CPU time,
the best of several rounds, in one process on one core. Then ``--stream`` samples are scored as a
stream in a separate process, whose peak memory is measured: each score is written as a line of
JSON, and its counts stay in memory for resampling.

    python benchmarks/bench_extraction_scoring.py --gold docubench --predictions docubench/results

compares with ``omni-extract-bench`` instead (0.1.7 runs on every Python that Epoché does; it is no
dependency, so install it first), on the same predictions in one run, the scorers taking turns.
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
from extraction_load import FIELDS, make_samples
from extraction_rival import SpecificationScorer

from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import Tally, score_sample

Pairs = list[tuple[Sample, Any]]


def time_scorer(scorer: Callable[[Sample, Any], object], pairs: Pairs) -> float:
    """Returns the CPU seconds of scoring all pairs once, without garbage collection."""
    gc.collect()
    gc.disable()
    start = time.process_time()
    for sample, predicted in pairs:
        scorer(sample, predicted)
    cpu_seconds = time.process_time() - start
    gc.enable()
    return cpu_seconds


def compare_scorers(count: int, rounds: int, wrong_share: float) -> None:
    """Prints the speed of the three scorers, which take turns.

    The slow rivals score only a quarter of the samples.
    """
    pairs: Pairs = list(make_samples(count, wrong=wrong_share))
    fields = sum(len(score_sample(*pair).fields) for pair in pairs) / count
    scorers: dict[str, Callable[[Sample, Any], object]] = {
        "ours": score_sample,
        "straightforward": SpecificationScorer(cache_validators=False).score_sample,
        "straightforward, validators cached": SpecificationScorer(
            cache_validators=True
        ).score_sample,
    }
    best_seconds = dict.fromkeys(scorers, float("inf"))
    for _ in range(rounds):
        for name, scorer in scorers.items():
            timed_pairs = pairs if name == "ours" else pairs[: max(1, count // 4)]
            best_seconds[name] = min(
                best_seconds[name], time_scorer(scorer, timed_pairs) / len(timed_pairs)
            )
    print(
        f"{count} samples, {FIELDS} fields expected, {fields:.1f} judged, {wrong_share:.0%} wrong"
    )
    for name, sample_seconds in best_seconds.items():
        ratio = sample_seconds / best_seconds["ours"]
        print(f"  {name:34} {1 / sample_seconds:8,.0f} samples/s   {ratio:5.1f} x the time")


def compare_with_omni(gold: str, predictions: list[str], rounds: int) -> None:
    """Prints the speed of both scorers on the same predictions, which they score in turns."""
    from omni_extract_bench import score as score_with_omni

    from eval.extraction.samples.gold import load_gold
    from eval.extraction.samples.prediction_files import SampleNames, expand_folders, read_system
    from eval.extraction.view import read_extraction
    from eval.harness.predictions.reader import PredictionFormat, parse_prediction_files

    samples = load_gold(gold, predictions=[Path(text) for text in predictions]).samples
    names = SampleNames(samples)
    by_id = {sample.id: sample for sample in samples}
    form = PredictionFormat(value="value", noun="sample", read_value=read_extraction)
    files = parse_prediction_files(expand_folders(predictions, names))
    pairs: Pairs = [
        (by_id[reply.id], reply.value)
        for file in files
        for reply in read_system(file, names, form).predictions.replies
        if reply.status == "ok"
    ]
    scorers: dict[str, Callable[[Sample, Any], object]] = {
        "ours": score_sample,
        "omni-extract-bench": lambda sample, predicted: score_with_omni(
            predicted, sample.expected, sample.schema
        ),
    }
    best_seconds = dict.fromkeys(scorers, float("inf"))
    for _ in range(rounds):
        for name, scorer in scorers.items():
            best_seconds[name] = min(best_seconds[name], time_scorer(scorer, pairs) / len(pairs))
    fields = sum(score_sample(*pair).score.tally.expected for pair in pairs) / len(pairs)
    print(f"{len(pairs)} predictions of {len(files)} systems, {fields:.1f} fields expected")
    for name, seconds in best_seconds.items():
        ratio = seconds / best_seconds["ours"]
        print(f"  {name:34} {1 / seconds:8,.0f} samples/s   {ratio:5.1f} x the time")


def score_stream(count: int) -> None:
    """Scores a stream of samples, and prints the peak memory of this process."""
    tallies: list[Tally] = []
    total = Tally()
    start = time.process_time()
    with tempfile.TemporaryFile() as journal:
        for sample, predicted in make_samples(count):
            score = score_sample(sample, predicted).score
            journal.write(msgspec.json.encode(score) + b"\n")
            tallies.append(score.tally)
            total += score.tally
        size = journal.tell()
    cpu_seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count:,} streamed: peak {peak:,.0f} MiB, {cpu_seconds:,.0f} s CPU with making and "
        f"writing, {size / count / 1e3:.1f} KB a line, F1 {total.f1('partial'):.4f}"
    )


def main() -> None:
    """Measures speed, then memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--wrong", type=float, default=0.25)
    parser.add_argument("--stream", type=int, default=100_000)
    parser.add_argument("--only-stream", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--gold", help="compare with omni-extract-bench on this gold")
    parser.add_argument("--predictions", action="append", default=[])
    flags = parser.parse_args()
    if flags.gold:
        compare_with_omni(flags.gold, flags.predictions, flags.rounds)
        return
    if flags.only_stream:
        score_stream(flags.stream)
        return
    compare_scorers(flags.samples, flags.rounds, flags.wrong)
    command = [sys.executable, __file__, "--only-stream", "--stream", str(flags.stream)]
    sys.stdout.flush()
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
