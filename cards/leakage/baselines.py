"""Trains trivial baselines that predict the labels of cards, by cross-validation."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cards.card import Card
from cards.leakage.degrees import Degrees
from cards.leakage.measures import Groups, rank_scores
from cards.leakage.surface import (
    FEATURE_NAMES,
    CardSurface,
    compute_features,
    count_name_occurrences,
)
from kg.claims import Claim
from kg.words.name_forms import list_name_words

MAX_FOLDS = 8
DEGREES = "degrees in the graph"
"""The name of the baseline that needs a graph."""
LETTERS = "question, letter n-grams"
PAIRS = "words of one name with the other"
FULL_DEGREES = "subject's degree in the full graph"
"""The name of the baseline that needs the graph before facts were set aside."""


class Prediction(NamedTuple):
    """What one baseline predicts, for each card by a model that was not trained on it."""

    name: str
    is_correct: np.ndarray[Any, Any]
    """Whether the label is predicted, shape (n,)."""
    scores: np.ndarray[Any, Any]
    """How likely each label is, shape (n, k), in the sorted order of the labels; within [0, 1]."""


def choose_fold_count(gold: np.ndarray[Any, Any], groups: Groups) -> int:
    """Chooses the number of folds: at most ``MAX_FOLDS``.

    There are also at most as many folds as contexts, and as clusters of the rarest label.
    """
    clusters_by_label: dict[str, set[int]] = defaultdict(set)
    for label, cluster in zip(gold.tolist(), groups.clusters.tolist(), strict=True):
        clusters_by_label[label].add(cluster)
    n_contexts = len(set(groups.contexts.tolist()))
    return min([MAX_FOLDS, n_contexts, *(len(clusters) for clusters in clusters_by_label.values())])


def cross_validate(
    cards: Sequence[Card],
    surfaces: Sequence[CardSurface],
    gold: np.ndarray[Any, Any],
    groups: Groups,
    n_folds: int,
    seed: int,
    count_degrees: Callable[[Claim], Degrees] | None,
    get_name: Callable[[str], str],
    count_full_degrees: Callable[[Claim], Degrees] | None = None,
) -> list[Prediction]:
    """Cross-validates all baselines.

    Args:
        cards: the cards, n of them.
        surfaces: their surfaces.
        gold: their labels, shape (n,).
        groups: their clusters and contexts.
        n_folds: number of folds.
        seed: seed of the folds and the learners.
        count_degrees: claim → links of its subject and object in the graph; None without a graph.
        get_name: term text → the term's name.
        count_full_degrees: the same as ``count_degrees`` in the graph before facts were set aside.
    """
    from scipy.sparse import csr_matrix, hstack
    from sklearn.naive_bayes import BernoulliNB
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    with warnings.catch_warnings():
        # The learners warn about slow convergence and unequal folds, which change no verdict here.
        warnings.simplefilter("ignore")
        validation = CrossValidation(gold, groups, n_folds, seed)
        surface_counts = np.array(
            [compute_features(c, s, get_name) for c, s in zip(cards, surfaces, strict=True)], float
        )
        # Links of subject and object in the graph; without one, mentions in the file's facts.
        if count_degrees is not None:
            degrees = np.array([count_degrees(card.claim) for card in cards], float)
            subject_popularity, object_popularity = degrees[:, [0]], degrees[:, [2]]
        else:
            counts = count_name_occurrences(cards, get_name)
            subject_popularity = np.array([[counts[card.claim.subj]] for card in cards], float)
            object_popularity = np.array([[counts[card.claim.obj]] for card in cards], float)
        position = np.arange(len(cards), dtype=float)[:, None]

        token_pattern = r"(?u)\b\w+\b"  # noqa: S105 - a word pattern, not a password
        questions = [card.question for card in cards]
        fact_texts = [" \n ".join(card.facts) for card in cards]
        question_bag = _build_bag(questions, token_pattern=token_pattern, ngram_range=(1, 2))
        fact_bag = _build_bag(fact_texts, token_pattern=token_pattern, ngram_range=(1, 2), min_df=2)
        rule_bag = _build_bag([" ".join(card.rules) for card in cards], token_pattern=token_pattern)
        letter_bag = _build_letter_bag(questions)
        pair_bag = _build_bag([_list_pairs(card.claim, get_name) for card in cards], analyzer=list)
        scaled_counts = csr_matrix(StandardScaler().fit_transform(surface_counts))
        all_features = hstack([question_bag, fact_bag, rule_bag, letter_bag, scaled_counts]).tocsr()
        all_counts = np.hstack([surface_counts, object_popularity, subject_popularity, position])

        def make_tree() -> Any:
            return DecisionTreeClassifier(max_leaf_nodes=8, min_samples_leaf=5, random_state=seed)

        def make_forest() -> Any:
            from sklearn.ensemble import RandomForestClassifier

            return RandomForestClassifier(50, max_depth=8, random_state=seed)

        predict, make_linear = validation.predict, validation.make_linear
        full_degrees: list[Prediction] = []
        if count_full_degrees is not None:
            counts_in_full = [count_full_degrees(card.claim)[:2] for card in cards]
            forest, features = validation.make_deep_forest, np.array(counts_in_full, float)
            full_degrees = [predict(FULL_DEGREES, forest, features)]
        column = {name: i for i, name in enumerate(FEATURE_NAMES)}
        n_facts = surface_counts[:, [column["facts"]]]
        n_words = surface_counts[:, [column["words in facts"], column["words in question"]]]
        negations = surface_counts[:, [column["negated facts"]]]
        return [
            predict("number of facts", make_tree, n_facts),
            predict("lengths in words", make_tree, n_words),
            predict("negated facts", make_tree, negations),
            predict("object popularity", make_tree, object_popularity),
            predict("subject popularity", make_tree, subject_popularity),
            predict("position in the file", make_tree, position),
            predict("question, bag of words", make_linear, question_bag),
            predict(LETTERS, make_linear, letter_bag),
            predict(PAIRS, BernoulliNB, pair_bag),
            predict("facts, bag of words", make_linear, fact_bag),
            predict("all surface counts, forest", make_forest, all_counts),
            predict("all words, letters and counts", make_linear, all_features),
            *(
                [predict(DEGREES, validation.make_deep_forest, degrees)]
                if count_degrees is not None
                else []
            ),
            *full_degrees,
        ]


def cross_validate_truth(
    cards: Sequence[Card],
    truth: np.ndarray[Any, Any],
    groups: Groups,
    n_folds: int,
    seed: int,
    counters: Sequence[tuple[str, Callable[[Claim], Degrees]]],
) -> list[Prediction]:
    """Cross-validates whether claims of U cards are true in the graph before facts were set aside.

    Whoever can tell knows what to answer from memory, and which cards test that.

    Args:
        cards: the U cards, n of them.
        truth: what is predicted, shape (n,).
        groups: their clusters and contexts.
        n_folds: number of folds.
        seed: seed of the folds and the learners.
        counters: name of the baseline → counts the links of a claim's subject in a graph.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        validation = CrossValidation(truth, groups, n_folds, seed)
        letters = _build_letter_bag([card.question for card in cards])
        predictions = [validation.predict(LETTERS, validation.make_linear, letters)]
        for name, count in counters:
            degrees = np.array([count(card.claim)[:2] for card in cards], float)
            predictions.append(validation.predict(name, validation.make_deep_forest, degrees))
    return predictions


