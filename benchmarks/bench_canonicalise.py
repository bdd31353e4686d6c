"""Compares the clustering of keywords with dense SciPy: clusters, time and memory.

    python benchmarks/bench_canonicalise.py --sizes 10000 20000 50000 --embedders lexical minilm

Each measurement runs in a separate process, whose peak memory is reported by the system
(``os.wait4``, the ``getrusage`` of one child). Seconds are CPU seconds without imports and reading;
``wall`` is wall-clock time. ``dense`` is the rival: ``linkage(method="complete", metric="cosine")``
with ``fcluster``. Its memory grows with the square of the size, so only sizes up to
``--dense-up-to`` are given to it.

If distances are exactly equal, SciPy's result depends on the order of its input, and may differ
from Epoché's. ``ranked`` is SciPy on distances whose ties are broken by the bytes of the vectors,
as in Epoché. Its result is unique and must equal Epoché's (``blocked``).

``whole`` is ``canonicalise_keywords`` from keywords to table, with embedding and verification by
rules.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

EMBEDDERS = ("lexical", "minilm")
METHODS = ("blocked", "dense", "ranked", "whole")
MIB = 1024 * (1 if sys.platform != "darwin" else 1024)
"""Units of ``ru_maxrss`` per MiB; its unit is the byte on macOS, otherwise the kilobyte."""


def embed_keywords(flags: argparse.Namespace) -> dict[str, Any]:
    """Embeds the keywords and writes their vectors to ``--file``."""
    import numpy as np
    from generate_keywords import make_keywords

    from kg.embedding.embedder import normalise_rows
    from kg.embedding.factory import open_embedder

    encode = open_embedder(flags.embedder).encode
    keywords = make_keywords(flags.size, flags.seed)
    vector_batches = [
        normalise_rows(encode(keywords[start : start + 4096]))
        for start in range(0, len(keywords), 4096)
    ]
    with flags.file.open("wb") as file:
        np.save(file, np.concatenate(vector_batches), allow_pickle=False)
    return {}


def measure_method(flags: argparse.Namespace) -> dict[str, Any]:
    """Runs one method in this process; returns its clusters and its time.

    The clock starts again after the imports of a method.
    """
    if flags.measure == "whole":
        return measure_canonicalise(flags)
    import numpy as np

    vectors = np.load(flags.file, allow_pickle=False)[: flags.size]
    start = read_clocks()
    if flags.measure == "blocked":
        from kg.text.canonical.clusters import cluster_rows

        start = read_clocks()
        groups = cluster_rows(vectors, flags.threshold, None)
    elif flags.measure == "dense":
        from scipy.cluster.hierarchy import fcluster, linkage

        start = read_clocks()
        tree = linkage(vectors, method="complete", metric="cosine")
        groups = group_rows(fcluster(tree, t=1 - flags.threshold, criterion="distance"))
    else:
        groups = cluster_by_rank(vectors, 1 - flags.threshold)
    elapsed = elapsed_since(start)
    return {
        **elapsed,
        "clusters": len(groups),
        "largest": max(map(len, groups)),
        "sha256": hashlib.sha256(json.dumps(groups).encode()).hexdigest(),
    }


def group_rows(numbers: Any) -> list[list[int]]:
    """Groups row numbers by their cluster number, in the form that ``cluster_rows`` returns."""
    rows_by_number: dict[int, list[int]] = {}
    for row, number in enumerate(numbers.tolist()):
        rows_by_number.setdefault(number, []).append(row)
    return sorted(rows_by_number.values())


def cluster_by_rank(vectors: Any, max_distance: float) -> list[list[int]]:
    """Computes dense complete linkage on ranks of distances; breaks ties by the rows' bytes."""
    import numpy as np
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    order = sorted(range(len(vectors)), key=lambda row: vectors[row].tobytes())
    distances = pdist(vectors[order], "cosine")
    ranks = np.empty(len(distances))
    ranks[np.argsort(distances, kind="stable")] = np.arange(1, len(distances) + 1)
    close_pair_count = int((distances <= max_distance).sum())
    cluster_numbers = np.empty(len(vectors), np.int64)
    cluster_numbers[order] = fcluster(
        linkage(ranks, "complete"), t=close_pair_count + 0.5, criterion="distance"
    )
    return group_rows(cluster_numbers)


def measure_canonicalise(flags: argparse.Namespace) -> dict[str, Any]:
    """Measures ``canonicalise_keywords`` from keywords to table."""
    from generate_keywords import make_keywords

    from kg.embedding.factory import open_embedder
    from kg.text.canonical.canonicalisation import canonicalise_keywords
    from kg.text.canonical.verifier import RuleVerifier

    keywords = make_keywords(flags.size, flags.seed)
    embedder = open_embedder(flags.embedder)
    start = read_clocks()
    table = canonicalise_keywords(
        dict.fromkeys(keywords, 1), embedder, RuleVerifier(), flags.threshold, flags.max_group_size
    )
    return {**elapsed_since(start), "clusters": len(table.concepts), "largest": 0, "sha256": ""}


