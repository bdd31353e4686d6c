"""Tests whether UNKNOWN cards are told by the subject's degree in the full graph, or by names.

    python benchmarks/unknown_attacks.py rivers=cards.jsonl mydomain/=mine.jsonl

Each set of cards is attacked in four ways: U cards against the others, and U cards with a true
claim against those with a false one, each by the degree of the subject and by its name and that of
the object. Names are learnt by a logistic regression on their letters, from other cards that share
neither context, subject nor object with those it predicts. The p-values compare the AUC with those
of labels exchanged within triplets, or truth within predicates, and Holm's correction covers all
tests; groups of fewer than 20 cards are too small for one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

sys.path.insert(0, str(Path(__file__).parent.parent))

from cards.card import Card, read_cards
from cards.leakage.audit import is_true_in_full_graph
from cards.leakage.degrees import DegreeCounter
from eval.stats.paired_tests import adjust_holm
from kg.knowledge import KnowledgeBase

MIN_CARDS = 20
N_FOLDS = 5
SEED = 12345

Bools = NDArray[np.bool_]
Texts = NDArray[np.str_]


class Attack(NamedTuple):
    """What one attack on a set of cards finds."""

    cards: str
    question: str
    feature: str
    n_true: int
    n_false: int
    auc: float
    p: float


def main() -> None:
    """Prints a row for each attack, the smallest p first."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("sets", nargs="+", metavar="DOMAIN=CARDS")
    parser.add_argument("--permutations", type=int, help="default: enough for Holm's correction")
    args = parser.parse_args()
    # With fewer, no p could be below .05 after the correction for four attacks on each set.
    n_permutations = args.permutations or max(500, 200 * len(args.sets))
    attacks: list[Attack] = []
    for text in args.sets:
        domain, _, path = text.partition("=")
        attacks += attack_cards(domain, Path(path), n_permutations)
    attacks.sort(key=lambda attack: attack.p)
    print(f"{'cards':28}{'question':18}{'by':8}{'n':>10}{'AUC':>7}{'p':>8}{'Holm':>7}")
    for attack, p_holm in zip(attacks, adjust_holm([a.p for a in attacks]), strict=True):
        n = f"{attack.n_true}/{attack.n_false}"
        print(
            f"{attack.cards:28}{attack.question:18}{attack.feature:8}{n:>10}"
            f"{attack.auc:7.3f}{attack.p:8.4f}{p_holm:7.3f}"
        )


def attack_cards(domain: str, path: Path, n_permutations: int) -> Iterator[Attack]:
    """Attacks one set of cards."""
    kb = KnowledgeBase.open(domain)
    # Cards of sets of their own, such as those whose facts were changed, have no context.
    cards = [
        card
        for card in read_cards(path)
        if "context" in card.meta and (card.label != "U" or "full_label" in card.meta)
    ]
    is_unknown = np.array([card.label == "U" for card in cards])
    is_true = np.array([card.label == "U" and is_true_in_full_graph(card) for card in cards])
    triplets = np.array([card.meta["context"] for card in cards])
    predicates = np.array([card.claim.pred for card in cards])
    unknown = np.flatnonzero(is_unknown)
    for question, numbers, truth, blocks in (
        ("U or not", np.arange(len(cards)), is_unknown, triplets),
        ("true or false U", unknown, is_true, predicates),
    ):
        labels = truth[numbers]
        if min(labels.sum(), (~labels).sum()) < MIN_CARDS:
            print(f"{path.stem}: too few cards for “{question}”", file=sys.stderr)
            continue
        chosen = [cards[i] for i in numbers]
        for feature, measure in (
            ("degree", make_degree_attack(kb, chosen)),
            ("names", make_name_attack(kb, chosen)),
        ):
            rng = np.random.default_rng(SEED)
            auc, p = compute_permutation_test(labels, blocks[numbers], measure, rng, n_permutations)
            n_true = int(labels.sum())
            yield Attack(path.stem, question, feature, n_true, len(labels) - n_true, auc, p)


def make_degree_attack(kb: KnowledgeBase, cards: list[Card]) -> Callable[[Bools], float]:
    """Returns a function from labels to the AUC of the subject's number of links."""
    counter, get_id = DegreeCounter(kb.graph.index, kb.graph.index), kb.graph.index.terms.get
    nodes = [get_id(card.claim.subj) for card in cards]
    degrees = np.array([0 if node is None else sum(counter.count_links(node)) for node in nodes])
    return lambda labels: float(roc_auc_score(labels, degrees))


def make_name_attack(kb: KnowledgeBase, cards: list[Card]) -> Callable[[Bools], float]:
    """Returns a function from labels to the AUC of a classifier of names, by cross-validation."""
    get_label = kb.labels.get_label
    names = [f"{get_label(c.claim.subj)} | {get_label(c.claim.obj)}" for c in cards]
    vectorizer = CountVectorizer(analyzer="char_wb", ngram_range=(1, 3), min_df=2, binary=True)
    features = vectorizer.fit_transform(names)
    subjects = np.array([card.claim.subj for card in cards])
    objects = np.array([card.claim.obj for card in cards])
    contexts = np.array([card.meta["context"] for card in cards])
    folds = [
        (select_unlinked_cards(train, test, subjects, objects), test)
        for train, test in GroupKFold(N_FOLDS).split(features, groups=contexts)
    ]

    def measure(labels: Bools) -> float:
        scores = np.full(len(labels), 0.5)
        for train, test in folds:
            if len(set(labels[train].tolist())) == 2:
                model = LogisticRegression(C=0.1, max_iter=200, solver="liblinear")
                model.fit(features[train], labels[train])
                # Ranks, because the scores of different models cannot be compared.
                scores[test] = rankdata(model.decision_function(features[test])) / len(test)
        return float(roc_auc_score(labels, scores))

    return measure


def select_unlinked_cards(
    train: NDArray[Any], test: NDArray[Any], subjects: Texts, objects: Texts
) -> NDArray[Any]:
    """Returns the cards of ``train`` with neither a subject nor an object of ``test``."""
    linked = np.isin(subjects[train], subjects[test]) | np.isin(objects[train], objects[test])
    return train[~linked]


def compute_permutation_test(
    labels: Bools,
    blocks: Texts,
    measure: Callable[[Bools], float],
    rng: np.random.Generator,
    n_permutations: int,
) -> tuple[float, float]:
    """Returns the AUC, and the share of exchanges within blocks that are as far from their mean."""
    auc = measure(labels)
    members = [np.flatnonzero(blocks == block) for block in np.unique(blocks)]
    exchanged = []
    for _ in range(n_permutations):
        shuffled = labels.copy()
        for block in members:
            shuffled[block] = rng.permutation(shuffled[block])
        exchanged.append(measure(shuffled))
    mean = float(np.mean(exchanged))
    n_reached = sum(abs(value - mean) >= abs(auc - mean) - 1e-12 for value in exchanged)
    return auc, (n_reached + 1) / (n_permutations + 1)


if __name__ == "__main__":
    main()
