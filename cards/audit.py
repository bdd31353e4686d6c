"""Leakage audit: can a card's label be told from its surface, without graph or reasoning?

Trivial baselines are trained on what ``cards/surface.py`` can count or on bags of words, with
cross-validation grouped by cluster; cards that share their facts with a tested card are left out
of training as well. Each accuracy has a Wilson interval on the effective number of cards (design
effect, Kish 1965), at the level α / m for m baselines (Bonferroni), so that the statement
"some baseline leaks" is wrong at most with probability α on a card set without leaks.

Chance is the share of the most frequent label: what always saying one word scores.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from cards.card import Card
from cards.string_rules import STRING_RULES
from cards.surface import COUNT_NAMES, Sight, counts, file_popularity, look, tail
from kg.base.proportions import wilson
from kg.claims import GOLD_OF_LABEL, LABELS

ALPHA = 0.05
FOLDS = 8

Verdict = Literal["at chance", "LEAKS", "task"]


class Baseline(msgspec.Struct, frozen=True):
    """How well one trivial method tells the labels apart."""

    name: str
    accuracy: float
    """Three-way accuracy over all cards, each predicted by a model that saw neither its cluster nor
    its facts."""
    low: float
    high: float
    chance: float
    verdict: Verdict
    """``LEAKS`` when ``low > chance``; ``task`` for string rules, which are only reported."""
    auc: float | None = None
    """For single scores: probability that an E card scores above a non-E card (ties half)."""

    @property
    def excess(self) -> float:
        """Accuracy above chance; negative below."""
        return self.accuracy - self.chance


class SameState(msgspec.Struct, frozen=True):
    """Cards whose facts put the claim in one epistemic state although their labels differ."""

    state: str
    counts: dict[str, int]
    """Label → cards."""


class Audit(msgspec.Struct, frozen=True):
    """What an audit found."""

    n: int
    labels: dict[str, int]
    groups: int
    """Clusters."""
    alpha: float
    tests: int
    """Number of baselines the level is divided by."""
    baselines: tuple[Baseline, ...]
    rules: tuple[Baseline, ...]
    states: tuple[SameState, ...]
    notes: tuple[str, ...] = ()

    @property
    def leaks(self) -> tuple[Baseline, ...]:
        """The baselines that beat chance by more than their interval."""
        return tuple(b for b in self.baselines if b.verdict == "LEAKS")


def audit_cards(
    cards: Sequence[Card],
    *,
    seed: int = 12345,
    popularity: Callable[[str], int] | None = None,
    name: Callable[[str], str] = tail,
) -> Audit:
    """Audits a card set.

    Args:
        cards: any cards; ``cluster`` may be empty (the claim's subject is used).
        seed: seeds the folds and the learners.
        popularity: term text → how often the graph has it as an object; without it, how often
            the file's own facts mention it.
        name: term text → how the term is called; without it, by the readable end of its IRI.

    Returns:
        The audit. With fewer than two labels, or too few groups for two folds, ``baselines`` is
        empty and ``notes`` says why; string rules are reported all the same.
    """
    labels = Counter(card.label for card in cards)
    ordered: dict[str, int] = {label: labels[label] for label in LABELS if labels[label]}
    groups = group_cards(cards)
    n_groups = len(set(groups.clusters.tolist()))
    sights = [look(card, name) for card in cards]
    chance = max(ordered.values(), default=0) / max(len(cards), 1)
    notes: list[str] = []
    if unseen := sum(not (sight.subj and sight.obj) for sight in sights):
        notes.append(
            f"on {unseen} cards the asked names cannot be told by their IRIs; baselines take them "
            "for words of the relation and look better than they are (--kg gives the labels)"
        )
    gold = np.array([card.label for card in cards])
    folds = _folds(gold, groups)
    scored: list[tuple[str, np.ndarray[Any, Any], float | None]] = []
    if len(ordered) < 2:
        notes.append(f"only one label ({', '.join(ordered) or 'none'}): nothing to tell apart")
    elif folds < 2:
        notes.append(
            f"too few clusters ({n_groups}) or sets of facts to train on some and test on others"
        )
    else:
        if folds < FOLDS:
            notes.append(f"only {folds} folds: the rarest label has cards in few groups")
        if len(ordered) < 3:
            notes.append(f"labels present: {', '.join(ordered)}; chance is counted among these")
        scored = _trained(cards, sights, gold, groups, folds, seed, popularity, name)
    level = ALPHA / max(len(scored), 1)
    baselines = tuple(
        _baseline(name, right, groups, chance, level, auc) for name, right, auc in scored
    )
    rules = tuple(
        _baseline(
            name,
            np.array(
                [rule(s) == GOLD_OF_LABEL[c.label] for s, c in zip(sights, cards, strict=True)]
            ),
            groups,
            chance,
            ALPHA,
            None,
            task=True,
        )
        for name, rule in STRING_RULES.items()
    )
    return Audit(
        len(cards),
        ordered,
        n_groups,
        ALPHA,
        len(scored),
        baselines,
        rules,
        same_states(cards, sights),
        tuple(notes),
    )


class Groups(NamedTuple):
    """Which cards belong together, two ways; shape (n,) each."""

    clusters: np.ndarray[Any, Any]
    """By cluster (the subject): a learner must not be asked about whom it was trained on."""
    contexts: np.ndarray[Any, Any]
    """By set of facts, where it occurs with several labels: siblings in training would tell that a
    card is *not* labelled like them."""


def group_cards(cards: Sequence[Card]) -> Groups:
    """Numbers the clusters and the contexts of a card set."""
    clusters: dict[str, int] = {}
    facts = [tuple(sorted(card.facts)) for card in cards]
    labels: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for card, context in zip(cards, facts, strict=True):
        labels[context].add(card.label)
    # Facts that always come with one label are no siblings but a leak: they stay in training.
    contexts: dict[object, int] = {}
    keys: list[object] = [f if len(labels[f]) > 1 else i for i, f in enumerate(facts)]
    return Groups(
        np.array([clusters.setdefault(c.cluster or c.claim.subj, len(clusters)) for c in cards]),
        np.array([contexts.setdefault(key, len(contexts)) for key in keys]),
    )


def same_states(cards: Sequence[Card], sights: Sequence[Sight]) -> tuple[SameState, ...]:
    """States of the asked claim, as its card's sentences tell, that bear more than one label."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for card, sight in zip(cards, sights, strict=True):
        if sight.pair_stated:
            state = "the asked pair is stated"
        elif sight.other_value:
            state = "another value is stated for the asked subject"
        elif sight.pair_denied:
            state = "the asked pair is denied"
        else:
            state = "nothing is stated about the asked pair or subject's value"
        table[state][card.label] += 1
    return tuple(
        SameState(state, {label: found[label] for label in LABELS if found[label]})
        for state, found in sorted(table.items())
        if len(found) > 1
    )


def grouped_wilson(
    right: np.ndarray[Any, Any], groups: Groups, level: float
) -> tuple[float, float]:
    """Two-sided Wilson interval at ``1 - level`` for the mean of ``right``, shape (n,).

    The number of cards is divided by the larger of the two groupings' design effects.
    """
    size = len(right) / max(_design_effect(right, of) for of in groups)
    return wilson(float(right.mean()) * size, size, 1 - level)


def _design_effect(right: np.ndarray[Any, Any], groups: np.ndarray[Any, Any]) -> float:
    """Variance of the mean by group totals over that of independent cards; at least 1."""
    n, mean = len(right), float(right.mean())
    totals = np.bincount(groups, weights=right - mean)
    k = len(totals)
    if k < 2 or not 0 < mean < 1:
        return 1.0
    variance = k / (k - 1) * float((totals**2).sum()) / n**2
    return max(1.0, variance / (mean * (1 - mean) / n))


def auc(score: np.ndarray[Any, Any], positive: np.ndarray[Any, Any]) -> float | None:
    """Area under the ROC curve by ranks (Mann-Whitney), ties counted half; None if one class."""
    n_pos, n_neg = int(positive.sum()), int((~positive).sum())
    if not n_pos or not n_neg:
        return None
    order = np.sort(score)
    rank = (np.searchsorted(order, score, "left") + np.searchsorted(order, score, "right") + 1) / 2
    return float((rank[positive].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg))


def _baseline(
    name: str,
    right: np.ndarray[Any, Any],
    groups: Groups,
    chance: float,
    level: float,
    area: float | None,
    *,
    task: bool = False,
) -> Baseline:
    if not len(right):
        return Baseline(name, 0.0, 0.0, 1.0, chance, "task" if task else "at chance", area)
    low, high = grouped_wilson(right.astype(float), groups, level)
    verdict: Verdict = "task" if task else "LEAKS" if low > chance + 1e-12 else "at chance"
    return Baseline(name, float(right.mean()), low, high, chance, verdict, area)


def _folds(gold: np.ndarray[Any, Any], groups: Groups) -> int:
    """As many folds, up to ``FOLDS``, as each label has clusters and there are contexts."""
    of_label: dict[str, set[int]] = defaultdict(set)
    for label, cluster in zip(gold.tolist(), groups.clusters.tolist(), strict=True):
        of_label[label].add(cluster)
    contexts = len(set(groups.contexts.tolist()))
    return min([FOLDS, contexts, *(len(found) for found in of_label.values())])


def _trained(
    cards: Sequence[Card],
    sights: Sequence[Sight],
    gold: np.ndarray[Any, Any],
    groups: Groups,
    folds: int,
    seed: int,
    popularity: Callable[[str], int] | None,
    name: Callable[[str], str],
) -> list[tuple[str, np.ndarray[Any, Any], float | None]]:
    """Each baseline's name, which cards it got right out of fold, and its AUC if one score."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import StratifiedGroupKFold
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    with warnings.catch_warnings():
        # The learners warn about slow convergence and unequal folds; neither changes a verdict.
        warnings.simplefilter("ignore")
        splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
        splits = [
            (train[~np.isin(groups.contexts[train], groups.contexts[test])], test)
            for train, test in splitter.split(np.zeros(len(gold)), gold, groups.clusters)
        ]

        surface = np.array([counts(c, s, name) for c, s in zip(cards, sights, strict=True)], float)
        in_file = file_popularity(cards, name)
        known = popularity or in_file.__getitem__
        objects = np.array([[known(card.claim.obj)] for card in cards], float)
        subjects = np.array([[known(card.claim.subj)] for card in cards], float)
        position = np.arange(len(cards), dtype=float)[:, None]

        def bag(texts: list[str], **how: Any) -> Any:
            # No vocabulary is learnt across folds that labels could enter by: counting is blind.
            try:
                return CountVectorizer(binary=True, **how).fit_transform(texts)
            except ValueError:  # not one word occurs often enough
                return csr_matrix((len(texts), 1))

        token = r"(?u)\b\w+\b"  # noqa: S105 - a word pattern, not a password
        questions = [card.question for card in cards]
        facts = [" \n ".join(card.facts) for card in cards]
        question_bag = bag(questions, token_pattern=token, ngram_range=(1, 2))
        fact_bag = bag(facts, token_pattern=token, ngram_range=(1, 2), min_df=2)
        rule_bag = bag([" ".join(card.rules) for card in cards], token_pattern=token)
        letters = bag(questions, analyzer="char_wb", ngram_range=(2, 4), min_df=2)
        scaled = csr_matrix(StandardScaler().fit_transform(surface))
        everything = hstack([question_bag, fact_bag, rule_bag, letters, scaled]).tocsr()
        numbers = np.hstack([surface, objects, subjects, position])

        def linear() -> Any:
            # As a linear classifier on bags of words no worse than logistic regression here, and a
            # hundred times faster.
            return RidgeClassifier(alpha=10.0, solver="sparse_cg", random_state=seed)

        def tree() -> Any:
            return DecisionTreeClassifier(max_leaf_nodes=8, min_samples_leaf=5, random_state=seed)

        def forest() -> Any:
            return RandomForestClassifier(100, max_depth=8, random_state=seed)

        ordinary = Counter(gold.tolist()).most_common(1)[0][0]

        def right(make: Callable[[], Any], features: Any) -> np.ndarray[Any, Any]:
            told = np.empty(len(gold), dtype=bool)
            for train, test in splits:
                if len(set(gold[train].tolist())) < 2:
                    told[test] = gold[test] == ordinary  # Nothing left to learn from.
                    continue
                model = make().fit(features[train], gold[train])
                told[test] = model.predict(features[test]) == gold[test]
            return told

        is_e = gold == "E"
        column = {name: i for i, name in enumerate(COUNT_NAMES)}
        n_facts = surface[:, [column["facts"]]]
        n_words = surface[:, [column["words in facts"], column["words in question"]]]
        negations = surface[:, [column["negated facts"]]]
        return [
            ("number of facts", right(tree, n_facts), auc(n_facts[:, 0], is_e)),
            ("lengths in words", right(tree, n_words), None),
            ("negated facts", right(tree, negations), auc(negations[:, 0], is_e)),
            ("object popularity", right(tree, objects), auc(objects[:, 0], is_e)),
            ("subject popularity", right(tree, subjects), auc(subjects[:, 0], is_e)),
            ("position in the file", right(tree, position), None),
            ("question, bag of words", right(linear, question_bag), None),
            ("question, letter n-grams", right(linear, letters), None),
            ("facts, bag of words", right(linear, fact_bag), None),
            ("all surface counts, forest", right(forest, numbers), None),
            ("all words, letters and counts", right(linear, everything), None),
        ]
