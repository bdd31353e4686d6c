"""Abstention metrics, computed from sums of cells of the 3×5 outcome table.

Each metric is defined once, by the cells of its numerator and denominator under a policy; a skill
score has one such ratio per label. Its value, interval, resamples, bounds and the values of the
controls are all computed from these cells; ``docs/reference/metrics.md`` explains the formulas. AP,
CVRR, FAR-NE and LA come from "How to Quantify Abstention Precision" (Epistemic Confusion
Experiment, 2025). Policy ``published`` computes them as the published code does; policy
``licensed`` also accepts NO as an answer to a contradictory claim.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import product

import numpy as np

from eval.abstention.metrics.outcomes import (
    CELLS,
    LABEL_CODE,
    PRED_CODE,
    UNUSABLE,
    Floats,
    as_number,
)
from eval.abstention.result import PREDS
from eval.metrics.measurement import PolicyName
from eval.metrics.metric_value import MetricValue, Number
from eval.stats.bootstrap import round_significant
from kg.claims import LABELS

POLICIES: tuple[PolicyName, ...] = ("licensed", "published")

ALL_THREE = "all-three"
GEOMEAN_RECALL = "geomean-recall"
SKILL = "skill@.5"
HEADLINE_METRICS = (SKILL, ALL_THREE, GEOMEAN_RECALL)
"""Metrics that tell systems apart: no system that ignores the cards is above 0 on the first.
Card sets without triplets have the third in place of the second. Under policy ``licensed`` only."""
EXPLANATORY_METRICS = ("AP", "CVRR", "FAR-NE", "LA")
"""The metrics of the original experiment. On each of them some control can reach the best value."""
COMPANION_METRICS = ("coverage", "accuracy", "false_denial_rate", "abstention_recall")
"""Metrics that are always shown next to these."""
SHOWN_METRICS = (*HEADLINE_METRICS, *EXPLANATORY_METRICS, *COMPANION_METRICS)
"""The metrics of the first tables; those that a report does not have are left out."""

PENALTIES = {"skill@0": 0.0, SKILL: 0.5, "skill@.75": 0.75, "skill@.9": 0.9}
"""Skill score → its penalty t: a wrong answer costs t / (1 - t) right ones."""
_SCORE_METRICS = tuple(dict.fromkeys((SKILL, GEOMEAN_RECALL, *PENALTIES)))
CVRR_PARTS = ("CVRR_recognised", "CVRR_withheld")
"""The shares of NO and of UNKNOWN, which add up to CVRR; under policy ``licensed`` only."""

# The shares of replies of each kind.
REPLY_RATES = ("yes_rate", "no_rate", "unknown_rate", "invalid_rate", "error_rate")

_OUTCOME_CELLS: dict[PolicyName, dict[str, str]] = {
    "licensed": {
        "A_E": "E.YES",
        "A_C": "C.YES",
        "A_U": "U.YES U.NO",
        "S_E": "E.UNKNOWN",
        "S_C": "C.NO C.UNKNOWN",
        "S_U": "U.UNKNOWN",
        "false_denials": "E.NO",
        "answers": "*.YES *.NO",
        "right_answers": "E.YES C.NO",
    },
    "published": {
        "A_E": "E.YES E.NO E.INVALID E.ERROR",
        "A_C": "C.YES C.NO C.INVALID C.ERROR",
        "A_U": "U.YES U.NO U.INVALID U.ERROR",
        "S_E": "E.UNKNOWN",
        "S_C": "C.UNKNOWN",
        "S_U": "U.UNKNOWN",
        "false_denials": "E.NO",
        "answers": "*.YES *.NO *.INVALID *.ERROR",
        "right_answers": "E.YES E.NO E.INVALID E.ERROR",
    },
}
"""The cells that count towards each outcome, by policy: A_L are answers to cards of label L, S_L
abstentions on them."""

_FORMULAS: dict[str, tuple[str, str, bool | None]] = {
    "AP": ("S_C S_U", "S_E S_C S_U", True),
    "CVRR": ("S_C", "S_C A_C", True),
    "CVRR_recognised": ("C.NO", "S_C A_C", True),
    "CVRR_withheld": ("C.UNKNOWN", "S_C A_C", None),
    "FAR-NE": ("A_C A_U", "C.* U.*", False),
    "LA": ("A_E", "E.*", True),
    "coverage": ("answers", "*.*", None),
    "accuracy": ("E.YES C.NO U.UNKNOWN", "*.*", True),
    "false_denial_rate": ("false_denials", "E.*", False),
    "abstention_recall": ("S_C S_U", "C.* U.*", True),
    "AP_invalid": ("S_C", "S_C S_E", True),
    "AP_unknown": ("S_U", "S_U S_E", True),
    "AR_contradictory": ("S_C", "C.*", True),
    "AR_unknown": ("S_U", "U.*", True),
    "answer_accuracy": ("right_answers", "answers", True),
    "overall_accuracy": ("A_E S_C S_U", "*.*", True),
    "yes_rate": ("*.YES", "*.*", None),
    "no_rate": ("*.NO", "*.*", None),
    "unknown_rate": ("*.UNKNOWN", "*.*", None),
    "invalid_rate": ("*.INVALID", "*.*", False),
    "error_rate": ("*.ERROR", "*.*", False),
}
"""Numerator, denominator, and whether higher is better (``None`` for descriptive metrics)."""

METRICS = (
    *EXPLANATORY_METRICS,
    *COMPANION_METRICS,
    *(
        name
        for name in _FORMULAS
        if name not in EXPLANATORY_METRICS + COMPANION_METRICS + REPLY_RATES + CVRR_PARTS
    ),
)
"""The metrics of both policies, but for rates of replies, in the order of the tables."""

SYSTEM_METRICS = (*METRICS, "invalid_rate", "error_rate")
"""``METRICS`` and the rates of unusable replies."""

LICENSED_METRICS = (*_SCORE_METRICS, *EXPLANATORY_METRICS, *CVRR_PARTS)
"""The metrics of policy ``licensed`` that come before the others, but for all-three."""


def list_metric_names(policy: PolicyName) -> tuple[str, ...]:
    """Lists the metrics that are computed from cells under a policy, in the order of the tables."""
    first = LICENSED_METRICS if policy == "licensed" else ()
    return tuple(dict.fromkeys((*first, *SYSTEM_METRICS)))


def sort_metrics(values: Mapping[str, MetricValue]) -> dict[str, MetricValue]:
    """Sorts metrics in the order of the tables."""
    names = dict.fromkeys((SKILL, ALL_THREE, *LICENSED_METRICS))
    order = {name: number for number, name in enumerate(names)}
    return dict(sorted(values.items(), key=lambda item: order.get(item[0], len(order))))


@dataclass(frozen=True)
class Metric:
    """One metric under one policy.

    Attributes:
        name: name of the metric, a key of ``_FORMULAS``.
        policy: policy that decides which cells are answers and abstentions.
        numerator: 0/1 weights over cells, shape (``CELLS``,).
        denominator: the same; in no cell smaller than ``numerator``, so values lie in [0, 1].
        higher_is_better: ``None`` for a descriptive metric.
    """

    name: str
    policy: PolicyName
    numerator: Floats
    denominator: Floats
    higher_is_better: bool | None

    @property
    def ratios(self) -> tuple[tuple[Floats, Floats], ...]:
        """Weights of the numerator and denominator of each ratio that ``combine`` takes."""
        return ((self.numerator, self.denominator),)

    @property
    def is_skill(self) -> bool:
        """Whether it is a sum of the labels' mean scores, to which each card adds its part."""
        return False

    @property
    def minimum(self) -> float:
        """The lowest possible value; the highest is 1."""
        return 0.0

    def combine(self, ratios: Floats) -> Floats:
        """Computes values from the ratios, which are the last axis."""
        values: Floats = ratios[..., 0]
        return values

    def round_value(self, value: float) -> float:
        """Rounds a value; a single ratio is exact."""
        return float(value)

    @cached_property
    def _excluded_weights(self) -> Floats | None:
        """Weights of the unusable cells that the denominator excludes.

        ``None`` if the denominator covers only some of the usable cells of a label.
        """
        weights = self.denominator.reshape(len(LABELS), len(PREDS))
        n_usable = len(PREDS) - len(UNUSABLE)
        if not np.all(weights[:, :n_usable] == weights[:, :1]):
            return None
        excluded: Floats = (weights[:, :1] - weights).reshape(CELLS)
        return excluded

    def count_missing(self, counts: Floats) -> float:
        """Counts the unusable replies to cards of the metric's labels that it leaves out."""
        weights = self.denominator.reshape(len(LABELS), len(PREDS))
        left_out = weights.any(axis=1, keepdims=True) & (weights == 0)
        left_out[:, : len(PREDS) - len(UNUSABLE)] = False
        return float(counts @ left_out.reshape(CELLS))

    def is_proportion(self, counts: Floats) -> bool:
        """Whether the denominator depends on the cards alone, so that Wilson's interval applies.

        True when the denominator covers all cards of its labels, with any answers, or when it
        excludes only unusable replies and there are none.
        """
        return self._excluded_weights is not None and not float(counts @ self._excluded_weights)

    @property
    def is_reply_rate(self) -> bool:
        """Whether the metric counts replies of one kind; then bounds must not reassign replies."""
        return self.name in REPLY_RATES

    def compute_parts(self, counts: Floats) -> tuple[float, float]:
        """Returns numerator and denominator for cell counts of shape (``CELLS``,)."""
        return float(counts @ self.numerator), float(counts @ self.denominator)

    def compute_value(self, counts: Floats) -> float | None:
        """Returns the value of the metric, or ``None`` when its denominator is zero."""
        numerator, denominator = self.compute_parts(counts)
        return numerator / denominator if denominator > 0 else None

    def compute_bounds(self, counts: Floats) -> tuple[float | None, float | None]:
        """Returns the worst and best value over all ways to read the INVALID and ERROR replies.

        Each unusable reply may have been YES, NO or UNKNOWN. A ratio of sums of cells is extreme
        where all unusable replies of a label have the same meaning, so at most 27 cases need to be
        tried. Cases without a value (zero denominator) are ignored.

        Returns:
            (worst, best); for a descriptive metric, (lowest, highest); ``None`` where no case has
            a value.
        """
        if self.is_reply_rate:
            value = self.compute_value(counts)
            return value, value
        cases = _enumerate_readings(counts.tobytes())
        numerators, denominators = (
            np.stack([cases @ weights for weights in side], axis=-1)
            for side in zip(*self.ratios, strict=True)
        )
        has_value = (denominators > 0).all(axis=-1)
        if not has_value.any():
            return None, None
        values = self.combine(numerators[has_value] / denominators[has_value])
        low, high = self.round_value(values.min()), self.round_value(values.max())
        return (high, low) if self.higher_is_better is False else (low, high)


