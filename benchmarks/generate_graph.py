"""Writes a graph of any size that resembles the shipped rivers; a seed always gives the same bytes.

Every river has a type, a label, numbers, countries, a source and (mostly) a mouth; mouths form
trees of at most four levels, so that `drainsInto` is inferred over short chains as in nature. Other
benchmarks import `write_rivers`.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

AXIOMS = """\
wm:WaterBody a owl:Class .
wm:River a owl:Class ; rdfs:subClassOf wm:WaterBody .
wm:Lake a owl:Class ; rdfs:subClassOf wm:WaterBody .
wm:Sea a owl:Class ; rdfs:subClassOf wm:WaterBody .
wm:Country a owl:Class . wm:RiverSystem a owl:Class . wm:Place a owl:Class .
wm:River owl:disjointWith wm:Lake , wm:Sea .
wm:WaterBody owl:disjointWith wm:Country , wm:RiverSystem , wm:Place .
wm:flowsInto a owl:ObjectProperty ; rdfs:subPropertyOf wm:drainsInto ;
    rdfs:domain wm:River ; rdfs:range wm:WaterBody .
wm:hasTributary a owl:ObjectProperty ; owl:inverseOf wm:flowsInto .
wm:drainsInto a owl:ObjectProperty , owl:TransitiveProperty ;
    rdfs:domain wm:River ; rdfs:range wm:WaterBody .
wm:hasSource a owl:ObjectProperty ; rdfs:domain wm:River .
wm:traverses a owl:ObjectProperty ; rdfs:domain wm:River ; rdfs:range wm:Country .
wm:partOfSystem a owl:ObjectProperty ; rdfs:domain wm:River ; rdfs:range wm:RiverSystem .
wm:length a owl:DatatypeProperty ; rdfs:domain wm:River .
wm:discharge a owl:DatatypeProperty ; rdfs:domain wm:River .
wm:sourceElevation a owl:DatatypeProperty ; rdfs:domain wm:River .
wm:mouthElevation a owl:DatatypeProperty ; rdfs:domain wm:River .
"""
PREFIXES = """\
@prefix wm: <https://epoche.example/rivers#> .
@prefix : <https://epoche.example/rivers/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""

COUNTRIES = 150
SEAS = 60
WITHHELD = 0.12
"""Share of rivers whose mouth the graph does not state, so that unknown claims exist."""

# Shares of rivers on each level above the sea; a river flows into one of the level below.
LEVELS = (0.10, 0.25, 0.35, 0.30)
TRIPLES_PER_RIVER = 11.42
"""Average number of triples per river and its source; used to reach a number of triples."""


def iter_river_lines(triples: int, seed: int = 0) -> Iterator[str]:
    """Yields the lines of a Turtle file of about ``triples`` triples (within 1 %)."""
    rng = random.Random(seed)
    yield PREFIXES
    yield AXIOMS
    for n in range(COUNTRIES):
        yield f':Country_{n} a wm:Country ; rdfs:label "Country {n}"@en .\n'
    for n in range(SEAS):
        yield f':Sea_{n} a wm:Sea ; rdfs:label "Sea {n}"@en .\n'
    fixed = 50 + 2 * (COUNTRIES + SEAS)
    total = max(8, round((triples - fixed) / TRIPLES_PER_RIVER))
    bounds = [0]
    for share in LEVELS:
        bounds.append(bounds[-1] + max(1, round(share * total)))
    bounds[-1] = total
    level = 0
    for n in range(total):
        while level < len(LEVELS) - 1 and n >= bounds[level + 1]:
            level += 1
        yield _make_river(rng, n, level, bounds)


def _make_river(rng: random.Random, n: int, level: int, bounds: list[int]) -> str:
    high = rng.randint(200, 4000)
    low = rng.randint(0, 199)
    countries = sorted({rng.randrange(COUNTRIES) for _ in range(rng.choice((1, 1, 1, 2)))})
    if level:
        mouth = f":River_{rng.randrange(bounds[level - 1], bounds[level])}"
    else:
        mouth = f":Sea_{rng.randrange(SEAS)}"
    lines = [f':River_{n} a wm:River ; rdfs:label "River {n}"@en ;']
    if rng.random() >= WITHHELD:
        lines.append(f" wm:flowsInto {mouth} ;")
    lines.append(f" wm:length {rng.randint(50, 60000) / 10} ;")
    lines.append(f" wm:discharge {rng.randint(1, 90000) / 10} ;")
    lines.append(f" wm:sourceElevation {high} ; wm:mouthElevation {low} ;")
    lines.append(f" wm:traverses {', '.join(f':Country_{c}' for c in countries)} ;")
    if not level:
        lines.append(f" wm:partOfSystem :System_{n} ;")
    lines.append(f" wm:hasSource :Spring_{n} .\n")
    lines.append(f':Spring_{n} a wm:Place ; rdfs:label "Spring {n}"@en .\n')
    if not level:
        lines.append(f':System_{n} a wm:RiverSystem ; rdfs:label "System {n}"@en .\n')
    return "".join(lines)


def write_rivers(path: Path, triples: int, seed: int = 0) -> Path:
    """Writes the Turtle file and returns its path."""
    with path.open("w", encoding="utf-8") as handle:
        handle.writelines(iter_river_lines(triples, seed))
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triples", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    write_rivers(arguments.out, arguments.triples, arguments.seed)
