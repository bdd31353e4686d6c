"""Mines rules on a random half of the subjects of public graphs, and checks them on the whole.

    python benchmarks/mined_rules.py FOLDER --halves 20

FOLDER is as for ``public_graphs.py``. A rule that half of the subjects confirm and others break is
one that ``epoche kg init`` would have got wrong if only that half were known. Prints, for each
graph, how many rules that cards are asked by broke, and what share of the cards these are.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

from public_graphs import read_source

from kg.claims import Claim
from kg.graph import Graph
from kg.profile.draft import draft_domain
from kg.profile.names import Names, choose_naming
from kg.profile.predicates import GraphProfiler, PredicateProfile
from kg.profile.rules import Answers
from kg.terms import RDF_TYPE
from kg.vocabulary import is_vocabulary


def draw_half(graph: Graph, seed: int) -> Graph:
    """Draws half of the subjects with all their facts; labels, types and schema stay."""
    claims = list(graph.iter_claims())
    facts = {c.subj for c in claims if c.pred != RDF_TYPE and not is_vocabulary(c.pred)}
    chosen = set(random.Random(seed).sample(sorted(facts), len(facts) // 2))
    kept = [c for c in claims if c.subj in chosen or c.pred == RDF_TYPE or is_vocabulary(c.pred)]
    half = Graph.from_claims(Claim(c.subj, c.pred, c.obj) for c in kept)
    return Graph(half.index, prefixes=graph.prefixes, sources=graph.sources)


def iter_profiles(graph: Graph) -> Iterator[PredicateProfile]:
    """Yields the profiles of a graph's predicates."""
    naming = choose_naming(graph, with_opaque=True)
    names = Names(graph, naming.make_labels(graph))
    yield from GraphProfiler(graph, names, naming.predicates).iter_profiles()


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--halves", type=int, default=20)
    options = parser.parse_args()
    print("| graph | rules | broken | share of cards | broken rules |\n|---|---:|---:|---:|---|")
    totals = [0, 0, 0, 0]
    for path in sorted(options.folder.glob("*/SOURCE.md")):
        source = read_source(path.parent)
        graph = Graph.load(source.data)
        holds = {
            p.iri: {"one value": p.is_single_valued, "one way": p.is_acyclic}
            for p in iter_profiles(graph)
        }
        n_rules = n_broken = n_cards = n_wrong = 0
        names: dict[str, None] = {}
        for seed in range(options.halves):
            report = draft_domain(
                draw_half(graph, seed),
                Path("draft"),
                Answers({}, {}),
                name="half",
                show_stage=lambda *_: None,
            ).report
            for row in report.predicates:
                if not row.is_asked:
                    continue
                n_rules += 1
                n_cards += row.ceiling
                if not holds.get(row.iri, {}).get(row.rule, True):
                    n_broken += 1
                    n_wrong += row.ceiling
                    names[f"{row.label} ({row.rule})"] = None
        share = n_wrong / n_cards if n_cards else 0
        print(
            f"| {source.name} | {n_rules} | {n_broken} | {share:.2%} | {', '.join(names)} |",
            flush=True,
        )
        totals = [a + b for a, b in zip(totals, (n_rules, n_broken, n_cards, n_wrong), strict=True)]
    n_rules, n_broken, n_cards, n_wrong = totals
    print(f"| all | {n_rules} | {n_broken} | {n_wrong / max(n_cards, 1):.2%} | |")


if __name__ == "__main__":
    main()
