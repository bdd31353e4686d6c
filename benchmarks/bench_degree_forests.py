"""Compares forests of 20 and of 80 trees at finding leaks of degrees in simulated labels.

    python benchmarks/bench_degree_forests.py --sets 100

The degrees, clusters and facts are those of real card sets; the labels are simulated. U depends on
the degrees of the subject in one of four ways, or not at all, and a forest finds the leak if the
verdict of the audit would be LEAKS. Both sizes see the same labels and folds.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

sys.path.insert(0, str(Path(__file__).parent.parent))

from cards.card import Card
from cards.generation.card_plan import CardPlan
from cards.generation.graph_lookup import GraphLookup
from cards.generator import make_cards
from cards.leakage.audit import ALPHA, N_MEASURES
from cards.leakage.baselines import CrossValidation, choose_fold_count
from cards.leakage.degrees import DegreeCounter
from cards.leakage.measures import Groups, group_cards, measure_accuracy, measure_auc
from kg.claims import LABELS
from kg.knowledge import KnowledgeBase

N_BASELINES = 13
"""Number of baselines among which an audit tests the forest."""
N_TREES = (20, 80)
LEAKS = ("none", "links from it", "few or many links to it", "both alike", "both alike, strong")
FOLD_SEEDS = 1000


def main() -> None:
    """Makes a card set of each domain and compares the forests on it."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--domains", nargs="+", default=["rivers", "geonames"])
    parser.add_argument("--per-label", type=int, default=200)
    parser.add_argument("--sets", type=int, default=100, help="simulated sets of each domain")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for domain in args.domains:
        kb = KnowledgeBase.open(domain)
        card_set = make_cards(kb, CardPlan(per_label=args.per_label, seed=12345))
        compare_forests(domain, card_set.cards, card_set.kb, args.sets)


def compare_forests(domain: str, cards: tuple[Card, ...], kb: KnowledgeBase, n_sets: int) -> None:
    """Prints how often each forest finds each leak, with its mean AUC of U, accuracy and time."""
    lookup = GraphLookup(kb)
    counter = DegreeCounter(lookup.graph_index, lookup.closure_index, lookup)
    degrees = np.array([counter.count(card.claim) for card in cards], float)
    groups = group_cards(cards)
    results: dict[tuple[str, int], list[tuple[bool, float, float, float]]] = defaultdict(list)
    for number in range(n_sets):
        leak = LEAKS[number % len(LEAKS)]
        gold = simulate_labels(degrees, leak, np.random.default_rng(number))
        n_folds = choose_fold_count(gold, groups)
        validation = CrossValidation(gold, groups, n_folds, FOLD_SEEDS + number)
        for n_trees in N_TREES:
            results[leak, n_trees].append(try_forest(validation, n_trees, degrees, gold, groups))
    print(f"{domain}: {len(cards)} cards, {n_sets // len(LEAKS)} simulated sets for each leak")
    print("| leak | trees | found | AUC of U | accuracy | CPU s |")
    for (leak, n_trees), rows in sorted(results.items(), key=lambda row: LEAKS.index(row[0][0])):
        found, auc, accuracy, seconds = np.mean(rows, axis=0)
        print(f"| {leak} | {n_trees} | {found:.0%} | {auc:.3f} | {accuracy:.3f} | {seconds:.2f} |")
    for n_trees in N_TREES:
        rows = [row for leak in LEAKS[1:] for row in results[leak, n_trees]]
        found, auc, accuracy, seconds = np.mean(rows, axis=0)
        print(
            f"| all leaks | {n_trees} | {found:.0%} | {auc:.3f} | {accuracy:.3f} | {seconds:.2f} |"
        )


def simulate_labels(
    degrees: np.ndarray[Any, Any], leak: str, rng: np.random.Generator
) -> np.ndarray[Any, Any]:
    """Draws labels of which U is likelier the more its subject's degrees say so."""
    logs = np.log1p(degrees[:, :2])
    n_in, n_out = ((logs - logs.mean(0)) / (logs.std(0) + 1e-9)).T
    weight = {
        "none": np.zeros(len(logs)),
        "links from it": 0.7 * n_out,
        "few or many links to it": 0.7 * np.abs(n_in),
        "both alike": 0.9 * (n_in * n_out > 0),
        "both alike, strong": 1.8 * (n_in * n_out > 0),
    }[leak]
    chances = rng.gumbel(size=(len(logs), len(LABELS)))
    chances[:, LABELS.index("U")] += weight - weight.mean()
    labels: np.ndarray[Any, Any] = np.array(LABELS)[chances.argmax(1)]
    return labels


def try_forest(
    validation: CrossValidation,
    n_trees: int,
    degrees: np.ndarray[Any, Any],
    gold: np.ndarray[Any, Any],
    groups: Groups,
) -> tuple[bool, float, float, float]:
    """Returns whether a forest finds the leak, its AUC of U, its accuracy and its CPU seconds."""
    start = time.process_time()
    prediction = validation.predict(
        "degrees",
        lambda: RandomForestClassifier(n_trees, min_samples_leaf=10, random_state=n_trees),
        degrees,
    )
    seconds = time.process_time() - start
    level = ALPHA / (N_BASELINES * N_MEASURES)
    accuracy = measure_accuracy(prediction.is_correct, gold, groups, level)
    balanced = measure_accuracy(prediction.is_correct, gold, groups, level, balanced=True)
    auc = measure_auc(prediction.scores, gold, groups, level)
    is_found = any(measure.is_above_chance for measure in (accuracy, balanced, auc))
    is_unknown = (gold == "U").astype(str)
    scores = prediction.scores[:, sorted(LABELS).index("U")]
    of_unknown = measure_auc(np.column_stack([-scores, scores]), is_unknown, groups, level)
    return is_found, of_unknown.value, accuracy.value, seconds


if __name__ == "__main__":
    main()
