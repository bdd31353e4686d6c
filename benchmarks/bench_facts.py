"""Measures retrieval by facts on public sets of multi-hop questions, with fusion weights by folds.

    python benchmarks/bench_facts.py musique_train.json.gz --openie openie_results.json.gz
    python benchmarks/bench_facts.py hotpot_dev_distractor_v1.json --format hotpotqa --limit 500

Every retriever ranks the pooled passages of all questions. The weights of the tuned fusions are
chosen on four folds of the questions and measured on the fifth, so that no question is measured
with weights that it helped to choose. Differences are paired with ``hybrid``, with intervals by
bootstrap over questions. ``facts`` and ``ensemble`` have their default, untuned parameters.

Set ``EPOCHE_EMBEDDING_CACHE`` to a folder to keep embeddings between runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from eval.retrieval_eval.data.multihop import read_hotpotqa, read_musique
from eval.retrieval_eval.data.openie import read_openie
from eval.retrieval_eval.metrics import METRIC_NAMES, score_questions
from eval.retrieval_eval.questions import Question
from eval.retrieval_eval.systems.cached_retriever import CachedRetriever
from eval.retrieval_eval.systems.tuner import tune_fusion
from kg.base.files import sha256_bytes
from kg.embedding.factory import open_embedder
from kg.embedding.lexical import NAME as LEXICAL
from kg.text.facts.fact import Fact
from kg.text.facts.rules import find_facts
from retrieval.bm25 import BM25
from retrieval.dense import DenseRetriever, get_cache_folder
from retrieval.ensemble import EnsembleRanker
from retrieval.facts.retriever import FactRetriever
from retrieval.names import DEFAULT_WEIGHTS
from retrieval.protocol import Passage, Retriever

FOLDS = 5
RESAMPLES = 10_000
SEED = 12345
DEPTH = 100
SHOWN_METRICS = ("AllGold@10", "R@10", "nDCG@10")
COMPARED_METRICS = ("AllGold@10", "nDCG@10")

Scores = np.ndarray


def main() -> None:
    """Measures all retrievers with each embedder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path, help="file of MuSiQue or HotpotQA")
    parser.add_argument("--format", choices=("musique", "hotpotqa"), default="musique")
    parser.add_argument("--openie", type=Path, help="triples of the passages, as HippoRAG's")
    parser.add_argument("--embedder", action="append", help="default: lexical and minilm")
    parser.add_argument("--limit", type=int, help="use only the first N questions")
    arguments = parser.parse_args()
    read = read_musique if arguments.format == "musique" else read_hotpotqa
    imported = read(arguments.questions)
    chunks = list(imported.chunks.values())
    passages = [Passage(chunk.id, chunk.text) for chunk in chunks]
    questions = list(imported.questions.values())[: arguments.limit]
    fact_sets: dict[str, Sequence[Fact]] = {"by rules": find_facts(chunks)}
    if arguments.openie is not None:
        fact_sets["given"] = read_openie(arguments.openie, imported)
    print(f"{len(passages):,} passages, {len(questions):,} questions, {FOLDS} folds")
    for name, facts in fact_sets.items():
        print(f"facts {name}: {len(facts):,}")
    for embedder in arguments.embedder or (LEXICAL, "minilm"):
        print(f"\nembedder {embedder}\n")
        measure_retrievers(passages, questions, fact_sets, embedder)


