"""Times queries on a large concept graph, against networkx's walks over the same graph.

    python benchmarks/bench_concept_query.py --nodes 100000

The graph resembles a graph built from texts: chunks of a few keywords each, some keywords far
commoner than others. Questions name up to six concepts, common ones more often. A whole query after
loading is timed: matching the question's words with the nodes, the walk, the chunk scores, and the
selection of the best hundred. networkx is given the nodes and scores no chunks; its breadth-first
search and its PageRank are timed. Epoché's chunk scores must follow from networkx's breadth-first
search. All times are CPU times on one core.
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
"""Number of best chunks that a query returns."""


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
    # Names of two words: the first words are numbers below 331, the second words numbers from 331.
    names = [f"{_make_word(n % 331)} {_make_word(331 + n // 331)}" for n in range(nodes)]
    probabilities = 1.0 / np.arange(1, nodes + 1) ** 0.6
    probabilities /= probabilities.sum()
    chunk_nodes = random.choice(nodes, size=(chunks, keywords), p=probabilities)
    chunk_nodes.ravel()[:nodes] = random.permutation(nodes)[: chunk_nodes.size]  # every node occurs
    left_columns, right_columns = np.triu_indices(keywords, 1)
    pairs = np.sort(
        np.stack(
            (chunk_nodes[:, left_columns].ravel(), chunk_nodes[:, right_columns].ravel()), axis=1
        ),
        axis=1,
    )
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    unique_pairs, counts = np.unique(pairs, axis=0, return_counts=True)
    chunk_ids: list[list[str]] = [[] for _ in range(nodes)]
    for chunk, row in enumerate(chunk_nodes):
        for node in np.unique(row).tolist():
            chunk_ids[node].append(f"c{chunk}")
    graph = nx.Graph()
    for node in sorted(range(nodes), key=names.__getitem__):
        graph.add_node(names[node], label=names[node], aliases=[], forms=[],
                       chunk_ids=chunk_ids[node], count=len(chunk_ids[node]))  # fmt: skip
    for (left, right), count in zip(unique_pairs.tolist(), counts.tolist(), strict=True):
        graph.add_edge(names[left], names[right], weight=count)
    workload_questions = []
    for _ in range(questions):
        question_nodes = random.choice(
            nodes, size=random.integers(1, 7), p=probabilities, replace=False
        )
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
    """Returns a distinct word for each number; stemming does not change these words."""
    letters = "bcdfghjklmnpqrtvwxz"
    return "".join(letters[number // 19**position % 19] + "a" for position in range(4)) + "q"


def walk_with_networkx(graph: nx.Graph, seeds: Sequence[str], hops: int) -> dict[str, float]:
    """Spreads strengths from the seeds by networkx's breadth-first search.

    Each hop multiplies a strength by 0.5 and by the weight of the edge relative to the heaviest.
    """
    import networkx as nx

    strength = dict.fromkeys(seeds, 1.0)
    heaviest = graph.graph["heaviest"]
    for hop, layer in enumerate(nx.bfs_layers(graph, seeds)):
        if hop == hops:
            break
        layer_strengths: dict[str, float] = {}
        for node in layer:
            for neighbour, edge in graph[node].items():
                if neighbour not in strength:
                    new_strength = strength[node] * 0.5 * edge["weight"] / heaviest
                    layer_strengths[neighbour] = max(
                        new_strength, layer_strengths.get(neighbour, 0.0)
                    )
        strength |= layer_strengths
    return strength


def time_action(action: Callable[[], object]) -> float:
    """Returns the CPU milliseconds that an action takes."""
    start = time.process_time()
    action()
    return (time.process_time() - start) * 1e3


def format_row(name: str, our_times: Sequence[float], rival_times: Sequence[float] = ()) -> str:
    """Formats a line of the table: median, 95th percentile, maximum, and the rival's median."""
    median = statistics.median(our_times)
    percentile_95 = sorted(our_times)[int(0.95 * (len(our_times) - 1))]
    line = f"{name:<34}{median:>8.2f}{percentile_95:>8.2f}{max(our_times):>8.2f}"
    if rival_times:
        rival_median = statistics.median(rival_times)
        line += f"{rival_median:>12.1f}{rival_median / median:>9.1f}x"
    return line


