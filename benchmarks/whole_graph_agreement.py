"""Every verdict on a thousand rivers claims against whole-graph pySHACL: over an hour on one core.

    python benchmarks/whole_graph_agreement.py --out results/agreement.jsonl

The tests compare a sample this way, and all thousand with pySHACL retargeted to the affected focus
nodes; this is the full comparison behind the figure in docs/oracle.md. It appends a line a claim,
so it may be stopped and run again; a disagreement ends it with exit code 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
from rivers_claims import CLAIMS, make_claims

from kg.claims import Claim
from kg.domain import load_domain
from kg.graph import Graph
from kg.oracle import Oracle
from kg.shapes import Shapes


class Agreed(msgspec.Struct, frozen=True):
    """One claim on which both engines said the same."""

    claim: Claim
    label: str
    violations: int
    cpu_s: float
    """CPU seconds of whole-graph pySHACL."""
    graph: str
    """First 12 hex digits of the graph's SHA-256: a line counts only for the same graph."""


def main() -> int:
    """Compares claim by claim; 0 when all agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--claims", type=int, default=CLAIMS)
    parser.add_argument("--out", type=Path, default=Path("results/agreement.jsonl"))
    asked = parser.parse_args()

    domain = load_domain("rivers")
    graph, shapes = Graph.load(domain.graph_files), Shapes.load(domain.shapes_files)
    fast, whole = Oracle(graph, shapes), Oracle(graph, shapes, engine="pyshacl")
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    done = dict(_done(asked.out, graph.sha256[:12]))
    with asked.out.open("ab") as log:
        for number, claim in enumerate(make_claims(fast, asked.claims), start=1):
            if claim in done:
                continue
            verdict, start = fast.license(claim), time.process_time()
            expected = whole.license(claim)
            spent = time.process_time() - start
            mine, theirs = (
                (found.label, found.proof.kind, found.proof.violations)
                for found in (verdict, expected)
            )
            if mine != theirs:
                print(f"DISAGREE {claim}\n  incremental {mine}\n  pySHACL     {theirs}")
                return 1
            agreed = Agreed(claim, verdict.label, len(mine[2]), round(spent, 3), graph.sha256[:12])
            done[claim] = agreed
            log.write(msgspec.json.encode(agreed) + b"\n")
            log.flush()
            if sys.stderr.isatty():
                print(f"\r{number}/{asked.claims}", end="", file=sys.stderr)
    labels = Counter(agreed.label for agreed in done.values())
    print(f"{len(done)} claims agree: {dict(sorted(labels.items()))}, graph {graph.sha256[:12]}")
    return 0


def _done(path: Path, graph: str) -> list[tuple[Claim, Agreed]]:
    if not path.is_file():
        return []
    lines = path.read_bytes().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith(b"\n")]
    path.write_bytes(b"".join(whole))  # a torn last line is asked again
    found = [msgspec.json.decode(line, type=Agreed) for line in whole]
    return [(one.claim, one) for one in found if one.graph == graph]


if __name__ == "__main__":
    sys.exit(main())
