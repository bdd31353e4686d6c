"""Audits a card set for leakage: whether labels can be predicted from the cards' surface alone.

Trivial baselines are trained on the counts of ``surface.py``, on bags of words, or on the degrees
in a graph of the entities asked about, with cross-validation grouped by cluster; cards that share
their facts with a test card are excluded from training as well. Each has three measures:

* accuracy; chance is the share of the most frequent label;
* balanced accuracy, the mean recall of the labels; chance is 1 / the number of labels;
* AUC, the area under the ROC curve, one label against the rest, the mean of all; chance is 1/2.

Of cards for which facts were set aside, other baselines predict which U cards' claims are true in
the graph that still has these facts: neither the subject's degree nor the names should tell.

For m baselines, the level of each interval is α / 3m (Bonferroni): the probability that any measure
of any baseline is reported as a leak on a card set without leaks is at most α.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from cards.card import Card
from cards.leakage.baselines import (
    DEGREES,
    FULL_DEGREES,
    MAX_FOLDS,
    Prediction,
    choose_fold_count,
    cross_validate,
    cross_validate_truth,
)
from cards.leakage.degrees import Degrees
from cards.leakage.measures import Groups, Measure, group_cards, measure_accuracy, measure_auc
from cards.leakage.string_rules import STRING_RULES
from cards.leakage.surface import CardSurface, get_readable_name, read_surface
from kg.claims import GOLD_OF_LABEL, LABELS, Claim

ALPHA = 0.05
N_MEASURES = 3
"""Number of measures of each baseline that are tested against chance."""

MIN_TRUTH_FOLDS = 5
"""Minimum number of folds by which the truth of U cards is predicted."""

Verdict = Literal["at chance", "LEAKS", "task"]


class Baseline(msgspec.Struct, frozen=True):
    """The result of one trivial method that predicts the labels."""

    name: str
    accuracy: float
    """Share of all cards whose label is predicted, by a model that was trained neither on its
    cluster nor on its facts."""
    low: float
    high: float
    chance: float
    balanced_accuracy: Measure
    auc: Measure | None
    """None for string rules, which rank nothing."""
    verdict: Verdict
    """``LEAKS`` if a measure's interval lies above chance, else ``at chance``; ``task`` for string
    rules, which do what the task asks for and therefore cannot leak."""

    @property
    def measures(self) -> dict[str, Measure]:
        """Name → measure, in the order of the table."""
        accuracy = Measure(self.accuracy, self.low, self.high, self.chance)
        measures = {"accuracy": accuracy, "balanced accuracy": self.balanced_accuracy}
        return measures if self.auc is None else {**measures, "AUC": self.auc}

    @property
    def excess(self) -> float:
        """The largest excess of a measure above chance."""
        return max(measure.excess for measure in self.measures.values())


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
    """Number of baselines; ``alpha`` is divided by it and the number of measures."""
    baselines: tuple[Baseline, ...]
    rules: tuple[Baseline, ...]
    """The string rules of ``cards/leakage/string_rules.py``."""
    states: tuple[MixedLabelState, ...]
    notes: tuple[str, ...] = ()
    not_tried: tuple[str, ...] = ()
    """Baselines that were not tried, because they need a graph and none was given."""
    truth_baselines: tuple[Baseline, ...] = ()
    """Methods that predict which claims of U cards are true in the graph before facts were set
    aside. They tell no label, so they are no ``leaks``; together their level is ``alpha``, too."""
    n_truth: int = 0
    """Number of claims that they are tried on: half of them are true."""

    @property
    def level(self) -> float:
        """The error probability of each interval of the baselines."""
        return self.alpha / max(self.tests * N_MEASURES, 1)

    @property
    def leaks(self) -> tuple[Baseline, ...]:
        """The baselines of which a measure lies above chance."""
        return tuple(b for b in self.baselines if b.verdict == "LEAKS")


def audit_cards(
    cards: Sequence[Card],
    *,
    seed: int = 12345,
    count_degrees: Callable[[Claim], Degrees] | None = None,
    get_name: Callable[[str], str] = get_readable_name,
    count_full_degrees: Callable[[Claim], Degrees] | None = None,
) -> Audit:
    """Audits a card set.

    Args:
        cards: the cards; where ``cluster`` is empty, the claim's subject is used.
        seed: seed of the folds and the learners.
        count_degrees: claim → links of its subject and object in the graph, see
            ``cards/leakage/degrees.py``; if omitted, the baseline on degrees is not tried, and
            popularity is the number of the file's own facts that mention the term.
        get_name: term text → the term's name; if omitted, the readable end of its IRI.
        count_full_degrees: as ``count_degrees``, in the graph before facts were set aside; if
            omitted, no baseline has the subject's degree there.

    Returns:
        The audit. With fewer than two labels, or too few groups for two folds, ``baselines`` is
        empty and ``notes`` gives the reason; string rules are reported in any case.
    """
    labels = Counter(card.label for card in cards)
    label_counts: dict[str, int] = {label: labels[label] for label in LABELS if labels[label]}
    groups = group_cards(cards)
    n_groups = len(set(groups.clusters.tolist()))
    surfaces = [read_surface(card, get_name) for card in cards]
    notes: list[str] = []
    if n_unclear := sum(not (surface.subj and surface.obj) for surface in surfaces):
        hint = "give --kg" if get_name is get_readable_name else "was another graph given?"
        notes.append(
            f"on {n_unclear} cards the claim's terms do not show which words of the question are "
            f"names; they count as words of the relation, so accuracies are too high ({hint})"
        )
    gold = np.array([card.label for card in cards])
    n_folds = choose_fold_count(gold, groups)
    predictions: list[Prediction] = []
    truths: list[Prediction] = []
    unknowns = select_unknowns(cards)
    truth = np.array([is_true_in_full_graph(cards[i]) for i in unknowns])
    unknown_groups = Groups(*(numbers[unknowns] for numbers in groups))
    if len(label_counts) < 2:
        notes.append(f"only one label ({', '.join(label_counts) or 'none'}): nothing to predict")
    elif n_folds < 2:
        notes.append(f"too few clusters ({n_groups}) or sets of facts for cross-validation")
    else:
        if n_folds < MAX_FOLDS:
            notes.append(f"only {n_folds} folds: the rarest label has cards in few groups")
        if len(label_counts) < 3:
            notes.append(f"labels present: {', '.join(label_counts)}; chance refers to these only")
        predictions = cross_validate(
            *(cards, surfaces, gold, groups, n_folds, seed, count_degrees, get_name),
            count_full_degrees,
        )
        n_truth_folds = choose_fold_count(truth, unknown_groups) if unknowns else 0
        if n_truth_folds >= MIN_TRUTH_FOLDS:
            counters = ((DEGREES, count_degrees), (FULL_DEGREES, count_full_degrees))
            truths = cross_validate_truth(
                [cards[i] for i in unknowns],
                *(truth, unknown_groups, n_truth_folds, seed),
                [(name, count) for name, count in counters if count is not None],
            )
    level = ALPHA / max(len(predictions) * N_MEASURES, 1)
    baselines = tuple(_make_baseline(p, gold, groups, level) for p in predictions)
    truth_level = ALPHA / max(len(truths) * N_MEASURES, 1)
    truth_baselines = tuple(_make_baseline(p, truth, unknown_groups, truth_level) for p in truths)
    rules = tuple(
        _make_rule(
            name,
            np.array(
                [rule(s) == GOLD_OF_LABEL[c.label] for s, c in zip(surfaces, cards, strict=True)]
            ),
            gold,
            groups,
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
        tuple(
            name
            for name, count, has_use in (
                (DEGREES, count_degrees, True),
                (FULL_DEGREES, count_full_degrees, bool(unknowns)),
            )
            if predictions and count is None and has_use
        ),
        truth_baselines,
        len(unknowns) if truths else 0,
    )


def is_true_in_full_graph(card: Card) -> bool:
    """Returns whether the claim of a U card is true in the graph before facts were set aside."""
    return bool(card.meta["full_label"] == "E")


def select_unknowns(cards: Sequence[Card]) -> list[int]:
    """Selects U cards of which the full graph decides the claims: as many true as false ones.

    So it is of each predicate, because the predicate asked about is neither a name nor a degree.

    Returns:
        Their numbers.
    """
    numbers: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for number, card in enumerate(cards):
        if card.label == "U" and "full_label" in card.meta:
            numbers[card.claim.pred][is_true_in_full_graph(card)].append(number)
    # The cards of a set are in random order, so the first ones are a random sample.
    return sorted(
        number
        for both in numbers.values()
        for found in both
        for number in found[: min(map(len, both))]
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


def _make_baseline(
    prediction: Prediction, gold: np.ndarray[Any, Any], groups: Groups, level: float
) -> Baseline:
    accuracy = measure_accuracy(prediction.is_correct, gold, groups, level)
    balanced = measure_accuracy(prediction.is_correct, gold, groups, level, balanced=True)
    auc = measure_auc(prediction.scores, gold, groups, level)
    leaks = any(measure.is_above_chance for measure in (accuracy, balanced, auc))
    verdict: Verdict = "LEAKS" if leaks else "at chance"
    return Baseline(
        prediction.name,
        *(accuracy.value, accuracy.low, accuracy.high, accuracy.chance),
        balanced,
        auc,
        verdict,
    )


def _make_rule(
    name: str, is_correct: np.ndarray[Any, Any], gold: np.ndarray[Any, Any], groups: Groups
) -> Baseline:
    if not len(gold):
        return Baseline(name, 0.0, 0.0, 1.0, 0.0, Measure(0.0, 0.0, 1.0, 0.0), None, "task")
    accuracy = measure_accuracy(is_correct, gold, groups, ALPHA)
    balanced = measure_accuracy(is_correct, gold, groups, ALPHA, balanced=True)
    return Baseline(
        name,
        *(accuracy.value, accuracy.low, accuracy.high, accuracy.chance),
        balanced,
        None,
        "task",
    )