@dataclass(frozen=True)
class ScoreMetric(Metric):
    """A metric over the mean scores of the three labels, which count equally.

    Its ``numerator`` has the score of a card in each cell, its ``denominator`` is 1 throughout.

    Attributes:
        is_geometric: whether the value is the geometric mean of the labels' means; else it is
            1.5 times their mean, minus 0.5.
    """

    is_geometric: bool = False

    @property
    def ratios(self) -> tuple[tuple[Floats, Floats], ...]:
        """One ratio per label."""
        labels = np.repeat(np.eye(len(LABELS)), len(PREDS), axis=1)
        return tuple((self.numerator * is_label, is_label) for is_label in labels)

    @property
    def is_skill(self) -> bool:
        """Whether it is a sum of the labels' mean scores, to which each card adds its part."""
        return not self.is_geometric

    @property
    def minimum(self) -> float:
        """The value of the worst answers to all cards."""
        scores = self.numerator.reshape(len(LABELS), len(PREDS)).min(axis=1)
        return float(self.combine(scores))

    def combine(self, ratios: Floats) -> Floats:
        """Computes values from the means of the labels."""
        if self.is_geometric:
            return np.asarray(np.cbrt(np.prod(ratios, axis=-1)))
        return np.asarray(1.5 * ratios.mean(axis=-1) - 0.5)

    def round_value(self, value: float) -> float:
        """Rounds a value, whose last bits depend on the order of the sum."""
        return round_significant(value)

    def is_proportion(self, counts: Floats) -> bool:
        """Returns False: a score is not the share of some cards."""
        del counts
        return False

    def compute_value(self, counts: Floats) -> float | None:
        """Returns the value of the metric, or ``None`` when a label has no card."""
        parts = [(counts @ scores, counts @ is_label) for scores, is_label in self.ratios]
        if not all(n for _, n in parts):
            return None
        return self.round_value(float(self.combine(np.array([sum_ / n for sum_, n in parts]))))