def measure_retrievers(
    passages: Sequence[Passage],
    questions: Sequence[Question],
    fact_sets: Mapping[str, Sequence[Fact]],
    embedder_name: str,
) -> None:
    """Prints a table of all retrievers with one embedder."""
    embedder, cache = open_embedder(embedder_name), get_cache_folder()
    bm25 = CachedRetriever(BM25(passages))
    dense_retriever = DenseRetriever(passages, embedder, cache=cache)
    dense = CachedRetriever(dense_retriever)
    text_components: dict[str, Retriever] = {"bm25": bm25, "dense": dense}
    hybrid = EnsembleRanker(passages, [bm25, dense], name="hybrid")
    scores = {
        retriever.name: score_retriever(retriever, questions) for retriever in (bm25, dense, hybrid)
    }
    scores["hybrid, weights by folds"] = score_by_folds(passages, text_components, questions)
    for name, facts in fact_sets.items():
        scorer = BM25(passages) if embedder_name == LEXICAL else dense_retriever
        opened = FactRetriever(passages, facts, embedder, scorer, source=name, cache=cache)
        start = time.process_time()
        retriever = CachedRetriever(opened)
        scores[f"facts {name}"] = score_retriever(retriever, questions)
        seconds = (time.process_time() - start) / len(questions)
        components = {**text_components, "facts": retriever}
        weights = [DEFAULT_WEIGHTS["ensemble"][component] for component in components]
        ensemble = EnsembleRanker(passages, list(components.values()), weights)
        scores[f"ensemble, facts {name}"] = score_retriever(ensemble, questions)
        scores[f"ensemble, facts {name}, weights by folds"] = score_by_folds(
            passages, components, questions
        )
        graph = opened.graph
        print(
            f"facts {name}: {len(graph.phrases):,} phrases, {graph.n_synonyms:,} synonym pairs, "
            f"{1000 * seconds:.0f} CPU ms a question"
        )
    print_table(scores, scores["hybrid"])


def score_retriever(retriever: Retriever, questions: Sequence[Question]) -> Scores:
    """Returns the metrics of each question, shape (questions, metrics)."""
    return score_questions(
        {q.id: list(retriever.get_scores(q.question, DEPTH)) for q in questions}, questions
    )


def score_by_folds(
    passages: Sequence[Passage], components: Mapping[str, Retriever], questions: Sequence[Question]
) -> Scores:
    """Returns the metrics of each question, with weights chosen on the other folds."""
    # A hash of the id assigns the folds, so that the order of the file has no effect.
    by_hash = sorted(range(len(questions)), key=lambda n: sha256_bytes(questions[n].id.encode()))
    fold_of = {n: rank % FOLDS for rank, n in enumerate(by_hash)}
    scores = np.zeros((len(questions), len(METRIC_NAMES)))
    for fold in range(FOLDS):
        dev = [question for n, question in enumerate(questions) if fold_of[n] != fold]
        test = [n for n in range(len(questions)) if fold_of[n] == fold]
        tuning = tune_fusion(passages, dev, [components])
        ranker = EnsembleRanker(
            passages,
            list(components.values()),
            tuning.weights,
            method="linear" if tuning.fusion == "linear" else "rrf",
        )
        weights = ", ".join(
            f"{name} {weight:g}"
            for name, weight in zip(tuning.components, tuning.weights, strict=True)
        )
        print(f"fold {fold + 1}: {weights}, {tuning.fusion}")
        scores[test] = score_retriever(ranker, [questions[n] for n in test])
    return scores


def print_table(scores: Mapping[str, Scores], baseline: Scores) -> None:
    """Prints means, and differences from the baseline with 95 % intervals."""
    generator = np.random.default_rng(SEED)
    draws = generator.integers(0, len(baseline), (RESAMPLES, len(baseline)))
    columns = [*SHOWN_METRICS, *(f"{metric} − hybrid" for metric in COMPARED_METRICS)]
    print(f"\n| retriever | {' | '.join(columns)} |")
    print("|" + "---|" * (len(columns) + 1))
    for name, values in scores.items():
        cells = [f"{values[:, METRIC_NAMES.index(metric)].mean():.3f}" for metric in SHOWN_METRICS]
        for metric in COMPARED_METRICS:
            column = METRIC_NAMES.index(metric)
            differences = values[:, column] - baseline[:, column]
            low, high = np.quantile(differences[draws].mean(axis=1), (0.025, 0.975))
            cells.append(f"{differences.mean():+.3f} [{low:+.3f}, {high:+.3f}]")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
