"""Times queries on a large concept graph, against networkx's walks over the same graph.

    python benchmarks/bench_concept_query.py --nodes 100000

The graph resembles a graph built from texts: chunks of a few keywords each, some keywords far
commoner than others. Questions name up to six concepts, common ones more often. A whole query after
loading is timed: matching the question's words with the nodes, the walk, the chunk scores, and the
selection of the best hundred. networkx is given the nodes and scores no chunks; its breadth-first
search and its PageRank are timed. The results of its breadth-first search are compared with ours.
CPU time on one core.
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

POOL_SIZE = 100


class Workload(NamedTuple):
    """A concept graph and questions about it."""

    graph: nx.Graph
    passages: list[Passage]
    questions: list[tuple[str, list[str]]]
    """Text of each question, and the nodes that it names."""


def make_workload(
    nodes: int, chunks: int, keywords: int, questions: int, seed: int = 12345
) -> Workload:
    """Makes a co-occurrence graph with counts as weights, and questions about it."""
    import networkx as nx

    from retrieval.protocol import Passage

    random = np.random.default_rng(seed)
    names = [f"{_make_word(n % 331)} {_make_word(331 + n // 331)}" for n in range(nodes)]
    chance = 1.0 / np.arange(1, nodes + 1) ** 0.6
    chance /= chance.sum()
    chunk_nodes = random.choice(nodes, size=(chunks, keywords), p=chance)
    chunk_nodes.ravel()[:nodes] = random.permutation(nodes)[: chunk_nodes.size]  # every node occurs
    left_columns, right_columns = np.triu_indices(keywords, 1)
    pairs = np.sort(
        np.stack(
            (chunk_nodes[:, left_columns].ravel(), chunk_nodes[:, right_columns].ravel()), axis=1
        ),
        axis=1,
    )
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    unique, counts = np.unique(pairs, axis=0, return_counts=True)
    chunk_ids: list[list[str]] = [[] for _ in range(nodes)]
    for chunk, row in enumerate(chunk_nodes):
        for node in np.unique(row).tolist():
            chunk_ids[node].append(f"c{chunk}")
    graph = nx.Graph()
    for node in sorted(range(nodes), key=names.__getitem__):
        graph.add_node(names[node], label=names[node], aliases=[], forms=[],
                       chunk_ids=chunk_ids[node], count=len(chunk_ids[node]))  # fmt: skip
    for (first, second), count in zip(unique.tolist(), counts.tolist(), strict=True):
        graph.add_edge(names[first], names[second], weight=count)
    workload_questions = []
    for _ in range(questions):
        question_nodes = random.choice(nodes, size=random.integers(1, 7), p=chance, replace=False)
        concept_names = [names[node] for node in question_nodes.tolist()]
        workload_questions.append(
            (
                f"How is it that the {', and why the '.join(concept_names)} matter?",
                sorted(concept_names),
            )
        )
    return Workload(
        graph, [Passage(f"c{chunk}", "") for chunk in range(chunks)], workload_questions
    )


def _make_word(number: int) -> str:
    """Returns a distinct word for each number, which stemming does not change."""
    letters = "bcdfghjklmnpqrtvwxz"
    return "".join(letters[number // 19**place % 19] + "a" for place in range(4)) + "q"


def networkx_walk(graph: nx.Graph, seeds: Sequence[str], hops: int) -> dict[str, float]:
    """Spreads strengths by networkx's breadth-first search, by the formula over the whole path."""
    import networkx as nx

    strength = dict.fromkeys(seeds, 1.0)
    heaviest = graph.graph["heaviest"]
    for hop, layer in enumerate(nx.bfs_layers(graph, seeds)):
        if hop == hops:
            break
        reached: dict[str, float] = {}
        for node in layer:
            for neighbour, data in graph[node].items():
                if neighbour not in strength:
                    passed = strength[node] * 0.5 * data["weight"] / heaviest
                    reached[neighbour] = max(passed, reached.get(neighbour, 0.0))
        strength |= reached
    return strength