class CrossValidation:
    """Predicts labels by learners trained neither on the clusters nor on the facts that they test.

    Args:
        gold: the labels, shape (n,).
        groups: clusters and contexts of the cards.
        n_folds: number of folds.
        seed: seed of the folds and the learners.
    """

    def __init__(self, gold: np.ndarray[Any, Any], groups: Groups, n_folds: int, seed: int) -> None:
        from sklearn.model_selection import StratifiedGroupKFold

        self._gold, self._seed = gold, seed
        self._labels = np.unique(gold)
        self._most_frequent = Counter(gold.tolist()).most_common(1)[0][0]
        # No cluster is in both the training and the test cards. Cards that share their facts with
        # a test card are removed from the training cards here.
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
        self._splits = [
            (train[~np.isin(groups.contexts[train], groups.contexts[test])], test)
            for train, test in splitter.split(np.zeros(len(gold)), gold, groups.clusters)
        ]

    def make_linear(self) -> Any:
        """Makes a linear learner, for words."""
        from sklearn.linear_model import RidgeClassifier

        # As accurate as logistic regression on these data, and a hundred times faster.
        return RidgeClassifier(alpha=10.0, solver="sparse_cg", random_state=self._seed)

    def make_deep_forest(self) -> Any:
        """Makes a learner for degrees."""
        from sklearn.ensemble import RandomForestClassifier

        # Large leaves: degrees are few different numbers with much noise. With four times as many
        # trees leaks are found as often, see ``benchmarks/bench_degree_forests.py`` and its figures
        # in ``docs/explanation/speed.md``.
        return RandomForestClassifier(20, min_samples_leaf=10, random_state=self._seed)

    def predict(self, name: str, make_learner: Callable[[], Any], features: Any) -> Prediction:
        """Predicts the label of each card from its features, shape (n, number of features)."""
        gold, labels = self._gold, self._labels
        correct = np.empty(len(gold), dtype=bool)
        scores = np.full((len(gold), len(labels)), 0.5)
        for train, test in self._splits:
            if len(set(gold[train].tolist())) < 2:
                # Learners need two classes; predict the most frequent label instead.
                correct[test] = gold[test] == self._most_frequent
                continue
            model = make_learner().fit(features[train], gold[train])
            correct[test] = model.predict(features[test]) == gold[test]
            columns = np.searchsorted(labels, model.classes_)
            # Learners of different folds score on different scales: what they have learnt about
            # the shares of the labels is no merit. So scores are ranks within the fold.
            for c, score in zip(columns, _score_labels(model, features[test]).T, strict=True):
                scores[test, c] = rank_scores(score) / (len(test) + 1)
        return Prediction(name, correct, scores)


def _list_pairs(claim: Claim, get_name: Callable[[str], str]) -> list[tuple[str, ...]]:
    """Lists each word of the name of one side of a claim, with the rest of the claim."""
    return [
        (side, word, claim.pred, other)
        for side, term, other in (
            ("subject", claim.subj, claim.obj),
            ("object", claim.obj, claim.subj),
        )
        for word in list_name_words(get_name(term))
    ]


def _build_bag(texts: Sequence[Any], **options: Any) -> Any:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

    # Fitted on all folds at once: counting words uses no labels, so nothing leaks from test to
    # training cards.
    try:
        return CountVectorizer(binary=True, **options).fit_transform(texts)
    except ValueError:  # no word occurs often enough
        return csr_matrix((len(texts), 1))


def _build_letter_bag(questions: list[str]) -> Any:
    return _build_bag(questions, analyzer="char_wb", ngram_range=(2, 4), min_df=2)


def _score_labels(model: Any, features: Any) -> np.ndarray[Any, Any]:
    """Returns how likely a model finds its labels, shape (n, number of ``model.classes_``)."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(features))
    margins = np.asarray(model.decision_function(features))
    # Of two labels, learners give the margin of the second only.
    return margins if margins.ndim == 2 else np.column_stack([-margins, margins])
