"""Clusters of keywords against dense SciPy: the same clusters, time and memory.

    python benchmarks/bench_canonicalise.py --sizes 10000 20000 50000 --embedders lexical minilm

Each measurement is a process of its own, and its peak memory is what the system counted for that
process (``os.wait4``, the ``getrusage`` of one child). Seconds are CPU seconds without imports and
reading; ``wall`` is by the clock. The rival is ``linkage(method="complete", metric="cosine")`` with
``fcluster``, whose memory grows with the square: it runs up to ``--dense-up-to``.

Where distances tie to the last bit, SciPy goes by the order of its input, and may differ from ours.
``ranked`` is SciPy again on distances whose ties are ordered as ours are, by the bytes of the
vectors; then there is one answer, which must be ours.

``whole`` is ``canonicalise`` from keywords to table, verified by rules, embedding included.
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
"""Of ``ru_maxrss``, which is in kilobytes, on macOS in bytes."""


def embed(flags: argparse.Namespace) -> dict[str, Any]:
    """Embeds the keywords into ``--file``."""
    import numpy as np
    from generate_keywords import keywords

    from kg.embedding.choosing import open_embedder
    from kg.embedding.embedder import unit_rows

    encode = open_embedder(flags.embedder).encode
    written = keywords(flags.size, flags.seed)
    parts = [unit_rows(encode(written[at : at + 4096])) for at in range(0, len(written), 4096)]
    with flags.file.open("wb") as file:
        np.save(file, np.concatenate(parts), allow_pickle=False)
    return {}


def measure(flags: argparse.Namespace) -> dict[str, Any]:
    """What one method finds in this process, and how long it takes."""
    if flags.measure == "whole":
        return whole(flags)
    import numpy as np

    vectors = np.load(flags.file, allow_pickle=False)[: flags.size]
    start = clocks()
    if flags.measure == "blocked":
        from kg.text.canonical.clustering import cluster

        start = clocks()
        groups = cluster(vectors, flags.threshold, None)
    elif flags.measure == "dense":
        from scipy.cluster.hierarchy import fcluster, linkage

        start = clocks()
        tree = linkage(vectors, method="complete", metric="cosine")
        groups = as_groups(fcluster(tree, t=1 - flags.threshold, criterion="distance"))
    else:
        groups = ranked(vectors, 1 - flags.threshold)
    spent = since(start)
    return {
        **spent,
        "clusters": len(groups),
        "largest": max(map(len, groups)),
        "sha256": hashlib.sha256(json.dumps(groups).encode()).hexdigest(),
    }


def as_groups(numbers: Any) -> list[list[int]]:
    """Rows by the number of their cluster, as ``cluster`` gives them."""
    of_number: dict[int, list[int]] = {}
    for row, number in enumerate(numbers.tolist()):
        of_number.setdefault(number, []).append(row)
    return sorted(of_number.values())


def ranked(vectors: Any, most_distant: float) -> list[list[int]]:
    """Dense complete linkage on the ranks of the distances, equal ones by their rows' bytes."""
    import numpy as np
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    order = sorted(range(len(vectors)), key=lambda row: vectors[row].tobytes())
    distances = pdist(vectors[order], "cosine")
    ranks = np.empty(len(distances))
    ranks[np.argsort(distances, kind="stable")] = np.arange(1, len(distances) + 1)
    near = int((distances <= most_distant).sum())
    numbers = np.empty(len(vectors), np.int64)
    numbers[order] = fcluster(linkage(ranks, "complete"), t=near + 0.5, criterion="distance")
    return as_groups(numbers)


def whole(flags: argparse.Namespace) -> dict[str, Any]:
    """The same from keywords to table."""
    from generate_keywords import keywords

    from kg.embedding.choosing import open_embedder
    from kg.text.canonical.canonicalise import canonicalise
    from kg.text.canonical.verifier import RuleVerifier

    written = keywords(flags.size, flags.seed)
    embedder = open_embedder(flags.embedder)
    start = clocks()
    table = canonicalise(
        dict.fromkeys(written, 1), embedder, RuleVerifier(), flags.threshold, flags.max_group_size
    )
    return {**since(start), "clusters": len(table.concepts), "largest": 0, "sha256": ""}