def read_clocks() -> tuple[float, float]:
    """Returns CPU and wall-clock seconds; only differences between two calls are meaningful."""
    return time.process_time(), time.perf_counter()


def elapsed_since(start: tuple[float, float]) -> dict[str, float]:
    """Returns CPU and wall-clock seconds since ``start``."""
    cpu, wall = read_clocks()
    return {"cpu_s": cpu - start[0], "wall_s": wall - start[1]}


def run_in_child(flags: argparse.Namespace, **overrides: Any) -> dict[str, Any]:
    """Measures in a separate process; adds its peak memory in MiB."""
    values = {**vars(flags), **overrides}
    names = ("measure", "file", "size", "embedder", "seed", "threshold", "max_group_size")
    command = [sys.executable, __file__]
    for name in names:
        command += [f"--{name.replace('_', '-')}", str(values[name])]
    with tempfile.TemporaryFile() as output_file:
        child = subprocess.Popen(command, stdout=output_file)
        usage: resource.struct_rusage
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{values['measure']} at {values['size']} ended in {child.returncode}")
        output_file.seek(0)
        return {**json.loads(output_file.read()), "peak_mib": usage.ru_maxrss / MIB}


def prepare_vectors(flags: argparse.Namespace, folder: Path) -> Path:
    """Returns the path of embeddings of the largest size; smaller sizes use their first rows."""
    name = f"{flags.embedder}-{max(flags.sizes)}-{flags.seed}.npy"
    path = (flags.vectors or folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        partial_path = path.with_suffix(".part")
        run_in_child(flags, measure="embed", size=max(flags.sizes), file=partial_path)
        partial_path.replace(path)
    return path


def measure_embedder(flags: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Makes all measurements with one embedder, and compares them with the rivals."""
    path, rows = prepare_vectors(flags, folder), []
    for size in flags.sizes:
        for method in flags.methods:
            if method in {"dense", "ranked"} and size > flags.dense_up_to:
                continue
            best = min(
                (
                    run_in_child(flags, measure=method, size=size, file=path)
                    for _ in range(flags.runs)
                ),
                key=lambda row: row["cpu_s"],
            )
            rows.append({"embedder": flags.embedder, "size": size, "method": method, **best})
    rows_by_method = {(row["size"], row["method"]): row for row in rows}
    for row in rows:
        if row["method"] != "blocked":
            continue
        for rival in ("dense", "ranked"):
            rival_row = rows_by_method.get((row["size"], rival))
            if rival_row is not None:
                row[f"same_as_{rival}"] = row["sha256"] == rival_row["sha256"]
        rival_row = rows_by_method.get((row["size"], "dense"))
        if rival_row is not None:
            for figure in ("cpu_s", "wall_s", "peak_mib"):
                row[f"{figure}_ratio"] = row[figure] / rival_row[figure]
    return rows


def main() -> None:
    """Reads the flags, measures, prints the table or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 20_000, 50_000])
    parser.add_argument("--embedders", nargs="+", choices=EMBEDDERS, default=["lexical"])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--threshold", type=float, default=0.78, help="minimum cosine in a group")
    parser.add_argument(
        "--max-group-size", type=int, default=30, help="maximum group size of `whole`"
    )
    parser.add_argument(
        "--dense-up-to", type=int, default=20_000, help="maximum size for the rival"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the keywords")
    parser.add_argument(
        "--runs", type=int, default=1, help="measurements of each method; the best counts"
    )
    parser.add_argument("--vectors", type=Path, help="folder that keeps embeddings between runs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--measure", choices=("embed", *METHODS), help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--embedder", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.measure:
        print(
            json.dumps(embed_keywords(flags) if flags.measure == "embed" else measure_method(flags))
        )
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for embedder in flags.embedders:
            flags.embedder = embedder
            rows += measure_embedder(flags, Path(folder))
    if flags.json:
        print(json.dumps(rows, indent=2))
        return
    print(
        f"{'embedder':<10}{'keywords':>9} {'method':<9}{'CPU s':>8}{'wall s':>8}{'peak MiB':>10}"
        f"{'× CPU':>8}{'× wall':>8}{'× memory':>10}{'clusters':>10}{'largest':>9}  same as"
    )
    for row in rows:
        ratios = "".join(
            f"{row[name]:>{width}.3f}" if name in row else " " * width
            for name, width in (("cpu_s_ratio", 8), ("wall_s_ratio", 8), ("peak_mib_ratio", 10))
        )
        comparisons = ", ".join(
            f"{'' if row[f'same_as_{rival}'] else 'NOT '}{rival}"
            for rival in ("dense", "ranked")
            if f"same_as_{rival}" in row
        )
        print(
            f"{row['embedder']:<10}{row['size']:>9,} {row['method']:<9}{row['cpu_s']:>8.2f}"
            f"{row['wall_s']:>8.2f}{row['peak_mib']:>10.0f}{ratios}{row['clusters']:>10,}"
            f"{row['largest'] or '':>9}  {comparisons}"
        )


if __name__ == "__main__":
    main()
