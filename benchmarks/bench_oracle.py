"""Measures the claims per second of the licence oracle, and compares it with whole-graph pySHACL.

    python benchmarks/bench_oracle.py --triples 100000
    python benchmarks/bench_oracle.py --triples 1000000 --reference-claims 0

Times are CPU seconds on one core. Two more things are checked: pySHACL *retargeted* to the focus
nodes that a claim affects gives the same results for a sample of claims on the large graph; and
whole-graph pySHACL gives the same verdicts on a small graph with the same shapes. Peak memory is
printed.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from generate_graph import write_rivers
from generate_shapes import write_shapes

from kg.claims import Claim
from kg.graph import Graph
from kg.oracle import Oracle
from kg.shapes import Shapes
from kg.terms import RDF, XSD

VOCABULARY = "https://epoche.example/rivers#"
TYPE = RDF + "type"


def make_claims(oracle: Oracle, count: int, seed: int) -> list[Claim]:
    """Makes claims on every predicate of the shapes: a third asserted or derived, others random."""
    rng = random.Random(seed)
    index = oracle.closure.index
    text, intern = index.terms.get_text, index.terms.intern
    rivers = list(index.find_subjects(intern(TYPE), intern(VOCABULARY + "River")))
    springs = list(index.find_subjects(intern(TYPE), intern(VOCABULARY + "Place")))
    seas = list(index.find_subjects(intern(TYPE), intern(VOCABULARY + "Sea")))
    countries = list(index.find_subjects(intern(TYPE), intern(VOCABULARY + "Country")))
    systems = list(index.find_subjects(intern(TYPE), intern(VOCABULARY + "RiverSystem")))
    objects = {
        "flowsInto": (rivers, rivers, seas, countries),
        "hasTributary": (rivers,),
        "drainsInto": (rivers, seas),
        "traverses": (countries, countries, rivers),
        "bordersOn": (countries,),
        "hasSource": (springs, rivers),
        "partOfSystem": (systems, seas),
    }
    numbers = {
        "length": ("decimal", -50, 12_000),
        "discharge": ("decimal", -50, 120_000),
        "sourceElevation": ("integer", -100, 4_000),
        "mouthElevation": ("integer", -100, 4_000),
        "gauge": ("integer", 0, 4_000),
    }
    asserted_predicates = [
        intern(VOCABULARY + name)
        for name in objects
        if index.get_subjects(intern(VOCABULARY + name))
    ]
    claims: list[Claim] = []
    while len(claims) < count:
        river = rng.choice(rivers)
        roll = rng.random()
        if roll < 1 / 3:
            predicate = rng.choice(asserted_predicates)
            values = index.find_objects(river, predicate)
            if values:
                claims.append(Claim(text(river), text(predicate), text(next(iter(values)))))
        elif roll < 0.7:
            name = rng.choice(sorted(objects))
            value = rng.choice(rng.choice(objects[name]))
            claims.append(Claim(text(river), VOCABULARY + name, text(value)))
        elif roll < 0.9:
            name = rng.choice(sorted(numbers))
            datatype, low, high = numbers[name]
            number = f'"{rng.randint(low, high)}"^^<{XSD}{datatype}>'
            claims.append(Claim(text(river), VOCABULARY + name, number))
        else:
            kind = rng.choice(("Lake", "Sea", "River", "Country"))
            claims.append(Claim(text(rng.choice((river, *springs[:9]))), TYPE, VOCABULARY + kind))
    return claims


def check_agreement(shapes: Shapes, folder: Path, count: int, seed: int) -> int:
    """Compares verdicts with whole-graph pySHACL on a small graph; exits if one differs."""
    path = write_rivers(folder / "small.ttl", 1_500, seed)
    oracle = Oracle(Graph.load(path), shapes)
    reference = Oracle(Graph.load(path), shapes, engine="pyshacl")
    comparison_count = 0
    for claim in make_claims(oracle, 10 * count, seed):
        verdict = oracle.license(claim)
        if verdict.label == "E":
            continue
        expected = reference.license(claim)
        is_equal = (verdict.label, verdict.proof.violations) == (
            expected.label,
            expected.proof.violations,
        )
        if not is_equal:
            sys.exit(f"DIFFERENT VERDICT\n{verdict}\n{expected}")
        comparison_count += 1
        if comparison_count == count:
            break
    return comparison_count


def main() -> None:
    """Reads the flags and runs the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--triples", type=int, default=100_000)
    parser.add_argument("--claims", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--reference-claims", type=int, default=1, help="claims for whole-graph pySHACL"
    )
    parser.add_argument(
        "--audited-claims", type=int, default=20, help="claims for retargeted pySHACL"
    )
    parser.add_argument("--agreement-claims", type=int, default=20, help="claims on a small graph")
    parser.add_argument("--check", type=int, default=0, help="fail below this many claims/s")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run_benchmark(flags, Path(folder))


def run_benchmark(flags: argparse.Namespace, folder: Path) -> None:
    """Loads the graph, decides claims, compares engines, and prints the figures."""
    path = write_rivers(folder / "rivers.ttl", flags.triples, flags.seed)
    start = time.process_time()
    graph = Graph.load(path)
    shapes = Shapes.load(write_shapes(folder / "shapes.ttl"))
    load_end = time.process_time()
    oracle = Oracle(graph, shapes)
    closure_end = time.process_time()
    print(f"triples {len(graph):,}, closed {len(oracle.closure.index):,}")
    print(f"load {load_end - start:.2f} s, closure and compilation {closure_end - load_end:.2f} s")
    claims = make_claims(oracle, flags.claims, flags.seed)
    start = time.process_time()
    labels = Counter(verdict.label for verdict in oracle.license_many(claims))
    seconds = time.process_time() - start
    rate = len(claims) / seconds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(claims):,} claims {dict(sorted(labels.items()))}: {rate:,.0f} claims/s")
    print(f"peak memory {peak:,.0f} MB")
    if flags.agreement_claims:
        comparison_count = check_agreement(shapes, folder, flags.agreement_claims, flags.seed)
        print(
            f"small graph: {comparison_count} verdicts, all equal to those of whole-graph pySHACL"
        )
    unstated_claims = [c for c in claims if not oracle.closure.has_claim(c)]
    if flags.audited_claims:
        auditing_oracle = Oracle(graph, shapes, audit_rate=1.0)
        for claim in unstated_claims[: flags.audited_claims]:
            auditing_oracle.license(claim)
        print(f"this graph: {flags.audited_claims} claims re-checked by retargeted pySHACL")
    if flags.reference_claims:
        reference = Oracle(graph, shapes, engine="pyshacl")
        reference.find_violations()  # validates the graph itself once, outside the timing
        start = time.process_time()
        for claim in unstated_claims[: flags.reference_claims]:
            expected = reference.license(claim)
            verdict = oracle.license(claim)
            if (verdict.label, verdict.proof.violations) != (
                expected.label,
                expected.proof.violations,
            ):
                sys.exit(f"DIFFERENT VERDICT\n{verdict}\n{expected}")
        reference_seconds = (time.process_time() - start) / flags.reference_claims
        ratio = reference_seconds * rate
        print(f"whole-graph pySHACL: {reference_seconds:.1f} s a claim; ratio {ratio:,.0f}")
    if flags.check and rate < flags.check:
        sys.exit(f"slower than {flags.check} claims/s")


if __name__ == "__main__":
    main()