def check_agreement(retriever: ConceptRetriever, workload: Workload, hops: int) -> None:
    """Exits unless the chunk scores follow from networkx's walk."""
    for question, concept_names in workload.questions[:5]:
        expected: dict[str, float] = {}
        for node, strength in walk_with_networkx(workload.graph, concept_names, hops).items():
            for chunk in workload.graph.nodes[node]["chunk_ids"]:
                expected[chunk] = expected.get(chunk, 0.0) + strength
        largest = max(expected.values())
        for chunk, score in retriever.get_scores(question, POOL_SIZE).items():
            if abs(score - expected[chunk] / largest) > 1e-9:
                raise SystemExit(f"{chunk}: {score} is not {expected[chunk] / largest}")


def main() -> None:
    """Runs the benchmark and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--chunks", type=int, default=30_000)
    parser.add_argument("--keywords", type=int, default=8, help="keywords of a chunk")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--rival-questions", type=int, default=3)
    arguments = parser.parse_args()
    import networkx as nx

    from kg.text.concepts.concept_graph import ConceptGraph
    from retrieval.concepts import ConceptRetriever

    workload = make_workload(
        arguments.nodes, arguments.chunks, arguments.keywords, arguments.questions
    )
    graph = workload.graph
    graph.graph["heaviest"] = max(weight for _, _, weight in graph.edges.data("weight"))
    start = time.process_time()
    concepts = ConceptGraph(graph)
    retrievers_by_hops = {
        n: ConceptRetriever(workload.passages, concepts, num_hops=n) for n in (1, 2)
    }
    pagerank_retriever = ConceptRetriever(workload.passages, concepts, mode="ppr")
    load_seconds = time.process_time() - start
    print(f"{len(graph):,} nodes, {graph.number_of_edges():,} edges, {arguments.chunks:,} chunks; "
          f"three retrievers made in {load_seconds:.1f} CPU s")  # fmt: skip
    for question, concept_names in workload.questions:
        if sorted(pagerank_retriever.match_concepts(question)) != concept_names:
            raise SystemExit(f"not matched: {question}")
    rival_seeds = [
        concept_names for _, concept_names in workload.questions[: arguments.rival_questions]
    ]
    texts = [text for text, _ in workload.questions]
    print(f"{'ms a query':<34}{'median':>8}{'p95':>8}{'max':>8}{'networkx':>12}{'ratio':>10}")
    print(
        format_row(
            "words to nodes alone",
            [time_action(lambda t=t: pagerank_retriever.match_concepts(t)) for t in texts],
        )
    )
    for n, retriever in retrievers_by_hops.items():
        check_agreement(retriever, workload, n)
        rival_times = [
            time_action(lambda s=s, n=n: walk_with_networkx(graph, s, n)) for s in rival_seeds
        ]
        our_times = [
            time_action(lambda t=t, o=retriever: o.get_scores(t, POOL_SIZE)) for t in texts
        ]
        print(format_row(f"breadth-first, {n} hop{'s' * (n > 1)}", our_times, rival_times))
    our_times = [
        time_action(lambda t=t: pagerank_retriever.get_scores(t, POOL_SIZE)) for t in texts
    ]
    rival_times = []
    for seeds in rival_seeds:
        start_weights = dict.fromkeys(seeds, 1.0)
        rival_times.append(
            time_action(lambda p=start_weights: nx.pagerank(graph, 0.5, p, tol=1e-9))
        )
    print(format_row("personalised PageRank", our_times, rival_times))


if __name__ == "__main__":
    main()