def time_action(action: Callable[[], object]) -> float:
    """Returns the CPU milliseconds that an action takes."""
    start = time.process_time()
    action()
    return (time.process_time() - start) * 1e3


def format_row(name: str, ours: Sequence[float], rival: Sequence[float] = ()) -> str:
    """Formats a line of the table: median, 95th percentile, maximum, and the rival's median."""
    median, slow = statistics.median(ours), sorted(ours)[int(0.95 * (len(ours) - 1))]
    line = f"{name:<34}{median:>8.2f}{slow:>8.2f}{max(ours):>8.2f}"
    if rival:
        rival_median = statistics.median(rival)
        line += f"{rival_median:>12.1f}{rival_median / median:>9.1f}x"
    return line


def check_agreement(ours: ConceptRetriever, world: Workload, hops: int) -> None:
    """Exits unless the chunk scores follow from networkx's walk."""
    for question, concept_names in world.questions[:5]:
        expected: dict[str, float] = {}
        for node, strength in networkx_walk(world.graph, concept_names, hops).items():
            for chunk in world.graph.nodes[node]["chunk_ids"]:
                expected[chunk] = expected.get(chunk, 0.0) + strength
        largest = max(expected.values())
        for chunk, score in ours.get_scores(question, POOL_SIZE).items():
            if abs(score - expected[chunk] / largest) > 1e-9:
                raise SystemExit(f"{chunk}: {score} is not {expected[chunk] / largest}")


def main() -> None:
    """Runs the benchmark and prints the table."""
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    flags.add_argument("--nodes", type=int, default=100_000)
    flags.add_argument("--chunks", type=int, default=30_000)
    flags.add_argument("--keywords", type=int, default=8, help="keywords of a chunk")
    flags.add_argument("--questions", type=int, default=100)
    flags.add_argument("--rival-questions", type=int, default=3)
    arguments = flags.parse_args()
    import networkx as nx

    from kg.text.concepts.concept_graph import ConceptGraph
    from retrieval.concepts import ConceptRetriever

    world = make_workload(
        arguments.nodes, arguments.chunks, arguments.keywords, arguments.questions
    )
    graph = world.graph
    graph.graph["heaviest"] = max(weight for _, _, weight in graph.edges.data("weight"))
    start = time.process_time()
    concepts = ConceptGraph(graph)
    hops = {n: ConceptRetriever(world.passages, concepts, num_hops=n) for n in (1, 2)}
    walk = ConceptRetriever(world.passages, concepts, mode="ppr")
    loaded = time.process_time() - start
    print(f"{len(graph):,} nodes, {graph.number_of_edges():,} edges, {arguments.chunks:,} chunks; "
          f"three retrievers made in {loaded:.1f} CPU s")  # fmt: skip
    for question, concept_names in world.questions:
        if sorted(walk.match_concepts(question)) != concept_names:
            raise SystemExit(f"not matched: {question}")
    rivals = [concept_names for _, concept_names in world.questions[: arguments.rival_questions]]
    texts = [text for text, _ in world.questions]
    print(f"{'ms a query':<34}{'median':>8}{'p95':>8}{'max':>8}{'networkx':>12}{'ratio':>10}")
    print(
        format_row(
            "words to nodes alone", [time_action(lambda t=t: walk.match_concepts(t)) for t in texts]
        )
    )
    for n, retriever in hops.items():
        check_agreement(retriever, world, n)
        rival = [time_action(lambda s=s, n=n: networkx_walk(graph, s, n)) for s in rivals]
        our_times = [
            time_action(lambda t=t, o=retriever: o.get_scores(t, POOL_SIZE)) for t in texts
        ]
        print(format_row(f"breadth-first, {n} hop{'s' * (n > 1)}", our_times, rival))
    our_times = [time_action(lambda t=t: walk.get_scores(t, POOL_SIZE)) for t in texts]
    rival = []
    for seeds in rivals:
        start_at = dict.fromkeys(seeds, 1.0)
        rival.append(time_action(lambda p=start_at: nx.pagerank(graph, 0.5, p, tol=1e-9)))
    print(format_row("personalised PageRank", our_times, rival))


if __name__ == "__main__":
    main()