def clocks() -> tuple[float, float]:
    """CPU seconds and seconds by the clock, from wherever they are counted."""
    return time.process_time(), time.perf_counter()


def since(start: tuple[float, float]) -> dict[str, float]:
    """What has been spent since ``start``."""
    cpu, wall = clocks()
    return {"cpu_s": cpu - start[0], "wall_s": wall - start[1]}


def in_child(flags: argparse.Namespace, **instead: Any) -> dict[str, Any]:
    """What a process of its own measured, with its peak memory in MiB."""
    values = {**vars(flags), **instead}
    names = ("measure", "file", "size", "embedder", "seed", "threshold", "max_group_size")
    command = [sys.executable, __file__]
    for name in names:
        command += [f"--{name.replace('_', '-')}", str(values[name])]
    with tempfile.TemporaryFile() as answer:
        child = subprocess.Popen(command, stdout=answer)
        usage: resource.struct_rusage
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{values['measure']} at {values['size']} ended in {child.returncode}")
        answer.seek(0)
        return {**json.loads(answer.read()), "peak_mib": usage.ru_maxrss / MIB}


def vectors_of(flags: argparse.Namespace, folder: Path) -> Path:
    """The file with the embeddings of the largest size; its first rows are those of the others."""
    name = f"{flags.embedder}-{max(flags.sizes)}-{flags.seed}.npy"
    path = (flags.vectors or folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        unfinished = path.with_suffix(".part")
        in_child(flags, measure="embed", size=max(flags.sizes), file=unfinished)
        unfinished.replace(path)
    return path


def rows_of(flags: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """All measurements with one embedder."""
    path, rows = vectors_of(flags, folder), []
    for size in flags.sizes:
        for method in flags.methods:
            if method in {"dense", "ranked"} and size > flags.dense_up_to:
                continue
            best = min(
                (in_child(flags, measure=method, size=size, file=path) for _ in range(flags.runs)),
                key=lambda row: row["cpu_s"],
            )
            rows.append({"embedder": flags.embedder, "size": size, "method": method, **best})
    found = {(row["size"], row["method"]): row for row in rows}
    for row in rows:
        if row["method"] != "blocked":
            continue
        for rival in ("dense", "ranked"):
            other = found.get((row["size"], rival))
            if other is not None:
                row[f"same_as_{rival}"] = row["sha256"] == other["sha256"]
        other = found.get((row["size"], "dense"))
        if other is not None:
            for figure in ("cpu_s", "wall_s", "peak_mib"):
                row[f"{figure}_ratio"] = row[figure] / other[figure]
    return rows


def main() -> None:
    """Reads the flags, measures, prints the table or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 20_000, 50_000])
    parser.add_argument("--embedders", nargs="+", choices=EMBEDDERS, default=["lexical"])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--threshold", type=float, default=0.78, help="least cosine of a group")
    parser.add_argument("--max-group-size", type=int, default=30, help="of `whole`")
    parser.add_argument("--dense-up-to", type=int, default=20_000, help="largest size of the rival")
    parser.add_argument("--seed", type=int, default=0, help="of the keywords")
    parser.add_argument("--runs", type=int, default=1, help="measurements of each, the best kept")
    parser.add_argument("--vectors", type=Path, help="folder that keeps embeddings between runs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--measure", choices=("embed", *METHODS), help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--embedder", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.measure:
        print(json.dumps(embed(flags) if flags.measure == "embed" else measure(flags)))
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for embedder in flags.embedders:
            flags.embedder = embedder
            rows += rows_of(flags, Path(folder))
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
        same = ", ".join(
            f"{'' if row[f'same_as_{rival}'] else 'NOT '}{rival}"
            for rival in ("dense", "ranked")
            if f"same_as_{rival}" in row
        )
        print(
            f"{row['embedder']:<10}{row['size']:>9,} {row['method']:<9}{row['cpu_s']:>8.2f}"
            f"{row['wall_s']:>8.2f}{row['peak_mib']:>10.0f}{ratios}{row['clusters']:>10,}"
            f"{row['largest'] or '':>9}  {same}"
        )


if __name__ == "__main__":
    main()
