"""Compares a thousand verdicts on claims about rivers with those of whole-graph pySHACL.

    python benchmarks/whole_graph_agreement.py --out results/agreement.jsonl

This takes over an hour on one core. The tests compare only a sample of the claims this way, and all
thousand with pySHACL retargeted to the affected focus nodes; docs/explanation/labels.md quotes the
result of this full comparison. A line is appended per claim, so that an interrupted run is resumed
by running it again. A disagreement ends it with exit code 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
from rivers_claims import CLAIM_COUNT, make_claims

from kg.claims import Claim
from kg.domain import load_domain
from kg.graph import Graph
from kg.oracle import Oracle
from kg.shapes import Shapes


class Agreement(msgspec.Struct, frozen=True):
    """One claim on which both engines agree."""

    claim: Claim
    label: str
    violations: int
    cpu_s: float
    """CPU seconds that whole-graph pySHACL took for the claim."""
    graph: str
    """First 12 hex digits of the graph's SHA-256; a resumed run uses only lines of this graph."""


def main() -> int:
    """Compares claim by claim; returns 0 if all agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--claims", type=int, default=CLAIM_COUNT)
    parser.add_argument("--out", type=Path, default=Path("results/agreement.jsonl"))
    flags = parser.parse_args()

    domain = load_domain("rivers")
    graph, shapes = Graph.load(domain.graph_files), Shapes.load(domain.shapes_files)
    incremental, reference = Oracle(graph, shapes), Oracle(graph, shapes, engine="pyshacl")
    flags.out.parent.mkdir(parents=True, exist_ok=True)
    agreements = dict(_read_agreements(flags.out, graph.sha256[:12]))
    with flags.out.open("ab") as log:
        for number, claim in enumerate(make_claims(incremental, flags.claims), start=1):
            if claim in agreements:
                continue
            verdict, start = incremental.license(claim), time.process_time()
            expected = reference.license(claim)
            cpu_seconds = time.process_time() - start
            actual_key, expected_key = (
                (decision.label, decision.proof.kind, decision.proof.violations)
                for decision in (verdict, expected)
            )
            if actual_key != expected_key:
                print(f"DISAGREE {claim}\n  incremental {actual_key}\n  pySHACL     {expected_key}")
                return 1
            agreement = Agreement(
                claim, verdict.label, len(actual_key[2]), round(cpu_seconds, 3), graph.sha256[:12]
            )
            agreements[claim] = agreement
            log.write(msgspec.json.encode(agreement) + b"\n")
            log.flush()
            if sys.stderr.isatty():
                print(f"\r{number}/{flags.claims}", end="", file=sys.stderr)
    labels = Counter(agreement.label for agreement in agreements.values())
    print(
        f"{len(agreements)} claims agree: {dict(sorted(labels.items()))}, graph {graph.sha256[:12]}"
    )
    return 0


def _read_agreements(path: Path, graph: str) -> list[tuple[Claim, Agreement]]:
    if not path.is_file():
        return []
    lines = path.read_bytes().splitlines(keepends=True)
    complete_lines = [line for line in lines if line.endswith(b"\n")]
    # The claim of an incomplete last line is compared again.
    path.write_bytes(b"".join(complete_lines))
    agreements = [msgspec.json.decode(line, type=Agreement) for line in complete_lines]
    return [(agreement.claim, agreement) for agreement in agreements if agreement.graph == graph]


if __name__ == "__main__":
    sys.exit(main())
