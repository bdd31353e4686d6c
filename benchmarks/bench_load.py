"""Times loading a graph and computing its closure against rdflib reading the same file.

    python benchmarks/bench_load.py --triples 1000000 --runs 1

Each measurement runs in a separate process, so that its peak memory is measured too; the best of
``--runs`` is reported. Times are CPU seconds without imports.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

LOADERS = ("rdflib parse", "load", "load and close")


def read_peak_mb() -> float:
    """Returns the peak resident memory of this process in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    # On other systems, the value includes the parent's memory at the fork. Its unit is the byte on
    # macOS, otherwise the kilobyte.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def get_loader(name: str) -> Callable[[Path], int]:
    """Imports what a loader needs, and returns it as a function that returns the triples loaded."""
    if name == "rdflib parse":
        import rdflib

        return lambda path: len(rdflib.Graph().parse(path, format="turtle"))
    from kg.entailment import Closure
    from kg.graph import Graph

    if name == "load":
        return lambda path: len(Graph.load(path))
    return lambda path: len(Closure(Graph.load(path), "owl-rl").index)


def measure_loader(name: str, path: Path) -> dict[str, float]:
    """Measures CPU seconds, peak memory and triples of one loader in this process."""
    load = get_loader(name)
    start = time.process_time()
    triples = load(path)
    return {"cpu_s": time.process_time() - start, "peak_mb": read_peak_mb(), "triples": triples}


def measure_best(name: str, path: Path, runs: int) -> dict[str, float]:
    """Returns the fastest of several measurements, each in a new process."""
    command = [sys.executable, __file__, "--measure", name, "--file", str(path)]
    results = [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for _ in range(runs)
    ]
    return min(results, key=lambda result: result["cpu_s"])


def main() -> None:
    """Reads the flags, measures, prints the table or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--triples", type=int, default=100_000, help="size of the graph")
    parser.add_argument("--runs", type=int, default=3, help="measurements of each loader")
    parser.add_argument("--seed", type=int, default=0, help="seed of the generated graph")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--file", type=Path, help="a Turtle file instead of a generated one")
    parser.add_argument("--measure", choices=LOADERS, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.measure:
        print(json.dumps(measure_loader(flags.measure, flags.file)))
        return
    from generate_graph import write_rivers

    with tempfile.TemporaryDirectory() as folder:
        path = flags.file or write_rivers(Path(folder) / "rivers.ttl", flags.triples, flags.seed)
        rows = {name: measure_best(name, path, flags.runs) for name in LOADERS}
    reference = rows[LOADERS[0]]
    for row in rows.values():
        row["cpu_ratio"] = row["cpu_s"] / reference["cpu_s"]
        row["memory_ratio"] = row["peak_mb"] / reference["peak_mb"]
    if flags.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'':<16}{'triples':>11}{'CPU s':>9}{'× rdflib':>10}{'peak MB':>9}{'× rdflib':>10}")
    for name, row in rows.items():
        print(
            f"{name:<16}{int(row['triples']):>11,}{row['cpu_s']:>9.2f}{row['cpu_ratio']:>10.3f}"
            f"{row['peak_mb']:>9.0f}{row['memory_ratio']:>10.3f}"
        )


if __name__ == "__main__":
    main()
