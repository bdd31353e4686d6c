"""Queries of a large concept graph, against networkx's own walks over the same graph.

    python benchmarks/bench_concept_query.py --nodes 100000

A graph as texts make it: chunks of a few keywords each, some keywords far commoner than others.
Questions name up to six concepts, common ones more often. Timed is a whole query after loading: the
question's words matched with the nodes, the walk, the scores of the chunks, the best hundred.
networkx is given the nodes already and scores no chunks; its breadth-first search and its PageRank
are timed, and what they find is compared with what we find. CPU time; nothing here uses more than
one core.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
if TYPE_CHECKING:
    import networkx as nx

    from retrieval.concepts import ConceptRetriever
    from retrieval.protocol import Passage

POOL = 100


class World(NamedTuple):
    """A concept graph and questions of it."""

    graph: nx.Graph
    passages: list[Passage]
    questions: list[tuple[str, list[str]]]
    """Text, and the nodes it names."""


def make_world(nodes: int, chunks: int, keywords: int, questions: int, seed: int = 12345) -> World:
    """A graph of co-occurrence, weights as counts."""
    import networkx as nx

    from retrieval.protocol import Passage

    random = np.random.default_rng(seed)
    names = [f"{_word(n % 331)} {_word(331 + n // 331)}" for n in range(nodes)]
    chance = 1.0 / np.arange(1, nodes + 1) ** 0.6
    chance /= chance.sum()
    drawn = random.choice(nodes, size=(chunks, keywords), p=chance)
    drawn.ravel()[:nodes] = random.permutation(nodes)[: drawn.size]  # each is named somewhere
    left, right = np.triu_indices(keywords, 1)
    pairs = np.sort(np.stack((drawn[:, left].ravel(), drawn[:, right].ravel()), axis=1), axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    unique, counts = np.unique(pairs, axis=0, return_counts=True)
    found: list[list[str]] = [[] for _ in range(nodes)]
    for chunk, row in enumerate(drawn):
        for node in np.unique(row).tolist():
            found[node].append(f"c{chunk}")
    graph = nx.Graph()
    for node in sorted(range(nodes), key=names.__getitem__):
        graph.add_node(names[node], label=names[node], aliases=[], forms=[],
                       chunk_ids=found[node], count=len(found[node]))  # fmt: skip
    for (one, other), count in zip(unique.tolist(), counts.tolist(), strict=True):
        graph.add_edge(names[one], names[other], weight=count)
    asked = []
    for _ in range(questions):
        picked = random.choice(nodes, size=random.integers(1, 7), p=chance, replace=False)
        named = [names[node] for node in picked.tolist()]
        asked.append((f"How is it that the {', and why the '.join(named)} matter?", sorted(named)))
    return World(graph, [Passage(f"c{chunk}", "") for chunk in range(chunks)], asked)


def _word(number: int) -> str:
    """A word of its own for each number, which no stemmer touches."""
    letters = "bcdfghjklmnpqrtvwxz"
    return "".join(letters[number // 19**place % 19] + "a" for place in range(4)) + "q"


def networkx_walk(graph: nx.Graph, seeds: Sequence[str], hops: int) -> dict[str, float]:
    """Breadth-first search by networkx, with the published formula over the whole path."""
    import networkx as nx

    strength = dict.fromkeys(seeds, 1.0)
    heaviest = graph.graph["heaviest"]
    for hop, layer in enumerate(nx.bfs_layers(graph, seeds)):
        if hop == hops:
            break
        reached: dict[str, float] = {}
        for node in layer:
            for other, data in graph[node].items():
                if other not in strength:
                    passed = strength[node] * 0.5 * data["weight"] / heaviest
                    reached[other] = max(passed, reached.get(other, 0.0))
        strength |= reached
    return strength


def timed(action: Callable[[], object]) -> float:
    """CPU milliseconds that an action takes."""
    start = time.process_time()
    action()
    return (time.process_time() - start) * 1e3


def row(name: str, ours: Sequence[float], rival: Sequence[float] = ()) -> str:
    """A line of the table."""
    middle, slow = statistics.median(ours), sorted(ours)[int(0.95 * (len(ours) - 1))]
    line = f"{name:<34}{middle:>8.2f}{slow:>8.2f}{max(ours):>8.2f}"
    if rival:
        other = statistics.median(rival)
        line += f"{other:>12.1f}{other / middle:>9.1f}x"
    return line


def agree(ours: ConceptRetriever, world: World, hops: int) -> None:
    """Ends the benchmark unless the chunks' scores follow from networkx's walk."""
    for question, named in world.questions[:5]:
        expected: dict[str, float] = {}
        for node, strength in networkx_walk(world.graph, named, hops).items():
            for chunk in world.graph.nodes[node]["chunk_ids"]:
                expected[chunk] = expected.get(chunk, 0.0) + strength
        largest = max(expected.values())
        for chunk, score in ours.get_scores(question, POOL).items():
            if abs(score - expected[chunk] / largest) > 1e-9:
                raise SystemExit(f"{chunk}: {score} is not {expected[chunk] / largest}")


def main() -> None:
    """Prints the table."""
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    flags.add_argument("--nodes", type=int, default=100_000)
    flags.add_argument("--chunks", type=int, default=30_000)
    flags.add_argument("--keywords", type=int, default=8, help="of a chunk")
    flags.add_argument("--questions", type=int, default=100)
    flags.add_argument("--rival-questions", type=int, default=3)
    told = flags.parse_args()
    import networkx as nx

    from kg.text.concepts.concept_graph import ConceptGraph
    from retrieval.concepts import ConceptRetriever

    world = make_world(told.nodes, told.chunks, told.keywords, told.questions)
    graph = world.graph
    graph.graph["heaviest"] = max(weight for _, _, weight in graph.edges.data("weight"))
    start = time.process_time()
    concepts = ConceptGraph(graph)
    hops = {n: ConceptRetriever(world.passages, concepts, num_hops=n) for n in (1, 2)}
    walk = ConceptRetriever(world.passages, concepts, mode="ppr")
    loaded = time.process_time() - start
    print(f"{len(graph):,} nodes, {graph.number_of_edges():,} edges, {told.chunks:,} chunks; "
          f"three retrievers made in {loaded:.1f} CPU s")  # fmt: skip
    for question, named in world.questions:
        if sorted(walk.matched(question)) != named:
            raise SystemExit(f"not matched: {question}")
    rivals = [named for _, named in world.questions[: told.rival_questions]]
    texts = [text for text, _ in world.questions]
    print(f"{'ms a query':<34}{'median':>8}{'p95':>8}{'max':>8}{'networkx':>12}{'ratio':>10}")
    print(row("words to nodes alone", [timed(lambda t=t: walk.matched(t)) for t in texts]))
    for n, ours in hops.items():
        agree(ours, world, n)
        rival = [timed(lambda s=s, n=n: networkx_walk(graph, s, n)) for s in rivals]
        mine = [timed(lambda t=t, o=ours: o.get_scores(t, POOL)) for t in texts]
        print(row(f"breadth-first, {n} hop{'s' * (n > 1)}", mine, rival))
    mine = [timed(lambda t=t: walk.get_scores(t, POOL)) for t in texts]
    rival = []
    for seeds in rivals:
        start_at = dict.fromkeys(seeds, 1.0)
        rival.append(timed(lambda p=start_at: nx.pagerank(graph, 0.5, p, tol=1e-9)))
    print(row("personalised PageRank", mine, rival))


if __name__ == "__main__":
    main()
