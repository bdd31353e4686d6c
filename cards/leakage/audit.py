"""Audits a card set for leakage: whether labels can be predicted from the cards' surface alone.

Trivial baselines are trained on the counts of ``surface.py`` or on bags of words, with
cross-validation grouped by cluster; cards that share their facts with a test card are excluded
from training as well. Each accuracy has a Wilson interval, computed with the effective number of
cards (design effect, Kish 1965). For m baselines its level is α / m (Bonferroni): the probability
that any baseline is reported as a leak on a card set without leaks is at most α.

Chance is the share of the most frequent label: the accuracy of always predicting that label.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from cards.card import Card
from cards.leakage.string_rules import STRING_RULES
from cards.leakage.surface import (
    FEATURE_NAMES,
    CardSurface,
    compute_features,
    count_name_occurrences,
    get_readable_name,
    read_surface,
)
from kg.base.proportions import wilson_interval
from kg.claims import GOLD_OF_LABEL, LABELS

ALPHA = 0.05
MAX_FOLDS = 8

Verdict = Literal["at chance", "LEAKS", "task"]


class Baseline(msgspec.Struct, frozen=True):
    """The result of one trivial method that predicts the labels."""

    name: str
    accuracy: float
    """Three-way accuracy over all cards, each predicted by a model that was trained neither on its
    cluster nor on its facts."""
    low: float
    high: float
    chance: float
    verdict: Verdict
    """``LEAKS`` if ``low > chance``, else ``at chance``; ``task`` for string rules, which do what
    the task asks for and therefore cannot leak."""
    auc: float | None = None
    """For baselines with a single feature: the probability that its value is greater on an E card
    than on one with another label, ties counted half."""

    @property
    def excess(self) -> float:
        """Accuracy above chance; negative below."""
        return self.accuracy - self.chance


class MixedLabelState(msgspec.Struct, frozen=True):
    """Cards with different labels whose facts relate to their claims in the same way."""

    state: str
    """What the facts say about the claim, for example ``the pair is denied``."""
    counts: dict[str, int]
    """Label → number of cards."""


class Audit(msgspec.Struct, frozen=True):
    """The result of an audit."""

    n: int
    """Number of cards."""
    labels: dict[str, int]
    """Label → number of cards."""
    groups: int
    """Number of clusters."""
    alpha: float
    tests: int
    """Number of baselines, by which ``alpha`` is divided."""
    baselines: tuple[Baseline, ...]
    rules: tuple[Baseline, ...]
    """The string rules of ``cards/leakage/string_rules.py``."""
    states: tuple[MixedLabelState, ...]
    notes: tuple[str, ...] = ()

    @property
    def leaks(self) -> tuple[Baseline, ...]:
        """The baselines whose interval lies above chance."""
        return tuple(b for b in self.baselines if b.verdict == "LEAKS")


def audit_cards(
    cards: Sequence[Card],
    *,
    seed: int = 12345,
    get_popularity: Callable[[str], int] | None = None,
    get_name: Callable[[str], str] = get_readable_name,
) -> Audit:
    """Audits a card set.

    Args:
        cards: the cards; where ``cluster`` is empty, the claim's subject is used.
        seed: seed of the folds and the learners.
        get_popularity: term text → number of facts of the graph with the term as object; if
            omitted, the number of the file's own facts that mention the term.
        get_name: term text → the term's name; if omitted, the readable end of its IRI.

    Returns:
        The audit. With fewer than two labels, or too few groups for two folds, ``baselines`` is
        empty and ``notes`` gives the reason; string rules are reported in any case.
    """
    labels = Counter(card.label for card in cards)
    label_counts: dict[str, int] = {label: labels[label] for label in LABELS if labels[label]}
    groups = group_cards(cards)
    n_groups = len(set(groups.clusters.tolist()))
    surfaces = [read_surface(card, get_name) for card in cards]
    chance = max(label_counts.values(), default=0) / max(len(cards), 1)
    notes: list[str] = []
    if n_unclear := sum(not (surface.subj and surface.obj) for surface in surfaces):
        hint = "give --kg" if get_name is get_readable_name else "was another graph given?"
        notes.append(
            f"on {n_unclear} cards the claim's terms do not show which words of the question are "
            f"names; they count as words of the relation, so accuracies are too high ({hint})"
        )
    gold = np.array([card.label for card in cards])
    n_folds = _choose_fold_count(gold, groups)
    predictions: list[tuple[str, np.ndarray[Any, Any], float | None]] = []
    if len(label_counts) < 2:
        notes.append(f"only one label ({', '.join(label_counts) or 'none'}): nothing to predict")
    elif n_folds < 2:
        notes.append(f"too few clusters ({n_groups}) or sets of facts for cross-validation")
    else:
        if n_folds < MAX_FOLDS:
            notes.append(f"only {n_folds} folds: the rarest label has cards in few groups")
        if len(label_counts) < 3:
            notes.append(f"labels present: {', '.join(label_counts)}; chance refers to these only")
        predictions = _cross_validate(
            cards, surfaces, gold, groups, n_folds, seed, get_popularity, get_name
        )
    level = ALPHA / max(len(predictions), 1)
    baselines = tuple(
        _make_baseline(name, is_correct, groups, chance, level, auc)
        for name, is_correct, auc in predictions
    )
    rules = tuple(
        _make_baseline(
            name,
            np.array(
                [rule(s) == GOLD_OF_LABEL[c.label] for s, c in zip(surfaces, cards, strict=True)]
            ),
            groups,
            chance,
            ALPHA,
            None,
            is_task=True,
        )
        for name, rule in STRING_RULES.items()
    )
    return Audit(
        len(cards),
        label_counts,
        n_groups,
        ALPHA,
        len(predictions),
        baselines,
        rules,
        find_mixed_states(cards, surfaces),
        tuple(notes),
    )


class Groups(NamedTuple):
    """Group numbers of the cards by two groupings; shape (n,) each."""

    clusters: np.ndarray[Any, Any]
    """By cluster (the subject): a learner must not be tested on a subject it was trained on."""
    contexts: np.ndarray[Any, Any]
    """By set of facts, for sets that occur with several labels: a learner trained on cards with the
    same facts could infer that the test card has a *different* label."""


def group_cards(cards: Sequence[Card]) -> Groups:
    """Numbers the clusters and the contexts of a card set."""
    clusters: dict[str, int] = {}
    facts = [tuple(sorted(card.facts)) for card in cards]
    labels: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for card, context in zip(cards, facts, strict=True):
        labels[context].add(card.label)
    # Facts that always occur with the same label are a leak that the audit must find, so cards
    # that share them stay in training.
    contexts: dict[object, int] = {}
    keys: list[object] = [f if len(labels[f]) > 1 else i for i, f in enumerate(facts)]
    return Groups(
        np.array([clusters.setdefault(c.cluster or c.claim.subj, len(clusters)) for c in cards]),
        np.array([contexts.setdefault(key, len(contexts)) for key in keys]),
    )


def find_mixed_states(
    cards: Sequence[Card], surfaces: Sequence[CardSurface]
) -> tuple[MixedLabelState, ...]:
    """Groups cards by what their facts say about the claim; returns groups with several labels."""
    counts_by_state: dict[str, Counter[str]] = defaultdict(Counter)
    for card, surface in zip(cards, surfaces, strict=True):
        if surface.has_pair:
            state = "the pair is given"
        elif surface.has_other_value:
            state = "another value is given for the subject"
        elif surface.has_denied_pair:
            state = "the pair is denied"
        else:
            state = "neither the pair nor a value of the subject is given"
        counts_by_state[state][card.label] += 1
    return tuple(
        MixedLabelState(
            state, {label: label_counts[label] for label in LABELS if label_counts[label]}
        )
        for state, label_counts in sorted(counts_by_state.items())
        if len(label_counts) > 1
    )


def grouped_wilson_interval(
    is_correct: np.ndarray[Any, Any], groups: Groups, level: float
) -> tuple[float, float]:
    """Computes a two-sided Wilson interval at ``1 - level`` for the mean of ``is_correct``.

    The number of cards is divided by the larger of the two groupings' design effects.

    Args:
        is_correct: 1.0 or 0.0 for each card, shape (n,).
        groups: the two groupings.
        level: the error probability, for example 0.05.
    """
    effective_size = len(is_correct) / max(
        _compute_design_effect(is_correct, grouping) for grouping in groups
    )
    return wilson_interval(float(is_correct.mean()) * effective_size, effective_size, 1 - level)


def _compute_design_effect(is_correct: np.ndarray[Any, Any], groups: np.ndarray[Any, Any]) -> float:
    """Computes the variance of the mean, relative to that of independent cards; at least 1."""
    n, mean = len(is_correct), float(is_correct.mean())
    deviations = np.bincount(groups, weights=is_correct - mean)
    n_groups = len(deviations)
    if n_groups < 2 or not 0 < mean < 1:
        return 1.0
    variance = n_groups / (n_groups - 1) * float((deviations**2).sum()) / n**2
    return max(1.0, variance / (mean * (1 - mean) / n))


def compute_auc(score: np.ndarray[Any, Any], positive: np.ndarray[Any, Any]) -> float | None:
    """Computes the area under the ROC curve from ranks (Mann-Whitney), ties counted half.

    Returns None if only one class occurs.
    """
    n_pos, n_neg = int(positive.sum()), int((~positive).sum())
    if not n_pos or not n_neg:
        return None
    sorted_scores = np.sort(score)
    rank = (
        np.searchsorted(sorted_scores, score, "left")
        + np.searchsorted(sorted_scores, score, "right")
        + 1
    ) / 2
    return float((rank[positive].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg))


def _make_baseline(
    name: str,
    is_correct: np.ndarray[Any, Any],
    groups: Groups,
    chance: float,
    level: float,
    auc: float | None,
    *,
    is_task: bool = False,
) -> Baseline:
    if not len(is_correct):
        return Baseline(name, 0.0, 0.0, 1.0, chance, "task" if is_task else "at chance", auc)
    low, high = grouped_wilson_interval(is_correct.astype(float), groups, level)
    # With the tolerance, an interval that ends exactly at chance is no leak by rounding error.
    verdict: Verdict = "task" if is_task else "LEAKS" if low > chance + 1e-12 else "at chance"
    return Baseline(name, float(is_correct.mean()), low, high, chance, verdict, auc)


def _choose_fold_count(gold: np.ndarray[Any, Any], groups: Groups) -> int:
    """Chooses the number of folds: at most ``MAX_FOLDS``.

    There are also at most as many folds as contexts, and as clusters of the rarest label.
    """
    clusters_by_label: dict[str, set[int]] = defaultdict(set)
    for label, cluster in zip(gold.tolist(), groups.clusters.tolist(), strict=True):
        clusters_by_label[label].add(cluster)
    n_contexts = len(set(groups.contexts.tolist()))
    return min([MAX_FOLDS, n_contexts, *(len(clusters) for clusters in clusters_by_label.values())])


def _cross_validate(
    cards: Sequence[Card],
    surfaces: Sequence[CardSurface],
    gold: np.ndarray[Any, Any],
    groups: Groups,
    n_folds: int,
    seed: int,
    get_popularity: Callable[[str], int] | None,
    get_name: Callable[[str], str],
) -> list[tuple[str, np.ndarray[Any, Any], float | None]]:
    """Cross-validates all baselines.

    Returns:
        For each baseline its name, whether each card's label was predicted correctly by a model not
        trained on the card (shape (n,)), and the AUC if the baseline has a single feature.
    """
    from scipy.sparse import csr_matrix, hstack
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import StratifiedGroupKFold
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    with warnings.catch_warnings():
        # The learners warn about slow convergence and unequal folds, which change no verdict here.
        warnings.simplefilter("ignore")
        # No cluster is in both the training and the test cards. Cards that share their facts with
        # a test card are removed from the training cards here.
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
        splits = [
            (train[~np.isin(groups.contexts[train], groups.contexts[test])], test)
            for train, test in splitter.split(np.zeros(len(gold)), gold, groups.clusters)
        ]

        surface_counts = np.array(
            [compute_features(c, s, get_name) for c, s in zip(cards, surfaces, strict=True)], float
        )
        occurrences_in_file = count_name_occurrences(cards, get_name)
        count_facts = get_popularity or occurrences_in_file.__getitem__
        object_popularity = np.array([[count_facts(card.claim.obj)] for card in cards], float)
        subject_popularity = np.array([[count_facts(card.claim.subj)] for card in cards], float)
        position = np.arange(len(cards), dtype=float)[:, None]

        def build_bag(texts: list[str], **options: Any) -> Any:
            # Fitted on all folds at once: counting words uses no labels, so nothing leaks from
            # test to training cards.
            try:
                return CountVectorizer(binary=True, **options).fit_transform(texts)
            except ValueError:  # no word occurs often enough
                return csr_matrix((len(texts), 1))

        token_pattern = r"(?u)\b\w+\b"  # noqa: S105 - a word pattern, not a password
        questions = [card.question for card in cards]
        fact_texts = [" \n ".join(card.facts) for card in cards]
        question_bag = build_bag(questions, token_pattern=token_pattern, ngram_range=(1, 2))
        fact_bag = build_bag(fact_texts, token_pattern=token_pattern, ngram_range=(1, 2), min_df=2)
        rule_bag = build_bag([" ".join(card.rules) for card in cards], token_pattern=token_pattern)
        letter_bag = build_bag(questions, analyzer="char_wb", ngram_range=(2, 4), min_df=2)
        scaled_counts = csr_matrix(StandardScaler().fit_transform(surface_counts))
        all_features = hstack([question_bag, fact_bag, rule_bag, letter_bag, scaled_counts]).tocsr()
        all_counts = np.hstack([surface_counts, object_popularity, subject_popularity, position])

        def make_linear() -> Any:
            # As accurate as logistic regression on these data, and a hundred times faster.
            return RidgeClassifier(alpha=10.0, solver="sparse_cg", random_state=seed)

        def make_tree() -> Any:
            return DecisionTreeClassifier(max_leaf_nodes=8, min_samples_leaf=5, random_state=seed)

        def make_forest() -> Any:
            return RandomForestClassifier(100, max_depth=8, random_state=seed)

        most_frequent = Counter(gold.tolist()).most_common(1)[0][0]

        def mark_correct(make_learner: Callable[[], Any], features: Any) -> np.ndarray[Any, Any]:
            """Returns for each card whether a learner not trained on it predicts its label."""
            correct = np.empty(len(gold), dtype=bool)
            for train, test in splits:
                if len(set(gold[train].tolist())) < 2:
                    # Learners need two classes; predict the most frequent label instead.
                    correct[test] = gold[test] == most_frequent
                    continue
                model = make_learner().fit(features[train], gold[train])
                correct[test] = model.predict(features[test]) == gold[test]
            return correct

        is_e = gold == "E"
        column = {name: i for i, name in enumerate(FEATURE_NAMES)}
        n_facts = surface_counts[:, [column["facts"]]]
        n_words = surface_counts[:, [column["words in facts"], column["words in question"]]]
        negations = surface_counts[:, [column["negated facts"]]]
        return [
            ("number of facts", mark_correct(make_tree, n_facts), compute_auc(n_facts[:, 0], is_e)),
            ("lengths in words", mark_correct(make_tree, n_words), None),
            (
                "negated facts",
                mark_correct(make_tree, negations),
                compute_auc(negations[:, 0], is_e),
            ),
            (
                "object popularity",
                mark_correct(make_tree, object_popularity),
                compute_auc(object_popularity[:, 0], is_e),
            ),
            (
                "subject popularity",
                mark_correct(make_tree, subject_popularity),
                compute_auc(subject_popularity[:, 0], is_e),
            ),
            ("position in the file", mark_correct(make_tree, position), None),
            ("question, bag of words", mark_correct(make_linear, question_bag), None),
            ("question, letter n-grams", mark_correct(make_linear, letter_bag), None),
            ("facts, bag of words", mark_correct(make_linear, fact_bag), None),
            ("all surface counts, forest", mark_correct(make_forest, all_counts), None),
            ("all words, letters and counts", mark_correct(make_linear, all_features), None),
        ]