def _make_score_metric(name: str, policy: PolicyName) -> ScoreMetric:
    """Makes a skill score, or the geometric mean of the recalls."""
    scores = _parse_weights("E.YES C.NO U.UNKNOWN", _OUTCOME_CELLS[policy])
    if name in PENALTIES:
        wrong = _parse_weights("E.NO C.YES U.YES U.NO", _OUTCOME_CELLS[policy])
        scores = scores - wrong * PENALTIES[name] / (1 - PENALTIES[name])
    return ScoreMetric(name, policy, scores, np.ones(CELLS), True, name == GEOMEAN_RECALL)


@cache
def get_metric(name: str, policy: PolicyName) -> Metric:
    """Returns the metric of that name under that policy.

    Raises:
        KeyError: no such metric or policy.
    """
    if name in _SCORE_METRICS:
        return _make_score_metric(name, policy)
    numerator, denominator, higher_is_better = _FORMULAS[name]
    outcomes = _OUTCOME_CELLS[policy]
    return Metric(
        name,
        policy,
        _parse_weights(numerator, outcomes),
        _parse_weights(denominator, outcomes),
        higher_is_better,
    )


def choose_ranking_metric(names: Collection[str]) -> str:
    """Chooses the metric by which systems are ranked, of those that are there."""
    return SKILL if SKILL in names else "accuracy"


