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
WITHHELD_MOUTH_SHARE = 0.12
"""Share of rivers whose mouth the graph does not state, so that unknown claims exist."""
LEVELS = (0.10, 0.25, 0.35, 0.30)
"""Shares of rivers on each level above the sea; a river flows into one of the level below."""
TRIPLES_PER_RIVER = 11.42
"""Average number of triples per river and its source, which determines how many rivers are made."""


def iter_river_lines(triples: int, seed: int = 0) -> Iterator[str]:
    """Yields the lines of a Turtle file of about ``triples`` triples (within 1 %)."""
    rng = random.Random(seed)
    yield PREFIXES
    yield AXIOMS
    for n in range(COUNTRIES):
        yield f':Country_{n} a wm:Country ; rdfs:label "Country {n}"@en .\n'
    for n in range(SEAS):
        yield f':Sea_{n} a wm:Sea ; rdfs:label "Sea {n}"@en .\n'
    # The axioms have about 50 triples; each country and sea has 2.
    fixed_triples = 50 + 2 * (COUNTRIES + SEAS)
    river_count = max(8, round((triples - fixed_triples) / TRIPLES_PER_RIVER))
    level_starts = [0]
    for share in LEVELS:
        level_starts.append(level_starts[-1] + max(1, round(share * river_count)))
    level_starts[-1] = river_count
    level = 0
    for n in range(river_count):
        while level < len(LEVELS) - 1 and n >= level_starts[level + 1]:
            level += 1
        yield _make_river(rng, n, level, level_starts)


def _make_river(rng: random.Random, n: int, level: int, level_starts: list[int]) -> str:
    source_elevation = rng.randint(200, 4000)
    mouth_elevation = rng.randint(0, 199)
    countries = sorted({rng.randrange(COUNTRIES) for _ in range(rng.choice((1, 1, 1, 2)))})
    if level:
        mouth = f":River_{rng.randrange(level_starts[level - 1], level_starts[level])}"
    else:
        mouth = f":Sea_{rng.randrange(SEAS)}"
    lines = [f':River_{n} a wm:River ; rdfs:label "River {n}"@en ;']
    if rng.random() >= WITHHELD_MOUTH_SHARE:
        lines.append(f" wm:flowsInto {mouth} ;")
    lines.append(f" wm:length {rng.randint(50, 60000) / 10} ;")
    lines.append(f" wm:discharge {rng.randint(1, 90000) / 10} ;")
    lines.append(f" wm:sourceElevation {source_elevation} ; wm:mouthElevation {mouth_elevation} ;")
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