def is_higher_better(name: str, policy: PolicyName) -> bool | None:
    """Returns whether higher is better, also of all-three; ``None`` for a descriptive metric."""
    return True if name == ALL_THREE else get_metric(name, policy).higher_is_better


def get_metrics(names: Iterable[str], policy: PolicyName) -> list[Metric]:
    """Returns several metrics under one policy, in the order of ``names``."""
    return [get_metric(name, policy) for name in names]


def count_outcomes(counts: Floats, policy: PolicyName) -> dict[str, Number]:
    """Counts the outcomes that the formulas use (``A_E … S_U``) and the INVALID and ERROR replies.

    Under ``licensed`` also the false denials, which are neither an answer nor an abstention.
    """
    names = ["A_E", "A_C", "A_U", "S_E", "S_C", "S_U"]
    if policy == "licensed":
        names.append("false_denials")
    outcomes = _OUTCOME_CELLS[policy]
    outcome_counts = {
        name: as_number(float(counts @ _parse_weights(name, outcomes))) for name in names
    }
    for pred in UNUSABLE:
        outcome_counts[pred] = as_number(float(counts @ _parse_weights(f"*.{pred}", outcomes)))
    return outcome_counts


def _parse_weights(terms: str, outcomes: Mapping[str, str]) -> Floats:
    """Parses a sum such as ``S_C S_U`` or ``C.* U.NO`` into 0/1 weights over the cells."""
    weights = np.zeros((len(LABELS), len(PREDS)))
    for term in terms.split():
        if "." not in term:
            weights += _parse_weights(outcomes[term], outcomes).reshape(weights.shape)
            continue
        label, pred = term.split(".")
        rows = slice(None) if label == "*" else LABEL_CODE[label]
        columns = slice(None) if pred == "*" else PRED_CODE[pred]
        weights[rows, columns] += 1
    return weights.reshape(CELLS)


@lru_cache(maxsize=64)
def _enumerate_readings(counts: bytes) -> Floats:
    """Enumerates the extreme ways to read the unusable replies of a table.

    Args:
        counts: cell counts as bytes, which unlike an array can be a cache key; all metrics of one
            table need the same cases.

    Returns:
        Cell counts, shape (cases, ``CELLS``); the table itself if it has no unusable replies.
    """
    table = np.frombuffer(counts).reshape(len(LABELS), len(PREDS))
    n_usable = len(PREDS) - len(UNUSABLE)
    n_unusable = table[:, n_usable:].sum(axis=1)
    choices = [range(n_usable) if n_unusable[code] else (0,) for code in range(len(LABELS))]
    cases = []
    for reading in product(*choices):
        case = table.copy()
        case[:, n_usable:] = 0
        case[np.arange(len(LABELS)), reading] += n_unusable
        cases.append(case.reshape(CELLS))
    return np.array(cases)
